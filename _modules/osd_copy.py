"""One part of an OSD, copied by ``ceph-bluestore-tool`` from where it lies to where it is to lie.

While a part is copied, the OSD's record says so and nothing starts it. The copy leaves what it reads as it is, so
whatever interrupts it, the next run begins that part again from the old place: the record is what tells that a part has
moved, and it is written last, after fsck. How slots are named and attached is asked of ``osd_raw_slots`` or
``osd_lvm_slots``, the OSD's ``way``.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import halocline

DATA_DIR = Path("/var/lib/ceph/osd")
LINKS = {"db": "block.db", "wal": "block.wal"}
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
        The part: ``db``.
    old, new
        The OSD's slots before and after: ``{role: slot}``.

    CLI Example: for ``osd_migrate.move``.
    """
    __salt__["osd_record.write"](osd_id, fsid, old, role)  # from here on nothing starts the OSD
    __salt__[f"{way}.attach"](osd_id, fsid, old)
    slot = __salt__[f"{way}.node"](fsid, role, new[role])
    _clear(Path(slot))
    for command in _commands(DATA_DIR / f"ceph-{osd_id}", role, slot, role in old):
        _tool(command)
    __salt__[f"{way}.attach"](osd_id, fsid, new)
    _check(osd_id)
    __salt__[f"{way}.settle"](osd_id, fsid, new)


def settle(osd_id: int, fsid: str, way: str, slots: Mapping) -> None:
    """Say that an OSD lies in these slots, and nothing is between two places.

    osd_id, fsid, way
        As for ``part``.
    slots
        ``{role: slot}``.

    CLI Example: for ``osd_migrate.move``.
    """
    __salt__[f"{way}.attach"](osd_id, fsid, slots)
    if __salt__["osd_record.read"]().get(fsid, {}).get("moving"):
        _check(osd_id)
        __salt__[f"{way}.settle"](osd_id, fsid, slots)


def _commands(folder: Path, role: str, slot: str, lies: bool) -> list[list[str]]:
    """The tool's commands (``ceph-bluestore-tool(8)``) that bring a DB from one place to a slot."""
    link, path = folder / LINKS[role], ["--path", str(folder)]
    if lies:
        return [[TOOL, "bluefs-bdev-migrate", *path, "--devs-source", str(link), "--dev-target", slot]]
    # Some of 16.2 ask for the size also where the target is a device, and use it for files alone.
    size = f"CEPH_ARGS=--bluestore-block-{role}-size={__salt__['disks_kernel.size'](slot)}"
    fill = [TOOL, "bluefs-bdev-migrate", *path, "--devs-source", str(folder / "block"), "--dev-target", str(link)]
    return [["env", size, TOOL, f"bluefs-bdev-new-{role}", *path, "--dev-target", slot], fill]


def _check(osd_id: int) -> None:
    _tool([TOOL, "fsck", "--path", str(DATA_DIR / f"ceph-{osd_id}")])


def _clear(slot: Path) -> None:
    """Clear label and superblock of a new slot: half a copy must not be taken for a whole one."""
    halocline.unused(slot)
    with slot.open("r+b", buffering=0) as part:
        part.write(bytes(LABEL))
        os.fsync(part.fileno())


def _tool(command: Sequence[str]) -> None:
    halocline.run(command, limit=LIMIT)
