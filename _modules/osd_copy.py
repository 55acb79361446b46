"""One part of an OSD on partitions, copied by ``ceph-bluestore-tool`` from where it lies to where it is to lie.

While a part is copied, the OSD's record says so and nothing starts it. The copy leaves what it reads as it is, so
whatever interrupts it, the next run begins that part again from the old place: the record is what tells that a part has
moved, and it is written last, after fsck.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import halocline

DATA_DIR = Path("/var/lib/ceph/osd")
BY_PARTUUID = Path("/dev/disk/by-partuuid")
LINKS = {"db": "block.db", "wal": "block.wal"}
LABEL = 8192  # bytes at a slot's beginning: BlueStore's label, and the superblock of its DB or WAL
LIMIT = 6 * 3600  # seconds that a copy or an fsck may take: 200 GiB at 10 MB/s
TOOL = "ceph-bluestore-tool"


def part(osd_id: int, fsid: str, role: str, old: Mapping, new: Mapping) -> None:
    """Copy a part from where it lies to where it is to lie, and check it there. Its OSD is stopped.

    osd_id, fsid
        Of the OSD.
    role
        The part: ``db``.
    old, new
        The OSD's slots before and after: ``{role: PARTUUID}``.

    CLI Example: for ``osd_migrate.move``.
    """
    __salt__["osd_record.write"](osd_id, fsid, old, role)  # from here on nothing starts the OSD
    _link(osd_id, old)
    _clear(BY_PARTUUID / new[role])
    for command in _commands(DATA_DIR / f"ceph-{osd_id}", role, old, new):
        _tool(command)
    _link(osd_id, new)
    _tool([TOOL, "fsck", "--path", str(DATA_DIR / f"ceph-{osd_id}")])
    __salt__["osd_record.write"](osd_id, fsid, new)


def settle(osd_id: int, fsid: str, slots: Mapping) -> None:
    """Say that an OSD lies in these slots, and nothing is between two places.

    osd_id, fsid
        Of the OSD.
    slots
        ``{role: PARTUUID}``.

    CLI Example: for ``osd_migrate.move``.
    """
    _link(osd_id, slots)
    if __salt__["osd_record.read"]()[fsid]["moving"]:
        _tool([TOOL, "fsck", "--path", str(DATA_DIR / f"ceph-{osd_id}")])
        __salt__["osd_record.write"](osd_id, fsid, slots)


def linked(osd_id: int, slots: Mapping) -> bool:
    """Return whether an OSD's folder names these slots and no others.

    CLI Example: for ``osd_migrate.free``.
    """
    folder = DATA_DIR / f"ceph-{osd_id}"
    return all(_leads(folder / link, slots.get(role)) for role, link in LINKS.items())


def _commands(folder: Path, role: str, old: Mapping, new: Mapping) -> list[list[str]]:
    """The tool's commands (``ceph-bluestore-tool(8)``) that bring a DB from one place to a slot."""
    link, slot, path = folder / LINKS[role], BY_PARTUUID / new[role], ["--path", str(folder)]
    if role in old:
        return [[TOOL, "bluefs-bdev-migrate", *path, "--devs-source", str(link), "--dev-target", str(slot)]]
    # Some of 16.2 ask for the size also where the target is a device, and use it for files alone.
    size = f"CEPH_ARGS=--bluestore-block-{role}-size={__salt__['disks_kernel.size'](str(slot))}"
    fill = [TOOL, "bluefs-bdev-migrate", *path, "--devs-source", str(folder / "block"), "--dev-target", str(link)]
    return [["env", size, TOOL, f"bluefs-bdev-new-{role}", *path, "--dev-target", str(slot)], fill]


def _link(osd_id: int, slots: Mapping) -> None:
    """Let the OSD's folder name these slots and no others."""
    for role, link in LINKS.items():
        path = DATA_DIR / f"ceph-{osd_id}" / link
        path.unlink(missing_ok=True)
        if role in slots:
            path.symlink_to(BY_PARTUUID / slots[role])


def _leads(link: Path, name: str | None) -> bool:
    return (link.is_symlink() and link.readlink() == BY_PARTUUID / name) if name else not link.is_symlink()


def _clear(slot: Path) -> None:
    """Clear label and superblock of a new slot: half a copy must not be taken for a whole one."""
    halocline.unused(slot)
    with slot.open("r+b", buffering=0) as part:
        part.write(bytes(LABEL))
        os.fsync(part.fileno())


def _tool(command: Sequence[str]) -> None:
    halocline.run(command, limit=LIMIT)
