"""One OSD's key on its host: in its keyring, and in its label where ``ceph-volume`` put it.

From the label the keyring is made anew at each boot (``ceph-bluestore-tool prime-osd-dir``). ``set-label-key`` of the
same tool would take the key as an argument, for every user of the host to see, so it is written here: in the place of
the old one, which may be shorter (one of AES-256 is longer than those before), and the label's checksum after it.
"""

import os
import shutil
import struct
from pathlib import Path

from salt.exceptions import CommandExecutionError

DATA_DIR = Path("/var/lib/ceph/osd")
SIZE = 4096  # bytes: BDEV_LABEL_BLOCK_SIZE, src/os/bluestore/BlueStore.cc of Ceph 16
MAGIC = b"bluestore block device\n"
LENGTH = len(MAGIC) + 37 + 2  # where the length of what is encoded stands; after it, its checksum
ENTRY = struct.pack("<I", len(b"osd_key")) + b"osd_key"
LONGEST = "A" * 60  # a key of AES-256 in base64
POLYNOMIAL = 0x82F63B78  # of CRC-32C, reversed (RFC 3720, 12.1)


def check(osd_id: int, fsid: str) -> bool:
    """Raise where this host's OSD of a number is another one, or its label cannot be changed; nothing is written.

    CLI Example: for ``salt-run secret.rotate osd.3``.
    """
    here = __salt__["osd_retire.recorded"](osd_id)["fsid"]
    if here != fsid:
        raise CommandExecutionError(
            f"osd.{osd_id} of this host is the OSD with fsid {here}, expected {fsid}: "
            f"'ceph osd find {osd_id}' tells where it ran last"
        )
    _changed(_label(osd_id), fsid, LONGEST)
    return True


def write(osd_id: int, fsid: str) -> bool:
    """Give an OSD the key that this host's pillar has for it; its daemon takes it at its next start.

    osd_id
        The OSD's number.
    fsid
        Its fsid.

    CLI Example: for ``salt-run secret.rotate osd.3``.
    """
    check(osd_id, fsid)
    key = __pillar__.get("ceph_secrets", {}).get(f"osd.{osd_id}")
    if not key:
        raise CommandExecutionError(f"this host's pillar holds no key of osd.{osd_id}: run it again")
    device, folder = _label(osd_id), DATA_DIR / f"ceph-{osd_id}"
    label = _changed(device, fsid, key)
    try:
        fresh = folder / "keyring.new"
        fresh.unlink(missing_ok=True)
        fresh.touch(mode=0o600)
        fresh.write_text(f"[osd.{osd_id}]\n\tkey = {key}\n", encoding="ascii")
        shutil.chown(fresh, "ceph", "ceph")
        if label:
            _put(device, label)
        fresh.rename(folder / "keyring")
    except OSError as err:
        raise CommandExecutionError(f"{folder}: {err.strerror}: mend that, then run it again") from err
    return True


def start(osd_id: int) -> bool:
    """Start an OSD that was down.

    CLI Example: for ``salt-run secret.rotate osd.3``.
    """
    __salt__["daemons.forgive"]([f"ceph-osd@{osd_id}"])
    return __salt__["service.restart"](f"ceph-osd@{osd_id}")


def _label(osd_id: int) -> Path:
    return DATA_DIR / f"ceph-{osd_id}" / "block"


def _changed(device: Path, fsid: str, key: str) -> bytes | None:
    """An OSD's label with another key; None where there is no key in it."""
    block = _read(device)
    length = int.from_bytes(block[LENGTH : LENGTH + 4], "little")
    begin = LENGTH + 4
    end = begin + length
    if not block.startswith(MAGIC + fsid.encode()) or block[end : end + 4] != _checksum(block[:end]):
        raise CommandExecutionError(f"{device} holds no whole label of the OSD {fsid}: nothing was changed")
    at = block.find(ENTRY, begin, end)
    if at < 0:
        return None
    place = at + len(ENTRY)
    after = place + 4 + int.from_bytes(block[place : place + 4], "little")
    if after > end:
        raise CommandExecutionError(f"the label on {device} has a key that ends after it: nothing was changed")
    fresh = block[begin:place] + struct.pack("<I", len(key)) + key.encode() + block[after:end]
    label = block[:LENGTH] + struct.pack("<I", len(fresh)) + fresh
    if len(label) + 4 > SIZE:
        raise CommandExecutionError(f"the label on {device} has no room for a longer key: nothing was changed")
    return (label + _checksum(label)).ljust(SIZE, b"\0")  # as Ceph fills it


def _read(device: Path) -> bytes:
    try:
        with device.open("rb", buffering=0) as node:
            return node.read(SIZE)
    except OSError as err:
        raise CommandExecutionError(f"{device} cannot be read: {err.strerror}") from err


def _put(device: Path, label: bytes) -> None:
    """Write a label in one piece, and through to the disk."""
    node = os.open(device, os.O_WRONLY | os.O_DSYNC)
    try:
        os.pwrite(node, label, 0)
    finally:
        os.close(node)
    if _read(device) != label:
        raise CommandExecutionError(f"the label on {device} does not read as it was written: run it again")


def _checksum(data: bytes) -> bytes:
    """CRC-32C without the last inversion, as Ceph's ``bufferlist::crc32c(-1)`` has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (POLYNOMIAL if crc & 1 else 0)
    return struct.pack("<I", crc)
