"""Whom a run of a stage changes, whom it leaves out, and what it says of them at its end."""

from pathlib import Path

import pytest
import yaml

from proposals.stages import left_out, summary, targets
from proposals.text.errors import ArgumentError, ProposalError

FIXTURES = Path(__file__).parent.parent / "fixtures"
SUMMARIES = yaml.load((FIXTURES / "stage-summary.yaml").read_text(), yaml.CSafeLoader)
TARGETS = yaml.load((FIXTURES / "targets.yaml").read_text(), yaml.CSafeLoader)
LEFT = yaml.load((FIXTURES / "left-out.yaml").read_text(), yaml.CSafeLoader)
FAILED = {"a": {"__id__": "conf", "result": False, "comment": "no space\n"}}
LATER = {"__id__": "mon", "result": False, "comment": "One or more requisite failed: conf"}


@pytest.mark.parametrize("case", TARGETS["only"], ids=lambda case: str(case["only"]))
def test_a_glob_names_the_hosts_that_salt_would_target(case):
    assert targets.named(case["only"], TARGETS["hosts"]) == case["names"]


@pytest.mark.parametrize("case", TARGETS["refused"], ids=lambda case: repr(case["only"]))
def test_a_pattern_without_a_host_is_refused_with_what_comes_near(case):
    with pytest.raises(ArgumentError) as refused:
        targets.named(case["only"], TARGETS["hosts"])
    assert case["says"] in str(refused.value)


def test_who_takes_part():
    note = {"hosts": ["node1", "node2", "node3"], "silent": ["node3", "mon1"], "left": {"node2": "failed"}}
    minions = ["node3", "node2", "node1", "mon1", "mon2"]
    assert targets.among(note, minions) == ["node1"]
    assert targets.among(note, minions, limited=False) == ["mon2", "node1"]
    assert targets.named_by(note, minions) == ["node1", "node2", "node3"]
    alone = {**note, "left": {"node2": "in maintenance"}, "maintenance": {"node2": ["osd.3"]}}
    assert targets.among(alone, minions) == ["node1"] and targets.among(alone, minions, limited=False) == [
        "mon2",
        "node1",
    ]
    assert targets.named_by(alone, minions) == ["node1", "node3"]  # nothing is asked for of it
    assert targets.among({}, minions) == targets.named_by({}, minions) == sorted(minions)  # no stage runs


def test_the_beginning_tells_who_takes_part_and_who_is_left_out():
    note = {"only": "node*", "hosts": ["node1", "node2"], "left": {"node2": targets.SILENT}}
    assert targets.began(note, ["mon1", "node1", "node2"], 2) == (
        "only=node*: 2 of 3 hosts: node1, node2\n2 minions answer\nnode2: does not answer; the stage goes on without it"
    )
    many = [f"node{number}" for number in range(1000)]
    said = targets.began({"hosts": many, "left": dict.fromkeys(many, targets.SILENT)}, many, 0)
    assert said == "0 minions answer\nnode0, node1 and 998 more hosts: does not answer; the stage goes on without it"
    assert targets.began({"hosts": ["node1"], "left": {}}, ["node1"], 1) == "1 minions answer"


def test_a_host_that_fails_is_left_out_with_its_reason():
    answers = {"node1": {"a": {"result": True}}, "node2": {**FAILED, "b": LATER}, "node3": False, "node4": ["no SLS"]}
    failed = targets.failures(answers)
    assert failed == {"node2": "conf: no space", "node3": "did not return", "node4": "no SLS"}
    crashed = (
        "The minion function caused an exception: Traceback (most recent call last):\n  x\nOSError: No space left\n"
    )
    answers = {"node1": crashed, "node2": "Minion in blackout mode.", "node3": {}}
    assert targets.failures(answers) == {"node1": "OSError: No space left", "node2": "Minion in blackout mode."}
    many = targets.left_from_here({**failed, **dict.fromkeys([f"osd{number}" for number in range(900)], "no space")})
    assert many.splitlines()[0] == "node2: left out from here on: conf: no space"
    assert many.splitlines()[3:] == ["osd0, osd1 and 898 more hosts: left out from here on: no space"]
    note = targets.leave({"left": {"node5": "x"}}, "deploy-osd", sorted(answers), failed)
    assert sorted(note["left"]) == ["node2", "node3", "node4", "node5"] and note["failed"] == [
        "node2",
        "node3",
        "node4",
    ]
    assert note["left"]["node2"] == "failed in deploy-osd: conf: no space"


@pytest.mark.parametrize(
    ("note", "failed", "says"),
    [
        ({}, {"node1": "x", "node2": "x"}, "it failed on each of its hosts"),
        ({"must": ["node2", "mon"]}, {"node2": "x"}, "the stage cannot go on without node2"),
    ],
)
def test_a_stage_does_not_go_on_without_what_it_needs(note, failed, says):
    with pytest.raises(ProposalError, match=says):
        targets.leave(note, "step", ["node1", "node2"], failed)


@pytest.mark.parametrize("case", LEFT, ids=lambda case: case["name"])
def test_what_was_left_out_is_known_or_lost(case):
    cluster = left_out.Cluster(**case["cluster"]) if "cluster" in case else None
    lines = left_out.judged(case["left"], case.get("failed", ()), cluster, case.get("maintenance", ()))
    assert [(list(line.hosts), line.lost) for line in lines] == [(each["hosts"], each["lost"]) for each in case["says"]]
    for line, each in zip(lines, case["says"], strict=True):
        assert each["text"] in line.text() and line.as_dict()["severity"] == ("error" if line.lost else "warning")


def test_hosts_of_which_the_same_is_said_share_a_line():
    """A thousand silent hosts of a cluster of twelve OSDs a host are one line, not a thousand."""
    minions = [f"node{number}" for number in range(1000)]
    osds = {minion: {f"{minion}-{osd}": "/dev/a" for osd in range(12)} for minion in minions}
    ids = {fsid: number for number, fsid in enumerate(fsid for each in osds.values() for fsid in each)}
    (line,) = left_out.judged(dict.fromkeys(minions, targets.SILENT), (), left_out.Cluster(planned=osds, osds=ids))
    assert line.text().startswith(
        "node0, node1 and 998 more hosts: left out: does not answer; the cluster knows its dae"
    )
    assert len(line.as_dict()["hosts"]) == 1000 and not line.lost


@pytest.mark.parametrize("case", SUMMARIES, ids=lambda case: case["name"])
def test_a_run_is_summed_up(case):
    hosts = case.get("left", ())
    left = [left_out.Left((f"node{number}",), f"osd.{number}: gone", "plug it in", False) for number in hosts]
    assert summary.lines(case["changed"], left, case.get("waiting")) == case["says"]
