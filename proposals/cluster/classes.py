"""Device classes of OSDs that exist: what their profiles say, and the commands that bring them there."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Reclassed(NamedTuple):
    """An OSD of another class than its profile has: its number, its class now, and the wanted one."""

    osd_id: int
    now: str | None
    wanted: str


def differing(
    osds: Mapping[str, Mapping[str, Mapping]], states: Iterable[Mapping], among: Iterable[str]
) -> list[Reclassed]:
    """Return the OSDs that are of another class than their profile's ``class``; one without that is left alone.

    osds
        By minion the planned OSDs by data disk.
    states
        ``cluster_osds.states``'s answer.
    among
        The minions that are meant.
    """
    wanted = {
        fsid: osd["class"]
        for minion in among
        for osd in osds.get(minion, {}).values()
        for fsid in osd.get("uuids") or ()
        if osd.get("class")
    }
    return [
        Reclassed(osd["id"], osd["class"], wanted[osd["fsid"]])
        for osd in sorted(states, key=lambda osd: osd["id"])
        if osd["fsid"] in wanted and osd["weight"] is not None and osd["class"] != wanted[osd["fsid"]]
    ]


def commands(found: Iterable[Reclassed]) -> list[list[str]]:
    """Return the ``ceph`` commands: OSD by OSD, so that no rule is without all OSDs of its class at any moment.

    Ceph gives an OSD a class only where it has none (docs.ceph.com, rados/operations/crush-map).
    """
    todo: list[list[str]] = []
    for osd in found:
        name = f"osd.{osd.osd_id}"
        if osd.now:
            todo.append(["osd", "crush", "rm-device-class", name])
        todo.append(["osd", "crush", "set-device-class", osd.wanted, name])
    return todo


def devices(found: Iterable[Reclassed]) -> dict[str, str]:
    """Return each one's wanted class by its number, for ``cluster_moves.estimate``."""
    return {str(osd.osd_id): osd.wanted for osd in found}
