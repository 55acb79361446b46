"""What disks.* reads from devices, on labels of real OSDs and on files."""

import shutil
import struct
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
