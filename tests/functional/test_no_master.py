"""Runners that ask minions, where no salt-master runs: one message, no traceback; real `salt-run` processes."""

import json
import tarfile
from pathlib import Path

import pytest
from saltmaster import Master, side_by_side

from proposals.stages.lines import line
from proposals.stages.records import Run
from runners import support

pytestmark = pytest.mark.processes
ASKING = [
    ["tuning.check"],
    ["networks.bonds"],
    ["stage.begin", "prep"],
    ["discovery.collect"],
]


@pytest.fixture(scope="module")
def master(salt_factories):
    """A master that is configured and does not run."""
    made = salt_factories.salt_master_daemon("alone", factory_class=Master)
    made.accept("node1")
    return made


@pytest.fixture(scope="module")
def answers(master):
    return dict(zip((words[0] for words in ASKING), side_by_side(master.typed, ASKING), strict=True))


@pytest.mark.parametrize("verb", [words[0] for words in ASKING])
def test_no_master_is_one_message(answers, verb):
    done = answers[verb]
    assert (done.returncode, done.stderr) == (2, "")
    assert len(done.stdout.splitlines()) == 1 and "is salt-master running?" in done.stdout


def test_the_steps_of_a_stage_can_be_listed_before_it_runs(master):
    done = master.asked("state.orchestrate_show_sls", "ceph.stage.services")
    assert (done.returncode, done.stderr) == (0, "")
    (steps,) = done.data.values()
    assert list(steps) == [f"ceph-stage-services-{step}" for step in ("begin", "check", "maintenance", "up", "left")]


def test_a_step_that_the_site_replaces_at_its_old_path_is_named_by_the_stage(master):
    old = master.root / "salt/ceph/mds/init.sls"
    old.parent.mkdir(parents=True)
    old.touch()
    step = {"name": "validate.prep", "check": "validate.prep"}
    (master.root / "salt/alone.sls").write_text(json.dumps({"checks": {"step.runner": [step]}}))
    done = master.asked("state.orch", "alone")
    assert (done.returncode, done.stderr) == (0, "")
    result, _ = Run("1").records(["salt", "run", "1", "ret"], {"return": done.data})
    assert f"{old} takes no effect any more" in line(result)


def test_what_a_ticket_needs_is_packed_all_the_same(master):
    """However many archives lie there: the newest are kept."""
    logs, log = master.root / "run-logs", Path(master.opts()["log_file"])
    logs.mkdir(exist_ok=True)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("half of a password\n".rjust(support.TAIL, "x"))
    with log.open("a") as file:
        file.write("whole\n")  # the archive begins six bytes later, within the line before it
    for day in range(9):
        (logs / f"support-2026010{day}T000000.tar.gz").touch()
    (logs / "prep-20260101T000000.jsonl").symlink_to("/proc/self/mem")  # which root too cannot read from its beginning
    done = master.asked("support.collect")
    assert (done.returncode, done.stderr) == (0, "")
    with tarfile.open(done.data["file"]) as packed:
        (versions,) = (member for member in packed if member.name.endswith("versions.json"))
        (problem,) = json.load(packed.extractfile(versions))["problems"]
        (end,) = (member for member in packed if member.name.endswith("salt-master.log"))
        assert packed.extractfile(end).read().startswith(b"whole\n")
        (unread,) = (member for member in packed if member.name.endswith("prep-20260101T000000.jsonl"))
        assert packed.extractfile(unread).read() == b"it cannot be read: Input/output error\n"
    assert "is salt-master running?" in problem
    kept = sorted(logs.glob("support-*.tar.gz"))
    assert len(kept) == support.KEPT and str(kept[-1]) == done.data["file"]
