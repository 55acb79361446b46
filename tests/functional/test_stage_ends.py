"""What is said of a run whose log has no end, and what Ctrl-C ends: the runner `stage`, with processes that play it."""

import json
import os
import subprocess
from contextlib import contextmanager, redirect_stdout

import pytest
from saltmaster import Master

from runners.engine import answer
from runners.engine.runs import stage_child, stage_lock, stage_show

AT = {"time": "2026-01-01T00:00:09+0000"}
BEGUN = [
    {**AT, "event": "stage", "stage": "deploy", "user": "root", "jid": "1", "arguments": []},
    {**AT, "event": "minion", "step": "a", "job": "8", "minion": "node1", "start": "2026-01-01T00:00:01",
     "end": "2026-01-01T00:00:09", "result": "done", "changes": 1},
]  # fmt: skip
GONE = {**AT, "event": "end", "result": "interrupted", "reason": "its process has gone"}
DONE = {**AT, "event": "end", "result": "done", "changed": True}


@pytest.fixture(scope="module")
def master(salt_factories):
    return salt_factories.salt_master_daemon("ends", factory_class=Master)


@pytest.fixture(scope="module")
def runners(master):
    return master.runners()


@pytest.fixture
def log(master):
    folder = master.root / "run-logs"
    folder.mkdir(exist_ok=True)
    return folder / "deploy-20260101T000000.jsonl"


def written(log, *more):
    log.write_text("".join(json.dumps(each) + "\n" for each in [*BEGUN, *more]))


@pytest.mark.parametrize(
    ("more", "runs", "status", "says"),
    [
        ([DONE], False, 0, "\ndone, changed\n"),
        ([GONE], False, 1, "\ninterrupted: its process has gone\n"),
        (
            [],
            False,
            1,
            "\nits log has no end: its disk was full, or the master lost power or was killed: run the stage",
        ),
        ([], True, 1, "\nrunning: 'salt-run stage.watch' shows it\n"),
    ],
)
def test_a_run_without_an_end_did_not_end_well(runners, log, monkeypatch, more, runs, status, says):
    written(log, *more)
    monkeypatch.setattr(stage_lock, "holder", lambda opts: {"stage": "deploy", "log": str(log)} if runs else None)
    said = runners["stage.last"]()
    assert (said.get("retcode", 0), says in said["text"]) == (status, True), said


@pytest.mark.parametrize(
    ("also", "stage", "says"),
    [
        ("all-20260102T000000", "deploy", "since: salt-run stage.last all"),
        ("all-20251231T000000", "deploy", ""),
        ("all-20260102T000000", "all", ""),
        ("all-20260102T000000", "prep", "stage prep has not run yet\nstages were run as one since: salt-run"),
        ("all-20251231T000000", "removal", "stage removal has not run yet"),
    ],
)
def test_of_one_stage_it_is_said_that_it_ran_with_others_since(runners, log, also, stage, says):
    written(log, DONE)
    other = log.with_name(f"{also}.jsonl")
    other.write_text(log.read_text())
    try:
        text = runners["stage.last"](stage)["text"]
    finally:
        other.unlink()
    assert (says in text, "since" in text) == (True, "since" in says), text


@pytest.mark.parametrize("more", [[], [GONE]])
def test_a_stage_that_ended_well_did_so_whatever_its_log_missed(runners, log, monkeypatch, more):
    written(log, *more)
    monkeypatch.setattr(stage_child, "start", lambda *_, **__: subprocess.Popen(["true"]))
    monkeypatch.setattr(stage_child, "log", lambda *_: str(log))
    monkeypatch.setattr(stage_show, "LAST_WORDS", 0)
    said = runners["stage.run"]("deploy")
    assert (
        "retcode" not in said and "stage deploy: done, which its log does not tell: its disk was full" in said["text"]
    )


@contextmanager
def unread(full=False):
    """Standard output is a pipe whose reader has gone, as after ``| head``, or a file on a full disk."""
    reader, writer = (os.open(os.devnull, os.O_RDONLY), os.open("/dev/full", os.O_WRONLY)) if full else os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe, redirect_stdout(pipe):
        yield


@pytest.mark.slow
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("last", [DONE, {**DONE, "result": "failed", "reason": "in step a"}])
def test_a_stage_that_nobody_reads_any_more_is_waited_for(runners, log, monkeypatch, last, full):
    written(log, last)
    good = last["result"] == "done"
    child = subprocess.Popen(["sh", "-c", f"sleep 0.5; {str(good).lower()}"])
    monkeypatch.setattr(stage_child, "start", lambda *_, **__: child)
    monkeypatch.setattr(stage_child, "log", lambda *_: str(log))
    with unread(full):
        said = runners["stage.run"]("deploy")
    assert (child.poll() == 0, "retcode" not in said) == (good, good) and "stage deploy: " in said["text"]


def test_a_watch_that_nobody_reads_any_more_ends(runners, log, monkeypatch):
    written(log, DONE)
    monkeypatch.setattr(stage_lock, "holder", lambda opts: {"stage": "deploy", "log": str(log)})
    with unread():
        assert runners["stage.watch"]()["text"] == ""


def test_what_is_being_done_goes_on_where_nobody_reads_of_it():
    with unread():
        for line in ("osdnode1: stops osd.1", "osdnode1: starts osd.1"):
            answer.tell({}, line)


@pytest.mark.parametrize("ends", [KeyboardInterrupt, SystemExit])
def test_ctrl_c_ends_a_plan_too(runners, monkeypatch, ends):
    class Child(subprocess.Popen):
        """One that is interrupted while it is waited for."""

        interrupted = False

        def wait(self, timeout=None):
            if not self.interrupted:
                self.interrupted = True
                raise ends
            return super().wait(timeout)

    children = []
    monkeypatch.setattr(stage_child, "start", lambda *_, **__: children.append(Child(["sleep", "60"])) or children[0])
    try:
        with pytest.raises(ends):
            runners["stage.plan"]("deploy")
        assert children[0].wait(10) == -15
    finally:
        children[0].kill()
        children[0].wait()
