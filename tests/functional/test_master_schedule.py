"""A backup on Salt's own schedule, as docs/howto/back-up-the-master.md has it: a master that runs, and a real age."""

import json
import re
import subprocess
import time

import pytest
import yaml
from saltmaster import CHECKOUT, Master

from lab import daemon

pytestmark = pytest.mark.processes
PAGE = CHECKOUT / "docs/howto/back-up-the-master.md"
PATIENCE = 240  # seconds: a master starts, its schedule begins


@pytest.fixture
def master(salt_factories, tmp_path):
    daemon.install_missing({"age": "age", "age-keygen": "age"})
    made = salt_factories.salt_master_daemon("scheduled", factory_class=Master)
    (block,) = re.findall(r"^```yaml\n(schedule:.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    settings = yaml.load(block, yaml.CSafeLoader)
    (job,) = settings["schedule"].values()
    assert job.pop("hours") == 24
    private = subprocess.run(["age-keygen"], check=True, capture_output=True, text=True).stdout
    made.private = tmp_path / "backup.key"
    made.private.write_text(private)
    public = next(word for word in private.split() if word.startswith("age1"))
    made.archives = tmp_path / "archives"
    made.archives.mkdir()
    job |= {"seconds": 2}
    job["kwargs"] |= {"recipient": public, "folder": str(made.archives), "keep": 2}
    path = made.root / "conf/master.d/backup.conf"
    path.write_text(yaml.safe_dump({**settings, "loop_interval": 1}))
    (made.pillar / "proposals").mkdir(parents=True)
    (made.pillar / "proposals/policy.cfg").write_text("cluster-ceph/cluster/*.sls\n")
    return made


def test_the_masters_schedule_backs_it_up_and_keeps_as_many_as_asked(master):
    log = master.root / "run-logs/master.backup.jsonl"
    end = time.monotonic() + PATIENCE
    with master.started():
        while not log.exists() or log.read_text().count('"written"') < 3:
            assert time.monotonic() < end, f"no third backup: {log.read_text() if log.exists() else 'none'}"
            time.sleep(0.5)
        told = [json.loads(line) for line in log.read_text().splitlines()]  # now: its end may cut one off
    failed = [each for each in told if each["event"] != "written"]
    # On a busy machine one begins before the last has ended.
    assert all("master.backup is running" in each["why"] for each in failed), failed
    archives = sorted(master.archives.glob("halocline-*.tar.gz.age"))
    assert 2 <= len(archives) <= 3  # one more where it was cut off before the oldest went
    listed = subprocess.run(
        f"age --decrypt --identity {master.private} {archives[-1]} | tar -tz", shell=True, check=True,
        capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    assert listed[0] == "manifest.json" and "pillar/ceph/proposals/policy.cfg" in listed
    assert any(name.endswith("/master.pem") for name in listed if name.startswith("pki/"))
