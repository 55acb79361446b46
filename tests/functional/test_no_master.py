"""Runners that ask minions, where no salt-master runs: one message, no traceback; real `salt-run` processes."""

import pytest
from saltmaster import Master

ASKING = [
    ["minions.ask", "[node1]", "[test.ping]"],
    ["stage_jobs.running"],
    ["stage_jobs.end", '["20260101000000000000"]', "[node1]"],
    ["stage.begin", "prep"],
    ["discovery.collect"],
    ["support.collect"],
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    master = Master(tmp_path_factory.mktemp("alone"))
    master.accept("node1")
    return dict(zip((words[0] for words in ASKING), master.run_all(ASKING), strict=True))


@pytest.mark.parametrize("verb", [words[0] for words in ASKING])
def test_no_master_is_one_message(answers, verb):
    done = answers[verb]
    assert (done.code, done.err) == (2, "")
    assert len(done.out.splitlines()) == 1 and "is salt-master running?" in done.out
