"""The partitions of this cluster's OSDs: one slot for each data, DB and WAL, named as ``osd_names`` has it."""

import os
import time
from pathlib import Path

from salt.exceptions import CommandExecutionError

ALIGNED = 1 << 20  # bytes: where sgdisk lets partitions begin
TAIL = 33 * 512  # bytes at the end of a disk that the second table takes (UEFI specification, 5.3)
SMALLEST = 1 << 30  # bytes that a part of no fixed size must find
NODES = 30  # seconds until the kernel's and udev's names of a new partition must be there
ALONE = 3  # of these, seconds until the kernel is told by partx
LABEL = 8192  # bytes at a part's beginning: BlueStore's label, and the superblock of its DB or WAL
STEADY = 4  # looks, 0.1 s apart, that must find all names


def remove(disk, numbers):
    """Take partitions away, with the labels that lie on them: their space is a free slot again.

    disk
        The disk's device node.
    numbers
        The partitions' numbers.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_raw_parts.remove /dev/sdc '[3, 4]'
    """
    parts = {part["number"]: part for part in __salt__["disks.partitions"](disk)["partitions"]}
    with open(disk, "r+b", buffering=0) as whole:  # noqa: PTH123 - unbuffered
        for number in numbers:
            os.pwrite(whole.fileno(), bytes(LABEL), parts[number]["start"])
        os.fsync(whole.fileno())
    _run(["sgdisk", *(f"--delete={number}" for number in numbers), disk])
    for number in numbers:
        _run(["partx", "--delete", "--nr", str(number), disk], ok=(0, 1))  # 1: the kernel has let go of it already
    return True


def strangers(table):
    """Return what lies in our own table that this cluster did not make; ``None`` where nothing does.

    table
        What ``disks.partitions`` says.

    CLI Example: for ``osd_guard.problem``.
    """
    for part in table["partitions"]:
        if not __salt__["osd_names.ours"](part):
            what = part["name"] or part["type"]
            return f"carries partition {part['number']} ({what}), which this cluster did not make"
    return None


def blocks(size, table):
    """Return the free stretches of a disk of that many bytes: ``[[start, bytes], ...]``.

    table
        What ``disks.partitions`` says; ``None`` where there is none.

    CLI Example: for ``osd_guard.problem``.
    """
    taken = sorted((part["start"], part["size"]) for part in (table or {"partitions": []})["partitions"])
    free, at = [], ALIGNED
    for start, length in [*taken, (size - TAIL, 0)]:
        free.append([at, max(0, start - at)])
        at = -(-(start + length) // ALIGNED) * ALIGNED
    return free


def place(free, size):
    """Take room for a part from free stretches; return where it begins, ``None`` where it fits nowhere.

    It gets the smallest stretch that holds it, such as the slot of an OSD that was replaced, so that large parts find
    room as long as there is any; a part of no fixed size gets the largest whole.

    free
        As ``blocks`` returns it; what is taken goes.
    size
        Bytes, or ``None``.

    CLI Example: for ``osd_guard.problem``.
    """
    fitting = [block for block in free if block[1] >= (size or SMALLEST)]
    if not fitting:
        return None
    block = min(fitting, key=lambda each: each[1]) if size else max(fitting, key=lambda each: each[1])
    start, length = block
    taken = -(-size // ALIGNED) * ALIGNED if size else length
    block[0], block[1] = start + taken, max(0, length - taken)
    return start


def make(todo):
    """Make the partitions that OSDs (in ``osd.plan``'s form) lack, one write a disk; wait for their names.

    Returns an open descriptor of every part, for the caller to close: neither kernel nor udev takes away a
    partition that is open, whoever has its disk's table read again.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_raw_parts.make '[]'
    """
    wanted = {}
    for osd in todo:
        for role, part in osd["parts"].items():
            wanted.setdefault(part["disk"], []).append((osd["uuid"], role, part))
    for disk, parts in wanted.items():
        table = __salt__["disks.partitions"](disk) or {"guid": None, "partitions": []}
        there = {part["uuid"] for part in table["partitions"]}
        new = [entry for entry in parts if entry[2]["partuuid"] not in there]
        if new:
            _add(disk, table, new)
    return _wait({part["partuuid"]: disk for disk, parts in wanted.items() for _, _, part in parts})


def _add(disk, table, new):
    """Add partitions in free space; a disk's first ones bring the table, with this cluster's GUID."""
    number = max((part["number"] for part in table["partitions"]), default=0)
    command = (
        ["sgdisk"] if table["guid"] else ["sgdisk", "--clear", f"--disk-guid={__salt__['osd_names.table_guid'](disk)}"]
    )
    free = blocks(__salt__["disks.identity"](disk)["size"], table)
    for osd_uuid, role, part in new:
        number += 1
        start = place(free, part["size"])
        if start is None:
            raise CommandExecutionError(f"{disk} has no room for the {role} of OSD {osd_uuid}")
        end = f"+{part['size'] // 1024}K" if part["size"] else "0"
        command += [
            f"--new={number}:{start // 512}:{end}",
            f"--typecode={number}:{__salt__['osd_names.partition_type'](role)}",
            f"--partition-guid={number}:{part['partuuid']}",
            f"--change-name={number}:{osd_uuid}",
        ]
    _run([*command, disk])


def _wait(disks):
    """Wait until partitions (their PARTUUID -> their disk) are there and stay; return their open descriptors.

    A table read anew takes all of a disk's names away for a moment before it brings them back; the name of a
    partition that went stays a while. Only where none comes by itself is the kernel told: it would take away those
    that udev is just making known, too. Raises with the missing ones after the limit.
    """
    start, seen, told, held = time.monotonic(), 0, False, {}
    while seen < STEADY:
        lost = [each for each in disks if not _hold(each, held)]
        seen = 0 if lost else seen + 1
        waited = time.monotonic() - start
        if waited > NODES:
            for descriptor in held.values():
                os.close(descriptor)
            raise CommandExecutionError(
                f"no name in /dev/disk/by-partuuid for {', '.join(lost)} after {NODES} s: does udev run on this host?"
            )
        if lost and waited > ALONE and not told:
            for disk in sorted({disks[each] for each in lost}):
                _run(["partx", "--update", disk], ok=(0, 1))
            told = True
        time.sleep(0.1)
    return list(held.values())


def _hold(each, held):
    """Whether a partition's name leads to a partition, which is then held open."""
    path = Path("/dev/disk/by-partuuid") / each
    try:
        if each not in held:
            held[each] = os.open(path, os.O_RDONLY)
        if os.fstat(held[each]).st_rdev == path.stat().st_rdev:
            return True
    except OSError:
        return False
    os.close(held.pop(each))
    return False


def _run(command, ok=(0,)):
    return __salt__["commands.run"](command, ok=ok, limit=60)
