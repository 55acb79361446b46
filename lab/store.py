"""What labs there are on this machine. One folder says it, so `status` and `down` work from any checkout.

/var/lib/halocline-lab/
  lock                    held by the one `up`, `down` or fault verb that is at work
  cache/                  wheels, what a node image is made from
  labs/NAME/lab.json      whose it is, its cluster file's text, how far `up` came, which hosts were stopped
  labs/NAME/disks/HOST/   sparse disks and what they are; the hosts/ beside it is mounted in the nodes
"""

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TextIO

from lab.cluster import ClusterFile, parse
from lab.errors import LabError
from lab.progress import say

ROOT = Path("/var/lib/halocline-lab")
LABS = ROOT / "labs"
CACHE = ROOT / "cache"
LOCK_LIMIT = 600  # seconds: an `up` with nothing cached takes up to five minutes
CHECKOUT = Path(__file__).resolve().parent.parent


@dataclass
class Lab:
    """One lab as its record has it."""

    name: str
    checkout: str
    text: str  # the cluster file as it was when the lab was made, and hosts added since
    complete: bool = False
    stopped: list[str] = field(default_factory=list)

    @property
    def cluster(self) -> ClusterFile:
        return parse(self.name, self.text)

    @property
    def folder(self) -> Path:
        return LABS / self.name

    @property
    def ours(self) -> bool:
        return Path(self.checkout) == CHECKOUT

    def save(self) -> None:
        """Write the record, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = self.folder / "lab.json.new"
        draft.write_text(json.dumps(asdict(self), indent=1))
        draft.replace(self.folder / "lab.json")

    def forget(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def labs() -> list[Lab]:
    """Every lab with a record, by name."""
    records = sorted(LABS.glob("*/lab.json"))
    return [Lab(**json.loads(record.read_text())) for record in records]


def find(name: str | None) -> Lab:
    """The lab of that name; without a name the only one there is.

    Raises LabError where there is none, or several and no name.
    """
    known = {lab.name: lab for lab in labs()}
    if name is None and len(known) == 1:
        return next(iter(known.values()))
    if name in known:
        return known[name]
    names = ", ".join(known) or "none"
    if name is None and known:
        raise LabError(f"several labs run here: {names}. Say which with --cluster NAME.")
    what = f"no lab named {name}" if name else "no lab runs here"
    raise LabError(f"{what} (running: {names}). `python -m lab up{' ' + name if name else ''}` makes it.")


@contextmanager
def locked() -> Iterator[None]:
    """Only one process changes labs at a time; another one waits, for LOCK_LIMIT at most, and says for whom."""
    if os.geteuid() != 0:
        raise LabError("the lab needs root (loop devices, containers): run it with sudo.")
    ROOT.mkdir(parents=True, exist_ok=True)
    with (ROOT / "lock").open("a+") as lock:
        _take(lock)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def _take(lock: TextIO) -> None:
    deadline, announced = time.monotonic() + LOCK_LIMIT, False
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as err:
            lock.seek(0)
            busy = f"another lab command is at work here (process {lock.read().strip()})"
            if time.monotonic() > deadline:
                raise LabError(f"{busy}, for {LOCK_LIMIT} s now: end it or wait longer.") from err
        if not announced:
            say(f"{busy}: waiting for it.")
        announced = True
        time.sleep(0.2)
