"""What a disk says of itself by SMART is judged, and a failing one named with what to type."""

import pytest
import yaml
from planning import FIXTURES

from proposals.cluster import failing, smart

CASES = yaml.load((FIXTURES / "smart.yaml").read_text(), yaml.CSafeLoader)
STATES = [{"fsid": "u1", "id": 11}, {"fsid": "u2", "id": 2}, {"fsid": None, "id": 4}]
PLANNED = {
    "node1": {
        "/dev/disk/by-id/a": {"uuids": ["u1"], "db": "/dev/disk/by-id/ssd", "wal": "/dev/disk/by-id/ssd"},
        "/dev/disk/by-id/b": {"uuids": ["u2"], "db": "/dev/disk/by-id/ssd"},
        "/dev/disk/by-id/c": {"uuids": ["not-made-or-destroyed"]},
    }
}
BAD, GOOD = {"smart_status": {"passed": False}}, {"smart_status": {"passed": True}}
OLD = {**GOOD, "nvme_smart_health_information_log": {"critical_warning": 2}}


def disks(states=STATES, **bad):
    """The disks of a host of which those named here say so."""
    told = {
        f"/dev/sd{name}": {"id": f"/dev/disk/by-id/{name}", "serial": f"S{name}", "smartctl": bad.get(name, GOOD)}
        for name in ("a", "b", "c", "ssd")
    }
    return failing.disks({"node1": told}, failing.planned(PLANNED, states))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_disk_is_judged_by_what_it_says(case):
    assert list(smart.judge(case["told"])) == case["is"]


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("a", "'ceph osd out 11' copies the data elsewhere, then 'salt-run osd.replace 11'"),
        ("b", "'ceph osd out 2' copies the data elsewhere, then 'salt-run osd.replace 2'"),
        ("c", "see there with 'lsblk /dev/sdc' what else is on it, and change it"),
        (
            "ssd",
            "'ceph osd out 2 11' copies the data elsewhere, then 'salt-run osd.replace host=node1 "
            "device=/dev/disk/by-id/ssd' gives them up; see ",
        ),
    ],
)
def test_a_failing_disk_is_named_with_what_to_type(name, fix):
    first, *others = disks(**{name: BAD})
    assert (first.device, first.state, {disk.state for disk in others}) == (f"/dev/sd{name}", "fails", {"sound"})
    assert f"serial S{name}) fails: its own health test failed" in first.line()
    assert first.fix().startswith(fix)
    (finding,) = failing.findings([first, *others])
    assert (finding["severity"], finding["hosts"], finding["fix"]) == ("warning", ["node1"], first.fix())


def test_without_the_cluster_no_disk_is_called_free():
    first = disks(states=None, a=BAD)[0]
    assert first.osds == {"data": ["u1"]}
    assert first.fix().startswith("ask again once the cluster answers")


def test_those_that_fail_come_first_and_those_that_tell_nothing_are_counted():
    unable = {"smartctl": {"messages": [{"string": "/dev/sd{}: Unable to detect device type"}]}}
    same = {name: yaml.load(yaml.safe_dump(unable).replace("{}", name), yaml.CSafeLoader) for name in ("a", "c")}
    lines = failing.text(disks(**same, b=OLD, ssd=BAD))
    assert [line.split(":")[0].split(")")[-1].strip() for line in lines[:2]] == ["fails", "warns"]
    assert lines[2:] == [
        "not told: 2 disks of node1: Unable to detect device type",
        "4 disks: 1 fails, 1 warns, 2 not told",
    ]
    assert failing.text([]) == ["no disk was told of"]
