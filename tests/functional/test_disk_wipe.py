"""Which volume group goes with a disk that is wiped: one of OSDs alone, on no other disk, that nothing has open."""

import pytest
from saltfactories.utils.loader import LoaderModuleMock

DISK, GROUP = "/dev/sdz", "ceph-sdz"
KNOWN = {"group": GROUP, "alone": True, "volumes": [{"open": False}]}
CONTENT = {"groups": [GROUP], "volumes": [], "osds": [{"fsid": "a"}]}


@pytest.mark.parametrize(
    ("known", "content", "goes"),
    [
        ({}, {}, GROUP),
        ({"volumes": [{"open": False}, {"open": True}]}, {}, None),  # a daemon runs, or it is encrypted and open
        ({"alone": False}, {}, None),  # other disks are in it
        ({}, {"volumes": [f"{GROUP}/home"]}, None),  # somebody's volume, or an OSD's that another did not finish
        ({}, {"groups": [], "volumes": []}, None),
        ({"group": ""}, {"groups": []}, None),  # a physical volume in no group
    ],
)
def test_a_group_goes_only_where_nobody_misses_it(python_module, known, content, goes):
    wipe = python_module("disks_wipe")
    with LoaderModuleMock({wipe: {"__salt__": {"disks_lvm.groups": lambda: {DISK: {**KNOWN, **known}}}}}):
        assert wipe._group(DISK, {**CONTENT, **content}) == goes
        assert wipe._group("/dev/sdy", CONTENT) is None


def test_a_group_stays_where_lvm_did_not_answer(python_module):
    wipe = python_module("disks_wipe")
    with LoaderModuleMock({wipe: {"__salt__": {"disks_lvm.groups": lambda: {DISK: KNOWN}}}}):
        assert wipe._group(DISK, {"signatures": ["LVM2_member"]}) is None
