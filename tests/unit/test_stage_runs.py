"""What a stage finds where another was killed, a disk was full, the clock went back, or a minion tells nonsense."""

import os
import resource
from types import SimpleNamespace

import pytest
import salt.payload

from proposals.stages import orchestrations
from proposals.stages.lines import line
from runners.engine.asking import jobs
from runners.engine.looks import stage_jobs
from runners.engine.runs import stage_lock, stage_log, stage_recorder

SCHEDULED = {"id": "node1", "schedule": "nightly", "pid": 7, "jid": "7"}  # as salt/utils/schedule.py writes it


@pytest.mark.parametrize(
    ("job", "told"),
    [
        ({**SCHEDULED, "fun": "mine.update", "fun_args": []}, None),
        ({**SCHEDULED, "fun": "state.apply", "fun_args": ["web", {"test": True}]}, "state.apply web"),
        ({**SCHEDULED, "fun": "state.highstate", "fun_args": []}, "state.highstate"),
        ({"jid": "7", "fun": "state.apply", "arg": [{"__kwarg__": True, "pillar": {"a": "hush"}}]}, "state.apply"),
        ({"jid": "7", "fun": "state.apply"}, "state.apply"),
        ({"jid": "7", "fun": ["state.apply"], "arg": None}, None),
        ({}, None),
        ("words", None),
    ],
)
def test_what_runs_on_a_minion_is_read_whoever_began_it_and_tells_no_secret(job, told):
    runs = orchestrations.state_runs([job])
    assert (f"node1 ({told}, job 7)" if told else "") == orchestrations.named({"node1": runs} if runs else {})


def test_a_minion_that_falls_silent_while_it_is_waited_for_has_not_ended(monkeypatch):
    copies = {"jid": "9", "fun": "osd_migrate.together", "what": "f"}
    runs = {"node1": [copies], "node2": [{**copies, "fun": "state.apply", "what": ""}], "node3": [copies], "node4": []}
    monkeypatch.setattr(stage_lock, "own", lambda opts: {"left": {"node3": "is in maintenance"}})
    monkeypatch.setattr(jobs, "ask", lambda *_: SimpleNamespace(answers={}))
    said = []
    left = stage_jobs.wait({}, runs, 0, said.append)
    assert said == [orchestrations.named(left)] == [
        "node1 (osd_migrate.together f, does not answer now, job 9), "
        "node2 (state.apply does not answer now, job 9)"
    ]  # fmt: skip
    monkeypatch.setattr(jobs, "ask", lambda *_: SimpleNamespace(answers={"node1": [], "node2": []}))
    assert stage_jobs.wait({}, runs, 0, said.append) == {}


def test_what_a_first_step_asks_is_ended_and_what_a_runner_does_to_hosts_is_not(monkeypatch):
    looks = {"jid": "7", "fun": ["host_states.differing", "saltutil.running"], "arg": [[], []]}
    on = {
        "node1": [looks, {"jid": "3", "fun": ["links.apply"], "arg": [[]]}],
        "node2": [{"jid": "8", "fun": "state.sls", "arg": ["a"]}, {"jid": "9", "fun": "state.sls", "arg": ["mine"]}],
        "node3": [{"jid": "3", "fun": ["links.apply"], "arg": [[]]}, {"jid": "6", "fun": ["test.sleep"], "arg": [[9]]}],
    }
    told = []

    def term(opts, hosts, questions, timeout):
        told.append((hosts, [(each.function, each.arguments) for each in questions]))
        for host in hosts:
            on[host] = []

    monkeypatch.setattr(jobs, "ask", lambda *_: SimpleNamespace(answers=on))
    monkeypatch.setattr(jobs, "ask_several", term)
    steps = {"7": "stage.begin", "3": "links.deploy", "8": "ceph-stage-deploy-mon"}
    assert stage_jobs.end({}, steps, sorted(on)) == {"node1": "7", "node2": "8"}
    assert told == [(["node1", "node2"], [("saltutil.term_job", ["7"]), ("saltutil.term_job", ["8"])])]


@pytest.mark.parametrize("left", [b"", b"\0\0\0\0", b"\x01", b"\x85\xa3jid"])
def test_what_a_killed_orchestration_left_in_salts_job_tracker_stops_no_stage(tmp_path, left):
    opts = {"cachedir": str(tmp_path)}
    tracker = tmp_path / "proc"
    tracker.mkdir()
    (tracker / "0").write_bytes(left)
    assert stage_lock.take(opts, "prep") is None
    for jid in ("20260103", "20260101", "20260102"):  # of one that was killed, whose process id is ours now
        job = {"jid": jid, "pid": os.getpid(), "user": "root", "fun": "runner.state.orch", "fun_args": ["own", jid]}
        (tracker / jid).write_bytes(salt.payload.dumps(job))
    assert stage_lock._job(opts)["jid"] == "20260103"


class Bus:
    """Salt's event bus as far as a recorder hears it."""

    def __init__(self, events):
        self.events = list(events)

    def get_event(self, **_):
        tag, data = self.events.pop(0)
        return {"tag": tag, "data": data() if callable(data) else data}


STEP = ["salt/run/1/args", {"type": "state", "name": "a", "args": {"arg": ["x"]}}]
JOB = ["salt/job/8/new", {"jid": "8", "fun": "state.sls", "arg": ["x"], "minions": ["node1"], "_stamp": "2026"}]
STATES = {"x": {"__id__": "b", "name": "b", "__run_num__": 0, "result": True, "changes": {}, "comment": ""}}
END = ["salt/run/1/ret", {"return": {"data": {"m": STATES}}}]


def recorded(events, path):
    job = {"jid": "1", "pid": os.getpid(), "born": stage_lock.born(os.getpid())}
    return stage_recorder._follow(Bus(events), job, path, str)


@pytest.mark.parametrize(
    "odd",
    [
        ["salt/run/1", {}],
        ["salt/run/1/args", {}],
        ["salt/job/8/ret/node1", {"jid": "8", "id": "node1"}],
        ["salt/job/8/ret/node1", {"jid": "8", "id": "node1", "return": "x", "success": {"a": True}}],
        ["salt/job/8/ret/node1", {"jid": "8", "id": "node1", "return": {"a": {"result": True, "warnings": 5}}}],
    ],
)
def test_no_event_of_a_minion_ends_a_run_log(tmp_path, odd):
    path = tmp_path / "prep-1.jsonl"
    path.touch()
    end = recorded([STEP, JOB, odd, END], path)
    assert line(end) == "done, nothing changed"
    assert [each["event"] for each in stage_log.read(path)] == ["step", "job", "result", "end"]


def test_a_disk_that_is_full_for_a_while_costs_what_was_said_then(tmp_path):
    path = tmp_path / "prep-1.jsonl"
    path.touch()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def full():
        """From now on a write takes what a block still holds, then nothing."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, hard))
        return STEP[1]

    def free():
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        return END[1]

    try:
        end = recorded([STEP, ["salt/run/1/args", full], JOB, ["salt/run/1/ret", free]], path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert end["result"] == "done"
    assert [each["event"] for each in stage_log.read(path)] == ["step", "result", "end"]


def test_the_end_of_a_run_is_known_where_nothing_can_be_written(tmp_path):
    assert recorded([STEP, END], "/dev/full")["result"] == "done"


def test_a_run_log_is_made_where_the_clock_went_back(tmp_path, monkeypatch):
    monkeypatch.setattr(stage_log, "KEPT", 2)
    for name in ("prep-20360101T000000.jsonl", "prep-20360102T000000.jsonl"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (2.09e9, 2.09e9))
    job = {"stage": "prep", "pid": 1, "user": "root", "arguments": [], "jid": "20260102000000000000"}
    path = stage_log.new({"halocline_log_dir": str(tmp_path)}, job)
    assert stage_log.read(path)[0]["stage"] == "prep" and len(list(tmp_path.iterdir())) == 2
