"""A host without its names: what planning depends on, by position in the list of its disks.

Hosts with equal shapes get equal plans, so each shape is planned once (docs/concepts/planner.md)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from proposals.disks.arguments import DiskArguments
from proposals.disks.fsids import fsid
from proposals.inventory.disk import KIND, Disk, Resident
from proposals.inventory.inventory import Host

DATA, DB, WAL, EXCLUDE = 1, 2, 4, 8  # which filters a disk matches; a filter not given matches


class Facts(NamedTuple):
    """One disk: its class, bytes, why it gets no new role (None: it may), and the filters it matches."""

    cls: str
    size: int
    reason: str | None
    mask: int


class Placed(NamedTuple):
    """One OSD by positions of its disks, the ``part``-th of its data disk. Sizes are bytes."""

    data: int
    part: int
    db: int | None
    wal: int | None
    db_size: int | None
    wal_size: int | None


class Stray(NamedTuple):
    """A DB or WAL that occupies its slot though no OSD of the answer owns it."""

    disk: int
    role: str
    size: int | None
    label: str
    gone: str  # what became of its OSD, as a part of a sentence


class Shape(NamedTuple):
    """Everything of a host that its plan depends on, hashable.

    ``pinned`` is what a stored plan with the same arguments placed, ``moving`` where it moves OSDs that exist,
    ``layout`` the layout that it chose. ``fixed`` are positions in ``existing`` of OSDs that cannot be moved;
    ``leaving`` are slots that OSDs lie in until they have moved (``moves``). The first ``waiting`` of ``pinned`` are
    OSDs that come back to their places, whatever is typed."""

    disks: tuple[Facts, ...]
    existing: tuple[Placed, ...]
    pinned: tuple[Placed, ...]
    strays: tuple[Stray, ...]
    layout: str | None = None
    moving: tuple[Placed, ...] = ()
    fixed: frozenset[int] = frozenset()
    leaving: tuple[Placed, ...] = ()
    waiting: int = 0


class Origin(NamedTuple):
    """What the plan does not depend on: what is told of an OSD beside its place.

    ``missing`` are ids of its DB and WAL devices that are not there any more, ``lost`` its parts there as an answer
    tells them: the profile goes on naming them, so that deploy leaves it out and ``osd.replace`` finds it."""

    fsid: str | None
    osd_id: int | None
    existing: bool
    format: str | None
    encryption: str | None
    missing: tuple[str, ...] = ()
    lost: tuple[tuple[str, str | int | None], ...] = ()


class Masks:
    """Which filters a disk matches; equal disks are asked once."""

    def __init__(self, arguments: DiskArguments) -> None:
        given = ((DATA, arguments.data), (DB, arguments.db), (WAL, arguments.wal), (EXCLUDE, arguments.exclude))
        self.filters = [(bit, wanted) for bit, wanted in given if wanted]
        self.always = sum(bit for bit, wanted in given if not wanted and bit != EXCLUDE)
        self.by_name = any(wanted.by_name for _, wanted in self.filters)
        self.known: dict[tuple, Facts] = {}

    def facts(self, disk: Disk) -> Facts:
        """What planning needs of ``disk``, with the bits of the filters that it matches or that were not given."""
        kind = None if self.by_name else (disk[KIND], disk.reason)
        facts = self.known.get(kind) if kind else None
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
    pinned = _pinned(host, stored, facts) if stored else ()
    moving = _moving(host, stored, facts, origins, existing) if stored and origins else ()
    return Shape(tuple(facts), existing, pinned, strays, _layout(stored) if stored else None, moving), origins


def _existing(host: Host, facts: list[Facts]) -> tuple[tuple[Placed, ...], tuple[Origin, ...], tuple[Stray, ...]]:
    """OSDs that lie on the disks; marks in ``facts`` the data disks whose OSD is gone."""
    parts_of: dict[str, dict[str, tuple[int, Resident]]] = {}
    strays: list[Stray] = []
    for at, disk in enumerate(host.disks):
        for part in disk.residents:
            roles = parts_of.setdefault(part.owner, {})
            if part.role not in roles:
                roles[part.role] = (at, part)
            elif part.role == "data":
                facts[at] = facts[at]._replace(reason=f"holds data of {label(part)}, which another disk holds too")
            else:
                strays.append(Stray(at, part.role, part.size, label(part), f"has another {part.role} elsewhere"))
    osds, origins = [], []
    count_on: dict[int, int] = {}
    for owner in sorted(parts_of, key=lambda owner: _order(parts_of[owner])):
        roles = parts_of[owner]
        if "data" not in roles:
            strays += _strays(roles, "has no data disk here")
            continue
        at, data = roles["data"]
        if data.state != "in-use":
            strays += _strays(roles, f"is {data.state}")
            if facts[at].reason is None:
                facts[at] = facts[at]._replace(reason=_left(data))
            continue
        (db, db_size), (wal, wal_size) = (_place(roles.get(role)) for role in ("db", "wal"))
        count_on[at] = count_on.get(at, -1) + 1
        osds.append(Placed(at, count_on[at], db, wal, db_size, wal_size))
        origins.append(Origin(data.fsid, data.osd_id, True, data.format, data.encryption))
    return tuple(osds), tuple(origins), tuple(strays)


def _place(part: tuple[int, Resident] | None) -> tuple[int | None, int | None]:
    return (part[0], part[1].size) if part else (None, None)


def _order(roles: Mapping[str, tuple[int, Resident]]) -> tuple:
    at, part = roles.get("data") or min(roles.values(), key=lambda place: place[0])
    return (at, part.offset, part.owner)


def _left(data: Resident) -> str:
    return f"holds the data of {label(data)}, which is {data.state}: free it with disk.wipe"


def label(osd: Resident | Origin) -> str:
    """How a message names an OSD: ``OSD 12``, or by its fsid where no id is known."""
    return f"OSD {osd.osd_id}" if osd.osd_id is not None else f"OSD {osd.fsid}"


def _strays(roles: Mapping[str, tuple[int, Resident]], gone: str) -> list[Stray]:
    lying = sorted((role, place) for role, place in roles.items() if role != "data")
    return [Stray(at, role, part.size, label(part), gone) for role, (at, part) in lying]


def _layout(stored: Mapping) -> str | None:
    """The layout that a stored plan chose; older ones tell only which it became."""
    candidates = stored.get("candidates")
    listed = [one for one in candidates if isinstance(one, Mapping)] if isinstance(candidates, list) else []
    layout = next((one.get("layout") for one in listed if one.get("chosen")), stored.get("layout"))
    return layout if isinstance(layout, str) else None


def _pinned(host: Host, stored: Mapping, facts: Sequence[Facts]) -> tuple[Placed, ...]:
    """What the stored proposal placed and is not deployed, as far as its disks are still there.

    A data disk on which a part of its OSDs was deployed keeps the slots of the others."""
    here = _still_here(host, stored, facts)
    planned: dict[str, list[Mapping]] = {}
    for osd in stored.get("osds", ()):
        planned.setdefault(osd["data"], []).append(osd)
    osds = []
    for id_, listed in planned.items():
        lying = {part.owner for part in host.disks[here[id_]].residents} if id_ in here else set()
        if id_ not in here or not lying <= {osd["uuid"] for osd in listed}:
            continue
        parts = {fsid(host.id, host.disks[here[id_]], part): part for part in range(len(listed))}
        for at, osd in enumerate(listed):
            devices = [osd[key] for key in ("db", "wal") if osd.get(key)]
            if not osd.get("existing") and osd["uuid"] not in lying and all(one in here for one in devices):
                db, wal = here.get(osd.get("db") or ""), here.get(osd.get("wal") or "")
                part = parts.get(osd["uuid"], at)
                osds.append(Placed(here[id_], part, db, wal, osd.get("db_size"), osd.get("wal_size")))
    return tuple(osds)


def _moving(
    host: Host, stored: Mapping, facts: Sequence[Facts], origins: Sequence[Origin], existing: Sequence[Placed]
) -> tuple[Placed, ...]:
    """Where the stored proposal moves OSDs that exist, as far as the devices are still there."""
    here = _still_here(host, stored, facts)
    lying = {origin.fsid: osd for origin, osd in zip(origins, existing, strict=True)}
    osds = []
    for one in stored.get("osds", ()):
        moves, osd = one.get("moves"), lying.get(one["uuid"])
        if moves and osd and all(move["to"] is None or move["to"] in here for move in moves.values()):
            if "db" in moves:
                osd = osd._replace(db=here.get(moves["db"]["to"]), db_size=moves["db"]["size"])
            if "wal" in moves:
                osd = osd._replace(wal=here.get(moves["wal"]["to"]), wal_size=moves["wal"]["size"])
            osds.append(osd)
    return tuple(osds)


def _still_here(host: Host, stored: Mapping, facts: Sequence[Facts]) -> dict[str, int]:
    """Position by id of each usable disk that is the one of the stored proposal."""
    used_last = sorted(stored.get("disks", ()), key=lambda disk: disk.get("role") != "unused")
    recorded = {disk.get("id"): disk for disk in used_last}  # of one id told twice, the path that had the role
    here = {}
    for at, disk in enumerate(host.disks):
        known = recorded.get(disk.id)
        same = known and known.get("size") == disk.size and known.get("serial", disk.serial) == disk.serial
        if same and facts[at].reason is None:
            here[disk.id] = at
    return here
