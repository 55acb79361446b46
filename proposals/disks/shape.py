"""A host without its names: what planning depends on, by position in the list of its disks.

Hosts with equal shapes get equal plans, so each shape is planned once (docs/concepts/planner.md)."""

from collections.abc import Mapping
from typing import NamedTuple

from proposals.disks.arguments import Arguments
from proposals.inventory.disk import KIND, Disk
from proposals.inventory.inventory import Host

DATA, DB, WAL, EXCLUDE = 1, 2, 4, 8  # which filters a disk matches; a filter not given matches


class Facts(NamedTuple):
    """One disk: its class, bytes, why it gets no new role (None: it may), and the filters it matches."""

    cls: str
    size: int
    reason: str | None
    mask: int


class Placed(NamedTuple):
    """One OSD by positions of its disks. Sizes are bytes; ``fixed`` where it lay there before this plan."""

    data: int
    part: int
    db: int | None
    wal: int | None
    db_size: int | None
    wal_size: int | None
    fixed: bool = False


class Stray(NamedTuple):
    """A DB or WAL that occupies its slot though no OSD of the answer owns it."""

    disk: int
    role: str
    size: int | None
    label: str
    gone: str  # what became of its OSD, as a part of a sentence


class Shape(NamedTuple):
    """Everything of a host that its plan depends on, hashable."""

    disks: tuple[Facts, ...]
    existing: tuple[Placed, ...]
    pinned: tuple[Placed, ...]
    strays: tuple[Stray, ...]


class Origin(NamedTuple):
    """What the plan does not depend on: what is told of an OSD beside its place."""

    uuid: str | None
    osd_id: int | None
    existing: bool
    format: str | None
    encryption: str | None


class Masks:
    """Which filters a disk matches; equal disks are asked once."""

    def __init__(self, arguments: Arguments) -> None:
        given = ((DATA, arguments.data), (DB, arguments.db), (WAL, arguments.wal), (EXCLUDE, arguments.exclude))
        self.filters = [(bit, wanted) for bit, wanted in given if wanted]
        self.always = sum(bit for bit, wanted in given if not wanted and bit != EXCLUDE)
        self.by_name = any(wanted.by_name for _, wanted in self.filters)
        self.known: dict[tuple, Facts] = {}

    def facts(self, disk: Disk) -> Facts:
        """What planning needs of ``disk``, with the bits of the filters that it matches or that were not given."""
        kind = None if self.by_name else (disk[KIND], disk.reason)
        facts = self.known.get(kind)
        if facts is None:
            mask = self.always + sum(bit for bit, wanted in self.filters if wanted.matches(disk))
            facts = Facts(disk.cls, disk.size, disk.reason, mask)
            if kind:
                self.known[kind] = facts
        return facts


def build(host: Host, masks: Masks, stored: Mapping | None) -> tuple[Shape, tuple[Origin, ...]]:
    """The shape of ``host``, and the origin of each of its existing OSDs.

    ``stored`` is this host's part of a stored proposal with the same arguments, or None."""
    facts = list(map(masks.facts, host.disks))
    if any(disk.residents for disk in host.disks):
        existing, origins, strays = _existing(host, facts)
    else:
        existing, origins, strays = (), (), ()
    pinned = _pinned(host, stored, {one.data for one in existing}) if stored else ()
    return Shape(tuple(facts), existing, pinned, strays), origins


def _existing(host: Host, facts: list[Facts]) -> tuple[tuple[Placed, ...], tuple[Origin, ...], tuple[Stray, ...]]:
    """OSDs that lie on the disks; marks in ``facts`` the data disks whose OSD is gone."""
    parts: dict[str, dict] = {}
    found, strays, parts_on = [], [], {}
    for at, disk in enumerate(host.disks):
        for one in disk.residents:
            if one.role not in (roles := parts.setdefault(one.owner, {})):
                roles[one.role] = (at, one)
            elif one.role == "data":
                facts[at] = facts[at]._replace(reason=f"holds data of {label(one)}, which another disk holds too")
            else:
                strays.append(Stray(at, one.role, one.size, label(one), f"has another {one.role} elsewhere"))
    for osd in sorted(parts, key=lambda osd: _order(parts[osd])):
        roles = parts[osd]
        at, data = roles.get("data", (None, None))
        if data is None or data.state != "in-use":
            strays += _strays(roles, f"is {data.state}" if data else "has no data disk here")
            if data is not None and facts[at].reason is None:
                facts[at] = facts[at]._replace(reason=_left(data))
            continue
        db, wal = roles.get("db"), roles.get("wal")
        part = parts_on[at] = parts_on.get(at, -1) + 1
        sizes = [one[1].size if one else None for one in (db, wal)]
        placed = Placed(at, part, db and db[0], wal and wal[0], *sizes, True)
        found.append((placed, Origin(data.fsid, data.osd_id, True, data.format, data.encryption)))
    return tuple(one[0] for one in found), tuple(one[1] for one in found), tuple(strays)


def _order(roles: dict) -> tuple:
    at, one = roles.get("data") or min(roles.values(), key=lambda value: value[0])
    return (at, one.offset, one.owner)


def _left(data) -> str:
    return f"holds the data of {label(data)}, which is {data.state}: free it with disk.wipe"


def label(one) -> str:
    """How a message names an OSD: ``OSD 12``, or by its fsid where no id is known."""
    return f"OSD {one.osd_id}" if one.osd_id is not None else f"OSD {one.fsid}"


def _strays(roles: dict, gone: str) -> list[Stray]:
    return [Stray(at, role, one.size, label(one), gone) for role, (at, one) in sorted(roles.items()) if role != "data"]


def _pinned(host: Host, stored: Mapping, taken: set[int]) -> tuple[Placed, ...]:
    """What the stored proposal placed, as far as its disks are still there and free."""
    recorded = {disk.get("id"): disk for disk in stored.get("disks", ())}
    here = {}
    for at, disk in enumerate(host.disks):
        known = recorded.get(disk.id)
        same = known and known.get("size") == disk.size and known.get("serial", disk.serial) == disk.serial
        if same and disk.reason is None:
            here[disk.id] = at
    found, parts_on = [], {}
    for osd in stored.get("osds", ()):
        wanted = [osd["data"], *(osd[key] for key in ("db", "wal") if osd.get(key))]
        if osd.get("existing") or not all(one in here for one in wanted) or here[osd["data"]] in taken:
            continue
        if host.disks[here[osd["data"]]].residents:
            continue
        at = here[osd["data"]]
        part = parts_on[at] = parts_on.get(at, -1) + 1
        db, wal = here.get(osd.get("db")), here.get(osd.get("wal"))
        found.append(Placed(at, part, db, wal, osd.get("db_size"), osd.get("wal_size"), True))
    return tuple(found)
