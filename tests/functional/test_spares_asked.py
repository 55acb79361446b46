"""Hot spares in the commands: planned for nobody, refused by configure, offered by `osd.replace`."""

import json

import pytest
from saltmaster import Master

from proposals.files import atomic
from proposals.files.site import site
from proposals.inventory import kept
from proposals.pillar import chosen, problems
from proposals.policy import store
from proposals.reference import machines
from runners.engine.asking import jobs, minions
from runners.engine.osds import replacing
from runners.engine.runs import stage_log

POLICY = "cluster-ceph/cluster/*.sls\nprofile-default/cluster/*.sls\nprofile-default/stack/default/ceph/minions/*.yml\n"
FSID = "11111111-1111-4111-8111-111111111111"


@pytest.fixture(scope="module")
def master(salt_factories):
    made = salt_factories.salt_master_daemon("spares", factory_class=Master)
    paths, raw = site(made.opts()), machines.inventory("apollo")
    for name in ("osdnode1", "osdnode2"):
        host = raw["hosts"][name] | {"hostname": name}
        host["ceph_disks"] = [{"in_use": [], "osds": [], **disk} for disk in host["ceph_disks"]]
        atomic.write(paths.inventory / f"{name}.json", json.dumps(host))
        made.accept(name)
    networks = {"public_network": "10.0.0.0/24", "cluster_network": "10.0.0.0/24"}
    store.fragments(paths.proposals, ("osdnode1", "osdnode2"), fsid=FSID, networks=networks)
    atomic.write(paths.proposals / "policy.cfg", POLICY)
    return made


@pytest.fixture
def spare(master, monkeypatch):
    """A data disk of osdnode1 that the site keeps back."""
    disks = kept.load_inventory(site(master.opts()).inventory)["hosts"]["osdnode1"]["ceph_disks"]
    disk = next(each for each in disks if each["rotational"] and not each.get("in_use"))
    pillar = {"hot_spares": {"osdnode*": [disk["serial"]], "osdnode2": ["none such"]}}
    monkeypatch.setattr(minions, "pillar", lambda opts: pillar)
    monkeypatch.setattr(minions, "ours", lambda opts: ["osdnode1", "osdnode2"])
    return disk


@pytest.mark.slow
def test_a_spare_is_planned_for_nobody_and_says_why(master, spare):
    runners = master.runners()
    text = runners["proposal.peek"](all=True)["text"]
    assert "reserved: hot spare" in text and "discovery saw no disk none such (osdnode2)" in text
    assert "reserved: hot spare" in runners["proposal.explain"]("osdnode1", spare["serial"])["text"]


@pytest.mark.slow
def test_configure_refuses_a_profile_that_names_a_spare(master, spare):
    paths = site(master.opts())
    runners = master.runners()
    pillar = dict(minions.pillar(None))
    minions.pillar(None)["hot_spares"] = {}
    assert "osdnode1" in runners["proposal.populate"]()["text"]
    before = problems.found(chosen.read(paths, "salt_master", {}))
    assert not any("hot spare" in line for line in before)
    found = problems.found(chosen.read(paths, "salt_master", pillar))
    assert f"osdnode1: {spare['id']} is not free (reserved: hot spare): take it out of the profile" in found
    atomic.write(paths.root / "stack/ceph/cluster.yml", f"hot_spares: {{osdnode1: '{spare['serial']}'}}\n")
    again = problems.found(chosen.read(paths, "salt_master", {}))
    assert any("reserved: hot spare" in line for line in again), "the site's own file, before it is served"
    atomic.write(paths.root / "stack/ceph/cluster.yml", "{}\n")


@pytest.mark.slow
def test_what_replaces_a_dead_disk_is_offered(master, spare, monkeypatch):
    def asked(opts, function, words=(), kind=None, timeout=0):
        state = {"id": 3, "fsid": None, "host": "osdnode1", "state": "destroyed", "up": False, "in": False}
        return {"cluster_osds.states": [state], "osd_retire.free": {"freed": ["data"]}}[function]

    monkeypatch.setattr(jobs, "cluster", asked)
    monkeypatch.setattr(jobs, "one", lambda opts, minion, function, *more: asked(opts, function))
    monkeypatch.setattr(stage_log, "note", lambda *_, **__: None)
    runners = master.runners()
    text = runners["osd.replace"](3)["text"]
    assert "or use a hot spare of osdnode1: take it out of hot_spares" in text and spare["id"] in text
    minions.pillar(None)["hot_spares"] = {"osdnode2": [spare["serial"]]}
    assert "hot spare" not in runners["osd.replace"](3)["text"]
    minions.pillar(None)["hot_spares"] = ["not understood"]
    monkeypatch.setattr(replacing, "carry_out", lambda *_: pytest.fail("nothing may be given up"))
    assert "hot_spares is" in runners["osd.replace"](3)["error"]
