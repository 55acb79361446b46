"""What became of an earlier plan."""

from collections.abc import Mapping

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
