"""DB and WAL devices while disks are being given to them: how many slots each has, and of what size."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from proposals.disks.arguments import DiskArguments
from proposals.disks.shape import Placed, Shape
from proposals.text.sizes import GIB, MIB

OVERHEAD = 16 * MIB  # partition tables, alignment, LVM's header
WAL_SIZE = 2 * GIB  # what Ceph's RocksDB settings fill at most, doubled
JOURNAL_SIZE = 5 * GIB  # Ceph's own default


def capacity(size: int) -> int:
    """Bytes for slots on a device of ``size`` bytes: whole GiB, without what tables and headers take."""
    return max(0, (size - OVERHEAD) // GIB * GIB)


class Clash(NamedTuple):
    """A typed size that is not that of the parts which lie on a device. Sizes are bytes."""

    argument: str
    there: int
    typed: int


class Device:
    """One DB or WAL device. The only mutable value of planning; it lives while one layout is tried.

    ``db`` and ``wal`` are the bytes of one OSD's slot here, 0 where this device carries none."""

    __slots__ = ("at", "size", "db", "wal", "room", "disks", "osds", "bytes", "behind", "served", "strays", "clashes")

    def __init__(self, at: int, size: int) -> None:
        self.at = at
        self.size = size
        self.db = self.wal = 0
        self.room = capacity(size)
        self.disks = self.osds = self.bytes = 0
        self.behind: Device | None = None  # the WAL device of a DB device, where there are three tiers
        self.served = 0  # DB devices that a WAL device serves
        self.strays: dict[str, str] = {}
        self.clashes: tuple[Clash, ...] = ()

    @property
    def slot(self) -> int:
        """Bytes that one OSD takes here."""
        return self.db + self.wal

    def can_take(self, parts: int, ratio: int) -> bool:
        """Whether a data disk of so many OSDs finds its slots here."""
        if self.disks >= ratio or self.room < parts * self.slot or not self.slot:
            return False
        return self.behind is None or self.behind.room >= parts * self.behind.wal

    def take(self, parts: int, size: int) -> None:
        """Give ``parts`` slots to a data disk of ``size`` bytes."""
        self.disks += 1
        self.osds += parts
        self.bytes += size
        self.room -= parts * self.slot
        if self.behind:
            self.behind.osds += parts
            self.behind.room -= parts * self.behind.wal


class Neighbours:
    """What lies on the DB and WAL devices of a host already, from OSDs, the stored plan and strays."""

    def __init__(self, shape: Shape, placed: Iterable[Placed]) -> None:
        self.sizes: dict[tuple[int, str], list[int]] = {}
        self.taken: Counter[int] = Counter()
        self.unsized: Counter[int] = Counter()
        self.disks: dict[int, set] = {}
        self.osds: Counter[int] = Counter()
        self.bytes: Counter[int] = Counter()
        self.wal_of: dict[int, list[int]] = {}
        self.strays: dict[int, dict[str, str]] = {}  # device -> OSD -> what became of it
        self.leaving: set[int] = set()  # devices with slots that OSDs lie in until they have moved
        for osd in placed:
            self.add(osd, shape.disks[osd.data].size)
        for osd in shape.leaving:
            for at, size in ((osd.db, osd.db_size), (osd.wal, osd.wal_size)):
                if at is not None:
                    self.leaving.add(at)
                    self._take(at, size)
        for stray in shape.strays:
            self._note(stray.disk, stray.role, stray.size, stray.label)
            known = self.strays.setdefault(stray.disk, {})
            self.osds[stray.disk] += stray.label not in known
            known[stray.label] = stray.gone

    def add(self, osd: Placed, size: int) -> None:
        """Count ``osd``, whose data disk has ``size`` bytes, for the devices of its DB and WAL."""
        for at, role, bytes_ in ((osd.db, "db", osd.db_size), (osd.wal, "wal", osd.wal_size)):
            if at is not None:
                self._note(at, role, bytes_, osd.data)
        for at in {at for at in (osd.db, osd.wal) if at is not None}:
            self.osds[at] += 1
            self.bytes[at] += size
        if osd.db is not None and osd.wal is not None and osd.db != osd.wal:
            self.wal_of.setdefault(osd.db, []).append(osd.wal)

    def _note(self, at: int, role: str, size: int | None, owner: object) -> None:
        self.disks.setdefault(at, set()).add(owner)
        self._take(at, size)
        if size is not None:
            self.sizes.setdefault((at, role), []).append(size)

    def _take(self, at: int, size: int | None) -> None:
        if size is None:
            self.unsized[at] += 1
        else:
            self.taken[at] += size

    def usual(self, at: int, role: str) -> int:
        """The size that most parts of ``role`` on this device have, of equals the larger; 0: there are none."""
        sizes = Counter(self.sizes.get((at, role), ()))
        return max(sizes, key=lambda size: (sizes[size], size)) if sizes else 0


def build(at: int, size: int, carries: str, neighbours: Neighbours, arguments: DiskArguments, parts: int) -> Device:
    """The device at position ``at``; ``carries`` is "db", "wal" or "db+wal", ``parts`` the OSDs a data disk.

    Without a typed size a DB is an equal share of the device for each slot that the ratio allows, less the WAL;
    where that is under 1 GiB, the device has no slot."""
    device = Device(at, size)
    if at in neighbours.disks:
        _like_neighbours(device, carries, neighbours, arguments)
    if not device.wal and (carries == "wal" or (carries == "db+wal" and at not in neighbours.disks)):
        device.wal = arguments.wal_size or WAL_SIZE
    if carries != "wal" and not device.db:
        typed = arguments.fast_size[1] or (JOURNAL_SIZE if arguments.filestore else None)
        share = (device.room // (arguments.ratio * parts) - device.wal) // GIB * GIB
        device.db = typed or max(0, share)
        device.wal = device.wal if device.db else 0
    device.room -= neighbours.taken[at] + neighbours.unsized[at] * device.slot
    return device


def _like_neighbours(device: Device, carries: str, neighbours: Neighbours, arguments: DiskArguments) -> None:
    at = device.at
    device.disks = len(neighbours.disks[at])
    device.osds, device.bytes = neighbours.osds[at], neighbours.bytes[at]
    device.strays = neighbours.strays.get(at, {})
    device.db = neighbours.usual(at, "db") if carries != "wal" else 0
    device.wal = neighbours.usual(at, "wal") if carries != "db" or device.db else 0
    name, typed = arguments.fast_size
    clashes = []
    if device.db and typed and typed != device.db:
        clashes.append(Clash(name, device.db, typed))
    if arguments.wal_size and arguments.wal_size != device.wal and (device.wal or carries == "db+wal"):
        clashes.append(Clash("wal-size", device.wal, arguments.wal_size))
    device.clashes = tuple(clashes)
