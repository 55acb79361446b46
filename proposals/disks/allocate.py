"""Giving data disks to DB and WAL devices: evenly, never over the ratio, never over what a device holds."""

import heapq
from collections import Counter
from typing import NamedTuple

from proposals.disks.arguments import DiskArguments
from proposals.disks.layouts import Tiers
from proposals.disks.shape import Facts, Placed
from proposals.disks.slots import Device, Neighbours, build


class Allocation(NamedTuple):
    """One layout tried: what went where, what did not, and the devices as they are afterwards."""

    tiers: Tiers
    placed: tuple[Placed, ...]
    unplaced: tuple[int, ...]
    devices: tuple[Device, ...]
    clashing: tuple[Device, ...]  # left out: their neighbours' sizes are not those that were typed
    over: tuple[int, ...]  # DB devices that no WAL device takes
    wals: tuple[Device, ...]  # the WAL devices of three tiers


def parts(disk: Facts, arguments: DiskArguments) -> int:
    """OSDs on one data disk: several only on flash."""
    return 1 if disk.cls == "hdd" else arguments.osds_per_device


def allocate(
    disks: tuple[Facts, ...], tiers: Tiers, neighbours: Neighbours, arguments: DiskArguments, limit: int | None
) -> Allocation:
    """Give the data disks of ``tiers`` to its devices. ``limit``: at most so many data disks (None: all)."""
    wal_only = not tiers.db and bool(tiers.wal)
    carries = "wal" if wal_only else tiers.carries
    main_tier = tiers.db or tiers.wal
    served = {at for device in main_tier for at in neighbours.disks.get(device, ()) if isinstance(at, int)}
    per_disk = max((parts(disks[at], arguments) for at in (*tiers.data, *served)), default=1)
    main = [build(at, disks[at].size, carries, neighbours, arguments, per_disk) for at in main_tier]
    three = tiers.wal if tiers.db else ()
    wals = [build(at, disks[at].size, "wal", neighbours, arguments, per_disk) for at in three]
    over = _put_behind(main, wals, neighbours, arguments) if wals else ()
    usable = [device for device in main if device.at not in over]
    data = sorted(tiers.data, key=lambda at: (-disks[at].size, at))
    wanted = data if limit is None else data[:limit]
    placed, left = spread(disks, wanted, [device for device in usable if not device.clashes], arguments)
    clashing = tuple(device for device in usable if device.clashes)
    return Allocation(tiers, tuple(placed), tuple(left), tuple(main), clashing, over, tuple(wals))


def _put_behind(main: list[Device], behind: list[Device], neighbours: Neighbours, arguments: DiskArguments) -> tuple:
    """Give each DB device its WAL device; return the positions of those over the ceiling."""
    by_position = {device.at: device for device in behind}
    for device in main:
        known = Counter(at for at in neighbours.wal_of.get(device.at, ()) if at in by_position)
        if known:
            device.behind = by_position[max(known, key=lambda at: (known[at], -at))]
            device.behind.served += 1
    over = []
    for device in sorted((one for one in main if not one.behind), key=lambda one: (-one.size, one.at)):
        open_ = [one for one in behind if one.served < arguments.db_ratio and one.room >= one.wal and not one.clashes]
        if not open_:
            over.append(device.at)
            continue
        device.behind = min(open_, key=lambda one: (one.served, -one.room, one.at))
        device.behind.served += 1
    for device in main:
        if device.behind:
            device.clashes = tuple(dict.fromkeys(device.clashes + device.behind.clashes))
    return tuple(over)


def spread(
    disks: tuple[Facts, ...], data: list[int], devices: list[Device], arguments: DiskArguments
) -> tuple[list[Placed], list[int]]:
    """Each disk, the larger first, to the device with fewest OSDs, then fewest data bytes, then by id."""
    heap = [(device.osds, device.bytes, device.at, device) for device in devices]
    heapq.heapify(heap)
    placed, left = [], []
    for at in data:
        count = parts(disks[at], arguments)
        aside = []
        while heap and not heap[0][3].can_take(count, arguments.ratio):
            entry = heapq.heappop(heap)
            if count > 1 and entry[3].can_take(1, arguments.ratio):
                aside.append(entry)  # full for this disk, not for a hard disk with its one OSD
        if heap:
            device = heap[0][3]
            device.take(count, disks[at].size)
            heapq.heapreplace(heap, (device.osds, device.bytes, device.at, device))
            placed += [_placed(at, part, device) for part in range(count)]
        else:
            left.append(at)
        for entry in aside:
            heapq.heappush(heap, entry)
    return placed, left


def _placed(at: int, part: int, device: Device) -> Placed:
    wal = device.behind.at if device.behind else device.at
    wal_size = device.behind.wal if device.behind else device.wal
    db = device.at if device.db else None
    return Placed(at, part, db, wal if wal_size else None, device.db or None, wal_size or None)
