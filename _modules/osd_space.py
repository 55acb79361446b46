"""Free space on a disk, and where on it a part finds room: numbers alone, no disk is looked at."""

from collections.abc import Mapping

ALIGNED = 1 << 20  # bytes: where sgdisk lets partitions begin
TAIL = 33 * 512  # bytes at the end of a disk that the second table takes (UEFI specification, 5.3)
SMALLEST = 1 << 30  # bytes that a part of no fixed size must find
EXTENT = 4 << 20  # bytes: LVM's default
HEADER = 1 << 20  # bytes at the beginning of a physical volume that LVM keeps (pvcreate(8), --dataalignment)


def between_partitions(size: int, table: Mapping | None) -> list[list[int]]:
    """Return the free stretches of a disk of that many bytes: ``[[start, bytes], ...]``.

    table
        What ``disks.partitions`` says; ``None`` where there is none.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_space.between_partitions 6001175126016 None
    """
    taken = sorted((part["start"], part["size"]) for part in (table or {"partitions": []})["partitions"])
    free, begin = [], ALIGNED
    for start, length in [*taken, (size - TAIL, 0)]:
        free.append([begin, max(0, start - begin)])
        begin = -(-(start + length) // ALIGNED) * ALIGNED
    return free


def in_group(size: int, group: Mapping | None) -> list[list[int]]:
    """Return the same for logical volumes: one stretch, as LVM needs none in one piece.

    group
        What ``disks_lvm.groups`` says of the disk; ``None`` where LVM does not know it.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_space.in_group 6001175126016 None
    """
    if group and group["group"]:
        return [[0, group["free"]]]
    return [[0, (size - HEADER) // EXTENT * EXTENT]]


def place(free: list[list[int]], size: int | None) -> int | None:
    """Take room for a part from free stretches; return where it begins, ``None`` where it fits nowhere.

    It gets the smallest stretch that holds it, such as the slot of an OSD that was replaced, so that large parts find
    room as long as there is any; a part of no fixed size gets the largest whole.

    free
        Free stretches; what is taken goes.
    size
        Bytes, or ``None``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_space.place '[[1048576, 6001174056960]]' 42949672960
    """
    fitting = [block for block in free if block[1] >= (size or SMALLEST)]
    if not fitting:
        return None
    block = min(fitting, key=lambda block: block[1]) if size else max(fitting, key=lambda block: block[1])
    start, length = block
    taken = -(-size // ALIGNED) * ALIGNED if size else length
    block[0], block[1] = start + taken, max(0, length - taken)
    return start
