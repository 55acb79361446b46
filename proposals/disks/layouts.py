"""Which disks a layout would use for what: data on one class, DB on a faster one, WAL on one faster still."""

from collections.abc import Collection
from typing import NamedTuple

from proposals.disks.arguments import DiskArguments
from proposals.disks.filters import Filter
from proposals.disks.shape import DATA, DB, EXCLUDE, WAL, Facts, Shape
from proposals.inventory.disk import SPEED
from proposals.text.errors import PlanError
from proposals.text.sizes import gib

# layout -> class of data, class of DB, class of WAL; in the order that decides between equals
CLASSES = {
    "nvme-ssd-spinner": ("hdd", "ssd", "nvme"),
    "nvme-ssd": ("ssd", "nvme", None),
    "nvme-spinner": ("hdd", "nvme", None),
    "ssd-spinner": ("hdd", "ssd", None),
}
WORDS = {"hdd": "spinner", "ssd": "ssd", "nvme": "nvme"}


class Tiers(NamedTuple):
    """Positions of a host's disks by purpose. ``carries`` is what a DB device carries: "db" or "db+wal";
    with a WAL tier of its own ``wal`` holds it; with WALs alone, ``db`` is empty. ``small`` stay out."""

    layout: str | None
    data: tuple[int, ...]
    db: tuple[int, ...]
    wal: tuple[int, ...]
    carries: str
    small: tuple[int, ...] = ()
    order: str = ""  # the layout that was tried, whatever it is called by the classes taken


class Pool(NamedTuple):
    """The disks that may get a new role: ``free`` any, ``fast`` those that may carry (more) DBs and WALs."""

    disks: tuple[Facts, ...]
    free: tuple[int, ...]
    fast: tuple[int, ...]


def pool(shape: Shape, busy: set[int], carriers: set[int]) -> Pool:
    """Disks by what they may still become. ``busy`` hold data of an OSD, ``carriers`` DBs or WALs."""
    may = [at for at, disk in enumerate(shape.disks) if disk.reason is None and not disk.mask & EXCLUDE]
    fast = tuple(at for at in may if at not in busy)
    return Pool(shape.disks, tuple(at for at in fast if at not in carriers), fast)


def candidates(pool: Pool, arguments: DiskArguments) -> list[Tiers]:
    """The layouts to try on these disks, in the order that decides between equals."""
    if arguments.layout == "standalone":
        return []
    if arguments.layout:
        tried = [_by_class(pool, arguments, arguments.layout)]
    elif arguments.data and arguments.db:
        tried = [_by_filters(pool, arguments)]
    else:
        tried = [_by_class(pool, arguments, layout) for layout in CLASSES]
    return [tiers for tiers in tried if tiers]


def _by_filters(pool: Pool, arguments: DiskArguments) -> Tiers | None:
    """``data`` and ``db`` both given: they alone decide, whatever the classes."""
    db = tuple(at for at in pool.fast if pool.disks[at].mask & DB)
    wal = tuple(at for at in pool.fast if arguments.wal and pool.disks[at].mask & WAL)
    if not db or (arguments.wal and not wal):
        return None
    fast = {*db, *wal}
    data = tuple(at for at in pool.free if pool.disks[at].mask & DATA and at not in fast)
    return _tiers(pool, arguments, data, db, wal)


def _by_class(pool: Pool, arguments: DiskArguments, layout: str) -> Tiers | None:
    slow, fast, faster = CLASSES[layout]
    if faster and arguments.filestore:
        return None
    disks = pool.disks
    data = tuple(at for at in pool.free if disks[at].cls == slow and disks[at].mask & DATA)
    db = tuple(at for at in pool.fast if disks[at].cls == fast and disks[at].mask & DB)
    wal_class = faster or fast
    wal: tuple[int, ...] = ()
    if faster or arguments.wal:
        wal = tuple(at for at in pool.fast if disks[at].cls == wal_class and disks[at].mask & WAL)
    if arguments.wal and not arguments.db and not faster:
        db = ()
    carrying = set(db + wal) - set(pool.free)
    if not (data or carrying) or not (db or wal) or (faster and not (db and wal)):
        return None
    if (arguments.db and not db) or (arguments.wal and not wal):
        return None  # what was asked for by name is not answered by less
    return _tiers(pool, arguments, data, db, wal, layout)


def _tiers(
    pool: Pool,
    arguments: DiskArguments,
    data: tuple[int, ...],
    db: tuple[int, ...],
    wal: tuple[int, ...],
    layout: str | None = None,
) -> Tiers:
    common = set(db) & set(wal)
    if common and set(db) != set(wal):
        sizes = ", ".join(sorted({f"{gib(pool.disks[at].size)} GiB" for at in common}))
        raise PlanError(
            f"db={_text(arguments.db)} and wal={_text(arguments.wal)} overlap in part: {len(common)} disks ({sizes}) "
            "match both and others only one; make both match the same disks (DB and WAL share them), or none in common"
        )
    small: tuple[int, ...] = ()
    if not arguments.db and db:
        largest = max(pool.disks[at].size for at in db)
        free = set(pool.free)  # a device that carries DBs already offers what is left
        small = tuple(at for at in db if pool.disks[at].size * 2 < largest and at in free)
        db = tuple(at for at in db if at not in small)
    if common:
        wal = ()
    shared = bool(common) or (not wal and arguments.wal_size is not None and not arguments.filestore)
    carries = "db+wal" if shared else "db"
    return Tiers(layout or name(pool.disks, data, db, wal), data, db, wal, carries, small, layout or "by filters")


def name(disks: tuple[Facts, ...], data: Collection[int], db: Collection[int], wal: Collection[int]) -> str | None:
    """What a layout is called by the classes it takes, of several the slowest: ``nvme-ssd-spinner``."""
    tiers = [tier for tier in (wal if set(wal) != set(db) else (), db, data) if tier]
    if not data:
        return None
    if len(tiers) == 1:
        return "standalone"
    return "-".join(WORDS[min((disks[at].cls for at in tier), key=SPEED.__getitem__)] for tier in tiers)


def _text(filter_: Filter | None) -> str:
    return filter_.text if filter_ else "none"
