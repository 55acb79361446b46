"""The plan of one host, by positions: layouts are tried, one is chosen, OSDs are placed, every disk is explained."""

from proposals.disks import advice, losses, moves, reasons, shortages
from proposals.disks.allocate import parts
from proposals.disks.arguments import DiskArguments
from proposals.disks.choice import again, attempts, chosen, compared, layout_name, stands_alone
from proposals.disks.shape import DATA, Placed, Shape
from proposals.disks.states import state, still_fitting
from proposals.disks.values import Attempt, HostPlan, Placement, State


def plan(shape: Shape, arguments: DiskArguments) -> HostPlan:
    """The plan for every host of this shape. Raises PlanError where what was typed leaves no slot at all."""
    lying = shape
    shape, moved = moves.planned(shape, arguments)
    before = state(shape, arguments)  # stored plans left out: the same disks give the same candidates
    tried = attempts(before)
    choice = chosen(tried, before)
    placement = _placed(before, choice, choice is None and stands_alone(before))
    shortage = shortages.judge(placement)
    roles, why = reasons.settle(placement, shortage.reasons)
    osds = tuple(sorted(placement.state.placed, key=lambda osd: (osd.data, osd.part)))
    layout = layout_name(shape, osds)
    if layout and lying.layout is None and not osds:
        return plan(lying._replace(layout=layout), arguments)  # by what lies there, as the next run will find it stored
    return HostPlan(
        layout,
        osds,
        roles,
        why,
        compared(tried, choice, before),
        (*shortage.notes, *moves.notes(lying, arguments, moved), *advice.host(placement)),
        losses.by_device(shape.disks, (*shape.existing, *osds)),
        moved,
    )


def _placed(before: State, choice: Attempt | None, standalone: bool) -> Placement:
    """Everything in its place: what is stored, then new OSDs until none finds a slot any more.

    What is told of a host is read from this end alone, so that a second run tells the same."""
    shape, arguments = before.shape, before.arguments
    layout = choice.candidate.layout if choice else None
    osds = still_fitting(shape, arguments)
    while True:
        now = state(shape, arguments, osds) if osds else before
        allocation = again(now, choice) if choice and osds else choice and choice.allocation
        new = allocation.placed if allocation else ()
        if allocation and not new:
            shortages.check(now, allocation)
        if not new and (standalone or arguments.leftovers):
            new = _alone(now)
        if not new:
            return Placement(now, allocation, layout, standalone)
        osds = (*osds, *new)


def _alone(now: State) -> tuple[Placed, ...]:
    """OSDs without DB and WAL devices on all disks that may still be data, the larger first."""
    disks = now.shape.disks
    rest = sorted((at for at in now.pool.free if disks[at].mask & DATA), key=lambda at: (-disks[at].size, at))
    return tuple(
        Placed(at, part, None, None, None, None)
        for at in rest[: now.limit]
        for part in range(parts(disks[at], now.arguments))
    )
