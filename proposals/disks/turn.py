"""Why this disk and not its neighbour: the order in which data disks get a slot, and on which device."""

from proposals.disks.shape import DATA, EXCLUDE
from proposals.disks.values import PlannedHost
from proposals.text.notes import counted

ORDER = "the larger first, then by id"
DEVICE = "the device with the fewest OSDs by then, of equals the fewest data bytes, then the first by id"


def steps(planned: PlannedHost, at: int) -> list[str]:
    """What decided between the disk at position ``at`` and its neighbours; nothing where there was no choice."""
    slots = {osd.data: osd for osd in planned.plan.osds if osd.db is not None or osd.wal is not None}
    if any(at in (osd.db, osd.wal) for osd in slots.values()):
        return [f"data disks come in order, {ORDER}, each to {DEVICE}"]
    disks = planned.shape.disks
    order = sorted({*slots, *_waiting(planned, set(slots))}, key=lambda one: (-disks[one].size, one))
    if at not in order:
        return []
    number = f"number {order.index(at) + 1} of {counted(len(order), 'data disk')}, {ORDER}"
    return [f"{number}: its slot is on {DEVICE}" if at in slots else f"{number}; {len(slots)} got a slot"]


def _waiting(planned: PlannedHost, served: set[int]) -> list[int]:
    """The disks that might have been data as those that are ``served``, and have no role."""
    disks = planned.shape.disks
    classes = {disks[at].cls for at in served}
    unused = (at for at, role in enumerate(planned.plan.roles) if role == "unused" and disks[at].reason is None)
    return [at for at in unused if disks[at].cls in classes and disks[at].mask & DATA and not disks[at].mask & EXCLUDE]
