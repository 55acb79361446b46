"""What policy.cfg selects becomes one generation, or one message with every problem."""

import copy
import json

import jinja2
import pytest
import yaml

from proposals.files import atomic
from proposals.files.site import Site, minion_file
from proposals.pillar import chosen, generation, generation_disk, key_store, problems
from proposals.pillar.chosen import Chosen
from proposals.settings.cluster import LAYER
from proposals.text.errors import PolicyError
from proposals.validation import judging

DATA, SSD = "/dev/disk/by-id/wwn-0x1", "/dev/disk/by-id/wwn-0x2"
OSD = "6b0c2b1e-0000-4000-8000-000000000001"
INVENTORY = {
    name: {
        "hostname": name,
        "addresses": [f"10.0.0.{number}/24", f"10.1.0.{number}/24"],
        "ceph_disks": [{"id": disk, "in_use": [], "osds": []} for disk in (DATA, SSD)],
    }
    for number, name in enumerate(("node1", "node2", "salt.lab"), start=1)
}
CHOSEN = {
    "cluster/node1.sls": {"cluster": "ceph", "roles": ["mon", "storage"]},
    "cluster/node2.sls": {"cluster": "ceph", "roles": ["mgr"]},
    "cluster/salt.lab.sls": {"cluster": "ceph", "roles": ["master"]},
    "cluster/spare.sls": {"cluster": "unassigned"},
    "stack/default/ceph/cluster.yml": {
        "fsid": "11111111-1111-4111-8111-111111111111",
        "public_network": "10.0.0.0/24",
        "cluster_network": "10.1.0.0/24",
    },
    "stack/default/ceph/minions/node1.yml": {
        "ceph": {
            "storage": {
                "osds": {DATA: {"format": "bluestore", "uuids": [OSD], "db": SSD, "db_size": 1}},
                "disks": {DATA: {"size": 1, "serial": "a"}, SSD: {"size": 1, "serial": "b"}},
            }
        }
    },
}


def build(chosen=CHOSEN, inventory=INVENTORY, twice=False, **more):
    """The generation of a choice that one folder holds; ``twice``: and another one again."""
    folders = ("one", "other")[: 1 + twice]
    contents = {target: {f"{name}/{target}": content for name in folders} for target, content in chosen.items()}
    return generation.build(Chosen(contents, inventory, "salt_master", **more))


def test_members_and_monitors():
    made = build()
    derived = yaml.load(made.files["stack/default/ceph/derived.yml"], yaml.CSafeLoader)["ceph"]
    assert derived["monitors"] == [
        {"name": "node1", "address": "10.0.0.1", "addrs": "[v2:10.0.0.1:3300,v1:10.0.0.1:6789]"}
    ]
    assert derived["generation"] == made.name
    members = yaml.load(made.files["stack/default/ceph/minions/salt_master.yml"], yaml.CSafeLoader)["ceph"]["members"]
    assert members["all"] == ["node1", "node2", "salt.lab"]
    assert members["admin"] == ["salt.lab"]


def test_a_minion_that_is_told_other_things_has_no_osds():
    """A monitor's kernel settings or network alone, beside a profile's OSDs."""
    told = {**CHOSEN, minion_file("node2"): {"ceph": {"tuning": {"profile": "ceph-latency"}}}}
    assert list(chosen.osds(told)) == ["node1"]
    assert list(build(told).members["storage"]) == ["node1"]


def test_the_same_choice_is_the_same_generation():
    assert build() == build(dict(reversed(CHOSEN.items())))
    other = copy.deepcopy(CHOSEN)
    other["cluster/node2.sls"]["roles"].append("mds")
    assert build(other).name != build().name


def test_secret_rotate_makes_keys_of_the_cipher_that_configure_does(tmp_path):
    """A host of admins alone is told nothing of its own, and reads the admin's key by its own Ceph."""
    knows = dict.fromkeys(INVENTORY, "aes256k") | {"desk": "aes", "spare": "aes"}
    host = {"addresses": [], "ceph_disks": []}
    inventory = {
        each: {**host, "hostname": each, **INVENTORY.get(each, {}), "ceph_cipher": knows[each]} for each in knows
    }
    made = build({**CHOSEN, "cluster/desk.sls": {"cluster": "ceph", "roles": ["admin"]}}, inventory)
    site = Site(tmp_path / "site", tmp_path / "shipped")
    generation_disk.serve(site, generation_disk.prepare(site, made))
    for each, host in inventory.items():
        atomic.write(site.inventory / f"{each}.json", json.dumps(host))
    assert minion_file("desk") not in made.files
    assert key_store.cipher(site) == made.cipher == "aes" and key_store.older_hosts(site) == ["desk"]


def change(path, *keys, value):
    chosen = copy.deepcopy(CHOSEN)
    place = chosen[path]
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    return chosen


PROFILE = "stack/default/ceph/minions/node1.yml"


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (change("cluster/node2.sls", "roles", value=["mgr", "monn"]), "node2: unknown role 'monn'; known are"),
        (change("cluster/node2.sls", "roles", value=[]), "no minion has the role mgr"),
        (change("stack/default/ceph/cluster.yml", "fsid", value=None), "fsid is not set"),
        (change("stack/default/ceph/cluster.yml", "public_network", value="10.9.0.0/24"), "node1: no address in"),
        (
            change("stack/default/ceph/cluster.yml", "public_network", value="10.0.0.1/24"),
            "public_network is 10.0.0.1/24: expected a network such as",
        ),
        (change(PROFILE, "ceph", "storage", "osds", "/dev/sdx", value={}), "node1: /dev/sdx is not in the inventory"),
        (
            change(PROFILE, "ceph", "storage", "osds", DATA, "journal", value="/dev/sdx"),
            "node1: /dev/sdx is not in the inventory",
        ),
        (change(PROFILE, "ceph", "storage", "disks", value={}), f"node1: {SSD} has no size and serial"),
        (change("cluster/node2.sls", "note", value="{{ 7 * 7 }}"), "holds '{{', which Salt would run"),
        ({k: v for k, v in CHOSEN.items() if "node1.sls" not in k}, "no minion has the role mon"),
    ],
)
def test_problems_are_named(chosen, message):
    with pytest.raises(PolicyError) as found:
        build(chosen)
    assert message in str(found.value)


def test_alertmanagers_own_templates_are_told_as_they_are():
    """A site writes them between raw and endraw; Salt renders what configure writes once more."""
    receiver = {"name": "ops", "slack_configs": [{"title": "{{ .CommonLabels.alertname }}", "send_resolved": True}]}
    own = {LAYER: {"monitoring": {"alertmanager": {"receivers": [receiver]}}}}
    told = change("cluster/node2.sls", "roles", value=["mgr", "prometheus", "alertmanager"])
    text = build(told, own=own).files[minion_file("node2")]
    read = yaml.load(jinja2.Template(text).render(), yaml.CSafeLoader)["ceph"]["services"]
    assert read["alertmanager"]["config"]["receivers"] == [receiver] and read["node-exporter"] == {}
    told[minion_file("node2")] = {"note": "{{ 7 * 7 }}"}
    with pytest.raises(PolicyError, match="minions/node2.yml: holds '{{', which Salt would run"):
        build(told, own=own)


@pytest.mark.parametrize("role", ["mgr", "mds", "rgw", "storage"])
def test_a_daemons_host_that_discovery_never_saw_is_told(role):
    """Daemons are named after their host, not after its minion."""
    told = {**CHOSEN, "cluster/new.sls": {"cluster": "ceph", "roles": [role, "admin"]}}
    judged = judging.judge(Chosen({target: {"one": each} for target, each in told.items()}, INVENTORY, "salt_master"))
    line = "new: no inventory of this host: start its minion, run ceph.stage.discovery again"
    assert judged.made is None and line in [each.message for each in judged.findings]


@pytest.mark.parametrize("role", ["admin", "client-nfs", "benchmark"])
def test_a_host_without_daemons_needs_no_inventory(role):
    assert build({**CHOSEN, "cluster/new.sls": {"cluster": "ceph", "roles": [role]}}).roles["new"] == [role]


@pytest.mark.parametrize(
    "seen",
    [
        {"ceph_disks": [{"device": "/dev/sda", "size": 1}]},  # as of lsblk -J, which names no host
        {"hostname": 5},
        {"hostname": "node1", "addresses": None},
        {"hostname": "node1", "ceph_disks": None},
        {"hostname": "node1", "ceph_disks": [{"size": 1}]},
        [1],
        None,
    ],
)
def test_what_is_none_of_discoverys_is_told(seen):
    contents = {target: {f"one/{target}": content} for target, content in CHOSEN.items()}
    choice = Chosen(contents, {**INVENTORY, "node1": seen}, "salt_master")
    line = "node1: inventory/node1.json is not what discovery stores: run ceph.stage.discovery again"
    with pytest.raises(PolicyError) as told:
        generation.build(choice)
    assert str(told.value).splitlines()[1:] == [line]
    assert [each.message for each in judging.judge(choice).findings] == [line]


def test_a_disk_that_could_not_be_looked_at_holds_back_nothing():
    """Discovery stores it under the kernel's name alone."""
    inventory = copy.deepcopy(INVENTORY)
    dead = {"device": "/dev/sdz", "in_use": ["does not answer"], "error": "Input/output error", "osds": []}
    inventory["node1"]["ceph_disks"].append(dead)
    assert build(inventory=inventory).members["storage"] == ["node1"]


@pytest.mark.parametrize(
    ("has", "address"),
    [
        (["10.0.0.1/24", "10.0.0.101/24"], "10.0.0.1"),
        (["10.0.0.31/24", "10.0.0.101/32"], "10.0.0.31"),  # as text the second comes first
        (["10.0.0.101/24"], "10.0.0.101"),  # it has moved; deploy compares that with where its monitor listens
    ],
)
def test_a_monitor_keeps_the_address_that_is_served_while_its_host_has_it(has, address):
    """Its host may get further ones in the public network, such as one that somebody's keepalived moves."""
    inventory = copy.deepcopy(INVENTORY)
    inventory["node1"]["addresses"] = [has[0]]
    first = build(inventory=inventory)
    told = yaml.load(first.files["stack/default/ceph/derived.yml"], yaml.CSafeLoader)
    inventory["node1"]["addresses"] = sorted(has)
    derived = yaml.load(
        build(inventory=inventory, pillar=told).files["stack/default/ceph/derived.yml"], yaml.CSafeLoader
    )["ceph"]
    assert [each["address"] for each in derived["monitors"]] == [address]
    assert derived["mon_host"] == f"[v2:{address}:3300,v1:{address}:6789]"


def test_a_monitor_without_addresses_is_told_as_such():
    inventory = copy.deepcopy(INVENTORY)
    del inventory["node1"]["addresses"]
    with pytest.raises(PolicyError, match="node1: no address in public_network 10.0.0.0/24; it has none"):
        build(inventory=inventory)


@pytest.mark.parametrize("key", [2, True])
def test_a_key_that_is_no_text_is_told(key):
    target = "stack/default/ceph/cluster.yml"
    with pytest.raises(PolicyError, match=f"one/{target}: the key {key}: expected text, the name of a setting"):
        build(change(target, key, value="x"))


SILENT = {"in_use": ["has partitions", "does not answer"], "osds": []}


@pytest.mark.parametrize("told", [None, SILENT, {"size": 0, "osds": []}], ids=["gone", "silent", "without a size"])
@pytest.mark.parametrize(("disk", "at"), [(DATA, 0), (SSD, 1)])
def test_a_disk_that_is_gone_holds_back_nothing(disk, at, told):
    """One that the profile recorded and discovery did not see, or found silent: its OSDs stay planned, it is named."""
    inventory = copy.deepcopy(INVENTORY)
    for seen in inventory["node1"]["ceph_disks"]:
        seen["rotational"] = True
    whole = build(inventory=copy.deepcopy(inventory))
    disks = inventory["node1"]["ceph_disks"]
    disks[at : at + 1] = [disks[at] | told] if told else []
    assert build(inventory=inventory).name == whole.name
    contents = {target: {f"one/{target}": content} for target, content in CHOSEN.items()}
    assert problems.gone(Chosen(contents, inventory, "salt_master")) == {"node1": [disk]}
    (found,) = judging.without(Chosen(contents, inventory, "salt_master"))
    assert (found.severity, found.hosts) == ("warning", ("node1",)) and f"{disk}: not there" in found.message


def test_a_disk_whose_osds_have_no_fsid_is_named():
    """As DeepSea's profiles have it: hosts make OSDs by their fsids alone."""
    target = minion_file("node1")
    osds = {disk: {k: v for k, v in osd.items() if k != "uuids"} for disk, osd in chosen.osds(CHOSEN)["node1"].items()}
    bare = copy.deepcopy(CHOSEN)
    bare[target]["ceph"]["storage"]["osds"] = osds
    choice = Chosen({path: {f"one/{path}": content} for path, content in bare.items()}, INVENTORY, "salt_master")
    (found,) = judging.without(choice)
    assert (found.check, found.severity, found.hosts) == ("disk_unnamed", "warning", ("node1",))
    assert f"{DATA}: its profile has no uuids for it" in found.message and generation.build(choice)


def test_a_host_that_is_not_in_the_inventory_is_one_line():
    """Not one for each of its disks."""
    with pytest.raises(PolicyError) as found:
        build(inventory={name: host for name, host in INVENTORY.items() if name != "node1"})
    told = str(found.value)
    assert "node1: no inventory of this storage host: start its minion" in told and "/dev/" not in told


def test_a_disk_that_is_not_free_is_named_with_its_reason():
    inventory = copy.deepcopy(INVENTORY)
    inventory["node1"]["ceph_disks"][0]["in_use"] = ["holds ext4"]
    with pytest.raises(PolicyError, match=r"node1: /dev/disk/by-id/wwn-0x1 is not free \(holds ext4\)"):
        build(inventory=inventory)


def test_two_hosts_of_one_name_are_refused():
    inventory = copy.deepcopy(INVENTORY)
    inventory["node2"]["hostname"] = "node1"
    with pytest.raises(PolicyError, match="node1 and node2 share the host name node1"):
        build(inventory=inventory)


def test_a_disk_in_two_profiles_is_named():
    with pytest.raises(PolicyError, match=f"node1: {DATA} is in one and in other: let policy.cfg select one of them"):
        build(twice=True)


OWN = "stack/ceph/cluster.yml"


def test_the_sites_own_layer_has_the_last_word():
    """A network of its own, which monitors are asked to have an address in."""
    with pytest.raises(PolicyError, match="node1: no address in public_network 10.9.0.0/24"):
        build(own={OWN: {"public_network": "10.9.0.0/24"}})


def test_a_misspelt_key_of_the_sites_own_layer_is_refused():
    with pytest.raises(PolicyError, match="stack/ceph/cluster.yml: smal_site: no such setting: did you mean 'small_"):
        build(own={OWN: {"smal_site": True}})
    assert build(own={OWN: {"apache": {"port": 80}}}).name == build().name
    assert build(pillar={"smal_site": True}).name == build().name  # the site's pillar may hold what it likes


def test_a_file_that_nothing_reads_is_a_warning_and_holds_back_nothing():
    contents = {target: {f"one/{target}": content} for target, content in CHOSEN.items()}
    judged = judging.judge(Chosen(contents, INVENTORY, "salt_master", listed=("stack/cluster.yml", OWN)))
    told = [(each.severity, each.message) for each in judged.findings if each.check == "unread_file"]
    assert told == [("warning", f"stack/cluster.yml: nothing reads this file: did you mean {OWN}?")]
    assert judged.made == build()
