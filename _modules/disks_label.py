"""BlueStore's label at the beginning of a disk, partition or volume, and where its copies may be.

It is parsed here rather than by ``ceph-bluestore-tool show-label``: that would cost a process a disk, and the label
holds the OSD's secret (``osd_key``), which this module never returns. Everything here only reads.
"""

import struct
import uuid

SIZE = 4096  # bytes: BDEV_LABEL_BLOCK_SIZE, src/os/bluestore/BlueStore.cc
# Where newer releases have it too (bdev_label_positions, src/os/bluestore/BlueStore.cc of Ceph 20; issue 68035).
COPIES = tuple(count << 30 for count in (1, 10, 100, 1000))
MAGIC = b"bluestore block device\n"
ROLES = {"main": "data", "bluefs db": "db", "bluefs wal": "wal"}  # label's description -> role
ENTRIES = 64  # of its map that are read at most


def places(size: int) -> list[int]:
    """Return where the label and its copies may begin on a part of so many bytes; each is ``SIZE`` bytes long.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks_label.places 6001175126016
    """
    return [0, *(place for place in COPIES if place + SIZE <= size)]


def read(device: str) -> dict | None:
    """Return what a BlueStore label says: ``{fsid, role, size, offset, device[, id, cluster, ready]}``, or ``None``.

    Sizes are bytes; ``offset`` is where on its disk the device begins.

    Layout: 23 bytes of magic, the OSD's fsid as text, then ``bluestore_bdev_label_t`` (uuid, size, birth time,
    description, map of text to text), src/os/bluestore/bluestore_types.cc of Ceph 16.

    device
        The device node, a whole disk or a partition.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks_label.read /dev/sdc1
    """
    with open(device, "rb", buffering=0) as node:  # noqa: PTH123 - unbuffered: one aligned read
        block = node.read(SIZE)
    if not block.startswith(MAGIC):
        return None
    place = len(MAGIC) + 37 + 6  # the fsid's line, then the encoding's version, compat and length
    try:
        fsid, size = uuid.UUID(bytes=block[place : place + 16]), struct.unpack_from("<Q", block, place + 16)[0]
        description, place = _string(block, place + 32)
        meta = _map(block, place)
    except (struct.error, ValueError, UnicodeDecodeError):
        text = block[len(MAGIC) :][:36].decode("ascii", "replace")
        return {"fsid": text, "role": "unknown", "device": device}
    label = {
        "fsid": str(fsid),
        "role": ROLES.get(description, description),
        "size": size,
        "offset": __salt__["disks_kernel.offset"](device),
        "device": device,
    }
    if meta.get("whoami", "").isdecimal():
        label["id"] = int(meta["whoami"])
    if "ceph_fsid" in meta:
        label["cluster"] = meta["ceph_fsid"]
    if label["role"] == "data":
        label["ready"] = meta.get("ready") == "ready"  # the last that ceph-osd --mkfs writes (OSD::write_meta)
    return label


def _string(block: bytes, place: int) -> tuple[str, int]:
    """One length-prefixed text and the place after it."""
    (length,) = struct.unpack_from("<I", block, place)
    end = place + 4 + length
    if end > len(block):
        raise ValueError("a text runs over the label's end")
    return block[place + 4 : end].decode("utf-8"), end


def _map(block: bytes, place: int) -> dict[str, str]:
    """One map of text to text, without what is secret."""
    (count,) = struct.unpack_from("<I", block, place)
    place, meta = place + 4, {}
    for _ in range(min(count, ENTRIES)):
        key, place = _string(block, place)
        value, place = _string(block, place)
        if key != "osd_key":
            meta[key] = value
    return meta
