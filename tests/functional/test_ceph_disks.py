"""The grain on a machine that is on file: every odd disk is described, none hides another."""

from pathlib import Path

import pytest
import yaml
from saltfactories.utils.loader import LoaderModuleMock

from proposals.inventory.disk import parse

ROOT = Path(__file__).parent.parent
MACHINE = yaml.load((ROOT / "fixtures/machines/odd.yaml").read_text(), yaml.CSafeLoader)


def write(path: Path, text: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


@pytest.fixture(scope="module")
def grain(grain_module):
    return grain_module("ceph_disks")


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """The machine on file: where the grain finds its kernel's files."""
    root = tmp_path_factory.mktemp("machine")
    places = {name: root / name.lower() for name in ("BLOCK", "DEV", "UDEV", "PROC", "CONFIG")}
    mounts, swaps = [], ["Filename Type Size Used Priority"]
    for name, disk in MACHINE.items():
        for key, value in disk["sys"].items():
            write(places["BLOCK"] / name / key, value)
        if disk.get("node", True):
            write(places["DEV"] / name.replace("!", "/"), "")
        if "udev" in disk:
            lines = [f"E:{key}={value}" for key, value in disk["udev"]["E"].items()]
            lines += [f"S:{link}" for link in disk["udev"]["S"]]
            write(places["UDEV"] / f"b{disk['sys']['dev']}", "\n".join(lines))
        for key, value in disk.get("config", {}).items():
            write(places["CONFIG"] / key, value)
        for device, points in disk.get("mounts", {}).items():
            mounts += [f"1 2 {device} / {point.replace(' ', chr(92) + '040')} rw - ext4 x rw" for point in points]
        swaps += [f"/dev/{name} partition 1 0 -2"] * disk.get("swap", 0)
    write(places["PROC"] / "self/mountinfo", "\n".join(mounts))
    write(places["PROC"] / "swaps", "\n".join(swaps))
    return places


@pytest.fixture(scope="module")
def seen(grain, machine):
    with LoaderModuleMock({grain: machine}):
        answer = grain.ceph_disks()
    assert answer["ceph_disks_format"] == 1
    return {Path(disk["device"]).name: disk for disk in answer["ceph_disks"]}


@pytest.mark.parametrize("name", MACHINE)
def test_disk(seen, name):
    expected = MACHINE[name]["expect"]
    found = seen.get(name.rpartition("!")[2])
    if expected is None:
        assert found is None
    else:
        assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize("name", ["sda", "sdb", "nvme0n1", "nvme1n1", "nvme2n1"])
def test_the_serial_that_a_plan_records_is_the_one_that_deploy_reads(seen, machine, python_module, name):
    """Where they differ by a blank, deploy takes the disk for another one."""
    kernel = python_module("disks_kernel")
    with LoaderModuleMock({kernel: {key: machine[key] for key in ("BLOCK", "UDEV")}}):
        found = kernel.identity(f"/dev/{name}")
    recorded = parse(seen[name])
    assert (recorded.size, recorded.serial) == (found["size"], found["serial"])


def test_a_serial_that_is_no_text_is_read_as_the_grain_reads_it(grain, python_module, tmp_path):
    kernel, block = python_module("disks_kernel"), tmp_path / "sdx"
    for key, value in {"size": 9, "dev": "8:0"}.items():
        write(block / key, value)
    (block / "device").mkdir()
    (block / "device/serial").write_bytes(b"S\xff1\n")
    with LoaderModuleMock({kernel: {"BLOCK": tmp_path, "UDEV": tmp_path / "none"}}):
        assert kernel.identity("/dev/sdx")["serial"] == grain._text(block / "device/serial")


def test_what_is_no_partition_below_a_disk_is_not_taken_for_one(seen, machine, python_module):
    """The boot areas of an eMMC stand below it in sysfs, beside its partitions."""
    kernel = python_module("disks_kernel")
    with LoaderModuleMock({kernel: {"BLOCK": machine["BLOCK"]}}):
        assert kernel.partition_nodes("/dev/mmcblk0") == ["/dev/mmcblk0p1", "/dev/mmcblk0p2"]
    assert seen["mmcblk0"]["in_use"] == ["has partitions"]


def test_a_disk_whose_name_has_a_slash_is_found_by_it(machine, python_module, tmp_path):
    """The kernel writes it with an exclamation mark in sysfs: its partitions, and OSDs on them, were not seen."""
    kernel, lvm, block = python_module("disks_kernel"), python_module("disks_lvm"), tmp_path / "class"
    disk = tmp_path / "devices/etherd!e0.0"
    for key, value in {"size": 9, "dev": "152:0", "etherd!e0.0p1/partition": 1, "etherd!e0.0p1/start": 4}.items():
        write(disk / key, value)
    block.mkdir()
    (block / disk.name).symlink_to(disk)
    (block / "etherd!e0.0p1").symlink_to(disk / "etherd!e0.0p1")
    with LoaderModuleMock({kernel: {"BLOCK": block, "UDEV": tmp_path}}):
        assert kernel.identity("/dev/etherd/e0.0") == {"size": 9 * 512, "serial": None}
        assert kernel.partition_nodes("/dev/etherd/e0.0") == ["/dev/etherd/e0.0p1"]
        assert kernel.holder("/dev/etherd/e0.0p1") == "/dev/etherd/e0.0"
        asks = {f"disks_kernel.{name}": getattr(kernel, name) for name in ("holder", "offset")}
        with LoaderModuleMock({lvm: {"__salt__": asks}}):
            assert lvm._disk("/dev/etherd/e0.0p1") == ("/dev/etherd/e0.0", 2048)
            assert lvm._disk("/dev/etherd/e0.0") == ("/dev/etherd/e0.0", 0)


def test_a_wwn_of_zeros_is_none(seen):
    assert "wwn" not in seen["sdl"]


def test_a_host_without_sysfs_has_no_disks(grain, tmp_path):
    with LoaderModuleMock({grain: dict.fromkeys(("BLOCK", "UDEV", "PROC"), tmp_path / "nowhere")}):
        assert grain.ceph_disks() == {"ceph_disks_format": 1, "ceph_disks": []}


def test_the_shelf_that_a_disk_sits_in(grain, tmp_path):
    """As the kernel's enclosure driver links it; a link that leads nowhere is no shelf."""
    shelf = tmp_path / "devices/host0/enclosure/0:0:8:0"
    write(shelf / "id", "0x500056b3abcdef00")
    (shelf / "Slot 01").mkdir()
    for name, target in (("sda", shelf / "Slot 01"), ("sdb", tmp_path / "gone/Slot 02")):
        (tmp_path / name / "device").mkdir(parents=True)
        (tmp_path / name / "device/enclosure_device:Slot 01").symlink_to(target)
    (tmp_path / "sdc").mkdir()
    told = {name: grain._enclosure(tmp_path / name) for name in ("sda", "sdb", "sdc")}
    assert told == {"sda": "0x500056b3abcdef00", "sdb": "", "sdc": ""}
