"""What commands cost by number of minions: as a table, as promises, as curves, and as the JSON of an earlier run."""

import json
from dataclasses import dataclass
from pathlib import Path

import kept
from rich.console import Console
from rich.table import Table

LINEAR = 1.2  # times the smaller fleet's figure a minion: what counts as linear


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
