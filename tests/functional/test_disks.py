"""What disks.* reads from devices, on labels of real OSDs and on files."""

import os
import shutil
import struct
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

from proposals.inventory import inventory_join

FSID = "5d71d314-c738-8774-a70a-295e4ecab6c8"
NAMES = ("disks.inspect", "disks.signatures", "disks.partitions", "disks_label.read")
LABELS = {
    "block.bin": {"role": "data", "id": 14, "size": 6001174056960, "ready": True},
    "block.db.bin": {"role": "db", "size": 40 << 30},
    "block.wal.bin": {"role": "wal", "size": 5 << 30},
}


@pytest.fixture(scope="module")
def disks(modules):
    """The module as Salt's loader makes it."""
    return {name.partition(".")[2]: modules[name] for name in NAMES}


@pytest.mark.parametrize("name", LABELS)
def test_labels_of_real_osds(disks, checkout, name):
    found = disks["read"](str(checkout / "tests/fixtures/labels" / name))
    assert found["fsid"] == FSID
    assert {key: found[key] for key in LABELS[name]} == LABELS[name]


def test_a_secret_in_a_label_stays_there(disks, checkout, tmp_path):
    raw = (checkout / "tests/fixtures/labels/block.bin").read_bytes()
    at = raw.index(b"main") + 4  # the map follows the description: one entry more, the OSD's key
    (count,) = struct.unpack_from("<I", raw, at)
    entry = b"".join(struct.pack("<I", len(text)) + text for text in (b"osd_key", b"PLANTED"))
    (tmp_path / "label").write_bytes(raw[:at] + struct.pack("<I", count + 1) + entry + raw[at + 4 :])
    found = disks["read"](str(tmp_path / "label"))
    assert found["id"] == 14  # the planted entry was read over, not the end of it
    assert "PLANTED" not in str(found)


@pytest.mark.slow
@settings(deadline=None)
@given(tail=st.binary(max_size=300), cut=st.integers(0, 598))
def test_broken_labels_are_described(disks, checkout, tmp_path_factory, tail, cut):
    raw = (checkout / "tests/fixtures/labels/block.bin").read_bytes()
    path = tmp_path_factory.mktemp("label") / "label"
    path.write_bytes(raw[:cut] + tail)
    found = disks["read"](str(path))
    assert found is None or set(found) >= {"fsid", "role", "device"}


def test_signatures_of_files(disks, tmp_path):
    clean, dirty = tmp_path / "clean", tmp_path / "dirty"
    for path in (clean, dirty):
        with path.open("wb") as out:
            out.truncate(16 << 20)
    subprocess.run([shutil.which("mkfs.ext4") or "/sbin/mkfs.ext4", "-q", str(dirty)], check=True)
    assert disks["signatures"](str(dirty)) == ["ext4"]
    assert disks["signatures"](str(clean)) == []
    assert disks["partitions"](str(clean)) is None


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("strace"), reason="no strace here, which plays the sector that cannot be read")
def test_a_disk_that_can_be_read_in_part_is_not_called_clean(python_module, tmp_path, monkeypatch):
    """The real wipefs and blkid end where the kernel answers a read with an error, and print nothing, as of a clean
    disk; a file system may lie there."""
    device, programs = tmp_path / "disk", tmp_path / "bin"
    with device.open("wb") as out:
        out.truncate(16 << 20)
    subprocess.run([shutil.which("mkfs.ext4") or "/sbin/mkfs.ext4", "-q", str(device)], check=True)
    module, disk = python_module("disks"), {"device": str(device), "id": "/dev/disk/by-id/wwn-1", "in_use": []}
    monkeypatch.setattr(module.salt.loader, "grain_funcs", lambda _: {"ceph_disks.ceph_disks": lambda: seen})
    seen = {"ceph_disks_format": 1, "ceph_disks": [disk]}
    nothing = {"disks_kernel.partition_nodes": lambda _: [], "disks_label.read": lambda _: None}
    asks = {**nothing, "disks_lvm.inspect": dict, "osd_waiting.kept": dict}

    def told():
        (found,) = inventory_join.host(module.inspect(), [], "node1")["ceph_disks"]
        return found["in_use"]

    with LoaderModuleMock({module: {"__salt__": asks, "__pillar__": {}}}):
        assert told() == ["holds ext4"]
        programs.mkdir()
        for name in ("wipefs", "blkid", "dd"):
            real = shutil.which(name) or f"/sbin/{name}"
            fails = f"strace -qq -o /dev/null -P {device} -e trace=read -e inject=read:error=EIO:when=3+"
            (programs / name).write_text(f'#!/bin/sh\nexec {fails} {real} "$@"\n')
            (programs / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
        assert told() == ["does not answer"]
        with pytest.raises(CommandExecutionError, match="Input/output error"):
            module.signatures(str(device))


OURS, OTHERS = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
NONE = "00000000-0000-0000-0000-000000000000"  # blkid does not tell it: images of some small machines have it
SLOT = "start=2048, size=4096\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("guid", "slots", "group", "fsid", "reasons"),
    [
        (OURS, "", None, FSID, []),
        (OURS, SLOT, None, FSID, ["holds PMBR", "holds gpt"]),
        (OTHERS, "", None, FSID, ["holds PMBR", "holds gpt"]),
        (NONE, "", None, FSID, ["holds PMBR", "holds gpt"]),
        (NONE, SLOT, None, FSID, ["holds PMBR", "holds gpt"]),
        (OURS, "", None, None, ["holds PMBR", "holds gpt"]),
        (None, "", "ceph-ours", FSID, []),
        (None, "", "ceph-others", FSID, ["holds LVM2_member"]),
    ],
    ids=[
        "our table",
        "a partition",
        "another table",
        "a table of no id",
        "a partition in it",
        "before there is a cluster",
        "our group",
        "another group",
    ],
)
def test_what_the_last_osd_left_behind_is_free(python_module, tmp_path, monkeypatch, guid, slots, group, fsid, reasons):
    """A DB device whose OSDs have all left carries the next ones; a table that somebody else made is a reason."""
    device = tmp_path / "disk"
    with device.open("wb") as out:
        out.truncate(16 << 20)
    if guid:
        table = f"label: gpt\nlabel-id: {guid}\n{slots}"
        subprocess.run(["/sbin/sfdisk", "-q", str(device)], input=table, text=True, check=True)
    module, disk = python_module("disks"), {"device": str(device), "id": "/dev/disk/by-id/wwn-1", "in_use": []}
    monkeypatch.setattr(module.salt.loader, "grain_funcs", lambda _: {"ceph_disks.ceph_disks": lambda: seen})
    seen = {"ceph_disks_format": 1, "ceph_disks": [disk]}
    volumes = {str(device): {"osds": [], "volumes": [], "groups": [group]}} if group else {}
    asks = {
        "disks_kernel.partition_nodes": lambda _: [f"{device}1"] if slots else [],
        "disks_kernel.offset": lambda _: 0,
        "disks_label.read": lambda _: None,
        "disks_lvm.inspect": lambda: volumes,
        "osd_names.table_guid": lambda _: OURS,
        "osd_names.group": lambda _: "ceph-ours",
        "osd_waiting.kept": dict,
    }
    if group:
        monkeypatch.setattr(module, "_signatures", lambda _: ["LVM2_member"])
    with LoaderModuleMock({module: {"__salt__": asks, "__pillar__": {"fsid": fsid} if fsid else {}}}):
        (found,) = inventory_join.host(module.inspect(), [], "node1")["ceph_disks"]
    assert found["in_use"] == reasons


@pytest.mark.parametrize(
    ("in_use", "signatures", "told"),
    [
        ([], ["LVM2_member"], False),
        (["LVM member of ceph-9d1c", "has partitions"], ["PMBR", "gpt"], False),
        (["LVM member of system", "has partitions"], ["PMBR", "gpt"], True),
        ([], [], True),
    ],
    ids=["a whole disk", "ceph-volume's on a partition", "the system's", "no LVM"],
)
def test_where_lvm_is_silent_its_osds_are_not_taken_for_gone(python_module, monkeypatch, in_use, signatures, told):
    """One disk that hangs is enough for that; the plan of what is left would have no OSD of this host any more."""
    module, disk = python_module("disks"), {"device": "/dev/sdz", "id": "/dev/disk/by-id/wwn-1", "in_use": in_use}
    seen = {"ceph_disks_format": 1, "ceph_disks": [disk]}
    monkeypatch.setattr(module.salt.loader, "grain_funcs", lambda _: {"ceph_disks.ceph_disks": lambda: seen})
    monkeypatch.setattr(module, "_content", lambda _: {"signatures": signatures, "partitions": 0, "osds": []})

    def silent():
        raise CommandExecutionError("'pvs' on node1: did not end within 10 s")

    asks = {"disks_lvm.inspect": silent, "osd_waiting.kept": dict}
    with LoaderModuleMock({module: {"__salt__": asks, "__pillar__": {}}}):
        if told:
            assert module.inspect()["inspected"]["/dev/sdz"]["signatures"] == signatures
        else:
            with pytest.raises(CommandExecutionError, match="'pvs' on node1: did not end within 10 s"):
                module.inspect()
