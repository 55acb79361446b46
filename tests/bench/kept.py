"""What benchmarks found, as one table: what, floor, ours, ratio, goal, held; kept as JSON, beside the last run here.

A benchmark calls ``row`` for each promise it measures; ``python -m tests.bench`` prints and keeps them at its end.
"""

import datetime
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from rich.table import Table

FOLDER = Path(__file__).parents[2] / "build/bench"  # ignored by git
MOVED = 1.1  # so many times the last run's ratio, or its inverse, is told as slower or faster


@dataclass(frozen=True)
class Row:
    """One promise. ``floor`` and ``ours`` have the same unit; ``goal`` is the most that ``ours / floor`` may be."""

    what: str
    floor: float
    ours: float
    goal: float
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """How many times the floor; of nothing, nothing is as much."""
        if self.ours == self.floor:
            return 1.0
        return self.ours / self.floor if self.floor else float("inf")

    @property
    def held(self) -> bool:
        """Whether the goal is reached."""
        return self.ratio <= self.goal


ROWS: list[Row] = []


def row(what: str, floor: float, ours: float, goal: float, unit: str = "s") -> None:
    """Add a row to this run's table."""
    ROWS.append(Row(what, floor, ours, goal, unit))


def machine() -> str:
    """What must be the same for two runs to be compared: processor, how many of it, Python."""
    facts = dict(re.findall(r"^([^\t:]+)\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.M))
    # Of one model name, as clouds give it, there are several kinds.
    kind = ".".join(facts.get(key, "") for key in ("cpu family", "model", "stepping")).strip(".")
    name = " ".join([facts.get("model name", platform.machine()), *([f"({kind})"] if kind else [])])
    return f"{os.cpu_count()} x {name}, Python {platform.python_version()}"


def runs(here: str, folder: Path = FOLDER) -> dict[str, list[Row]]:
    """Each row in the runs on this machine, the last one last; a run may have had some rows alone."""
    found: dict[str, list[Row]] = {}
    for path in sorted(folder.glob("*.json")):
        kept = json.loads(path.read_text())
        for each in kept["rows"] if kept["machine"] == here else ():
            read = Row(*(each[field.name] for field in fields(Row)))
            found.setdefault(read.what, []).append(read)
    return found


def last(measured: Mapping[str, Sequence[Row]]) -> dict[str, float]:
    """The last ratio of each row that was measured."""
    return {what: rows[-1].ratio for what, rows in measured.items() if rows}


def table(rows: Sequence[Row], before: Mapping[str, float]) -> Table:
    """The rows, each beside its last ratio on this machine."""
    made = Table(box=None, header_style="bold")
    for heading in ("what", "floor", "ours", "ratio", "goal", "held", "last ratio"):
        made.add_column(heading, justify="left" if heading == "what" else "right")
    for each in rows:
        cells = (f"{number:.3g} {each.unit}" for number in (each.floor, each.ours))
        ratio, goal, held = f"{each.ratio:.2f}", f"{each.goal:g}", "held" if each.held else "NOT HELD"
        made.add_row(each.what, *cells, ratio, goal, held, compared(each.ratio, before.get(each.what)))
    return made


def compared(ratio: float, before: float | None) -> str:
    """The last ratio, and whether this one is another."""
    if before is None:
        return "-"
    moved = "slower" if ratio > before * MOVED else "faster" if ratio * MOVED < before else "same"
    return f"{before:.2f} {moved}"


def keep(rows: Sequence[Row], here: str, folder: Path = FOLDER) -> Path:
    """Keep a run's rows; return the file, which is named by the time."""
    folder.mkdir(parents=True, exist_ok=True)
    now = datetime.datetime.now(datetime.UTC)
    path = folder / f"{now:%Y%m%dT%H%M%S.%f}.json"
    told = [{**asdict(each), "ratio": each.ratio, "held": each.held} for each in rows]
    path.write_text(
        json.dumps({"time": now.isoformat(), "machine": here, "load": os.getloadavg(), "rows": told}, indent=1)
    )
    return path
