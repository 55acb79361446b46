"""A proposal as a picture: each data disk beside its DB and WAL, what falls with these, disks that are left and why."""

from collections.abc import Iterable, Mapping

from proposals.pictures import drawing
from proposals.pictures.drawing import Box, Picture, Row
from proposals.text.notes import counted
from proposals.text.sizes import gib, terabytes

LETTERS = {"hdd": "H", "ssd": "S", "nvme": "N"}
LEGEND = (
    ("hdd", "H", "hard disk"),
    ("ssd", "S", "SSD"),
    ("nvme", "N", "NVMe"),
    ("unused", "-", "unused: why is beside it"),
)


def picture(stored: Mapping) -> Picture:
    """The picture of a proposal, as docs/reference/proposal.md has it, from peek or stored."""
    total = sum(_raw(host) for host in stored["hosts"].values())
    hosts = {
        name: (_alike(host), lambda host=host: (_falls_with_host(host, total), tuple(_rows(host, total))))
        for name, host in stored["hosts"].items()
    }
    osds = sum(len(host["osds"]) for host in stored["hosts"].values())
    return Picture(
        f"proposal {stored['name']}",
        f"{counted(len(stored['hosts']), 'host')}, {counted(osds, 'OSD')}, {terabytes(total)} raw",
        (
            *(f"warning: {line}" for line in stored.get("warnings", ())),
            *(f"hint: {line}" for line in stored.get("hints", ())),
        ),
        drawing.legend(LEGEND),
        drawing.grouped(hosts),
    )


def worst(stored: Mapping) -> str:
    """What falls with one DB or WAL device of a proposal, at most."""
    total = sum(map(_raw, stored["hosts"].values()))
    found = [
        _lost(device, host)
        for host in stored["hosts"].values()
        for device in {osd.get(role) for osd in host["osds"] for role in ("db", "wal")} - {None}
    ]
    if not found:
        return "an OSD alone: DB and WAL are on the data disks"
    lost, osds = max(found)
    return f"{counted(osds, 'OSD')}, {terabytes(lost)}, {_share(lost, total)} of the cluster"


def _raw(host: Mapping) -> int:
    return sum(disk["size"] for disk in host["disks"] if disk.get("role") == "data")


def _alike(host: Mapping) -> object:
    """What hosts share whose pictures are the same: disks by position, and what lies on which."""
    at = {disk["id"]: number for number, disk in enumerate(host["disks"])}
    disks = tuple((disk.get("class"), disk["size"], disk.get("role"), disk.get("reason")) for disk in host["disks"])
    osds = tuple(
        (
            *(at.get(osd.get(role)) for role in ("data", "db", "wal")),
            osd.get("db_size"),
            osd.get("wal_size"),
            osd.get("existing"),
        )
        for osd in host["osds"]
    )
    return repr((disks, osds))  # a stored proposal may hold anything where it was edited


def _rows(host: Mapping, total: int) -> Iterable[Row]:
    disks = {disk["id"]: disk for disk in host["disks"]}
    behind: dict[tuple, list[Mapping]] = {}
    for osd in host["osds"]:
        behind.setdefault((osd.get("db"), osd.get("wal")), []).append(osd)
    for (db, wal), osds in sorted(behind.items(), key=lambda each: tuple(map(str, each[0]))):
        heads = tuple(dict.fromkeys(one for one in (db, wal) if one))
        falls = [_falls(one, host, total) for one in heads]
        boxes = tuple(_box(one, disks, text) for one, text in zip(heads, falls, strict=True))
        text = falls[0] if len(heads) == 1 else "; ".join(falls) or "DB and WAL on the data disk"
        yield Row(boxes, tuple(_box(osd["data"], disks, _osd(osd)) for osd in osds), text)
    unused: dict[tuple, list[Mapping]] = {}
    for disk in host["disks"]:
        if disk.get("role") == "unused":
            unused.setdefault((disk.get("class"), disk["size"], disk.get("reason")), []).append(disk)
    for (cls, size, reason), alike in unused.items():
        text = f"{len(alike)} {cls} of {gib(size)} GiB: {reason or 'free'}"
        yield Row((), tuple(_box(disk["id"], disks, reason or "free", "unused") for disk in alike), text)


def _box(id_: str, disks: Mapping[str, Mapping], text: str, kind: str = "") -> Box:
    disk = disks.get(id_, {"class": "unused", "size": 0})  # one that is not there any more
    said = [disk.get("device"), id_, f"{gib(disk['size'])} GiB", *map(disk.get, ("vendor", "model", "serial"))]
    name = " ".join(str(word) for word in said if word)
    cls = str(disk.get("class"))
    return Box(kind or (cls if cls in LETTERS else "unused"), LETTERS.get(cls, "?"), f"{name}: {text}")


def _osd(osd: Mapping) -> str:
    parts = [
        f"{role.upper()} {gib(osd[f'{role}_size'])} GiB on {osd[role]}" for role in ("db", "wal") if _sized(osd, role)
    ]
    return ", ".join(["OSD that exists" if osd.get("existing") else "new OSD", *parts])


def _sized(osd: Mapping, role: str) -> bool:
    return bool(osd.get(role)) and type(osd.get(f"{role}_size")) is int


def _lost(device: str, host: Mapping) -> tuple[int, int]:
    """The bytes and the number of OSDs that hang on a device."""
    sizes = {disk["id"]: disk["size"] for disk in host["disks"]}
    osds = [osd for osd in host["osds"] if device in (osd.get("db"), osd.get("wal"))]
    return sum(sizes.get(data, 0) for data in {osd["data"] for osd in osds}), len(osds)


def _falls(device: str, host: Mapping, total: int) -> str:
    lost, osds = _lost(device, host)
    role = "/".join(word.upper() for word in ("db", "wal") if any(osd.get(word) == device for osd in host["osds"]))
    shares = f"{_share(lost, _raw(host))} of the host, {_share(lost, total)} of the cluster"
    return f"{role}: {counted(osds, 'OSD')}, {terabytes(lost)} fall with it, {shares}"


def _falls_with_host(host: Mapping, total: int) -> str:
    raw = _raw(host)
    return (
        f"{host.get('layout') or 'no layout'}: with each host {counted(len(host['osds']), 'OSD')}, "
        f"{terabytes(raw)} fall, {_share(raw, total)} of the cluster"
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole if whole else 0:.1f}%"
