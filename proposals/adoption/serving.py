"""Metadata servers and gateways that others made: those that stages find as they are, and why others are left alone."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from proposals.adoption.found import Cluster, Host, Unit
from proposals.pillar import secrets

# What a gateway listens on: one port in clear (docs.ceph.com, radosgw/frontends); where nothing is said, Ceph's own
FRONTEND = re.compile(
    r"(beast|civetweb) +(port|endpoint)=([0-9.]+:|\[[0-9a-f:]+\]:)?(?P<port>[0-9]{1,5})"
    r"( +(?!port=|endpoint=|ssl)[a-z_]+=[^ +]+)*"
)
DEFAULT = "beast port=7480"
FRONTENDS = "rgw_frontends"


def servers(hosts: Sequence[Host], cluster: Cluster) -> list[str]:
    """Return the minions whose metadata server is taken in: they get the role mds."""
    return sorted(host.minion for host in hosts if against(host, cluster).get(host.hostname) == "")


def against(host: Host, cluster: Cluster) -> dict[str, str]:
    """Return why each metadata server of a host is left alone, by its name; an empty text where it is taken in."""
    return {name: next(_reasons(host, name, cluster), "") for name in host.daemons.get("mds", ())}


def _reasons(host: Host, name: str, cluster: Cluster) -> Iterator[str]:
    """What the stages would change: each that runs has its host's name, its unit and the key in its own folder."""
    if name != host.hostname:
        yield f"its host is {host.hostname}"
    if name not in cluster.servers:
        yield "it does not run"
    yield from _unit(host, f"mds.{name}", f"ceph-mds@{name}", f"mds/ceph-{name}", cluster)


def _unit(host: Host, entity: str, unit: str, folder: str, cluster: Cluster) -> Iterator[str]:
    """What stages would change of a daemon's unit and keyring."""
    found = host.units.get(entity, Unit())
    if not found.runs:
        yield "it does not run"
    if not found.boots:
        yield f"nobody starts it at boot: 'systemctl enable {unit}', then run it again"
    if not found.key or found.key != secrets.digest(cluster.keys.get(entity, "")):
        yield f"/var/lib/ceph/{folder}/keyring has not its key"


def unseen(hosts: Sequence[Host], cluster: Cluster) -> list[str]:
    """Return the metadata servers that run and that no host names: on no minion that answers, or without a unit."""
    return sorted(set(cluster.servers) - {name for host in hosts for name in host.daemons.get("mds", ())})


def gateways(hosts: Sequence[Host], cluster: Cluster) -> dict[str, int]:
    """Return the port of each gateway that is taken in, by its minion, which gets the role rgw: all have one port."""
    fit = {host.minion: port for host in hosts if (port := _fits(host, cluster))}
    most = max(Counter(fit.values()).items(), key=lambda each: (each[1], -each[0]), default=(0, 0))[0]
    return {minion: port for minion, port in fit.items() if port == most}


def against_gateways(host: Host, cluster: Cluster, taken: Mapping[str, int]) -> dict[str, str]:
    """Return why each gateway of a host is left alone, by its name; an empty text where it is taken in.

    taken
        As ``gateways`` returns it.
    """
    named = {name: next(_gateway(host, name, cluster), "") for name in host.daemons.get("radosgw", ())}
    other = "it listens on another port than most: rgw_configurations has one for all of a name"
    return {name: why or ("" if host.minion in taken else other) for name, why in named.items()}


def _fits(host: Host, cluster: Cluster) -> int | None:
    """The port of the gateway of a host's own name, where nothing stands against it."""
    name = f"rgw.{host.hostname}"
    if name not in host.daemons.get("radosgw", ()) or next(_gateway(host, name, cluster), ""):
        return None
    return _port(host, name, cluster)


def _gateway(host: Host, name: str, cluster: Cluster) -> Iterator[str]:
    if name != f"rgw.{host.hostname}":
        yield f"expected rgw.{host.hostname}, by which stages find it"
    yield from _unit(host, f"client.{name}", f"ceph-radosgw@{name}", f"radosgw/ceph-{name}", cluster)
    if not _port(host, name, cluster):
        yield f"its {FRONTENDS} is not one port in clear"


def _port(host: Host, name: str, cluster: Cluster) -> int | None:
    """Where a gateway listens: ceph.conf has the last word, then the central configuration's narrowest section."""
    text = host.units.get(f"client.{name}", Unit()).frontend
    rows = [row for row in cluster.config if row["name"] == FRONTENDS]
    if text is None and any(row["mask"] for row in rows):
        return None
    told = {row["section"]: row["value"] for row in rows}
    parts = f"client.{name}".split(".")
    sections = ["global", *(".".join(parts[:count]) for count in range(1, len(parts) + 1))]
    text = next((told[section] for section in reversed(sections) if section in told), DEFAULT) if text is None else text
    found = FRONTEND.fullmatch(text.strip().strip("\"'"))
    return int(found["port"]) if found else None
