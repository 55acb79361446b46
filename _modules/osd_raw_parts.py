"""The partitions of this cluster's OSDs: one slot for each data, DB and WAL, named as ``osd_names`` has it."""

import os
import time
from collections.abc import Collection, Mapping, Sequence
from itertools import count
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

Planned = tuple[str, str, Mapping]  # an OSD's fsid, the role of one of its parts, that part

SLOTS = Path("/dev/disk/by-partuuid")
LIMIT = 60  # seconds one command may take
AT_ONCE = 8  # disks written side by side: sgdisk sleeps a second behind each (DiskSync in gptfdisk's diskio-unix.cc)
ALONE = 3  # seconds until the names of a new partition must be there, or partx tells the kernel
NODES = 27  # seconds until they must be there then
GPT, HEADERS = b"EFI PART", (512, 4096)  # how a table's header begins, in the second sector of either size (UEFI, 5.3)
LABEL = 8192  # bytes at a part's beginning: BlueStore's label, and the superblock of its DB or WAL
STEADY, PAUSE = 4, 0.1  # looks that must find all names, seconds between two


def remove(disk: str, numbers: Sequence[int]) -> bool:
    """Take partitions away, with the labels that lie on them: their space is a free slot again.

    The names of the disk's other partitions go away with its table for a moment: they are waited for. Where one of
    Ceph's programs has any of those that are to go, all stay, and CommandExecutionError is raised.

    disk
        The disk's device node.
    numbers
        The partitions' numbers.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_raw_parts.remove /dev/sdc '[3, 4]'
    """
    table = __salt__["disks.partitions"](disk) or {"partitions": []}
    parts = {part["number"]: part for part in table["partitions"]}
    if lost := sorted(set(numbers) - parts.keys()):
        raise CommandExecutionError(
            f"{disk}: partition {', '.join(map(str, lost))} is not in its table, or that cannot be read at the moment: "
            "nothing was taken away; look at 'dmesg' there, and type the same again"
        )
    for node in (SLOTS / parts[number]["uuid"] for number in numbers):
        if node.exists():  # the kernel may have let go of it already
            halocline.unused(node)
    with open(disk, "r+b", buffering=0) as whole:  # noqa: PTH123 - unbuffered
        for number in numbers:
            os.pwrite(whole.fileno(), bytes(LABEL), parts[number]["start"])
        os.fsync(whole.fileno())
    _run(["sgdisk", *(f"--delete={number}" for number in numbers), disk])
    for number in numbers:
        _run(["partx", "--delete", "--nr", str(number), disk], ok=(0, 1))  # 1: the kernel has let go of it already
    stay = {part["uuid"]: disk for number, part in parts.items() if number not in numbers}
    for descriptor in _wait(stay) if stay else ():
        os.close(descriptor)
    return True


def make(todo: Sequence[Mapping]) -> list[int]:
    """Make the partitions that OSDs (in ``osd.plan``'s form) lack, one write a disk, disks side by side; wait for their
    names.

    Returns an open descriptor of every part, for the caller to close: neither kernel nor udev takes away a
    partition that is open, whoever has its disk's table read again.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_raw_parts.make '[]'
    """
    planned: dict[str, list[Planned]] = {}
    for osd in todo:
        for role, part in osd["parts"].items():
            planned.setdefault(part["disk"], []).append((osd["fsid"], role, part))
    calls = []
    for disk, parts in planned.items():
        table = __salt__["disks.partitions"](disk) or {"guid": None, "partitions": []}
        there = {part["uuid"] for part in table["partitions"]}
        if new := [entry for entry in parts if entry[2]["partuuid"] not in there]:
            _alone(disk, new)
            calls.append((disk, table, new))
    halocline.side_by_side(_add, calls, AT_ONCE)
    return _wait({part["partuuid"]: disk for disk, parts in planned.items() for _, _, part in parts})


def _alone(disk: str, new: Sequence[Planned]) -> None:
    """Raise where another disk carries a slot already: the device that died, still in the host. Of two partitions of
    one name the kernel would find either."""
    for fsid, role, part in new:
        slot = SLOTS / part["partuuid"]
        if slot.exists() and (other := __salt__["disks_kernel.holder"](str(slot))) != str(Path(disk).resolve()):
            raise CommandExecutionError(
                f"the {role} of OSD {fsid} is planned on {disk} and lies on {other} already: take {other} "
                "out of this host, and run the stage again"
            )


def _add(disk: str, table: Mapping, new: Sequence[Planned]) -> None:
    """Add partitions in free space; a disk's first ones bring the table, with this cluster's GUID."""
    taken = {part["number"] for part in table["partitions"]}
    numbers = (number for number in count(1) if number not in taken)
    command = ["sgdisk"]
    if not table["guid"]:
        _bare(disk)
        command += ["--clear", f"--disk-guid={__salt__['osd_names.table_guid'](disk)}"]
    free = __salt__["osd_space.between_partitions"](__salt__["disks_kernel.identity"](disk)["size"], table)
    for fsid, role, part in new:
        number = next(numbers)
        start = __salt__["osd_space.place"](free, part["size"])
        if start is None:
            raise CommandExecutionError(f"{disk} has no room for the {role} of OSD {fsid}")
        end = f"+{part['size'] // 1024}K" if part["size"] else "0"
        command += [
            f"--new={number}:{start // 1024}K:{end}",  # in bytes: its sectors are those of the device, of 512 or 4096
            f"--typecode={number}:{__salt__['osd_names.partition_type'](role)}",
            f"--partition-guid={number}:{part['partuuid']}",
            f"--change-name={number}:{fsid}",
        ]
    _run([*command, disk])


def _bare(disk: str) -> None:
    """Raise unless a disk is seen to have no partition table, and nobody took it since the guard looked. Without this a
    read that failed would count as none, as blkid ends alike for both, and the table of running OSDs' DBs would be
    cleared.
    """
    try:
        with open(disk, "rb", buffering=0) as whole:  # noqa: PTH123 - unbuffered
            begin = os.pread(whole.fileno(), HEADERS[-1] + len(GPT), 0)
    except OSError as err:
        raise CommandExecutionError(f"{disk} cannot be read ({err.strerror}): nothing was written to it") from err
    if __salt__["disks_kernel.partition_nodes"](disk) or any(begin[at:].startswith(GPT) for at in HEADERS):
        raise CommandExecutionError(
            f"{disk} has partitions, and its table could not be read a moment ago: nothing was written to it; look at "
            "'dmesg' there, and run the stage again"
        )
    if taken := __salt__["disks_kernel.held"](disk) or ", ".join(__salt__["disks.signatures"](disk)):
        raise CommandExecutionError(
            f"{disk} was clean a moment ago, and is not now ({taken}): nothing was written to it"
        )


def _wait(disks: Mapping[str, str]) -> list[int]:
    """Wait until partitions (their PARTUUID -> their disk) are there and stay; return their open descriptors.

    A table read anew takes all of a disk's names away for a moment before it brings them back; the name of a
    partition that went stays a while. Only where none comes by itself is the kernel told: it would take away those
    that udev is just making known, too. Raises with the missing ones after the limit.
    """
    held: dict[str, int] = {}

    def look() -> None:
        for _ in range(STEADY):
            if lost := [name for name in disks if not _hold(name, held)]:
                names = ", ".join(lost)
                raise CommandExecutionError(
                    f"no name in /dev/disk/by-partuuid for {names}: does udev run on this host?"
                )
            time.sleep(PAUSE)

    try:
        try:
            halocline.until(look, ALONE, pause=PAUSE)
        except CommandExecutionError:
            for disk in sorted({disk for name, disk in disks.items() if not _hold(name, held)}):
                _run(["partx", "--update", disk], ok=(0, 1))
            halocline.until(look, NODES, pause=PAUSE)
    except CommandExecutionError:
        for descriptor in held.values():
            os.close(descriptor)
        raise
    return list(held.values())


def _hold(name: str, held: dict[str, int]) -> bool:
    """Whether a partition's name leads to a partition, which is then held open."""
    path = SLOTS / name
    try:
        if name not in held:
            held[name] = os.open(path, os.O_RDONLY)
        if os.fstat(held[name]).st_rdev == path.stat().st_rdev:
            return True
    except OSError:
        return False
    os.close(held.pop(name))
    return False


def _run(command: Sequence[str], ok: Collection[int] = (0,)) -> None:
    halocline.run(command, ok=ok, limit=LIMIT)
