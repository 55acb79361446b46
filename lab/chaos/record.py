"""What became of the rounds: a JSON file for programs, and a table for people, of one such file or of several."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lab.chaos.moment import LATE
from lab.chaos.rounds import Round
from lab.errors import LabError
from lab.load.judge import Span

COLUMNS = ("seed", "round", "change", "stage", "fault", "began", "for", "status", "took")


@dataclass
class Outcome:
    """One round as it went."""

    what: Round
    again: str  # the command that plays it again
    began: str = ""  # when, in UTC, as file names have it
    moment: str = ""  # when the fault began, by the stage's own steps
    status: int | None = None  # of the stage that was struck
    seconds: dict[str, float] = field(default_factory=dict)  # the fault, with its begin and mending; the round
    span: Span | None = None  # from the fault to the end of the stages again, seconds since 1970
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


def read(path: Path) -> list[Outcome]:
    """The rounds of a report that ``write`` wrote; LabError where it is none."""
    try:
        return [_outcome(each) for each in json.loads(path.read_text())["rounds"]]
    except (OSError, ValueError, KeyError, TypeError) as err:
        raise LabError(
            f"{path} is no report of chaos: {type(err).__name__}: {err}; expected a file that `python -m lab chaos` "
            f"wrote, such as build/chaos/tiny/1-1-10-20260131T120000Z.json."
        ) from err


def _outcome(told: Mapping[str, Any]) -> Outcome:
    what = Round(**{**told["what"], "disk": tuple(told["what"]["disk"])})
    return Outcome(**{each.name: told[each.name] for each in fields(Outcome)} | {"what": what})


def shown(outcomes: Sequence[Outcome], console: Console) -> None:
    """Print a line for each round and one for all, then what was wrong, with the command that plays that round again.

    Of each client the longest time without an acknowledged operation is told.
    """
    clients = sorted({client for each in outcomes for client in each.load})
    table = Table(title="chaos", box=None)
    for column in (*COLUMNS, *clients, ""):
        table.add_column(column, overflow="fold")
    for each in outcomes:
        table.add_row(*_row(each, clients), f"{len(each.problems)} wrong" if each.problems else "whole")
    console.print(table)
    for each in outcomes:
        for problem in each.problems:
            console.print(f"[red]round {each.what.number} of {each.what.seed}:[/] {escape(problem)}", soft_wrap=True)
        if each.problems:
            console.print(f"  again: {each.again}", markup=False, soft_wrap=True)
    stalls = ", ".join(f"{client} {_longest(outcomes, client):.1f} s" for client in clients)
    whole, late = sum(not each.problems for each in outcomes), sum(each.moment == LATE for each in outcomes)
    console.print(
        f"{whole} of {len(outcomes)} rounds whole, {late} struck no stage; longest stalls: {stalls or 'none'}",
        soft_wrap=True,
    )


def _row(each: Outcome, clients: Sequence[str]) -> list[str]:
    what = each.what
    return [
        str(what.seed),
        str(what.number),
        what.change,
        what.stage,
        " ".join(word for word in (what.fault, what.detail, what.host) if word),
        each.moment,
        f"{each.seconds.get('fault', what.hold):.0f} s",
        "-" if each.status is None else str(each.status),
        f"{each.seconds.get('round', 0):.0f} s",
        *(f"{each.load[client]['stall']:.1f} s" if client in each.load else "-" for client in clients),
    ]


def _longest(outcomes: Sequence[Outcome], client: str) -> float:
    return max(each.load[client]["stall"] for each in outcomes if client in each.load)
