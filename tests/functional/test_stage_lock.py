"""One stage at a time, however the first one ends: real `salt-run state.orch` processes, no daemon needed."""

import json
import subprocess
import time

import pytest
from saltmaster import Master, Typed

from runners.engine import stage_lock

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
