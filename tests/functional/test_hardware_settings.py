"""Settings that can hurt hardware, on made-up devices: nothing is written but where a list says so, and it goes back.

A PCI register and a drive's cache cannot be had here: `setpci` and `hdparm` are programs of this test that keep one
register a device, and a line of what was written.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

PORTS = {  # port: its PCI vendor and device, and its Device Control register
    "ens1f0": ("0000:5b:00.0", "15b3", "1017", "2936"),  # ConnectX-5
    "ens1f1": ("0000:5b:00.1", "15b3", "1017", "593f"),  # reads 4 KiB already
    "ens2f0": ("0000:af:00.0", "8086", "10fb", "2936"),  # Intel 82599
    "ens3f0": ("0000:d8:00.0", "15b3", "673c", "2936"),  # ConnectX-2, which nobody tried
    "virt0": (None, "", "", ""),  # not on PCI
}
DRIVES = {"sdb": "MZ7LH480HAHQ0D3", "sdc": "ST4000NM0035"}
SETPCI = """#!/bin/sh
[ "$1" = -s ] || exit 1
file={registers}/$2
old=$((0x$(cat $file)))
case "$3" in
CAP_EXP+8.w) printf '%04x\\n' $old ;;
CAP_EXP+8.w=*:*)
    bits=${{3#*=}}
    value=$((0x${{bits%:*}})) mask=$((0x${{bits#*:}}))
    printf '%04x' $((old & ~mask | value & mask)) >$file
    ;;
*) exit 1 ;;
esac
"""
HDPARM = """#!/bin/sh
case "$1" in
-q) echo "$@" >>{log} ;;
-W) printf ' write-caching =  0 (off)\\n look-ahead    =  1 (on)\\n' ;;
esac
"""


@pytest.fixture
def node(with_pillar: Callable, python_module: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable:
    """A function of pillar's ``ceph``: the modules on a node with these ports and drives."""
    sys, dev, programs, registers = (tmp_path / name for name in ("sys", "dev", "programs", "registers"))
    for folder in (dev, programs, registers):
        folder.mkdir()
    for port, (address, vendor, device, register) in PORTS.items():
        place = sys / "devices" / (address or port)
        place.mkdir(parents=True)
        (sys / "class/net" / port).mkdir(parents=True)
        if address:
            (sys / "class/net" / port / "device").symlink_to(place)
            (place / "vendor").write_text(f"0x{vendor}\n")
            (place / "device").write_text(f"0x{device}\n")
            (registers / address).write_text(register)
    for drive, model in DRIVES.items():
        (sys / "block" / drive / "device").mkdir(parents=True)
        (sys / "block" / drive / "device/model").write_text(f"{model} \n")
        (dev / drive).touch()
    texts = {"setpci": SETPCI.format(registers=registers), "hdparm": HDPARM.format(log=tmp_path / "hdparm.log")}
    for name, text in texts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    for module in (python_module("tunings"), python_module("tunings_hardware")):
        monkeypatch.setattr(module, "SYS", sys)
    monkeypatch.setattr(python_module("tunings"), "CONTAINER", tmp_path / "none")

    def load(allowed: list[str], drives: list[str]) -> dict:
        osds = {str(dev / drive): {"format": "bluestore"} for drive in DRIVES}
        ceph = {"tuning": "ceph-flash", "tunings_allowed": allowed, "tunings_drives": drives}
        return with_pillar(ceph=ceph | {"network": {"ports": dict.fromkeys(PORTS)}, "storage": {"osds": osds}})

    return load


def registers(tmp_path: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (tmp_path / "registers").iterdir()}


def script(modules: dict, tmp_path: Path, verb: str, before: dict | None = None) -> str:
    """Run a profile's script, as TuneD does, on the made-up tree."""
    text = modules["tunings_tuned.files"]("ceph-flash", modules["tunings.settings"](), before).get("script.sh", "")
    path = tmp_path / "script.sh"
    path.write_text(text.replace("/sys/", f"{tmp_path}/sys/"))
    subprocess.run(["sh", path, verb], check=True, capture_output=True)
    return text


def test_nothing_is_written_unasked(node: Callable, tmp_path: Path) -> None:
    before = registers(tmp_path)
    text = script(node(allowed=[], drives=["*"]), tmp_path, "start")
    assert "setpci" not in text and "hdparm" not in text
    assert registers(tmp_path) == before and not (tmp_path / "hdparm.log").exists()


def test_a_register_is_written_on_listed_devices_alone_only_the_bits_meant_and_put_back(
    node: Callable, tmp_path: Path
) -> None:
    modules = node(allowed=["pci_read_request", "drive_cache"], drives=["MZ7LH*"])
    was = registers(tmp_path)
    own = [row for row in modules["tunings.settings"]() if row["kind"] in ("pci", "drive") and not row["left"]]
    assert [row["on"] for row in own] == ["ens1f0", "ens1f1", "sdb"]
    kept = {f"{row['on']} {row['kind']}": modules["tunings_hardware.real"](row) for row in own}
    script(modules, tmp_path, "start")
    changed = {address: value for address, value in registers(tmp_path).items() if value != was[address]}
    assert changed == {"0000:5b:00.0": "5936"}  # 2936 with bits 14 to 12 as 5, and no other
    assert (tmp_path / "hdparm.log").read_text().splitlines() == ["-q -W1 -A1 /dev/sdb"]
    states = {row["on"]: row["state"] for row in modules["tunings.check"]() if row["id"] == "pci_read_request"}
    assert states == {"ens1f0": "ok", "ens1f1": "ok", "ens2f0": "left", "ens3f0": "left", "virt0": "left"}
    script(modules, tmp_path, "stop", kept)
    assert registers(tmp_path) == was
    assert (tmp_path / "hdparm.log").read_text().splitlines()[1:] == ["-q -W0 -A1 /dev/sdb"]


def test_what_is_left_alone_says_why(node: Callable) -> None:
    modules = node(allowed=["pci_read_request", "drive_cache"], drives=["MZ7LH*"])
    why = {row["on"]: row["left"] for row in modules["tunings.settings"]() if row["kind"] in ("pci", "drive")}
    assert why["ens2f0"].startswith("8086:10fb is none of 15b3:1013, ")
    assert why["virt0"].startswith("no PCI device is none of")
    assert "'ST4000NM0035' is not in ceph:tunings_drives" in why["sdc"]
