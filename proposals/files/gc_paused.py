"""Pause Python's garbage collector while many values are made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """No search for reference cycles in this block.

    Reading and planning make many values and no cycles; searching among them took a third of the time at 36,000
    disks and more than half at 620,000. What is no longer used is freed at once all the same."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
