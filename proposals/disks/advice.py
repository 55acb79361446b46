"""What is worth knowing beside the answer: about one host, and about all of them together."""

from collections import Counter
from collections.abc import Iterable, Sequence

from proposals.disks import faults, idle, room, shortages
from proposals.disks.arguments import DiskArguments
from proposals.disks.shape import DATA, EXCLUDE
from proposals.disks.values import Placement, PlannedHost
from proposals.text.names import shown
from proposals.text.notes import HINT, WARNING, Note, Way, counted, several
from proposals.text.sizes import GIB, gib

OSD_MEMORY = 4 * GIB  # osd_memory_target, Ceph's default: what one OSD aims to use
SMALL_DB = 100  # a DB under 1/100 of its data disk: Ceph's documentation asks for 1 to 4 %
ODD_LEFTOVER = 2  # a leftover so many times smaller or larger than the other data disks unbalances a pool
NOTHING = "no OSD is planned: no targeted host has a free disk that may be data"
GROUPS = 4  # of hosts, told in one line
SOURCE = 300  # characters of a line on what an inventory's source does not tell
OVER, MEMORY, LOW = "DB devices over db-ratio", "memory", "low DB"
ORDER = (shortages.UNUSED, OVER, faults.FAULT, MEMORY, LOW, idle.IDLE)  # what is told first


def host(placement: Placement) -> tuple[Note, ...]:
    """Notes on one host's plan, beside those on data disks that are left over."""
    return (
        *_over(placement),
        *_strays(placement),
        *_low(placement),
        *_no_flash(placement),
        *_both(placement),
        *_leftovers(placement),
        *idle.notes(placement),
    )


def _over(placement: Placement) -> list[Note]:
    """DB devices that no WAL device takes."""
    allocation, arguments = placement.allocation, placement.state.arguments
    if not allocation or not allocation.over or len(allocation.over) == len(allocation.devices):
        return []
    needed = -(-len(allocation.tiers.db) // len(allocation.tiers.wal))
    ways = ((Way(f"db-ratio={needed}", (("db-ratio", needed),)),),) if needed > arguments.db_ratio else ()
    text = f"{counted(len(allocation.over), 'DB device')} unused: {room.over(allocation, arguments)}"
    return [Note(HINT, text, OVER, ways, "uses all", _data_disks(placement))]


def _strays(placement: Placement) -> list[Note]:
    gone = {stray.label: stray.gone for stray in placement.state.shape.strays}
    return [Note(WARNING, shortages.strays_text({label: why})) for label, why in sorted(gone.items())]


def _low(placement: Placement) -> list[Note]:
    state = placement.state
    ratios = [
        (osd.db_size / state.shape.disks[osd.data].size, osd.db_size, state.shape.disks[osd.data].size)
        for osd in state.placed
        if osd.db_size and osd.db_size * SMALL_DB < state.shape.disks[osd.data].size
    ]
    if not ratios or state.arguments.filestore:
        return []
    _, db, data = min(ratios)
    text = f"a DB of {gib(db)} GiB is under 1 % of its data disk of {gib(data)} GiB: RocksDB may spill onto it"
    return [Note(HINT if state.arguments.fast_size[1] else WARNING, text, LOW)]


def _no_flash(placement: Placement) -> list[Note]:
    count, disks = placement.state.arguments.osds_per_device, placement.state.shape.disks
    if count == 1 or not any(disks[osd.data].cls == "hdd" for osd in placement.state.placed):
        return []
    return [Note(WARNING, f"osds-per-device={count} is for flash: hard disks carry one OSD each")]


def _both(placement: Placement) -> list[Note]:
    state, allocation = placement.state, placement.allocation
    if not allocation or not state.arguments.data:
        return []
    fast = {*allocation.tiers.db, *allocation.tiers.wal} - {osd.data for osd in state.placed}
    both = sum(1 for at in fast if state.shape.disks[at].mask & DATA)
    verb = "matches" if both == 1 else "match"
    text = f"{counted(both, 'disk')} {verb} data and also db or wal: serving DB or WAL"
    return [Note(WARNING, text)] if both and (state.placed or state.shape.existing) else []


def _leftovers(placement: Placement) -> list[Note]:
    state, disks = placement.state, placement.state.shape.disks
    usual = Counter(disks[osd.data].size for osd in (*state.shape.existing, *state.placed) if osd.db is not None)
    if not usual:
        return []
    size = max(usual, key=lambda one: (usual[one], one))
    alone = {disks[osd.data].size for osd in state.placed if osd.db is None and osd.wal is None}
    odd = sorted(one for one in alone if one * ODD_LEFTOVER < size or one > size * ODD_LEFTOVER)
    sizes = ", ".join(f"{gib(one)} GiB" for one in odd)
    text = f"leftovers of {sizes} beside data disks of {gib(size)} GiB: their fill and load will differ much"
    return [Note(WARNING, text)] if odd else []


def _data_disks(placement: Placement) -> int:
    return len({osd.data for osd in (*placement.state.shape.existing, *placement.state.placed)})


def memory(planned: PlannedHost) -> list[Note]:
    """That a host has less memory than its OSDs aim to use."""
    osds, has = len(planned.plan.osds) + len(planned.shape.existing), planned.host.memory
    if not has or osds * OSD_MEMORY <= has:
        return []
    needs = f"{counted(osds, 'OSD')} x {gib(OSD_MEMORY)} GiB (osd_memory_target) = {gib(osds * OSD_MEMORY)} GiB"
    text = f"{needs}, and the host has {gib(has)} GiB: lower osd_memory_target or add memory"
    return [Note(WARNING, text, MEMORY)]


def general(planned: Sequence[PlannedHost], arguments: DiskArguments) -> list[Note]:
    """Notes on all targeted hosts together."""
    notes = [Note(WARNING, text) for text in _without_effect(planned, arguments)]
    if not any(one.plan.layout for one in planned):
        notes.append(Note(WARNING, NOTHING, shortages.UNUSED))
    layouts = [(one.plan.layout, one.host.id) for one in planned if one.plan.layout]
    notes += _groups("hosts chose different layouts", layouts)
    disks = [(_disks(one), one.host.id) for one in planned if one.plan.layout]
    return notes + _groups("hosts differ in their disks", disks)


def _without_effect(planned: Sequence[PlannedHost], arguments: DiskArguments) -> list[str]:
    new = [osd for one in {id(each.plan): each for each in planned}.values() for osd in one.plan.osds]
    db, wal = any(osd.db is not None for osd in new), any(osd.wal is not None for osd in new)
    lines = []
    if arguments.exclude and not any(disk.mask & EXCLUDE for one in planned for disk in one.shape.disks):
        lines.append(f"exclude={arguments.exclude.text} matches no disk")
    if arguments.filestore:
        useless = [name for name in ("wal", "wal-size") if name in arguments.typed]
        lines += [f"{name} has no effect: filestore has no WAL" for name in useless]
    sizes = (
        ("db-size", arguments.db_size, db and not arguments.filestore),
        ("wal-size", arguments.wal_size, wal),
        ("journal-size", arguments.journal_size, db and arguments.filestore),
    )
    useless = [name for name, typed, used in sizes if typed and new and not used]
    lines += [f"{name} has no effect: no new OSD has such a part" for name in useless]
    if arguments.wal and new and not wal:
        lines.append(f"wal={arguments.wal.text} has no effect: no layout with such a WAL fits")
    return lines


def _disks(one: PlannedHost) -> str:
    """``54 x hdd 5589 GiB, 6 x ssd 745.2 GiB``: the disks that Ceph may use, sizes that print alike together."""
    pairs = zip(one.shape.disks, one.host.disks, strict=True)
    usable = Counter((disk.cls, disk.size) for disk, seen in pairs if disk.reason is None or seen.residents)
    counts: Counter[tuple[str, str]] = Counter()
    for (cls, size), count in sorted(usable.items()):
        counts[cls, gib(size)] += count
    return ", ".join(f"{count} x {cls} {size} GiB" for (cls, size), count in counts.items())


def _groups(title: str, pairs: Iterable[tuple[str, str]]) -> list[Note]:
    groups: dict[str, list[str]] = {}
    for key, name in pairs:
        groups.setdefault(key, []).append(name)
    if len(groups) < 2:
        return []
    listed = sorted(groups.items(), key=lambda group: (-len(group[1]), group[1]))
    if len(listed) > GROUPS:
        key, names = listed[0]
        text = f"{title}: {len(listed)} kinds of hosts; the largest is {counted(len(names), 'host')} with {key}"
        return [Note(HINT, text)]
    return [Note(HINT, f"{title}: " + "; ".join(f"{key} on {several(names)}" for key, names in listed))]


def source(listed: object) -> list[Note]:
    """What the tool that an inventory comes from does not tell (its ``notes``), shown escaped."""
    lines = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
    return [Note(HINT, shown(line, SOURCE)) for line in lines]
