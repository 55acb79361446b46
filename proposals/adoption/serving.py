"""Metadata servers that others made: those that stages find again as they are, and why others are left alone."""

from collections.abc import Iterator, Sequence

from proposals.adoption.found import Cluster, Host, Unit
from proposals.pillar import secrets


def servers(hosts: Sequence[Host], cluster: Cluster) -> list[str]:
    """Return the minions whose metadata server is taken in: they get the role mds."""
    return sorted(host.minion for host in hosts if against(host, cluster).get(host.hostname) == "")


def against(host: Host, cluster: Cluster) -> dict[str, str]:
    """Return why each metadata server of a host is left alone, by its name; an empty text where it is taken in."""
    return {name: next(_reasons(host, name, cluster), "") for name in host.daemons.get("mds", ())}


def _reasons(host: Host, name: str, cluster: Cluster) -> Iterator[str]:
    """What the stages would change: each that runs has its host's name, its unit and the key in its own folder."""
    unit = host.units.get(f"mds.{name}", Unit())
    if name != host.hostname:
        yield f"its host is {host.hostname}"
    if name not in cluster.servers or not unit.runs:
        yield "it does not run"
    if not unit.boots:
        yield f"nobody starts it at boot: 'systemctl enable ceph-mds@{name}', then run it again"
    if not unit.key or unit.key != secrets.digest(cluster.keys.get(f"mds.{name}", "")):
        yield f"/var/lib/ceph/mds/ceph-{name}/keyring has not its key"


def unseen(hosts: Sequence[Host], cluster: Cluster) -> list[str]:
    """Return the metadata servers that run and that no host names: on no minion that answers, or without a unit."""
    return sorted(set(cluster.servers) - {name for host in hosts for name in host.daemons.get("mds", ())})
