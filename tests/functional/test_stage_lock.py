"""One stage at a time, however the first one ends: real `salt-run state.orch` processes, no daemon needed."""

import json
import subprocess
import time

import pytest
from saltmaster import Master, Typed

pytestmark = pytest.mark.processes
# Take the lock as a stage does and stay a while; begin a stage while another holds it.
HOLDS = """
holds-lock:
  step.runner:
    - name: stage_lock.take
    - stage: deploy
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
    told = master.root / "cache" / "halocline" / "stage.json"
    words = master.salt_run_cli(factory_class=Typed).cmdline("state.orch", "holds", "pillar={secret: hush}")
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        deadline = time.monotonic() + 60
        while not told.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        job = json.loads(told.read_text())
        refused, holder = master.typed("state.orch", "begins"), master.asked("stage_lock.holder")
        first.kill()
    assert (job["pid"], job["stage"], job["arguments"]) == (first.pid, "deploy", ["holds", "pillar=['secret']"])
    assert holder.data["pid"] == first.pid
    assert refused.returncode == 1
    for word in ("stage deploy is running", f"by {job['user']}", job["since"], job["jid"], f"process {first.pid}"):
        assert word in refused.stdout
    assert not list((master.root / "run-logs").glob("*")), "a refused stage leaves no run log"
    after = master.asked("stage_lock.holder")  # killed, not ended: the note lies there, nobody holds
    assert told.exists() and (after.returncode, after.stdout.strip()) == (0, "null")
