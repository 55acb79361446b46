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
from dataclasses import asdict, dataclass
from pathlib import Path

import kept
import salt.payload
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "fleet"))
import hosts
from master import Master, group, remove

SIZES = (20, 100, 300)
ODD = 0.03  # of the minions are silent, so many slow, so many lying
LINEAR = 1.2  # times the smaller fleet's figure a minion: what counts as linear
POLICY = """\
cluster-ceph/cluster/*.sls
role-master/cluster/salt.sls
role-admin/cluster/salt.sls
role-mon/cluster/mon*.sls
role-mgr/cluster/mon*.sls
profile-default/cluster/*.sls
profile-default/stack/default/ceph/minions/*.yml
config/stack/default/global.yml
config/stack/default/ceph/cluster.yml
"""
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
PATIENCE = 2  # seconds of gather_job_timeout a minion: also where the machine has other work


@dataclass(frozen=True)
class Cost:
    """What one command cost. ``cpu``: of the master's processes and of salt-run; ``memory``: the master's most."""

    code: int
    seconds: float
    cpu: float
    jobs: int
    memory: int
    lines: int
    longest: int


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
    lines = done.out.splitlines()
    longest = max(map(len, lines), default=0)
    most = max(memory.most, master.memory())
    return Cost(done.code, done.seconds, cpu(master) - before, jobs(master) - made, most, len(lines), longest)


def manners(names: Sequence[str], odd: float) -> dict[str, str]:
    """Who of the storage hosts is silent, slow or lying: the same share of each, spread over the fleet."""
    storage = [name for name in names if name.startswith("osd")]
    each = max(1, round(odd * len(names)))
    picked = storage[:: max(1, len(storage) // (3 * each))][: 3 * each]
    return {name: ("silent", "slow", "lying")[place % 3] for place, name in enumerate(picked)}


def measure(count: int, without: Sequence[str] = (), odd: float = 0, logs: Path | None = None) -> dict[str, Cost]:
    """What each command costs for so many minions.

    without
        Commands that are left out.
    odd
        The share of silent ones, of slow and of lying ones, once all has been configured; then ``CHAOS`` alone counts.
    logs
        Where what was printed is kept.
    """
    names, measured = hosts.names(count), {}
    root = Path(tempfile.mkdtemp(prefix="fleet"))
    logs = logs or root
    logs.mkdir(parents=True, exist_ok=True)
    try:
        with Master(root / "m", names, {"gather_job_timeout": max(30, PATIENCE * count)}) as master:
            master.start()
            told = COMMANDS[:5] if odd else COMMANDS
            for name, command in (each for each in told if each[0] not in without):
                if name == "policy":
                    (master.pillar / "proposals/policy.cfg").write_text(POLICY)
                measured[name] = cost(master, command, logs / f"{count}-{name}.txt")
                print(f"{count} minions: {name}: {shown(measured[name])}", flush=True)
            if odd:
                master.stop()
                master.start(manners(names, odd))
                by_name = dict(COMMANDS)
                for name in (each for each in CHAOS if each not in without):
                    measured[name] = cost(master, by_name[name], logs / f"{count}-odd-{name}.txt")
                    print(f"{count} minions, odd ones: {name}: {shown(measured[name])}", flush=True)
    finally:
        remove(root)
    return {name: measured[name] for name in CHAOS if name in measured} if odd else measured


def shown(cost: Cost) -> str:
    """A cost in one line."""
    return (
        f"status {cost.code}, {cost.seconds:.1f} s, CPU {cost.cpu:.1f} s, {cost.jobs} jobs, "
        f"{cost.memory / 1e6:.0f} MB, {cost.lines} lines, the longest {cost.longest}"
    )


def printed(console: Console, measured: dict[int, dict[str, Cost]]) -> None:
    """A row a command, columns by number of minions."""
    rows = Table(box=None, header_style="bold")
    for heading in ("command", *map(str, measured)):
        rows.add_column(heading, justify="left" if heading == "command" else "right")
    for name in next(iter(measured.values())):
        cells = [each[name] for each in measured.values() if name in each]
        rows.add_row(
            name, *(f"{c.seconds:.0f} s, CPU {c.cpu:.0f}, {c.jobs} jobs, {c.memory / 1e6:.0f} MB" for c in cells)
        )
    console.print("\nfleet: seconds, CPU seconds of master and salt-run, Salt jobs, the master's memory at most")
    console.print(rows)


def earlier(path: Path) -> dict[int, dict[str, Cost]]:
    """What an earlier run measured."""
    kept_before = json.loads(path.read_text())
    return {int(count): {name: Cost(**each) for name, each in costs.items()} for count, costs in kept_before.items()}


def promises(measured: dict[int, dict[str, Cost]]) -> None:
    """The rows of the table at the end: jobs constant, the rest at most linear, what is printed readable."""
    *_, small, large = sorted(measured)
    for name, big in measured[large].items():
        if (less := measured[small].get(name)) is None:
            continue
        kept.row(f"fleet: jobs of {name}, {large} beside {small}", less.jobs, big.jobs, 1, "jobs")
        each = less.cpu / small, big.cpu / large
        kept.row(f"fleet: CPU a minion of {name}, {large} beside {small}", *each, LINEAR)
        kept.row(f"fleet: lines of {name}, {large} beside {small}", less.lines, big.lines, LINEAR, "lines")
    most = [max(each.memory for each in measured[count].values()) / count / 1e6 for count in (small, large)]
    kept.row(f"fleet: the master's memory a minion, {large} beside {small}", *most, LINEAR, "MB")


def picture(measured: dict[int, dict[str, Cost]], path: Path) -> None:
    """Draw the curves: CPU seconds, jobs, memory by number of minions."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "fleet"  # the same figures make the same file
    from matplotlib import pyplot

    counts = sorted(measured)
    figure, plots = pyplot.subplots(1, 3, figsize=(13, 4))
    kinds = (
        ("CPU seconds, master and salt-run", "cpu", 1),
        ("Salt jobs", "jobs", 1),
        ("master's memory, MB", "memory", 1e-6),
    )
    for plot, (title, figure_of, unit) in zip(plots, kinds, strict=True):
        for name in measured[counts[0]]:
            known = [count for count in counts if name in measured[count]]
            figures = [getattr(measured[count][name], figure_of) * unit for count in known]
            plot.plot(known, figures, marker="o", label=name)
        plot.set(title=title, xlabel="minions", ylim=(0, None))
        plot.grid(alpha=0.3)
    plots[0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench --fleet", description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of minions, with commas between")
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
    sizes = sorted(map(int, options.sizes.split(",")))
    without = options.without.split(",")
    measured = earlier(options.beside) if options.beside else {}
    measured |= {count: measure(count, without, logs=options.logs) for count in sizes}
    printed(console, measured)
    if not options.no_odd:
        console.print(f"\n{ODD:.0%} silent, {ODD:.0%} slow, {ODD:.0%} lying")
        printed(console, {sizes[-1]: measure(sizes[-1], without, ODD, options.logs)})
    found = {count: {name: asdict(each) for name, each in costs.items()} for count, costs in measured.items()}
    (options.logs / "fleet.json").write_text(json.dumps(found, indent=1))
    if len(measured) > 1:
        promises(measured)
    if options.picture:
        picture(measured, options.picture)


if __name__ == "__main__":
    main()
