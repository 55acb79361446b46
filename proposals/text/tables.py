"""Answers as tables for people: what must be looked at first, then the tables, then the totals."""

import contextlib
import io
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from rich.table import Table

from proposals.text import glance
from proposals.text.argument_readers import words
from proposals.text.console import console, row, table, text
from proposals.text.notes import SCREEN, counted, cut, several
from proposals.text.sizes import gib, terabytes

TRIED = ("layout", "osds", "data_disks", "behind_bytes", "lost_at_most", "why_not", "chosen")  # of a candidate
LOST = ("raw", "of host", "of cluster")
BY_ID = "/dev/disk/by-id/"


def printed(show: Callable, *arguments: object) -> str:
    """Return what a function of ours prints: a runner's text goes through Salt's outputter, not past it."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        show(*arguments)
    return out.getvalue().rstrip()


def proposal(answer: Mapping, everything: bool = False) -> None:
    """A plan or stored proposal: warnings and hints, hosts, devices, unused disks, layouts, totals.

    What says the same of several hosts is one line; ``everything``: each host and device a line of its own."""
    out = console()
    out.print(text(f"proposal {answer['name']}: {words(answer['arguments'])}"))
    _told(answer, everything)
    tables = [_hosts(answer, everything), _unused(answer, everything)]
    if any(host.get("devices") for host in answer["hosts"].values()):
        tables.insert(1, _devices(answer, everything))
    if any(osd.get("moves") for host in answer["hosts"].values() for osd in host["osds"]):
        tables.insert(1, _moving(answer, everything))
    if any(len(host.get("candidates", ())) > 1 for host in answer["hosts"].values()):
        tables.append(candidates(answer, everything))
    for each in tables:
        if each.row_count:
            out.print(each)
    if not everything and _counted(answer["hosts"].values()):
        out.print(glance.ALL)
    out.print(text(_total(answer["summary"])))


def _counted(hosts: Collection[Mapping]) -> bool:
    """Whether hosts or disks were counted where ``everything`` names each."""
    unused = any(disk["role"] == "unused" for host in hosts for disk in host["disks"])
    return unused or len(hosts) > glance.ROWS or any(len(host.get("devices", ())) > 1 for host in hosts)


def _told(answer: Mapping, everything: bool) -> None:
    out = console()
    for word, style in (("warnings", "yellow"), ("hints", "cyan")):
        for line in glance.lines(answer[word], answer["hosts"], everything):
            out.print(text(f"{word[:-1]}: {line}", style=style))


def _total(total: Mapping) -> str:
    """``4 hosts, 120 OSDs, 720.2 TB raw: 240.1 TB with 3 replicas; EC 4+2 needs 6 hosts``."""
    usable = [f"{terabytes(size)} with {pool}" for pool, size in total.get("usable_bytes", {}).items()]
    lacking = total.get("needs_hosts", {}).items()
    needs = [f"{pool} {'need' if pool.endswith('s') else 'needs'} {hosts} hosts" for pool, hosts in lacking]
    more = "; ".join(part for part in (", ".join(usable), ", ".join(needs)) if part)
    start = f"{counted(total['hosts'], 'host')}, {counted(total['osds'], 'OSD')}, {terabytes(total['raw_bytes'])} raw"
    return f"{start}: {more}" if more and total["osds"] else start


def _filled(made: Table, listed: list[tuple[str, tuple]]) -> Table:
    for names, cells in listed:
        row(made, names, *(cells or [""] * (len(made.columns) - 1)))
    return made


def _hosts(answer: Mapping, everything: bool) -> Table:
    made = table("", "host", "layout", "OSDs", "data", "DB", "WAL", "unused")
    return _filled(made, glance.rows(((name, _host(host)) for name, host in answer["hosts"].items()), everything))


def _host(host: Mapping) -> tuple:
    roles = Counter(disk["role"] for disk in host["disks"])
    return host["layout"], str(len(host["osds"])), *(str(roles[role]) for role in ("data", "db", "wal", "unused"))


def _devices(answer: Mapping, everything: bool) -> Table:
    made = table("DB and WAL devices, and what falls with each", "host", "devices", "GiB", "DBs", "WALs", "OSDs", *LOST)
    devices = ((name, cells) for name, host in answer["hosts"].items() for cells in _lost(host, everything))
    return _filled(made, glance.rows(devices, everything))


def _lost(host: Mapping, everything: bool) -> Iterator[tuple]:
    """Cells of each device, or of each kind of device with how many there are."""
    sizes = {disk["id"]: disk["size"] for disk in host["disks"]}
    kinds: dict[tuple, list[str]] = {}
    for lost in host["devices"]:
        device = lost["id"]
        parts = [_parts(host, device, key) for key in ("db", "wal")]
        shares = [f"{lost[key]:.1%}" for key in ("host_share", "cluster_share")]
        osds = f"{lost['osds']}, now {lost['before']['osds']}" if "before" in lost else str(lost["osds"])
        cells = (gib(sizes[device]), *parts, osds, terabytes(lost["raw_bytes"]), *shares)
        kinds.setdefault(cells, []).append(device.removeprefix(BY_ID))
    for cells, devices in kinds.items():
        for name in devices if everything else [str(len(devices))]:
            yield name, *cells


def _parts(host: Mapping, device: str, key: str) -> str | None:
    """``9 x 40 GiB``: the DBs or WALs on one device."""
    places = (_place(osd, key) for osd in host["osds"])
    sizes = Counter(gib(size or 0) for at, size in places if at == device)
    return " + ".join(f"{count} x {size} GiB" for size, count in sorted(sizes.items())) or None


def _place(osd: Mapping, key: str) -> tuple[str | None, int | None]:
    """Where a DB or WAL lies once everything has moved, and its bytes."""
    move = osd.get("moves", {}).get(key)
    return (move["to"], move["size"]) if move else (osd[key], osd[f"{key}_size"])


def _moving(answer: Mapping, everything: bool) -> Table:
    made = table(
        "DBs and WALs of OSDs that run, and where they are to move", "host", "OSDs", "part", "from", "to", "GiB"
    )
    moves = ((name, cells) for name, host in answer["hosts"].items() for cells in _moves(host))
    return _filled(made, glance.rows(moves, everything))


def _moves(host: Mapping) -> Iterator[tuple]:
    """Cells of each part that moves, by the devices."""
    kinds: Counter[tuple] = Counter()
    for osd in host["osds"]:
        for role, move in osd.get("moves", {}).items():
            places = [(move[key] or "the data disk").removeprefix(BY_ID) for key in ("from", "to")]
            kinds[role.upper(), *places, gib(move["size"]) if move["size"] else None] += 1
    for cells, count in sorted(kinds.items(), key=str):
        yield str(count), *cells


def candidates(answer: Mapping, everything: bool = False) -> Table:
    """The layouts that were tried, one line for each group of hosts with the same numbers."""
    made = table(
        "layouts that were tried", "hosts", "layout", "OSDs", "disks", "raw behind a DB", "OSDs lost at most", ""
    )
    tried = (
        (name, _tried(candidate)) for name, host in answer["hosts"].items() for candidate in host.get("candidates", ())
    )
    return _filled(made, glance.rows(tried, everything))


def _tried(candidate: Mapping) -> tuple:
    layout, osds, disks, behind, lost, why_not, chosen = (candidate.get(key) for key in TRIED)
    what = "chosen" if chosen else why_not
    return layout, str(osds), str(disks), terabytes(behind or 0), str(lost), what


def _unused(answer: Mapping, everything: bool) -> Table:
    made = table("unused disks", "host", "disks", "class", "GiB", "why")
    unused = ((name, cells) for name, host in answer["hosts"].items() for cells in _idle(host, everything))
    return _filled(made, glance.rows(unused, everything))


def _idle(host: Mapping, everything: bool) -> Iterator[tuple]:
    """Cells of each unused disk, or of each kind of them with how many there are."""
    kinds: dict[tuple, list[str]] = {}
    for disk in host["disks"]:
        if disk["role"] == "unused":
            kind = (disk["reason"], disk["class"], gib(disk["size"]))
            kinds.setdefault(kind, []).append(disk["id"].removeprefix(BY_ID))
    for (reason, cls, size), disks in sorted(kinds.items()):
        for name in disks if everything else [str(len(disks))]:
            yield name, cls, size, reason


def explanation(answer: Mapping) -> None:
    """The steps of why one disk became what it is."""
    out = console()
    out.print(text(f"{answer['host']} {answer['disk']}: {answer['role']}", style="bold"))
    for number, step in enumerate(answer["steps"], 1):
        out.print(text(f"{number:2}. {step}"))


def differences(answer: Mapping) -> None:
    """What differs, by host."""
    out = console()
    if answer["same"]:
        out.print("no difference")
    for name, told in answer["hosts"].items():
        out.print(text(name, style="bold"))
        for kind, lines in told.items():
            for line in lines:
                out.print(text(f"  {kind:9} {line}"))


def populated(answer: Mapping, everything: bool = False) -> None:
    """What is to be looked at in a plan that was written, its files, its totals. ``everything``: each file by name."""
    out = console()
    out.print(text(f"proposal {answer['name']}: {words(answer['arguments'])}"))
    _told(answer, everything)
    report(answer, everything)
    out.print(text(_total(answer["summary"])))


def report(answer: Mapping, everything: bool = False) -> None:
    """What populate did to files."""
    out = console()
    for word in ("written", "kept", "removed"):
        # Of files that somebody edited a person may look for each: all of a screen are named.
        for line in _files(answer[word], everything, SCREEN if word == "kept" else glance.ROWS):
            out.print(text(f"{word:8} {line}"))
    for message in messages(answer["messages"], everything):
        out.print(text(message))
    if not (answer["written"] or answer["removed"] or answer["kept"]):
        out.print("nothing to write: all files are as planned")


def messages(told: Sequence[str], everything: bool = False) -> list[str]:
    """What populate said of files that were edited; beyond a screen the first ones. ``everything``: all."""
    return list(told) if everything else cut(told, glance.EACH)


def _files(paths: Sequence[str], each: bool, few: int) -> list[str]:
    """Paths by name, or of more than ``few`` how many lie in each folder."""
    if each or len(paths) <= few:
        return list(paths)
    folders = Counter(path.rpartition("/")[0] for path in paths)
    return [f"{folder}/: {counted(count, 'file')}" for folder, count in folders.items()]


def inventory(answer: Mapping) -> None:
    """The disks of an inventory, counted."""
    disks = table("", "host", "disks", "transport", "model", "GiB")
    for name, host in answer["hosts"].items():
        counts = Counter((disk.get("transport"), disk.get("model"), disk["size"]) for disk in host["ceph_disks"])
        for (transport, model, size), count in counts.items():
            row(disks, name, count, transport, model, gib(size))
    console().print(disks)


def policy(answer: Mapping) -> None:
    """What each line of policy.cfg matches, and what becomes of it."""
    out = console()
    lines = table("policy.cfg", "line", "matches", "pattern")
    for line in answer["lines"]:
        row(lines, line["line"], line["matches"], line["pattern"])
    out.print(lines)
    targets = table("selected", "target", "from")
    for alike, sources in _alike(answer["targets"]):
        row(targets, several(alike, "more"), sources)
    out.print(targets)


def _alike(targets: Mapping[str, Mapping]) -> Iterator[tuple[list[str], str]]:
    """Targets with where they are from, as words; of more than a screen, those of one folder from the same are one."""
    groups: dict[tuple[str, str], list[str]] = {}
    for target, sources in targets.items():
        words = ", ".join(source.partition("/")[0] for source in sources)
        groups.setdefault((target if len(targets) <= SCREEN else target.rpartition("/")[0], words), []).append(target)
    yield from ((alike, words) for (_, words), alike in groups.items())
