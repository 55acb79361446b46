"""What ran out when data disks are left over: DB devices, slots, room; and what would use them all."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from proposals.disks import room
from proposals.disks.allocate import Allocation, parts
from proposals.disks.layouts import CLASSES, WORDS
from proposals.disks.shape import DATA, DB, EXCLUDE, WAL
from proposals.disks.slots import Device
from proposals.disks.values import Placement, State
from proposals.text.errors import PlanError
from proposals.text.notes import WARNING, Note, Way, counted
from proposals.text.sizes import gib, typed

BITS = {"db": DB, "wal": WAL}
UNUSED = "data disks unused"  # the kind of these notes: a way out ends them all


class Shortage(NamedTuple):
    """Why each data disk that was left over was left over, by position, and what is told of it."""

    reasons: Mapping[int, str]
    notes: tuple[Note, ...]


def check(state: State, allocation: Allocation) -> None:
    """Raise PlanError where what was typed leaves no slot at all, or asks for another size than lies there."""
    arguments = state.arguments
    counts = [parts(state.shape.disks[at], arguments) for at in allocation.unplaced]
    for device in allocation.clashing:
        waits = sum(device.can_take(count, arguments.ratio) for count in counts)
        if waits:
            say = f" or say {same}" if (same := _said_of_all(state, allocation, device)) else ""
            would = f"{counted(waits, 'data disk')} would take a slot there"
            names = " and ".join(one.argument for one in device.clashes)
            raise PlanError(f"{_clash_text(device)}, and {would}: leave {names} out{say}")
    if counts and (arguments.layout or arguments.db or arguments.fast_size[1]):
        room.check(allocation, max(counts), arguments)


def _said_of_all(state: State, allocation: Allocation, device: Device) -> str:
    """The arguments by which nothing clashes with what lies on a device; empty where others would clash then."""
    same = [f"{one.argument}={typed(one.there)}" for one in device.clashes if typed(one.there)]
    used = {at for osd in state.shape.existing for at in (osd.db, osd.wal)}
    alike = all(one.clashes == device.clashes for one in allocation.devices if one.at in used)
    return " ".join(same) if alike and len(same) == len(device.clashes) else ""


def judge(placement: Placement) -> Shortage:
    """What is told of the data disks that no OSD uses, though they are wanted."""
    state, allocation = placement.state, placement.allocation
    notes = [*_no_data(state, allocation), *_clashes(allocation)]
    free = [at for at in state.pool.free if state.shape.disks[at].mask & DATA]
    used = placement.standalone or placement.layout  # a layout without an allocation lacks no data disk
    left = list(allocation.unplaced) if allocation else [] if used else free[: state.limit]
    waiting = {label: gone for device in _usable(allocation) for label, gone in device.strays.items()}
    waits, short = left[: len(waiting)], left[len(waiting) :]
    reasons = dict.fromkeys(waits, f"waits for a slot: {strays_text(waiting)}" if waits else "")
    if waits:
        text = f"{counted(len(waits), 'data disk')} unused: waiting for a slot that is not free"
        notes.append(Note(WARNING, text))
    if short:
        reason, note = _short(state, allocation, short)
        reasons |= dict.fromkeys(short, reason)
        notes.append(note)
    return Shortage(reasons, tuple(notes))


def strays_text(strays: Mapping[str, str]) -> str:
    """What to do about DBs and WALs that occupy slots though their OSDs (name -> what became of it) are gone."""
    listed = [f"DB or WAL of {label}, which {gone}" for label, gone in sorted(strays.items())]
    numbers = " ".join(label.removeprefix("OSD ") for label in sorted(strays))
    return f"{'; '.join(listed)}: the slot is free after osd.replace {numbers}"


def _usable(allocation: Allocation | None) -> list[Device]:
    return [one for one in allocation.devices if one.at not in allocation.over] if allocation else []


def _short(state: State, allocation: Allocation | None, left: Sequence[int]) -> tuple[str, Note]:
    """The reason of each disk that lacks a slot, and the note that tells of them all."""
    devices = _usable(allocation)
    start = f"{counted(len(left), 'data disk')} unused: "
    total = len({osd.data for osd in (*state.shape.existing, *state.placed)}) + len(left)
    if allocation is None or not devices:
        reason = _no_device(state, allocation)
        ways = ((Way("leftovers=true", (("leftovers", True),)),),)
        return reason, Note(WARNING, start + reason, UNUSED, ways, "makes them OSDs without a DB device", total)
    tight = [device for device in devices if device.disks < state.arguments.ratio]
    why = (room.too_small if tight else room.ratio_reached)(state, allocation, tight or devices, left)
    gain = f"uses all {total}"
    return why.reason, Note(WARNING, start + why.text, UNUSED, why.ways, gain, total)


def _no_device(state: State, allocation: Allocation | None) -> str:
    arguments, disks = state.arguments, state.shape.disks
    if allocation and allocation.over:
        return room.over(allocation, arguments)
    filters = {name: getattr(arguments, name) for name in ("db", "wal") if getattr(arguments, name)}
    if not filters:
        tiers = [WORDS[cls] for cls in CLASSES[arguments.layout or ""] if cls]
        return f"layout {arguments.layout} cannot be made here: it needs free disks of the classes {', '.join(tiers)}"
    free = {name: [one for one in disks if one.reason is None and one.mask & BITS[name]] for name in filters}
    missing = [name for name in filters if all(one.mask & EXCLUDE for one in free[name])]
    words = " and ".join(f"{name}={filters[name].text}" for name in missing or filters)
    if not missing:
        return f"no disk that is faster than the data disks matches {words}"
    excluded = (
        f" and is not excluded by exclude={arguments.exclude and arguments.exclude.text}"
        if any(free[name] for name in missing)
        else ""
    )
    return f"no free disk of this host matches {words}{excluded}"


def _no_data(state: State, allocation: Allocation | None) -> list[Note]:
    """That a data filter leaves this host without data disks."""
    arguments, disks = state.arguments, state.shape.disks
    if not arguments.data or state.shape.existing or state.placed:
        return []
    matching = [at for at in state.pool.free if disks[at].mask & DATA]
    if not matching:
        return [Note(WARNING, f"data={arguments.data.text} matches no free disk: not in the profile")]
    fast = {*allocation.tiers.db, *allocation.tiers.wal} if allocation else set()
    if fast.issuperset(matching):
        both = counted(len(matching), "disk")
        text = (
            f"all {both} that match data={arguments.data.text} match db or wal too and serve those: no data disk left"
        )
        return [Note(WARNING, text)]
    return []


def _clash_text(device: Device) -> str:
    asked = " ".join(f"{one.argument}={typed(one.typed)}" for one in device.clashes)
    there = " and ".join(f"{gib(one.there)} GiB" if one.there else "none of their own" for one in device.clashes)
    return f"{asked}, but the OSDs on its DB devices have {there}"


def _clashes(allocation: Allocation | None) -> list[Note]:
    texts = dict.fromkeys(_clash_text(device) for device in (allocation.clashing if allocation else ()))
    return [Note(WARNING, f"{text}: what exists keeps its size") for text in texts]
