"""Shares of the tests: by file, so that parts can run on several machines; each takes about as long as the others."""

import argparse
import json
from collections.abc import Collection, Mapping
from pathlib import Path

KNOWN = "tests/suite/seconds.json"  # seconds of each file in a whole run
USUAL = 10.0  # seconds of a file that no whole run has seen


def parse(text: str) -> tuple[int, int]:
    """`2/4` -> (2, 4); anything else is an error that says what is expected."""
    part, _, count = text.partition("/")
    if not (part.isdigit() and count.isdigit() and 1 <= int(part) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text!r} is no part: expected one like 2/4, the second of four")
    return int(part), int(count)


def seconds(checkout: Path) -> dict[str, float]:
    """How long each file of tests takes."""
    path = checkout / KNOWN
    return json.loads(path.read_text()) if path.exists() else {}


def keep(checkout: Path, known: Mapping[str, float]) -> None:
    """Keep how long each file took in a whole run."""
    (checkout / KNOWN).write_text(json.dumps(known, indent=1) + "\n")


def share(files: Collection[str], known: Mapping[str, float], part: int, count: int) -> set[str]:
    """The files of a part: the longest first, each to the part that has least to do; the same on every machine."""
    shares: list[tuple[float, int, set[str]]] = [(0.0, index, set()) for index in range(count)]
    for file in sorted(files, key=lambda file: (-known.get(file, USUAL), file)):
        load, index, mine = min(shares)
        shares[index] = (load + known.get(file, USUAL), index, mine | {file})
    return shares[part - 1][2]
