"""Filters against all targeted hosts together: one that matches nothing is an error that says what would."""

from collections import Counter
from collections.abc import Iterable

from proposals.disks.arguments import DiskArguments
from proposals.disks.filters import KEYS, Filter
from proposals.disks.layouts import CLASSES, WORDS
from proposals.inventory.disk import Disk
from proposals.inventory.inventory import Inventory
from proposals.text.errors import FilterError, PlanError
from proposals.text.names import shown
from proposals.text.sizes import GIB, both

SHOWN = 6  # values or sizes named in one message


def filters(inventory: Inventory, arguments: DiskArguments) -> None:
    """Raise FilterError for a data, db or wal filter that no usable disk of any targeted host matches."""
    for name in ("data", "db", "wal"):
        wanted: Filter | None = getattr(arguments, name)
        if wanted and not any(wanted.matches(disk) for disk in _usable(inventory)):
            word = "journal" if name == "db" and arguments.filestore and "journal" in arguments.typed else name
            raise FilterError(_nothing(word, wanted, list(_usable(inventory)), inventory))


def layout(planned: Iterable, arguments: DiskArguments) -> None:
    """Raise PlanError where a layout is forced that no targeted host can make."""
    if arguments.layout in (None, "standalone"):
        return
    if any(one.plan.candidates or one.shape.existing for one in planned):
        return
    data, *fast = [WORDS[cls] for cls in CLASSES[arguments.layout] if cls]
    needs = f"free {data} disks and {' and '.join(fast)} disks for DB or WAL"
    raise PlanError(f"no targeted host can make layout {arguments.layout}: it needs {needs} (peek shows what there is)")


def _usable(found: Inventory) -> Iterable[Disk]:
    return (disk for host in found.hosts for disk in host.disks if disk.reason is None or disk.residents)


def _nothing(name: str, wanted: Filter, usable: list[Disk], found: Inventory) -> str:
    start = f"{name}={shown(wanted.text)} matches no disk of the {len(found.hosts)} targeted hosts"
    used = sum(wanted.matches(disk) for host in found.hosts for disk in host.disks)
    if used:
        start += f" that is free ({used} that match are in use or unusable)"
    if not usable:
        return f"{start}; none of their disks is free"
    if len(wanted.terms) > 1:
        alone = [f"{sum(map(term.matches, usable))} match {shown(term.text)}" for term in wanted.terms]
        return f"{start}: alone, {', '.join(alone)}"
    term = wanted.terms[0]
    if term.key == "size":
        return f"{start}: there are {_sizes(name, usable)}"
    values = Counter(str(value) for disk in usable if (value := KEYS[term.key].of(disk)) is not None)
    listed = ", ".join(f"{count} x {value}" for value, count in values.most_common(SHOWN)) or "no disk that reports it"
    return f"{start}: {term.key} there is {listed}"


def _sizes(name: str, usable: list[Disk]) -> str:
    counts = Counter(disk.size for disk in usable)
    listed = [f"{count} disks of {both(size)}" for size, count in sorted(counts.most_common(SHOWN))]
    fast = [disk.size for disk in usable if disk.cls != "hdd"] if name != "data" else []
    slow = [disk.size for disk in usable if disk.cls == "hdd"] if name == "data" else []
    likely = Counter(fast or slow or [disk.size for disk in usable]).most_common(1)[0][0]
    step = 10 if likely < 1000 * GIB else 1000
    low = likely // GIB // step * step
    return f"{'; '.join(listed)}: did you mean {name}={low}-{low + 3 * step if step == 10 else low + step}?"
