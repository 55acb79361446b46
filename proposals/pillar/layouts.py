"""A host's layout, judged once more: profiles are kept by hand, and hosts make OSDs of what stands in them."""

from collections.abc import Iterable, Mapping
from typing import Any

from proposals.files.site import minion_of
from proposals.settings.kinds import Choice, Kind, Own, Text, Whole, wrong
from proposals.text.names import UUID, closest, is_device, shown

CARRIED = ("db", "wal", "journal")  # what of an OSD may lie on another disk than its data
DEVICE = Text("a device such as /dev/disk/by-id/wwn-0x5000c500a1b2c3d4", is_device)
BYTES = Whole(1, what="whole bytes")


def _are_fsids(value: object) -> bool:
    return (
        isinstance(value, list) and bool(value) and all(isinstance(one, str) and UUID.fullmatch(one) for one in value)
    )


# An OSD's keys, as populate and DeepSea write them.
KEYS: Mapping[str, Kind] = {
    "uuids": Own("a list of UUIDs, one for each OSD of this disk", _are_fsids),
    "format": Choice(("bluestore", "filestore")),
    "encryption": Choice(("", "dmcrypt")),
    "class": Text("a device class such as fast", bool),
    "osds_per_device": Whole(1),
    "replace": Own("true or false", lambda value: isinstance(value, bool)),
    "moves": Own("db and wal, and where each moves to", lambda value: isinstance(value, Mapping)),
    **dict.fromkeys(CARRIED, DEVICE),
    **{f"{part}_size": BYTES for part in CARRIED},
}
FILLED = ("format", "moves")  # which hosts read where they stand there at all
PLACE: Mapping[str, Kind] = {"to": DEVICE, "size": BYTES}  # where a part moves to


def fsids(osd: Mapping) -> list[str]:
    """Return the fsids of a disk's OSDs; none where the layout does not name them as a list."""
    told = osd.get("uuids")
    return [str(fsid) for fsid in told] if isinstance(told, list) else []


def problems(files: Mapping[str, Mapping]) -> list[str]:
    """Return what is no layout in minions' files, one line each; nothing else can be judged before.

    files
        Content by target path, chosen or served.
    """
    told = ((minion_of(target), content) for target, content in sorted(files.items()))
    return [f"{minion}{line}" for minion, content in told if minion for line in of_minion(content)]


def of_minion(content: Mapping) -> Iterable[str]:
    """What is wrong in one minion's file, or pillar: each line to stand behind its name."""
    place, inner = [], content
    for key in ("ceph", "storage"):
        if key not in inner:
            return
        place.append(key)
        if not isinstance(inner[key], Mapping):
            yield f": {wrong(':'.join(place), inner[key], 'a mapping')}"
            return
        inner = inner[key]
    disks, osds = inner.get("disks", {}), inner.get("osds", {})
    for key, value in (("disks", disks), ("osds", osds)):
        if not isinstance(value, Mapping):
            yield f": {wrong(f'ceph:storage:{key}', value, 'disks (/dev/disk/by-id/...), and what is told of each')}"
            return
    for disk, known in disks.items():
        if not isinstance(known, Mapping) or type(known.get("size", 0)) is not int:
            yield f" {shown(disk, 255)}: {wrong('disks', known, 'size (in bytes) and serial of this disk')}"
    for disk, osd in osds.items():
        yield from (f" {shown(disk, 255)}: {line}" for line in _osd(disk, osd, disks))
    yield from _twice(osds)


def _osd(disk: object, osd: object, disks: Mapping) -> Iterable[str]:
    """What is wrong with the OSDs of one disk."""
    if not is_device(disk):
        yield f"is no disk: expected {DEVICE.expected}"
    if not isinstance(osd, Mapping):
        yield wrong("an OSD", osd, f"keys such as format and uuids ({', '.join(KEYS)})")
        return
    yield from _read(osd, KEYS, "an OSD", short="uuids" not in osd)
    places = {part: (osd.get(part), osd.get(f"{part}_size")) for part in CARRIED}
    if "uuids" in osd:
        for part in ("db", "wal"):
            if osd.get(part) and osd.get(f"{part}_size") is None:
                yield wrong(f"{part}_size", None, BYTES.expected)
    moves = osd.get("moves")
    for part, to in moves.items() if isinstance(moves, Mapping) else ():
        if part not in ("db", "wal") or not isinstance(to, Mapping):
            yield wrong(f"moves: {shown(part)}", to, "db or wal, and there 'to' and 'size'")
            continue
        yield from (f"moves: {part}: {line}" for line in _read(to, PLACE, "a move"))
        if to.get("to") and to.get("size") is None:
            yield wrong(f"moves: {part}: size", None, BYTES.expected)
        places[f"moves: {part}"] = (to.get("to"), to.get("size"))
    yield from _too_large(places, disks)


def _read(said: Mapping, known: Mapping[str, Kind], what: str, short: bool = False) -> Iterable[str]:
    """Keys that are none, and values that are not of their key's kind; an empty one says nothing."""
    for key, value in said.items():
        kind = known.get(key)
        if kind is None:
            near = closest(str(key), known) or next((word for word in known if sorted(word) == sorted(str(key))), None)
            yield f"'{shown(key)}' is no key of {what}" + (
                f": did you mean '{near}'?" if near else f"; known are {', '.join(known)}"
            )
        elif (value is not None or key in FILLED) and not (value == "" and key in CARRIED):
            # DeepSea's sizes (40g), in its short form of an OSD alone: hosts plan nothing of that
            sized = short and kind is BYTES and isinstance(value, str) and value[:1].isdigit()
            yield from () if sized else kind.read(str(key), value)[1]


def _too_large(places: Mapping[str, tuple[Any, Any]], disks: Mapping) -> Iterable[str]:
    """Parts that are larger than the whole disk they are to lie on."""
    for part, (disk, size) in places.items():
        known = disks.get(disk) if is_device(disk) else None
        whole = known.get("size") if isinstance(known, Mapping) else None
        if type(size) is int and type(whole) is int and size > whole:
            yield f"{part} has {shown(size)} bytes: expected at most {whole}, all that {disk} has"


def _twice(osds: Mapping) -> Iterable[str]:
    """OSDs of one host that have one fsid."""
    first: dict[str, object] = {}
    for disk, osd in osds.items():
        for fsid in fsids(osd) if isinstance(osd, Mapping) else ():
            if fsid in first:
                yield (
                    f" {shown(disk, 255)}: uuids: {shown(fsid)} is also that of an OSD on {shown(first[fsid], 255)}: "
                    "each OSD has its own"
                )
            first.setdefault(fsid, disk)
