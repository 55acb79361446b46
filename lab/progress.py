"""Progress with times: a live line on a terminal, one plain line a finished step in a pipe."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

console = Console(stderr=True, highlight=False)


@contextmanager
def step(what: str) -> Iterator[None]:
    """Show that `what` is under way, then how long it took; a failed step says so and raises on."""
    start = time.monotonic()
    try:
        if console.is_terminal:
            with console.status(f"{what} …"):
                yield
        else:
            yield
    except BaseException:
        console.print(f"  failed  {what} after {time.monotonic() - start:.1f} s", markup=False)
        raise
    console.print(f"{time.monotonic() - start:6.1f} s  {what}", markup=False)


def say(text: str) -> None:
    """One line for people, on standard error like the steps."""
    console.print(text, markup=False, soft_wrap=True)
