"""OSDs that wait for another DB or WAL device in place of one that died: nobody else gets their places.

Each device that is gone is stood in for by one device of the same host, which takes all that lay there. Until there is
one, the data disks stay unused; while a data disk still holds what was destroyed, its slots are kept as taken."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from proposals.disks.fsids import fsid
from proposals.disks.shape import DB, EXCLUDE, WAL, Facts, Placed, Shape, Stray
from proposals.disks.slots import Neighbours, capacity
from proposals.inventory.disk import SPEED, is_fault
from proposals.inventory.inventory import Host
from proposals.inventory.waiting import Waiting
from proposals.text.notes import HINT, WARNING, Note, counted, several
from proposals.text.sizes import gib

KEPT = "is destroyed and keeps its place until its data disk is wiped"


class Gone(NamedTuple):
    """A device that carried DBs or WALs of OSDs that wait: what its successor has to be.

    ``data`` are the positions of the OSDs' data disks, ``bits`` the filters that it has to match."""

    id: str
    osds: tuple[Waiting, ...]
    data: frozenset[int]
    need: int
    bits: int


class Waits(NamedTuple):
    """What a host's OSDs that wait come to: which device stands in for which, None where none does yet."""

    gone: tuple[Gone, ...] = ()
    stands: Mapping[str, int | None] = {}

    @property
    def fsids(self) -> set[str]:
        """The fsids of all of them."""
        return {one.fsid for device in self.gone for one in device.osds}


def settle(host: Host, shape: Shape, before: Mapping) -> tuple[Shape, Waits]:
    """The shape of ``host`` with the places of OSDs that wait in it, and which device stands in for which.

    ``before`` is the host's part of a stored proposal: what stood in for a device stays."""
    at = {disk.id: place for place, disk in enumerate(host.disks)}
    running = {osd.data for osd in shape.existing}
    osds = [one for one in host.waiting if one.data in at and at[one.data] not in running]
    if not osds:
        return shape, Waits()
    gone = _gone(osds, at)
    stands = _stands(host, shape, gone, before.get("in_place_of", {}))
    return _kept(host, shape, osds, at, stands), Waits(gone, stands)


def _gone(osds: Sequence[Waiting], at: Mapping[str, int]) -> tuple[Gone, ...]:
    devices: dict[str, list[Waiting]] = {}
    for one in osds:
        for device in dict.fromkeys(filter(None, (one.db, one.wal))):
            devices.setdefault(device, []).append(one)
    return tuple(
        Gone(
            device,
            tuple(behind),
            frozenset(at[one.data] for one in behind),
            sum((one.db_size or 0) * (one.db == device) + (one.wal_size or 0) * (one.wal == device) for one in behind),
            DB * any(one.db == device for one in behind) | WAL * any(one.wal == device for one in behind),
        )
        for device, behind in sorted(devices.items())
    )


def _stands(host: Host, shape: Shape, gone: Sequence[Gone], before: Mapping[str, str]) -> dict[str, int | None]:
    """The position of the device that stands in for each: itself where it is there, then the one that did before, then
    the smallest empty one with room for all."""
    ids = [disk.id for disk in host.disks]
    stands: dict[str, int | None] = {}
    for device in gone:
        named = [ids.index(id_) for id_ in (device.id, before.get(device.id)) if id_ in ids]
        known = [at for at in named if not is_fault(shape.disks[at].reason or "")]
        taken = {*_used(shape, device), *stands.values()}
        free = [at for at, disk in enumerate(shape.disks) if at not in taken and _may(disk, device, shape)]
        stands[device.id] = next(iter((*known, *sorted(free, key=lambda at: (shape.disks[at].size, at)))), None)
    return stands


def _used(shape: Shape, device: Gone) -> set[int]:
    """Disks on which something lies or is planned, but for the OSDs that wait for this device."""
    lying = [*shape.existing, *shape.moving, *(osd for osd in shape.pinned if osd.data not in device.data)]
    return {*device.data, *(osd.data for osd in lying), *Neighbours(shape, lying).disks}


def _may(disk: Facts, device: Gone, shape: Shape) -> bool:
    """Whether a disk can stand in for a device: of its class, or where nobody knows that, faster than the data."""
    if disk.reason is not None or disk.mask & EXCLUDE or disk.mask & device.bits != device.bits:
        return False
    cls = device.osds[0].cls
    alike = disk.cls == cls if cls else SPEED[disk.cls] > max(SPEED[shape.disks[one].cls] for one in device.data)
    return alike and capacity(disk.size) >= device.need


def _kept(
    host: Host, shape: Shape, osds: Sequence[Waiting], at: Mapping[str, int], stands: Mapping[str, int | None]
) -> Shape:
    """The shape with a place for each OSD that waits, or its data disk kept back."""
    disks, strays, pinned = list(shape.disks), list(shape.strays), []
    parts: dict[int, int] = {}
    for one in osds:
        data = at[one.data]
        part = parts[data] = parts.get(data, -1) + 1
        devices = {"db": one.db, "wal": one.wal}
        places = {role: stands[device] if device else None for role, device in devices.items()}
        lacking = [device for role, device in devices.items() if device and places[role] is None]
        sizes = {"db": one.db_size, "wal": one.wal_size}
        if shape.disks[data].reason is not None:
            kept = [(place, role) for role, place in places.items() if place is not None]
            lying = {(stray.disk, stray.role, stray.label) for stray in strays}
            wanted = [Stray(place, role, sizes[role], one.label, KEPT) for place, role in kept]
            strays += [stray for stray in wanted if (stray.disk, stray.role, stray.label) not in lying]
        elif lacking:
            disks[data] = disks[data]._replace(reason=f"waits for a device in place of {lacking[0]}, which is gone")
        elif not disks[data].mask & EXCLUDE:
            strays = [stray for stray in strays if stray.label != one.label]  # its own slots, which it takes again
            part = _part(host, data, one, part)
            pinned.append(Placed(data, part, places["db"], places["wal"], one.db_size, one.wal_size))
    mine = {osd.data for osd in pinned} | {data for data, disk in enumerate(disks) if disk.reason is not None}
    rest = (osd for osd in shape.pinned if osd.data not in mine)
    return shape._replace(disks=tuple(disks), pinned=(*pinned, *rest), strays=tuple(strays), waiting=len(pinned))


def _part(host: Host, data: int, one: Waiting, part: int) -> int:
    """Which of its data disk's OSDs one was: its fsid tells, where the planner made that."""
    several_here = sum(other.data == one.data for other in host.waiting)
    made = {fsid(host.id, host.disks[data], number): number for number in range(several_here)}
    return made.get(one.fsid, part)


def notes(host: Host, waits: Waits) -> list[Note]:
    """What is told of devices that are gone: what stands in for each, or which has to come."""
    lines = []
    for device in waits.gone:
        osds = several([one.label for one in device.osds], "more")
        at = waits.stands[device.id]
        if at is None:
            cls = device.osds[0].cls or "device faster than the data disks"
            lines.append(
                Note(
                    WARNING,
                    f"{counted(len(device.data), 'data disk')} of {osds} wait for a device in place of {device.id}, "
                    f"which is gone: a free {cls} with room for {gib(device.need)} GiB takes it; 'salt-run osd.replace "
                    f"{device.osds[0].osd_id}' gives that OSD's place up",
                )
            )
        elif host.disks[at].id != device.id:
            lines.append(Note(HINT, f"{host.disks[at].id} takes the place of {device.id}, which is gone, for {osds}"))
    return lines


def in_place_of(host: Host, waits: Waits) -> dict[str, str]:
    """Which device stands in for which, by id, for the stored proposal."""
    stands = {device: host.disks[at].id for device, at in waits.stands.items() if at is not None}
    return {device: id_ for device, id_ in stands.items() if id_ != device}
