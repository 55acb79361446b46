"""How answers reach a terminal or a pipe: plain tables, and no control character of what is told."""

import os
import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from proposals.text.names import printable

PIPE_WIDTH = 160  # columns where nobody says how wide: a file, a pager
NUMERIC = (
    "OSDs",
    "disks",
    "data",
    "DB",
    "WAL",
    "unused",
    "GiB",
    "devices",
    "matches",
    "line",
    "raw",
    "of host",
    "of cluster",
)


class _Console(Console):
    """rich ends a process whose reader has gone with status 1; here the command line decides."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console() -> Console:
    """The console that answers are printed on."""
    terminal = _Console(highlight=False)
    return terminal if terminal.is_terminal else _Console(highlight=False, width=_width())


def _width() -> int:
    """Columns of the terminal that an answer ends on though it is printed into a text first, as runners do it."""
    try:
        wide = os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
    except (AttributeError, OSError, ValueError):  # there is none, or it is no terminal
        wide = 0
    return wide or PIPE_WIDTH  # a terminal that nobody gave a size has none


def text(words: object, style: str = "") -> Text:
    """Words as they are printed: unprintable characters escaped, none of them read as markup."""
    return Text(printable(str(words)), style=style)


def table(title: str, *columns: str) -> Table:
    """An empty table; columns of numbers stand to the right."""
    made = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for column in columns:
        made.add_column(column, justify="right" if column in NUMERIC else "left", overflow="fold")
    return made


def row(made: Table, *cells: object) -> None:
    """Add a row; None is a dash."""
    made.add_row(*(text("-" if cell is None else cell) for cell in cells))
