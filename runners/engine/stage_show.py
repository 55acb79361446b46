"""A stage's run for a person: lines of its log as it grows, and a live line on a terminal."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

from rich.console import Console

from proposals.stages.lines import Progress, line
from proposals.stages.records import Record

TICK = 0.2  # seconds between looks at a log that grows
SLOW = 30  # seconds after which plain output names who is waited for, and again
LAST_WORDS = 5  # seconds for a log to say how its run ended after its process has gone


def follow(path: str | Path, ended: Callable[[], bool], quiet: bool = False) -> Record | None:
    """Print a run's log as it grows until it says how it ended; a live line below it on a terminal.

    Returns the record that says how, None where there is none.

    path
        The log.
    ended
        Tells whether the run's process has gone.
    quiet
        Print nothing.
    """
    progress = Progress(time.monotonic())
    view = _Quiet() if quiet else _Terminal() if sys.stdout.isatty() else _Plain()
    with view:
        for record in _records(Path(path), ended):
            now = time.monotonic()
            if record is None:
                view.tick(progress, now)
                continue
            progress.take(record, now)
            if record["event"] == "end":
                return record
            if text := line(record):
                view.say(text)
    return None


def _records(path: Path, ended: Callable[[], bool]) -> Iterator[Record | None]:
    """Records as they come; None where nothing came for a tick."""
    deadline = None
    with path.open() as file:
        rest = ""
        while deadline is None or time.monotonic() < deadline:
            rest += file.readline()
            if rest.endswith("\n"):
                yield json.loads(rest)
                rest = ""
                continue
            yield None
            if deadline is None and ended():
                deadline = time.monotonic() + LAST_WORDS
            time.sleep(TICK)


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
        if progress.seconds(now) < SLOW:
            self.next = SLOW
        elif progress.seconds(now) >= self.next:
            self.next += SLOW
            print(f"  … {progress.text(now)}", flush=True)


class _Terminal(_Quiet):
    """Lines, and below them one that lives."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)
        self.status = self.console.status("")

    def __enter__(self) -> None:
        self.status.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.status.stop()

    def say(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)

    def tick(self, progress: Progress, now: float) -> None:
        self.status.update(progress.text(now).replace("[", r"\["))
