"""How long a demo took from its first command to the first HEALTH_OK after deploy, and what had which share of it."""

import json
import os
import time
from collections.abc import Sequence

from docker.models.containers import Container
from rich.console import Console

from lab import containers
from lab.errors import LabError
from lab.store import CHECKOUT

STAMP = "HALOCLINE_DEMO_BEGAN"  # set by the Makefile: seconds since 1970
KEPT = CHECKOUT / "build/demo.json"  # the last one, for `python -m tests.bench --labs`
DEPLOY = "ceph.stage.deploy"
PATIENCE = 120  # seconds: deploy itself has waited for the OSDs
HEALTHY = "until ceph health | grep -q HEALTH_OK; do sleep 0.2; done"
Share = tuple[str, float]  # what, seconds


def began() -> float:
    """When it began, in seconds since 1970: `make demo`, or now where make has no part in it."""
    return float(os.environ.get(STAMP) or time.time())


def reached(master: Container, began: float, shares: Sequence[Share], parts: Sequence[Share], console: Console) -> str:
    """Wait for HEALTH_OK; show what had which share of it, keep that, return the sentence; an empty one without.

    shares: what was done until now, one after the other, "lab up" with them. parts: the steps of that.
    """
    start = time.time()
    try:
        containers.run(master, HEALTHY, PATIENCE)
    except LabError:
        console.print(f"[red]no HEALTH_OK within {PATIENCE} s of deploy's end: `ceph health detail` says why.")
        return ""
    seconds = time.time() - began
    shares = [*shares, ("until HEALTH_OK", time.time() - start)]
    told = sentence(seconds)
    console.print(f"\n{told}", markup=False, soft_wrap=True)
    for what, took in shares:
        console.print(f"{took:7.1f} s {took / seconds:5.0%}  {what}", markup=False, soft_wrap=True)
        for part, its in parts if what == "lab up" else ():
            console.print(f"{its:24.1f} s  {part}", markup=False, soft_wrap=True)
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps({"seconds": seconds, "shares": shares, "parts": list(parts)}, indent=1))
    return told


def sentence(seconds: float) -> str:
    """The line that tells the whole."""
    first = "the first command of `make demo`" if STAMP in os.environ else "the begin of the demo"
    return f"HEALTH_OK after deploy: {seconds:.0f} s from {first}; services and quick test are timed apart."
