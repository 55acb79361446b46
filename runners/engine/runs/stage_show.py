"""A stage's run for a person: lines of its log as it grows, and a bar over its steps on a terminal."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Column

from proposals.stages.progress import Progress
from proposals.stages.records import Record
from proposals.text.names import printable
from runners.engine.runs import stage_log

TICK = 0.2  # seconds between looks at a log that grows
BAR = 20  # columns
SLOW = 30  # seconds after which plain output names who is waited for, and again
LAST_WORDS = 5  # seconds for a log to say how its run ended after its process has gone


def follow(path: str | Path, ended: Callable[[], bool], quiet: bool = False) -> Record | None:
    """Print a run's log as it grows until it says how it ended; a bar below it on a terminal.

    Returns the record that says how, None where there is none.

    path
        The log.
    ended
        Tells whether the run's process has gone.
    quiet
        Print nothing.
    """
    progress = Progress()
    view = _Quiet() if quiet else _Terminal() if sys.stdout.isatty() else _Plain()
    with view:
        for record in _records(Path(path), ended):
            if record is None:
                view.tick(progress, time.time())
                continue
            for text in progress.take(record):
                view.say(printable(text))
            if record["event"] == "end":
                return record
    return None


def _records(path: Path, ended: Callable[[], bool]) -> Iterator[Record | None]:
    """Records as they come; None where nothing came for a tick."""
    deadline = None
    with path.open() as file:
        rest = ""
        while deadline is None or time.monotonic() < deadline:
            rest += file.readline()
            if rest.endswith("\n"):
                if told := stage_log.known(rest):
                    yield told
                rest = ""
                continue
            yield None
            if deadline is None and ended():
                deadline = time.monotonic() + LAST_WORDS
            time.sleep(TICK)


def _utf() -> bool:
    """Whether what is printed may hold any character."""
    return str(getattr(sys.stdout, "encoding", None) or "utf").lower().startswith("utf")


class _Quiet:
    """Nothing, for a program."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def say(self, text: str) -> None:
        pass

    def tick(self, progress: Progress, now: float) -> None:
        pass


class _Plain(_Quiet):
    """Lines for a pipe or a file."""

    def __init__(self) -> None:
        self.next = SLOW

    def say(self, text: str) -> None:
        print(text, flush=True)

    def tick(self, progress: Progress, now: float) -> None:
        seconds = progress.seconds(now)
        if seconds >= self.next:
            print(f"  {'…' if _utf() else '...'} {printable(progress.text(now))}", flush=True)
        self.next = (int(seconds) // SLOW + 1) * SLOW


class _Terminal(_Quiet):
    """Lines, and below them a bar over the steps with where the run is."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)
        rest = Column(no_wrap=True, overflow="ellipsis", ratio=1)
        where = TextColumn("{task.description}", markup=False, table_column=rest)
        columns = SpinnerColumn("dots" if _utf() else "line"), BarColumn(BAR), TextColumn("{task.fields[place]}"), where
        self.bar = Bar(*columns, console=self.console, transient=True, expand=True)
        self.task = self.bar.add_task("", total=None, place="")

    def __enter__(self) -> None:
        self.bar.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def say(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)

    def tick(self, progress: Progress, now: float) -> None:
        at, of = progress.place()
        place, text = f"step {at} of {of}:" if of else "", printable(progress.text(now))
        self.bar.update(self.task, completed=progress.share(), total=of or None, place=place, description=text)
