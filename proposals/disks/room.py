"""What a DB or WAL device holds, in the numbers that an admin can check, and what would hold all."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

from proposals.disks.allocate import Allocation, parts
from proposals.disks.arguments import DiskArguments
from proposals.disks.slots import WAL_SIZE, Device, capacity
from proposals.disks.values import State
from proposals.text.errors import PlanError
from proposals.text.notes import Way, counted
from proposals.text.sizes import GIB, gib


class Why(NamedTuple):
    """Why data disks got no slot: the reason of each disk, the note's text, the ways out."""

    reason: str
    text: str
    ways: tuple[tuple[Way, ...], ...]


def check(allocation: Allocation, count: int, arguments: DiskArguments) -> None:
    """Raise PlanError where no device, were it empty, has the slots of one data disk with ``count`` OSDs."""
    if not allocation.devices or any(device.disks for device in (*allocation.devices, *allocation.wals)):
        return
    problems = []
    if not any(device.slot and capacity(device.size) >= count * device.slot for device in allocation.devices):
        problems.append(_no_slot(allocation, count, arguments))
    if allocation.wals and not any(capacity(device.size) >= count * device.wal for device in allocation.wals):
        device = max(allocation.wals, key=lambda one: one.size)
        problems.append(_does_not_fit(count, gib(device.wal), "WAL", device, "wal-size", 0))
    if problems:
        ways = [way for _, way in problems]
        fits = f"{' '.join(ways)} fits" if all(ways) else "the device is too small"
        raise PlanError(f"{', and '.join(text for text, _ in problems)}: {fits}")


def over(allocation: Allocation, arguments: DiskArguments) -> str:
    """Why no WAL device takes a DB device: the ceiling, or room."""
    if all(device.served >= arguments.db_ratio for device in allocation.wals):
        return f"db-ratio={arguments.db_ratio} is reached: no WAL device is left for its DB device"
    return f"no WAL device has room for the WALs of {gib(allocation.wals[0].wal)} GiB of its DB device"


def ratio_reached(state: State, allocation: Allocation, devices: Sequence[Device], left: Sequence[int]) -> Why:
    """All devices serve as many data disks as the ratio allows."""
    ratio, full = state.arguments.ratio, sum(device.disks for device in devices)
    text = f"ratio={ratio} fills {counted(len(devices), 'DB device')} with {full}"
    needed = _ratio_for(state, devices, full + len(left), max(_counts(state, left)))
    wider = Way(f"ratio={needed}", (("ratio", needed),))
    ways = ((wider, _more(-(-len(left) // ratio), devices[0], state)), *_small(state, allocation))
    return Why(f"no slot is left: {text} data disks", text, ways)


def too_small(state: State, allocation: Allocation, devices: Sequence[Device], left: Sequence[int]) -> Why:
    """The ratio would allow more data disks on ``devices`` than their room does."""
    count = max(_counts(state, left))
    device = max(devices, key=lambda one: (one.room, -one.at))
    if device.behind and device.room >= count * device.slot:
        return _wal_too_small(state, allocation, left)
    ratio, holds, per = state.arguments.ratio, capacity(device.size), count * device.slot
    fit = holds // per if per else 0
    slot = f"({gib(device.db)} + {gib(device.wal)})" if device.db and device.wal else gib(device.slot)
    if ratio * per > holds:
        numbers = f"{ratio * count} x {slot} GiB = {gib(ratio * per)} GiB do not fit {gib(holds)} GiB, {fit * count} do"
    else:
        numbers = f"{gib(device.room)} of {gib(holds)} GiB are free for slots of {slot} GiB"
    ways: list[tuple[Way, ...]] = []
    if device.db and (size := _size_for(state, allocation, left, count, device.wal)):
        name = state.arguments.fast_size[0]
        ways.append((Way(f"{name}={size}g", ((name, size),)),))
    if fit:
        more = _more(-(-len(left) // min(fit, ratio)), device, state)
        fewer = (("ratio", fit),) if fit < ratio else ()
        ways.append((more._replace(text=f"ratio={fit} and {more.text}" if fewer else more.text, typed=fewer), more))
    return Why(f"no room for its DB: {numbers}", numbers, tuple(ways))


def _wal_too_small(state: State, allocation: Allocation, left: Sequence[int]) -> Why:
    wals = allocation.wals
    wanted = sum(_counts(state, left)) + sum(device.osds for device in wals)
    holds, size = sum(capacity(device.size) for device in wals), wals[0].wal
    fit = sum(capacity(device.size) // size for device in wals)
    several = f" on {len(wals)} devices" if len(wals) > 1 else ""
    numbers = (
        f"{wanted} x {gib(size)} GiB = {gib(wanted * size)} GiB of WALs do not fit {gib(holds)} GiB{several}, {fit} do"
    )
    smaller = _largest(lambda each: sum(capacity(device.size) // each for device in wals) >= wanted, size)
    evenly = min(capacity(device.size) for device in wals) // -(-wanted // len(wals)) // GIB
    sizes = tuple(Way(f"wal-size={each}g", (("wal-size", each),)) for each in (smaller, evenly) if each)
    more = _more(-(-(wanted - fit) // max(1, capacity(wals[0].size) // size)), wals[0], state)
    return Why(f"no room for its WAL: {numbers}", numbers, (*((sizes,) if sizes else ()), (more,)))


def _no_slot(allocation: Allocation, count: int, arguments: DiskArguments) -> tuple[str, str]:
    """That no device has slots for a data disk, and what to type instead; empty where nothing helps."""
    device = max(allocation.devices, key=lambda one: one.size)
    name, holds = arguments.fast_size[0], capacity(device.size)
    if not device.slot:  # computed, and under 1 GiB
        beside = (arguments.wal_size or WAL_SIZE) if allocation.tiers.carries == "db+wal" else 0
        less = f" less a WAL of {gib(beside)} GiB" if beside else ""
        fits = holds // ((GIB + beside) * count)
        text = f"a DB of {gib(holds)} GiB / ratio={arguments.ratio}{less} would be under 1 GiB"
        return text, f"ratio={fits}" if fits else ""
    slot = f"({gib(device.db)} + {gib(device.wal)})" if device.db and device.wal else gib(device.slot)
    return _does_not_fit(count, slot, "slot", device, name, device.wal)


def _does_not_fit(count: int, slot: str, what: str, device: Device, name: str, beside: int) -> tuple[str, str]:
    holds = capacity(device.size)
    fits = (holds // count - beside) // GIB
    text = f"not one {what} of {slot} GiB fits a device of {gib(holds)} GiB"
    if count > 1:
        text = f"{count} {what}s of {slot} GiB, which a data disk of {count} OSDs needs, do not fit {gib(holds)} GiB"
    return text, f"{name}={fits}g" if fits > 0 else ""


def _counts(state: State, data: Sequence[int]) -> list[int]:
    return [parts(state.shape.disks[at], state.arguments) for at in data]


def _more(count: int, device: Device, state: State) -> Way:
    like = state.shape.disks[device.at]
    return Way(f"{counted(count, like.cls)} of {gib(like.size)} GiB more", (), (device.at,) * count)


def _small(state: State, allocation: Allocation) -> tuple[tuple[Way, ...], ...]:
    """The filter that takes devices in that are much smaller than the largest."""
    if not allocation.tiers.small:
        return ()
    text = f"class={state.shape.disks[allocation.tiers.small[0]].cls}"
    return ((Way(f"db={text}", (("db", text),)),),)


def _ratio_for(state: State, devices: Sequence[Device], disks: int, count: int) -> int:
    """The least ratio at which ``devices`` serve so many data disks, each with its own number of slots."""
    even = -(-disks // len(devices))
    computed = not state.arguments.fast_size[1] and not state.arguments.filestore
    if computed:
        return even
    holds = [capacity(device.size) // (count * device.slot) if device.slot else 0 for device in devices]
    return even + bisect_left(
        range(even, disks), True, key=lambda ratio: sum(min(ratio, one) for one in holds) >= disks
    )


def _size_for(state: State, allocation: Allocation, left: Sequence[int], count: int, wal: int) -> int:
    """The largest DB in whole GiB with which new OSDs and the disks left over find slots on devices that are new."""
    new = {device.at for device in allocation.devices} - {
        at for osd in state.shape.existing for at in (osd.db, osd.wal)
    }
    sizes = [capacity(device.size) for device in allocation.devices if device.at in new]
    disks = len({osd.data for osd in state.placed if osd.db in new}) + len(left)
    ratio = state.arguments.ratio
    return _largest(
        lambda db: sum(min(ratio, size // (count * (db + wal))) for size in sizes) >= disks, max(sizes, default=0)
    )


def _largest(fits: Callable[[int], bool], below: int) -> int:
    """The largest size in whole GiB, at most ``below`` bytes, for which ``fits`` holds; 0 where none does."""
    low, high = 0, below // GIB
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle * GIB) else (low, middle - 1)
    return low
