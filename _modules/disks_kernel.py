"""What kernel and udev say of this host's disks; no disk is read."""

import os
from pathlib import Path

import salt.loader

BLOCK = Path("/sys/class/block")
UDEV = Path("/run/udev/data")


def partition_nodes(device: str) -> list[str]:
    """Return the device nodes of a disk's partitions that the kernel knows, in their order.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks_kernel.partition_nodes /dev/sdc
    """
    block = _block(device)
    numbered = ((int(number.read_text()), number.parent.name) for number in block.glob("*/partition"))
    return [_node(name) for _, name in sorted(numbered)]


def offset(device: str) -> int:
    """Return where on its disk a partition begins, in bytes; 0 of a whole disk.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks_kernel.offset /dev/sdc1
    """
    start = _block(device) / "start"
    return int(start.read_text()) * 512 if start.exists() else 0


def holder(partition: str) -> str:
    """Return the device node of the disk that a partition is on.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks_kernel.holder /dev/sdc1
    """
    return _node(_block(partition).resolve().parent.name)


def size(device: str) -> int:
    """Return the bytes of a disk or partition.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks_kernel.size /dev/sdc1
    """
    return int((_block(device) / "size").read_text()) * 512


def identity(device: str) -> dict:
    """Return ``{size, serial}`` of a whole disk: bytes from sysfs, serial from udev's database.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks_kernel.identity /dev/disk/by-id/wwn-0x5000c500a1b2c3d4
    """
    block = _block(device)
    serial = None
    database = UDEV / f"b{(block / 'dev').read_text().strip()}"
    if database.exists():
        for line in database.read_text(errors="replace").splitlines():
            if line.startswith("E:ID_SERIAL_SHORT="):
                serial = line.split("=", 1)[1].strip()
    if not serial and (block / "device/serial").exists():
        serial = (block / "device/serial").read_text(errors="replace").strip()
    return {"size": int((block / "size").read_text()) * 512, "serial": serial or None}


def in_use() -> dict[str, list[str]]:
    """Return why each disk of this host is in use, by device: the grain's reasons, looked at now.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks_kernel.in_use
    """
    return {
        disk["device"]: disk["in_use"]
        for disk in salt.loader.grain_funcs(__opts__)["ceph_disks.ceph_disks"]()["ceph_disks"]
    }


def held(device: str) -> str | None:
    """Return why a whole disk cannot be had alone, or ``None``.

    An exclusive open is the kernel's own answer: it fails while the disk or a part of it is mounted, in any
    mount namespace, or claimed by device-mapper or MD (open(2), O_EXCL on block devices).

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks_kernel.held /dev/sdc
    """
    try:
        os.close(os.open(device, os.O_RDONLY | os.O_EXCL))
    except OSError as err:
        return f"cannot be opened alone: {err.strerror}"
    return None


def _block(device: str) -> Path:
    """Where sysfs tells of a disk or partition: a slash in its name is an exclamation mark there."""
    return BLOCK / str(Path(device).resolve()).removeprefix("/dev/").replace("/", "!")


def _node(name: str) -> str:
    """The device node of a disk or partition, by its name in sysfs."""
    return f"/dev/{name.replace('!', '/')}"
