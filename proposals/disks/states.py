"""What lies on a host's disks at one moment of planning, and what may still be used."""

from collections.abc import Sequence

from proposals.disks.arguments import DiskArguments
from proposals.disks.layouts import pool
from proposals.disks.shape import Placed, Shape
from proposals.disks.slots import Neighbours, capacity
from proposals.disks.values import State


def state(shape: Shape, arguments: DiskArguments, placed: Sequence[Placed] = ()) -> State:
    """The host with what exists on it and the OSDs ``placed`` beside that."""
    lying = (*shape.existing, *placed)
    busy = {osd.data for osd in lying}
    neighbours = Neighbours(shape, lying)
    carriers = neighbours.leaving.union(neighbours.disks)
    limit = None if arguments.limit_data is None else max(0, arguments.limit_data - len(busy))
    return State(shape, arguments, tuple(placed), neighbours, pool(shape, busy, carriers), limit)


def still_fitting(shape: Shape, arguments: DiskArguments) -> tuple[Placed, ...]:
    """What a stored plan placed and nothing has taken since: a slot in which something lies is not free."""
    lying = Neighbours(shape, shape.existing)
    left_out = set()
    for number, osd in enumerate(shape.pinned):
        if _has_room(shape, lying, osd) and (number < shape.waiting or _within(lying, osd, arguments)):
            lying.add(osd, shape.disks[osd.data].size)
        else:
            left_out.add(osd.data)
    return tuple(osd for osd in shape.pinned if osd.data not in left_out)


def _has_room(shape: Shape, lying: Neighbours, osd: Placed) -> bool:
    needs = {at: 0 for at in (osd.db, osd.wal) if at is not None}
    for at, size in ((osd.db, osd.db_size), (osd.wal, osd.wal_size)):
        if at is not None:
            needs[at] += size or 0
    return all(capacity(shape.disks[at].size) - lying.taken[at] >= need for at, need in needs.items())


def _within(lying: Neighbours, osd: Placed, arguments: DiskArguments) -> bool:
    """Whether its DB device carries no more data disks than the ratio allows."""
    return osd.db is None or len(lying.disks.get(osd.db, set()) | {osd.data}) <= arguments.ratio
