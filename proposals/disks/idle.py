"""DB and WAL devices of which most stays empty or serves nobody, or that carry more than others."""

from proposals.disks.allocate import Allocation, allocate
from proposals.disks.layouts import candidates
from proposals.disks.shape import Shape
from proposals.disks.slots import capacity
from proposals.disks.states import state
from proposals.disks.values import Placement
from proposals.text.notes import HINT, Note, Way, counted
from proposals.text.sizes import GIB, gib

IDLE = "idle DB devices"
WALS, LARGE = "idle WAL devices", "large DBs"
MUCH = 2  # told where more than one part of so many stays empty
ENOUGH = 100  # a DB of 1/100 of its data disk: Ceph's documentation asks for 1 to 4 %
LARGEST = 4  # told where a DB is more than one part of so many of its data disk


def notes(placement: Placement) -> list[Note]:
    """Notes on room that no slot takes, and on what a more even spread would gain."""
    if placement.allocation is None:
        return []
    allocation = placement.allocation
    return [
        *_idle(placement, allocation),
        *_idle_wals(placement, allocation),
        *_large(placement, allocation),
        *_uneven(placement, allocation),
    ]


def _idle(placement: Placement, allocation: Allocation) -> list[Note]:
    """DB devices that the ratio leaves half empty, with the DB that would fill them."""
    now = placement.state
    if now.arguments.fast_size[1] or now.arguments.filestore or allocation.unplaced or now.shape.existing:
        return []
    devices = [device for device in allocation.devices if device.osds and device.db]
    empty = [device for device in devices if device.room * MUCH > capacity(device.size)]
    if not empty:
        return []
    size = min(capacity(device.size) // device.osds - device.wal for device in devices) // GIB
    room, holds = (_range(numbers) for numbers in zip(*((one.room, capacity(one.size)) for one in empty), strict=True))
    cls = now.shape.disks[empty[0].at].cls
    which = f"each {cls}" if len(empty) == len(devices) else f"{len(empty)} of {counted(len(devices), cls)}"
    text = f"{room} of {holds} GiB idle on {which}"
    ways = ((Way(f"db-size={size}g", (("db-size", size),)),),)
    return [Note(HINT, text, IDLE, ways, "fits", len({osd.data for osd in now.placed}))]


def _idle_wals(placement: Placement, allocation: Allocation) -> list[Note]:
    """WAL devices of three tiers, which nobody asked for, that WALs leave half empty though DBs would fit there."""
    now = placement.state
    asked = now.arguments
    if asked.layout or asked.db or asked.wal or now.shape.existing or not now.placed:
        return []
    wals = [device for device in allocation.wals if device.osds]
    least = asked.ratio * max(now.shape.disks[osd.data].size for osd in now.placed) // ENOUGH
    if not wals or any(one.room * MUCH <= capacity(one.size) or capacity(one.size) < least for one in wals):
        return []
    room, holds = (_range(numbers) for numbers in zip(*((one.room, capacity(one.size)) for one in wals), strict=True))
    text = f"{room} of {holds} GiB idle on each {now.shape.disks[wals[0].at].cls}, which carries WALs alone"
    ways = ((Way("nvme-spinner=true", (("nvme-spinner", True),)),),)
    return [Note(HINT, text, WALS, ways, "puts DBs there", len({osd.data for osd in now.placed}))]


def _large(placement: Placement, allocation: Allocation) -> list[Note]:
    """DB devices of which a computed share is far more than RocksDB fills."""
    now = placement.state
    if now.arguments.fast_size[1] or now.arguments.filestore:
        return []
    sizes = [(osd.db_size or 0, now.shape.disks[osd.data].size) for osd in now.placed]
    large = [(db, data) for db, data in sizes if db * LARGEST > data]
    if not large:
        return []
    part, db = max((db * 100 // data, db) for db, data in large)
    text = f"DBs of {gib(db)} GiB are {part} % of their data disks, and Ceph asks for 1 to 4 %"
    ways = ((Way("standalone=true", (("standalone", True),)),),)
    disks = len({osd.data for osd in now.placed}) + len(allocation.devices)
    return [Note(HINT, text, LARGE, ways, "makes OSDs of the DB devices too", disks)]


def _range(sizes: tuple[int, ...]) -> str:
    low, high = gib(min(sizes)), gib(max(sizes))
    return low if low == high else f"{low} to {high}"


def _uneven(placement: Placement, allocation: Allocation) -> list[Note]:
    """What exists is never moved; where all disks planned anew would lie more evenly, a hint says so."""
    now = placement.state
    total = sum(device.osds for device in allocation.devices)
    most = max((device.osds for device in allocation.devices), default=0)
    if not allocation.devices or most <= -(-total // len(allocation.devices)):
        return []
    fresh = state(Shape(now.shape.disks, (), (), ()), now.arguments)
    for tiers in candidates(fresh.pool, now.arguments):
        if set(tiers.db) == set(allocation.tiers.db) and set(tiers.wal) == set(allocation.tiers.wal):
            anew = allocate(now.shape.disks, tiers, fresh.neighbours, now.arguments, fresh.limit)
            even = max((device.osds for device in anew.devices), default=0)
            if even < most and sum(device.osds for device in anew.devices) >= total:
                text = f"one DB device carries {most} OSDs as they were made; spread anew at most {even} would fall"
                return [Note(HINT, text)]
    return []
