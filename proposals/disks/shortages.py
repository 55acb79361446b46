"""What ran out when data disks are left over: DB devices, slots, room; and what would use them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proposals.disks.allocate import Allocation, parts
from proposals.disks.arguments import Arguments
from proposals.disks.layouts import CLASSES, WORDS
from proposals.disks.shape import DATA, DB, WAL, Placed
from proposals.disks.slots import OVERHEAD, Device
from proposals.disks.values import State
from proposals.text.errors import PlanError
from proposals.text.notes import Notes
from proposals.text.sizes import GIB, gib


def judge(
    state: State, allocation: Allocation | None, alone: Sequence[Placed], arguments: Arguments, notes: Notes
) -> dict[int, str]:
    """Why each data disk that was left over was left over, by position; the admin is told in ``notes``.

    ``alone`` are the OSDs that stand alone: leftovers lack nothing.
    Raises PlanError where what was typed leaves no slot at all, or asks for another size than lies there."""
    free = [at for at in state.pool.free if state.shape.disks[at].mask & DATA]
    wanted = allocation.tiers.data if allocation else free
    if arguments.data and not wanted and not (alone or state.shape.existing or state.pinned):
        notes.warn(f"data={arguments.data.text} matches no free disk: not in the profile")
    if allocation:
        _check_clash(state, allocation, arguments, notes)
    served = {one.data for one in alone}
    left = [at for at in (allocation.unplaced if allocation else wanted) if at not in served]
    if not left or (allocation is None and stands_alone(state, arguments)):
        return {}
    waiting = {label: gone for device in _usable(allocation) for label, gone in device.strays.items()}
    waits, short = left[: len(waiting)], left[len(waiting) :]
    why = dict.fromkeys(waits, f"waits for a slot: {strays_text(waiting)}")
    if waits:
        notes.warn(f"{_disks(len(waits))} unused: waiting for a slot that is not free")
    return why | dict.fromkeys(short, _short(state, allocation, len(short), arguments, notes) if short else "")


def _usable(allocation: Allocation | None) -> list[Device]:
    return [one for one in allocation.devices if one.at not in allocation.over] if allocation else []


def _short(state: State, allocation: Allocation | None, left: int, arguments: Arguments, notes: Notes) -> str:
    devices = _usable(allocation)
    if not devices:
        return _no_device(state, allocation, left, arguments, notes)
    tight = [device for device in devices if device.disks < arguments.ratio]
    if tight:
        return _no_room(state, allocation, tight, left, arguments, notes)
    return _ratio(devices, left, arguments, notes)


def strays_text(strays: Mapping[str, str]) -> str:
    """What to do about DBs and WALs that occupy slots though their OSDs (name -> what became of it) are gone."""
    parts = [f"DB or WAL of {label}, which {gone}" for label, gone in sorted(strays.items())]
    numbers = " ".join(label.removeprefix("OSD ") for label in sorted(strays))
    return f"{'; '.join(parts)}: the slot is free after osd.replace {numbers}"


def stands_alone(state: State, arguments: Arguments) -> bool:
    """Whether data disks become OSDs of their own where no layout was chosen: not where a DB or WAL is wanted."""
    if arguments.layout not in (None, "standalone") or arguments.db:
        return False
    return not arguments.wal or any(disk.mask & WAL and disk.reason is None for disk in state.shape.disks)


def _no_device(state: State, allocation: Allocation | None, count: int, arguments: Arguments, notes: Notes) -> str:
    typed = [f"{name}={getattr(arguments, name).text}" for name in ("db", "wal") if getattr(arguments, name)]
    if allocation and allocation.over:
        reason = f"no WAL device has a place for its DB device: db-ratio={arguments.db_ratio}, or no room"
    elif typed:
        wanted = (DB if arguments.db else 0) | (WAL if arguments.wal else 0)
        there = any(state.shape.disks[at].mask & wanted == wanted for at in state.pool.fast)
        which = "disk that is faster than the data disks" if there else "disk of this host"
        reason = f"no {which} matches {' and '.join(typed)}"
    else:
        tiers = [WORDS[cls] for cls in CLASSES[arguments.layout] if cls]
        reason = f"layout {arguments.layout} cannot be made here: it needs free disks of the classes {', '.join(tiers)}"
    notes.warn(f"{reason}: {_disks(count)} unused (leftovers=true makes them OSDs without a DB device)")
    return reason


def _slot_text(device: Device) -> str:
    if device.db and device.wal:
        return f"({gib(device.db)} + {gib(device.wal)})"
    return gib(device.slot)


def _no_room(
    state: State, allocation: Allocation, tight: list[Device], left: int, arguments: Arguments, notes: Notes
) -> str:
    device = max(tight, key=lambda one: (one.room, -one.at))
    ratio = arguments.ratio
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


def _ratio(devices: list[Device], left: int, arguments: Arguments, notes: Notes) -> str:
    ratio = arguments.ratio
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
