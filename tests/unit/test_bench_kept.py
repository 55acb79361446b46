"""The benches' one table: what was promised, whether it is held, and the last run on the same machine."""

import json

import pytest

from proposals.text import tables
from tests.bench import kept

FLOOR, SLOW = kept.Row("planner", 2.0, 3.0, 1.5), kept.Row("deploy", 10.0, 19.0, 1.5)


def test_a_goal_is_the_most_that_a_ratio_may_be():
    assert (FLOOR.ratio, FLOOR.held, SLOW.ratio, SLOW.held) == (1.5, True, 1.9, False)
    assert not kept.Row("nothing to compare with", 0, 1, 1).held and kept.Row("no jobs", 0, 0, 1).held


def test_the_last_run_on_this_machine_is_beside_each_row_and_another_machines_is_not(tmp_path):
    first = kept.keep([FLOOR, SLOW], "here", tmp_path)
    kept.keep([kept.Row("deploy", 10.0, 10.0, 1.5)], "there", tmp_path)
    kept.keep([kept.Row("planner", 2.0, 2.4, 1.5)], "here", tmp_path)
    assert kept.last(kept.runs("here", tmp_path)) == {"planner": 1.2, "deploy": 1.9}
    assert kept.runs("nowhere", tmp_path) == {}
    told = json.loads(first.read_text())
    assert told["machine"] == "here" and told["rows"][1] == {
        "what": "deploy", "floor": 10.0, "ours": 19.0, "goal": 1.5, "unit": "s", "ratio": 1.9, "held": False
    }  # fmt: skip


@pytest.mark.parametrize(
    ("ratio", "before", "said"),
    [(1.5, None, "-"), (1.5, 1.5, "1.50 same"), (1.8, 1.5, "1.50 slower"), (1.2, 1.5, "1.50 faster")],
)
def test_a_ratio_that_moved_by_a_tenth_is_said(ratio, before, said):
    assert kept.compared(ratio, before) == said


def test_the_table_says_held_or_not():
    text = tables.printed(lambda: tables.console().print(kept.table([FLOOR, SLOW], {"planner": 2.0})))
    planner, deploy = text.splitlines()[-2:]
    assert planner.split()[-4:] == ["1.5", "held", "2.00", "faster"] and "NOT HELD" in deploy
