"""Progress with times: a live line on a terminal, one plain line a finished step in a pipe."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console

console = Console(stderr=True, highlight=False)
ENDED: list[tuple[str, float]] = []  # the steps of this process that went well, and the seconds of each


@contextmanager
def step(what: str) -> Iterator[None]:
    """Show that `what` is under way, then how long it took; a failed step says so and raises on."""
    start, done = time.monotonic(), False
    try:
        with console.status(f"{what} …") if console.is_terminal else nullcontext():
            yield
        done = True
    finally:
        took = time.monotonic() - start
        if done:
            ENDED.append((what, took))
        console.print(f"{took:6.1f} s  {what}" if done else f"  failed  {what} after {took:.1f} s", markup=False)


def say(text: str) -> None:
    """One line for people, on standard error like the steps."""
    console.print(text, markup=False, soft_wrap=True)
