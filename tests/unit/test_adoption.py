"""A cluster that others made: what is refused, what is written, what stays; every case is data."""

import copy
import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from proposals.adoption import conf, deepsea, found, judging, writing
from proposals.files import atomic
from proposals.files.site import Site
from proposals.pillar import adopted, chosen, generation, held, named, secrets
from proposals.policy import fragments, policy
from proposals.services import cephfs
from proposals.text.errors import ArgumentError, InventoryError

FOLDER = Path(__file__).parent.parent / "fixtures/adoption"
CONF = yaml.load((FOLDER / "conf.yaml").read_text(), yaml.CSafeLoader)
CASES = yaml.load((FOLDER / "cases.yaml").read_text(), yaml.CSafeLoader)
FSID = "0b5d3b9e-2a55-4c5e-9d3f-5c8a5d6a7b01"
OSDS = [f"6b0c8f3e-0000-4000-8000-00000000000{number}" for number in range(3)]
KEYS = {
    name: secrets.new_key()
    for name in ("client.admin", "client.bootstrap-osd", "mgr.node1", "mon.", "client.crash", "mds")
}
MASTERS = {"path": "stack/default/ceph/minions/node1.yml"}


def osd(number, **other):
    told = {"id": number, "fsid": OSDS[number], "cluster": FSID, "form": "raw", "format": "bluestore"}
    return {**told, "encrypted": False, "devices": {"data": "/dev/sdb"}, **other}


def base():
    """Answers of two hosts, and of the monitor."""
    host = {"conf": "0" * 64, "admin": True, "units": {}, "services": [], "foreign": []}
    hosts = {
        "node1": {**host, "hostname": "node1", "daemons": {"mon": ["node1"], "mgr": ["node1"]}, "osds": [osd(0)]},
        "node2": {**host, "hostname": "node2", "daemons": {}, "admin": False, "osds": [osd(1)]},
        "salt": {**host, "hostname": "salt", "conf": None, "daemons": {}, "admin": False, "osds": []},
    }
    keys = {name: {"key": key, "caps": {"mon": "allow *"}} for name, key in KEYS.items() if name not in ("mon.", "mds")}
    told = {
        "mons": {"fsid": FSID, "mons": [monitor("node1", "10.0.0.1")]},
        "osds": {"require_osd_release": "pacific", "osds": [{"uuid": OSDS[at], "osd": at} for at in (0, 1)]},
        "config": [],
        "managers": {"active_name": "node1", "standbys": []},
        "systems": {"filesystems": [], "standbys": []},
        "keys": {name: entry for name, entry in keys.items() if name != "client.crash"},
        "others": ["osd.0", "client.images"],
        "monitor_keyring": f"[mon.]\n\tkey = {KEYS['mon.']}\n",
        "conf": CONF[0]["text"].replace("192.168.172.", "10.0.0."),
    }
    return hosts, told, keys


def monitor(name, address):
    both = [("v2", 3300), ("v1", 6789)] if address != "v1" else [("v1", 6789)]
    address = address if address != "v1" else "10.0.0.1"
    return {"name": name, "public_addrs": {"addrvec": [{"type": t, "addr": f"{address}:{port}"} for t, port in both]}}


def systems(active, standbys):
    """Ceph's ``fs dump``, of active servers by file system."""
    return {
        "filesystems": [
            {"mdsmap": {"fs_name": name, "info": {f"gid_{at}": {"name": each} for at, each in enumerate(servers)}}}
            for name, servers in active.items()
        ],
        "standbys": [{"name": name} for name in standbys],
    }


def changed(case):
    hosts, told, keys = base()
    text = yaml.safe_dump(case).replace("cluster: FSID", f"cluster: {FSID}")
    text = yaml.load(text.replace("key: MDS", f"key: {secrets.digest(KEYS['mds'])}"), yaml.CSafeLoader)
    for minion, change in text.get("hosts", {}).items():
        hosts[minion] |= change
    change = text.get("told", {})
    for name, address in change.get("mons", {}).items():
        others = [each for each in told["mons"]["mons"] if each["name"] != name]
        told["mons"]["mons"] = [*others, monitor(name, address)]
    told["osds"]["osds"] += [{"uuid": uuid, "osd": at} for uuid, at in change.get("osds", {}).items()]
    told["osds"]["require_osd_release"] = change.get("release", "pacific")
    told |= {key: change[key] for key in ("config", "managers", "conf") if key in change}
    told["systems"] = systems(change.get("systems", {}), change.get("standbys", []))
    for name in change.get("servers", ()):
        told["keys"][name] = {"key": KEYS["mds"], "caps": {"mon": "allow profile mds", "mds": "allow"}}
    for name in change.get("without", ()):
        del told["keys"][name]
    if change.get("crash"):
        told["keys"]["client.crash"] = keys["client.crash"]
    return hosts, told, text.get("known", {})


def look(case):
    hosts, told, knows = changed(case)
    listed = [found.host(minion, answer) for minion, answer in sorted(hosts.items())]
    digests = {name: secrets.digest("another") for name in knows.get("keys", ())}
    has = {name: [f"10.0.0.{at}/24", f"fd00::{at}/64"] for at, name in enumerate(hosts, 1)}
    seen = {name: {"hostname": name, "addresses": own} for name, own in has.items()}
    fsid, deployed = knows.get("fsid", FSID), knows.get("deployed", False)
    public, own = (knows.get(key, "10.0.0.0/24") for key in ("network", "own"))
    networks = {"public_network": public, "cluster_network": own}
    known = judging.Known(held.Keys(digests), fsid, deployed, networks, seen)
    return listed, found.cluster("node1", told), known


@pytest.mark.parametrize("case", CONF, ids=lambda case: case["name"])
def test_lines_of_ceph_conf_become_fragments(case):
    made = conf.fragments(case["text"])
    assert made.texts == case["fragments"]
    assert len(made.left) == len(case.get("left", []))
    assert all(said in line for said, line in zip(case.get("left", []), made.left, strict=True))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_is_found_is_judged_and_written(case):
    hosts, cluster, known = look(case)
    against = judging.refusals(hosts, cluster, known)
    assert len(against) == len(case.get("refuses", [])), against
    assert all(said in line for said, line in zip(case.get("refuses", []), against, strict=True)), against
    made = writing.written(hosts, cluster, "salt")
    notes = "\n".join([*judging.notes(hosts, cluster), *made.left])
    assert all(said in notes for said in case.get("notes", [])), notes
    assert not [said for said in case.get("unsaid", []) if said in notes], notes
    assert all(text in made.files[path] for path, text in case.get("writes", {}).items()), made.files
    assert all(text not in made.files[path] for path, text in case.get("lacks", {}).items()), made.files
    served = [line for line in made.policy if line.startswith(("role-mds/", "role-rgw/"))]
    assert served == case.get("policy", [])
    written = "".join([*made.files.values(), *made.fragments.values(), *made.policy, *against, notes, repr(cluster)])
    assert not [name for name, key in KEYS.items() if key in written]


def test_policy_names_each_host_and_nobody_else():
    hosts, cluster, _ = look(CASES[0])
    made = writing.written(hosts, cluster, "salt")
    assert made.policy[:5] == [
        *(f"cluster-ceph/cluster/{minion}.sls" for minion in ("node1", "node2", "salt")),
        "role-master/cluster/salt.sls",
        "role-admin/cluster/node1.sls",
    ]
    assert len(policy.parse("\n".join(made.policy))) == len(made.policy)
    record = yaml.load(made.files["adopted/stack/default/ceph/minions/node2.yml"], yaml.CSafeLoader)["ceph"]
    assert record["tuning"] == "none" and record["adopted"]["ceph_conf"] == "0" * 64
    assert record["adopted"]["osds"][OSDS[1]]["form"] == "raw"
    assert "adopted/stack/default/ceph/minions/salt.yml" not in made.files


def test_only_keys_that_deploy_gives_are_taken():
    hosts, told, _ = changed(CASES[0])
    told["keys"] |= {f"mgr.{name}": told["keys"]["mgr.node1"] for name in ("elsewhere", "node2")}  # node2 runs none
    cluster = found.cluster("node1", told)
    taken = writing.taken_keys([found.host(minion, answer) for minion, answer in hosts.items()], cluster)
    assert taken == {name: KEYS[name] for name in ("client.admin", "client.bootstrap-osd", "mgr.node1", "mon.")}


BROKEN = [
    {"osds": [{**osd(0), "fsid": "x"}]},
    {"osds": [{**osd(0), "form": "magic"}]},
    {"osds": [{**osd(0), "devices": {"data": "/dev/{{ x }}"}}]},
    {"osds": [{}]},
    {"hostname": "{{ x }}"},
    {"daemons": {"mon": ["a b"]}},
    {"conf": "x"},
    {"daemons": []},
    {"units": {"mds.node1": {"runs": True, "boots": True, "key": "x"}}},
    {"units": {"mds.node1": {}}},
]


@pytest.mark.parametrize("change", BROKEN, ids=str)
def test_a_hosts_answer_of_another_form_is_named(change):
    hosts, _, _ = base()
    with pytest.raises(InventoryError, match=r"node1: its answer is not of the form expected \(host_adopt.inspect"):
        found.host("node1", {**hosts["node1"], **change})


@pytest.mark.parametrize("key", ["mons", "osds", "systems", "keys", "managers", "monitor_keyring", "config"])
def test_a_monitors_answer_of_another_form_is_named_and_no_key(key):
    _, told, _ = base()
    for broken in ({**told, key: 7}, {name: text for name, text in told.items() if name != key}):
        with pytest.raises((InventoryError, ArgumentError)) as failed:
            found.cluster("node1", copy.deepcopy(broken))
        assert "AQ" not in str(failed.value)


def files(**more):
    layout = {"osds": {"/dev/sdb": {"uuids": [OSDS[0]]}, "/dev/sdc": {"uuids": [OSDS[2]]}}, "disks": {}}
    told = {"adopted": {"osds": {OSDS[0]: {"id": 0, "form": "lvm"}}}, "storage": layout, **more}
    return {MASTERS["path"]: {"ceph": told}, "cluster/node1.sls": {"roles": ["storage"]}}


def test_no_layout_names_an_adopted_osd_and_removal_knows_it():
    kept = adopted.unplanned(files())
    assert list(kept[MASTERS["path"]]["ceph"]["storage"]["osds"]) == ["/dev/sdc"]
    assert adopted.unplanned(kept) == kept
    assert named.hosts(kept, {})["node1"]["osds"] == sorted([OSDS[0], OSDS[2]])
    assert named.leaves(named.hosts(kept, {}), kept) == []
    gone = {**kept, MASTERS["path"]: {"ceph": {"storage": kept[MASTERS["path"]]["ceph"]["storage"]}}}
    assert named.leaves(named.hosts(kept, {}), gone) == ["would leave: node1: 1 OSD"]
    (line,) = named.leaves(named.hosts(kept, {}), {**kept, "cluster/node1.sls": {"cluster": "unassigned"}})
    assert line.startswith("would leave: node1: 2 OSDs"), "its layout is still chosen, and the host is not"


def test_disks_of_adopted_osds_get_no_new_role():
    disks = [{"id": "a", "osds": [{"fsid": OSDS[0]}], "in_use": []}, {"id": "b", "osds": [], "in_use": []}]
    hosts = {"node1": {"ceph_disks": disks}, "node2": {"ceph_disks": disks}}
    made = adopted.reserve(hosts, adopted.osds(files()))
    assert [disk["in_use"] for disk in made["node1"]["ceph_disks"]] == [[adopted.REASON], []]
    assert made["node2"] == hosts["node2"]


def test_what_needs_our_own_form_is_refused_by_form():
    taken = adopted.osds(files())
    adopted.refuse(taken, OSDS[2], "osd.replace")
    adopted.refuse(taken, None, "osd.replace")
    with pytest.raises(ArgumentError, match=r"osd.0 of node1 was adopted .*\(lvm\): osd.replace works on OSDs"):
        adopted.refuse(taken, OSDS[0], "osd.replace")


def test_what_deepsea_says_and_we_do_not():
    lines = deepsea.told(
        "# a comment\nprofile-default/cluster/*.sls\nrole-[mi]*/cluster/*.sls\nrole-magic/cluster/a.sls\n",
        {
            "stack/global.yml": {
                "time_server": "a",
                "hwinfo": "x",
                "rgw_init": "default-ssl",
                "DEV_ENV": True,
            }
        },
    )
    assert lines == [
        "policy.cfg line 2, profile-default/cluster/*.sls: its OSDs exist: 'adopted' names them as they are; take the "
        "line out",
        "policy.cfg line 4, role-magic: a role without a counterpart",
        "stack/global.yml: DEV_ENV: small_site",
        "stack/global.yml: hwinfo: no counterpart",
        "stack/global.yml: rgw_init: no counterpart: a site replaces an SLS by a file of the same path",
    ]


@pytest.mark.parametrize("named", [["rgw-ssl"], {"rgw-ssl": {"users": []}}])
def test_roles_of_deepseas_own_gateways_have_a_counterpart(named):
    lines = "role-rgw-ssl/cluster/a.sls\nrole-silver/cluster/a.sls\nrole-gold/cluster/a.sls\n"
    pillar = {"stack/ceph/cluster.yml": {"rgw_configurations": named, "ganesha_configurations": ["silver"]}}
    assert deepsea.told(lines, pillar) == ["policy.cfg line 3, role-gold: a role without a counterpart"]
    assert deepsea.told("", {"stack/global.yml": {"rgw_configurations": None, "ganesha_configurations": "x"}}) == []


@pytest.fixture
def configured(tmp_path):
    """A function: the generation that a site makes of what adoption wrote, with more of policy.cfg and other files."""

    def build(case=CASES[0], policy_lines=(), more=None):
        hosts, cluster, _ = look(case)
        made = writing.written(hosts, cluster, "salt")
        paths = Site(tmp_path, tmp_path / "shipped")
        known = fragments.assignments(["node1", "node2", "salt"])
        networks = dict.fromkeys(("public_network", "cluster_network"), "10.0.0.0/24")
        known |= fragments.config(FSID, networks, "salt") | made.files | (more or {})
        known["policy.cfg"] = "\n".join([*made.policy, *policy_lines]) + "\n"
        for path, text in known.items():
            atomic.write(paths.proposals / path, text)
        for at, name in enumerate(("node1", "node2", "salt"), 1):
            seen = {"hostname": name, "addresses": [f"10.0.0.{at}/24"], "ceph_disks_format": 1, "ceph_disks": []}
            atomic.write(paths.inventory / f"{name}.json", json.dumps(seen))
        return generation.build(chosen.read(paths, "salt_master", {}))

    return build


def test_stages_are_told_to_leave_all_as_it_is(configured):
    built = configured()
    assert built.members["mon"] == built.members["mgr"] == ["node1"]
    assert built.members["daemons"] == ["node1", "node2"]
    assert built.members["storage"] == ["node1", "node2"] and built.members["networks"] == []
    told = yaml.load(built.files[MASTERS["path"]], yaml.CSafeLoader)["ceph"]
    assert told["tuning"] == "none" and set(told["adopted"]["osds"]) == {OSDS[0]} and "storage" not in told
    assert told["daemons"] == ["ceph.cluster.mgr", "ceph.cluster.osd"]  # posts no crashes
    assert set(built.entities) == {"mon.", "client.admin", "client.bootstrap-osd", "mgr.node1"}
    assert built.entities["mgr.node1"] == {"mon": "allow *"}  # as it was found
    assert set(built.secrets("node1", KEYS)) == {"mon", "admin", "mgr", "bootstrap-osd"}
    assert built.named["node1"]["osds"] == [OSDS[0]] and "crash" not in built.named["node1"]["parts"]


def test_a_profile_that_names_adopted_osds_plans_none_of_them(configured):
    layout = {"osds": {"/dev/sdb": {"format": "bluestore", "uuids": [OSDS[0]]}}, "disks": {"/dev/sdb": {"size": 1}}}
    path = f"profile-more/{MASTERS['path']}"
    built = configured(more={path: yaml.safe_dump({"ceph": {"storage": layout}})}, policy_lines=[path])
    assert yaml.load(built.files[MASTERS["path"]], yaml.CSafeLoader)["ceph"]["storage"]["osds"] == {}


def test_a_service_posts_no_crashes_where_there_is_no_key_for_it(configured):
    built = configured(policy_lines=["role-mds/cluster/node2.sls"])
    told = yaml.load(built.files["stack/default/ceph/derived.yml"], yaml.CSafeLoader)["ceph"]
    assert told["crash"] == [] and set(built.secrets("node2", KEYS | {"mds.node2": KEYS["mds"]})) == {
        "bootstrap-osd",
        "mds",
    }


SERVED = next(case for case in CASES if case["name"] == "metadata servers of their hosts' names")


def test_a_key_that_configure_made_is_not_taken_for_another_clusters():
    hosts, cluster, known = look(SERVED)
    has = {name: secrets.digest(key) for name, key in cluster.keys.items()} | {"mds.node2": secrets.digest("fresh")}
    (line,) = judging.refusals(hosts, cluster, replace(known, keys=held.Keys(has)))
    assert line.startswith("mds.node2: the master has another key") and "secret.take" in line and "keys/" not in line


def test_servers_and_file_systems_are_planned_as_they_are(configured):
    built = configured(SERVED)
    assert built.roles["node1"][:1] == ["admin"] and [m for m, has in built.roles.items() if "mds" in has] == [
        "node1",
        "node2",
    ]
    step = built.services.steps()["cephfs"]
    assert step["pools"] == {} and step["cluster"] == {"file_systems": {}, "adopted": ["home"]}
    there = {"name": "home", "data_pools": ["theirs"], "max_mds": 2, "standby_replay": True}
    assert list(cephfs.commands(step["cluster"], {"file_systems": [there]})) == []
    assert built.entities["mds.node1"] == {"mon": "allow profile mds", "mds": "allow"}  # as it was found
    assert set(built.secrets("node2", KEYS | {"mds.node1": "", "mds.node2": ""})) == {"bootstrap-osd", "mds"}
    assert "radosgw" not in built.services.plans
    hosts, cluster, _ = look(SERVED)
    assert {"mds.node1", "mds.node2"} <= writing.taken_keys(hosts, cluster).keys()


def test_a_cluster_with_a_key_for_crashes_keeps_posting(configured):
    built = configured(next(case for case in CASES if case["name"] == "a key for crashes is kept"))
    assert "client.crash" in built.entities and built.members["daemons"] == ["node1", "node2"]
    assert "ceph.cluster.crash" in yaml.load(built.files[MASTERS["path"]], yaml.CSafeLoader)["ceph"]["daemons"]


@pytest.mark.slow
def test_gateways_are_planned_as_they_are(configured):
    built = configured(next(case for case in CASES if case["name"] == "gateways of their hosts' names, on one port"))
    step = built.services.steps()["radosgw"]
    assert step["pools"] == {} and step["cluster"] == {} and step["parts"]["rgw"] == ["node1", "node2"]
    assert step["ports"] == {name: {8080: "radosgw"} for name in ("node1", "node2")}
    assert built.entities["client.rgw.node1"] == {"mon": "allow profile mds", "mds": "allow"}  # as it was found
    assert set(built.secrets("node2", KEYS | {"client.rgw.node1": "", "client.rgw.node2": ""})) == {
        *("bootstrap-osd", "rgw.node2/keyring")
    }
