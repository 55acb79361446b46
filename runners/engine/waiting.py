"""One way to wait on the master's side."""

import time
from collections.abc import Callable
from typing import TypeVar

Left = TypeVar("Left")


def until_none(left: Callable[[], Left], limit: float, pause: float) -> Left:
    """Wait until nothing is left; return what still is after the limit (false where nothing is).

    left
        Looks and returns what is waited for: a list, mapping or text, empty where nothing is.
    limit
        Seconds at most; it looks at least once.
    pause
        Seconds from one look to the next.
    """
    deadline = time.monotonic() + limit
    while (still := left()) and (rest := deadline - time.monotonic()) > 0:
        time.sleep(min(pause, rest))
    return still
