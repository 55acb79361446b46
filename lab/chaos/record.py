"""What became of the rounds: a table for people, a JSON file for programs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lab.chaos.rounds import Round


@dataclass
class Outcome:
    """One round as it went."""

    what: Round
    again: str  # the command that plays it again
    moment: str = ""  # when the fault began, by the stage's own steps
    status: int | None = None  # of the stage that was struck
    seconds: dict[str, float] = field(default_factory=dict)
    load: Mapping[str, Any] = field(default_factory=dict)  # each client's figures
    problems: list[str] = field(default_factory=list)
    broken: bool = False  # the cluster is not whole after it: no further round begins


def write(path: Path, cluster: str, outcomes: Sequence[Outcome]) -> None:
    """Write the report for programs, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    rounds = [{**asdict(each), "text": each.what.text} for each in outcomes]
    draft.write_text(json.dumps({"cluster": cluster, "rounds": rounds}, indent=1) + "\n")
    draft.replace(path)


def shown(outcomes: Sequence[Outcome], console: Console) -> None:
    """Print a line for each round, then what was wrong, with the command that plays that round again."""
    table = Table(title="chaos", box=None)
    for column in ("round", "change", "stage", "fault", "began", "for", "status", "stall", "took", ""):
        table.add_column(column, overflow="fold")
    for each in outcomes:
        what = each.what
        stall = max((client["stall"] for client in each.load.values()), default=0.0)
        table.add_row(
            str(what.number),
            what.change,
            what.stage,
            " ".join(word for word in (what.fault, what.detail, what.host) if word),
            each.moment,
            f"{what.hold} s",
            "-" if each.status is None else str(each.status),
            f"{stall:.1f} s",
            f"{each.seconds.get('round', 0):.0f} s",
            f"{len(each.problems)} wrong" if each.problems else "whole",
        )
    console.print(table)
    for each in outcomes:
        for problem in each.problems:
            console.print(f"[red]round {each.what.number}:[/] {escape(problem)}", soft_wrap=True)
        if each.problems:
            console.print(f"  again: {each.again}", markup=False, soft_wrap=True)
