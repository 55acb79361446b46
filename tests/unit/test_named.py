"""What was served is remembered, host by host, until it has left: nothing else may leave."""

import copy
import json

import pytest
import yaml
from test_generation import CHOSEN, DATA, INVENTORY, OSD

from proposals.cluster.removal.items import Item
from proposals.files import atomic
from proposals.files.site import Site, minion_file
from proposals.pillar import generation, generation_disk, named, secrets
from proposals.pillar.chosen import Chosen
from proposals.text.errors import StoreError

OTHER = "6b0c2b1e-0000-4000-8000-000000000002"
RGW = {"gateways": [{"name": "rgw.node2"}, {"name": "secure.node2"}]}


@pytest.fixture
def site(tmp_path):
    """A site whose hosts were discovered, and that serves nothing yet."""
    for name, host in INVENTORY.items():
        atomic.write(tmp_path / "inventory" / f"{name}.json", json.dumps(host))
    (tmp_path / "shipped").mkdir()
    return Site(tmp_path, tmp_path / "shipped")


def built(chosen):
    contents = {target: {f"one/{target}": content} for target, content in chosen.items()}
    return generation.build(Chosen(contents, INVENTORY, "salt_master"))


def without_node1():
    """All of it is node2's: another OSD, the monitor."""
    chosen = copy.deepcopy(CHOSEN)
    storage = chosen.pop(minion_file("node1"))["ceph"]["storage"]
    storage["osds"][DATA]["uuids"] = [OTHER]
    del chosen["cluster/node1.sls"]
    chosen["cluster/node2.sls"]["roles"] = ["mon", "mgr", "storage"]
    return {**chosen, minion_file("node2"): {"ceph": {"storage": storage}}}


def test_a_generation_names_osds_daemons_and_files():
    told = built(CHOSEN).named
    assert told["node1"] == {
        "hostname": "node1", "osds": [OSD], "parts": {"mon": {"daemons": ["node1"]}, "bootstrap-osd": {}, "crash": {}}
    }  # fmt: skip
    assert told["node2"]["parts"] == {"mgr": {"daemons": ["node2"], "keys": ["mgr.node2"]}, "crash": {}}
    assert told["salt.lab"]["parts"] == {"admin": {}} and "spare" not in told


def test_services_are_named_by_their_daemons_and_keys():
    roles = {"cluster/node2.sls": {"roles": ["rgw"]}}
    files = {**roles, minion_file("node2"): {"ceph": {"services": {"rgw": RGW, "node-exporter": {}}}}}
    parts = named.hosts(files, {})["node2"]["parts"]
    assert parts["rgw"] == {
        "daemons": ["rgw.node2", "secure.node2"], "keys": ["client.rgw.node2", "client.secure.node2"]
    }  # fmt: skip
    assert {"node-exporter", "crash"} <= parts.keys()


def test_the_keyrings_of_a_host_are_named_by_their_clients_and_are_no_keys_of_its_own():
    keyrings = [
        {"path": f"/etc/ceph/ceph.{name}.keyring", "use": f"keyring/{name}"} for name in ("client.b", "client.a")
    ]
    told = {"ceph": {"services": {"client-keys": {"keyrings": keyrings}}}}
    first = named.hosts({"cluster/node2.sls": {"roles": ["mgr"]}, minion_file("node2"): told}, {})
    assert first["node2"]["parts"]["client-keys"] == {"clients": ["client.b", "client.a"]}
    told["ceph"]["services"]["client-keys"]["keyrings"] = keyrings[:1]
    second = named.hosts({"cluster/node2.sls": {"roles": ["mgr"]}, minion_file("node2"): told}, {})
    assert named.merged(first, second)["node2"]["parts"]["client-keys"] == {"clients": ["client.a", "client.b"]}


def test_what_was_served_once_is_known_until_it_has_left(site):
    named.note(site, built(CHOSEN).named)
    named.note(site, built(without_node1()).named)
    known = named.known(site)
    assert known["node1"]["osds"] == [OSD] and known["node2"]["parts"].keys() == {
        "mon",
        "mgr",
        "bootstrap-osd",
        "crash",
    }
    named.forget(site, [Item("osd", "osd.0", "node1", OSD), Item("mon", "mon.node1", "node1")])
    assert named.known(site)["node1"]["parts"] == {"bootstrap-osd": {}, "crash": {}}
    rest = [Item(part, part, "node1") for part in ("bootstrap-osd", "crash")]
    named.forget(site, [*rest, Item("key", "client.x")])
    assert "node1" not in named.known(site) and "node2" in named.known(site)


def test_of_two_gateways_the_one_that_left_is_forgotten(site):
    parts = {"rgw": {"daemons": ["rgw.node2", "secure.node2"]}}
    named.note(site, {"node2": {"hostname": "node2", "osds": [], "parts": parts}})
    named.forget(site, [Item("rgw", "rgw.secure.node2", "node2")])
    assert named.known(site)["node2"]["parts"]["rgw"]["daemons"] == ["rgw.node2"]


def test_of_two_keyrings_the_one_that_left_is_forgotten_and_until_then_told(site):
    both = {"node2": {"hostname": "node2", "osds": [], "parts": {"client-keys": {"clients": ["client.a", "client.b"]}}}}
    one = {"node2": {"hostname": "node2", "osds": [], "parts": {"client-keys": {"clients": ["client.b"]}}}}
    named.note(site, both)
    assert named.keyrings(named.known(site), both) == []
    (line,) = named.keyrings(named.known(site), one)
    assert line.startswith("node2: keyrings that ceph_keys gives it no more, left alone: client.a; see 'salt-run stage")
    named.forget(site, [Item("client-keys", "client.a", "node2")])
    assert named.known(site) == one and named.keyrings(one, one) == []


def test_noting_the_same_again_writes_nothing(site):
    named.note(site, built(CHOSEN).named)
    before = site.served.stat()
    named.note(site, built(CHOSEN).named)
    assert site.served.stat().st_mtime_ns == before.st_mtime_ns and site.served.stat().st_ino == before.st_ino


def test_a_site_from_before_knows_by_the_generations_that_are_kept(site):
    for chosen in (CHOSEN, without_node1()):
        generation_disk.prepare(site, built(chosen))
    assert not site.served.exists()
    assert named.known(site)["node1"]["osds"] == [OSD]
    assert named.known(site)["node2"]["parts"].keys() == {"mon", "mgr", "bootstrap-osd", "crash"}


def test_what_is_broken_is_refused_by_name(site):
    atomic.write(site.served, "{")
    with pytest.raises(StoreError, match=r"served\.json is broken"):
        named.known(site)


def test_wanted_entities_are_those_that_the_master_registers(site):
    made = built(CHOSEN)
    generation_disk.tell(site, made)
    assert {"mgr.node2", "client.crash", "client.admin", "mon."} <= set(named.entities(site, "salt.lab"))
    assert {"mgr.node2", "mon."} <= set(named.made(site))
    atomic.write(site.secrets / "salt.lab.yml", yaml.safe_dump({"ceph_secrets": {"admin": "x"}}))
    with pytest.raises(StoreError, match="holds no keyring to register"):
        named.entities(site, "salt.lab")


def test_entities_are_never_told_as_unwanted_without_a_file(site):
    """Without it every key would be one that nobody needs."""
    with pytest.raises(StoreError):
        named.entities(site, "salt.lab")
    assert "mgr." not in secrets.CAPS or named.made(site) == []


def test_what_policy_cfg_leaves_out_is_told_before_it_is_configured():
    every = built(CHOSEN).named
    assert named.leaves(every, CHOSEN) == []
    lines = named.leaves(every, without_node1())
    assert lines == ["would leave: node1: 1 OSD, bootstrap-osd, crash, mon"]
