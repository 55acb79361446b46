"""``salt-run mon.remove``: a cluster of three monitors that is played, every moment an interruption."""

import copy
import json

import pytest
from played import BUSY, Minions, another_stops_daemons, end_at_each_change
from saltmaster import Master

from proposals.files.site import site
from proposals.stages import replies
from runners.engine.asking import minions
from runners.engine.runs import stage_lock

NODES = ("node1", "node2", "node3")


class Cluster(Minions):
    """Three monitors; node3 has lost its role. What must not be is asserted where it would happen."""

    CHANGES = ("retire", "remove")

    def __init__(self):
        super().__init__()
        self.monitors, self.stores, self.refuses = list(NODES), set(NODES), ""

    def left(self):
        return copy.deepcopy((self.monitors, self.stores))

    def ask(self, opts, asked, function, words=(), kind=None, timeout=0):
        if self.refuses and not self.silent:
            return replies.Replies({}, [replies.Problem(minion, self.refuses) for minion in asked])
        return super().ask(opts, asked, function, words, kind, timeout)

    def cluster_mons_monitors(self, _):
        return {"names": self.monitors}

    def cluster_mons_removable(self, _, name):
        return True

    def mon_retire(self, minion):
        there = minion in self.stores
        self.stores.discard(minion)
        return "its store lies in .ceph-node3.removed" if there else "its host had no store"

    def cluster_mons_remove(self, _, name):
        assert name not in self.stores or name in self.silent, "it runs, and the others are told to do without it"
        self.monitors.remove(name)
        return {"names": self.monitors}


@pytest.fixture(scope="module")
def master(salt_factories):
    made = salt_factories.salt_master_daemon("monremove", factory_class=Master)
    folder = site(made.opts()).inventory
    folder.mkdir(parents=True)
    for name in NODES:
        host = {"ceph_disks_format": 1, "ceph_disks": [], "hostname": name, "addresses": []}
        (folder / f"{name}.json").write_text(json.dumps(host))
    return made


@pytest.fixture
def cluster(monkeypatch):
    made = Cluster()
    made.play(monkeypatch)
    monkeypatch.setattr(minions, "members", lambda opts: {"master": ["salt"], "mon": ["node1", "node2"]})
    monkeypatch.setattr(minions, "ours", lambda opts: ["salt", *NODES])
    return made


@pytest.fixture
def remove(master, cluster):
    return master.runners()["mon.remove"]


@pytest.mark.slow
def test_a_monitor_leaves_its_host_before_the_map_and_who_typed_it_is_kept(master, cluster, remove):
    told = remove("node3")["text"]
    assert told == "mon.node3 is out of the map, left are node1, node2; its store lies in .ceph-node3.removed"
    assert cluster.log == [("node3", "mon.retire"), ("salt", "cluster_mons.remove")]
    log = [json.loads(line) for line in (master.root / "run-logs/mon.remove.jsonl").read_text().splitlines()]
    assert (log[-1]["event"], log[-1]["monitor"]) == ("removes", "node3") and log[-1]["user"]
    assert "the cluster has no monitor 'node3'" in remove("node3")["error"]


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False])
def test_the_same_command_goes_on(cluster, remove, before):
    """Once the map has it no more, there is none to remove, which the command says."""

    def typed():
        return remove("node3") if "node3" in cluster.monitors else {}

    end_at_each_change(cluster, before, typed, least=2)


def test_a_host_that_refuses_keeps_its_monitor_in_the_map(cluster, remove):
    cluster.refuses = "this host has the role mon: its monitor was not stopped"
    done = remove("node3")
    assert done["retcode"] == 2 and "node3: this host has the role mon" in done["error"]
    assert "mon.node3 stays in the map" in done["error"] and cluster.left() == (list(NODES), set(NODES))


def test_a_host_that_is_lost_does_not_have_to_answer(cluster, remove):
    cluster.silent = {"node3"}
    assert "its store is still there; node3: does not answer" in remove("node3")["text"].replace("\n", " ")
    assert cluster.monitors == ["node1", "node2"]


def test_what_is_planned_and_what_there_is_not_stays(cluster, remove):
    assert "node1 has the role mon" in remove("node1")["error"]
    assert "did you mean 'node3'?" in remove("nod3")["error"]
    assert cluster.log == []


@pytest.fixture
def renamed(master):
    """The inventory keeps what the minions of node1 and node3 were named before."""
    kept = [site(master.opts()).inventory / f"a-{name}.json" for name in ("node1", "node3")]
    for path in kept:
        path.write_text((path.parent / path.name.removeprefix("a-")).read_text())
    yield
    for path in kept:
        path.unlink()


@pytest.mark.slow
def test_a_host_whose_minion_has_another_id_now_is_itself(cluster, remove, renamed, monkeypatch):
    assert "node1 has the role mon" in remove("node1")["error"] and cluster.log == []
    assert "its store lies in .ceph-node3.removed" in remove("node3")["text"]
    assert cluster.log == [("node3", "mon.retire"), ("salt", "cluster_mons.remove")]


def test_a_planned_monitor_stays_though_its_minion_is_not_accepted(cluster, remove, monkeypatch):
    monkeypatch.setattr(minions, "ours", lambda opts: ["salt", "node2", "node3"])
    assert "node1 has the role mon" in remove("node1")["error"] and cluster.log == []


def test_a_stage_that_runs_holds_it_back(cluster, remove, monkeypatch):
    monkeypatch.setattr(stage_lock, "holder", lambda opts: {"stage": "deploy"})
    assert "stage deploy is running" in remove("node3")["error"] and cluster.log == []


def test_no_monitor_leaves_while_another_command_stops_daemons(master, cluster, remove):
    before = cluster.left()
    with another_stops_daemons(master.opts()):
        assert BUSY in remove("node3")["error"]
    assert cluster.left() == before
