"""What became of what was planned or deployed before."""

from __future__ import annotations

from collections.abc import Mapping

from proposals.disks.shape import Origin
from proposals.disks.values import Planned

SHOWN = 3  # disks named in one line


def moves(before: Mapping, now: Mapping) -> list[str]:
    """What a host's stored plan (``before``) placed elsewhere than the new one does, where it is not deployed."""
    placed = {(osd["data"], _part(now["osds"], at)): osd for at, osd in enumerate(now["osds"])}
    gone, moved = [], []
    listed = before.get("osds", ())
    for at, osd in enumerate(listed):
        if osd["existing"]:
            continue
        new = placed.get((osd["data"], _part(listed, at)))
        if new is None:
            gone.append(osd["data"])
        elif not new["existing"] and any(osd[key] != new[key] for key in ("db", "wal", "db_size", "wal_size")):
            moved.append(osd["data"])
    lines = [_line("are placed or sized otherwise than the stored proposal has them", moved)] if moved else []
    return lines + ([_line("of the stored proposal are no longer planned", gone)] if gone else [])


def recalled(origins: tuple[Origin, ...], before: Mapping | None) -> tuple[Origin, ...]:
    """Origins of existing OSDs with the format and encryption that the stored proposal made them with.

    An inventory need not tell them; where nobody does, they are BlueStore and not encrypted."""
    stored = {osd["uuid"]: osd for osd in before["osds"]} if before else {}
    found = []
    for origin in origins:
        known = stored.get(origin.uuid, {})
        format_ = origin.format or known.get("format") or "bluestore"
        found.append(origin._replace(format=format_, encryption=origin.encryption or known.get("encryption")))
    return tuple(found)


def fallen(planned: Planned, before: Mapping) -> list[str]:
    """All OSDs that fall with each DB or WAL device that does not answer or is gone.

    ``before`` is the host's part of a stored proposal: it tells where a DB was that no disk shows any more."""
    disks, facts = planned.host.disks, planned.shape.disks
    here = {disk.id for disk in disks}
    stored = {(osd["data"], osd["uuid"]): osd for osd in before.get("osds", ())}
    behind: dict[tuple[str, str], list[str]] = {}
    for one, origin in zip(planned.shape.existing, planned.origins, strict=True):
        name = f"OSD {origin.osd_id}" if origin.osd_id is not None else f"OSD {origin.uuid}"
        known = stored.get((disks[one.data].id, origin.uuid), {})
        dead = {(disks[at].id, facts[at].reason) for at in (one.db, one.wal) if at is not None and facts[at].reason}
        missing = [known.get(key) for key in ("db", "wal") if getattr(one, key) is None]
        dead |= {(device, "is not there any more") for device in missing if device and device not in here}
        for device in dead:
            behind.setdefault(device, []).append(name)
    return [f"{device}: {reason}: with it fall {', '.join(osds)}" for (device, reason), osds in sorted(behind.items())]


def _part(osds, at: int) -> int:
    """Which OSD of its data disk the one at this place is: they stand side by side."""
    first = at
    while first and osds[first - 1]["data"] == osds[at]["data"]:
        first -= 1
    return at - first


def _line(what: str, data: list[str]) -> str:
    named = ", ".join(one.rpartition("/")[2] for one in data[:SHOWN])
    more = f" and {len(data) - SHOWN} more" if len(data) > SHOWN else ""
    return f"{len(data)} OSDs that are not deployed {what}: {named}{more}"
