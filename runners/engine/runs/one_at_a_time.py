"""Commands of which a second one would spoil the first one's work: one at a time on this master."""

import fcntl
import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

from proposals.files import atomic
from proposals.text.errors import ProposalError

STOPPING = "daemons-stop"
KEYS = "keys"  # the master's: who changes some of them writes all
PROPOSALS = "proposals"  # what populate decides holds only until another one writes


class Busy(ProposalError):
    """Another one is running."""


Run = TypeVar("Run", bound=Callable[..., Any])


@contextmanager
def alone(opts: Mapping, command: str, among: str = "") -> Iterator[None]:
    """Be the one of a command. The kernel holds the lock for this process, and drops it however that ends.

    opts
        The master's options.
    command
        Its name, such as ``osd.migrate``.
    among
        The name of a group of commands of which but one is to run; without it, the command stands for itself.

    Raises Busy where there is another, StoreError where the lock's file cannot be made.
    """
    path = Path(opts["cachedir"]) / "halocline" / f"{among or command}.lock"
    with _opened(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            other = file.read().decode() or command  # empty: it has just begun
            raise Busy(f"{other} is running on this master: wait for its end, then run {command} again") from None
        with suppress(OSError):  # a full disk: the lock holds, and whoever meets it names the command by the file
            file.truncate(0)
            file.write(command.encode())
        yield


def _opened(path: Path) -> FileIO:
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        return path.open("a+b", buffering=0)
    except OSError as err:
        raise atomic.failed("write", path, err) from err


def stops_daemons(command: str) -> Callable[[Run], Run]:
    """Let a function, whose first argument is the master's options, run beside no other one that stops daemons.

    Each of them asks Ceph whether it can do without its daemons, which says nothing of those that another is about to
    stop; and the first that ends would take away the other's ``noout``.

    command
        What an admin typed for it.
    """

    def among(run: Run) -> Run:
        @functools.wraps(run)
        def only(opts: Mapping, *args: Any, **kwargs: Any) -> Any:
            # The first lock is all that an osd.migrate holds which an older version began: it goes on over an update.
            with alone(opts, command), alone(opts, command, STOPPING):
                return run(opts, *args, **kwargs)

        return only  # type: ignore[return-value]

    return among
