"""What stands against roles that leave: a majority of monitors, the last manager, the servers of a file system."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from proposals.cluster.removal.items import Item

AGAIN = "give policy.cfg its line back, or another host the role, and run ceph.stage.configure"


def against(items: Sequence[Item], seen: Mapping, members: Mapping[str, Collection[str]]) -> list[str]:
    """Return why roles must not leave, a line each; empty where they may.

    seen
        ``cluster_removal.inspect``'s answer: ``monitors``, ``quorum``, ``managers``, ``file_systems`` (each ``{name,
        max_mds, servers}``) and ``standbys``, all by their names.
    members
        The minions of each role that are served.
    """
    return [
        *_unserved(members),
        *_monitors(_names(items, "mon"), seen["monitors"], seen["quorum"]),
        *_managers(_names(items, "mgr"), seen["managers"]),
        *_servers(_names(items, "mds"), seen["file_systems"], seen["standbys"]),
    ]


def _names(items: Iterable[Item], kind: str) -> list[str]:
    """The daemons' names, which their hosts have."""
    return [name.removeprefix(f"{kind}.") for item in items if item.kind == kind for name in item.name.split(", ")]


def _unserved(members: Mapping[str, Collection[str]]) -> Iterator[str]:
    for role, what in (("storage", "storage"), ("mon", "monitor")):
        if not members.get(role):
            yield (
                f"the generation that is served has no {what}: that would be the whole cluster, which no stage takes "
                f"away; {AGAIN}"
            )


def _monitors(names: Sequence[str], monitors: Collection[str], quorum: Collection[str]) -> Iterator[str]:
    leaves = [name for name in names if name in monitors]
    left = set(monitors) - set(leaves)
    if not leaves:
        return
    told = ", ".join(f"mon.{name}" for name in leaves)
    if len(leaves) > len(monitors) // 2:
        yield f"{told}: the majority of {len(monitors)} monitors: take fewer of them away at once; {AGAIN}"
    elif len(left & set(quorum)) <= len(left) // 2:
        yield (
            f"{told}: of the {len(left)} monitors that would be left {len(left & set(quorum))} are in quorum, which is "
            "no majority: bring the others back first"
        )


def _managers(names: Sequence[str], managers: Collection[str]) -> Iterator[str]:
    leaves = [name for name in names if name in managers]
    if leaves and not set(managers) - set(leaves):
        told = ", ".join(f"mgr.{name}" for name in leaves)
        yield f"{told}: no other manager runs: {AGAIN}; deploy makes one there, then this goes on"


def _servers(names: Sequence[str], systems: Sequence[Mapping], standbys: Collection[str]) -> Iterator[str]:
    """A file system keeps as many servers as are to be active."""
    running = {*standbys, *(server for system in systems for server in system["servers"])}
    leaves, left = [name for name in names if name in running], running - set(names)
    if not leaves:
        return
    told = ", ".join(f"mds.{name}" for name in leaves)
    needed = sum(system["max_mds"] for system in systems)
    of = ", ".join(system["name"] for system in systems)
    if systems and not left:
        yield f"{told}: the last metadata server of {of}, which nobody could read then: {AGAIN}"
    elif len(left) < needed:
        yield (
            f"{told}: {of} has {needed} active metadata servers (max_mds), and {len(left)} would be left: give the "
            "role to another host, or lower max_mds in cephfs and run ceph.stage.configure and ceph.stage.services"
        )
