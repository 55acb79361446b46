"""Labs beside their goals: ``lab up`` of an image that exists, and the first HEALTH_OK of the last ``make demo``.

The demo is timed where it runs (``lab/first.py``), for a benchmark cannot make a machine bare; it counts where it built
the image. ``--demo`` shows that alone and brings no lab up.
"""

import argparse
import json
import statistics
import time

import kept

from lab import daemon, first, image
from lab import up as bring
from lab.store import labs

CLUSTER = "apollo-slice"
UP, HEALTHY = 15.0, 300.0  # seconds
ROUNDS = 3


def up() -> float:
    """Seconds that it takes until every minion answers, the median; what takes it down again is not counted."""
    if CLUSTER in [lab.name for lab in labs()]:
        raise SystemExit(f"{CLUSTER} is there already: `python -m lab down {CLUSTER}` ends it.")
    image.ensure(daemon.ensure())
    seconds = []
    for _ in range(ROUNDS):
        start = time.monotonic()
        try:
            bring.up(CLUSTER)
            seconds.append(time.monotonic() - start)
        finally:
            bring.down(CLUSTER)
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench --labs", description=__doc__)
    parser.add_argument("--demo", action="store_true", help="the last demo alone")
    if not parser.parse_args().demo:
        kept.row("lab up of an image that exists, beside the goal", UP, up(), 1)
    demo = json.loads(first.KEPT.read_text()) if first.KEPT.exists() else {"parts": []}
    if any(part.startswith("build ") for part, _ in demo["parts"]):
        kept.row("make demo to the first HEALTH_OK, beside the goal", HEALTHY, demo["seconds"], 1)
    else:
        print("no `make demo` was run here that built the image: its time to the first HEALTH_OK is not known")


if __name__ == "__main__":
    main()
