"""Stages up to the plan of deploy for hundreds of minions: a real master, minions that are simulated (``tests/fleet``).

Seconds, CPU seconds of the master and of ``salt-run``, Salt jobs, the master's memory, lines printed, by number of
minions; then once more at the largest number with some silent, some slow, some lying. ``--picture`` draws the curves.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import kept
import salt.payload
from curves import Cost, earlier, picture, printed, promises, shown
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "fleet"))
import hosts
from master import Master, group, remove

SIZES = (100, 300, 1000)
ODD = 0.03  # of the minions are silent, so many slow, so many lying
COMMANDS = (
    ("prep", "stage.run prep"),
    ("discovery", "stage.run discovery"),
    ("populate", "proposal.populate"),
    ("policy", "policy.check"),
    ("configure", "stage.run configure"),
    ("again", "stage.run configure"),
    ("checks", "validate.all"),
    ("plan", "stage.plan deploy"),
)
CHAOS = ("discovery", "plan")
PATIENCE, FOR_ODD = 2, 0.3  # seconds of gather_job_timeout a minion: also where the machine has other work


class Memory(threading.Thread):
    """The most that a master holds, looked at each second."""

    def __init__(self, master: Master) -> None:
        super().__init__(daemon=True)
        self.master, self.most, self.ended = master, 0, threading.Event()

    def run(self) -> None:
        while not self.ended.wait(1):
            self.most = max(self.most, self.master.memory())


def cpu(master: Master) -> float:
    """CPU seconds so far of the master's processes and of the commands that have ended."""
    ticks = 0
    for pid in group(master.processes[0].pid):
        try:
            ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
        except OSError:
            continue
    typed = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ticks / os.sysconf("SC_CLK_TCK") + typed.ru_utime + typed.ru_stime


def jobs(master: Master) -> int:
    """Salt jobs on minions in the master's job cache; ``find_job``, Salt's own asking, is none, nor is a runner."""
    cache = master.root / "var/cache/salt/master/jobs"
    functions = (salt.payload.loads(path.read_bytes())["fun"] for path in cache.rglob(".load.p"))
    return sum(fun != "saltutil.find_job" and not str(fun).startswith("runner.") for fun in functions)


def cost(master: Master, command: str, log: Path) -> Cost:
    """Type a command on the master; what it printed goes to a file."""
    before, made = cpu(master), jobs(master)
    memory = Memory(master)
    memory.start()
    done = master.typed(*command.split())
    memory.ended.set()
    memory.join()
    log.write_text(f"{done.out}\n--- errors\n{done.err}")
    lines = [line for line in done.out.splitlines() if not line.startswith("  …")]  # that is told each half minute
    longest = max(map(len, lines), default=0)
    most = max(memory.most, master.memory())
    return Cost(done.code, done.seconds, cpu(master) - before, jobs(master) - made, most, len(lines), longest)


def manners(names: Sequence[str], odd: float) -> dict[str, str]:
    """Who of the storage hosts is silent, slow or lying: the same share of each, spread over the fleet."""
    storage = [name for name in names if name.startswith("osd")]
    each = max(1, round(odd * len(names)))
    picked = storage[:: max(1, len(storage) // (3 * each))][: 3 * each]
    return {name: ("silent", "slow", "lying")[place % 3] for place, name in enumerate(picked)}


def measure(
    count: int, without: Sequence[str] = (), odd: float = 0, logs: Path | None = None
) -> tuple[dict[str, Cost], dict[str, Cost]]:
    """What each command costs for so many minions; and what some cost with odd ones among them, if any.

    without
        Commands that are left out.
    odd
        The share of silent ones, of slow and of lying ones with which ``CHAOS`` runs once more at the end.
    logs
        Where what was printed is kept.
    """
    names = hosts.names(count)
    root = Path(tempfile.mkdtemp(prefix="fleet"))
    logs = logs or root
    logs.mkdir(parents=True, exist_ok=True)
    well: dict[str, Cost] = {}
    strange: dict[str, Cost] = {}
    try:
        with Master(root / "m", names, {"gather_job_timeout": max(30, PATIENCE * count)}) as master:
            master.start(fetches=False)
            for name, command in (each for each in COMMANDS if each[0] not in without):
                if name == "policy":
                    (master.pillar / "proposals/policy.cfg").write_text(hosts.POLICY)
                well[name] = cost(master, command, logs / f"{count}-{name}.txt")
                print(f"{count} minions: {name}: {shown(well[name])}", flush=True)
            if odd:
                master.settle({"gather_job_timeout": max(30, round(FOR_ODD * count))})  # salt-run reads it anew
                master.behave(manners(names, odd))
            for name, command in (each for each in COMMANDS if odd and each[0] in CHAOS and each[0] not in without):
                strange[name] = cost(master, command, logs / f"{count}-odd-{name}.txt")
                print(f"{count} minions, odd ones: {name}: {shown(strange[name])}", flush=True)
    finally:
        remove(root)
    return well, strange


def _numbers(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.isdecimal() and int(part) for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r}: expected numbers from 1 on, with commas between")
    return [int(part) for part in parts]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench --fleet", description=__doc__)
    parser.add_argument("--sizes", type=_numbers, default=list(SIZES), help="numbers of minions, with commas between")
    parser.add_argument(
        "--without", default="", help=f"of {', '.join(name for name, _ in COMMANDS)}, with commas between"
    )
    parser.add_argument(
        "--beside", type=Path, help="fleet.json of an earlier run: other numbers of minions for the curves"
    )
    parser.add_argument("--no-odd", action="store_true", help="leave the run with silent, slow and lying ones out")
    parser.add_argument("--picture", type=Path, help="an SVG of the curves")
    parser.add_argument("--logs", type=Path, default=kept.FOLDER / "fleet", help="what the commands printed")
    options = parser.parse_args()
    console = Console(width=160, highlight=False)
    sizes = sorted(options.sizes)
    if options.beside and not options.beside.is_file():
        parser.error(f"--beside {options.beside}: there is no such file")
    without = options.without.split(",")
    measured = earlier(options.beside) if options.beside else {}
    strange: dict[str, Cost] = {}
    for count in sizes:
        odd = ODD if count == sizes[-1] and not options.no_odd else 0
        measured[count], strange = measure(count, without, odd, options.logs)
    printed(console, measured)
    if strange:
        console.print(f"\n{ODD:.0%} silent, {ODD:.0%} slow, {ODD:.0%} lying")
        printed(console, {sizes[-1]: strange})
    found = {count: {name: asdict(each) for name, each in costs.items()} for count, costs in measured.items()}
    (options.logs / "fleet.json").write_text(json.dumps(found, indent=1))
    if len(measured) > 1:
        promises(measured)
    if options.picture:
        picture(measured, options.picture)


if __name__ == "__main__":
    main()
