"""Whom a stage changes: real minions, of which one is silent and one fails in a step; a stage of the site's own."""

import json
import signal
import subprocess
import time
from contextlib import ExitStack
from typing import TextIO

import pytest
from saltmaster import Master, Typed

pytestmark = pytest.mark.processes
# First a step that fails on node2, then one that leaves a change on whoever gets it and tells of its OSDs as osd.deploy
# does, then what was left out.
STAGE = """
own-begin:
  step.begin:
    - name: stage.begin
    - stage: own
    - needs: answering
    - only: {{ pillar['ceph_only'] | tojson }}
    - failhard: True
own-first:
  step.state:
    - sls: own.first
    - go_on: True
    - failhard: True
    - require:
      - step: own-begin
own-second:
  step.state:
    - sls: own.second
    - hosts: [node1, node2, node3]
    - failhard: True
    - require:
      - step: own-first
own-left:
  step.end:
    - name: targets.left
    - failhard: True
    - require:
      - step: own-second
"""
STATE = """
own-{name}:
  test.configurable_test_state:
    - changes: {changes}
    - result: {{{{ {result} }}}}
    - comment: no space
"""
OSDS = """
own-osds:
  module.run:
    - event.send:
      - tag: halocline/osd
      - data: {made: 1, failed: 0, of: 2}
    - test.sleep:
      - length: 1
"""


@pytest.fixture(scope="module")
def master(salt_factories):
    """A master with two minions that run."""
    made = salt_factories.salt_master_daemon("taking", factory_class=Master)
    files = {
        "ceph/stage/own.sls": STAGE,
        "own/first.sls": STATE.format(name="first", changes=False, result="grains['id'] != 'node2'"),
        "own/second.sls": STATE.format(name="second", changes=True, result="true") + OSDS,
    }
    for path, text in files.items():
        (made.root / "salt" / path).parent.mkdir(parents=True, exist_ok=True)
        (made.root / "salt" / path).write_text(text)
    with ExitStack() as running:
        running.enter_context(made.started())
        for name in ("node1", "node2"):
            running.enter_context(made.salt_minion_daemon(name).started())
        yield made


@pytest.fixture
def silent(master):
    """A third minion that is accepted and does not run; each run waits for it."""
    key = master.accept("node3")
    yield "node3"
    key.unlink()


def changed(master):
    """Who got the last step, by the newest run's log."""
    log = max((master.root / "run-logs").iterdir(), key=lambda path: path.stat().st_mtime)
    records = [json.loads(line) for line in log.read_text().splitlines()]
    return [each["minion"] for each in records if each["event"] == "minion" and each["step"] == "own-second"]


def test_what_is_broken_holds_back_only_itself_and_is_named_at_the_end(master, silent):
    done = master.typed("stage.run", "own")
    assert (done.returncode, done.stderr) == (1, "")
    assert changed(master) == ["node1"]
    end = done.stdout.partition("changed: own-second: node1\n")[2]
    assert "node2: left out: failed in own-first: own-first: no space; mend that and run the stage again" in end
    assert "node3: left out: does not answer; start its salt-minion" in end


def test_a_silent_host_beside_those_of_a_run_is_nobodys_concern(master, silent):
    done = master.typed("stage.run", "own", "only=node[1]*")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert "own: begun by" in done.stdout and ", only node[1]*\n" in done.stdout
    assert changed(master) == ["node1"]
    named = [line for line in done.stdout.splitlines() if silent in line]
    assert all(line.endswith(f"waits for {silent}") for line in named), named  # the first step asks all what runs there


def test_each_step_and_each_osd_is_told(master):
    done = master.typed("stage.run", "own", "only=node1")
    assert (done.returncode, done.stderr) == (0, "") and "\x1b" not in done.stdout
    lines = done.stdout.splitlines()
    steps = [line for line in lines if line.startswith("step ")]
    names = ("stage.begin", "own-first", "own-second", "targets.left")
    assert steps == [f"step {at} of 4: {name}" for at, name in enumerate(names, 1)][1:]  # the log begins with the first
    assert lines[lines.index("step 3 of 4: own-second") + 1] == "  node1 1 of 2 OSDs"
    assert lines[-2:] == ["changed: own-second: node1", "stage own: done, changed"]
    again = master.typed("stage.last")
    assert [line for line in again.stdout.splitlines() if line.startswith("step ")] == steps


def interruptible(words: list[str], output: TextIO) -> subprocess.Popen:
    """Start a command that takes Ctrl-C, also where a shell started these tests in the background, which ignores it."""

    def restore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    return subprocess.Popen(words, stdout=output, stderr=output, preexec_fn=restore)


def ended(process: subprocess.Popen) -> int:
    """Its exit status; it is killed where it does not end within a minute."""
    try:
        return process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def test_whoever_watches_is_told_the_same(master, tmp_path):
    words = master.salt_run_cli(factory_class=Typed).cmdline("stage.watch")
    with (tmp_path / "told").open("w") as told, interruptible(words, told) as watch:
        try:
            for _ in range(5):  # until it looks: it says nothing before a stage runs
                lines = master.typed("stage.run", "own", "only=node1").stdout.splitlines()
                time.sleep(2)  # it looks five times a second
                if seen := (tmp_path / "told").read_text().splitlines():
                    break
        finally:
            watch.send_signal(signal.SIGINT)
            code = ended(watch)
    assert code == 0 and len(lines) > 5
    assert seen[:-1] == lines[:-1] and seen[-1].startswith("own: done") and lines[-1].startswith("stage own: done")


def test_plain_salt_is_told_by_its_pillar(master):
    done = master.typed("state.orch", "ceph.stage.own", 'pillar={"ceph_only": "node1"}')
    assert (done.returncode, done.stderr) == (0, "")
    assert "only=node1: 1 of 2 hosts: node1" in done.stdout and changed(master) == ["node1"]
    assert "Comment: changed: own-second: node1\n" in done.stdout  # the last step's: a summary for whoever reads this


def test_a_step_that_fails_on_each_of_its_hosts_ends_the_stage(master, silent):
    done = master.typed("stage.run", "own", "only=node[23]")
    assert done.returncode == 1 and changed(master) == []
    assert "it failed on each of its hosts" in done.stdout
    assert "\nnothing changed\nnode3: left out: does not answer; start its salt-minion" in done.stdout


def test_a_pattern_that_names_nobody_is_refused_before_anybody_is_asked(master):
    before = list((master.root / "run-logs").iterdir())
    for words in (["stage.run", "own"], ["stage.plan", "own"]):
        done = master.typed(*words, "only=nodd*")
        assert done.returncode == (2 if "stage.run" in words else 1) and "Traceback" not in done.stdout
        assert done.stdout.strip().endswith("only=nodd*: no minion is called so: did you mean node1, node2?")
    assert list((master.root / "run-logs").iterdir()) == before


def test_what_may_have_been_meant_for_some_hosts_never_means_all(master):
    """A variable of the shell that is not set, and a key that is misspelt, which Salt itself takes without a word."""
    before = list((master.root / "run-logs").iterdir())
    for words in (["stage.run", "own"], ["stage.plan", "own"], ["policy.push"]):
        done = master.typed(*words, "only=")
        assert (done.returncode, done.stdout.strip()) == (2, "only= names no host: leave it out for all"), done
    for pillar, says in (
        ({"ceph_only": ""}, "only= names no host: leave it out for all"),
        ({"ceph_onyl": "node1"}, "pillar: 'ceph_onyl' is nothing that a stage reads: did you mean 'ceph_only'?"),
    ):
        done = master.typed("state.orch", "ceph.stage.own", f"pillar={json.dumps(pillar)}")
        assert done.returncode == 1 and says in done.stdout and "Traceback" not in done.stdout, done
    assert list((master.root / "run-logs").iterdir()) == before


def test_a_plan_tells_whom_it_is_about(master):
    done = master.typed("stage.plan", "own", "only=node1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("own-begin: only=node1: 1 of 2 hosts: node1\n2 minions answer\n")
    assert "would  node1: own-second" in done.stdout and "node2: own-second" not in done.stdout
