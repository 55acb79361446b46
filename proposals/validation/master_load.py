"""Whether a master bears all of its minions at once: each state run of a minion has the master compile its pillar.

Seconds are this project's own figures of Salt 3008.3 on one processor of a server (docs/concepts/speed.md), to be
taken as about. The standard library alone: who asks may lack all else.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

PILLAR = 0.09  # CPU seconds of one pillar
FILE = 9e-6  # and of each file below the pillar roots, all of which Salt lists for it (fileclient.py: file_list)
CONFIG = "/etc/salt/master.d/zz-site.conf"  # Salt reads it after srv/install's zz-halocline.conf, so that it counts
RESTART = "systemctl restart salt-master"


@dataclass(frozen=True)
class Load:
    """A master's means.

    processors
        That run at once.
    workers
        ``worker_threads``: as many pillars are compiled at once.
    timeout, gather
        ``timeout`` and ``gather_job_timeout``, seconds: a minion that has not answered within both is given up.
    files
        Below the pillar roots, links followed.
    """

    processors: int
    workers: int
    timeout: int
    gather: int
    files: int

    def seconds(self, minions: int, workers: int | None = None) -> float:
        """About how long it takes until the last of some minions that ask at once has its pillar."""
        return minions * (PILLAR + FILE * self.files) / min(self.processors, workers or self.workers)


def wrong(load: Load, minions: int) -> Iterator[tuple[str, str]]:
    """Yield what is too little for so many minions, and the command that mends it."""
    taken, patience = load.seconds(minions), load.timeout + load.gather
    if taken <= patience:
        return
    all_at_once = (
        f"{minions} minions that run states at once have their pillars after about {taken:.0f} s (worker_threads: "
        f"{load.workers}, {load.processors} processors, {load.files} files below the pillar roots)"
    )
    best = load.seconds(minions, load.processors)
    if best < taken:
        yield f"{all_at_once}, with more workers after {best:.0f} s", _set("worker_threads", load.processors)
    if best > patience:
        needed = math.ceil(best / 10) * 10
        yield f"{all_at_once}; who has not answered after {patience} s is given up", _set("gather_job_timeout", needed)


def _set(key: str, value: int) -> str:
    return f"echo '{key}: {value}' >>{CONFIG}; {RESTART}"
