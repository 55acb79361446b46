"""The ledger of one client: a line for each thing that it tried, was told or read, in order.

Lines are only appended, each by one call of the kernel: who kills the client loses none of them.
"""

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

BEGIN, END = "begin", "end"  # it is connected; it was told to stop, and stopped
TRY, WRITTEN = "try", "written"  # a version is sent for the first time; it is acknowledged
READ = "read"  # digest: of what is there; none where nothing is
CHECKED = "checked"  # the same, after the end
ERROR = "error"  # an operation failed, and is tried again


@dataclass(frozen=True)
class Entry:
    """One line."""

    at: float  # seconds since 1970
    what: str
    object: int = -1
    version: int = 0
    digest: str | None = None
    text: str = ""


class Ledger:
    """A ledger that is written to; `clock` gives seconds since 1970."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        whole = path.read_bytes().rpartition(b"\n")[:2] if path.exists() else ()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.ftruncate(self._file, sum(map(len, whole)))  # without a line that a full disk cut off

    def add(self, what: str, number: int = -1, version: int = 0, digest: str | None = None, text: str = "") -> None:
        """Append a line; OSError where it cannot be written as a whole."""
        entry = asdict(Entry(round(self._clock(), 3), what, number, version, digest, text))
        line = json.dumps({key: value for key, value in entry.items() if value != getattr(Entry, key, None)}) + "\n"
        if os.write(self._file, line.encode()) != len(line):
            raise OSError(f"the ledger took only a part of {line!r}: is the disk full?")


def parse(text: str) -> list[Entry]:
    """The entries of a ledger's text. An unfinished last line is none: what it tells of was not acknowledged."""
    return [Entry(**json.loads(line)) for line in text[: text.rfind("\n") + 1].splitlines()]
