"""The fuzzers' own cases: the seeds that once found something, and a few of each check."""

import sys
from pathlib import Path
from random import Random

import pytest
import yaml

FUZZ = Path(__file__).parent.parent / "fuzz"
sys.path.insert(0, str(FUZZ))

import advice  # noqa: E402
import hostile  # noqa: E402
import lives  # noqa: E402
import plans  # noqa: E402

CHECKS = {"plans": plans, "lives": lives, "advice": advice, "hostile": hostile}
CASES = 25  # of each check; `make test` runs up to 2000
KEPT = yaml.load((FUZZ.parent / "fixtures/fuzz.yaml").read_text(), yaml.CSafeLoader)


@pytest.mark.slow
@pytest.mark.parametrize(("check", "seed"), [(check, seed) for check, seeds in KEPT.items() for seed in seeds])
def test_what_was_found_once_holds(check, seed):
    CHECKS[check].case(Random(f"{check} {seed}"))


@pytest.mark.slow
@pytest.mark.parametrize(("check", "share"), [("plans", 0.7), ("lives", 0.7), ("advice", 0.7), ("hostile", 0.15)])
def test_random_machines(check, share):
    planned = sum(bool(CHECKS[check].case(Random(f"{check} {seed}"))) for seed in range(CASES))
    assert planned > CASES * share, f"the planner refused {CASES - planned} of {CASES}"
