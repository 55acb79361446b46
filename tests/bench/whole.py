"""From the bytes of an inventory to the bytes of its plan, beside Python's own reading and printing of the same bytes.

``ours INVENTORY ANSWER on`` plans and writes the answer; ``floor INVENTORY ANSWER on`` then reads the one and prints
the other. ``on`` or ``off``: Python's search for reference cycles, which the product pauses by itself. Prints CPU
seconds, in parts, and the process's peak memory as JSON.
"""

import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from machines import ARGUMENTS, inventory

from proposals.disks import arguments, plan
from proposals.files.gc_paused import uncollected
from proposals.inventory import kept

COMPACT = (",", ":")
SPENT: dict[str, float] = {}


def timed(part: str, act: Callable[[], Any]) -> Any:
    """What it returns; its CPU seconds are noted."""
    start = time.process_time()
    value = act()
    SPENT[part] = time.process_time() - start
    return value


@uncollected()
def ours(path: str, answered: str) -> None:
    """As the command line does, which pauses the search for all of a command."""
    raw = timed("read", lambda: kept.load_inventory(path))
    made = timed("plan", lambda: plan.peek(raw, arguments.parse(ARGUMENTS)))
    answer = timed("answer", made.as_dict)
    text = timed("print", lambda: json.dumps(answer, separators=COMPACT))
    Path(answered).write_text(text)


def floor(path: str, answered: str) -> None:
    """Nothing but reading and printing."""
    kept_raw = timed("read", lambda: json.loads(Path(path).read_text()))
    with uncollected():
        answer = json.loads(Path(answered).read_text())
    text = timed("print", lambda: json.dumps(answer, separators=COMPACT))
    assert kept_raw and text


def main() -> None:
    side, path, answered, collector = sys.argv[1:]
    if side == "make":  # `answered` and `collector` are hosts and disks
        Path(path).write_text(json.dumps(inventory(int(answered), int(collector))))
        return
    if collector == "off":
        gc.disable()
    {"ours": ours, "floor": floor}[side](path, answered)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"cpu": sum(SPENT.values()), "peak": peak, **SPENT}))


if __name__ == "__main__":
    main()
