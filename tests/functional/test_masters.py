"""More than one master, tried with real ones: beside each other, one after the other, and one above with a syndic."""

import ipaddress
import shutil
import tempfile
from pathlib import Path

import pytest
import yaml
from masters import FSID, Master, fleet
from saltmaster import one_node

from proposals.files import atomic
from proposals.text.errors import PolicyError
from runners.engine.asking import minions

pytestmark = [pytest.mark.processes, pytest.mark.big]
CHOSEN = one_node("node1")


@pytest.fixture
def root():
    """A folder with a short path, which Salt's sockets need; the masters of ``running`` end with it."""
    folder = Path(tempfile.mkdtemp(prefix="masters"))
    yield folder
    fleet.remove(folder)


@pytest.fixture
def running(root):
    """A function: a master that runs, in a folder of its own."""
    made = []

    def run(name, address=1, **more):
        made.append(Master(root / name, address, **more))
        made[-1].start()
        return made[-1]

    yield run
    for each in reversed(made):
        each.stop()


def lay_out(master):
    """Say which network is the cluster's: one of this machine's own."""
    ports = master.asked(["node1"], "host_nics.inspect")["node1"]
    address = next(address for port in ports for address in port["addresses"] if ":" not in address)
    network = str(ipaddress.ip_interface(address).network)
    told = {"fsid": FSID, "public_network": network, "cluster_network": network}
    atomic.write(master.pillar / "proposals/config/stack/default/ceph/cluster.yml", yaml.safe_dump(told))


def copied(first, second):
    """Copy a master's folder with its links, which name its own path: on another machine that is the same."""
    shutil.copytree(first, second, symlinks=True)
    for link in list(filter(Path.is_symlink, second.rglob("*"))):
        if link.readlink().is_relative_to(first):
            atomic.swap_link(link, second / link.readlink().relative_to(first))


def test_two_masters_at_once_are_refused_unless_the_site_says_that_one_runs_halocline(running, root):
    one = running("a")
    other = running("b", 2, beside=one)
    one.minion("node1", root / "node1", one, other)
    one.has("node1")
    refused = one.typed("stage.run", "discovery")
    assert refused.code != 0 and refused.err == "", refused
    assert "node1: takes jobs from several masters at once" in refused.out and "several_masters: true" in refused.out
    assert "(127.0.0.1, 127.0.0.2)" in refused.out
    assert not (one.pillar / "inventory").exists()
    assert "[masters]" in one.typed("halocline.doctor").out
    lay_out(one)
    atomic.write(one.pillar / "site.sls", "several_masters: true\n")
    allowed = one.typed("stage.run", "discovery")
    assert allowed.code == 0 and (one.pillar / "inventory/node1.json").exists(), allowed
    assert "[masters]" not in one.typed("halocline.doctor").out
    # What the other master serves in place of ours takes ours away: named, and brought back by prep's sync.
    other.stop()
    (other.config / "master.d/halocline.conf").unlink()
    other.start()
    fleet.until(lambda: other.asked(["node1"], "test.ping"), "the other answers", 240)
    other.asked(["node1"], "saltutil.sync_all")
    lost = one.typed("stage.run", "discovery")
    assert lost.code != 0 and "ceph.stage.prep" in lost.out, lost
    one.has("node1")
    assert one.typed("stage.run", "discovery").code == 0


def test_a_standby_with_the_same_keys_id_and_folder_goes_on_where_the_first_ended(running, root):
    first = running("a")
    second = running("b", 2, beside=first)
    times = {"master_type": "failover", "master_alive_interval": 3, "auth_timeout": 5}
    second.minion("node1", root / "node1", first, second, **times)
    first.has("node1")
    assert not second.asked(["node1"], "test.ping")
    lay_out(first)
    assert first.typed("stage.run", "discovery").code == 0
    for path, text in CHOSEN.items():
        atomic.write(first.pillar / "proposals" / path, text)
    done = first.typed("stage.run", "configure")
    assert done.code == 0, done
    with pytest.raises(PolicyError, match="nothing is configured yet"):
        minions.members({**first.opts(), "id": "other"})
    copied(first.pillar, second.pillar)
    first.stop()
    fleet.until(lambda: second.asked(["node1"], "test.ping"), "the minion came to the second", 240)
    for stage in ("discovery", "configure"):
        again = second.typed("stage.run", stage)
        assert again.code == 0 and f"stage {stage}: done, nothing changed" in again.out, again
    assert (second.pillar / "current").readlink().name == (first.pillar / "current").readlink().name


def test_a_master_above_is_refused_and_the_one_below_its_syndic_works(running, root):
    """A minion of the same id behind the syndic does what Salt asks of the upper one's; a stage asks nobody."""
    above = running("above", order_masters=True)
    below = running("below", 2)
    above.minion("node1", root / "upper")
    below.minion("node1", root / "lower")
    below.has("node1")
    fleet.until(lambda: above.asked(["node1"], "test.ping"), "the upper one's answers", 240)
    below.syndic(above)
    fleet.until(lambda: above.asked(["node1"], "grains.ls") and "grains.ls" in below.jobs(), "the syndic hands on", 900)
    asked, handed = above.jobs(), below.jobs()
    for words in (("stage.run", "discovery"), ("disk.wipe", "node1", "/dev/sda", "X"), ("halocline.doctor",)):
        refused = above.typed(*words)
        assert refused.code != 0 and "order_masters" in refused.out and "Traceback" not in refused.out, refused
    assert above.jobs() == asked and set(below.jobs()) == set(handed)  # what was asked before may come late
    lay_out(below)
    assert below.typed("stage.run", "discovery").code == 0
    assert (below.pillar / "inventory/node1.json").exists()
