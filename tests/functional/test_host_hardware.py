"""What a host tells of its machine: by sysfs, by the vendors' tools, by LLDP.

No such tool or machine is where tests run: the tools are programs of this test, which print what
tests/fixtures/hardware/tools.yaml has, and sysfs is a folder.
"""

import json
import shlex
from pathlib import Path

import pytest
import yaml

from proposals.networking import cables
from proposals.validation import hardware_facts

CASES = yaml.load((Path(__file__).parents[1] / "fixtures/hardware/tools.yaml").read_text(), yaml.CSafeLoader)
NAMES = [case["name"] for case in CASES]


@pytest.fixture
def plant(tmp_path, monkeypatch):
    """A function of programs' names, what they print by their arguments, and their exit status."""

    def planted(program, calls, status=0):
        lines = [
            f"{shlex.quote(words)}) cat {tmp_path}/{program}.{n}; exit {status};;" for n, words in enumerate(calls)
        ]
        for number, printed in enumerate(calls.values()):
            (tmp_path / f"{program}.{number}").write_text(printed)
        (tmp_path / program).write_text("\n".join(["#!/bin/sh", 'case "$*" in', *lines, "*) exit 99;; esac", ""]))
        (tmp_path / program).chmod(0o755)

    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return planted


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_what_a_tool_tells(modules, plant, case):
    plant(case["program"], case["calls"], case.get("status", 0))
    asked = "host_lldp.neighbours" if case["program"] == "lldpcli" else "host_raid.controllers"
    assert modules[asked]() == case["told"]


def test_a_tool_that_is_not_there_is_not_asked(modules):
    assert modules["host_raid.controllers"]() == {"controllers": [], "failed": []}


def tlv(kind, value):
    return (kind << 9 | len(value)).to_bytes(2, "big") + value


def heard(place, switch):
    """A frame as systemd-networkd keeps it: chassis, port and its text, seconds, name, end."""
    tlvs = [tlv(1, b"\x04" + bytes(6)), tlv(2, place), tlv(3, b"\x00\x78"), tlv(4, b"osd"), tlv(5, switch), tlv(0, b"")]
    frame = bytes(12) + b"\x88\xcc" + b"".join(tlvs)
    return len(frame).to_bytes(8, "little") + frame


def test_what_networkd_heard(modules, python_module, tmp_path, monkeypatch):
    python = python_module("host_lldp")
    for name, index in (("p1", 2), ("p2", 3)):
        (tmp_path / "net" / name).mkdir(parents=True)
        (tmp_path / "net" / name / "ifindex").write_text(f"{index}\n")
    (tmp_path / "lldp").mkdir()
    frames = heard(b"\x05Eth1/7", b"leaf1") + heard(b"\x03\x02\x00\x00\x00\x00\x01", b"")
    (tmp_path / "lldp/2").write_bytes(frames)
    (tmp_path / "lldp/3").write_bytes(frames[:30])  # cut short: what there is of it is read
    (tmp_path / "lldp/9").write_bytes(frames)  # a port that is gone
    monkeypatch.setattr(python, "FRAMES", tmp_path / "lldp")
    monkeypatch.setattr(python, "NET", tmp_path / "net")
    assert modules["host_lldp.neighbours"]() == [
        {"port": "p1", "switch": "leaf1", "place": "Eth1/7", "about": "osd"},
        {"port": "p1", "switch": "", "place": "02:00:00:00:00:01", "about": "osd"},
        {"port": "p2", "switch": "", "place": "", "about": ""},
    ]


TREE = {
    "firmware/efi/runtime": "",
    "devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
    "devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave",
    "devices/system/cpu/cpufreq/policy0/x": "",
    "devices/system/edac/mc/mc0/ce_count": "7",
    "devices/system/edac/mc/mc0/ue_count": "0",
    "devices/system/edac/mc/mc0/dimm0/dimm_label": "CPU1_DIMM_A1",
    "devices/system/edac/mc/mc0/dimm0/dimm_ce_count": "7",
    "devices/system/edac/mc/mc0/dimm1/dimm_ce_count": "0",
    "class/dmi/id/product_name": "ProLiant XL450 Gen10",
    "class/dmi/id/bios_version": "U40",
    "block/sda/device/model": "MB014000GWTFF ",
    "block/sda/device/rev": "HPG6",
    "block/nvme0n1/device/model": "MO001600KWVNB",
    "block/nvme0n1/device/firmware_rev": "HPK3",
    "class/net/p1/device/x": "",
    "class/net/bond0/bonding/slaves": "p1 p2",
}
ETHTOOL = "driver: mlx5_core\nversion: 5.14\nfirmware-version: 16.35.2000 (HP_0000000009)\nexpansion-rom-version: \n"


@pytest.fixture
def machine(modules, python_module, tmp_path, monkeypatch):
    """The Python module of a host whose sysfs is ``TREE``, in no container."""
    for path, text in TREE.items():
        file = tmp_path / "sys" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    python = python_module("host_hardware")
    monkeypatch.setattr(python, "SYS", tmp_path / "sys")
    monkeypatch.setattr(python, "CONTAINER", tmp_path / "container")
    return python


def test_what_a_machine_is(modules, machine, plant):
    plant("ethtool", {"-i p1": ETHTOOL})
    plant("storcli64", CASES[0]["calls"])
    told = hardware_facts.read(json.loads(json.dumps(modules["host_hardware.facts"]())))
    assert (told.boot, told.threads, told.governors) == ("uefi", 2, ["performance", "powersave"])
    assert told.memory_errors == [{"where": "CPU1_DIMM_A1", "corrected": 7, "uncorrected": 0}]
    assert [tuple(one.values()) for one in told.firmware] == [
        ("bios", "ProLiant XL450 Gen10", "U40"),
        ("disk", "MB014000GWTFF", "HPG6"),
        ("disk", "MO001600KWVNB", "HPK3"),
        ("port", "mlx5_core", "16.35.2000 (HP_0000000009)"),
        ("raid", "AVAGO MegaRAID SAS 9361-8i", "4.680.00-8249"),
    ]
    assert [one["volumes"][0]["state"] for one in told.raid] == ["Dgrd"]
    assert told.bonds == {"bond0": ["p1", "p2"]} and told.failed == []


def test_a_container_tells_nothing_of_its_hosts_machine(modules, machine, plant):
    machine.CONTAINER.write_text("docker")
    plant("storcli64", CASES[0]["calls"])
    told = hardware_facts.read(modules["host_hardware.facts"]())
    assert (told.boot, told.threads, told.governors, told.memory_errors) == ("", 0, [], [])
    assert [one["kind"] for one in told.firmware] == ["raid"]


def test_this_machine_tells_something_of_the_form(modules):
    hardware_facts.read(modules["host_hardware.facts"]())


def test_the_port_map_of_what_switches_told():
    told = {
        "osd1": [
            {"port": "p2", "switch": "leaf2", "place": "Eth1/7"},
            {"port": "p1", "switch": "leaf1", "place": "Ethernet1/7"},
            {"port": "p1", "switch": "leaf9", "place": "1/9"},
            {"port": "p3", "switch": "{{ 7 }}", "place": "1/9"},
            {"port": "p4", "switch": "", "place": "02:00:00:00:00:09"},
        ],
        "osd2": [],
    }
    found, unknown = cables.table(told)
    assert found == {"osd1": {"p1": "leaf1 1/7", "p2": "leaf2 1/7"}}
    assert unknown == [
        "osd1 p1: several switches answer, leaf9 too: is one between them?",
        "osd1 p3: its switch says '\\x7b\\x7b 7 \\x7d\\x7d' '1/9'",
        "osd1 p4: its switch says '' '02:00:00:00:00:09'",
        "osd2: no switch told it anything (LLDP)",
    ]
