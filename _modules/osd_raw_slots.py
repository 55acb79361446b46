"""The DB and WAL slots of one OSD on partitions: where they are, which of them it lies in.

What ``osd_migrate`` and ``osd_copy`` ask of either way; ``osd_lvm_slots`` answers it for logical volumes.
"""

from collections.abc import Mapping
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

DATA_DIR = Path("/var/lib/ceph/osd")
BY_PARTUUID = Path("/dev/disk/by-partuuid")
LINKS = {"db": "block.db", "wal": "block.wal"}


def node(fsid: str, role: str, name: str) -> str:
    """Return the device node of a slot, by its name; empty where it is not there.

    CLI Example: for ``osd_migrate.inspect``.
    """
    path = BY_PARTUUID / name
    return str(path) if path.exists() else ""


def on(node: str, disk: str) -> bool:
    """Return whether a slot's node is on a disk.

    CLI Example: for ``osd_migrate.inspect``.
    """
    return __salt__["disks_kernel.holder"](node) == str(Path(disk).resolve())


def free(fsid: str, role: str, name: str) -> str:
    """Take away a slot of an OSD in which nothing of it lies, by its name; return what went.

    CLI Example: for ``osd_migrate.free``.
    """
    path = BY_PARTUUID / name
    disk = __salt__["disks_kernel.holder"](str(path))
    parts = (__salt__["disks.partitions"](disk) or {"partitions": []})["partitions"]
    numbers = [part["number"] for part in parts if part["uuid"] == name and part["name"] == fsid]
    if len(numbers) != 1:
        raise CommandExecutionError(f"{path} is not a slot of OSD {fsid} on {disk} alone: it was not freed")
    halocline.unused(path)
    __salt__["osd_raw_parts.remove"](disk, numbers)
    return f"partition {numbers[0]} of {disk}"


def attach(osd_id: int, fsid: str, slots: Mapping) -> None:
    """Let the OSD's folder name these slots and no others.

    osd_id, fsid
        Of the OSD.
    slots
        ``{role: PARTUUID}``.

    CLI Example: for ``osd_copy.part``.
    """
    for role, link in LINKS.items():
        path = DATA_DIR / f"ceph-{osd_id}" / link
        path.unlink(missing_ok=True)
        if role in slots:
            path.symlink_to(BY_PARTUUID / slots[role])


def attached(osd_id: int, fsid: str, slots: Mapping) -> bool:
    """Return whether an OSD's folder names these slots and no others; arguments as for ``attach``.

    CLI Example: for ``osd_migrate.free``.
    """
    folder = DATA_DIR / f"ceph-{osd_id}"
    return all(_leads(folder / link, slots.get(role)) for role, link in LINKS.items())


def settle(osd_id: int, fsid: str, slots: Mapping) -> None:
    """Write down that an OSD lies in these slots, and may start; arguments as for ``attach``.

    CLI Example: for ``osd_copy.part``.
    """
    __salt__["osd_record.write"](osd_id, fsid, slots)


def _leads(link: Path, name: str | None) -> bool:
    return (link.is_symlink() and link.readlink() == BY_PARTUUID / name) if name else not link.is_symlink()
