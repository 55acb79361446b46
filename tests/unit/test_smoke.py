"""A smoke test: which services are tried, with which client and on which host; how its answers are told."""

from pathlib import Path

import pytest

from proposals.files.documents import parse_yaml
from proposals.services import planning, smoke, smoke_told
from proposals.services.service import PlannedCluster
from proposals.services.smoke_told import Result
from proposals.settings import reader
from proposals.text.errors import ArgumentError

FIXTURE = Path(__file__).parent.parent / "fixtures/smoke.yaml"
CASES = [pytest.param(case, id=case["name"]) for case in parse_yaml(FIXTURE.read_text(), FIXTURE.name)]


def served(case):
    """What minions are told where these roles and settings are configured."""
    hosts = {
        minion: {
            "hostname": minion,
            "addresses": [f"10.0.0.{number}/24"],
            "ceph_nics": [{"name": "eth0", "addresses": [f"10.0.0.{number}/24"]}],
        }
        for number, minion in enumerate(sorted(case["roles"]), start=1)
    }
    settings = {"public_network": "10.0.0.0/24", **case.get("settings", {})}
    read = reader.read(settings)
    made = planning.plan(PlannedCluster(case["roles"], hosts, read, frozenset(case.get("given", ()))))
    assert [*read.lines(), *made.whole.problems] == []
    return smoke.Served({each: made.told(each) for each in case["roles"]}, settings, hosts, "salt", "PEM")


@pytest.mark.parametrize("case", CASES)
def test_what_is_tried(case):
    found = served(case)
    if "wrong" in case:
        with pytest.raises(ArgumentError) as err:
            smoke.attempts(found, case["names"])
        assert case["wrong"] in str(err.value)
        return
    tries = smoke.attempts(found, case.get("names", ()))
    lines = [f"{one.line()} @ {one.minion}" for one in tries]
    assert len(lines) == len(case["tries"]), lines
    assert [line for line, part in zip(lines, case["tries"], strict=True) if not line.startswith(part)] == []
    for one in tries:  # what a client is told is what its cleaning is told, where that is told anything
        if one.service in ("nfs", "alert"):
            assert (one.minion, one.arguments) in smoke.cleaning(found, one.service)
        if one.function == "smoke_iscsi.attempt":
            assert smoke.cleaning(found, "iscsi") == [(one.minion, ())]
    arguments = {one.service: list(one.arguments) for one in tries}
    assert {name: arguments[name] for name in case.get("arguments", {})} == case.get("arguments", {})
    if "certificates" in case:
        assert smoke.certificates(found.settings) == case["certificates"]


def test_an_address_with_colons_is_in_brackets_where_a_port_follows():
    hosts = {"node1": {"hostname": "node1", "addresses": ["fd00::1/64"]}}
    found = smoke.Served({}, {"public_network": "fd00::/64"}, hosts, "salt")
    assert found.address("node1") == "[fd00::1]" and found.address("node2") == "node2"


def test_every_service_that_is_cleaned_is_one_that_is_tried():
    assert set(smoke.CLEANED) < set(smoke.PLANS)
    assert smoke.cleaning(smoke.Served({}, {}, {}, "salt"), "rbd") == [("salt", ())]


def test_what_came_of_it_is_told_service_by_service():
    results = [
        Result("rbd", passed=("pool a", "pool b")),
        Result("s3", passed=("rgw.node1",), failed=("rgw.node2: refused",)),
        Result("swift", skipped=("no user",)),
        Result("s3", failed=("not gone",)),
    ]
    assert results[1].text() == "s3: FAILED: rgw.node2: refused\ns3: passed: rgw.node1"
    assert smoke_told.ending(results) == "passed: rbd; FAILED: s3; not tried: swift"
    assert smoke_told.failed(results) == ["s3"]
    assert smoke_told.data(results)["s3"] == {
        "passed": ["rgw.node1"],
        "failed": ["rgw.node2: refused", "not gone"],
        "skipped": [],
    }


@pytest.mark.parametrize("said", [{}, {"passed": "yes"}, {"passed": [], "failed": []}, {"passed": None}])
def test_a_minion_that_says_nothing_of_use_has_failed(said):
    assert smoke_told.read("rbd", said).failed == ("its client tried nothing",)


def test_what_a_minion_says_is_shown_escaped_and_cut():
    text = smoke_told.read("rbd", {"failed": ["a\x1b[2J" + "b" * 2000]}).text()
    assert "\x1b" not in text and len(text) < 800
