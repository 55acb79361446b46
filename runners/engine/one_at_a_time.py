"""Commands of which a second one would spoil the first one's work: one at a time on this master."""

import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from proposals.text.errors import ProposalError


@contextmanager
def alone(opts: Mapping, command: str) -> Iterator[None]:
    """Be the one of a command. The kernel holds the lock for this process, and drops it however that ends.

    opts
        The master's options.
    command
        Its name, such as ``osd.migrate``.

    Raises ProposalError where there is another.
    """
    path = Path(opts["cachedir"]) / "halocline" / f"{command}.lock"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ProposalError(
                f"another {command} is running on this master: wait for its end; nothing was changed"
            ) from None
        yield
