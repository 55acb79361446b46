"""Newer packages on a running cluster: which step may be taken, who comes when, what is kept. Cases are data."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from proposals.cluster.health.judge import of_groups
from proposals.cluster.upgrade import hosts, order, record, systems, told, versions
from proposals.cluster.upgrade.record import Record
from proposals.text.errors import InventoryError

FIXTURE = yaml.load((Path(__file__).parents[1] / "fixtures/upgrade.yaml").read_text(), yaml.CSafeLoader)
CASES = FIXTURE["cases"]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_which_step_may_be_taken(case):
    def against():
        target = versions.of_package(case["target"])
        runs = versions.running(case["versions"])
        return versions.against(runs, target, case["required"], case.get("under_way", False))

    if "error" in case:
        with pytest.raises(InventoryError, match=case["error"]):
            against()
    else:
        lines = against()
        assert all(part in "\n".join(lines) for part in case.get("says", [])) and bool(lines) == ("says" in case), lines


@pytest.mark.parametrize("case", FIXTURE["require"])
def test_a_release_is_required_when_all_monitors_and_osds_run_it(case):
    runs = versions.running(case["versions"])
    assert versions.to_require(runs, case["required"]) == case["then"]
    assert versions.older(runs, versions.of_package(case["target"])) == case.get("older", [])


@pytest.mark.parametrize("case", FIXTURE["stores"])
def test_daemons_that_the_new_release_does_not_start_stand_against_it(case):
    lines = versions.stores(case["stores"], case.get("leveldb", []), versions.of_package(case["target"]))
    assert all(part in "\n".join(lines) for part in case.get("says", [])) and bool(lines) == ("says" in case), lines


@pytest.mark.parametrize("case", FIXTURE["systems"])
def test_file_systems_are_reduced_and_restored(case):
    name, most, replay = case["has"]
    has = {"name": name, "max_mds": most, "standby_replay": replay, "active": ["x"] * most}
    kept = systems.noted([has], {})
    reduced = {**has, "max_mds": 1, "standby_replay": False, "active": ["x"]}
    assert [" ".join(words) for words in systems.reduce([has])] == case["reduce"]
    assert systems.noted([reduced], kept) == kept, "an interrupted run does not take what it made for what there was"
    assert [" ".join(words) for words in systems.restore([reduced], kept)] == case["restore"]
    assert systems.restore([has], kept) == systems.reduce([reduced]) == systems.restore([], kept) == []
    assert systems.many([has]) == ([name] if most > 1 else [])


def test_a_release_that_is_not_known_yet_is_newer():
    assert versions.number("zzz") > versions.number("tentacle") > versions.number("pacific") == 16


KINDS = {"mon": "mon.{}", "mgr": "mgr.{}", "osd": "osd.{}", "mds": "mds.{}", "gateway": "nfs-{}"}
states = st.tuples(
    st.sampled_from(["", "1.0.0", "2.0.0"]), st.dictionaries(st.sampled_from(sorted(KINDS)), st.booleans(), max_size=5)
)


def made(answers):
    return hosts.read(
        {
            minion: {
                "host": minion,
                "packages": {"ceph-common": [now, "2.0.0"]},
                "daemons": {KINDS[kind].format(minion): [kind, older] for kind, older in daemons.items()},
                "leveldb": [],
            }
            for minion, (now, daemons) in answers.items()
        }
    )


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from("abcdef"), states, max_size=6), st.sets(st.sampled_from("abcdef")))
def test_everybody_comes_once_in_every_kind_and_nobody_unasked(answers, last):
    every = made(answers)
    active = {f"{kind}.{minion}" for kind in ("mgr", "mds") for minion in last}
    coming = {minion for kind in order.KINDS for minion in order.of_kind(every, kind, active)} | set(order.rest(every))
    wanted = {m for m, (now, daemons) in answers.items() if now != "2.0.0" or any(daemons.values())}
    assert coming == wanted and order.done(every) == (not wanted)
    for kind in ("mgr", "mds"):
        place = [bool(set(names) & active) for names in order.of_kind(every, kind, active).values()]
        assert place == sorted(place), "active ones last"
    assert bool(told.plan(every, active, [])) == bool(wanted)


@pytest.mark.slow
@given(
    st.dictionaries(st.sampled_from("abcdef"), st.lists(st.integers(0, 9), min_size=1, unique=True), min_size=1),
    st.sets(st.integers(0, 9)),
)
def test_only_what_ceph_allows_stops_together(waiting, allowed):
    turn = order.together(waiting, allowed)
    assert turn[0] == next(iter(waiting)), "the first is asked for by itself"
    assert all(set(waiting[minion]) <= allowed for minion in turn[1:])
    assert set(turn) <= set(waiting)


def test_hosts_whose_sources_differ_are_named():
    every = made({"a": ("1.0.0", {}), "b": ("1.0.0", {})})
    assert list(hosts.targets(every)) == ["2.0.0"]
    said = hosts.several({"2.0.0": ["a"], "1.0.0": ["b", "c"]})
    assert "(1.0.0: b, c; 2.0.0: a)" in said


@pytest.mark.parametrize("answer", [{}, {"packages": []}, {"packages": {"ceph-common": "1"}}])
def test_an_answer_of_another_form_is_named(answer):
    with pytest.raises(InventoryError, match="node1: what it tells of its packages has not the form expected"):
        hosts.read({"node1": {"host": "a", "daemons": {}, **answer}})


def test_a_host_without_ceph_is_none_of_ours():
    assert hosts.read({"a": {"host": "a", "packages": {"librados2": ["1", "2"]}, "daemons": {}, "leveldb": []}}) == {}


def test_a_record_comes_back_as_it_was_kept():
    kept = Record("2.0.0", "2026-01-01T10:00+00:00", "root", {"runs mon.a": 1}, {"a": [2, 1]})
    assert record.read(json.dumps(kept.as_dict())) == kept and record.read(None) is None
    assert kept.known["check OSD_UPGRADE_FINISHED"] == 2


def test_groups_that_an_older_version_knew_stop_no_upgrade_that_it_began():
    """Such as those of a pool that finds no OSD: it counted them among those that are not served."""
    groups = {"unknown": 30, "creating+peering": 2}

    def wrong(before):
        known = record.read(json.dumps(Record("2.0.0", "", "", before).as_dict())).known
        return [found.key for found in of_groups(groups).wrong if found.amount > known.get(found.key, 0)]

    assert wrong({"groups not served": 32}) == wrong({"groups beginning": 32}) == []
    assert wrong({"groups not served": 31}) == wrong({"groups beginning": 31}) == ["groups beginning"]


@pytest.mark.parametrize("text", ["", "[]", '{"target": 1}', '{"target":"1","since":"","user":"","before":[1]}'])
def test_a_record_of_another_form_is_named(text):
    with pytest.raises(InventoryError, match="the monitors keep at halocline/upgrade what is no upgrade's record"):
        record.read(text)
