"""OSDs that exist and are to get other places for DB and WAL: what an admin reads of it, what their host is told."""

import copy

import pytest
import yaml
from planning import FSID, inventory, peek

from proposals.cluster import migrating, report
from proposals.disks import arguments, explain, moves, plan, shape
from proposals.inventory import compare
from proposals.pillar import problems
from proposals.policy import fragments, populate_decision
from proposals.reference import machines
from proposals.text import tables
from proposals.text.errors import ProposalError

WORDS = "db-size=40g migrate=true"


@pytest.fixture
def lying():
    """A host with two OSDs that run without a DB, and an SSD that came later."""
    raw = machines.deployed(
        inventory(node1=[{"is": "hdd6", "count": 2}]), peek(inventory(node1=[{"is": "hdd6", "count": 2}])), FSID
    )
    both = inventory(node1=[{"is": "hdd6", "count": 2}, {"is": "ssd800"}])
    raw["hosts"]["node1"]["ceph_disks"].append(both["hosts"]["node1"]["ceph_disks"][-1])
    return raw


def ids(raw):
    return [disk["id"] for disk in raw["hosts"]["node1"]["ceph_disks"]]


def test_the_host_is_told_both_places_and_the_new_devices_serial(lying):
    made = plan.peek(lying, arguments.parse(WORDS.split()))
    files = fragments.profile(made, made.as_dict())["node1"]
    (layout,) = (yaml.load(text, yaml.CSafeLoader) for path, text in files.items() if path.endswith(".yml"))
    *data, ssd = ids(lying)
    told = layout["ceph"]["storage"]
    assert sorted(told["osds"]) == data and all("db" not in osd for osd in told["osds"].values())
    assert [osd["moves"] for osd in told["osds"].values()] == [{"db": {"to": ssd, "size": 40 << 30}}] * 2
    assert told["disks"][ssd] == {"size": 800166076416, "serial": lying["hosts"]["node1"]["ceph_disks"][2]["serial"]}
    assert problems._named(told["osds"]) == {*data, ssd}


def test_back_to_the_data_disk_is_told_as_no_device(lying):
    moved = machines.migrated(lying, peek(lying, WORDS))
    made = plan.peek(moved, arguments.parse(["standalone=true", "migrate=true"]))
    files = fragments.profile(made, made.as_dict())["node1"]
    (layout,) = (yaml.load(text, yaml.CSafeLoader) for path, text in files.items() if path.endswith(".yml"))
    (first, _) = layout["ceph"]["storage"]["osds"].values()
    assert (first["db"], first["db_size"], first["moves"]) == (ids(lying)[2], 40 << 30, {"db": {"to": None}})


def test_what_falls_with_each_device_is_told_before_and_after(lying):
    answer = peek(lying, WORDS)
    (device,) = answer["hosts"]["node1"]["devices"]
    assert (device["osds"], device["before"]) == (2, {"osds": 0, "raw_bytes": 0})
    assert device["raw_bytes"] == 2 * 6001175126016
    text = tables.printed(tables.proposal, answer)
    assert "where they are to move" in text and "the data disk" in text and "2, now 0" in text and "2 x 40 GiB" in text
    moved = machines.migrated(lying, answer)
    (back,) = peek(moved, "standalone=true migrate=true")["hosts"]["node1"]["devices"]
    assert (back["osds"], back["before"]["osds"], back["host_share"]) == (0, 2, 0.0)


def test_diff_tells_from_and_to(lying):
    before, after = peek(lying, "standalone=true"), peek(lying, WORDS)
    *data, ssd = ids(lying)
    lines = compare.differences(before, after)["hosts"]["node1"]["osds"]
    assert [line for line in lines if "moves" in line] == [
        f"{one}: db moves from the data disk to {ssd}, {40 << 30} bytes" for one in data
    ]
    back = compare.differences(after, before)["hosts"]["node1"]["osds"]
    assert f"{data[0]}: db stays where it lies, and was to move to {ssd}" in back


def test_explain_tells_the_move_from_both_ends(lying):
    made = plan.peek(lying, arguments.parse(WORDS.split()))
    first, _, ssd = ids(lying)
    steps = explain.disk(made, "node1", first)["steps"]
    assert any("exists and moves" in step for step in steps) and f"its db is to move to 40 GiB on {ssd}" in steps
    assert explain.disk(made, "node1", ssd)["steps"][-1].startswith("db: 2 OSDs have their part here")


@pytest.mark.parametrize(
    "broken",
    [
        {"db": 3},
        {"db": {"to": "/dev/x", "size": 1}},
        {"db": {"from": None, "to": 3, "size": 1}},
        {"db": {"from": None, "to": "/dev/x", "size": "1"}},
        {"x": {"from": None, "to": None, "size": None}},
        ["db"],
        None,
    ],
)
def test_a_proposal_whose_moves_are_no_moves_is_refused(lying, broken):
    stored = peek(lying, WORDS)
    assert populate_decision.check_stored(copy.deepcopy(stored), "proposal.json") == stored
    stored["hosts"]["node1"]["osds"][0]["moves"] = broken
    with pytest.raises(ProposalError, match="is not a stored proposal"):
        populate_decision.check_stored(stored, "proposal.json")
    with pytest.raises(ProposalError, match="one of these files is neither"):
        compare.differences(stored, peek(lying, WORDS))


def test_a_move_to_a_device_that_is_gone_is_planned_anew(lying):
    stored = peek(lying, WORDS)
    for osd in stored["hosts"]["node1"]["osds"]:
        osd["moves"]["db"]["to"] = "/dev/disk/by-id/wwn-0x5000c50000019999"
    assert peek(lying, WORDS, stored=stored)["hosts"] == peek(lying, WORDS)["hosts"]


def test_with_a_device_that_all_dbs_have_left_falls_nothing():
    """It was pulled before the next populate: the stored proposal still names it as their place."""
    raw = inventory(node1=[{"is": "hdd6", "count": 2}, {"is": "ssd800", "count": 2}])
    *_, left, new = ids(raw)
    lying = machines.deployed(raw, peek(raw, f"db-size=40g exclude=id={new}"), FSID)
    moving = peek(lying, f"{WORDS} exclude=id={left}")
    pulled = machines.migrated(lying, moving)
    del pulled["hosts"]["node1"]["ceph_disks"][2]
    answer = peek(pulled, f"{WORDS} exclude=id={left}", stored=moving)
    assert [(osd["db"], osd.get("missing")) for osd in answer["hosts"]["node1"]["osds"]] == [(new, None)] * 2
    assert not [line for line in answer["warnings"] if "fall" in line]


def test_filestore_has_nothing_to_move(lying):
    with pytest.raises(ProposalError, match="leave one of them out"):
        peek(lying, "migrate=true format=filestore")


@pytest.mark.parametrize(
    ("was", "new", "refused"),
    [
        ((None, None), (1, None), False),
        ((1, None), (None, None), False),
        ((1, 1), (None, None), False),
        ((1, 1), (2, None), False),
        ((1, 1), (2, 1), False),
        ((1, 1), (1, 2), False),
        ((None, 1), (None, 2), False),
        ((1, 1), (1, None), True),
        ((None, 1), (None, None), True),
        ((None, 1), (2, 1), True),
    ],
)
def test_the_planner_warns_of_what_a_host_refuses(was, new, refused):
    """DB and WAL, each on that device: the same cases as in ``tests/functional/test_osd_migrate.py``."""
    lying, planned = (shape.Placed(0, 0, db, wal, db and 40 << 30, wal and 2 << 30) for db, wal in (was, new))
    assert moves._unmoved(lying, planned) is refused


METADATA = {
    "id": 3, "bluestore_bdev_partition_path": "/dev/sda1", "bluefs_dedicated_db": "1", "bluefs_dedicated_wal": "0",
    "bluefs_db_partition_path": "/dev/sdc1", "bluefs_wal_partition_path": "/dev/sdc1",
}  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "metadata", "words"),
    [
        ({"db": "/dev/sdc1"}, METADATA, ""),
        ({"db": "/dev/sdd1"}, METADATA, "says its db is /dev/sdc1, the host /dev/sdd1"),
        ({}, METADATA, "says its db is /dev/sdc1, the host on the data disk"),
        ({}, {**METADATA, "bluefs_dedicated_db": "0"}, ""),
        ({"db": "/dev/sdc1"}, {**METADATA, "bluefs_dedicated_db": "0"}, "says its db is on the data disk"),
        ({"db": "/dev/sdc1", "wal": "/dev/sdc2"}, METADATA, "says its wal is on the data disk, the host /dev/sdc2"),
        ({"db": "/dev/sdc1"}, {}, "knows nothing"),
    ],
)
def test_ceph_says_whether_an_osd_runs_where_its_host_says(nodes, metadata, words):
    why = migrating.elsewhere(nodes, metadata)
    assert words in why and bool(why) == bool(words)


@pytest.mark.parametrize(
    ("disk", "size", "node", "waits"),
    [
        ("/dev/sdc", 40 << 30, "/dev/sdc1", ["db"]),
        ("/dev/sdd", 80 << 30, "/dev/sdd1", []),
        ("/dev/sdd", 40 << 30, "/dev/sdd1", None),
        (None, None, None, None),
    ],
)
def test_both_places_of_an_osd_that_is_to_move_are_as_planned(disk, size, node, waits):
    planned = {
        "data": {"uuids": ["u"], "db": "old", "db_size": 40 << 30, "moves": {"db": {"to": "new", "size": 80 << 30}}}
    }
    parts = {"data": {"node": "/dev/sda1", "disk": "/dev/sda", "size": 1}}
    parts |= {"db": {"node": node, "disk": disk, "size": size}} if disk else {}
    names = {"data": "/dev/sda", "old": "/dev/sdc", "new": "/dev/sdd"}
    told = {"node1": {"osds": {"u": {"id": 3, "parts": parts}}, "names": names}}
    (line,) = report.report({"node1": planned}, told, [{**METADATA, "bluefs_db_partition_path": node}])
    assert (line["problems"] == [] and line["waits"] == waits) if waits is not None else line["problems"]
