"""Which disks are a cluster's alone, what changed on one since, how far a purge got: cases as data."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from proposals.cluster.purge import against, disks, record
from proposals.cluster.purge.disks import Disk
from proposals.inventory import existing_cluster
from proposals.text.errors import ArgumentError, StoreError

CASES = yaml.load((Path(__file__).parent.parent / "fixtures/purge.yaml").read_text(), yaml.CSafeLoader)
OURS, OTHER = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
DISK = Disk("/dev/disk/by-id/wwn-0x1", "/dev/sda", "S1", 100, ("one", "two"), ("gpt", "PMBR"), 2)
NOW = {"size": 100, "signatures": ["gpt", "PMBR"], "partitions": ["/dev/sda1", "/dev/sda2"], "volumes": []}
NOW |= {"osds": [{"fsid": "one", "cluster": OURS}, {"fsid": "two", "cluster": None}], "fsids": ["one", "two"]}


def seen(case):
    """A host with the case's disks: each is sda, sdb …"""
    entries, inspected = [], {}
    for letter, content in zip("abc", case["disks"], strict=False):
        node = f"/dev/sd{letter}"
        entries.append({"device": node, "id": f"/dev/disk/by-id/{letter}", "serial": letter, "size": 100})
        osds = [{"role": "data", "cluster": None, **osd} for osd in content.get("osds", [])]
        inspected[node] = {"signatures": [], "partitions": len(osds), **content, "osds": osds}
    return {"ceph_disks": entries, "inspected": inspected, "osds": case.get("osds", []), "made": case.get("made", [])}


@pytest.mark.parametrize("case", CASES["disks"], ids=lambda case: case["about"])
def test_a_disk_is_wiped_where_all_on_it_is_the_clusters_and_says_so(case):
    found, notes = disks.sorted_out(seen(case), "ours", case.get("planned", []))
    assert [disk.id[-1] for disk in found] == case.get("wipes", [])
    assert len(notes) == len(case.get("says", [])), notes
    for words, note in zip(case.get("says", []), notes, strict=True):
        assert words in note


@pytest.mark.parametrize("case", CASES["changed"], ids=lambda case: case["about"])
def test_a_disk_that_is_another_by_now_is_not_wiped(case):
    now = {**NOW, **case.get("now", {})}
    wrong = disks.changed(DISK, now, OURS)
    assert bool(wrong) == ("says" in case) and case.get("says", "") in "; ".join(wrong)


def test_an_odd_name_of_a_disk_is_shown_escaped_and_not_wiped():
    host = seen({"disks": [{"osds": [{"fsid": "one", "cluster": "ours"}]}]})
    host["ceph_disks"][0]["id"] = "/dev/\x1b]0;x"
    found, (note,) = disks.sorted_out(host, "ours", [])
    assert found == () and "\x1b" not in note and "has an odd name: not wiped" in note


def test_a_record_is_read_as_it_was_written_and_another_text_refused():
    hosts = {"node1": {"hostname": "node1", "osds": [], "parts": {"mds": {"daemons": ["node1"]}}}}
    begun = record.Record(OURS, "now", "root", record.BEGUN, {**hosts, "node2": {}}, (), {"node1": (DISK,)}, ())
    assert record.read(begun.text(), "x") == begun
    assert record.read(replace(begun, others=(OTHER,)).text(), "x").others == (OTHER,)
    left = begun.without({"node2"}).at("wipe")
    assert (list(left.hosts), left.left, left.whole) == (["node1"], ("node2",), [("node1", DISK)])
    assert record.read(left.text(), "x") == left and left.without({"node1"}).whole == []
    for text in ("", "{}", "[]", "null", begun.text().replace('"begun"', '"somewhere"')):
        with pytest.raises(StoreError, match="x is no record of a cluster that is taken apart"):
            record.read(text, "x")


def test_every_part_but_osds_stops_once_and_in_order():
    parts = {"mon": {}, "mgr": {}, "mds": {}, "crash": {}, "rgw": {}, "prometheus": {}, "admin": {}}
    steps = {step: record.parts({"parts": parts}, step) for step in record.STOPS}
    assert steps == {
        "services": ["admin", "prometheus", "rgw"],
        "mds": ["mds"],
        "mgr": ["mgr"],
        "osd": [],
        "mon": ["crash", "mon"],
    }


def test_words_that_are_none_are_refused():
    assert against.words("despite", "clients, data", against.DESPITE) == {"clients", "data"}
    assert against.words("left", None) == set()
    with pytest.raises(ArgumentError, match="despite=dta: did you mean 'data'"):
        against.words("despite", "dta", against.DESPITE)
    for typed in (None, 7, "", "yes", OURS.upper() + "0", f"{OURS} "):
        with pytest.raises(ArgumentError, match="expected the cluster's fsid"):
            against.fsid(typed)


def test_discovery_takes_nothing_of_a_cluster_that_was_taken_apart():
    osd = {"fsid": "one", "cluster": OTHER}
    hosts = {"node1": {"ceph_disks": [{"device": "/dev/sda", "id": "/dev/disk/by-id/a", "osds": [osd]}]}}
    assert existing_cluster.cluster(hosts, {}, None)[0] == OTHER
    for kept in (None, OURS):
        fsid, (said,) = existing_cluster.cluster(hosts, {}, kept, {OTHER})
        assert fsid == kept and said == (
            f"of cluster {OTHER}, which is not the one to make: node1 /dev/disk/by-id/a; it is left alone"
        )
