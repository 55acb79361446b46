"""`osd.replace` of a disk and of a DB device: a site that is served, a cluster that is played, every moment a kill."""

import copy
import json
import re
from pathlib import Path

import pytest
from played import BUSY, Killed, Minions, another_stops_daemons
from saltmaster import Master, lay_out, policy_cfg, serve
from test_pillar import host

from proposals.cluster.health import seen
from proposals.files.site import site
from proposals.inventory import kept
from proposals.pillar import named
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs, minions, planned
from runners.engine.cluster import health
from runners.engine.runs import one_at_a_time, stage_lock

WHOLE = json.loads((Path(__file__).parent.parent / "fixtures/health/whole.json").read_text())
NODES = ("node1", "node2", "node3")
FSID = "11111111-1111-4111-8111-111111111111"
POLICY = policy_cfg(mon="node1", mgr="node1")
SSD = {"size": 800166076416, "rotational": False, "transport": "sata", "in_use": [], "osds": []}
DEVICE = "/dev/disk/by-id/wwn-0x2f"


class Cluster(Minions):
    """What minions answer. What must not be is asserted where it would happen."""

    CHANGES = ("stop_all", "destroy", "free")

    def __init__(self, osds):
        super().__init__()
        self.osds = {number: {"fsid": fsid, "host": node, "up": 1, "in": 1} for number, (fsid, node) in enumerate(osds)}
        self.records = {number: dict(osd) for number, osd in self.osds.items()}
        self.waiting = {node: {} for node in NODES}
        self.refused, self.groups, self.after_stop = [], [], []

    def state(self):
        return copy.deepcopy((self.osds, self.records, self.waiting))

    def cluster_osds_states(self, _):
        return [
            {"id": number, "state": "in-use" if osd["fsid"] else "destroyed", **osd}
            for number, osd in self.osds.items()
        ]

    def cluster_osds_stoppable(self, _, ids):
        assert all(self.osds[number]["fsid"] for number in ids), "a destroyed one was asked for"
        running = any(self.osds[number]["up"] for number in ids)
        return {"refused": self.refused if running else self.after_stop}

    def cluster_osds_at_risk(self, _, ids):
        return self.groups

    def cluster_removal_inspect(self, _):
        buckets = [{"id": -1, "name": "default", "type_name": "root", "items": []}]
        for at, node in enumerate(NODES, start=2):
            inside = [{"id": number, "weight": 65536} for number, osd in self.osds.items() if osd["host"] == node]
            buckets.append({"id": -at, "name": node, "type_name": "host", "items": inside})
            buckets[0]["items"].append({"id": -at, "weight": 65536 * len(inside)})
        steps = [{"op": "take", "item": -1}, {"op": "chooseleaf_firstn", "num": 0, "type": "host"}, {"op": "emit"}]
        return {
            "crush": {"buckets": buckets, "rules": [{"rule_id": 0, "rule_name": "r", "steps": steps}]},
            "inside": {str(number): osd["in"] for number, osd in self.osds.items()},
            "pools": [{"pool_name": "p", "size": 3, "crush_rule": 0, "pg_num": 32, "bytes_used": 300 << 30}],
        }

    def osd_waiting_kept(self, minion):
        return self.waiting.get(minion, {})

    def osd_retire_numbers(self, minion, fsids):
        own = {osd["fsid"]: number for number, osd in self.records.items() if osd["host"] == minion}
        own |= {fsid: place["id"] for fsid, place in self.waiting[minion].items()}
        return {fsid: number for fsid, number in own.items() if fsid in fsids}

    def osd_retire_stop_all(self, minion, osds):
        assert not self.refused, "stopped without leave"
        for fsid, number in osds.items():
            assert self.records[number] == {**self.records[number], "fsid": fsid, "host": minion}
            self.osds[number]["up"] = 0

    def cluster_osds_destroy(self, _, number, fsid):
        assert self.osds[number]["fsid"] == fsid and not self.osds[number]["up"]
        assert not any(osd["up"] for osd in self.osds.values() if osd["host"] == "node2"), "not all of them stopped"
        assert not self.refused and not self.after_stop
        self.osds[number]["fsid"] = None

    def osd_retire_free(self, minion, number, place=None):
        record = self.records.get(number)
        if place is None:
            own = self.waiting[minion]
            self.waiting[minion] = {fsid: kept for fsid, kept in own.items() if kept["id"] != number}
        if record is None:
            return {"freed": []}
        assert self.osds[number]["fsid"] is None, "freed early"
        if place:
            self.waiting[minion][record["fsid"]] = {**place, "id": number}
        del self.records[number]
        return {"freed": [f"partition {number} of /dev/sdf"]}


@pytest.fixture(scope="module")
def master(salt_factories):
    """A master with three nodes of two OSDs behind an SSD, whose profile is served."""
    made = salt_factories.salt_master_daemon("replace", factory_class=Master)
    told = {name: host(number, name) for number, name in enumerate((*NODES, "salt"), start=1)}
    for number, name in enumerate(NODES, start=1):
        ssd = {"device": "/dev/sdf", "id": f"/dev/disk/by-id/wwn-0x{number}f", "serial": f"SSD{number}"}
        told[name]["ceph_disks"].append({**SSD, **ssd})
    lay_out(made, told, FSID, POLICY)
    serve(made.opts())
    return made


@pytest.fixture
def cluster(master, monkeypatch):
    osds = planned.osds(site(master.opts()))
    made = Cluster([(osds[node][disk]["uuids"][0], node) for node in NODES for disk in sorted(osds[node])])
    made.play(monkeypatch, health)
    monkeypatch.setattr(minions, "ours", lambda opts: [*NODES, "salt"])
    monkeypatch.setattr(health, "look", lambda opts, asker=None: seen.read(copy.deepcopy(WHOLE)))
    return made


LINES = """\
  salt-run disk.wipe node2 /dev/disk/by-id/wwn-0x2a serial=2a
  salt-run disk.wipe node2 /dev/disk/by-id/wwn-0x2b serial=2b"""


def ended(cluster):
    """What has to be so when node2's SSD was given up."""
    assert [number for number, osd in cluster.osds.items() if osd["fsid"] is None] == [2, 3]
    assert sorted(cluster.records) == [0, 1, 4, 5] and sorted(cluster.osds) == list(range(6))
    places = sorted(cluster.waiting["node2"].values(), key=lambda place: place["id"])
    assert [(place["id"], place["data"], place["db"], place["class"]) for place in places] == [
        (2, "/dev/disk/by-id/wwn-0x2a", DEVICE, "ssd"),
        (3, "/dev/disk/by-id/wwn-0x2b", DEVICE, "ssd"),
    ]
    assert all(place["db_size"] and place["wal"] is None for place in places)


@pytest.mark.slow
@pytest.mark.parametrize("device", [DEVICE, "SSD2"])
def test_all_osds_behind_a_device_are_given_up_and_the_wiping_is_left_to_a_person(runners, cluster, device):
    done = runners["osd.replace"](host="node2", device=device)
    assert done.get("retcode", 0) == 0, done
    ended(cluster)
    text = done["text"]
    assert f"node2 {DEVICE} carries the DB or WAL of 2 OSDs: osd.2, osd.3" in text and LINES in text
    assert "about 100 GiB are rebuilt" in text and "their numbers and places wait" in text
    assert [function for _, function in cluster.log] == [
        "osd_retire.stop_all",  # those that hang are killed after 90 s each
        *["cluster_osds.destroy"] * 2,
        *["osd_retire.free"] * 2,
    ]


@pytest.mark.slow
def test_an_osd_lives_on_its_hosts_minion_as_that_is_named_now(master, cluster, monkeypatch):
    """The inventory keeps the id that a minion had before; of two with one host name, it is the one with OSDs."""
    path = site(master.opts()).inventory / "a-node2.json"
    path.write_text((path.parent / "node2.json").read_text())
    try:
        for ours in ([*NODES, "salt"], [*NODES, "a-node2"]):
            monkeypatch.setattr(minions, "ours", lambda opts, ours=ours: ours)
            assert planned.minion_of(master.opts(), {"id": 2, "host": "node2"}) == "node2"
        with pytest.raises(ProposalError, match="is the name of 0 minions that discovery saw"):
            planned.minion_of(master.opts(), {"id": 2, "host": "node9"})
    finally:
        path.unlink()


NEW = "/dev/disk/by-id/wwn-0x2e"


@pytest.mark.slow
@pytest.mark.parametrize(("device", "told"), [("SSD2", ["osd.3"]), (NEW, ["osd.2"])])
def test_an_osd_whose_db_has_moved_lies_behind_the_other_device(runners, master, cluster, monkeypatch, device, told):
    """The plan has it where it lay, until discovery, populate and configure have run again."""
    served, ask = planned.osds(site(master.opts())), cluster.one
    moved, stays = (served["node2"][disk] for disk in sorted(served["node2"]))
    moved["moves"] = {"db": {"to": NEW, "size": 4 << 30}}
    monkeypatch.setattr(planned, "osds", lambda paths: served)
    places = ((moved, NEW, 4 << 30), (stays, DEVICE, stays["db_size"]))
    lies = [{"fsid": osd["uuids"][0], "parts": {"db": {"disk": disk, "size": size}}} for osd, disk, size in places]
    monkeypatch.setattr(jobs, "one", lambda *words, **named: lies if "osd_plan.osds" in words else ask(*words, **named))
    text = runners["osd.replace"](host="node2", device=device, test=True)["text"]
    assert f"carries the DB or WAL of 1 OSD: {told[0]}" in text, text


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_killed_at_any_moment_the_same_command_goes_on(runners, master, cluster, monkeypatch, before):
    """Before and after each change; a third time changes nothing, and still says what to wipe."""
    pillar = minions.pillar(master.opts())  # compiled each time it takes most of the test
    monkeypatch.setattr(minions, "pillar", lambda opts: copy.deepcopy(pillar))
    fresh = copy.deepcopy(cluster.__dict__)
    runners["osd.replace"](host="node2", device="SSD2")
    for at in range(1, cluster.changes + 1):
        cluster.__dict__.update(copy.deepcopy(fresh))
        cluster.kill = (at, before)
        with pytest.raises(Killed):
            runners["osd.replace"](host="node2", device="SSD2")
        cluster.kill = (None, False)
        done = runners["osd.replace"](host="node2", device="SSD2")
        assert done.get("retcode", 0) == 0 and LINES in done["text"], (at, done)
        ended(cluster)
        state = cluster.state()
        again = runners["osd.replace"](host="node2", device="SSD2")
        assert LINES in again["text"] and "destroyed already: osd.2, osd.3" in again["text"]
        assert cluster.state() == state


@pytest.mark.slow
def test_a_dry_run_changes_nothing_and_says_what_is_at_risk(runners, cluster):
    before = cluster.state()
    text = runners["osd.replace"](host="node2", device="SSD2", test=True)["text"]
    assert "would destroy osd.2, osd.3: Ceph calls that safe" in text and "about 100 GiB are rebuilt" in text
    cluster.refused = ["Error EBUSY: OSD(s) 2,3 have 12 pgs currently mapped to them."]
    cluster.groups = [{"group": "1.a", "pool": "p", "state": "active+clean", "osds": [2, 4, 0], "waits_for": []}]
    refused = runners["osd.replace"](host="node2", device="SSD2", test=True)
    assert refused["retcode"] == 2 and "still to be copied: 1 placement group: 1.a of pool p" in refused["error"]
    assert cluster.state() == before and cluster.log == []


def test_refused_while_data_would_be_lost_with_the_groups_by_name(runners, cluster):
    cluster.refused = ["Error EBUSY: OSD(s) 2,3 have no reported stats, and not all PGs are active+clean"]
    cluster.groups = [
        {"group": "7.0", "pool": "alone", "state": "stale+active+clean", "osds": [3], "waits_for": []},
        {"group": "7.1", "pool": "alone", "state": "down", "osds": [0], "waits_for": [2]},
        {"group": "1.a", "pool": "p", "state": "active+undersized", "osds": [2, 4], "waits_for": []},
    ]
    before = cluster.state()
    done = runners["osd.replace"](host="node2", device="SSD2")
    assert done["retcode"] == 2 and cluster.state() == before and cluster.log == []
    error = done["error"]
    assert "what no other OSD has: placement groups 7.0 of pool alone (stale+active+clean), 7.1 of pool alone" in error
    assert "1 placement group: 1.a of pool p" in error and "no reported stats" in error
    assert "ceph osd out 2 3" in error and "ceph osd safe-to-destroy 2 3" in error and "disk.wipe" not in error


@pytest.mark.slow
def test_ceph_is_asked_when_no_other_command_stops_daemons_any_more(runners, cluster, monkeypatch):
    """One that ended since it was asked first may have left OSDs stopped, or a disk may have died."""
    before, alone = cluster.state(), one_at_a_time.alone

    def ended(*words):
        cluster.refused = ["Error EBUSY: unsafe to stop osd(s) at this time (12 PGs are or would become offline)"]
        return alone(*words)

    monkeypatch.setattr(one_at_a_time, "alone", ended)
    done = runners["osd.replace"](host="node2", device="SSD2")
    assert done["retcode"] == 2 and "would become offline" in done["error"]
    assert cluster.state() == before and cluster.log == []


@pytest.mark.slow
def test_what_ceph_takes_back_once_they_stopped_ends_it_before_anything_is_destroyed(runners, cluster):
    cluster.after_stop = ["Error EAGAIN: OSD(s) 2 last reported they still store some PG data"]
    done = runners["osd.replace"](host="node2", device="SSD2")
    assert done["retcode"] == 2 and "still store some PG data" in done["error"]
    assert "they are stopped: ceph.stage.deploy starts" in done["error"]
    assert all(osd["fsid"] for osd in cluster.osds.values()) and len(cluster.records) == 6


@pytest.mark.slow
def test_typed_again_once_another_device_is_planned_it_destroys_nothing(runners, cluster, monkeypatch):
    """The places that the host keeps say what lay on the old one; an OSD that is back does not lie there."""
    runners["osd.replace"](host="node2", device="SSD2")
    (two, three) = cluster.waiting["node2"].items()
    cluster.osds[2] |= {"fsid": two[0], "up": 1}  # made again, and killed before the host forgot that it waits
    for place in cluster.waiting["node2"].values():
        place["db"] = "/dev/disk/by-id/wwn-0xold"
    before = cluster.state()
    done = runners["osd.replace"](host="node2", device="/dev/disk/by-id/wwn-0xold")
    assert "1 OSD: osd.3" in done["text"] and cluster.state() == before
    assert f"{three[1]['data']} serial=2b" in done["text"] and two[1]["data"] not in done["text"]
    monkeypatch.setattr(planned, "osds", lambda paths: {})  # its host is in no profile while all its disks wait
    assert runners["osd.replace"](host="node2", device="/dev/disk/by-id/wwn-0xold") == done


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"host": "node2", "device": "SSD9"}, "expected the id .* of node2: /dev/disk/by-id/wwn-0x2f .serial SSD2"),
        ({"host": "node2", "device": "2a"}, "is a data disk: 'salt-run osd.replace NUMBER'"),
        ({"host": "node7", "device": "SSD2"}, "host=node7 has no planned OSDs"),
        ({"host": "../x", "device": "SSD2"}, "minion"),
        ({"host": "node2"}, "expected an OSD's number"),
        ({"osd_id": 2, "device": "SSD2"}, "expected an OSD's number"),
        ({}, "expected an OSD's number"),
        ({"osd_id": "osd.2"}, "is not an OSD's number"),
        ({"osd_id": True}, "is not an OSD's number"),
        ({"osd_id": 99}, "the cluster has no osd.99"),
    ],
)
def test_bad_input_is_one_message(runners, cluster, words, says):
    before = cluster.state()
    done = runners["osd.replace"](**words)
    assert done["retcode"] == 2 and cluster.state() == before
    assert re.search(says, done["error"]), done["error"]


def test_a_host_that_does_not_answer_or_a_stage_that_runs_holds_it_back(runners, cluster, monkeypatch):
    before = cluster.state()
    cluster.silent = {"node2"}
    assert "node2" in runners["osd.replace"](host="node2", device="SSD2")["error"]
    cluster.silent = set()
    monkeypatch.setattr(stage_lock, "holder", lambda opts: {"stage": "deploy"})
    assert "stage deploy is running" in runners["osd.replace"](host="node2", device="SSD2")["error"]
    assert cluster.state() == before


@pytest.mark.parametrize("told", [{"x": {"id": 2}}, {"{{ 7 }}": 3}])
def test_what_a_minion_says_is_checked(runners, cluster, told):
    cluster.waiting["node2"] = told
    done = runners["osd.replace"](host="node2", device="SSD2")
    assert done["retcode"] == 2 and "is not understood" in done["error"] and cluster.log == []


@pytest.mark.slow
def test_a_place_is_given_up_though_somebody_purged_its_number(runners, cluster, monkeypatch):
    """'osd.replace 3 gives that OSD's place up', a plan says of it."""
    runners["osd.replace"](host="node2", device="SSD2")
    del cluster.osds[3]
    hosts = {"hosts": {"node2": {"hostname": "node2", "waiting": cluster.waiting["node2"]}}}
    monkeypatch.setattr(kept, "load_inventory", lambda folder: hosts)
    done = runners["osd.replace"](3)
    assert done.get("retcode", 0) == 0, done
    assert [place["id"] for place in cluster.waiting["node2"].values()] == [2]


@pytest.mark.slow
def test_a_disk_of_its_own_frees_its_slot_and_keeps_no_place(master, runners, cluster):
    before, paths = cluster.state(), site(master.opts())
    served = named.known(paths)["node2"]["osds"]
    assert "would destroy osd.2" in runners["osd.replace"](2, test=True)["text"] and cluster.state() == before
    cluster.osds[3]["up"] = 0  # what the played cluster asks of all that are destroyed together
    text = runners["osd.replace"](2)["text"]
    assert "osd.2 of node2 is destroyed; freed: partition 2 of /dev/sdf" in text and "takes the same id" in text
    assert cluster.waiting["node2"] == {} and cluster.osds[2]["fsid"] is None and cluster.osds[3]["fsid"]
    assert "freed: nothing was left" in runners["osd.replace"](2)["text"]
    left = set(served) - set(named.known(paths)["node2"]["osds"])
    assert left == {before[0][2]["fsid"]}, "policy.show would say for ever that it would leave"
    paths.served.unlink()


@pytest.mark.slow
def test_nothing_is_stopped_while_another_command_stops_daemons(runners, cluster):
    before = cluster.state()
    with another_stops_daemons(runners.opts):
        assert BUSY in runners["osd.replace"](host="node2", device="SSD2")["error"]
    assert cluster.state() == before
