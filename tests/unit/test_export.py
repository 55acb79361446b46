"""Export for ``ceph-volume``: its script run by a real shell, over an LVM that is played by three small programs.

What real LVM does with such volumes is tested in a guest (tests/kernel/test_lvm_osds.py)."""

import os
import runpy
import subprocess

import pytest
from planning import FIXTURES, inventory, peek

from proposals.disks import export

PLAYED = {  # a file a device in $LVM: its group's name, then a volume a line
    "pvs": 'for last; do :; done; head -n 1 "$LVM/$(basename "$last")" 2>/dev/null',
    "vgcreate": '! grep -qx "$1" "$LVM"/* 2>/dev/null && echo "$1" >"$LVM/$(basename "$2")"',
    "lvcreate": 'for last; do :; done; echo "$5" >>"$(grep -lx "$last" "$LVM"/*)"',
    "ceph-volume": 'echo "$*" >>"$LVM/../prepared"',
}


def execute(script, folder):
    """Run a script; what lies on each device after it."""
    for part in ("bin", "lvm"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for name, text in PLAYED.items():
        program = folder / "bin" / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    env = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "LVM": str(folder / "lvm")}
    subprocess.run(["sh", "-eu"], input=script, text=True, env=env, check=True)
    return {file.name: file.read_text().split() for file in (folder / "lvm").iterdir()}


def exported(name, raw, *words):
    return export.text({**peek(raw, f"name={name}", *words)}, "ceph-volume")


@pytest.mark.slow
def test_groups_are_named_after_disks_in_any_order_of_scripts(tmp_path):
    raw = inventory(node1=[{"is": "hdd6", "count": 4}, {"is": "ssd800"}, {"is": "nvme1600", "count": 2}])
    spinners = exported("slow", raw, "data=class=hdd db=class=ssd")
    flash = exported("fast", raw, "data=class=nvme osds-per-device=2 standalone=true")
    there = execute(spinners + flash, tmp_path / "one")
    assert there == execute(flash + spinners, tmp_path / "two")
    assert sorted(len(found) - 1 for found in there.values()) == [2, 2, 4]
    for device, found in there.items():
        assert found[0] == f"ceph-{device}"


def test_a_device_that_carries_osds_keeps_its_group(tmp_path):
    raw = inventory(node1=[{"is": "hdd6", "count": 2}, {"is": "ssd800"}])
    ssd = raw["hosts"]["node1"]["ceph_disks"][-1]["id"].rpartition("/")[2]
    (tmp_path / "lvm").mkdir()
    (tmp_path / "lvm" / ssd).write_text("somebody-elses-name\nosd-db-old\n")
    there = execute(exported("again", raw), tmp_path)
    assert there[ssd][:2] == ["somebody-elses-name", "osd-db-old"] and len(there[ssd]) == 4
    assert (tmp_path / "prepared").read_text().count("--block.db somebody-elses-name/osd-db-") == 2


def test_the_rest_of_an_interrupted_deploy_takes_the_rest_of_its_disk(tmp_path):
    raw = inventory(node1=[{"is": "nvme1600"}])
    answer = peek(raw, "osds-per-device=2")
    answer["hosts"]["node1"]["osds"][0]["existing"] = True
    ((group, *volumes),) = execute(export.text(answer, "ceph-volume"), tmp_path).values()
    assert volumes == [f"osd-block-{answer['hosts']['node1']['osds'][1]['uuid']}"]
    assert f"--data {group}/{volumes[0]}" in (tmp_path / "prepared").read_text()


@pytest.mark.parametrize(
    "device", ["/dev/disk/by-id/wwn-0x5000c500a1b2c3d4", "/dev/sd,a", f"/dev/disk/by-id/{'x' * 90}"]
)
def test_a_group_has_the_name_that_a_deploy_gives_it(device):
    names = runpy.run_path(str(FIXTURES.parents[1] / "_modules" / "osd_names.py"))
    assert export.group_name(device) == names["group"](device)
