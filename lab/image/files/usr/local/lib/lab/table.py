"""Tells the kernel which partitions a disk has.

A kernel without parsers for partition tables forgets them at every "read the table again" (sgdisk asks for that),
and only `partprobe` or this makes them known. Where the kernel knows them already nothing is done: `partx --update`
would take each away and make it anew.
"""

import ctypes
import fcntl
import os
import subprocess
from pathlib import Path

REAL = Path("/sys/devices/virtual/block")
BLKPG, ADD, DELETE = 0x1269, 1, 2  # linux/blkpg.h
SECTOR = 512  # the unit of /sys and of partx
Table = dict[int, tuple[int, ...]]  # number -> (start, sectors)


class Partition(ctypes.Structure):
    """struct blkpg_partition: start and length in bytes."""

    _fields_ = [
        ("start", ctypes.c_longlong),
        ("length", ctypes.c_longlong),
        ("number", ctypes.c_int),
        ("names", ctypes.c_char * 128),
    ]


class IoctlArgument(ctypes.Structure):
    """struct blkpg_ioctl_arg."""

    _fields_ = [
        ("operation", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("length", ctypes.c_int),
        ("data", ctypes.POINTER(Partition)),
    ]


def written(node: Path) -> Table:
    """What the table on the disk says: number -> (start, sectors)."""
    words = ["partx", "-r", "-g", "-o", "NR,START,SECTORS", str(node)]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    rows = [tuple(map(int, line.split())) for line in said.stdout.splitlines()]
    return {number: (start, size) for number, start, size in rows}


def known(name: str) -> Table:
    """What the kernel knows: number -> (start, sectors)."""
    found = {}
    for path in (REAL / name).glob(f"{name}p*/partition"):
        values = [int((path.parent / key).read_text()) for key in ("partition", "start", "size")]
        found[values[0]] = tuple(values[1:])
    return found


def apply(name: str) -> None:
    """Make the kernel know what is written; a partition in use stays."""
    node = Path("/dev", name)
    there = known(name)  # first: what others make known while the table is read is then not taken for too much
    wanted = written(node)
    if wanted == there:
        return
    disk = os.open(node, os.O_RDONLY)
    try:
        for number in there:
            if wanted.get(number) != there[number]:
                _tell(disk, DELETE, number, 0, 0)
        for number, (start, size) in wanted.items():
            if there.get(number) != (start, size):
                _tell(disk, ADD, number, start, size)
    finally:
        os.close(disk)


def _tell(disk: int, operation: int, number: int, start: int, size: int) -> None:
    partition = Partition(start * SECTOR, size * SECTOR, number)
    argument = IoctlArgument(operation, 0, ctypes.sizeof(partition), ctypes.pointer(partition))
    try:
        fcntl.ioctl(disk, BLKPG, argument)
    except OSError as err:  # in use, or the kernel read the table at the same moment: the next look settles it
        print(f"partition {number}: {err.strerror}", flush=True)
