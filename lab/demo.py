"""`demo`: the guide's commands, one after the other, on a lab; then what became of the picture, and a load on it."""

import json
import subprocess
import time
from collections.abc import Callable
from functools import partial

from docker.models.containers import Container
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lab import containers, daemon, first, progress, salt
from lab import up as bring
from lab.errors import LabError
from lab.guide import Guide, guide
from lab.load.judge import Demand
from lab.load.shown import shown
from lab.load.start import start
from lab.load.stop import report, stop
from lab.store import find

STAGE = 3600  # seconds one command may take: hundreds of OSDs on a small machine
LOAD = 20  # seconds that clients write and read
PIPE_WIDTH = 160  # columns where nobody says how wide
console = Console(highlight=False) if Console().is_terminal else Console(highlight=False, width=PIPE_WIDTH)


def demo(which: str) -> int:
    """Bring a lab up, type the guide's commands on its master, show the cluster and a load on it.

    Returns 0 where the cluster was healthy after deploy, every OSD lies as proposed and the load lost nothing.
    """
    began, way, healthy = first.began(), guide(which), ""
    times = [("make, with .venv where it was not there", time.time() - began)]
    times.append(("lab up", _timed(lambda: bring.up(which, accept=False))))
    lab = find(which)
    master = containers.find(daemon.needed(), lab, lab.cluster.master.name)
    watch = subprocess.Popen(["docker", "exec", master.name, "salt-run", "stage.watch"], stderr=subprocess.DEVNULL)
    try:
        for command in way.commands:
            times.append((command, _timed(partial(_type, master, way, command))))
            if command.startswith("salt-key"):
                salt.wait_for_answers(master, {host.name for host in lab.cluster.hosts})  # accepts again: see `accept`
            if first.DEPLOY in command:
                healthy = first.reached(master, began, times, progress.ENDED, console)
    finally:
        containers.run(master, "pkill -f '[s]alt-run stage.watch'")
        watch.wait(timeout=30)
    well = show(master) and loaded(lab.name) and bool(healthy)
    for command, seconds in times:
        console.print(f"{seconds:7.1f} s  {command}", markup=False, soft_wrap=True)
    console.print(healthy, markup=False, soft_wrap=True)
    console.print(
        f"\nLook around:  python -m lab shell {lab.cluster.master.name}   (then: ceph -s, salt-run proposal.show "
        f"{way.profile})\nStop it:      make clean",
        markup=False,
    )
    return 0 if well else 1


def _timed(act: Callable[[], object]) -> float:
    start = time.monotonic()
    act()
    return time.monotonic() - start


def _type(master: Container, way: Guide, command: str) -> None:
    """Type one command of the guide; its output is shown, its failure ends the demo."""
    console.rule(f"[bold]{command}", align="left")
    if command == "policy.cfg":
        command = way.write_policy
        console.print(way.policy, markup=False)
    done = containers.run(master, f"echo | ({command})" if command.startswith("salt-key") else command, STAGE)
    text = done.out + done.err if done.code else _short(command, done.out)
    console.print(text.rstrip(), markup=False, soft_wrap=True)
    if done.code:
        raise LabError(f"'{command}' ended with exit status {done.code}; what it says stands above.")


def _short(command: str, text: str) -> str:
    """Of a stage that went well only its summary: what each minion did was shown as it happened."""
    return text[text.rfind("Summary for") :] if "state.orch" in command else text


def show(master: Container) -> bool:
    """Print where each OSD lies, by the host and by Ceph's own word; True where all is as the proposal has it."""
    done = containers.run(master, "salt-run osd.report --out json")
    if done.code not in (0, 1):  # 1: it differs, which the table shows
        raise LabError(f"salt-run osd.report ended with exit status {done.code}: {(done.err or done.out).strip()}")
    osds = json.loads(done.out)["osds"]
    table = Table(title="where each OSD lies", box=None)
    for column in ("OSD", "host", "data", "DB", "GiB", "WAL", "GiB", "as proposed"):
        table.add_column(column, overflow="fold", justify="right" if column == "GiB" else "left")
    for osd in sorted(osds, key=lambda osd: (osd["host"], osd["id"] or 0)):
        disks = {role: (osd[role] or "-").removeprefix("/dev/disk/by-id/") for role in ("data", "db", "wal")}
        sizes = {role: f"{(osd[f'{role}_size'] or 0) / 2**30:.0f}" for role in ("db", "wal")}
        answer = "; ".join(osd["problems"]) or "yes"
        cells = [disks["data"], disks["db"], sizes["db"], disks["wal"], sizes["wal"], answer]
        table.add_row(f"osd.{osd['id']}", osd["host"], *cells)
    console.print(table)
    return bool(osds) and not any(osd["problems"] for osd in osds)


def loaded(name: str) -> bool:
    """Let clients write and read back for LOAD seconds and print their figures; True where all is well with them.

    Those whose service is there: RADOS and RBD after the guide. That a load fails is said, and hides nothing above it.
    """
    console.rule("[bold]clients write and read back", align="left")
    try:
        start(name)
        try:
            time.sleep(LOAD)
        finally:
            stop(name)
        outcome = report(name, Demand())
    except LabError as err:
        console.print(f"[red]the cluster is as proposed, but no load could be put on it:[/] {escape(str(err))}")
        return False
    shown(outcome, console)
    if outcome.problems:
        console.print("[red]the cluster is as proposed, but its clients were not served: see the lines above")
    return not outcome.problems
