"""File systems while their metadata servers are upgraded: one active server and no replaying standby, then as before.

docs.ceph.com, cephfs/upgrading: servers of two releases in one file system may not understand each other's journals.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Kept = Mapping[str, Sequence[int]]  # by file system: max_mds, and 1 where standbys replay


def noted(found: Iterable[Mapping[str, Any]], kept: Kept) -> dict[str, list[int]]:
    """Return what file systems had before; what is kept of an interrupted run is the true one.

    found
        As ``cluster_upgrade.inspect`` tells them.
    """
    return {system["name"]: [system["max_mds"], int(system["standby_replay"])] for system in found} | {
        name: list(had) for name, had in kept.items()
    }


def reduce(found: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Return the commands, without ``ceph``, that leave each file system one active server."""
    return [command for system in found for command in _commands(system, 1, False)]


def restore(found: Iterable[Mapping[str, Any]], kept: Kept) -> list[list[str]]:
    """Return the commands that give file systems back what is kept of them; one that is gone is left out."""
    commands = []
    for system in found:
        if had := kept.get(system["name"]):
            commands += _commands(system, had[0], bool(had[1]))
    return commands


def many(found: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the file systems that still have several active servers."""
    return [system["name"] for system in found if len(system["active"]) > 1]


def active(found: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the active metadata servers, as ``mds.node1``."""
    return {f"mds.{name}" for system in found for name in system["active"]}


def _commands(system: Mapping[str, Any], most: int, replay: bool) -> list[list[str]]:
    """What changes a file system to so many active servers, and to standbys that replay or do not."""
    words = [["max_mds", str(most)]] if most != system["max_mds"] else []
    words += [["allow_standby_replay", str(replay).lower()]] if replay != system["standby_replay"] else []
    return [["fs", "set", system["name"], *word] for word in words]
