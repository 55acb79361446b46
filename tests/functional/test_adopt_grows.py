"""An adopted host grows: populate gives no disk of an adopted OSD to others, and deploy is told of new OSDs alone."""

import json

import pytest
import yaml
from saltmaster import Master

from proposals.adoption import judging
from proposals.files import atomic
from proposals.files.site import MINIONS, minion_file, site
from proposals.inventory import kept
from proposals.pillar import chosen, secrets
from proposals.policy import store
from proposals.reference import machines
from proposals.stages.replies import Replies
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs, minions, sealed
from runners.engine.cluster import adopting, health

FSID = "11111111-1111-4111-8111-111111111111"
OSD, NEW = (f"6b0c8f3e-0000-4000-8000-00000000000{number}" for number in (1, 2))
POLICY = """\
cluster-ceph/cluster/*.sls
config/stack/default/ceph/cluster.yml
profile-default/cluster/*.sls
profile-default/stack/default/ceph/minions/*.yml
adopted/cluster/*.sls
adopted/stack/default/ceph/minions/*.yml
"""
GIB = 1 << 30


@pytest.fixture(scope="module")
def master(salt_factories):
    """A master with one host, on which an OSD that others made has its data on a disk and its DB on a flash device."""
    made = salt_factories.salt_master_daemon("grows", factory_class=Master)
    paths, host = site(made.opts()), machines.inventory("apollo")["hosts"]["osdnode1"] | {"hostname": "osdnode1"}
    host["ceph_disks"] = [{"in_use": [], "osds": [], **disk} for disk in host["ceph_disks"]]
    for role, rotates in (("data", True), ("db", False)):
        disk = next(disk for disk in host["ceph_disks"] if disk["rotational"] is rotates and not disk["in_use"])
        part = {"fsid": OSD, "role": role, "id": 0, "cluster": FSID, "size": 40 * GIB, "offset": 1 << 20}
        disk["osds"], disk["in_use"] = [{**part, "format": "bluestore", "state": "in-use"}], ["has partitions"]
    atomic.write(paths.inventory / "osdnode1.json", json.dumps(host))
    made.accept("osdnode1")
    networks = {"public_network": "10.0.0.0/24", "cluster_network": "10.0.0.0/24"}
    store.fragments(paths.proposals, ("osdnode1",), fsid=FSID, networks=networks)
    record = {"ceph": {"adopted": {"osds": {OSD: {"id": 0, "form": "partitions"}}}, "tuning": "none"}}
    atomic.write(paths.proposals / "adopted" / minion_file("osdnode1"), yaml.safe_dump(record))
    atomic.write(paths.proposals / "adopted/cluster/osdnode1.sls", "roles:\n- storage\n")
    atomic.write(paths.proposals / "policy.cfg", POLICY)
    return made


@pytest.mark.slow
def test_new_osds_lie_elsewhere_and_the_adopted_one_is_planned_by_nobody(master, monkeypatch):
    paths = site(master.opts())
    monkeypatch.setattr(minions, "pillar", lambda opts: {})
    monkeypatch.setattr(minions, "ours", lambda opts: ["osdnode1"])
    done = master.runners()["proposal.populate"]()
    assert "osdnode1" in done["text"], done
    lies = {
        disk["id"] for disk in kept.load_inventory(paths.inventory)["hosts"]["osdnode1"]["ceph_disks"] if disk["osds"]
    }
    text = (paths.proposals / "profile-default" / minion_file("osdnode1")).read_text()
    assert OSD in text and len(lies) == 2  # populate writes all that lie there
    choice = chosen.read(paths, "salt_master", {})
    planned = choice.osds["osdnode1"]
    assert planned and not [osd for osd in planned.values() if OSD in osd["uuids"]]
    used = {osd.get(part) for osd in planned.values() for part in ("db", "wal")} | set(planned)
    assert not lies & used
    assert OSD in choice.files[f"{MINIONS}/osdnode1.yml"]["ceph"]["adopted"]["osds"]


@pytest.mark.slow
def test_an_adopted_osd_counts_for_health_and_what_needs_our_form_refuses(master, monkeypatch):
    paths, osd = site(master.opts()), {"id": 0, "fsid": OSD, "host": "osdnode1", "state": "in-use"}
    asked = []

    def cluster(opts, function, words=(), kind=None, timeout=0):
        asked.append(function)
        return {"cluster_osds.states": [osd], "cluster_maintenance.hosts": {}}[function]

    record = (paths.proposals / "adopted" / minion_file("osdnode1")).read_text()
    atomic.write(paths.current / minion_file("osdnode1"), record)
    members = {"all": ["osdnode1"], "storage": ["osdnode1"], "mon": [], "mgr": [], "master": ["osdnode1"]}
    monkeypatch.setattr(minions, "members", lambda opts: members)
    monkeypatch.setattr(jobs, "cluster", cluster)
    monkeypatch.setattr(jobs, "ask", lambda *words, **named: Replies({"osdnode1": []}, []))
    runners = master.runners()
    for command in ("replace", "migrate"):
        done = runners[f"osd.{command}"](0)
        assert done["retcode"] == 2 and f"(partitions): osd.{command} works on OSDs" in done["error"], done
    assert set(asked) == {"cluster_osds.states", "cluster_maintenance.hosts"}  # nobody was asked to do anything
    assert health.plan(master.opts()).osds == {OSD: "osdnode1"}


def played():
    """What two hosts answer, and what the monitor of one of them tells."""
    osd = {"cluster": FSID, "form": "partitions", "format": "bluestore", "encrypted": False, "devices": {}}
    bare = {"admin": False, "units": {}, "services": [], "foreign": [], "conf": "0" * 64}
    hosts = {
        "osdnode1": {
            **bare,
            "hostname": "osdnode1",
            "daemons": {"mon": ["osdnode1"]},
            "osds": [{**osd, "id": 0, "fsid": OSD}],
        },
        "osdnode2": {**bare, "hostname": "osdnode2", "daemons": {}, "osds": [{**osd, "id": 1, "fsid": NEW}]},
    }
    caps = {"caps": {"mon": "allow *"}}
    monitor = {"name": "osdnode1", "public_addrs": {"addrvec": [{"type": "v2", "addr": "10.0.0.1:3300"}]}}
    told = {
        "mons": {"fsid": FSID, "mons": [monitor]},
        "osds": {"require_osd_release": "pacific", "osds": [{"uuid": OSD, "osd": 0}, {"uuid": NEW, "osd": 1}]},
        "managers": {"active_name": "osdnode1", "standbys": []},
        "systems": {"filesystems": [], "standbys": []},
        "keys": {name: {"key": secrets.new_key(), **caps} for name in ("client.admin", "client.bootstrap-osd")},
        "monitor_keyring": f"[mon.]\n\tkey = {secrets.new_key()}\n",
        "config": [],
        "others": [],
        "conf": f"[global]\nfsid = {FSID}\n",
    }
    return hosts, told


@pytest.mark.slow
@pytest.mark.parametrize("planned", [True, False])
def test_what_stages_made_since_is_not_adopted(master, monkeypatch, planned):
    """A host that grew into an adopted cluster has its ceph.conf and its OSDs by our stages; one that was silent when
    the cluster was adopted, and that policy.cfg names, has OSDs that nobody planned."""
    paths, (hosts, told) = site(master.opts()), played()
    for minion, fsid in (("osdnode1", OSD), ("osdnode2", NEW)):
        atomic.write(paths.current / f"cluster/{minion}.sls", "cluster: ceph\n")
        atomic.write(paths.current / minion_file(minion), yaml.safe_dump({"uuids": [fsid] * planned}))
    monkeypatch.setattr(minions, "ours", lambda opts: sorted(hosts))
    monkeypatch.setattr(minions, "master", lambda opts: "osdnode1")
    monkeypatch.setattr(jobs, "ask", lambda *words, **named: Replies(hosts, []))
    monkeypatch.setattr(sealed, "ask", lambda *words: told)
    written = adopting.look(master.opts()).written
    assert f"adopted/{minion_file('osdnode1')}" in written.files
    assert (f"adopted/{minion_file('osdnode2')}" in written.files) is not planned
    assert any("osdnode2" in line for line in written.policy) is not planned


@pytest.mark.slow
def test_what_is_there_with_another_content_is_told_line_by_line(master, monkeypatch):
    """An OSD that was down when its host was adopted stands in no record: whoever writes it there has to see it."""
    paths, (hosts, told) = site(master.opts()), played()
    hosts["osdnode1"]["osds"] += hosts["osdnode2"]["osds"]
    monkeypatch.setattr(minions, "ours", lambda opts: ["osdnode1"])
    monkeypatch.setattr(minions, "master", lambda opts: "osdnode1")
    monkeypatch.setattr(jobs, "ask", lambda *words, **named: Replies({"osdnode1": hosts["osdnode1"]}, []))
    monkeypatch.setattr(sealed, "ask", lambda *words: told | {"managers": {"active_name": "osdnode1", "standbys": []}})
    monkeypatch.setattr(judging, "refusals", lambda *words: [])
    record = paths.proposals / "adopted" / minion_file("osdnode1")
    before = record.read_text()
    text = master.runners()["ceph.adopt"](test=True)["text"]
    assert f"\n{record}: is there with another content, and stays:\n" in text and record.read_text() == before
    assert f"\n+      {NEW}:\n" in text, text


@pytest.mark.slow
def test_a_client_of_another_cluster_is_left_alone(master, monkeypatch):
    """Its ceph.conf would be kept as an adopted one, and its admin's key taken for one of ours."""
    hosts, told = played()
    other = "22222222-2222-4222-8222-222222222222"
    hosts["client1"] = {**hosts["osdnode2"], "hostname": "client1", "osds": [], "admin": True, "fsid": other}
    hosts["client2"] = {**hosts["client1"], "hostname": "client2", "fsid": FSID}
    monkeypatch.setattr(minions, "ours", lambda opts: sorted(hosts))
    monkeypatch.setattr(minions, "master", lambda opts: "osdnode1")
    monkeypatch.setattr(jobs, "ask", lambda *words, **named: Replies(hosts, []))
    monkeypatch.setattr(sealed, "ask", lambda *words: told)
    look = adopting.look(master.opts())
    written = "\n".join([*look.written.files, *look.written.policy, *look.lines()])
    assert "client2" in written and "client1" not in written
    assert f"client1: its ceph.conf names cluster {other}: left alone" in look.notes


def test_a_store_whose_monitor_is_gone_holds_nothing_back(master, monkeypatch):
    hosts, told = played()
    hosts["osdnode1"]["daemons"], hosts["osdnode2"]["daemons"] = ({"mon": [f"osdnode{number}"]} for number in (1, 2))
    told["mons"]["mons"][0]["name"] = "osdnode2"
    monkeypatch.setattr(minions, "ours", lambda opts: sorted(hosts))
    monkeypatch.setattr(minions, "master", lambda opts: "osdnode1")
    monkeypatch.setattr(jobs, "ask", lambda *words, **named: Replies(hosts, []))
    gone = {"osdnode1"}

    def ask(opts, minion, function):
        if minion in gone:
            raise ProposalError(f"{minion}: (13) Permission denied")
        return told

    monkeypatch.setattr(sealed, "ask", ask)
    assert list(adopting.look(master.opts()).cluster.monitors) == ["osdnode2"]
    gone.add("osdnode2")
    with pytest.raises(ProposalError, match="nothing was written:\nosdnode1: .*\nosdnode2: "):
        adopting.look(master.opts())
