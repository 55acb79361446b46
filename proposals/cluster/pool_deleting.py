"""A pool that is deleted by name: what is lost with it, and what stands against it."""

from collections.abc import Collection, Mapping

from proposals.text.notes import counted
from proposals.text.sizes import rounded

CEPH = ("mgr", "mgr_devicehealth")  # applications of Ceph's own, which make their pools again and lose what they keep


def lost(name: str, pool: Mapping) -> str:
    """Return what goes with a pool: ``pool``'s entry of ``cluster_pools.inspect``."""
    uses = ", ".join(pool["applications"]) or "no application"
    return f"pool {name} ({uses}): {counted(pool['objects'], 'object')}, {rounded(pool['bytes'])}"


def against(name: str, pool: Mapping, planned: Collection[str]) -> list[str]:
    """Return why a pool must not be deleted, a line each; empty where it may.

    planned
        The pools that the settings and services name.
    """
    lines = []
    if name in planned:
        lines.append(
            "the settings, or a service, name it, and would make it again, empty: take it out of pools in cluster.yml, "
            "or the service's setting, and run ceph.stage.configure"
        )
    if pool["file_systems"]:
        lines.append(f"file system {', '.join(pool['file_systems'])} consists of it: see 'ceph fs ls'")
    if pool["tiers"]:
        lines.append("it is part of a cache: see 'ceph osd tier'")
    if used := set(CEPH) & set(pool["applications"]):
        lines.append(f"Ceph keeps what it knows itself in it (application {', '.join(sorted(used))})")
    if pool["nodelete"]:
        lines.append(f"it is nodelete: 'ceph osd pool set {name} nodelete false' takes that away")
    return lines
