"""OSDs that ceph-volume made, as `pvs` lists them on a real host: fixtures/lvm/pvs.json, its lockbox key replaced."""

import json

import pytest
from salt.exceptions import CommandExecutionError

from proposals.inventory import inventory_join

CLUSTER = "11111111-2222-4333-8444-555555555555"
BARE, CLOSED = "e852f184-4468-4a4d-ad94-d47afd233310", "3f6f9b29-2bd2-4733-ad4e-0a01e2348179"
GIB, MIB = 1 << 30, 1 << 20


@pytest.fixture(scope="module")
def recorded(checkout):
    return json.loads((checkout / "tests/fixtures/lvm/pvs.json").read_text())["report"][0]["pvseg"]


@pytest.fixture
def module(modules):
    """The module as Salt's loader makes it."""
    return modules.disks_lvm


def test_parts_of_osds(module, recorded):
    found = module.parse(recorded)
    data, fast, closed, other = (found[f"/dev/ubd{letter}"] for letter in "bcde")
    assert data["osds"] == [
        {
            "id": 0,
            "fsid": BARE,
            "role": "data",
            "size": 999997571072,
            "offset": MIB,
            "cluster": CLUSTER,
            "format": "bluestore",
            "encryption": None,
            "device": "/dev/ubdb",
        }
    ]
    told = [
        (osd["id"], osd["fsid"], osd["role"], osd["size"], osd["offset"], osd["encryption"]) for osd in fast["osds"]
    ]
    assert told == [
        (0, BARE, "db", 30 * GIB, MIB, None),
        (0, BARE, "wal", 2 * GIB, 30 * GIB + MIB, None),
        (1, CLOSED, "db", 30 * GIB, 32 * GIB + MIB, "dmcrypt"),
        (1, CLOSED, "wal", 2 * GIB, 62 * GIB + MIB, "dmcrypt"),
    ]
    assert [osd["encryption"] for osd in closed["osds"]] == ["dmcrypt"]
    assert other == {"osds": [], "volumes": ["other/root"], "groups": ["other"]}


def test_the_lockbox_key_stays_where_it_is(module, recorded):
    assert "PLANTED-SECRET" in str(recorded)
    assert "PLANTED-SECRET" not in str(module.parse(recorded))


def test_an_unfinished_volume_is_no_osd(module, recorded):
    tags = recorded[0]["lv_tags"].replace("ceph.osd_id=0", "ceph.osd_id=null")
    found = module.parse([{**recorded[0], "lv_tags": tags}])["/dev/ubdb"]
    assert found["osds"] == [] and len(found["volumes"]) == 1


def test_a_volume_that_an_interrupted_deploy_made_is_begun(with_pillar, module, recorded):
    slot = with_pillar(fsid=CLUSTER).osd_names.partuuid(BARE, "db")
    made = {**recorded[0], "lv_name": f"osd-db-{BARE}", "lv_tags": f"slot={slot}", "lv_size": str(GIB)}
    (part,) = module.parse([made])["/dev/ubdb"]["osds"]
    place = {"size": GIB, "offset": MIB, "device": "/dev/ubdb"}
    assert part == {"fsid": BARE, "role": "db", "cluster": CLUSTER, "begun": True, **place}
    for other in ({"lv_tags": "slot=x"}, {"lv_name": f"osd-wal-{BARE}"}, {"lv_name": "root"}):
        found = module.parse([{**made, **other}])["/dev/ubdb"]
        assert found["osds"] == [] and len(found["volumes"]) == 1


def test_the_clusters_fsid_is_told_as_ceph_tells_it(module, recorded):
    """``ceph-volume`` tags as ceph.conf has it, which may be in capitals: Ceph reads UUIDs of either case."""
    shouted = {**recorded[0], "lv_tags": recorded[0]["lv_tags"].replace("ceph.cluster_fsid=", "ceph.cluster_fsid=ABC-")}
    (osd,) = module.parse([shouted])["/dev/ubdb"]["osds"]
    assert osd["cluster"] == f"abc-{CLUSTER}"


def test_a_volume_in_pieces_is_one_part(module, recorded):
    later = {**recorded[0], "pvseg_start": "300000"}
    assert [osd["offset"] for osd in module.parse([recorded[0], later])["/dev/ubdb"]["osds"]] == [MIB]


def test_a_host_without_lvm(module, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert module.inspect() == module.groups() == {}


@pytest.mark.parametrize(
    ("script", "expected"),
    [("exec sleep 60", "did not end within 0.1 s"), ("echo no metadata >&2; exit 5", "exit status 5: no metadata")],
)
def test_an_lvm_that_does_not_answer_is_named(module, python_module, monkeypatch, tmp_path, script, expected):
    (tmp_path / "pvs").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "pvs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(python_module("disks_lvm"), "QUICK", 0.1)
    with pytest.raises(CommandExecutionError, match=expected):
        module.inspect()


def test_the_inventory_says_osds_and_no_reason_that_they_explain(module, recorded):
    """From the grain's and LVM's view of that host to the planner's input: OSDs stay, a stranger's volume is in use."""
    lying = module.parse(recorded)
    disks = [
        {
            "device": device,
            "id": device,
            "size": 10**12,
            "rotational": True,
            "in_use": [f"LVM member of {each['groups'][0]}"],
        }
        for device, each in lying.items()
    ]
    inspected = {device: {"signatures": ["LVM2_member"], "partitions": 0, **each} for device, each in lying.items()}
    host = inventory_join.host({"ceph_disks_format": 1, "ceph_disks": disks, "inspected": inspected}, [], "node1")
    assert [(len(disk["osds"]), disk["in_use"]) for disk in host["ceph_disks"]] == [
        (1, []),
        (4, []),
        (1, []),
        (0, ["LVM member of other", "holds LVM2_member"]),
    ]
