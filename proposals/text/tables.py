"""Answers as tables for people."""

import contextlib
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from proposals.text.notes import counted, several
from proposals.text.sizes import gib, terabytes

PIPE_WIDTH = 160  # columns where nobody says how wide: a file, a pager
NUMERIC = ("OSDs", "disks", "data", "DB", "WAL", "unused", "GiB", "matches", "line", "raw", "of host", "of cluster")
TRIED = ("layout", "osds", "data_disks", "behind_bytes", "lost_at_most", "why_not", "chosen")  # of a candidate
LOST = ("raw", "of host", "of cluster")
MANY = 24  # hosts; of more, equal ones share a line
BY_ID = "/dev/disk/by-id/"


class _Console(Console):
    """rich ends a process whose reader has gone with status 1; here the command line decides."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def printed(show: Callable, *arguments: object) -> str:
    """Return what a function of ours prints: a runner's text goes through Salt's outputter, not past it."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        show(*arguments)
    return out.getvalue().rstrip()


def _console() -> Console:
    console = _Console(highlight=False)
    return console if console.is_terminal else _Console(highlight=False, width=PIPE_WIDTH)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for column in columns:
        numeric = column in NUMERIC
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    return table


def _row(table: Table, *cells: object) -> None:
    table.add_row(*(Text("-" if cell is None else str(cell)) for cell in cells))


def proposal(answer: Mapping) -> None:
    """A plan or stored proposal: hosts, devices, unused disks, warnings and hints."""
    console = _console()
    total = answer["summary"]
    typed = " ".join(f"{key}={value}" for key, value in answer["arguments"].items()) or "(no arguments)"
    console.print(Text(f"proposal {answer['name']}: {typed}"))
    hosts = _table("", "host", "layout", "OSDs", "data", "DB", "WAL", "unused")
    for row, names in _grouped((name, _host(host)) for name, host in answer["hosts"].items()):
        _row(hosts, names, *row)
    console.print(hosts)
    if any(osd["db"] or osd["wal"] for host in answer["hosts"].values() for osd in host["osds"]):
        console.print(_devices(answer))
    console.print(_unused(answer))
    if any(len(host.get("candidates", ())) > 1 for host in answer["hosts"].values()):
        console.print(candidates(answer))
    for word, style in (("warnings", "yellow"), ("hints", "cyan")):
        for line in answer[word]:
            console.print(Text(f"{word[:-1]}: {line}", style=style))
    usable = ", ".join(f"{terabytes(size)} with {pool}" for pool, size in total.get("usable_bytes", {}).items())
    console.print(Text(f"{total['hosts']} hosts, {total['osds']} OSDs, {terabytes(total['raw_bytes'])} raw: {usable}"))


def _host(host: Mapping) -> tuple:
    roles = Counter(disk["role"] for disk in host["disks"])
    return host["layout"], len(host["osds"]), *(roles[role] for role in ("data", "db", "wal", "unused"))


def _grouped(rows: Iterable[tuple[str, tuple]]) -> list[tuple[tuple, str]]:
    """Rows with the hosts they are about: each host its own, or where there are many, equal ones in one."""
    listed = list(rows)
    if len({name for name, _ in listed}) <= MANY:
        return [(row, name) for name, row in listed]
    groups: dict[tuple, list[str]] = {}
    for name, row in listed:
        groups.setdefault(row, []).append(name)
    return [(row, several(list(dict.fromkeys(names)))) for row, names in groups.items()]


def _devices(answer: Mapping) -> Table:
    table = _table(
        "DB and WAL devices, and what falls with each", "host", "device", "GiB", "DBs", "WALs", "OSDs", *LOST
    )
    devices = (
        (name, row) for name, host in answer["hosts"].items() for row in _lost(host, len(answer["hosts"]) > MANY)
    )
    for row, names in _grouped(devices):
        _row(table, names, *row)
    return table


def _lost(host: Mapping, many: bool) -> Iterator[tuple]:
    sizes = {disk["id"]: disk["size"] for disk in host["disks"]}
    for lost in host["devices"]:
        device = lost["id"]
        parts = [_parts(host, device, key) for key in ("db", "wal")]
        shares = [f"{lost[key]:.1%}" for key in ("host_share", "cluster_share")]
        named = f"each of {len(host['devices'])}" if many else device.removeprefix(BY_ID)
        yield named, gib(sizes[device]), *parts, lost["osds"], terabytes(lost["raw_bytes"]), *shares


def _parts(host: Mapping, device: str, key: str) -> str | None:
    """``9 x 40 GiB``: the DBs or WALs on one device."""
    sizes = Counter(osd[f"{key}_size"] or 0 for osd in host["osds"] if osd[key] == device)
    return " + ".join(f"{count} x {gib(size)} GiB" for size, count in sorted(sizes.items())) or None


def candidates(answer: Mapping) -> Table:
    """The layouts that were tried, one line for each group of hosts with the same numbers."""
    groups: dict[tuple, list[str]] = {}
    for name, host in answer["hosts"].items():
        for one in host.get("candidates", ()):
            groups.setdefault(tuple(one.get(key) for key in TRIED), []).append(name)
    table = _table("layouts that were tried", "hosts", "layout", "OSDs", "disks", "raw behind a DB", "lost at most", "")
    for (layout, osds, disks, behind, lost, why_not, chosen), hosts in groups.items():
        what = "chosen" if chosen else why_not or "fits"
        _row(table, several(hosts), layout, osds, disks, terabytes(behind), counted(lost, "OSD"), what)
    return table


def _unused(answer: Mapping) -> Table:
    table = _table("unused disks", "host", "disks", "class", "GiB", "why")
    unused = (
        (name, (count, cls, gib(size), reason))
        for name, host in answer["hosts"].items()
        for (reason, cls, size), count in sorted(
            Counter(
                (one["reason"], one["class"], one["size"]) for one in host["disks"] if one["role"] == "unused"
            ).items()
        )
    )
    for row, names in _grouped(unused):
        _row(table, names, *row)
    return table


def explanation(answer: Mapping) -> None:
    """The steps of why one disk became what it is."""
    console = _console()
    console.print(Text(f"{answer['host']} {answer['disk']}: {answer['role']}", style="bold"))
    for number, step in enumerate(answer["steps"], 1):
        console.print(Text(f"{number:2}. {step}"))


def differences(answer: Mapping) -> None:
    """What differs, by host."""
    console = _console()
    if answer["same"]:
        console.print("no difference")
    for name, told in answer["hosts"].items():
        console.print(Text(name, style="bold"))
        for kind, lines in told.items():
            for line in lines:
                console.print(Text(f"  {kind:9} {line}"))


def report(answer: Mapping) -> None:
    """What populate did."""
    console = _console()
    for word in ("written", "kept", "removed"):
        for path in answer[word]:
            console.print(Text(f"{word:8} {path}"))
    for message in answer["messages"]:
        console.print(Text(message))
    if not (answer["written"] or answer["removed"] or answer["kept"]):
        console.print("nothing to write: all files are as planned")


def inventory(answer: Mapping) -> None:
    """The disks of an inventory, counted."""
    table = _table("", "host", "disks", "transport", "model", "GiB")
    for name, host in answer["hosts"].items():
        counts = Counter((disk.get("transport"), disk.get("model"), disk["size"]) for disk in host["ceph_disks"])
        for (transport, model, size), count in counts.items():
            _row(table, name, count, transport, model, gib(size))
    _console().print(table)


def policy(answer: Mapping) -> None:
    """What each line of policy.cfg matches, and what becomes of it."""
    console = _console()
    lines = _table("policy.cfg", "line", "matches", "pattern")
    for line in answer["lines"]:
        _row(lines, line["line"], line["matches"], line["pattern"])
    console.print(lines)
    targets = _table("selected", "target", "from")
    for target, sources in answer["targets"].items():
        _row(targets, target, ", ".join(source.partition("/")[0] for source in sources))
    console.print(targets)
