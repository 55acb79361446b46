"""What is worth knowing beside the answer: about one host, and about all of them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from proposals.disks import shortages
from proposals.disks.allocate import Allocation
from proposals.disks.arguments import Arguments
from proposals.disks.shape import DATA, EXCLUDE, Placed
from proposals.disks.values import Planned, State
from proposals.text.notes import HINT, WARNING, Note, Notes, several
from proposals.text.sizes import GIB, gib

OSD_MEMORY = 4 * GIB  # osd_memory_target, Ceph's default: what one OSD aims to use
SMALL_DB = 100  # a DB under 1/100 of its data disk: Ceph's documentation asks for 1 to 4 %
ODD_LEFTOVER = 2  # a leftover so many times smaller or larger than the other data disks unbalances a pool


def host(
    state: State, allocation: Allocation | None, new: Sequence[Placed], arguments: Arguments, notes: Notes
) -> None:
    """Notes on one host's plan; ``new`` are its OSDs that do not lie on the disks yet, stored ones too."""
    disks = state.shape.disks
    if arguments.osds_per_device > 1 and any(disks[one.data].cls == "hdd" for one in new):
        notes.warn(f"osds-per-device={arguments.osds_per_device} is for flash: hard disks carry one OSD each")
    fast = {*allocation.tiers.db, *allocation.tiers.wal} if allocation and arguments.data else ()
    both = sum(1 for at in {*fast} - {one.data for one in new} if disks[at].mask & DATA)
    if both:
        verb = "disk matches" if both == 1 else "disks match"
        notes.warn(f"{both} {verb} data and also db or wal: serving DB or WAL")
    for label, gone in sorted({stray.label: stray.gone for stray in state.shape.strays}.items()):
        notes.warn(shortages.strays_text({label: gone}))
    low = [one for one in new if one.db_size and one.db_size * SMALL_DB < disks[one.data].size]
    if low and not arguments.filestore:
        size, disk = min((one.db_size, disks[one.data].size) for one in low)
        text = f"a DB of {gib(size)} GiB is under 1 % of its data disk of {gib(disk)} GiB: RocksDB may spill onto it"
        (notes.hint if arguments.fast_size[1] else notes.warn)(text)
    if allocation and allocation.over:
        count = len(allocation.over)
        needed = -(-len(allocation.tiers.db) // len(allocation.tiers.wal))
        notes.hint(f"{count} DB devices unused: db-ratio={arguments.db_ratio} is reached; db-ratio={needed} uses all")
    _leftovers(state, new, notes)


def _leftovers(state: State, new: Sequence[Placed], notes: Notes) -> None:
    disks = state.shape.disks
    usual = Counter(disks[one.data].size for one in (*state.shape.existing, *new) if one.db is not None)
    if not usual:
        return
    size = max(usual, key=lambda each: (usual[each], each))
    alone = {disks[one.data].size for one in new if one.db is None and one.wal is None}
    odd = sorted(one for one in alone if one * ODD_LEFTOVER < size or one > size * ODD_LEFTOVER)
    if odd:
        sizes = ", ".join(f"{gib(one)} GiB" for one in odd)
        notes.warn(f"leftovers of {sizes} beside data disks of {gib(size)} GiB: their fill and load will differ much")


def general(planned: Iterable[Planned], arguments: Arguments) -> list[Note]:
    """Notes on all targeted hosts together."""
    hosts = list(planned)
    notes = [Note(WARNING, text) for text in _without_effect(hosts, arguments)]
    notes += _memory(hosts)
    notes += _groups(
        "hosts chose different layouts", [(one.plan.layout, one.host.id) for one in hosts if one.plan.layout]
    )
    disks = [(_disks(one), one.host.id) for one in hosts if one.plan.layout]
    return notes + _groups("hosts differ in their disks", disks)


def _without_effect(hosts: list[Planned], arguments: Arguments) -> list[str]:
    new = [one for host in {id(each.plan): each for each in hosts}.values() for one in host.plan.osds]
    db, wal = any(one.db is not None for one in new), any(one.wal is not None for one in new)
    found = []
    if arguments.exclude and not any(facts.mask & EXCLUDE for one in hosts for facts in one.shape.disks):
        found.append(f"exclude={arguments.exclude.text} matches no disk")
    if arguments.filestore:
        found += [
            f"{name} has no effect: filestore has no WAL" for name in ("wal", "wal-size") if name in arguments.typed
        ]
    sizes = (
        ("db-size", arguments.db_size, db and not arguments.filestore),
        ("wal-size", arguments.wal_size, wal),
        ("journal-size", arguments.journal_size, db and arguments.filestore),
    )
    found += [
        f"{name} has no effect: no new OSD has such a part" for name, typed, used in sizes if typed and new and not used
    ]
    if arguments.wal and new and not wal:
        found.append(f"wal={arguments.wal.text} has no effect: no layout with such a WAL fits")
    return found


def _memory(hosts: list[Planned]) -> list[Note]:
    short: dict[tuple[int, int], list[str]] = {}
    for one in hosts:
        osds = len(one.plan.osds) + len(one.shape.existing)
        if one.host.memory and osds * OSD_MEMORY > one.host.memory:
            short.setdefault((osds, one.host.memory), []).append(one.host.id)
    return [
        Note(
            WARNING,
            f"{several(names)}: {osds} OSDs x 4 GiB (osd_memory_target) = {osds * 4} GiB, and the host has "
            f"{gib(memory)} GiB: lower osd_memory_target or add memory",
        )
        for (osds, memory), names in short.items()
    ]


def _disks(one: Planned) -> str:
    """``54 x hdd 5589 GiB, 6 x ssd 745.2 GiB``: the disks that Ceph may use."""
    counts = Counter(
        (facts.cls, facts.size)
        for facts, disk in zip(one.shape.disks, one.host.disks, strict=True)
        if facts.reason is None or disk.residents
    )
    return ", ".join(f"{count} x {cls} {gib(size)} GiB" for (cls, size), count in sorted(counts.items()))


def _groups(title: str, pairs: list[tuple[str, str]]) -> list[Note]:
    groups: dict[str, list[str]] = {}
    for key, name in pairs:
        groups.setdefault(key, []).append(name)
    if len(groups) < 2:
        return []
    listed = sorted(groups.items(), key=lambda group: (-len(group[1]), group[1]))
    return [Note(HINT, f"{title}: " + "; ".join(f"{key} on {several(names)}" for key, names in listed))]
