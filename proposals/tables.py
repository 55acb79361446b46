"""Answers as tables for people."""

from collections import Counter
from collections.abc import Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from proposals.sizes import gib, terabytes

PIPE_WIDTH = 160  # columns where nobody says how wide: a file, a pager
BY_ID = "/dev/disk/by-id/"


def _console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPE_WIDTH)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for column in columns:
        numeric = column in ("OSDs", "disks", "GiB", "matches", "line", "DB GiB", "WAL GiB")
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
    for name, host in answer["hosts"].items():
        roles = Counter(disk["role"] for disk in host["disks"])
        _row(hosts, name, host["layout"], len(host["osds"]), *(roles[role] for role in ("data", "db", "wal", "unused")))
    console.print(hosts)
    if any(osd["db"] or osd["wal"] for host in answer["hosts"].values() for osd in host["osds"]):
        console.print(_devices(answer))
    console.print(_unused(answer))
    for word, style in (("warnings", "yellow"), ("hints", "cyan")):
        for line in answer[word]:
            console.print(Text(f"{word[:-1]}: {line}", style=style))
    console.print(Text(f"{total['hosts']} hosts, {total['osds']} OSDs, {terabytes(total['raw_bytes'])} raw"))


def _devices(answer: Mapping) -> Table:
    table = _table("DB and WAL devices", "host", "device", "GiB", "OSDs", "DB GiB", "WAL GiB")
    for name, host in answer["hosts"].items():
        sizes = {disk["id"]: disk["size"] for disk in host["disks"]}
        for device in sorted({osd[key] for osd in host["osds"] for key in ("db", "wal") if osd[key]}):
            on = [osd for osd in host["osds"] if device in (osd["db"], osd["wal"])]
            taken = [sum(osd[f"{key}_size"] or 0 for osd in on if osd[key] == device) for key in ("db", "wal")]
            _row(table, name, device.removeprefix(BY_ID), gib(sizes[device]), len(on), *map(gib, taken))
    return table


def _unused(answer: Mapping) -> Table:
    table = _table("unused disks", "host", "disks", "class", "GiB", "why")
    for name, host in answer["hosts"].items():
        unused = Counter(
            (disk["reason"], disk["class"], disk["size"]) for disk in host["disks"] if disk["role"] == "unused"
        )
        for (reason, cls, size), count in sorted(unused.items()):
            _row(table, name, count, cls, gib(size), reason)
    return table


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
