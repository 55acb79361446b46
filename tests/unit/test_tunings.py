"""Which TuneD profile a host gets."""

import pytest

from proposals.pillar import tunings


@pytest.mark.parametrize(
    ("roles", "data", "name"),
    [
        (["storage"], ["hdd", "hdd"], "ceph-throughput"),
        (["storage"], ["flash"], "ceph-flash"),
        (["storage"], ["flash", "hdd"], "ceph-throughput"),
        (["storage", "mon"], ["flash"], "ceph-flash"),
        (["mon", "mgr"], [], "ceph-latency"),
        (["rgw"], [], "ceph-latency"),
        (["silver"], [], "ceph-latency"),  # a gateway by the site's own name
        (["storage"], [], None),
        (["master", "admin"], [], None),
    ],
)
def test_role_and_disks_choose(roles, data, name):
    assert tunings.profile(roles, data, ["rgw", "silver"]) == name


def test_the_inventory_says_what_rotates():
    hosts = {"a": {"ceph_disks": [{"id": "x", "rotational": False}, {"id": "y", "rotational": True}]}}
    roles = {"a": ["storage"], "b": ["mon"], "c": ["master"]}
    assert tunings.chosen(roles, {"a": {"x": {}}}, hosts, ["rgw"]) == {"a": "ceph-flash", "b": "ceph-latency"}
    assert tunings.chosen(roles, {"a": {"x": {}, "y": {}}}, hosts, ["rgw"])["a"] == "ceph-throughput"
    assert tunings.chosen(roles, {"a": {"z": {}}}, hosts, ["rgw"])["a"] == "ceph-throughput"  # unknown: as a hard disk
