"""A load's report for people."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lab.load.judge import ALTERED, LOST, Report, clock


def shown(report: Report, console: Console) -> None:
    """Print a table of the clients, and below it what is wrong."""
    table = Table(title="load", box=None)
    for column in ("client", "operations", "in faults", "errors", "longest stall", "began at", "lost", "altered"):
        table.add_column(column, justify="left" if column == "client" else "right")
    for name, each in report.clients.items():
        kinds = [finding.kind for finding in each.findings]
        during = ", ".join(map(str, each.during)) or "-"
        stall = (f"{each.stall:.1f} s", clock(each.stalled))
        counts = (str(kinds.count(LOST)), str(kinds.count(ALTERED)))
        table.add_row(name, str(each.operations), during, str(each.errors), *stall, *counts)
    console.print(table)
    for problem in report.problems:
        console.print(f"[red]{escape(problem)}")
