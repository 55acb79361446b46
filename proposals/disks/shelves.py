"""What falls with a shelf that hosts share: an enclosure of disks that is cabled to several of them.

Copies on different hosts of one shelf are gone together with it. How many flash cards of a shelf one server can serve,
and how many placement groups spread them evenly, are the numbers of the InfiniFlash reference architecture (SanDisk and
Red Hat, "Sizing and configuration"). How many cores a card takes is Ceph's number for flash as fast (docs.ceph.com,
"Hardware recommendations": five or six on real clusters).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from proposals.cluster import crush
from proposals.disks.shape import Placed
from proposals.disks.values import PlannedHost
from proposals.settings.pools import BY_ENCLOSURE, BY_PATH
from proposals.text.notes import HINT, WARNING, Note, counted, several
from proposals.text.sizes import GIB

HOW = {BY_ENCLOSURE: "enclosure", BY_PATH: "expander"}  # how a place in the CRUSH map names what tells a shelf
LOADS = (("small random I/O", 8), ("mixed loads", 16), ("throughput", 16))  # cards that one server serves well
SERVER_MEMORY = 128 * GIB
GROUPS = 200  # placement groups an OSD
CORES = 5  # a card, of small random I/O


class Shelf(NamedTuple):
    """A shelf with OSDs of several hosts.

    how
        ``by-enclosure`` or ``by-path``: by what it is known.
    hosts
        OSDs of each host that fall with it: their data, DB or WAL lies in it.
    raw
        Bytes of these OSDs' data disks.
    flash
        Flash data disks of each host in it.
    """

    how: str
    name: str
    hosts: Mapping[str, int]
    raw: int
    flash: Mapping[str, int]


class _Part(NamedTuple):
    """Of a shelf what one host has: OSDs that fall with it, their data disks' bytes, flash data disks in it."""

    host: str
    osds: int
    raw: int
    flash: int


def shared(raw: Mapping[str, object], planned: Iterable[PlannedHost]) -> tuple[Shelf, ...]:
    """Return the shelves with OSDs of more than one host, by name.

    raw
        The hosts of the inventory, as discovery stored them.
    planned
        The targeted hosts with their plans.
    """
    found: dict[tuple[str, str], list[_Part]] = {}
    for host in planned:
        if lies := _lies(raw.get(host.host.id)):
            for at, part in _parts(host, lies).items():
                found.setdefault(at, []).append(part)
    return tuple(
        Shelf(
            *at,
            {part.host: part.osds for part in parts},
            sum(part.raw for part in parts),
            {part.host: part.flash for part in parts if part.flash},
        )
        for at, parts in sorted(found.items())
        if len(parts) > 1
    )


def _parts(planned: PlannedHost, lies: Mapping[str, tuple[str, str]]) -> dict[tuple[str, str], _Part]:
    """What falls with each shelf of one host."""
    disks, places = planned.shape.disks, [lies.get(disk.id) for disk in planned.host.disks]
    osds = (*planned.shape.existing, *planned.plan.osds)
    fallen: dict[tuple[str, str], list[Placed]] = {}
    for one in osds:
        for at in {place for part in (one.data, one.db, one.wal) if part is not None and (place := places[part])}:
            fallen.setdefault(at, []).append(one)
    return {
        at: _Part(
            planned.host.id,
            len(ones),
            sum(disks[data].size for data in {one.data for one in ones}),
            sum(1 for data in {one.data for one in ones} if disks[data].cls != "hdd" and places[data] == at),
        )
        for at, ones in fallen.items()
    }


def _lies(host: object) -> dict[str, tuple[str, str]]:
    """By a disk's stable name what shelf it lies in; empty for most hosts, whose disks tell none."""
    listed = host.get("ceph_disks") if isinstance(host, Mapping) else None
    return {
        str(disk.get("id") or disk.get("device")): told
        for disk in (listed if isinstance(listed, list) else ())
        if isinstance(disk, dict)
        and (disk.get("enclosure") or "exp" in str(disk.get("path")))
        and (told := crush.shelf(disk))
    }


def told(shelves: Iterable[Shelf], total: int) -> list[dict]:
    """Shelves as the answer has them. ``total``: raw bytes of all hosts that are planned."""
    return [
        {
            HOW[one.how]: one.name,
            "hosts": dict(one.hosts),
            "osds": sum(one.hosts.values()),
            "raw_bytes": one.raw,
            "cluster_share": round(one.raw / total, 4) if total else 0.0,
        }
        for one in shelves
    ]


def notes(shelves: Sequence[Shelf], planned: Iterable[PlannedHost]) -> list[Note]:
    """That copies on hosts of one shelf fall together; what a server of flash cards needs."""
    memory = {one.host.id: one.host.memory for one in planned}
    return [*(_falls(one) for one in shelves), *_sizing(shelves, memory)]


def _falls(shelf: Shelf) -> Note:
    osds = counted(sum(shelf.hosts.values()), "OSD")
    text = (
        f"{osds} of {several(list(shelf.hosts))} fall with the shelf {shelf.name}: copies on different hosts of it are "
        f"lost together; stand them in one chassis ('crush_locations', {shelf.how}) and choose it as failure_domain"
    )
    return Note(WARNING, text)


def _sizing(shelves: Iterable[Shelf], memory: Mapping[str, int | None]) -> list[Note]:
    cards: Counter[str] = Counter()
    for shelf in shelves:
        cards.update(shelf.flash)
    if not cards:
        return []
    low, high = min(cards.values()), max(cards.values())
    fits = [what for what, most in LOADS if high <= most]
    good = f"good for {', '.join(fits)}" if fits else "more than one serves well"
    lines = [
        f"flash cards of shared shelves: {low if low == high else f'{low} to {high}'} a server, {good}, with at least "
        f"{GROUPS} placement groups an OSD (mon_target_pg_per_osd); small random I/O takes {CORES} cores a card, "
        f"{CORES * high} a server"
    ]
    if small := sorted(host for host in cards if 0 < (memory.get(host) or 0) < SERVER_MEMORY):
        lines.append(f"{several(small)}: a server of such cards should have {SERVER_MEMORY // GIB} GiB of memory")
    return [Note(HINT, line) for line in lines]
