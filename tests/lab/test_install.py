"""The install command of docs/howto/install.md on a Salt master that the lab did not make, and its undoing."""

import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from docker import DockerClient

from lab import base, daemon, image
from lab.store import CHECKOUT

pytestmark = pytest.mark.big
NAME = "halocline-plain"
# Salt from pip, without what newer releases bring along (rich); another site's states, pillar, runners beside ours.
SITE = r"""
set -e
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends python3-venv procps >/dev/null 2>&1
python3 -m venv /opt/salt
/opt/salt/bin/pip install -q --no-index --find-links /wheels salt
/opt/salt/bin/pip uninstall -q -y rich
mkdir -p /etc/salt/master.d /etc/salt/minion.d /srv/site/states /srv/site/pillar /srv/site/runners
echo 'file_roots: {base: [/srv/site/states]}' >/etc/salt/master
echo 'pillar_roots: {base: [/srv/site/pillar]}' >/etc/salt/master.d/site.conf
echo 'runner_dirs: [/srv/site/runners]' >/etc/salt/master.d/runners.conf
echo 'master: 127.0.0.1' >/etc/salt/minion.d/own.conf
echo own1 >/etc/salt/minion_id
echo "base: {'*': [site]}" | tee /srv/site/states/top.sls >/srv/site/pillar/top.sls
echo 'site-state: {test.nop: []}' >/srv/site/states/site.sls
echo 'word: theirs' >/srv/site/pillar/site.sls
echo 'def answers(): return "theirs"' >/srv/site/runners/site.py
"""
# Every file, link and folder with mode and content, but for what Salt makes by itself.
WHAT_IS_THERE = r"""
set -f
beside="/etc/logrotate.d /usr/local/share"
apart="! -path */pki* ! -path *__pycache__* ! -name _schedule.conf"
find /etc/salt $beside /srv /var/lib/halocline /opt/salt/lib $apart -printf '%p %y %m %l\n' 2>/dev/null | sort
find /etc/salt $beside /srv /opt/salt/lib -type f $apart -exec sha256sum {} + | sort -k 2
"""
# As its unit would: ended, gone, started.
RESTART = (
    "pid=$(cat /var/run/salt-master.pid); kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.2; done; "
    "for i in $(seq 20); do salt-master -d && exit; sleep 1; done; exit 1"
)
INSTALL = "python3 /opt/checkout/srv/install"


class Plain:
    """A plain container."""

    def run(self, command: str, check: bool = True, limit: float = 300) -> subprocess.CompletedProcess[str]:
        words = ["docker", "exec", "-e", "PIP_NO_INDEX=1", "-e", "PIP_FIND_LINKS=/wheels", NAME, "bash", "-c"]
        typed = f"export PATH=/opt/salt/bin:$PATH; {command}"
        done = subprocess.run([*words, typed], capture_output=True, text=True, timeout=limit, check=False)
        assert not (check and done.returncode), f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def until(self, command: str, limit: float = 120) -> None:
        end = time.monotonic() + limit
        while self.run(command, check=False).returncode:
            assert time.monotonic() < end, f"after {limit} s: {command}"


@pytest.fixture(scope="module")
def plain() -> Iterator[Plain]:
    client = daemon.ensure()
    with ThreadPoolExecutor() as pool:
        wheels = pool.submit(image.wheelhouse)
        base.ensure(client)
    _remove(client)
    binds = [f"{wheels.result()}:/wheels:ro", f"{CHECKOUT}:/opt/checkout:ro"]
    client.containers.run(f"{base.NAME}:{base.TAG}", "sleep infinity", name=NAME, volumes=binds, init=True, detach=True)
    made = Plain()
    made.run(SITE, limit=500)
    yield made
    _remove(client)


def _remove(client: DockerClient) -> None:
    for container in client.containers.list(all=True, filters={"name": f"^/{NAME}$"}):
        container.remove(force=True)


def test_installed_restarted_used_undone(plain: Plain) -> None:
    before = plain.run(WHAT_IS_THERE).stdout
    assert "/srv/site/pillar/top.sls" in before  # it can see
    plain.run("salt-master -d; salt-minion -d")
    plain.until("echo y | salt-key -A >/dev/null; test -e /etc/salt/pki/master/minions/own1")

    plain.run("mkdir /srv/halocline; echo theirs >/srv/halocline/file")
    refused = plain.run(INSTALL, check=False)
    assert refused.returncode == 1 and "/srv/halocline exists and is not ours" in refused.stderr
    plain.run("rm -r /srv/halocline")
    assert plain.run(WHAT_IS_THERE).stdout == before

    plain.run(INSTALL)
    assert '"/var/log/halocline/disk.wipe.jsonl"' in plain.run("cat /etc/logrotate.d/halocline").stdout
    once = plain.run(WHAT_IS_THERE).stdout
    assert "/usr/local/share/bash-completion/completions/salt-run" in once
    plain.run(INSTALL)
    assert plain.run(WHAT_IS_THERE).stdout == once != before
    plain.run(RESTART)
    plain.until("salt --out txt own1 test.ping | grep True")
    asked = plain.run("salt-run minions.ours", check=False)
    assert asked.returncode == 2 and "ceph_minions" in asked.stdout and "accepted are own1" in asked.stdout
    plain.run("mkdir /srv/site/pillar/ceph; echo \"ceph_minions: 'own*'\" >/srv/site/pillar/ceph/minions.sls")
    plain.run("salt-run saltutil.sync_all; salt own1 saltutil.sync_all; salt-run discovery.collect")
    peeked = plain.run("salt-run proposal.peek").stdout  # a plain container has no disk of its own
    assert "own1" in peeked and "no OSD is planned: no targeted host has a free disk" in peeked
    theirs = "salt-run site.answers; salt --out txt own1 state.apply; salt own1 pillar.item word ceph_minions"
    told = plain.run(theirs).stdout
    assert "theirs" in told and "site-state" in told and "ceph_minions" in told

    plain.run("python3 /srv/halocline/srv/install --undo; rm -r /srv/site/pillar/ceph")
    assert plain.run(WHAT_IS_THERE).stdout == before
    plain.run(RESTART)
    plain.until("salt-run site.answers | grep theirs")
    gone = plain.run("salt-run proposal.peek", check=False)
    assert "is not available" in gone.stdout + gone.stderr


def test_what_was_edited_is_neither_replaced_nor_removed(plain: Plain) -> None:
    plain.run(INSTALL)
    plain.run("echo edited >>/srv/halocline/README.md; echo mine >/srv/halocline/mine")
    refused = plain.run(INSTALL, check=False)
    assert refused.returncode == 1 and "edited since: /srv/halocline/README.md" in refused.stderr
    undone = plain.run("python3 /srv/halocline/srv/install --undo", check=False)
    assert undone.returncode == 1 and "kept, as it was edited: /srv/halocline/README.md" in undone.stdout
    assert sorted(plain.run("ls /srv/halocline").stdout.split()) == ["README.md", "mine"]
    assert plain.run("ls /var/lib/halocline", check=False).returncode != 0
    plain.run("rm -r /srv/halocline")
