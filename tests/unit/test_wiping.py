"""Which disk may be wiped: cases as data, and what the admin reads."""

from pathlib import Path

import pytest
import yaml

from proposals.cluster import wiping

CASES = yaml.safe_load((Path(__file__).parent.parent / "fixtures" / "wiping.yaml").read_text())
CLEAN = {"device": "/dev/sda", "id": "/dev/disk/by-id/wwn-0x1", "size": 6001175126016, "serial": "ZAD1"}
CLEAN |= {
    "in_use": [],
    "signatures": [],
    "partitions": ["/dev/sda1"],
    "group": None,
    "volumes": [],
    "osds": [],
    "fsids": [],
}
STATES = [{"id": 3, "fsid": "aaa", "state": "in-use"}, {"id": 4, "fsid": None, "state": "destroyed"}]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["about"])
def test_refusals(case):
    states = None if "silent" in case else STATES
    refusals = wiping.refusals(
        CLEAN | case.get("seen", {}), case.get("typed", "ZAD1"), states, "ours", case.get("silent", "")
    )
    if "says" in case:
        assert any(case["says"] in line for line in refusals), refusals
    else:
        assert refusals == []


def test_what_would_be_lost_is_named():
    osd = {"fsid": "aaa", "role": "db", "id": 3, "cluster": "ours"}
    told = wiping.described("node1", CLEAN | {"signatures": ["gpt"], "osds": [osd]})
    assert told == (
        "node1 /dev/disk/by-id/wwn-0x1 (/dev/sda, 6001 GB, serial ZAD1): db of OSD 3, gpt, partition /dev/sda1"
    )


def test_volumes_that_would_be_lost_are_named():
    seen = CLEAN | {"partitions": [], "signatures": ["LVM2_member"]}
    assert wiping.described("node1", seen | {"group": "ceph-x"}).endswith(": LVM2_member, volume group ceph-x")
    assert wiping.described("node1", seen | {"volumes": ["site/home"]}).endswith(
        "LVM2_member, logical volume site/home"
    )
