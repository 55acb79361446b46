"""One address before several gateways: HAProxy on some hosts, keepalived to move the address among them::

    rgw_frontend: {address: 192.168.124.100, port: 443, tls: s3, ca: gateways-ca.pem, minions: 'lb*'}

Without ``minions``, on the hosts of the gateways themselves. With ``tls`` HAProxy ends TLS; without, it passes that of
the gateways on unread. ``gateways`` names the configuration that stands behind, where there are several.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from proposals.networking.nics import NAME
from proposals.services import given
from proposals.services.radosgw.gateway import Gateway
from proposals.services.service import PlannedCluster
from proposals.services.service_plan import ServicePlan, join
from proposals.settings.kinds import wrong
from proposals.settings.reader import SiteSettings
from proposals.text import addresses

FOLDER = "/etc/ceph/rgw-frontend"
HEALTH = ("option httpchk GET /swift/healthcheck", "http-check expect status 200")
# A request that reached no gateway, or one that died on it, goes to another; not POST: it may have been done
AGAIN = (
    "option forwardfor",
    "option redispatch",
    "retry-on conn-failure empty-response",
    "http-request disable-l7-retry if METH_POST",
)
CA_FORM = "the certificate that the gateways' one is signed with, in PEM,"


def plan(cluster: PlannedCluster, gateways: list[Gateway]) -> ServicePlan:
    """Plan HAProxy and keepalived; nothing where the site names no address."""
    settings = cluster.settings["rgw_frontend"]
    if settings is None:
        return ServicePlan()
    behind = [gateway for gateway in gateways if settings["gateways"] in (None, gateway.configuration)]
    problems = [*_not_alike(settings, behind), *_taken(settings["address"], cluster)]
    if problems or settings["address"] is None:
        return ServicePlan(problems=tuple(problems))
    port = settings["port"] or (443 if settings["tls"] or behind[0].tls else 80)
    files, problems = _files(settings, behind, cluster)
    minions, none = _minions(settings, cluster, behind)
    links = {minion: _link(cluster.hosts.get(minion, {}), settings["address"]) for minion in minions}
    against = [*none, *_apart(settings, links), *_clashes(minions, port, gateways)]
    if problems or against:
        return ServicePlan(problems=(*problems, *against))
    common = _told(settings, cluster, behind, files, port)
    hosts = {minion: link for minion, link in links.items() if link}
    return join(_host(minion, hosts, common, files, port) for minion in minions)


def floating(settings: SiteSettings) -> set[str]:
    """The addresses that keepalived moves from host to host."""
    front = settings["rgw_frontend"]
    return {front["address"]} if front and front["address"] else set()


def _not_alike(settings: Mapping, behind: list[Gateway]) -> Iterable[str]:
    """No gateway behind, or some that differ: those of one configuration, or all where they are alike, stand there."""
    if not behind:
        yield (
            f"rgw_frontend: no minion has the role {settings['gateways']}: add a line to policy.cfg or name another "
            "one as 'gateways'"
        )
    if len({bool(gateway.tls) for gateway in behind}) > 1:
        yield (
            "rgw_frontend: some gateways speak TLS and some do not: name the configuration that stands behind, such "
            f"as 'gateways: {behind[0].configuration}'"
        )


def _taken(address: str | None, cluster: PlannedCluster) -> Iterable[str]:
    """The address that clients use is no host's yet."""
    for minion, host in sorted(cluster.hosts.items()):
        if address and any(addresses.ip(own) == addresses.ip(address) for own in host.get("addresses", ())):
            yield f"rgw_frontend: address {address} is that of {minion}: choose one that no host has"


def _files(settings: Mapping, behind: list[Gateway], cluster: PlannedCluster) -> tuple[dict[str, str], list[str]]:
    """HAProxy's certificate, where it ends TLS, and the one by which it checks gateways that speak it too."""
    if not settings["tls"]:
        return {}, []
    files, problems = given.tls("rgw_frontend: tls", settings["tls"], cluster)
    if behind[0].tls:
        problems = problems + given.required("rgw_frontend: ca", settings["ca"], cluster, CA_FORM)
        files["ca.pem"] = settings["ca"]
    return files, problems


def _minions(settings: Mapping, cluster: PlannedCluster, behind: list[Gateway]) -> tuple[list[str], list[str]]:
    """The hosts that run HAProxy."""
    if settings["minions"] is None:
        return sorted({gateway.minion for gateway in behind}), []
    found = sorted(minion for minion in cluster.roles if fnmatchcase(minion, settings["minions"]))
    expected = "a glob that matches minions of policy.cfg"
    return found, [] if found else [wrong("rgw_frontend: minions", settings["minions"], expected)]


def _link(host: Mapping, address: str) -> tuple[str, str] | None:
    """The interface of a host whose network holds an address, and the host's own address there."""
    for nic in host.get("ceph_nics", ()):
        for own in nic.get("addresses", ()):
            if addresses.beside(address, own) and NAME.fullmatch(str(nic.get("name"))):
                return nic["name"], str(addresses.ip(own))
    return None


def _apart(settings: Mapping, links: Mapping[str, object]) -> Iterable[str]:
    """Hosts that have no link for the address."""
    for minion, link in links.items():
        if link is None:
            yield (
                f"{minion}: has no address in a network that holds {settings['address']} of rgw_frontend: choose other "
                "minions or another address, and run ceph.stage.discovery where the host's networks changed"
            )


def _clashes(minions: list[str], port: int, gateways: list[Gateway]) -> Iterable[str]:
    """Gateways that hold the port on a host of HAProxy."""
    for gateway in gateways:
        if gateway.minion in minions and gateway.port == port:
            yield (
                f"{gateway.minion}: rgw_frontend wants port {port}, which the gateway {gateway.configuration} has "
                "there: give one of them another port"
            )


def _told(
    settings: Mapping, cluster: PlannedCluster, behind: list[Gateway], files: Mapping[str, str], port: int
) -> dict:
    """What every host of HAProxy is told alike."""
    address, tls = addresses.ip(settings["address"]), bool(settings["tls"])
    last = address.packed[-1] if address else 0
    http = tls or not behind[0].tls
    return {
        "files": sorted(files),
        "mode": "http" if http else "tcp",
        "bind": f"{address}:{port} transparent{f' ssl crt {FOLDER}/tls.pem' if tls else ''}",
        "backend": [*HEALTH, *(AGAIN if http else ())],
        "servers": [_server(gateway, cluster, tls) for gateway in behind],
        "address": str(address),
        "router_id": settings["router_id"] or last or 1,
        "port": port,
    }


def _host(
    minion: str, links: Mapping[str, tuple[str, str]], common: Mapping, files: Mapping[str, str], port: int
) -> ServicePlan:
    """HAProxy and keepalived of one host; the first by name has the address where all are well."""
    name, own = links[minion]
    place = sorted(links).index(minion)
    peers = [address for other, (_, address) in links.items() if other != minion]
    alone = {"interface": name, "own": own, "peers": peers, "priority": 100 - min(place, 98)}
    return ServicePlan(
        parts={"rgw-frontend": {minion: {**common, **alone}}},
        secrets={minion: {f"rgw-frontend/{file}": what for file, what in files.items()}},
        ports={minion: {port: "haproxy"}},
    )


def _server(gateway: Gateway, cluster: PlannedCluster, ends: bool) -> dict[str, str]:
    """One line of HAProxy's: a gateway, and how its health is asked."""
    place = cluster.address(gateway.minion) or gateway.host
    speaks = f"ssl verify required ca-file {FOLDER}/ca.pem" if ends else "check-ssl verify none"
    options = f"check inter 1s fall 2 rise 2 {speaks if gateway.tls else ''}".strip()
    return {"name": gateway.name, "address": f"{place}:{gateway.port}", "options": options}
