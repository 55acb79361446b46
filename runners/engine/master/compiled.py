"""Every minion's pillar from a generation that is not served yet, compiled as Salt will, side by side.

One takes Salt 0.1 s of a processor and more (``python -m tests.bench --fleet``): a thousand are shared among the
processes that this machine runs at once.
"""

import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import salt.pillar
import salt.utils.minions

from proposals.pillar import told
from proposals.text.errors import PolicyError

logger = logging.getLogger(__name__)

WORTH = 8  # minions for which a further process pays


class _Pillar(salt.pillar.Pillar):
    """Salt's own, with the names of all SLS told: it lists every file below the pillar roots anew for each minion,
    7 us a file, and there are some 15 a host (docs/concepts/speed.md).
    """

    def __init__(self, listed: dict[str, list[str]], opts: Mapping, grains: Mapping, minion: str) -> None:
        self._listed = listed
        super().__init__(opts, grains, minion, "base")

    def _Pillar__gather_avail(self) -> dict[str, list[str]]:  # noqa: N802 - the name is Salt's
        if not self._listed:
            self._listed.update(super()._Pillar__gather_avail())
        return self._listed


def check(opts: Mapping, folder: Path, name: str, minions: Sequence[str]) -> None:
    """Compile the pillar of minions.

    opts
        The master's options.
    folder
        The generation's.
    name
        Of the generation, which each has to carry.
    minions
        Their ids.

    Raises PolicyError with the first of them that is wrong; the old generation is still served.
    """
    new = {**opts, "ext_pillar": [{"stack": [str(folder / "assignment.cfg"), str(folder / "stack.cfg")]}]}
    listed: dict[str, list[str]] = {}
    if wrong := first(lambda minion: _wrong(new, listed, name, minion), sorted(minions)):
        raise PolicyError(f"{wrong}; the old one is still served")


def _wrong(opts: Mapping, listed: dict[str, list[str]], name: str, minion: str) -> str:
    """What is wrong with one minion's pillar; empty where nothing is."""
    _, grains, _ = salt.utils.minions.get_minion_data(minion, opts)
    pillar = _Pillar(listed, opts, grains or {}, minion).compile_pillar()
    if pillar.get("_errors"):
        return f"{minion}: its pillar cannot be compiled: {pillar['_errors']}"
    ceph = pillar.get("ceph")
    if not isinstance(ceph, Mapping) or ceph.get("generation") != name:
        return f"{minion}: its pillar does not carry generation {name}: does a file under stack/ceph overwrite 'ceph'?"
    return "; ".join(f"{minion}: {line}" for line in told.problems(pillar))


def first(wrong: Callable[[str], str], minions: Sequence[str]) -> str:
    """Return what is wrong with the first of some minions of which anything is; empty where all is well.

    wrong
        Looks at one; it runs in a forked process where there are many.
    minions
        Their ids, sorted.

    Raises PolicyError where such a process breaks off.
    """
    count = max(1, min(os.cpu_count() or 1, len(minions) // WORTH))
    shares = [minions[at::count] for at in range(count)]
    if count == 1:
        return _first(wrong, minions)[1]
    ended = [_ended(*one) for one in [_forked(wrong, share) for share in shares]]  # all, before anything is raised
    if broken := [status for status, _ in ended if status]:
        raise PolicyError(f"a process that compiled pillars broke off (wait status {broken[0]}): run this again")
    found = [json.loads(said) for _, said in ended]
    return min((each for each in found if each[1]), default=("", ""))[1]


def _first(wrong: Callable[[str], str], minions: Sequence[str]) -> tuple[str, str]:
    """The first minion of which anything is wrong, with what it is."""
    return next(((minion, text) for minion in minions if (text := wrong(minion))), ("", ""))


def _forked(wrong: Callable[[str], str], minions: Sequence[str]) -> tuple[int, int]:
    """Fork a process that looks at some minions; return its id and where it says what it found."""
    read, write = os.pipe()
    child = os.fork()
    if child:
        os.close(write)
        return child, read
    try:
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, signal.SIG_DFL)  # a stage's own words for them are the parent's
        os.close(read)
        with os.fdopen(write, "w") as out:
            out.write(json.dumps(_first(wrong, minions)))
    finally:
        if failed := sys.exception() is not None:
            logger.error("the pillars of %s and more", minions[0], exc_info=True)
        os._exit(failed)  # nothing of the parent's is cleaned up here


def _ended(child: int, read: int) -> tuple[int, str]:
    """How a forked process ended, and what it said."""
    with os.fdopen(read) as said:
        text = said.read()
    return os.waitpid(child, 0)[1], text
