"""Disks asked by smartctl, and what `disk.health` makes of it.

No disk fails where tests run: `smartctl` is a program of this test, which answers as the disks of
tests/fixtures/smart.yaml do. A real one is asked on the lab's clusters.
"""

import json
from pathlib import Path

import pytest
import yaml
from saltmaster import Master

from proposals.stages.replies import Problem, Replies
from runners.engine.asking import jobs, minions, planned, taking_part

CASES = {
    case["name"]: case["told"]
    for case in yaml.load((Path(__file__).parents[1] / "fixtures/smart.yaml").read_text(), yaml.CSafeLoader)
}
SAYS = {  # what each disk is, and smartctl's exit status, which counts what is wrong with it
    "sda": (CASES["a SATA disk that fails, with the attribute that says why"], 8 + 16),
    "sdb": (CASES["a SATA disk that passes"], 0),
    "sdc": (CASES["a SAS disk that fails"], 8),
    "nvme0n1": (CASES["an NVMe device that passes"], 0),
    "vda": (CASES["a virtual disk (virtio), as smartctl 7.3 says it"], 1),
}
MORE = {"json_format_version": [1, 0], "smartctl": {"version": [7, 3], "exit_status": 0}, "serial_number": "another"}
PROGRAM = """#!/bin/sh
[ "$1 $2 $3" = "--json --health --attributes" ] || exit 1
for device; do :; done
[ "$4 $5" = "--drivedb /dev/null" ] && database= || database=there
. {folder}/${{device#/dev/}}
"""
OSDS = {"node1": {"/dev/disk/by-id/sda": {"uuids": ["u1"], "db": "/dev/disk/by-id/nvme0n1"}}}
STATES = [{"fsid": "u1", "id": 12}]


@pytest.fixture
def disks(modules, tmp_path, monkeypatch):
    """A function of device and shell lines, by which its disk answers otherwise; it returns what the host tells."""
    found = [{"device": f"/dev/{name}", "id": f"/dev/disk/by-id/{name}", "serial": f"S-{name}"} for name in SAYS]
    grain = {"ceph_disks.ceph_disks": lambda: {"ceph_disks_format": 1, "ceph_disks": found}}
    monkeypatch.setattr("salt.loader.grain_funcs", lambda opts: grain)
    (tmp_path / "smartctl").write_text(PROGRAM.format(folder=tmp_path))
    (tmp_path / "smartctl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    for name, (told, status) in SAYS.items():
        printed = {**MORE, **told, "smartctl": {**MORE["smartctl"], **told.get("smartctl", {})}}
        (tmp_path / f"{name}.json").write_text(json.dumps(printed))
        (tmp_path / name).write_text(f"cat {tmp_path}/{name}.json; exit {status}\n")

    def told(**otherwise):
        for name, lines in otherwise.items():
            (tmp_path / name).write_text(lines)
        return modules["disks_smart.inspect"]()

    return told


@pytest.fixture(scope="module")
def runners(salt_factories):
    return salt_factories.salt_master_daemon("disks", factory_class=Master).runners()


@pytest.fixture
def problems():
    return []


@pytest.fixture
def health(runners, disks, problems, monkeypatch):
    """`disk.health` of a cluster whose node1 has these disks."""
    monkeypatch.setattr(minions, "members", lambda opts: {"all": ["node1", "node2"], "master": ["salt"]})
    monkeypatch.setattr(taking_part, "among", lambda opts, hosts, limited=True: hosts)
    monkeypatch.setattr(planned, "osds", lambda paths: OSDS)
    monkeypatch.setattr(jobs, "cluster", lambda opts, function, kind=list: STATES)
    monkeypatch.setattr(jobs, "ask", lambda opts, hosts, function: Replies({"node1": disks()}, problems))
    return runners["disk.health"]


def test_each_disk_tells_what_is_judged_of_it_whatever_the_exit_status(disks):
    told = disks()
    assert {device: disk["smartctl"] for device, disk in told.items() if device != "/dev/sda"} == {
        f"/dev/{name}": said for name, (said, _) in SAYS.items() if name != "sda"
    }
    assert told["/dev/sda"]["smartctl"] == SAYS["sda"][0]
    assert told["/dev/sda"] | {"smartctl": 0} == {"id": "/dev/disk/by-id/sda", "serial": "S-sda", "smartctl": 0}


@pytest.mark.slow
def test_what_smartctl_has_in_its_database_is_asked_of_it_again(disks):
    """Names of attributes that failed, bridges of USB; where it does not answer twice, what it said first counts."""
    table = SAYS["sda"][0]["ata_smart_attributes"]["table"]
    unnamed = {**SAYS["sda"][0], "ata_smart_attributes": {"table": [{**row, "name": "Unknown"} for row in table]}}
    bridge = {"smartctl": {"messages": [{"string": "/dev/sdb: Unknown USB bridge [0x0bc2:0x3008 (0x100)]"}]}}
    without = "[ $database ] || {{ echo '{}'; exit 1; }}\n"
    sda, sdb = (without.format(json.dumps(answer)) for answer in (unnamed, bridge))
    told = disks(sda=f"{sda}echo '{json.dumps(SAYS['sda'][0])}'", sdb=f"{sdb}echo '{json.dumps(SAYS['sdb'][0])}'")
    assert (told["/dev/sda"]["smartctl"], told["/dev/sdb"]["smartctl"]) == (SAYS["sda"][0], SAYS["sdb"][0])
    assert disks(sda=f"{sda}exit 1")["/dev/sda"]["smartctl"] == unnamed


@pytest.mark.slow
def test_a_disk_that_hangs_and_a_smartctl_that_is_old_hide_no_other_disk(disks, python_module, monkeypatch):
    monkeypatch.setattr(python_module("disks_smart"), "LIMIT", 0.5)
    told = disks(sdb="exec sleep 60", sdc="echo smartctl 6.6; exit 1")
    assert "did not end within 0.5 s" in told["/dev/sdb"]["smartctl"]["error"]
    assert "expected smartmontools 7.0" in told["/dev/sdc"]["smartctl"]["error"]
    assert told["/dev/sda"]["smartctl"] == SAYS["sda"][0]


def test_without_smartctl_each_disk_says_so(disks, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert {"there is no such program" in disk["smartctl"]["error"] for disk in disks().values()} == {True}


@pytest.mark.slow
def test_failing_disks_are_named_with_what_to_type(health):
    done = health()
    assert done["retcode"] == 1
    lines = done["text"].splitlines()
    assert lines[:4] == [
        "node1 /dev/sda (no model, serial S-sda) fails: attribute 5 Reallocated_Sector_Ct is at its threshold; "
        "data of osd.12",
        "  -> 'ceph osd out 12' copies the data elsewhere, then 'salt-run osd.replace 12'",
        "node1 /dev/sdc (no model, serial S-sdc) fails: it says 'HARDWARE IMPENDING FAILURE GENERAL HARD DRIVE "
        "FAILURE'; no planned OSD on it",
        "  -> see there with 'lsblk /dev/sdc' what else is on it, and change it",
    ]
    assert lines[4:] == [
        "not told: 1 disk of node1: Unable to detect device type",
        "5 disks: 2 fails, 2 sound, 1 not told",
    ]


@pytest.mark.slow
def test_a_layout_that_names_no_fsid_names_no_osd(health, monkeypatch):
    """As DeepSea's short form, which configure takes; deploy ended in a traceback here."""
    short = {"node1": {"/dev/disk/by-id/sdb": {"format": "bluestore"}, **OSDS["node1"]}}
    before = health()
    monkeypatch.setattr(planned, "osds", lambda paths: short)
    assert health() == before


@pytest.mark.slow
def test_as_a_step_of_deploy_a_failing_disk_is_a_warning(health):
    done = health(warn=True)
    assert "retcode" not in done
    assert [(one["severity"], one["hosts"]) for one in done["findings"]] == [("warning", ["node1"])] * 2


@pytest.mark.slow
def test_disks_that_tell_nothing_are_no_error_and_a_silent_host_is(health, disks, problems):
    disks(**dict.fromkeys(SAYS, "exec cat $(dirname $0)/vda.json"))
    done = health()
    assert "retcode" not in done and done["text"].endswith("5 disks: 5 not told")
    problems.append(Problem("node2", "does not answer", silent=True))
    done = health()
    assert done["retcode"] == 1 and done["text"].startswith("node2: does not answer\n")
