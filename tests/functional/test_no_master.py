"""Runners that ask minions, where no salt-master runs: one message, no traceback; real `salt-run` processes."""

import json
import tarfile

import pytest
from saltmaster import Master

ASKING = [
    ["minions.ask", "[node1]", "[test.ping]"],
    ["stage_jobs.running"],
    ["stage_jobs.end", '["20260101000000000000"]', "[node1]"],
    ["stage.begin", "prep"],
    ["discovery.collect"],
]
COLLECT = ["support.collect", "--out", "json"]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    master = Master(tmp_path_factory.mktemp("alone"))
    master.accept("node1")
    asked = [*ASKING, COLLECT]
    return dict(zip((words[0] for words in asked), master.run_all(asked), strict=True))


@pytest.mark.parametrize("verb", [words[0] for words in ASKING])
def test_no_master_is_one_message(answers, verb):
    done = answers[verb]
    assert (done.code, done.err) == (2, "")
    assert len(done.out.splitlines()) == 1 and "is salt-master running?" in done.out


def test_what_a_ticket_needs_is_packed_all_the_same(answers):
    done = answers["support.collect"]
    assert (done.code, done.err) == (0, "")
    with tarfile.open(json.loads(done.out)["file"]) as packed:
        (versions,) = (member for member in packed if member.name.endswith("versions.json"))
        assert "is salt-master running?" in json.load(packed.extractfile(versions))["minions"]
