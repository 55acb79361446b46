"""What the admin reads of a disk that may be wiped; which may be is in tests/functional/test_disk_wipe_asked.py."""

import shlex

import pytest
from salt.utils.args import yamlify_arg

from proposals.cluster import wiping

CLEAN = {"device": "/dev/sda", "id": "/dev/disk/by-id/wwn-0x1", "size": 6001175126016, "serial": "ZAD1"}
CLEAN |= {"signatures": [], "partitions": ["/dev/sda1"], "group": None, "volumes": [], "osds": []}


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


def test_file_systems_in_partitions_and_groups_of_several_disks_are_named():
    seen = CLEAN | {"signatures": ["gpt"], "contents": ["ext4", "swap"]}
    assert wiping.described("node1", seen).endswith(": gpt, partition /dev/sda1, in partitions: ext4, swap")
    part = CLEAN | {"partitions": [], "signatures": ["LVM2_member"], "spans": "site"}
    assert wiping.described("node1", part).endswith(": LVM2_member, a part of volume group site, which has other disks")


@pytest.mark.parametrize("serial", ["ZAD1", "00001234", "0123", "0x12", "0000", "5:30", "+5", "1.10", "yes", "None"])
def test_the_printed_command_names_that_serial(serial):
    word = shlex.split(wiping.command("node1", "/dev/sda", serial))[-1]
    assert yamlify_arg(word.removeprefix("serial=")) == serial
    assert (serial == "ZAD1") == (f"serial={serial}" == word)


def test_a_serial_of_zeros_is_printed_quoted_twice():
    assert wiping.command("node1", "/dev/sda", "00001234").endswith("""serial="'00001234'\"""")
    assert wiping.command("node1", "/dev/sda", "").endswith("serial=none")
