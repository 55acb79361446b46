"""``python -m tests.fuzz [CHECK ...]``: the planner on random machines and words, until time or cases run out.

A case is a check and a seed, so that each can be run again: ``python -m tests.fuzz lives --seed 123 --cases 1``.
Seeds that once found something lie in tests/fixtures/fuzz.yaml and run first. Status 1: something was found."""

import argparse
import sys
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import NamedTuple

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "unit")]

import advice  # noqa: E402
import hostile  # noqa: E402
import lives  # noqa: E402
import plans  # noqa: E402
import yaml  # noqa: E402

CHECKS = {"plans": plans.case, "lives": lives.case, "advice": advice.case, "hostile": hostile.case}
SEEDS = HERE.parent / "fixtures" / "fuzz.yaml"
BATCH = 50  # cases that a process does before it looks at the clock
OFTEN = 5000  # cases of a check between two lines that say how far it is
SHOWN = 10  # findings told in full


class Done(NamedTuple):
    """What came of a batch: cases, those that the planner did not refuse, and (seed, text) of what was found."""

    cases: int
    planned: int
    findings: tuple[tuple[int, str], ...]


def batch(check: str, seeds: range | list[int]) -> Done:
    """Run the cases of these seeds."""
    planned, findings = 0, []
    for seed in seeds:
        try:
            planned += bool(CHECKS[check](Random(f"{check} {seed}")))
        except Exception:  # noqa: BLE001 - whatever a case ends with is what it found
            findings.append((seed, traceback.format_exc(limit=-3)))
    return Done(len(seeds), planned, tuple(findings))


def batches(options: argparse.Namespace) -> Iterator[tuple[str, range | list[int]]]:
    """The kept seeds of every check, then new ones, check by check in turn, until they or the time run out."""
    kept = yaml.safe_load(SEEDS.read_text()) or {}
    end = time.monotonic() + options.seconds if options.seconds else None
    if options.seed is None:
        yield from ((check, kept.get(check, [])) for check in options.checks)
    start = options.seed or 0
    for first in range(start, start + options.cases, BATCH):
        for check in options.checks:
            if end and time.monotonic() > end:
                return
            yield check, range(first, min(first + BATCH, start + options.cases))


def main(words: list[str]) -> int:
    """Run the checks; print what was found and one line for each check."""
    options = _options(words)
    total = {check: Done(0, 0, ()) for check in options.checks}
    with ProcessPoolExecutor(options.processes) as pool:
        waiting: list = []
        for check, seeds in batches(options):
            waiting.append((check, pool.submit(batch, check, seeds)))
            while len(waiting) > 2 * options.processes:
                _count(total, waiting)
        while waiting:
            _count(total, waiting)
    for check, done in total.items():
        _tell(check, done)
    return 1 if any(done.findings for done in total.values()) else 0


def _count(total: dict[str, Done], waiting: list) -> None:
    check, future = waiting.pop(0)
    done, before = future.result(), total[check]
    for seed, text in done.findings[: max(0, SHOWN - len(before.findings))]:
        print(f"{check}, again with: python -m tests.fuzz {check} --seed {seed} --cases 1\n{text}", flush=True)
    total[check] = Done(*(one + other for one, other in zip(before, done, strict=True)))
    if before.cases // OFTEN < total[check].cases // OFTEN:  # what is ended before its time has told how far it came
        _tell(check, total[check])


def _tell(check: str, done: Done) -> None:
    print(f"{check:8} {done.cases} cases, {done.planned} not refused, {len(done.findings)} findings", flush=True)


def _options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("checks", nargs="*", choices=[*CHECKS, []], metavar="CHECK", help=", ".join(CHECKS))
    parser.add_argument("--cases", type=int, default=1 << 40, help="of each check")
    parser.add_argument("--seconds", type=float, help="after which no new case begins")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, help="the first; without it the kept ones, then 0 and on")
    options = parser.parse_args(words)
    options.checks = options.checks or list(CHECKS)
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
