"""An OSD's key on its host: the keyring, and the label of a real OSD with a key in it."""

import struct

import pytest
from salt.exceptions import CommandExecutionError

FSID = "5d71d314-c738-8774-a70a-295e4ecab6c8"
OLD, KEY = f"AQB{'o' * 35}==", f"AQB{'n' * 35}=="
LONGER = f"AgB{'l' * 56}="  # of AES-256
HEAD = 66  # bytes before what is encoded (test_disks.py reads the same label)


@pytest.fixture
def module(python_module, monkeypatch, tmp_path):
    made = python_module("osd_keyring")
    monkeypatch.setattr(made, "DATA_DIR", tmp_path)
    monkeypatch.setattr(made.shutil, "chown", lambda *_: None)
    return made


@pytest.fixture
def osd(with_pillar, module, python_module, monkeypatch, tmp_path, checkout):
    """osd.14 of this host with a key in its label: its folder, and the host's modules."""
    folder = tmp_path / "ceph-14"
    folder.mkdir()
    (folder / "keyring").write_text(f"[osd.14]\n\tkey = {OLD}\n")
    (folder / "block").write_bytes(labelled((checkout / "tests/fixtures/labels/block.bin").read_bytes(), module))
    modules = with_pillar(ceph_secrets={"osd.14": KEY})
    monkeypatch.setattr(python_module("osd_record"), "RECORDS", tmp_path)
    (tmp_path / "14").write_text(f"fsid {FSID}\nblock 0\n")
    return folder, modules


def labelled(raw, module, key=OLD):
    """A label with an OSD's key more, whole: length and checksum are right."""
    at = raw.index(b"main") + 4
    (count,) = struct.unpack_from("<I", raw, at)
    entry = b"".join(struct.pack("<I", len(text)) + text for text in (b"osd_key", key.encode()))
    (length,) = struct.unpack_from("<I", raw, HEAD - 4)
    more = raw[HEAD:at] + struct.pack("<I", count + 1) + entry + raw[at + 4 : HEAD + length]
    begin = raw[: HEAD - 4] + struct.pack("<I", len(more)) + more
    return (begin + module._checksum(begin)).ljust(4096, b"\0")


@pytest.mark.parametrize("name", ["block.bin", "block.db.bin", "block.wal.bin"])
def test_the_checksum_is_the_one_that_ceph_wrote(module, checkout, name):
    raw = (checkout / "tests/fixtures/labels" / name).read_bytes()
    end = HEAD + struct.unpack_from("<I", raw, HEAD - 4)[0]
    assert module._checksum(raw[:end]) == raw[end : end + 4] != module._checksum(raw[: end - 1])


def test_keyring_and_label_have_the_new_key_and_nothing_else_changed(osd, module, checkout):
    folder, modules = osd
    assert modules["osd_keyring.write"](14, FSID) is True
    assert (folder / "keyring").read_text() == f"[osd.14]\n\tkey = {KEY}\n"
    assert (folder / "keyring").stat().st_mode & 0o777 == 0o600
    raw = (checkout / "tests/fixtures/labels/block.bin").read_bytes()
    assert (folder / "block").read_bytes() == labelled(raw, module, KEY)
    assert modules["disks_label.read"](str(folder / "block"))["id"] == 14
    assert modules["osd_keyring.write"](14, FSID) is True  # again
    assert sorted(path.name for path in folder.iterdir()) == ["block", "keyring"]


def test_a_label_takes_a_key_of_the_newer_cipher_which_is_longer_and_one_of_the_older_again(
    osd, module, with_pillar, checkout
):
    folder, _ = osd
    raw = (checkout / "tests/fixtures/labels/block.bin").read_bytes()
    for key in (LONGER, OLD):
        modules = with_pillar(ceph_secrets={"osd.14": key})
        assert modules["osd_keyring.check"](14, FSID) and modules["osd_keyring.write"](14, FSID)
        assert (folder / "block").read_bytes() == labelled(raw, module, key)
        assert key in (folder / "keyring").read_text()


@pytest.mark.parametrize(("more", "no"), [(4096, "has no room for a longer key"), (0, "has a key that ends after it")])
def test_a_label_that_cannot_take_a_key_is_refused_before_the_cluster_has_it(osd, module, checkout, more, no):
    folder, modules = osd
    raw = labelled((checkout / "tests/fixtures/labels/block.bin").read_bytes(), module)
    end = HEAD + struct.unpack_from("<I", raw, HEAD - 4)[0]
    if more:  # what a newer Ceph may keep there, up to the block's end
        begin = raw[: HEAD - 4] + struct.pack("<I", more - HEAD - 4) + raw[HEAD:end].ljust(more - HEAD - 4, b"\0")
    else:
        at = raw.index(b"osd_key") + 7
        begin = raw[:at] + struct.pack("<I", 4000) + raw[at + 4 : end]
    (folder / "block").write_bytes((begin + module._checksum(begin)).ljust(4096, b"\0"))
    with pytest.raises(CommandExecutionError, match=no):
        modules["osd_keyring.check"](14, FSID)


def test_a_label_without_a_key_stays_as_it_is(osd, checkout):
    folder, modules = osd
    raw = (checkout / "tests/fixtures/labels/block.bin").read_bytes().ljust(4096, b"\0")
    (folder / "block").write_bytes(raw)
    assert modules["osd_keyring.write"](14, FSID) is True
    assert (folder / "block").read_bytes() == raw and KEY in (folder / "keyring").read_text()


def broken(raw, what):
    if what == "torn":
        return raw[:300] + b"\xff" + raw[301:]
    if what == "another":
        return raw.replace(FSID.encode(), FSID.replace("5d", "6d").encode())
    if what == "long":
        return raw[:62] + b"\xff\xff\xff\xff" + raw[66:]
    return {"short": raw[:40], "empty": b"", "none": bytes(4096)}[what]


@pytest.mark.parametrize("what", ["torn", "another", "long", "short", "empty", "none"])
def test_a_label_that_is_not_whole_is_not_touched(osd, what):
    folder, modules = osd
    raw = broken((folder / "block").read_bytes(), what)
    (folder / "block").write_bytes(raw)
    for function in ("check", "write"):
        with pytest.raises(CommandExecutionError, match="holds no whole label of the OSD") as no:
            modules[f"osd_keyring.{function}"](14, FSID)
        assert "AQB" not in str(no.value)
    assert (folder / "block").read_bytes() == raw and OLD in (folder / "keyring").read_text()


def test_another_osd_of_that_number_is_not_touched(osd):
    folder, modules = osd
    with pytest.raises(CommandExecutionError, match=f"osd.14 of this host is the OSD with fsid {FSID}, expected 6d71"):
        modules["osd_keyring.write"](14, FSID.replace("5d", "6d"))
    assert OLD in (folder / "keyring").read_text()


def test_what_is_missing_is_named(osd, with_pillar):
    folder, modules = osd
    with_pillar(ceph_secrets={})
    with pytest.raises(CommandExecutionError, match="pillar holds no key of osd.14"):
        modules["osd_keyring.write"](14, FSID)
    (folder / "block").unlink()
    with pytest.raises(CommandExecutionError, match="block cannot be read: No such file"):
        modules["osd_keyring.check"](14, FSID)
    assert OLD in (folder / "keyring").read_text()
