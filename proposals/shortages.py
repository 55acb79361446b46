"""What ran out when data disks are left over: DB devices, slots, room; and what would use them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proposals.allocate import Allocation, parts
from proposals.arguments import Arguments
from proposals.devices import OVERHEAD, Device
from proposals.errors import PlanError
from proposals.layouts import CLASSES, WORDS
from proposals.notes import Notes
from proposals.shape import DATA, WAL
from proposals.sizes import GIB, gib

if TYPE_CHECKING:
    from proposals.hostplan import State


def judge(state: State, allocation: Allocation | None, arguments: Arguments, notes: Notes) -> str | None:
    """The reason that data disks without a place get; tells the admin in ``notes``. None: none was left.

    Raises PlanError where what was typed leaves no slot at all, or asks for another size than lies there."""
    if allocation is None:
        return _no_layout(state, arguments, notes)
    _check_clash(state, allocation, arguments, notes)
    if not allocation.unplaced:
        return None
    devices = [device for device in allocation.devices if device.at not in allocation.over]
    if not devices:
        return _no_device(state, arguments, notes, len(allocation.unplaced))
    if waiting := [label for device in devices for label in device.strays]:
        return _waits(waiting, len(allocation.unplaced), notes)
    tight = [device for device in devices if device.disks < arguments.ratio]
    if tight:
        return _no_room(state, allocation, tight, arguments, notes)
    return _ratio(allocation, devices, arguments, notes)


def strays_text(labels: list[str]) -> str:
    """What to do about DBs and WALs whose OSD has no data disk here."""
    numbers = " ".join(sorted(label.removeprefix("OSD ") for label in labels))
    some = ", ".join(sorted(labels))
    return f"DB or WAL of {some}, whose data disk is not here: plug it in, or free the slot (osd.replace {numbers})"


def _no_layout(state: State, arguments: Arguments, notes: Notes) -> str | None:
    wanted = [at for at in state.pool.free if state.shape.disks[at].mask & DATA]
    alone = arguments.layout in (None, "standalone") and not arguments.db
    if alone and not (arguments.wal and not any(state.shape.disks[at].mask & WAL for at in state.pool.fast)):
        if not wanted and arguments.data:
            notes.warn(f"data={arguments.data.text} matches no free disk: not in the profile")
        return None
    if not wanted:
        if arguments.data:
            notes.warn(f"data={arguments.data.text} matches no free disk: not in the profile")
        return None
    return _no_device(state, arguments, notes, len(wanted))


def _no_device(state: State, arguments: Arguments, notes: Notes, count: int) -> str:
    typed = [f"{name}={getattr(arguments, name).text}" for name in ("db", "wal") if getattr(arguments, name)]
    if typed:
        reason = f"no disk of this host matches {' and '.join(typed)}"
    else:
        tiers = [WORDS[cls] for cls in CLASSES[arguments.layout] if cls]
        reason = f"layout {arguments.layout} cannot be made here: it needs free disks of the classes {', '.join(tiers)}"
    notes.warn(f"{reason}: {_disks(count)} unused (leftovers=true makes them OSDs without a DB device)")
    return reason


def _waits(labels: list[str], count: int, notes: Notes) -> str:
    for label in sorted(set(labels)):
        number = label.removeprefix("OSD ")
        notes.warn(f"{label} has its DB or WAL here and no data disk: its slot is free after osd.replace {number}")
    return f"waits for the slot of {', '.join(sorted(set(labels)))}: " + strays_text(sorted(set(labels)))


def _slot_text(device: Device) -> str:
    if device.db and device.wal:
        return f"({gib(device.db)} + {gib(device.wal)})"
    return gib(device.slot)


def _no_room(state: State, allocation: Allocation, tight: list[Device], arguments: Arguments, notes: Notes) -> str:
    device = max(tight, key=lambda one: (one.room, -one.at))
    ratio, left = arguments.ratio, len(allocation.unplaced)
    count = max(parts(state.shape.disks[at], arguments) for at in allocation.unplaced)
    capacity = (device.size - OVERHEAD) // GIB * GIB
    per = count * device.slot
    fit = capacity // per if per else 0
    if not allocation.placed and not any(one.disks for one in allocation.devices) and not fit:
        name = arguments.fast_size[0]
        raise PlanError(
            f"not one slot of {_slot_text(device)} GiB fits a device of {gib(capacity)} GiB: make {name} smaller"
        )
    share = (capacity // (ratio * count) - device.wal) // GIB
    ways = [f"{arguments.fast_size[0]}={share}g"] if share >= 1 and device.db else []
    if fit:
        more = -(-left // fit)
        ways.append(f"ratio={fit} and {_more(more)}")
    wanted = f"{ratio * count} x {_slot_text(device)} GiB = {gib(ratio * per)} GiB"
    numbers = f"{wanted} do not fit {gib(capacity)} GiB, {fit * count} do"
    notes.warn(f"{numbers}; {_disks(left)} unused: {' or '.join(ways)}")
    return f"no room for its DB: {numbers}"


def _ratio(allocation: Allocation, devices: list[Device], arguments: Arguments, notes: Notes) -> str:
    left, ratio = len(allocation.unplaced), arguments.ratio
    full = sum(device.disks for device in devices)
    needed = -(-(full + left) // len(devices))
    fits = all(device.slot * needed <= (device.size - OVERHEAD) // GIB * GIB for device in devices)
    what = f"ratio={ratio} fills {len(devices)} DB device{'s' if len(devices) > 1 else ''} with {full}"
    computed = arguments.fast_size[1] is None and not any(device.osds > device.disks for device in devices)
    if fits or computed:
        notes.hint(f"{_disks(left)} unused: {what}; ratio={needed} uses all {full + left}")
    else:
        more = -(-left // ratio)
        notes.hint(f"{_disks(left)} unused: {what}; {_more(more)} would serve them all")
    return f"no slot is left: {what} data disks"


def _check_clash(state: State, allocation: Allocation, arguments: Arguments, notes: Notes) -> None:
    for device in allocation.clashing:
        name, have, typed = device.clash
        numbers = f"{name}={gib(typed)}g, but what lies on its DB devices has {gib(have)} GiB"
        counts = [parts(state.shape.disks[at], arguments) for at in allocation.unplaced]
        waits = sum(device.can_take(count, arguments.ratio) for count in counts)
        if waits:
            advice = f"leave {name} out or say {name}={gib(have)}g"
            raise PlanError(f"{numbers}, and {_disks(waits)} would take a slot there: {advice}")
        text = f"{numbers}: what exists keeps its size"
        if text not in [note.text for note in notes.found]:
            notes.warn(text)


def _more(count: int) -> str:
    return f"{count} DB device{'s' if count > 1 else ''} more"


def _disks(count: int) -> str:
    return f"{count} data disk{'s' if count != 1 else ''}"
