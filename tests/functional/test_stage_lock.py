"""One stage at a time, however the first one ends: real `salt-run state.orch` processes, no daemon needed."""

import json
import os
import subprocess
import time

import pytest
import salt.utils.args
from saltmaster import Master, Typed

from runners.engine.runs import stage_child, stage_lock

pytestmark = pytest.mark.processes
# Begin a stage, which takes the lock, and stay a while though nobody answers; begin another one meanwhile.
HOLDS = """
holds-lock:
  step.runner:
    - name: stage.begin
    - stage: deploy
    - members: [node1]
holds-on:
  step.runner:
    - name: test.sleep
    - s_time: 60
"""
BEGINS = """
begins:
  step.runner:
    - name: stage.begin
    - stage: prep
    - members: [node1]
"""


@pytest.fixture(scope="module")
def master(salt_factories):
    made = salt_factories.salt_master_daemon("lock", factory_class=Master)
    (made.root / "salt" / "holds.sls").write_text(HOLDS)
    (made.root / "salt" / "begins.sls").write_text(BEGINS)
    return made


@pytest.fixture(scope="module")
def runners(master):
    return master.runners()


def test_the_lock_names_its_holder_and_goes_with_its_process(master):
    note = master.root / "cache" / "halocline" / "stage.json"
    words = master.salt_run_cli(factory_class=Typed).cmdline("state.orch", "holds", "pillar={secret: hush}")
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        deadline = time.monotonic() + 60
        while not note.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        job = json.loads(note.read_text())
        refused, holder = master.typed("state.orch", "begins"), stage_lock.holder(master.opts())
        first.kill()
    assert (job["pid"], job["stage"], job["arguments"]) == (first.pid, "deploy", ["holds", "pillar=['secret']"])
    assert holder["pid"] == first.pid
    assert refused.returncode == 1
    for word in ("stage deploy is running", f"by {job['user']}", job["since"], job["jid"], f"process {first.pid}"):
        assert word in refused.stdout
    assert [path.name.partition("-")[0] for path in (master.root / "run-logs").iterdir()] == ["deploy"]  # not prep
    assert note.exists() and stage_lock.holder(master.opts()) is None  # killed, not ended: the note lies there


# What changes something, as it is typed: none of it works beside a stage.
BESIDE = """
ceph.adopt | ceph.purge fsid=5d71d314-c738-8774-a70a-295e4ecab6c8 | crush.move | crush.reclass | daemon.restart
disk.wipe node1 /dev/sda serial=none | links.deploy | maintenance.begin node1 | maintenance.end node1
master.backup key folder | mon.remove node1 | operate.policy text= | osd.fill | osd.migrate | osd.remove 1
osd.replace 1 | policy.push | pool.change a | pool.delete a a | removal.cancel | removal.carry_out | secret.revoke a
secret.rotate a | secret.take a file | service.up | updates.apply | upgrade.carry_out
"""


@pytest.mark.parametrize("words", [words.strip() for line in BESIDE.split("\n") for words in line.split("|") if words])
def test_what_changes_something_is_refused_beside_a_stage(runners, monkeypatch, words):
    name, *typed = words.split()
    monkeypatch.setattr(stage_lock, "holder", lambda opts: {"stage": "deploy"})
    args, named = salt.utils.args.parse_input(typed, condition=False)
    assert "stage deploy is running" in runners[name](*args, **named)["error"]


def test_a_step_of_a_stage_is_not_beside_it(master):
    opts, own = master.opts(), {"pid": os.getpid(), "born": stage_lock.born(os.getpid()), "stage": "deploy"}
    stage_lock.note(opts, own)
    stage_lock.free(opts)
    stage_lock.note(opts, {**own, "born": 1})  # another process had the number
    assert stage_lock.holder(opts) is None


def test_a_note_that_a_power_failure_emptied_holds_nothing_back(master):
    stage_lock.note(master.opts(), {})
    (master.root / "cache/halocline/stage.json").write_text("")
    assert stage_lock.noted(master.opts()) is None
    stage_lock.free(master.opts())


def test_a_stage_that_ends_by_itself_meanwhile_is_stopped(monkeypatch):
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    runs = iter([True, False, False])
    monkeypatch.setattr(stage_lock, "runs", lambda job: next(runs, False))
    stage_child.end({"pid": gone.pid, "born": 1})
