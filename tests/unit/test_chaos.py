"""Chaos without a cluster: what is drawn, when it happens, what the judge says. Cases: tests/fixtures/chaos.yaml."""

import dataclasses
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from lab.chaos import change, faults, judge, moment, record, rounds
from lab.chaos.faults import FAULTS
from lab.chaos.judge import Look
from lab.chaos.record import Outcome
from lab.chaos.rounds import Hosts, draw
from lab.cli import main
from lab.errors import LabError
from lab.store import CHECKOUT

CASES = yaml.load((CHECKOUT / "tests/fixtures/chaos.yaml").read_text(), yaml.CSafeLoader)
SEEDS = range(12)


def hosts(name: str) -> Hosts:
    fields = {field.name for field in dataclasses.fields(Hosts)}
    return Hosts(**{key: value for key, value in CASES["hosts"][name].items() if key in fields})


TINY = hosts("tiny")


def look(changes: dict[str, Any]) -> Look:
    made = {**CASES["look"], **changes}
    osds = {uuid: tuple(osd) for uuid, osd in made["osds"].items()}
    return Look(**{**made, "osds": osds, "keys": frozenset(made["keys"]), "quorum": frozenset(made["quorum"])})


@pytest.mark.parametrize("seed", SEEDS)
def test_a_round_is_drawn_from_its_seed_and_number_alone(seed: int) -> None:
    drawn = [draw(seed, number, TINY) for number in range(1, 41)]
    assert drawn == [draw(seed, number, TINY) for number in range(1, 41)]
    assert drawn[16] == draw(seed, 17, TINY)
    assert len({dataclasses.astuple(each)[2:] for each in drawn}) > 35  # and they differ


def test_other_seeds_are_other_rounds() -> None:
    assert len({tuple(draw(seed, number, TINY).text for number in range(1, 5)) for seed in SEEDS}) == len(SEEDS)


@pytest.mark.parametrize("seed", SEEDS)
def test_ten_rounds_have_every_fault_and_every_stage(seed: int) -> None:
    drawn = [draw(seed, number, TINY) for number in range(1, 41)]
    assert {each.fault for each in drawn[:10]} == set(rounds.FAULTS) == set(FAULTS)
    assert {each.stage for each in drawn[:10]} == set(rounds.ORDER)
    assert {each.change for each in drawn} == {rounds.SETTINGS, rounds.REPLACEMENT}
    assert Counter(each.stage for each in drawn)["deploy"] == 15


@pytest.mark.parametrize("name", CASES["hosts"])
@pytest.mark.parametrize("seed", SEEDS)
def test_never_more_than_one_failure_domain_is_taken(name: str, seed: int) -> None:
    """Clients are served without what a fault takes; what a restart takes comes alone; the load runs on."""
    there = hosts(name)
    spared = CASES["hosts"][name].get("spared", ["node1", "node2", "node3"])
    for each in (draw(seed, number, there) for number in range(1, 33)):
        if each.fault in rounds.SERVED:
            assert each.stage != "restart" and each.host in spared and each.host in there.daemons
        if each.fault in ("host", "network"):
            assert each.host not in (there.master, there.load)
        kinds = there.daemons.get(each.host, ())
        known = {"daemons": kinds, "disk": there.slots.get(each.host), "network": there.networks.get(each.host)}
        assert each.detail in known.get(each.fault, ("KILL", "TERM", "INT", ""))
        assert 0 <= each.part <= rounds.LAST and rounds.HOLD[0] <= each.hold <= rounds.HOLD[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_disk_is_replaced_only_where_another_of_its_host_takes_its_data(seed: int) -> None:
    """With as many hosts as copies they are its only place: it would never be safe to destroy."""
    one = dataclasses.replace(TINY, data={**TINY.data, "node1": ("0",)})
    disks = {draw(seed, number, one).disk for number in range(1, 200)} - {("", "")}
    assert {host for host, _ in disks} == {"node2", "node3"}
    none = dataclasses.replace(TINY, data=dict.fromkeys(TINY.data, ("0",)))
    assert {draw(seed, number, none).change for number in range(1, 41)} == {rounds.SETTINGS}


def test_the_masters_own_cache_is_never_full() -> None:
    """Salt prints tracebacks of that, and the lock of stages lies in it: what would hide them is no full disk."""
    assert faults.CACHE == "/var/cache/salt/minion"


def test_stages_run_in_their_order_before_and_after() -> None:
    for change_ in (rounds.SETTINGS, rounds.REPLACEMENT):
        assert rounds.before("prep", change_) == rounds.before("discovery", change_) == ()
    assert rounds.before("deploy", rounds.REPLACEMENT) == ("discovery", "configure")
    assert rounds.before("deploy", rounds.SETTINGS) == rounds.before("services", rounds.SETTINGS) == ("configure",)
    assert rounds.before("restart", rounds.SETTINGS) == ("configure", "deploy")
    assert rounds.again("deploy") == ("discovery", "configure", "deploy", "services")
    assert rounds.again("prep") == ("prep", "discovery", "configure", "deploy", "services")
    assert rounds.again("restart")[-1] == "restart"


@pytest.mark.parametrize("case", CASES["looks"], ids=lambda case: case["name"])
def test_what_is_not_whole_or_not_as_planned_is_said(case: dict[str, Any]) -> None:
    said = judge.problems(look(case["change"]), look(case.get("before", {})))
    assert len(said) == len(case["said"]), said
    assert all(word in each for word, each in zip(case["said"], said, strict=True)), said


def test_a_look_is_read_of_what_ceph_answers() -> None:
    """The fields of 16.2's JSON that are used, no others."""
    status = {
        "health": {"checks": {"OSD_DOWN": {"severity": "HEALTH_WARN", "summary": {"message": "1 osds down"}}}},
        "quorum_names": ["node1"],
        "mgrmap": {"available": True, "num_standbys": 2},
        "fsmap": {"by_rank": [{"rank": 0, "name": "node2", "status": "up:active"}], "up:standby": 2},
        "pgmap": {"pgs_by_state": [{"state_name": "active+clean", "count": 33}], "degraded_objects": 7},
    }
    dump = {"osds": [{"osd": 4, "uuid": "aaaa", "up": 1, "in": 0}]}
    auth = {"auth_dump": [{"entity": "osd.4", "key": "x"}, {"entity": "client.osd.9"}, {"entity": "mgr.node1"}]}
    seen = judge.look(status, dump, auth, [])
    assert (seen.checks, seen.osds, seen.keys) == ({"OSD_DOWN": "1 osds down"}, {"aaaa": (4, True, False)}, {4})
    assert (seen.managers, seen.metadata, seen.quorum) == (3, 3, {"node1"})
    assert (seen.groups, seen.copies) == ({"active+clean": 33}, 7)


@pytest.mark.parametrize("case", CASES["ends"], ids=lambda case: f"{case['fault']} {case['detail']} {case['code']}")
def test_how_a_struck_stage_may_end(case: dict[str, Any]) -> None:
    fault = FAULTS[case["fault"]]
    names = case["host"] if fault.named else ""
    said = judge.behaved(case["code"], case["text"], fault.codes(case["detail"]), names, fault.excused)
    assert len(said) == len(case["said"]), said
    assert all(word in each for word, each in zip(case["said"], said, strict=True)), said


@pytest.mark.parametrize("case", CASES["moments"], ids=lambda case: str(case["part"]))
def test_a_moment_is_a_step_and_the_seconds_since(case: dict[str, Any]) -> None:
    steps = [] if case.get("unknown") else [(step, seconds) for step, seconds in CASES["steps"]]
    assert moment.moment(steps, case["part"]) == (case["step"], case["seconds"])


def test_a_run_log_tells_lengths_and_how_far_a_run_is() -> None:
    log = CASES["log"]
    whole = moment.parse(log)
    assert moment.lengths(whole) == [("stage.begin", 2.0), ("validate.deploy", 1.5)]
    assert moment.lengths(moment.parse(log.replace('"end", "result": "done"', '"end", "result": "failed"'))) == []
    begun = moment.parse(log[: log.index("validate.deploy")])  # its line is half written
    assert moment.lengths(begun) == [] and moment.lengths([]) == []
    assert moment.begun(begun, None) == "it" and not moment.begun(begun, "validate.deploy")
    assert not moment.begun([], None) and moment.begun(whole, "validate.deploy") == "validate.deploy"


def test_a_step_that_a_run_leaves_out_is_not_waited_for() -> None:
    """The fault comes in the next step that there is, not after the end of the stage."""
    usual = [("stage.begin", 2.0), ("left.out", 9.0), ("validate.deploy", 1.5)]
    whole = moment.parse(CASES["log"])
    assert moment.begun(whole, "left.out", usual) == "validate.deploy" and not moment.begun(whole, "left.out")
    assert not moment.begun(whole[:1], "left.out", usual) and not moment.begun(whole, "left.out", usual[:2])


@pytest.mark.parametrize(("seconds", "owed"), [(20, 0), (96, 0), (99, 0), (100, 1), (296, 50)])
def test_operations_are_owed_for_the_time_beyond_what_may_hold_a_client_up(seconds: float, owed: int) -> None:
    assert judge.owed((1000, 1000 + seconds), longest=96) == owed


def test_the_setting_is_yaml_that_the_next_round_finds_again() -> None:
    lines = [change.LINE.format(1 + number % change.VALUES, change.MARK) for number in range(8)]
    assert all(line.endswith(change.MARK) for line in lines) and len(set(lines)) == change.VALUES
    assert yaml.load(lines[0], yaml.CSafeLoader) == {"ceph_health": {"osd": {"osd_max_scrubs": {"value": "1"}}}}


def outcome(number: int, **more: Any) -> Outcome:
    return Outcome(draw(7, number, TINY), f"python -m lab chaos --seed 7 --round {number}", **more)


def test_the_report_names_what_was_wrong_and_how_to_repeat_it(tmp_path: Path) -> None:
    rows = [outcome(1, moment="1.0 s after [x] began", status=0), outcome(2, problems=["osd.0 is [down]"], broken=True)]
    console = Console(file=StringIO(), width=200)
    record.shown(rows, console)
    text = console.file.getvalue()
    assert "round 2 of 7: osd.0 is [down]" in text and "--round 2" in text and "--round 1" not in text
    record.write(tmp_path / "x" / "7.json", "tiny", rows)
    told = yaml.load((tmp_path / "x" / "7.json").read_text(), yaml.CSafeLoader)
    assert [each["what"]["number"] for each in told["rounds"]] == [1, 2] and told["rounds"][1]["broken"] is True
    assert record.read(tmp_path / "x" / "7.json") == rows


@pytest.mark.slow
def test_reports_of_several_days_are_one_table(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    load = {"rados": {"stall": 3.25}, "s3": {"stall": 41.0}}
    record.write(tmp_path / "1.json", "tiny", [outcome(1, load=load, span=[5.0, 9.0])])
    record.write(
        tmp_path / "2.json", "tiny", [outcome(2, load={"rados": {"stall": 7.0}}, status=1, moment="3.0 s after x")]
    )
    assert main(["chaos", "--report", str(tmp_path / "1.json"), str(tmp_path / "2.json")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "2 of 2 rounds whole, 0 struck no stage; longest stalls: rados 7.0 s, s3 41.0 s" in text
        and "3.2 s 41.0 s whole" in text
    )
    assert "7.0 s - whole" in text
    record.write(tmp_path / "2.json", "tiny", [outcome(2, problems=["osd.0 is down"], moment=moment.LATE)])
    assert main(["chaos", "--report", str(tmp_path / "1.json"), str(tmp_path / "2.json")]) == 1
    assert "1 of 2 rounds whole, 1 struck no stage" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"rounds": [{"what": {}}]}', '{"rounds": 3}', '{"rounds": [{"what": {"disk": 3}}]}']
)
def test_what_is_no_report_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    with pytest.raises(LabError, match="x.json is no report of chaos: FileNotFoundError"):
        main(["chaos", "--report", str(path)])
    path.write_text(text)
    with pytest.raises(LabError, match="x.json is no report of chaos"):
        main(["chaos", "--report", str(path)])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--rounds 0", "--rounds 0; expected a number from 1 to 1000"),
        ("--rounds 1001", "expected a number from 1 to 1000"),
        ("--seed -1", "a seed of -1; expected a number from 0"),
        ("--seed 3 --round 0", "--round 0; expected a number from 1"),
        ("--round 3", "say which seed with --seed"),
        ("--from 3", "say which seed with --seed"),
        ("--seed 3 --from 0", "--from 0; expected a number from 1"),
    ],
)
def test_bad_words_are_refused_before_a_lab_is_looked_for(words: str, said: str) -> None:
    with pytest.raises(LabError) as refused:
        main(["chaos", *words.split()])
    assert said in str(refused.value)
