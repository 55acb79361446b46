"""OSDs that exist and are to get their DB and WAL elsewhere: which, and where to. Only where ``migrate`` is typed.

Where an OSD lies stays taken until it has moved (``Shape.leaving``), so that nothing is planned there before."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from proposals.disks.allocate import parts
from proposals.disks.arguments import DiskArguments
from proposals.disks.choice import STANDALONE, again, attempts, chosen
from proposals.disks.shape import DATA, DB, EXCLUDE, WAL, Origin, Placed, Shape
from proposals.disks.states import state, still_fitting
from proposals.inventory.disk import SPEED
from proposals.text.notes import HINT, WARNING, Note

MOVES, COULD = "moves", "could have a DB"


def fixed(shape: Shape, origins: Sequence[Origin]) -> frozenset[int]:
    """Which of the OSDs that exist cannot be moved, by their position: encrypted, filestore, on a faulty disk, or with
    others on their data disk: these move one after the other, and what lies in two ways would not be planned on."""
    sharing = Counter(osd.data for osd in shape.existing)
    return frozenset(
        at
        for at, (osd, origin) in enumerate(zip(shape.existing, origins, strict=True))
        if origin.encryption
        or origin.format != "bluestore"
        or origin.missing
        or origin.osd_id is None
        or sharing[osd.data] > 1
        or any(shape.disks[on].reason for on in (osd.data, osd.db, osd.wal) if on is not None)
    )


def planned(shape: Shape, arguments: DiskArguments) -> tuple[Shape, dict[int, Placed]]:
    """The host as it is once everything has moved, and where each OSD that moves goes, by position in ``existing``.

    Slots that are left stay taken in that shape. It is the same shape where nothing moves."""
    if not arguments.migrate or not shape.existing:
        return shape, {}
    movers = _movers(shape, arguments)
    to, layout = _placed(shape, arguments, movers)
    moves = {at: new for at in movers if (osd := shape.existing[at])[:2] in to and (new := to[osd[:2]]) != osd}
    if not moves:
        return shape, {}
    existing = tuple(moves.get(at, osd) for at, osd in enumerate(shape.existing))
    leaving = tuple(_left(shape.existing[at], new) for at, new in moves.items())
    return shape._replace(existing=existing, leaving=leaving, layout=layout), moves


def _movers(shape: Shape, arguments: DiskArguments) -> list[int]:
    """Positions of the OSDs that lie otherwise than the arguments want."""
    return [
        at
        for at, osd in enumerate(shape.existing)
        if parts(shape.disks[osd.data], arguments) == 1
        and at not in shape.fixed
        and shape.disks[osd.data].mask & DATA
        and not shape.disks[osd.data].mask & EXCLUDE
        and not _as_wanted(osd, shape, arguments)
    ]


def _as_wanted(osd: Placed, shape: Shape, arguments: DiskArguments) -> bool:
    """Whether an OSD lies as the arguments want it: also with a larger DB, and without a WAL beside its DB."""
    if arguments.layout == STANDALONE:
        return osd.db is None and osd.wal is None
    if osd.db is None:  # a WAL alone is what ``wal`` without ``db`` asks for
        return (
            not arguments.db and osd.wal is not None and _suits(shape, osd.wal, WAL, osd.wal_size, arguments.wal_size)
        )
    if not _suits(shape, osd.db, DB, osd.db_size, arguments.db_size):
        return False
    bit = WAL if osd.wal != osd.db else DB
    return osd.wal is None or _suits(shape, osd.wal, bit, osd.wal_size, arguments.wal_size)


def _suits(shape: Shape, at: int, bit: int, size: int | None, typed: int | None) -> bool:
    mask = shape.disks[at].mask
    return bool(mask & bit) and not mask & EXCLUDE and (not typed or (size or 0) >= typed)


def _placed(
    shape: Shape, arguments: DiskArguments, movers: Iterable[int]
) -> tuple[dict[tuple[int, int], Placed], str | None]:
    """New places by data disk and part, and the layout by which they were found."""
    osds = [shape.existing[at] for at in movers]
    if arguments.layout == STANDALONE:
        return {osd[:2]: Placed(*osd[:2], None, None, None, None) for osd in osds}, STANDALONE
    if not osds:
        return {}, None
    alone, asked = _alone(shape, osds), replace(arguments, limit_data=None)
    before = state(alone, asked)
    choice = chosen(attempts(before), before)
    found = still_fitting(alone, asked)
    while choice and (new := again(state(alone, asked, found), choice)) and new.placed:
        found = (*found, *new.placed)
    db = {osd[:2]: osd.db for osd in osds}  # one that lies on a device never goes back to the data disk unasked
    to = {new[:2]: new for new in found if new[:2] in db and (db[new[:2]] is None or new.db is not None)}
    return to, choice and choice.candidate.layout


def _alone(shape: Shape, movers: Sequence[Placed]) -> Shape:
    """The host as if those OSDs alone waited for a slot: their data disks may be data, all other disks carry only."""
    data = {osd.data for osd in movers}
    disks = tuple(
        disk._replace(mask=disk.mask & ~(DB | WAL) if at in data else disk.mask & ~DATA)
        for at, disk in enumerate(shape.disks)
    )
    return shape._replace(
        disks=disks,
        existing=tuple(osd for osd in shape.existing if osd.data not in data),
        pinned=(*_waiting(shape), *(osd for osd in shape.moving if osd.data in data), *shape.pinned[shape.waiting :]),
        leaving=tuple(movers),
        layout=None,
    )


def _waiting(shape: Shape) -> tuple[Placed, ...]:
    """OSDs that come back to their places: nobody moves there."""
    return shape.pinned[: shape.waiting]


def _left(was: Placed, new: Placed) -> Placed:
    """The slots that an OSD leaves: those parts alone that move."""
    db, wal = ((was[at], was[at + 2]) for at in (2, 3))
    if db == (new.db, new.db_size):
        was = was._replace(db=None, db_size=None)
    return was._replace(wal=None, wal_size=None) if wal == (new.wal, new.wal_size) else was


def as_dict(was: Placed, new: Placed, ids: Sequence[str]) -> dict[str, dict]:
    """The parts of an OSD that move, as the answer has them: ``{role: {from, to, size}}``."""
    told = {}
    for role in ("db", "wal"):
        places = [(getattr(osd, role), getattr(osd, f"{role}_size")) for osd in (was, new)]
        if places[0] != places[1]:
            names = [None if at is None else ids[at] for at, _ in places]
            told[role] = {"from": names[0], "to": names[1], "size": places[1][1]}
    return told


def notes(shape: Shape, arguments: DiskArguments, moves: Mapping[int, Placed]) -> list[Note]:
    """What moves, what stays for want of a slot; without ``migrate``, what it would do."""
    if not arguments.migrate:
        return _could(shape, arguments)
    told = []
    if moves:
        runs = "OSD that runs gets" if len(moves) == 1 else "OSDs that run get"
        text = f"{len(moves)} {runs} another place for DB or WAL: ceph.stage.configure, then osd.migrate"
        told.append(Note(HINT, text, MOVES))
    if unmoved := sum(_unmoved(shape.existing[at], new) for at, new in moves.items()):
        text = (
            f"{unmoved} of them osd.migrate does not move, as an interrupted copy could not begin again: their WAL "
            "goes where their DB stays, or a DB comes to a WAL alone"
        )
        told.append(Note(WARNING, text, MOVES))
    left = [at for at in _movers(shape, arguments) if at not in moves]
    if left and arguments.layout != STANDALONE:
        stays = "OSD stays as it lies" if len(left) == 1 else "OSDs stay as they lie"
        told.append(Note(WARNING, f"{len(left)} {stays}: no device has a slot for what migrate=true asks for", MOVES))
    if shape.fixed:
        stays = "OSD cannot be moved: it is" if len(shape.fixed) == 1 else "OSDs cannot be moved: they are"
        told.append(
            Note(HINT, f"{len(shape.fixed)} {stays} encrypted, filestore, on a faulty disk, or share one", MOVES)
        )
    return told


def _unmoved(was: Placed, new: Placed) -> bool:
    """Whether a move is one that ``osd_migrate`` of the host refuses, for the reasons that it gives."""
    if was.wal is None:
        return False
    stays = (was.db, was.db_size) == (new.db, new.db_size)
    return stays if new.wal is None else was.db is None and new.db is not None


def _could(shape: Shape, arguments: DiskArguments) -> list[Note]:
    """That OSDs without a DB would get one on faster disks of their host, on which nothing lies: tried first."""
    bare = {osd.data for osd in shape.existing if osd.db is None and osd.wal is None}
    lying = {at for osd in shape.existing for at in (osd.data, osd.db, osd.wal)}
    slowest = min((SPEED[shape.disks[at].cls] for at in bare), default=None)
    free = {at for at, disk in enumerate(shape.disks) if disk.reason is None and at not in lying}
    if slowest is None or not any(SPEED[shape.disks[at].cls] > slowest for at in free):
        return []
    if arguments.layout == STANDALONE or arguments.filestore:
        return []
    anew = shape._replace(
        pinned=_waiting(shape), moving=(), layout=None
    )  # other arguments plan anew what is not deployed
    _, moves = planned(anew, replace(arguments, migrate=True))
    count = sum(shape.existing[at].data in bare for at in moves)
    if not count:
        return []
    without = "1 OSD runs" if count == 1 else f"{count} OSDs run"
    text = f"{without} without a DB beside disks that could carry it: proposal.populate with migrate=true plans it"
    return [Note(HINT, text, COULD)]
