"""One part of an OSD, copied by ``ceph-bluestore-tool`` from where it lies to where it is to lie.

While a part is copied, the OSD's record says so and nothing starts it. The copy leaves what it reads as it is, so
whatever interrupts it, the next run begins that part again from the old place: the record is what tells that a part has
moved, and it is written last, after fsck. How slots are named and attached is asked of ``osd_raw_slots`` or
``osd_lvm_slots``, the OSD's ``way``.

What the tool writes (src/os/bluestore/BlueFS.cc of Ceph 16, device_migrate_to_new, device_migrate_to_existing,
prepare_new_device): a DB's copy goes to free space of its target alone, last its superblock, also on the data disk,
where no file lies on both. A WAL's copy or a new WAL changes one block of what stays: the superblock of the DB. That is
kept before, and put back where the copy begins again.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

DATA_DIR = Path("/var/lib/ceph/osd")
RECORDS = Path("/etc/ceph/osd-devices")
LINKS = {"db": "block.db", "wal": "block.wal"}
SUPERBLOCK = 4096  # where BlueFS has it, and its bytes
LABEL = 8192  # bytes at a slot's beginning: BlueStore's label, and the superblock of its DB or WAL
LIMIT = 6 * 3600  # seconds that a copy or an fsck may take: 200 GiB at 10 MB/s
TOOL = "ceph-bluestore-tool"


def part(osd_id: int, fsid: str, way: str, role: str, old: Mapping, new: Mapping) -> None:
    """Copy a part from where it lies to where it is to lie, and check it there. Its OSD is stopped.

    osd_id, fsid
        Of the OSD.
    way
        ``osd_raw_slots`` or ``osd_lvm_slots``.
    role
        The part, ``db`` or ``wal``. A WAL goes into the DB that moves.
    old, new
        The OSD's slots before and after: ``{role: slot}``; what has none is on the data disk.

    CLI Example: for ``osd_migrate.move``.
    """
    _back(osd_id, fsid, way, old)
    folder = DATA_DIR / f"ceph-{osd_id}"
    slot = __salt__[f"{way}.node"](fsid, role, new[role]) if role in new else ""
    if role in new and not slot:
        raise CommandExecutionError(f"its new {role}, slot {new[role]}, is not on this host: is its device there?")
    if role == "wal":
        _keep(osd_id, _base(folder, old))
    __salt__["osd_record.write"](osd_id, fsid, old, role)  # from here on nothing starts the OSD
    if slot:
        _clear(Path(slot))
    for command in _commands(folder, role, old, new, slot):
        _tool(command)
    __salt__[f"{way}.attach"](osd_id, fsid, new)
    _settled(osd_id, fsid, way, new)


def settle(osd_id: int, fsid: str, way: str, slots: Mapping) -> None:
    """Let an OSD lie in its slots, of which a part was on its way to another one.

    osd_id, fsid, way
        As for ``part``.
    slots
        ``{role: slot}``.

    CLI Example: for ``osd_migrate.move``.
    """
    if _back(osd_id, fsid, way, slots):
        _settled(osd_id, fsid, way, slots)
    _kept(osd_id).unlink(missing_ok=True)


def _back(osd_id: int, fsid: str, way: str, slots: Mapping) -> bool:
    """Have an OSD as it was before a copy that was interrupted; whether there was one."""
    moving = __salt__["osd_record.read"]().get(fsid, {}).get("moving")
    if moving:
        __salt__[f"{way}.attach"](osd_id, fsid, slots)
    if moving == "wal":
        _put_back(osd_id, _base(DATA_DIR / f"ceph-{osd_id}", slots))
    return bool(moving)


def _settled(osd_id: int, fsid: str, way: str, slots: Mapping) -> None:
    _tool([TOOL, "fsck", "--path", str(DATA_DIR / f"ceph-{osd_id}")])
    __salt__[f"{way}.settle"](osd_id, fsid, slots)


def _commands(folder: Path, role: str, old: Mapping, new: Mapping, slot: str) -> list[list[str]]:
    """The tool's commands (``ceph-bluestore-tool(8)``) that bring a part to a slot, or to the data disk."""
    path, block = ["--path", str(folder)], str(folder / "block")
    sources = [str(folder / link) for each, link in LINKS.items() if each in old and old[each] != new.get(each)]
    if sources:
        named = [word for source in sources for word in ("--devs-source", source)]
        return [[TOOL, "bluefs-bdev-migrate", *path, *named, "--dev-target", slot or block]]
    # Some of 16.2 ask for the size also where the target is a device, and use it for files alone.
    size = f"CEPH_ARGS=--bluestore-block-{role}-size={__salt__['disks_kernel.size'](slot)}"
    add = ["env", size, TOOL, f"bluefs-bdev-new-{role}", *path, "--dev-target", slot]
    fill = [TOOL, "bluefs-bdev-migrate", *path, "--devs-source", block, "--dev-target", str(folder / LINKS["db"])]
    return [add, fill] if role == "db" else [add]


def _base(folder: Path, slots: Mapping) -> Path:
    """What has the superblock of an OSD's DB."""
    return folder / (LINKS["db"] if "db" in slots else "block")


def _kept(osd_id: int) -> Path:
    return RECORDS / f"{osd_id}.superblock"


def _keep(osd_id: int, base: Path) -> None:
    with base.open("rb") as device:
        device.seek(SUPERBLOCK)
        halocline.write(_kept(osd_id), device.read(SUPERBLOCK).hex())


def _put_back(osd_id: int, base: Path) -> None:
    block = bytes.fromhex(_kept(osd_id).read_text(encoding="ascii"))
    halocline.unused(base)
    with base.open("r+b", buffering=0) as device:
        os.pwrite(device.fileno(), block, SUPERBLOCK)
        os.fsync(device.fileno())


def _clear(slot: Path) -> None:
    """Clear label and superblock of a new slot: half a copy must not be taken for a whole one."""
    halocline.unused(slot)
    with slot.open("r+b", buffering=0) as part:
        part.write(bytes(LABEL))
        os.fsync(part.fileno())


def _tool(command: Sequence[str]) -> None:
    halocline.run(command, limit=LIMIT)
