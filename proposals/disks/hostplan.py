"""The plan of one host, by positions: every layout that its disks allow is tried, one is chosen."""

from proposals.disks import advice, losses, reasons, shortages
from proposals.disks.allocate import Allocation, allocate, parts
from proposals.disks.arguments import Arguments
from proposals.disks.layouts import candidates, name, pool
from proposals.disks.shape import DATA, Placed, Shape
from proposals.disks.shortages import stands_alone
from proposals.disks.slots import OVERHEAD, Neighbours
from proposals.disks.values import Candidate, HostPlan, State
from proposals.text.notes import Notes
from proposals.text.sizes import GIB


def plan(shape: Shape, arguments: Arguments) -> HostPlan:
    """The plan for every host of this shape. Raises PlanError where what was typed leaves no slot at all."""
    state = _state(shape._replace(pinned=()), arguments)
    tried = _try(state, arguments)
    judged = [_judge(state, one, arguments) for one in tried]
    allocation = _choose(tried, judged, arguments)
    if not arguments.layout and (alone_too := _standalone(state, arguments)).data_disks:
        judged.append(alone_too)
    if shape.pinned:  # the layout is chosen as if nothing were stored: the same disks give the same answer
        state = _state(shape, arguments)
        allocation = _same_tiers(_try(state, arguments), allocation, arguments, state)
    notes = Notes()
    new, alone = _place(state, allocation, arguments)
    osds = (*state.pinned, *new, *alone)
    shortage = shortages.judge(state, allocation, alone, arguments, notes)
    roles, why = reasons.settle(state, allocation, osds, shortage, arguments)
    advice.host(state, allocation, osds, arguments, notes)
    _spread(state, allocation, arguments, notes)
    osds = tuple(sorted(osds, key=lambda one: (one.data, one.part)))
    lost = losses.by_device(shape.disks, (*shape.existing, *osds))
    return HostPlan(_layout(shape, osds), osds, roles, why, tuple(judged), tuple(notes.found), lost)


def _try(state: State, arguments: Arguments) -> list[Allocation]:
    tiers = candidates(state.pool, arguments)
    return [allocate(state.shape.disks, one, state.neighbours, arguments, state.limit) for one in tiers]


def _same_tiers(
    tried: list[Allocation], chosen: Allocation | None, arguments: Arguments, state: State
) -> Allocation | None:
    """The allocation of the chosen layout that leaves what is stored in its place."""
    if chosen is None:
        return None
    same = [one for one in tried if (one.tiers.order, one.tiers.db) == (chosen.tiers.order, chosen.tiers.db)]
    return same[0] if same else _choose(tried, [_judge(state, one, arguments) for one in tried], arguments)


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
    layout = tiers.layout or _layout(state.shape, (*state.pinned, *tried.placed))
    return Candidate(layout, osds, len(behind), raw, lost, why_not is None, why_not)


def _choose(tried: list[Allocation], judged: list[Candidate], arguments: Arguments) -> Allocation | None:
    """Most raw capacity behind a faster DB, then the smallest loss with one device, then the order."""
    no_slot = all(not one.behind_bytes for one in judged)
    typed = bool(arguments.layout or arguments.db or (arguments.fast_size[1] and no_slot))
    open_ = [at for at, one in enumerate(judged) if one.fits] or (range(len(judged)) if typed else [])
    best = min(open_, key=lambda at: (-judged[at].behind_bytes, judged[at].lost_at_most), default=None)
    return None if best is None else tried[best]


def _place(state: State, allocation: Allocation | None, arguments: Arguments) -> tuple[tuple, tuple]:
    """New OSDs with a DB or WAL device, and those that stand alone."""
    disks, new = state.shape.disks, allocation.placed if allocation else ()
    standalone = allocation is None and stands_alone(state, arguments)
    if not standalone and not arguments.leftovers:
        return new, ()
    taken = {at for one in new for at in (one.data, one.db, one.wal)}
    rest = [at for at in state.pool.free if at not in taken and disks[at].mask & DATA]
    rest.sort(key=lambda at: (-disks[at].size, at))
    if state.limit is not None:
        rest = rest[: max(0, state.limit - len({one.data for one in new}))]
    alone = [Placed(at, part, None, None, None, None) for at in rest for part in range(parts(disks[at], arguments))]
    return new, tuple(alone)


def _spread(state: State, allocation: Allocation | None, arguments: Arguments, notes: Notes) -> None:
    """What exists is never moved; where all disks planned anew would lie more evenly, a hint says so."""
    if not allocation or not state.neighbours.disks:
        return
    fresh = _state(Shape(state.shape.disks, (), (), ()), arguments)
    for tiers in candidates(fresh.pool, arguments):
        if set(tiers.db) == set(allocation.tiers.db) and set(tiers.wal) == set(allocation.tiers.wal):
            anew = allocate(state.shape.disks, tiers, fresh.neighbours, arguments, fresh.limit)
            now, even = (max((one.osds for one in each.devices), default=0) for each in (allocation, anew))
            if even < now and sum(one.osds for one in anew.devices) >= sum(one.osds for one in allocation.devices):
                notes.hint(f"one DB device carries {now} OSDs as they were made; spread anew at most {even} would fall")


def _standalone(state: State, arguments: Arguments) -> Candidate:
    """Every disk that may be data and carries nothing, as an OSD of its own: what the layouts compare with."""
    disks = state.shape.disks
    data = [at for at in state.pool.free if disks[at].mask & DATA][: state.limit]
    lying = state.shape.existing
    count = sum(parts(disks[at], arguments) for at in data) + len(lying)
    return Candidate(
        "standalone",
        count,
        len({*data, *(one.data for one in lying)}),
        0,
        0,
        bool(data),
        None if data else "no free data disk",
    )


def _layout(shape: Shape, osds: tuple[Placed, ...]) -> str | None:
    """The layout's name by the classes taken; OSDs that stand alone beside others do not count."""
    everything = (*shape.existing, *osds)
    served = [one for one in everything if one.db is not None or one.wal is not None] or everything
    return name(shape.disks, *({getattr(one, role) for one in served} - {None} for role in ("data", "db", "wal")))
