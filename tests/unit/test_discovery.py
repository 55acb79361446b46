"""Grains and inspection joined, networks and cluster worked out."""

import pytest

from proposals.inventory import all_hosts, inventory_join
from proposals.text.errors import ProposalError
from runners import discovery

OURS, OTHER = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def looked(in_use, **content):
    disk = {"device": "/dev/sda", "id": "/dev/sda", "size": 1, "rotational": True, "in_use": in_use}
    return {"ceph_disks_format": 1, "ceph_disks": [disk], "inspected": {"/dev/sda": content}}


def label(role="data", cluster=OURS, **more):
    return {
        "fsid": "f",
        "role": role,
        "size": 10,
        "device": "/dev/sda1",
        **({"cluster": cluster} if cluster else {}),
        **more,
    }


@pytest.mark.parametrize(
    ("in_use", "content", "expected"),
    [
        ([], {"signatures": [], "partitions": 0, "osds": []}, []),
        ([], {"signatures": ["ext4"], "partitions": 0, "osds": []}, ["holds ext4"]),
        ([], {"signatures": ["gpt"], "partitions": 0, "osds": []}, ["holds gpt"]),
        (["has partitions"], {"signatures": ["PMBR", "gpt"], "partitions": 2, "osds": []}, ["has partitions"]),
        (["has partitions"], {"signatures": ["gpt"], "partitions": 1, "osds": [label()]}, []),
        (["has partitions"], {"signatures": ["gpt"], "partitions": 2, "osds": [label()]}, ["has partitions"]),
        # One partition for LVM, on it an OSD's volume and another one that nothing has switched on.
        (
            ["has partitions"],
            {"signatures": ["gpt"], "partitions": 1, "osds": [label()], "volumes": ["vg/home"]},
            ["has partitions"],
        ),
        (["mounted on /"], {"error": "timed out"}, ["mounted on /", "does not answer"]),
    ],
)
def test_reasons_are_joined(in_use, content, expected):
    host = inventory_join.host(looked(in_use, **content), [], "node1")
    assert host["ceph_disks"][0]["in_use"] == expected


@pytest.mark.parametrize(
    ("other", "free"),
    [
        ({"wwn": "0x5000c500a1b2c3d5"}, 2),
        ({"wwn": "0x5000c500a1b2c3d4"}, 1),
        ({"size": 0}, 1),
        ({"model": "{{ x }}"}, 1),
        ({"in_use": ["swap"]}, 1),
        ({"osds": [{"id": 1, "role": "data"}]}, 1),
    ],
    ids=["another disk", "the other path to it", "no medium", "a name that is refused", "in use", "an OSD"],
)
def test_a_disk_that_is_told_free_is_one_that_the_planner_may_take(other, free):
    disk = {"device": "/dev/sda", "size": 10, "rotational": True, "wwn": "0x5000c500a1b2c3d4", "in_use": [], "osds": []}
    host = {"ceph_disks": [disk, {**disk, "device": "/dev/sdb", "wwn": None, **other}], "addresses": ["10.0.0.1/24"]}
    assert discovery._lines({"node1": host}) == [f"node1: 2 disks, {free} free; 10.0.0.1/24"]


def test_db_labels_learn_their_cluster_and_id_from_the_data_label():
    found = looked([], osds=[label(id=3), label("db", cluster=None)], partitions=2, signatures=[])
    data, db = inventory_join.host(found, [], "node1")["ceph_disks"][0]["osds"]
    assert (db["cluster"], db["id"]) == (data["cluster"], 3)


@pytest.mark.parametrize(
    ("addresses", "public", "cluster"),
    [
        ({"m": ["10.0.0.1/24"], "a": ["10.0.0.2/24", "10.1.0.2/24"], "b": ["10.0.0.3/24", "10.1.0.3/24"]}, 0, 1),
        ({"m": ["10.0.0.1/24"], "a": ["10.0.0.2/24"], "b": ["10.0.0.3/24"]}, 0, 0),
        ({"m": ["10.0.0.1/24"], "a": ["10.0.0.2/24", "10.1.0.2/24"]}, 0, 0),  # a network of one host joins nobody
        ({"m": ["10.1.0.1/24", "127.0.0.1/8"], "a": ["10.1.0.2/24", "169.254.1.1/16"]}, 1, 1),
        # Bridges of containers and guests, with one address on every host.
        ({"m": ["10.1.0.1/24", "10.0.0.1/16"], "a": ["10.1.0.2/24", "10.0.0.1/16"]}, 1, 1),
        ({"m": ["10.0.0.1/24"], "a": ["10.0.0.2/24", "10.1.0.1/24"], "b": ["10.0.0.3/24", "10.1.0.1/24"]}, 0, 0),
    ],
)
def test_networks(addresses, public, cluster):
    hosts = {minion: {"addresses": given} for minion, given in addresses.items()}
    found = all_hosts.networks(hosts, "m")
    assert found == {"public_network": f"10.{public}.0.0/24", "cluster_network": f"10.{cluster}.0.0/24"}


def test_networks_of_ipv6_count_where_hosts_share_no_ipv4():
    hosts = {
        "m": {"addresses": ["fd00::1/64", "fe80::1/64"]},
        "a": {"addresses": ["fd00::2/64", "fd01::2/64", "::1/128"]},
    }
    assert all_hosts.networks(hosts, "m")["public_network"] == "fd00::/64"
    hosts["m"]["addresses"].append("172.17.0.1/16")  # a bridge of containers
    assert all_hosts.networks(hosts, "m")["public_network"] == "fd00::/64"
    hosts["a"]["addresses"].append("172.17.0.1/16")  # the same address on each host
    assert all_hosts.networks(hosts, "m")["public_network"] == "fd00::/64"
    hosts["m"]["addresses"].append("10.0.0.1/24")
    hosts["a"]["addresses"].append("10.0.0.2/24")
    assert all_hosts.networks(hosts, "m")["public_network"] == "10.0.0.0/24"


def test_what_the_site_says_is_taken_where_hosts_share_no_network():
    hosts = {"a": {"addresses": ["10.0.0.1/32"]}, "b": {"addresses": ["10.0.0.2/32"]}}
    known = {"public_network": "10.0.0.0/24", "cluster_network": None}
    assert all_hosts.networks(hosts, None, known) == dict.fromkeys(known, "10.0.0.0/24")
    with pytest.raises(ProposalError, match="or set public_network in"):
        all_hosts.networks(hosts, None, {"public_network": None, "cluster_network": None})


def test_no_network_is_said():
    with pytest.raises(ProposalError, match="no host has an address"):
        all_hosts.networks({"a": {"addresses": ["127.0.0.1/8"]}}, None)


def test_ports_are_kept_and_give_the_addresses():
    nics = [
        {"name": "eth0", "addresses": ["10.0.0.2/24", "fd00::2/64", "127.0.0.9/8", "{{ evil }}"]},
        {"name": "eth1", "error": "does not say"},
    ]
    host = inventory_join.host(looked([]), nics, "node1", boot="b")
    assert host["ceph_nics"] == nics
    assert host["addresses"] == ["10.0.0.2/24", "fd00::2/64"]
    assert host["boot_id"] == "b"


@pytest.mark.parametrize("said", ["aes", "aes256k", "aes512", ["aes"], None, "x" * 100_000])
def test_the_cipher_of_a_hosts_ceph_is_kept_where_it_is_one(said):
    host = inventory_join.host(looked([]), [], "node1", cipher=said)
    assert host.get("ceph_cipher", "unasked") == (said if said in ("aes", "aes256k", None) else "unasked")


def test_slots_without_any_label_are_no_osds_yet():
    found = looked(["has partitions"], osds=[label(fsid="new", begun=True)], partitions=1, signatures=["gpt"])
    (disk,) = inventory_join.host(found, [], "x")["ceph_disks"]
    assert (disk["in_use"], disk["osds"]) == ([], [])


@pytest.mark.parametrize(("ready", "left"), [(True, ["data"]), (False, ["data", "db"])])
def test_a_slot_that_a_move_made_is_no_part_of_an_osd_that_runs_without_it(ready, left):
    """It may come before the OSD's real one: a move that was called off would have planned the OSD there."""
    labels = [label(fsid="x", ready=ready), label("db", None, fsid="x", begun=True)]
    found = looked([], osds=labels, partitions=2, signatures=[])
    (disk,) = inventory_join.host(found, [], "x")["ceph_disks"]
    assert [osd["role"] for osd in disk["osds"]] == left


def test_osds_that_the_cluster_gave_up_are_named():
    """By the fsid, and where it has none such any more, by the id; another cluster's are not judged."""
    labels = [label(fsid="used", id=1), label(fsid="gone", id=2), label(fsid="strange", id=1), label("db", None)]
    labels += [label(fsid="theirs", cluster=OTHER, id=2), label("wal", fsid="used", begun=True)]
    host = inventory_join.host(looked([], osds=labels, partitions=6, signatures=[]), [], "x")
    states = [{"id": 1, "fsid": "used", "state": "in-use"}, {"id": 2, "fsid": None, "state": "destroyed"}]
    all_hosts.settle({"x": host}, states, OURS)
    found = [osd.get("state") for osd in host["ceph_disks"][0]["osds"]]
    assert found == [None, "destroyed", "orphan", "orphan", None, None]
    assert host["ceph_disks"][0]["osds"][-1]["id"] == 1  # a WAL's label does not say it, the cluster does


def test_what_the_inventory_does_not_tell_as_it_is_now():
    hosts = {name: {"boot_id": "b"} for name in ("old", "restarted", "silent", "fresh")}
    boots = {"restarted": "c", "fresh": "b", "old": "b", "silent": None}
    looked = {"old": 0.0, "restarted": 7e5, "silent": 7e5, "fresh": 7e5}
    assert all_hosts.stale([*hosts, "gone", "new"], hosts, boots, looked, 7e5) == [
        "not in the inventory: gone, new: run ceph.stage.discovery",
        "started anew since discovery looked: restarted: run ceph.stage.discovery",
        "looked at by discovery more than 7 days ago: old: run ceph.stage.discovery",
    ]
    assert all_hosts.stale(["fresh"], hosts, boots, looked, 7e5) == []


def test_of_many_hosts_that_started_anew_their_number_is_told():
    """Below proposal.peek, after all hosts of a large site were rebooted."""
    many = [f"osd{number:04}" for number in range(1000)]
    told = all_hosts.stale(many, dict.fromkeys(many, {"boot_id": "b"}), dict.fromkeys(many, "c"), {}, 0)
    again = "run ceph.stage.discovery"
    assert told == [f"started anew since discovery looked: osd0000, osd0001 and 998 more hosts: {again}"]


def test_an_address_that_moves_from_host_to_host_is_nobodys():
    nics = [{"name": "eth0", "addresses": ["10.0.0.1/24", "10.0.0.100/32"]}]
    host = inventory_join.host(looked([]), nics, "node1", floating={"10.0.0.100"})
    assert host["addresses"] == host["ceph_nics"][0]["addresses"] == ["10.0.0.1/24"]
    assert inventory_join.host(looked([]), nics, "node1")["addresses"] == ["10.0.0.1/24", "10.0.0.100/32"]
