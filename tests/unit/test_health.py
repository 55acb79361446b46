"""What is said of a cluster's health: every state that Ceph prints, alone and beside what was there before."""

import copy
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from proposals.cluster import maintained
from proposals.cluster.health import groups, judge, report, seen
from proposals.cluster.health.findings import Complaint, Plan
from proposals.cluster.health.patience import Patience
from proposals.cluster.maintained import Record
from proposals.text.errors import InventoryError

FIXTURES = Path(__file__).parent.parent / "fixtures" / "health"
WHOLE = json.loads((FIXTURES / "whole.json").read_text())
CASES = yaml.load((FIXTURES / "cases.yaml").read_text(), yaml.CSafeLoader)
NODES = ("node1", "node2", "node3")
OSDS = {osd["uuid"]: NODES[osd["osd"] // 2] for osd in WHOLE["osd_dump"]["osds"]}
DAEMONS = {f"{kind}.{node}": node for kind in ("mon", "mgr") for node in NODES}


def look(changes):
    """A look at the whole cluster with changes: keys joined by ``/``."""
    answer = copy.deepcopy(WHOLE)
    for path, value in changes.items():
        *keys, last = (int(key) if key.isdigit() else key for key in path.split("/"))
        place = answer
        for key in keys:
            place = place[key]
        place[last] = copy.deepcopy(value)
    return seen.read(answer)


def judged(case):
    plan = Plan(OSDS, DAEMONS, case.get("absent", ()), case.get("gone", ())) if case.get("plan") else None
    before = case.get("before")
    if before is not None:
        before = {} if before == "none" else judge.remembered(look(before), plan)
        before = json.loads(json.dumps(before))  # it is kept as JSON from step to step
    return judge.judge(look(case["set"]), plan, before, case.get("excused", ()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_cluster_is_judged(case):
    verdict = judged(case)
    told = {kind: judge.lines(getattr(verdict, kind)) for kind in ("wrong", "moves", "known")}
    assert {kind: sorted(lines) for kind, lines in told.items()} == {kind: sorted(case.get(kind, [])) for kind in told}


# All words of Ceph's, each beside what it needs to be a state that Ceph prints.
SERVED = (
    "clean scrubbing deep degraded undersized remapped repair backfilling backfill_wait backfill_toofull recovering"
)
SERVED += " recovery_wait recovery_toofull forced_recovery forced_backfill snaptrim snaptrim_wait premerge laggy wait"
BAD = "inconsistent failed_repair recovery_unfound backfill_unfound snaptrim_error"
ALONE = (
    "down incomplete unknown peering creating creating+activating peered undersized+degraded+peered stale+active+clean"
)


def test_a_gateway_of_a_host_in_maintenance_is_known_to_be_gone():
    """Ceph's map of services has it without the "rgw." that its own name begins with (src/rgw/rgw_rados.cc)."""
    away = Record("node1", maintained.DOWN, "", "root", {}, ("client.rgw.node1",))
    first = look({})
    now = look({"status/servicemap/services": {}})
    assert first.running - now.running == {"rgw.node1"}
    before = judge.remembered(first)
    assert judge.judge(now, before=before).wrong
    assert not judge.judge(now, before=before, excused=maintained.excused([away])).wrong


def test_every_state_is_served_damaged_or_not():
    assert {word for word in SERVED.split() if groups.sorted_out({f"active+{word}": 1}).not_served} == set()
    assert all(groups.sorted_out({f"active+clean+{word}": 1}).damaged for word in BAD.split())
    alone = {word: groups.sorted_out({word: 1}) for word in ALONE.split()}
    assert all(found.not_served or found.beginning for found in alone.values())
    begins = {"unknown", "peering", "creating", "creating+activating"}
    assert {word for word, found in alone.items() if found.beginning} == begins
    assert not any(groups.sorted_out({"active+clean": 33}))


ODD = st.none() | st.integers() | st.text() | st.lists(st.integers()) | st.dictionaries(st.text(), st.text())


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["status", "osd_dump", "mgr", "status/health", "status/pgmap/pgs_by_state"]), ODD)
def test_an_answer_of_another_form_is_one_message(path, value):
    try:
        judge.judge(look({path: value}))
    except InventoryError as error:
        assert "cluster_health.inspect" in str(error) and "\n" not in str(error)


def test_what_ceph_says_is_printed_without_what_a_terminal_obeys():
    check = {"severity": "HEALTH_WARN", "summary": {"message": "\x1b[31mred"}, "muted": False}
    (line,) = judge.lines(judge.judge(look({"status/health/checks": {"ODD_\x1b[1m": check}})).known)
    assert "\x1b" not in line and "red" in line


def test_of_copies_that_nobody_makes_it_is_not_said_that_they_go_on_by_themselves():
    states = {"active+undersized": 3, "active+remapped+backfilling": 2}
    fixes = [told["fix"] for told in report.warnings(judge.of_groups(states))]
    assert ["ceph pg dump_stuck" in fix for fix in fixes] == [True, False] and "by itself" in fixes[1]


def verdict(wrong=None, moves=None):
    made = {kind: [Complaint(key, kind, "", "", amount, passing=True) for key, amount in (found or {}).items()]
            for kind, found in (("wrong", wrong), ("moves", moves))}  # fmt: skip
    return judge.Verdict(tuple(made["wrong"]), tuple(made["moves"]))


def waited(*looks, limit=100, settle=30):
    """At which of these looks, ``(second, wrong, moves)``, waiting ends."""
    patience = Patience(limit, settle, 0)
    return next((second for second, *found in looks if patience.ends(verdict(*found), second)), None)


def test_waiting_ends_at_once_where_nothing_is_wrong_and_nothing_moves():
    assert waited((0,)) == 0


def test_waiting_goes_on_while_it_gets_better_and_ends_a_limit_after():
    fewer = [(second, {"osd made": 9 - second // 90}) for second in range(0, 900, 90)]
    assert waited(*fewer) is None
    stuck = [(second, {"osd made": 3}) for second in range(900, 1200, 50)]
    assert waited(*fewer[:7], *stuck) == 900


def test_what_comes_and_goes_is_progress_once():
    flaps = [(second, {"osd down 1": 1} if second % 20 else {"mgr": 1}) for second in range(0, 400, 10)]
    assert waited(*flaps) == 120


def test_data_that_moves_is_waited_for_only_where_it_may_mend_what_is_wrong():
    moving = [(second, {"groups not served": 2}, {"groups moving": 5000 - second}) for second in range(0, 900, 90)]
    assert waited(*moving) is None
    beside = [(second, {"osd down 1": 1}, {"groups moving": 5000 - second}) for second in range(0, 900, 90)]
    assert waited(*beside) == 180


@pytest.mark.parametrize("wrong", ["groups not served", "groups needed 0"])
@pytest.mark.parametrize(
    "moves",
    [
        lambda second: {"groups scrubbed": 1} if second % 20 else {},
        lambda second: {"check SLOW_OPS": 1} if second % 20 else {},
        lambda second: {"groups moving": 5000 + second // 10 % 2},  # clients write while nothing moves
        lambda second: {"groups moving": 3} if second % 20 else {},  # snapshots are trimmed
    ],
)
def test_what_every_busy_cluster_does_is_no_progress(wrong, moves):
    """Else Ceph's no, or groups that are down, are waited for as long as scrubs come and go: for ever."""
    assert waited(*[(second, {wrong: 1}, moves(second)) for second in range(0, 2000, 10)]) in (100, 110, 120)


def test_more_data_that_begins_to_move_is_waited_for_too():
    more = [(second, {"groups not served": 2}, {"groups moving": 9000 - second}) for second in range(180, 900, 90)]
    assert waited((0, {"groups not served": 2}, {"groups moving": 5}), (90, {"groups not served": 2}), *more) is None


MOVING = "active+remapped+backfilling"
PEERED = "undersized+degraded+remapped+backfilling+peered"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("states", "copies"),
    [
        ({MOVING: 20}, lambda second: 9000 - second % 600),  # the balancer adds some each time that few are left
        ({MOVING: 20}, lambda second: (9000 if second < 1500 else 10300) - second),  # another OSD is lost
        ({MOVING: 20}, lambda second: 0 if second == 300 else 9000 - second),  # a manager that has just begun
        ({PEERED: 3}, lambda second: 9000 - second),  # of a pool of which more is lost than it can serve without
    ],
)
def test_data_that_ceph_recovers_is_waited_for_though_more_begins_to_move(states, copies):
    """Else a removal ends in its first night: the balancer moves data all the time, up to a twentieth of it."""

    def verdict(second, rate):
        counts = [{"state_name": state, "count": count} for state, count in {"active+clean": 10, **states}.items()]
        told = {"pgs_by_state": counts, "misplaced_objects": copies(second), "recovering_objects_per_sec": rate}
        found = judge.judge(look({f"status/pgmap/{key}": value for key, value in told.items()}))
        return judge.Verdict((Complaint("groups drain", "wrong", "", "", 7), *found.wrong), found.moves)

    patience, stuck = Patience(100, 0, 0), Patience(100, 0, 0)
    assert not any(patience.ends(verdict(second, 50), second) for second in range(0, 3000, 10))
    assert any(stuck.ends(verdict(0, 0), second) for second in range(0, 200, 10))


def test_data_may_move_for_days_and_is_given_a_moment():
    assert waited(*[(second, None, {"groups moving": 5000 - second}) for second in range(0, 100, 5)]) == 30
    assert waited((0, None, {"groups moving": 5}), (2,)) == 2


def test_what_was_down_before_is_given_that_moment_too():
    patience, down = Patience(100, 30, 0), Complaint("osd down 1", "wrong", "osd.1", "down")
    flags = Complaint("check OSDMAP_FLAGS", "known", "", "noout")
    assert [patience.ends(judge.Verdict(known=(down,)), second) for second in (0, 29, 30)] == [False, False, True]
    assert Patience(100, 30, 0).ends(judge.Verdict(known=(flags,)), 0)
