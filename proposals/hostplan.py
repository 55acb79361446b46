"""The plan of one host, by positions: every layout that its disks allow is tried, one is chosen."""

from typing import NamedTuple

from proposals import reasons
from proposals.allocate import Allocation, allocate, parts
from proposals.arguments import Arguments
from proposals.devices import OVERHEAD, Neighbours
from proposals.layouts import Pool, candidates, name, pool
from proposals.notes import Note, Notes
from proposals.shape import DATA, WAL, Placed, Shape
from proposals.sizes import GIB


class Candidate(NamedTuple):
    """A layout that was tried, with the numbers that decide between it and the others."""

    layout: str
    osds: int
    data_disks: int
    behind_bytes: int  # raw capacity behind a faster DB
    lost_at_most: int  # OSDs that fall with one DB or WAL device
    fits: bool
    why_not: str | None


class HostPlan(NamedTuple):
    """What one shape becomes. ``osds`` are the new ones; roles and reasons stand by position."""

    layout: str | None
    osds: tuple[Placed, ...]
    roles: tuple[str, ...]
    reasons: tuple[str | None, ...]
    candidates: tuple[Candidate, ...]
    notes: tuple[Note, ...]


class State(NamedTuple):
    """What lies on the disks before anything new is placed."""

    shape: Shape
    pinned: tuple[Placed, ...]
    neighbours: Neighbours
    pool: Pool
    limit: int | None


def plan(shape: Shape, arguments: Arguments) -> HostPlan:
    """The plan for every host of this shape. Raises PlanError where what was typed leaves no slot at all."""
    state = _state(shape, arguments)
    tried = [
        allocate(shape.disks, tiers, state.neighbours, arguments, state.limit)
        for tiers in candidates(state.pool, arguments)
    ]
    judged = [_judge(state, one, arguments) for one in tried]
    chosen = _choose(judged, arguments)
    allocation = tried[judged.index(chosen)] if chosen else None
    notes = Notes()
    new, alone = _place(state, allocation, arguments)
    osds = (*state.pinned, *new, *alone)
    shortage = reasons.shortage(state, allocation, arguments, notes)
    roles, why = reasons.settle(state, allocation, osds, shortage, arguments)
    if arguments.layout != "standalone":
        judged.append(_standalone(state, arguments))
    return HostPlan(_layout(shape, osds), osds, roles, why, tuple(judged), tuple(notes.found))


def _state(shape: Shape, arguments: Arguments) -> State:
    pinned = _still_fitting(shape, arguments)
    lying = (*shape.existing, *pinned)
    busy = {one.data for one in lying}
    neighbours = Neighbours(shape, lying)
    limit = None if arguments.limit_data is None else max(0, arguments.limit_data - len(busy))
    return State(shape, pinned, neighbours, pool(shape, busy, set(neighbours.disks)), limit)


def _still_fitting(shape: Shape, arguments: Arguments) -> tuple[Placed, ...]:
    """What a stored plan placed and nothing has taken since: a slot in which something lies is not free."""
    lying = Neighbours(shape, shape.existing)
    kept: dict[int, list[Placed]] = {}
    for one in shape.pinned:
        needs = {at: 0 for at in (one.db, one.wal) if at is not None}
        for at, size in ((one.db, one.db_size), (one.wal, one.wal_size)):
            if at is not None:
                needs[at] += size or 0
        full = [at for at, need in needs.items() if _room(shape, lying, at) < need]
        over = one.db is not None and len(lying.disks.get(one.db, set()) | {one.data}) > arguments.ratio
        if not full and not over:
            kept.setdefault(one.data, []).append(one)
            lying._add(one, shape.disks[one.data].size)
    whole = {at for at, ones in kept.items() if len(ones) == sum(1 for one in shape.pinned if one.data == at)}
    return tuple(one for one in shape.pinned if one.data in whole)


def _room(shape: Shape, lying: Neighbours, at: int) -> int:
    return (shape.disks[at].size - OVERHEAD) // GIB * GIB - lying.taken[at]


def _judge(state: State, tried: Allocation, arguments: Arguments) -> Candidate:
    disks, tiers = state.shape.disks, tried.tiers
    fast = {*tiers.db, *tiers.wal, *tiers.small}
    lying = [one for one in (*state.shape.existing, *state.pinned) if fast & {one.db, one.wal}]
    behind = {one.data for one in (*lying, *tried.placed)}
    raw = sum(disks[at].size for at in behind)
    lost = max((device.osds for one in tried.devices for device in (one, one.behind or one)), default=0)
    cost = sum(disks[at].size for at in {*tiers.db, *tiers.wal})
    why_not = None
    if not behind:
        why_not = "no slot for any data disk"
    elif not arguments.fast_size[1] and tiers.db and any(device.db < GIB for device in tried.devices):
        why_not = "its DBs would be under 1 GiB"
    elif cost >= raw:
        why_not = "its DB and WAL devices hold no less than the data disks behind them"
    osds = len(tried.placed) + len(lying)
    return Candidate(tiers.layout, osds, len(behind), raw, lost, why_not is None, why_not)


def _choose(judged: list[Candidate], arguments: Arguments) -> Candidate | None:
    """Most raw capacity behind a faster DB, then the smallest loss with one device, then the order."""
    typed = bool(arguments.layout or arguments.db)
    open_ = [one for one in judged if one.fits] or (list(judged) if typed else [])
    return min(open_, key=lambda one: (-one.behind_bytes, one.lost_at_most), default=None)


def _place(state: State, allocation: Allocation | None, arguments: Arguments) -> tuple[tuple, tuple]:
    """New OSDs with a DB or WAL device, and those that stand alone."""
    disks, new = state.shape.disks, allocation.placed if allocation else ()
    standalone = arguments.layout in (None, "standalone") and not arguments.db and allocation is None
    if arguments.wal and not any(disks[at].mask & WAL for at in state.pool.fast):
        standalone = False
    if not standalone and not arguments.leftovers:
        return new, ()
    taken = {at for one in new for at in (one.data, one.db, one.wal)}
    rest = [at for at in state.pool.free if at not in taken and disks[at].mask & DATA]
    rest.sort(key=lambda at: (-disks[at].size, at))
    if state.limit is not None:
        rest = rest[: max(0, state.limit - len({one.data for one in new}))]
    alone = [Placed(at, part, None, None, None, None) for at in rest for part in range(parts(disks[at], arguments))]
    return new, tuple(alone)


def _standalone(state: State, arguments: Arguments) -> Candidate:
    data = [at for at in state.pool.free if state.shape.disks[at].mask & DATA]
    count = sum(parts(state.shape.disks[at], arguments) for at in data) + len(state.shape.existing)
    return Candidate("standalone", count, len(data), 0, 0, bool(data), None if data else "no free data disk")


def _layout(shape: Shape, osds: tuple[Placed, ...]) -> str | None:
    """The layout's name by the classes taken; OSDs that stand alone beside others do not count."""
    everything = (*shape.existing, *osds)
    served = [one for one in everything if one.db is not None or one.wal is not None] or everything
    return name(shape.disks, *({getattr(one, role) for one in served} - {None} for role in ("data", "db", "wal")))
