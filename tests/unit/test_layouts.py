"""Profiles are edited by hand: what is no layout is told before anything is made of it, and DeepSea's forms stay."""

import copy

import pytest
from test_generation import DATA, INVENTORY, OSD, PROFILE, SSD, build, change

from proposals.cluster import report
from proposals.pillar.chosen import Chosen
from proposals.text.errors import PolicyError
from proposals.validation import judging

ODD = {  # what a hand may write in place of an OSD, and what is told of it
    "two letters changed": ({"uuids": [OSD], "bd": SSD}, "'bd' is no key of an OSD: did you mean 'db'?"),
    "a misspelt size": ({"uuids": [OSD], "db_sise": 1}, "'db_sise' is no key of an OSD: did you mean 'db_size'?"),
    "a foreign key": ({"remark": "slow"}, "'remark' is no key of an OSD; known are uuids, format,"),
    "a key that is a number": ({1: 2}, "'1' is no key of an OSD"),
    "uuids that are text": ({"uuids": OSD}, f"uuids is {OSD}: expected a list of UUIDs"),
    "uuids that are a number": ({"uuids": 5}, "uuids is 5: expected a list of UUIDs"),
    "a uuid that is a path": ({"uuids": ["../x"]}, "expected a list of UUIDs"),
    "a uuid that is a list": ({"uuids": [[OSD]]}, "expected a list of UUIDs"),
    "uuids without one": ({"uuids": []}, "uuids is empty: expected a list of UUIDs"),
    "a size with a unit": (
        {"uuids": [OSD], "db": SSD, "db_size": "40g"},
        "db_size is 40g: expected whole bytes from 1",
    ),
    "a negative size": ({"uuids": [OSD], "db": SSD, "db_size": -5}, "db_size is -5: expected whole bytes from 1 on"),
    "no bytes": ({"uuids": [OSD], "db": SSD, "db_size": 0}, "db_size is 0: expected whole bytes from 1 on"),
    "no size": ({"uuids": [OSD], "db": SSD}, "db_size is not set: expected whole bytes from 1 on"),
    "more than the disk has": (
        {"uuids": [OSD], "db": SSD, "db_size": 10**15},
        f"db has {10**15} bytes: expected at most 1, all that {SSD} has",
    ),
    "another format": ({"format": "bluestor"}, "format is bluestor: expected one of bluestore, filestore: did you"),
    "a DB that is a list": ({"db": [SSD]}, "expected a device such as /dev/disk/by-id/"),
    "nothing": (None, "an OSD is not set: expected keys such as format and uuids"),
    "text": ("bluestore", "an OSD is bluestore: expected keys such as format and uuids"),
    "moves of nothing": ({"moves": None}, "moves is not set: expected db and wal, and where each moves to"),
    "moves without a place": ({"moves": []}, "moves is empty: expected db and wal, and where each moves to"),
    "a move of no part": ({"moves": {"data": {"to": SSD}}}, "moves: data is "),
    "a move that is text": ({"moves": {"db": SSD}}, f"moves: db is {SSD}: expected db or wal, and there 'to' and"),
    "a move without a size": ({"moves": {"db": {"to": SSD}}}, "moves: db: size is not set: expected whole bytes"),
    "a misspelt move": ({"moves": {"db": {"too": SSD}}}, "moves: db: 'too' is no key of a move: did you mean 'to'?"),
}


@pytest.mark.parametrize("name", ODD)
def test_a_layout_that_a_hand_wrote_otherwise_is_one_line(name):
    """Configure refuses it, and policy.check tells the same."""
    osd, message = ODD[name]
    odd = change(PROFILE, "ceph", "storage", "osds", DATA, value=osd)
    with pytest.raises(PolicyError) as told:
        build(odd)
    _, line = str(told.value).splitlines()
    assert line.startswith(f"node1 {DATA}: ") and message in line
    judged = judging.judge(Chosen({target: {"one": each} for target, each in odd.items()}, INVENTORY, "salt_master"))
    assert [each.message for each in judged.findings] == [line] and judged.made is None


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("ceph",), None, "node1: ceph is not set: expected a mapping"),
        (("ceph", "storage"), [1], "node1: ceph:storage is "),
        (("ceph", "storage", "osds"), None, "node1: ceph:storage:osds is not set: expected disks"),
        (("ceph", "storage", "osds", 5), {}, "node1 5: is no disk: expected a device such as"),
        (("ceph", "storage", "disks", SSD), 5, f"node1 {SSD}: disks is 5: expected size (in bytes) and serial"),
        (
            ("ceph", "storage", "osds", SSD),
            {"uuids": [OSD]},
            f"node1 {SSD}: uuids: {OSD} is also that of an OSD on {DATA}: each OSD has its own",
        ),
        (("ceph", "storage", "osds", SSD), {}, f"node1 {SSD}: is planned as an OSD's own disk, and as db of that on"),
    ],
)
def test_what_is_no_layout_at_all_is_told(keys, value, message):
    with pytest.raises(PolicyError) as told:
        build(change(PROFILE, *keys, value=value))
    assert message in str(told.value)


def test_osds_that_share_a_disk_already_stay():
    """Another tool made them: populate writes what lies there."""
    inventory = copy.deepcopy(INVENTORY)
    other = "6b0c2b1e-0000-4000-8000-000000000002"
    inventory["node1"]["ceph_disks"][1]["osds"] = [{"fsid": other, "role": "data"}, {"fsid": OSD, "role": "db"}]
    build(change(PROFILE, "ceph", "storage", "osds", SSD, value={"uuids": [other]}), inventory)


SHORT = [
    {},
    {"format": "bluestore", "db": SSD, "db_size": "40g", "wal": SSD, "wal_size": "500m"},
    {"format": "filestore", "journal": SSD, "journal_size": "5g", "encryption": "dmcrypt"},
    {"format": "bluestore", "encryption": "", "replace": True},
]


@pytest.mark.parametrize("osd", SHORT)
def test_deepseas_short_form_stays(osd):
    """Of one OSD, without uuids."""
    assert build(change(PROFILE, "ceph", "storage", "osds", DATA, value=osd)).members["storage"] == ["node1"]
    assert report.report({"node1": {DATA: osd}}, {"node1": {"osds": {}, "names": {}}}, []) == []


def test_every_key_that_populate_writes_is_one():
    moves = {"db": {"to": SSD, "size": 1}, "wal": {"to": None}}
    osd = {"uuids": [OSD], "format": "bluestore", "db": SSD, "db_size": 1, "wal": SSD, "wal_size": 1, "class": "fast"}
    build(change(PROFILE, "ceph", "storage", "osds", DATA, value={**osd, "moves": moves, "osds_per_device": 1}))
