"""The stage removal and `osd.remove`: a site that is served, a cluster that is played, every moment an interruption."""

import copy
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from played import BUSY, Killed, Minions, another_stops_daemons
from saltmaster import Master, lay_out, policy_cfg, serve
from test_pillar import host

from proposals.cluster.health import seen
from proposals.cluster.removal.items import Item
from proposals.files import atomic
from proposals.files.site import site
from proposals.pillar import named
from proposals.stages.replies import Question
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs, minions
from runners.engine.cluster import health
from runners.engine.looks import early, facts, parts
from runners.engine.removal import departure, draining
from runners.engine.runs import stage_lock

WHOLE = json.loads((Path(__file__).parent.parent / "fixtures/health/whole.json").read_text())
NODES = ("node1", "node2", "node3", "node4")
FSID = "11111111-1111-4111-8111-111111111111"
POLICY = policy_cfg(mon="node[134]", mgr="node[14]", mds="node[14]")
WITHOUT = (
    POLICY.replace("[134]", "[13]")
    .replace("[14]", "[1]")
    .replace("cluster-ceph/cluster/*", "cluster-ceph/cluster/[!n]*.sls\ncluster-ceph/cluster/node[1-3]*")
    .replace("profile-default/cluster/*", "profile-default/cluster/node[1-3]*")
    .replace("minions/*", "minions/node[1-3]*")
)


class Cluster(Minions):
    """What minions answer. What must not be is asserted where it would happen."""

    CHANGES = ("note", "forget", "weigh", "purge", "remove", "retire", "free", "apply", "prune")

    def __init__(self, fsids, entities):
        super().__init__()
        self.osds = {
            number: {"fsid": fsid, "host": node, "up": 1, "weight": 5.5, "pgs": 40, "state": "in-use"}
            for number, (fsid, node) in enumerate(fsids)
        }
        self.monitors, self.active = ["node1", "node3", "node4"], "node4"
        self.managers, self.servers = {"node1", "node4"}, ["node1", "node4"]
        self.keys = {*entities, "client.site", *(f"osd.{number}" for number in self.osds)}
        self.hosts = {
            node: {osd["fsid"]: number for number, osd in self.osds.items() if osd["host"] == node} for node in NODES
        }
        self.parts = {"node4": {"mon", "mgr", "mds", "bootstrap-osd", "crash"}}
        self.buckets, self.record = set(NODES), None
        self.asked = []
        self.stuck, self.unsafe, self.generation = False, "", None
        self.backfillfull, self.groups, self.waiting = 0.9, [], {}

    def left(self):
        """All that a removal changes."""
        return copy.deepcopy((self.osds, self.monitors, self.managers, self.servers, self.keys, self.hosts, self.parts,
                              self.buckets, self.record))  # fmt: skip

    # What is asked.

    def daemons_retire_left(self, minion, lost):
        own = lost[minion]
        osds = {fsid: number for fsid, number in self.hosts[minion].items() if fsid in own["osds"]}
        parts = [part for part in own["parts"] if part in self.parts.get(minion, ())]
        return {"generation": self.generation(), "parts": parts, "osds": osds}

    def cluster_removal_inspect(self, _):
        buckets = [{"id": -1, "name": "default", "type_name": "root", "items": []}]
        for at, node in enumerate(sorted(self.buckets), start=2):
            inside = [{"id": number, "weight": int(osd["weight"] * 65536)} for number, osd in self.osds.items()
                      if osd["host"] == node]  # fmt: skip
            buckets.append({"id": -at, "name": node, "type_name": "host", "items": inside})
            buckets[0]["items"].append({"id": -at, "weight": sum(each["weight"] for each in inside)})
        steps = [{"op": "take", "item": -1}, {"op": "chooseleaf_firstn", "num": 0, "type": "host"}, {"op": "emit"}]
        used = {"kb": 1 << 30, "kb_used": 3 << 27, "kb_used_data": 3 << 27}  # 37.5 %
        return {
            "weights": {str(number): osd["weight"] for number, osd in self.osds.items()},
            "crush": {"buckets": buckets, "rules": [{"rule_id": 0, "rule_name": "replicated_rule", "steps": steps}]},
            "inside": {str(number): 1 for number in self.osds},
            "usage": [{"id": number, "pgs": osd["pgs"], **used} for number, osd in self.osds.items()],
            "pools": [{"pool_name": "p", "size": 2, "crush_rule": 0, "pg_num": 32, "bytes_used": 1 << 40}],
            "limits": {"backfillfull": self.backfillfull, "full": 1.0, "max_pgs": 250},
            "monitors": self.monitors,
            "quorum": self.monitors,
            "managers": sorted(self.managers),
            "active": self.active,
            "file_systems": [{"name": "cephfs", "max_mds": 1, "servers": self.servers[:1]}],
            "standbys": self.servers[1:],
            "keys": sorted(self.keys),
            "record": self.record,
        }

    def cluster_osds_states(self, _):
        return [{"id": number, "fsid": osd["fsid"], "host": osd["host"], "state": osd["state"], "up": osd["up"]}
                for number, osd in self.osds.items()]  # fmt: skip

    def cluster_osds_groups(self, _, ids):
        ids = [number for number in ids if number in self.osds]
        for number in ids:
            if not self.osds[number]["weight"] and not self.stuck:
                self.osds[number]["pgs"] = max(0, self.osds[number]["pgs"] - 15)
        return {str(number): self.osds[number]["pgs"] for number in ids}

    def cluster_osds_stoppable(self, _, ids):
        unsafe = [number for number in ids if number in self.osds and self.osds[number]["pgs"]]
        return {"refused": [self.unsafe or f"OSD(s) {unsafe} have pgs"] if unsafe or self.unsafe else []}

    def cluster_osds_at_risk(self, _, ids):
        return self.groups

    def cluster_mons_monitors(self, _):
        return {"names": self.monitors, "quorum": self.monitors}

    def cluster_health_stoppable(self, _, kind, names):
        return {"ok": names}

    # What is changed.

    def cluster_removal_note(self, _, record):
        self.record = json.dumps(record)

    def cluster_removal_forget(self, _):
        self.record = None

    def cluster_removal_weigh(self, _, weights):
        assert self.record is not None
        for number, weight in weights.items():
            self.osds[int(number)]["weight"] = weight
        return {"run": [f"reweight osd.{number} {weight}" for number, weight in weights.items()]}

    def osd_retire_retire(self, minion, number, fsid):
        assert self.hosts[minion].get(fsid, number) == number and minion == "node4"
        if fsid in self.hosts[minion] and self.osds.get(number, {}).get("fsid") == fsid:
            assert not self.osds[number]["pgs"] and not self.unsafe
            self.osds[number]["up"] = 0

    def cluster_osds_purge(self, _, number, fsid):
        if any((osd["fsid"] or "") == fsid for osd in self.osds.values()):
            assert (self.osds[number]["fsid"] or "") == fsid and not self.osds[number]["up"]
            assert not self.osds.pop(number)["pgs"]
            self.keys.discard(f"osd.{number}")

    def osd_retire_free(self, minion, number):
        fsid = next((fsid for fsid, own in self.hosts[minion].items() if own == number), None)
        assert fsid is None or all(osd["fsid"] != fsid for osd in self.osds.values()), "freed early"
        self.waiting.get(minion, set()).discard(number)
        self.hosts[minion].pop(fsid, None)
        return {"freed": []}

    def cluster_crush_prune(self, _, hosts):
        self.buckets -= set(hosts) - {osd["host"] for osd in self.osds.values()}

    def cluster_crush_apply(self, _, commands):
        assert commands == [["mgr", "fail", "node4"]]
        self.active = "node1"

    def cluster_mons_removable(self, _, name):
        assert name in self.monitors
        return True

    def cluster_mons_remove(self, _, name):
        assert name in self.silent or "mon" not in self.parts.get(name, ()), "one that runs may crash at it"
        self.monitors.remove(name)
        return {"names": self.monitors}

    def mon_retire(self, minion):
        self.parts[minion].discard("mon")
        return "moved aside"

    def daemons_retire_retire(self, minion, part, told):
        assert minion == "node4" and told == {**told, "daemons": ["node4"]} or part in ("crash", "bootstrap-osd")
        assert part != "bootstrap-osd" or not self.hosts["node4"]
        assert part != "mgr" or self.active != "node4"
        self.parts[minion].discard(part)
        self.managers -= {"node4"} if part == "mgr" else set()
        self.servers = [name for name in self.servers if part != "mds" or name != "node4"]

    def cluster_auth_remove(self, _, names):
        self.keys -= set(names)


@pytest.fixture(scope="module")
def master(salt_factories):
    """A master with four nodes; its site has every fragment."""
    made = salt_factories.salt_master_daemon("removal", factory_class=Master)
    lay_out(made, {name: host(number, name) for number, name in enumerate((*NODES, "salt"), start=1)}, FSID, POLICY)
    return made


@pytest.fixture
def configure(master):
    """A function: serve a policy, as configure does."""
    opts = master.opts()

    def serving(policy):
        paths = site(opts)
        atomic.write(paths.proposals / "policy.cfg", policy)
        serve(opts)
        named.note(paths, named.known(paths))

    (site(opts).served).unlink(missing_ok=True)
    serving(POLICY)
    return serving


@pytest.fixture
def cluster(master, configure, monkeypatch):
    """A cluster on which the whole policy was deployed, and which healthily waits."""
    paths = site(master.opts())
    fsids = [(fsid, node) for node, each in sorted(named.known(paths).items()) for fsid in each["osds"]]
    made = Cluster(fsids, named.made(paths))
    made.generation = lambda: paths.current.resolve().name
    made.play(monkeypatch, health, draining)
    monkeypatch.setattr(minions, "ours", lambda opts: [*NODES, "salt"])
    monkeypatch.setattr(health, "look", lambda opts, asker=None: seen.read(copy.deepcopy(WHOLE)))
    return made


def typed(runners, **more):
    """The stage's two steps, typed by hand; the answer of the one that ended it."""
    checked = runners["removal.check"](**more)
    return checked if checked.get("retcode") else runners["removal.carry_out"](**more)


@pytest.mark.slow
def test_nothing_leaves_where_all_is_named(runners, cluster):
    before = cluster.left()
    assert "nothing leaves" in typed(runners)["text"]
    assert cluster.left() == before and cluster.log == []


@pytest.mark.slow
def test_a_list_that_is_not_confirmed_begins_nothing(runners, cluster, configure):
    configure(WITHOUT)
    before = cluster.left()
    for confirm in (None, "bbbbbbbb", 12345678):
        done = typed(runners, confirm=confirm)
        assert done["retcode"] == 2 and "nothing was changed" in done["error"]
        assert done["hash"] in done["error"] and "node4: 2 OSDs: osd.6, osd.7" in done["error"]
    assert "node4: mds.node4" in done["error"] and "GiB of data move" in done["error"]
    assert cluster.left() == before and cluster.log == []
    assert runners["removal.check"](test=True).get("retcode", 0) == 0
    dry = runners["removal.carry_out"](test=True)["text"]
    assert "would drain osd.6, osd.7 in one movement" in dry and "would  node4: mon.node4: out of the map" in dry
    assert cluster.left() == before and cluster.log == []


def ended(cluster):
    """What has to be so when node4 has left."""
    assert sorted(cluster.osds) == list(range(6)) and cluster.hosts["node4"] == {}
    assert cluster.monitors == ["node1", "node3"] and cluster.managers == {"node1"} and cluster.servers == ["node1"]
    assert cluster.parts["node4"] == set() and cluster.buckets == set(NODES[:3]) and cluster.record is None
    assert not {"mgr.node4", "mds.node4", "osd.6", "osd.7"} & cluster.keys
    assert {"mgr.node1", "mds.node1", "osd.0", "client.site", "client.crash", "client.admin"} <= cluster.keys


@pytest.mark.slow
def test_a_host_leaves_in_order_and_a_second_run_changes_nothing(runners, cluster, configure):
    configure(WITHOUT)
    confirm = runners["removal.check"](test=True)["hash"]
    done = typed(runners, confirm=confirm)
    assert done.get("retcode", 0) == 0 and done["changes"]["osd of node4"] == ["osd.6", "osd.7"]
    assert "run ceph.stage.deploy" in done["text"]
    ended(cluster)
    order = [function for _, function in cluster.log]
    assert order.index("cluster_removal.note") == 0 and order[-1] == "cluster_removal.forget"
    assert order.index("cluster_osds.purge") < order.index("osd_retire.free")
    before, cluster.log = cluster.left(), []
    assert "nothing leaves" in typed(runners, confirm=confirm)["text"]
    assert cluster.left() == before and cluster.log == []


@pytest.mark.slow
def test_leave_that_ceph_takes_back_when_an_osd_has_stopped_is_waited_for_again(
    runners, cluster, configure, monkeypatch
):
    """Once it has forgotten what the OSD said last, all groups have to be clean."""
    configure(WITHOUT)
    purge, noes = cluster.cluster_osds_purge, ["OSD(s) 6 have no reported stats"] * 2

    def asked(asker, number, fsid):
        if noes:
            raise ProposalError(noes.pop())
        return purge(asker, number, fsid)

    monkeypatch.setattr(cluster, "cluster_osds_purge", asked)
    confirm = runners["removal.check"](test=True)["hash"]
    done = typed(runners, confirm=confirm)
    assert done.get("retcode", 0) == 0, done
    ended(cluster)


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_killed_at_any_moment_the_same_command_goes_on(master, runners, cluster, configure, before):
    """Before and after each change, of all that there are; the hash that was typed stays the list's."""
    configure(WITHOUT)
    confirm = runners["removal.check"](test=True)["hash"]
    paths, fresh = site(master.opts()), copy.deepcopy(cluster.__dict__)
    known = paths.served.read_text()
    typed(runners, confirm=confirm)
    whole, changes = cluster.left(), cluster.changes
    assert changes > 15
    for moment in range(1, changes + 1):
        cluster.__dict__.update(copy.deepcopy(fresh))
        paths.served.write_text(known)
        cluster.kill = (moment, before)
        with pytest.raises(Killed):
            typed(runners, confirm=confirm)
        cluster.kill = (None, False)
        done = typed(runners, confirm=confirm)
        assert done.get("retcode", 0) == 0, (moment, done)
        assert cluster.left() == whole, moment
        assert "nothing leaves" in typed(runners)["text"]


@pytest.mark.slow
def test_a_number_that_waits_on_a_host_that_leaves_goes_with_its_place(runners, cluster, configure):
    """Destroyed with its DB device: else its data disk would wait for another one when the host is back."""
    cluster.osds[9] = {"fsid": None, "host": "node4", "up": 0, "weight": 5.5, "pgs": 0, "state": "destroyed"}
    cluster.waiting["node4"] = {9}
    configure(WITHOUT)
    checked = runners["removal.check"](test=True)
    assert "node4: 3 OSDs: osd.6, osd.7, osd.9" in checked["text"]
    done = typed(runners, confirm=checked["hash"])
    assert done.get("retcode", 0) == 0 and cluster.waiting == {"node4": set()}
    ended(cluster)


@pytest.mark.slow
def test_what_somebody_purged_by_hand_is_told_once_and_forgotten(master, runners, cluster, configure):
    """``policy.show`` named it for ever; of a host with another pillar, and of a silent one, nothing is forgotten."""
    configure(WITHOUT)
    paths = site(master.opts())

    for number in (6, 7):
        del cluster.osds[number]
    cluster.hosts["node4"], cluster.parts["node4"] = {}, set()
    cluster.monitors.remove("node4")
    cluster.keys -= {"mgr.node4", "mds.node4"}
    generation, before = cluster.generation, paths.served.read_text()
    assert "would leave: node4: 2 OSDs" in runners["policy.show"]()["text"]
    cluster.generation = lambda: "older"
    assert "nothing leaves" in typed(runners)["text"] and paths.served.read_text() == before
    cluster.generation, cluster.silent = generation, {"node4"}
    typed(runners)
    assert paths.served.read_text() == before
    cluster.silent = set()
    said = "node4: has left already, by hand, and the stage removal forgets it: 2 OSDs, "
    assert said in runners["removal.check"]()["text"] and paths.served.read_text() == before
    assert said in typed(runners)["text"] and "would leave" not in runners["policy.show"]()["text"]
    assert "nothing leaves" in typed(runners)["text"] and cluster.log == []


@pytest.mark.slow
def test_called_off_the_weights_are_as_before(runners, cluster, configure):
    configure(WITHOUT)
    confirm = runners["removal.check"](test=True)["hash"]
    cluster.kill = (5, False)
    with pytest.raises(Killed):  # mds.node4 has left, and the OSDs weigh nothing
        typed(runners, confirm=confirm)
    cluster.kill = (None, False)
    assert {cluster.osds[number]["weight"] for number in (6, 7)} == {0}
    before = cluster.left()
    assert "osd.6: its CRUSH weight is 5.5 again" in runners["removal.cancel"](test=True)["text"]
    assert cluster.left() == before
    assert "is called off" in runners["removal.cancel"]()["text"]
    assert {osd["weight"] for osd in cluster.osds.values()} == {5.5} and cluster.record is None
    assert "no removal is under way" in runners["removal.cancel"]()["text"]


@pytest.mark.slow
def test_called_off_an_osd_with_the_number_of_one_that_has_left_keeps_its_weight(runners, cluster, configure):
    configure(WITHOUT)
    cluster.kill = (5, False)
    with pytest.raises(Killed):
        typed(runners, confirm=runners["removal.check"](test=True)["hash"])
    cluster.kill = (None, False)
    cluster.osds[7] = {"fsid": "new", "host": "node1", "up": 1, "weight": 1.7, "pgs": 0, "state": "in-use"}
    assert "osd.7" not in runners["removal.cancel"]()["text"]
    assert (cluster.osds[6]["weight"], cluster.osds[7]["weight"]) == (5.5, 1.7)


@pytest.mark.slow
def test_a_flag_by_which_data_does_not_leave_is_named(runners, cluster, configure, monkeypatch):
    configure(WITHOUT)
    held = copy.deepcopy(WHOLE)
    held["osd_dump"]["flags"] += ",nobackfill,noout"
    monkeypatch.setattr(health, "look", lambda opts, asker=None: seen.read(held))
    cluster.stuck = True
    error = typed(runners, confirm=runners["removal.check"](test=True)["hash"])["error"]
    leave = "80 placement groups are still to leave osd.6, osd.7"
    assert f"{leave}, which is held by nobackfill ('ceph osd unset nobackfill')" in error


@pytest.mark.slow
def test_what_is_named_again_gets_its_weights_back(runners, cluster, configure):
    """policy.cfg got its lines back in mid-drain: configure, and the stage again."""
    configure(WITHOUT)
    confirm = runners["removal.check"](test=True)["hash"]
    cluster.stuck = True
    done = typed(runners, confirm=confirm)
    assert done["retcode"] == 1 and "80 placement groups are still to leave osd.6, osd.7" in done["error"]
    assert "the same command goes on" in done["error"] and 300 <= cluster.seconds < 400
    configure(POLICY)
    assert "gets its weight 5.5 back: osd.6" in runners["removal.check"]()["text"]
    assert typed(runners)["changes"]["back"]
    assert {osd["weight"] for osd in cluster.osds.values()} == {5.5} and cluster.record is None


@pytest.mark.slow
def test_anything_new_in_the_list_has_to_be_confirmed_anew(runners, cluster, configure):
    configure(WITHOUT)
    confirm = runners["removal.check"](test=True)["hash"]
    cluster.stuck = True
    assert typed(runners, confirm=confirm)["retcode"] == 1
    configure(WITHOUT.replace("role-mon/cluster/node[13]", "role-mon/cluster/node1"))
    cluster.monitors.append("node2")
    cluster.parts["node3"] = {"mon"}
    done = typed(runners, confirm=confirm)
    assert done["retcode"] == 2 and "the majority of" not in done["error"] and done["hash"] != confirm
    assert "node3: mon.node3" in done["error"]


@pytest.mark.slow
def test_osds_without_cephs_leave_are_not_stopped(runners, cluster, configure):
    configure(WITHOUT)
    cluster.unsafe = "Error EBUSY: OSD(s) 6 have no reported stats"
    done = typed(runners, confirm=runners["removal.check"](test=True)["hash"])
    assert done["changes"] == {"mds of node4": ["mds.node4"]}
    assert done["retcode"] == 1 and "node4: its data would be at risk: Error EBUSY" in done["error"]
    assert all(osd["up"] for osd in cluster.osds.values()) and len(cluster.hosts["node4"]) == 2


@pytest.mark.slow
def test_refused_where_the_rest_is_too_full_and_before_anything_began(runners, cluster, configure):
    configure(WITHOUT)
    before = cluster.left()
    cluster.backfillfull = 0.45
    done = typed(runners, confirm=runners["removal.check"](test=True)["hash"])
    assert done["retcode"] == 2 and "would be 50% full" in done["error"] and "refused" in done["error"]
    assert cluster.left() == before


@pytest.mark.slow
def test_a_list_of_which_nothing_has_moved_yet_is_asked_of_again(runners, cluster, configure):
    """It was confirmed, perhaps weeks ago, and the cluster is fuller now; once data moves it goes on."""
    configure(WITHOUT)
    confirm = runners["removal.check"](test=True)["hash"]
    cluster.kill = (1, False)  # the record is kept
    with pytest.raises(Killed):
        typed(runners, confirm=confirm)
    cluster.kill, cluster.backfillfull = (None, False), 0.45
    before = cluster.left()
    done = typed(runners, confirm=confirm)
    assert done["retcode"] == 2 and "would be 50% full" in done["error"] and cluster.left() == before
    cluster.osds[6]["weight"] /= 2
    assert runners["removal.check"](confirm=confirm).get("retcode", 0) == 0


@pytest.mark.slow
def test_a_silent_host_stays_until_it_is_given_up_by_name(runners, cluster, configure):
    configure(WITHOUT)
    cluster.silent = {"node4"}
    done = runners["removal.check"]()
    assert "node4: does not answer" in done["text"] and "gone=node4" in done["text"]
    assert "nothing leaves" not in done["text"]
    assert typed(runners)["retcode"] == 1 and cluster.log == []
    assert "no host of ours is called so" in runners["removal.check"](gone="node9")["error"]
    refused = runners["removal.check"](gone="node4", test=True)
    assert refused["retcode"] == 2 and "osd.6 runs: its host is not gone" in refused["error"]
    for number in (6, 7):
        cluster.osds[number] |= {"up": 0, "pgs": 0}
    before = cluster.left()
    cluster.groups = [
        {"group": "3.1", "pool": "alone", "state": "stale+active+clean", "osds": [7], "waits_for": []},
        {"group": "1.a", "pool": "p", "state": "active+undersized", "osds": [2], "waits_for": []},
    ]
    refused = typed(runners, gone="node4", confirm=runners["removal.check"](gone="node4", test=True)["hash"])
    assert refused["retcode"] == 2 and cluster.left() == before
    assert "what no other OSD has: placement groups 3.1 of pool alone (stale+active+clean)" in refused["error"]
    cluster.groups = cluster.groups[1:]
    given_up = runners["removal.check"](gone="node4", test=True)
    assert "(its host is given up)" in given_up["text"] and "copies of node4 lack" in given_up["text"]
    done = typed(runners, gone="node4", confirm=given_up["hash"])
    assert done.get("retcode", 0) == 0 and "osd of node4" in done["changes"]
    assert sorted(cluster.osds) == list(range(6)) and cluster.monitors == ["node1", "node3"]
    assert not {"mgr.node4", "mds.node4"} & cluster.keys
    assert "nothing leaves" in typed(runners, gone="node4", confirm=given_up["hash"])["text"]


@pytest.mark.slow
def test_a_host_that_falls_silent_on_the_way_keeps_its_record(runners, cluster, configure):
    configure(WITHOUT)
    confirm = runners["removal.check"](test=True)["hash"]
    cluster.kill = (4, False)
    with pytest.raises(Killed):
        typed(runners, confirm=confirm)
    cluster.kill, cluster.silent = (None, False), {"node4"}
    assert typed(runners, confirm=confirm)["retcode"] == 1 and cluster.record is not None
    cluster.silent = set()
    assert typed(runners, confirm=confirm).get("retcode", 0) == 0
    ended(cluster)


@pytest.mark.slow
def test_a_part_of_what_began_leaves_the_rest_of_the_record(runners, cluster, configure):
    """One OSD by its number, in the middle of a removal of its host; then that goes on by its own hash."""
    configure(WITHOUT)
    confirm = runners["removal.check"](test=True)["hash"]
    cluster.kill = (5, False)
    with pytest.raises(Killed):
        typed(runners, confirm=confirm)
    cluster.kill = (None, False)
    assert runners["osd.remove"](7)["changes"] == {"osd of node4": ["osd.7"]}
    assert json.loads(cluster.record)[0] == confirm and cluster.osds[6]["weight"] == 0
    assert typed(runners, confirm=confirm).get("retcode", 0) == 0
    ended(cluster)


@pytest.mark.slow
def test_a_stage_that_runs_holds_it_back(runners, cluster, configure, monkeypatch):
    configure(WITHOUT)
    monkeypatch.setattr(stage_lock, "holder", lambda opts: {"stage": "deploy"})
    confirm = runners["removal.check"](test=True)["hash"]
    for done in (typed(runners, confirm=confirm), runners["osd.remove"](7), runners["removal.cancel"]()):
        assert "stage deploy is running" in done["error"]
    assert cluster.log == []


@pytest.mark.slow
def test_a_host_that_answers_is_not_gone(runners, cluster, configure):
    configure(WITHOUT)
    assert "it answers, so it is not gone" in runners["removal.check"](gone="node4")["error"]


@pytest.mark.slow
def test_a_host_of_which_nothing_leaves_is_not_said_to_answer(runners, cluster, configure):
    """policy.cfg names all that it had, or it has left already: it was not even asked."""
    cluster.silent = {"node4"}
    for policy in (POLICY, POLICY.replace("node[134]", "node[14]")):  # nothing leaves, or another host's monitor
        configure(policy)
        refused = runners["removal.check"](gone="node4")
        assert refused["retcode"] == 2 and "it answers" not in refused["error"], refused
        assert "take its lines out of policy.cfg, run ceph.stage.configure" in refused["error"], refused
    configure(POLICY)
    assert "nothing leaves" in runners["removal.check"](gone="node9")["text"]
    assert cluster.log == []


@pytest.mark.slow
def test_a_pillar_that_is_not_the_served_one_is_refused(runners, cluster, configure):
    configure(WITHOUT)
    cluster.generation = lambda: "older"
    done = typed(runners, confirm=runners["removal.check"](test=True)["hash"])
    assert done["retcode"] == 2 and "node4: its pillar is of generation older" in done["error"]


@pytest.mark.slow
def test_single_osds_are_removed_where_no_profile_names_them(runners, cluster, configure):
    assert "osd.7 is planned on node4" in runners["osd.remove"](7)["error"]
    configure(WITHOUT)
    assert "the cluster has no osd.70" in runners["osd.remove"](70)["error"]
    assert runners["osd.remove"]("a")["error"].startswith("a: expected numbers of OSDs")
    assert runners["osd.remove"]()["error"].startswith("nothing: expected numbers of OSDs")
    cluster.osds[8] = {"fsid": "f8", "host": "node1", "up": 1, "weight": 1.0, "pgs": 0, "state": "in-use"}
    assert "osd.8 is in no profile" in runners["osd.remove"](8)["error"]
    before = cluster.left()
    assert "would drain osd.7" in runners["osd.remove"](7, test=True)["text"]
    assert cluster.left() == before and cluster.log == []
    assert runners["osd.remove"](7)["changes"] == {"osd of node4": ["osd.7"]}
    assert sorted(cluster.osds) == [0, 1, 2, 3, 4, 5, 6, 8] and cluster.record is None
    assert cluster.monitors == ["node1", "node3", "node4"] and "node4" in cluster.buckets


@pytest.mark.slow
def test_what_stops_a_single_osds_removal_is_told_with_what_was_done(runners, cluster, configure, master):
    configure(WITHOUT)
    cluster.unsafe = "Error EBUSY: wait"
    done = runners["osd.remove"](7)
    assert done["retcode"] == 1 and done["changes"] == {} and "Error EBUSY: wait" in done["error"]
    log = (master.root / "run-logs/osd.remove.jsonl").read_text().splitlines()
    assert (json.loads(log[-1])["event"], json.loads(log[-1])["osds"]) == ("removes", "osd.7")


@pytest.mark.slow
def test_a_number_that_is_another_osds_by_now_is_left_alone(runners, cluster, configure):
    """An OSD was purged, its host was never cleaned, and its number went to a new OSD elsewhere."""
    configure(WITHOUT)
    del cluster.osds[7]
    cluster.osds[6] = {"fsid": "new", "host": "node1", "up": 1, "weight": 5.5, "pgs": 40, "state": "in-use"}
    new = dict(cluster.osds[6])
    checked = runners["removal.check"](test=True)
    assert "left alone, in no profile of ours: osd.6" in checked["text"]
    done = typed(runners, confirm=checked["hash"])
    assert done.get("retcode", 0) == 0 and cluster.osds[6] == new and cluster.hosts["node4"] == {}
    assert not [function for _, function in cluster.log if function in ("cluster_osds.purge", "cluster_removal.weigh")]


@pytest.mark.slow
@pytest.mark.parametrize("answer", [{"osds": {"f": "6; id"}}, {"osds": {"f": True}}, {"osds": []}, {"parts": {}}, {}])
def test_what_a_minion_says_is_checked(runners, cluster, configure, answer):
    configure(WITHOUT)
    good = {"osds": {}, "parts": [], "generation": "x"}
    cluster.daemons_retire_left = lambda minion, lost: {**good, **answer} if answer else {}
    done = runners["removal.check"](test=True)
    assert done["retcode"] == 2 and "node4: its answer is not of the form expected" in done["error"]


@pytest.mark.slow
def test_steps_go_down_one_by_one(runners, cluster, configure):
    configure(WITHOUT)
    assert "expected a whole number from 1 to 20" in runners["removal.check"](steps=0)["error"]
    weights, weigh = [], cluster.cluster_removal_weigh
    cluster.cluster_removal_weigh = lambda _, told: weights.append(sorted(set(told.values()))) or weigh(_, told)
    confirm = runners["removal.check"](steps=2, test=True)
    assert "steps='2'" in confirm["text"] and '"ceph_steps": 2' in confirm["text"]
    typed(runners, steps=2, confirm=confirm["hash"])
    assert weights == [[2.75], [0.0]]
    ended(cluster)


@pytest.mark.slow
def test_policy_show_says_what_would_leave_before_it_is_configured(master, runners, configure):
    assert "would leave" not in runners["policy.show"]()["text"]
    atomic.write(site(master.opts()).proposals / "policy.cfg", WITHOUT)
    told = runners["policy.show"]()["text"]
    assert (
        "would leave: node4: 2 OSDs, bootstrap-osd, crash, mds, mgr, mon" in told
        and "salt-run stage.plan removal" in told
    )


@pytest.mark.slow
def test_only_the_stage_removal_takes_its_arguments(runners, configure):
    assert "confirm= is of the stage removal alone" in runners["stage.run"]("deploy", confirm="bdfhkmpr")["error"]
    assert "gone= is of the stage removal alone" in runners["stage.plan"]("configure", gone="node4")["error"]


@pytest.mark.slow
def test_many_hosts_that_policy_cfg_names_no_more_are_counted(master, configure, monkeypatch):
    """As where the one line of its storage hosts is commented out."""
    every = [f"would leave: osd{number:04}: 9 OSDs" for number in range(1000)]
    monkeypatch.setattr(named, "leaves", lambda *_: every)
    configure(POLICY)
    text = master.runners()["policy.show"]()["text"].splitlines()
    (more,) = (line for line in text if line.startswith("and 991 more: "))
    assert len(text) < 40 and "--out json" in more and "stage.plan removal" in more
    assert master.runners(output="json")["policy.show"]()["leaves"][:1000] == every


@pytest.mark.slow
def test_configure_remembers_what_it_serves(master, configure, cluster, monkeypatch):
    """Also where the generation that named it is pruned: then nobody else would know that it is ours."""
    opts = {**master.opts(), "file_client": "local"}
    paths = site(opts)
    paths.served.unlink()
    cluster.host_keys_inspect, waits = (lambda minion, *words: {}), []
    cluster.saltutil_refresh_pillar = lambda minion, wait, seconds: waits.append(seconds) or {}
    runners = master.runners(file_client="local")
    for policy, leaves in ((POLICY, False), (WITHOUT, True)):
        atomic.write(paths.proposals / "policy.cfg", policy)
        done = runners["policy.push"]()
        assert done.get("retcode", 0) == 0, done
        assert paths.served.exists() and "node4" in json.loads(paths.served.read_text())
        assert bool(runners["removal.check"](test=True)["items"]) is leaves
    assert min(waits) > jobs.WAITING  # each host has its pillar when configure has ended, the last of a share too
    before = paths.served.stat()
    assert "nothing changed" in runners["policy.push"]()["text"]
    assert paths.served.stat().st_mtime_ns == before.st_mtime_ns
    atomic.write(paths.current / "cluster/node1.sls", "cluster: unassigned\n")
    done = runners["policy.push"]()
    assert done["changes"] == {"written again": ["cluster/node1.sls"]} and "nothing changed" not in done["text"]
    assert "/cluster/node1.sls: was not as configure had written it: written again" in done["text"]


@pytest.mark.slow
@pytest.mark.parametrize("older", [[], ["node1"]])
@pytest.mark.parametrize("prep", [True, False])
def test_a_host_that_had_an_older_pillar_where_stages_began_as_one_has_this_one_when_configure_ends(
    master, cluster, monkeypatch, older, prep
):
    """As one that was cut off at the last configure, and whose minion did not start anew: its first job began with that
    older pillar, and deploy's checks are not to go by what it said of itself there."""
    opts = {**master.opts(), "file_client": "local"}
    own, waits = {"jid": "1", "stage": "configure"}, []
    cluster.host_keys_inspect = lambda minion, *words: {}
    cluster.saltutil_refresh_pillar = lambda minion, *words: waits.append((minion, words)) or True
    cluster.host_facts = lambda minion: {"generation": "older" if minion in older else cluster.generation()}
    monkeypatch.setattr(stage_lock, "own", lambda _: own)
    early.keep(opts, None)
    questions = [Question(facts.ASKED), *([parts.REFRESH] if prep else [])]
    early.keep(opts, early.once(opts, [*NODES, "salt"], questions, 15, 0))
    waits.clear()
    done = master.runners(file_client="local")["policy.push"]()
    assert "nothing changed" in done["text"], done
    assert {minion for minion, words in waits if words} == ({*NODES, "salt"} if older or not prep else set())
    assert (early.told(opts, NODES, facts.ASKED) is None) is bool(older)


@pytest.mark.slow
def test_a_standby_that_has_taken_over_stops_by_cephs_leave_too(master, cluster, monkeypatch):
    """node1 serves and leaves first, node3 takes over and leaves too: it is asked of as it is by then."""
    cluster.servers, done = ["node1", "node3", "node4"], []
    look = SimpleNamespace(seen=cluster.cluster_removal_inspect("salt"), before={})  # before the first change

    def stoppable(asker, kind, names):
        if names == ["node3"] and done[-1] == "node1 stops":
            done.append("node3 takes over")
            raise ProposalError("Error EBUSY: one or more filesystems is currently degraded")
        done.append(f"{names[0]} may stop")
        return {"ok": names}

    def retire(minion, part, told):
        cluster.servers.remove(minion)
        done.append(f"{minion} stops")

    monkeypatch.setattr(cluster, "cluster_health_stoppable", stoppable)
    monkeypatch.setattr(cluster, "daemons_retire_retire", retire)
    for node in ("node1", "node3"):
        departure._mds(master.opts(), look, [Item("mds", f"mds.{node}", node)])
    assert done == ["node1 may stop", "node1 stops", "node3 takes over", "node3 may stop", "node3 stops"]


@pytest.mark.slow
def test_nothing_stops_while_another_command_stops_daemons_and_it_goes_on(runners, cluster, configure):
    configure(WITHOUT)
    confirm = runners["removal.check"](test=True)["hash"]
    with another_stops_daemons(runners.opts):
        assert BUSY in typed(runners, confirm=confirm)["error"]
    assert sorted(cluster.osds) == list(range(8))
    assert not [function for _, function in cluster.log if "retire" in function or "remove" in function]
    assert typed(runners, confirm=confirm).get("retcode", 0) == 0
    ended(cluster)
