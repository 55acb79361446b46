"""What a smoke test tries: which services are there, with which client and on which host; what its answers mean.

Read from what the generation that is served tells minions, so all that is planned is tried, whether it runs or not.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proposals.services import ganesha, iscsi, monitoring
from proposals.settings import reader
from proposals.text import addresses
from proposals.text.errors import ArgumentError
from proposals.text.names import nearest, shown

# Of which a killed test may leave something.
CLEANED = ("rbd", "cephfs", "s3", "swift", "nfs", "iscsi", "dashboard", "alert")
UNSERVED = (
    "no host runs it any more that could take away what a killed test left (halocline-smoke): let one run it, then "
    "'salt-run smoke.clean'; or take it away by hand, then 'ceph config-key rm halocline/smoke' forgets it"
)
NO_ROLE = "the gateways' own user has the role admin at Keystone, which accepted_roles does not name"


@dataclass(frozen=True)
class Attempt:
    """One client of a service: what it is, where it runs, what that host is asked; or why there is none."""

    service: str
    client: str
    minion: str = ""
    function: str = ""
    arguments: tuple = ()
    without: str = ""

    def line(self) -> str:
        """What would be tried."""
        return f"{self.service}: not tried: {self.without}" if self.without else f"{self.service}: {self.client}"


@dataclass(frozen=True)
class Served:
    """What there is to try.

    told
        What each minion is told of services, by part.
    settings
        The site's, as the master's pillar has them.
    hosts
        The inventory's, by minion.
    master
        The minion with the admin's key.
    trusted
        The certificates that the site gave, as PEM.
    """

    told: Mapping[str, Mapping[str, Any]]
    settings: Mapping[str, Any]
    hosts: Mapping[str, Mapping[str, Any]]
    master: str
    trusted: str = ""

    def having(self, part: str) -> dict[str, Mapping[str, Any]]:
        """What each minion is told of a part that it runs."""
        return {minion: parts[part] for minion, parts in sorted(self.told.items()) if part in parts}

    def address(self, minion: str) -> str:
        """Where a minion answers: its address in the public network, else its host name; as a URL has it."""
        host = self.hosts.get(minion, {})
        public = addresses.network(self.settings.get("public_network"))
        found = next(iter(addresses.inside(host.get("addresses", ()), public)), str(host.get("hostname", minion)))
        return f"[{found}]" if ":" in found else found


def attempts(served: Served, names: Sequence[str] = ()) -> list[Attempt]:
    """Return what to try of the services that are planned, or of those that are named. Raises ArgumentError."""
    for name in names:
        if name not in PLANS:
            raise ArgumentError(f"there is no service '{shown(name)}' to try{nearest(name, PLANS)}")
    found = [attempt for name in PLANS if name in names or not names for attempt in PLANS[name](served)]
    for name in names:
        if not any(attempt.service == name for attempt in found):
            raise ArgumentError(f"{name}: no host runs it: policy.cfg and the settings ask for none")
    return found


def cleaned(wanted: Iterable[Attempt]) -> list[str]:
    """Return the services among some attempts of which a killed test may leave something."""
    making = {attempt.service for attempt in wanted if attempt.function == f"smoke_{attempt.service}.attempt"}
    return [name for name in CLEANED if name in making]


def cleaning(served: Served, name: str) -> list[tuple[str, tuple]]:
    """Return who is asked for a service's ``clean``, and the arguments of each call."""
    if name == "nfs":
        return [(served.master, attempt.arguments) for attempt in _nfs(served)]
    if name == "iscsi":
        return [(minion, ()) for minion in served.having("iscsi-targets")]
    return [(served.master, (alertmanagers(served),) if name == "alert" else ())]


def _rbd(served: Served) -> Iterable[Attempt]:
    yield Attempt("rbd", "an image written and read by librbd (rbd)", served.master, "smoke_rbd.attempt")


def _cephfs(served: Served) -> Iterable[Attempt]:
    if served.having("mds"):
        client = "a file written and read by two clients (libcephfs)"
        yield Attempt("cephfs", client, served.master, "smoke_cephfs.attempt")


def _s3(served: Served) -> Iterable[Attempt]:
    if found := _endpoints(served):
        client = f"an object put and got through {', '.join(found)} (S3, Signature Version 4)"
        yield Attempt("s3", client, served.master, "smoke_s3.attempt", (found, served.trusted))


def _swift(served: Served) -> Iterable[Attempt]:
    (identity, _), gateways = reader.only("rgw_keystone", served.settings.get("rgw_keystone")), served.having("rgw")
    if not identity or not gateways:
        return
    if "admin" not in {*identity["accepted_roles"], *identity["accepted_admin_roles"]}:
        yield Attempt("swift", "", without=NO_ROLE)
        return
    minion, first = next(iter(gateways.items()))
    kept = {key: identity[key] for key in ("url", "user", "project", "domain", "account_in_url")}
    where = next(iter(_endpoints(served).values()))
    words = (kept, f"{first['gateways'][0]['name']}/keystone-password", where, served.trusted)
    client = f"an object put and got through {where} by a token of {identity['url']} (Swift)"
    yield Attempt("swift", client, minion, "smoke_swift.attempt", words)


def _nfs(served: Served) -> Iterable[Attempt]:
    for minion, part in served.having("ganesha").items():
        exports = [
            {
                "path": export["pseudo"],
                "writes": (export["access"], export["squash"], export["fsal"]["Name"])
                == ("RW", "no_root_squash", "CEPH"),
                "open": not export["clients"],
            }
            for export in part["exports"]
        ]
        address = served.address(minion).strip("[]")
        words = (part["name"], address, ganesha.PORT, exports)
        written = sum(export["writes"] and export["open"] for export in exports)
        client = f"{len(exports)} exports of {part['name']} looked up, a file written and read in {written} (NFS 4.1)"
        yield Attempt("nfs", client, served.master, "smoke_nfs.attempt", words)


def _iscsi(served: Served) -> Iterable[Attempt]:
    for minion in served.having("igw"):
        yield Attempt("iscsi", f"the gateway {minion} asked by its API", minion, "smoke_iscsi.gateway")
    for minion, part in served.having("iscsi-targets").items():
        pools = {image.partition("/")[0] for target in part["targets"].values() for image in target["images"] or ()}
        client = f"a disk of the test's own written and read through {', '.join(part['portals'])} (libiscsi)"
        words = (min(pools, default=iscsi.POOL), part["portals"], sorted(part["targets"]))
        yield Attempt("iscsi", client, minion, "smoke_iscsi.attempt", words)


def _dashboard(served: Served) -> Iterable[Attempt]:
    if served.having("dashboard"):
        yield Attempt("dashboard", "a user logs in (the API)", served.master, "smoke_dashboard.attempt")


def _metrics(served: Served) -> Iterable[Attempt]:
    for minion, part in served.having("prometheus").items():
        config = part["config"]
        targets = [
            [job["job_name"], target["labels"]["instance"]]
            for job in config["scrape_configs"]
            if job["job_name"] != "alertmanager"  # which is tried by itself
            for target in job["static_configs"]
        ]
        alerters = [
            target
            for group in config["alerting"]["alertmanagers"]
            for one in group["static_configs"]
            for target in one["targets"]
        ]
        interval = int(str(config["global"]["scrape_interval"]).rstrip("s"))
        url = _url(served, minion, "prometheus")
        client = f"{len(targets)} targets scraped anew by {url} (Prometheus' API)"
        yield Attempt("metrics", client, served.master, "smoke_metrics.attempt", (url, interval, targets, alerters))


def _alert(served: Served) -> Iterable[Attempt]:
    if alerters := alertmanagers(served):
        client = f"a silenced alert sent to {', '.join(alerters)} (Alertmanager's API)"
        yield Attempt("alert", client, served.master, "smoke_alert.attempt", (alerters,))


def alertmanagers(served: Served) -> list[str]:
    """Return where each Alertmanager answers."""
    return [_url(served, minion, "alertmanager") for minion in served.having("alertmanager")]


def _url(served: Served, minion: str, what: str) -> str:
    return f"http://{served.address(minion)}:{monitoring.PORTS[what]}"


def _endpoints(served: Served) -> dict[str, str]:
    """The address before the gateways, where there is one, and each gateway: its URL by what it is."""
    found = {}
    gateways = served.having("rgw")
    for front in list(served.having("rgw-frontend").values())[:1]:
        host = addresses.bracketed(front["address"])
        passed_on = front["mode"] == "tcp"  # HAProxy passes the gateways' TLS on unread
        found["the virtual address"] = f"{_scheme(passed_on or ' ssl ' in front['bind'])}://{host}:{front['port']}"
    for minion, part in gateways.items():
        for gateway in part["gateways"]:
            tls = "tls.pem" in gateway["files"]
            found[gateway["name"]] = f"{_scheme(tls)}://{served.address(minion)}:{gateway['port']}"
    return found


def _scheme(tls: bool) -> str:
    return "https" if tls else "http"


def certificates(settings: Mapping[str, Any]) -> list[str]:
    """Return the names of the certificates that the site gave for gateways: ``NAME.crt`` of the given files."""
    gateways = settings.get("rgw_configurations") or {}  # a list of names, as DeepSea has it, holds no certificate
    own = gateways.values() if isinstance(gateways, Mapping) else ()
    written = [*own, settings.get("rgw_frontend")]
    return sorted({f"{one['tls']}.crt" for one in written if one and one.get("tls")})


PLANS: Mapping[str, Callable[[Served], Iterable[Attempt]]] = {
    "rbd": _rbd,
    "cephfs": _cephfs,
    "s3": _s3,
    "swift": _swift,
    "nfs": _nfs,
    "iscsi": _iscsi,
    "dashboard": _dashboard,
    "metrics": _metrics,
    "alert": _alert,
}
