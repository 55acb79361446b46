"""The planner's benchmark: time and memory by size, linearity, against Ceph's drive_selection, and writing.

``python -m tests.bench [--quick] [--ceph PYTHON]``: PYTHON is an interpreter that has Ceph's python-common
(Debian's python3-ceph-common; /usr/bin/python3 is tried). Prints numbers and ratios; nothing is asserted about
the clock."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import kept
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SIZES = ((8, 62), (120, 32), (1000, 62), (10_000, 62))
WIDTHS = (30, 60, 120, 240, 480)  # disks a host, at 28,800 disks in all
FLOOR = {"on": 1.5, "off": 2.3}  # Python's search for cycles, and at most so many times json's own CPU time
SIDES, ROUNDS = ("ours", "floor"), 3  # one after the other, so often: of each the one in the middle counts
MEMORY = 2  # times json's own peak
PEER = ((1200, 30, 4, 10), (60, 240, 20, 50))  # hosts, disks, wanted ratio, ratio aimed at


def run(script: str, *words: object, python: str = sys.executable) -> dict:
    """The JSON that a measuring process prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)} if python != sys.executable else None
    command = [python, str(HERE / script), *map(str, words)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def has_ceph(python: str) -> bool:
    """Whether this interpreter can import Ceph's deployment package."""
    probe = [python, "-c", "import ceph.deployment.drive_selection"]
    return Path(python).exists() and subprocess.run(probe, capture_output=True, check=False).returncode == 0


def table(title: str, *columns: str) -> Table:
    Console(highlight=False).print(f"\n{title}")
    made = Table(box=None, header_style="bold")
    for column in columns:
        made.add_column(column, justify="right")
    return made


def sizes(console: Console, quick: bool) -> None:
    rows = table(
        "planning: CPU time and peak memory of the process, its inventory included",
        "hosts x disks",
        "OSDs",
        "CPU s",
        "us a disk",
        "of 1,000 hosts",
        "peak MB",
        "inventory MB",
    )
    thousand = None  # microseconds a disk there; at 10,000 hosts at most 1.2 times that is the goal
    for hosts, disks in SIZES[:3] if quick else SIZES:
        measured = run("measured.py", hosts, disks)
        each = measured["cpu"] / measured["disks"] * 1e6
        thousand = each if hosts == 1000 else thousand
        if thousand and hosts > 1000:
            kept.row(f"planner: us a disk, {hosts} hosts beside 1000", thousand, each, 1.2, "us")
        rows.add_row(
            f"{hosts} x {disks}",
            str(measured["osds"]),
            f"{measured['cpu']:.3f}",
            f"{each:.1f}",
            f"{each / thousand:.2f}" if thousand else "",
            f"{measured['peak'] / 1e6:.0f}",
            f"{measured['inventory'] / 1e6:.1f}",
        )
    console.print(rows)


def widths(console: Console) -> None:
    rows = table("linear: time a disk by disks a host, 28,800 disks each", "disks a host", "us a disk", "of the first")
    first = None
    for disks in WIDTHS:
        told = run("measured.py", 28_800 // disks, disks)
        each = told["cpu"] / told["disks"] * 1e6
        first = first or each
        rows.add_row(str(disks), f"{each:.1f}", f"{each / first:.2f}")
    console.print(rows)


def whole(console: Console, quick: bool) -> None:
    """The planner from bytes to bytes beside ``json``'s reading and printing of the same: CPU time, medians; memory."""
    hosts, disks = SIZES[2 if quick else 3]
    rows = table(
        f"{hosts} x {disks}, from bytes to bytes", "collector", "floor s", "ours s", "ratio", "goal", "in parts"
    )
    with tempfile.TemporaryDirectory() as folder:
        given, answered = (str(Path(folder, name)) for name in ("inventory.json", "answer.json"))
        subprocess.run([sys.executable, str(HERE / "whole.py"), "make", given, str(hosts), str(disks)], check=True)
        for collector, goal in FLOOR.items():
            rounds = [[run("whole.py", side, given, answered, collector) for side in SIDES] for _ in range(ROUNDS)]
            ours, bare = (sorted(side, key=lambda told: told["cpu"])[ROUNDS // 2] for side in zip(*rounds, strict=True))
            parts = ", ".join(f"{part} {ours[part]:.1f}" for part in ("read", "plan", "answer", "print"))
            ratio = ours["cpu"] / bare["cpu"]
            rows.add_row(collector, f"{bare['cpu']:.2f}", f"{ours['cpu']:.2f}", f"{ratio:.2f}", str(goal), parts)
            kept.row(
                f"planner: {hosts} x {disks}, CPU beside json, collector {collector}", bare["cpu"], ours["cpu"], goal
            )
            if collector == "on":
                peaks = (each["peak"] / 1e6 for each in (bare, ours))
                kept.row(f"planner: {hosts} x {disks}, peak memory beside json", *peaks, MEMORY, "MB")
    console.print(rows)


def peers(console: Console, python: str) -> None:
    if not has_ceph(python):
        console.print(f"no Ceph python-common in {python}: install python3-ceph-common, or name one with --ceph")
        return
    rows = table(
        "against Ceph's drive_selection and translation, CPU time without JSON, one process",
        "hosts x disks",
        "Ceph s",
        "ours s",
        "times faster",
        "wanted",
        "aim",
    )
    for hosts, disks, wanted, aim in PEER:
        measured = run("peer.py", hosts, disks, python=python)
        rows.add_row(
            f"{hosts} x {disks}",
            f"{measured['ceph']:.3f}",
            f"{measured['ours']:.3f}",
            f"{measured['ratio']:.1f}",
            str(wanted),
            str(aim),
        )
        kept.row(f"planner: {hosts} x {disks} beside Ceph's selection", measured["ceph"], measured["ours"], 1 / wanted)
    console.print(rows)


def writing(console: Console, quick: bool) -> None:
    hosts = 1000 if quick else 10_000
    measured = run("written.py", hosts, 62)
    bare = measured["parse"] + measured["one_file"]
    rows = table(
        f"populate for {hosts} hosts: {measured['files']} files, {measured['bytes'] / 1e6:.0f} MB",
        "what",
        "s",
        "of bare",
    )
    for what, seconds in (
        ("bare: parse the inventory, write as many bytes", bare),
        ("bare, in as many files", measured["parse"] + measured["many_files"]),
        ("plan", measured["plan"]),
        ("populate", measured["populate"]),
        ("plan and populate again: nothing to write", measured["again"]),
    ):
        rows.add_row(what, f"{seconds:.2f}", f"{seconds / bare:.1f}")
    console.print(rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave the largest sizes out")
    parser.add_argument("--ceph", default="/usr/bin/python3", help="an interpreter with Ceph's python-common")
    options = parser.parse_args()
    console = Console(highlight=False, width=120)
    sizes(console, options.quick)
    widths(console)
    whole(console, options.quick)
    peers(console, options.ceph)
    writing(console, options.quick)


if __name__ == "__main__":
    main()
