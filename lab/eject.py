"""Take the medium out of a loop device that may be in use: from now on reads find nothing and writes fail.

`losetup --detach` alone waits for the last user, who would never notice. A pulled disk answers with errors at once,
so first the device and its partitions are cut down to one sector.
"""

import ctypes
import fcntl
import os
import time
from pathlib import Path

from lab import loops
from lab.errors import LabError

SECTOR = 512
LOOP_SET_STATUS64, LOOP_GET_STATUS64 = 0x4C04, 0x4C05  # linux/loop.h
BLKPG, RESIZE = 0x1269, 3  # linux/blkpg.h
TRIES = 50  # a device being written may say "try again"


class LoopInfo(ctypes.Structure):
    """struct loop_info64."""

    _fields_ = [
        ("device", ctypes.c_uint64 * 3),
        ("offset", ctypes.c_uint64),
        ("sizelimit", ctypes.c_uint64),
        ("numbers", ctypes.c_uint32 * 4),
        ("names", ctypes.c_uint8 * 160),
        ("init", ctypes.c_uint64 * 2),
    ]


class Partition(ctypes.Structure):
    """struct blkpg_partition: start and length in bytes."""

    _fields_ = [
        ("start", ctypes.c_longlong),
        ("length", ctypes.c_longlong),
        ("number", ctypes.c_int),
        ("names", ctypes.c_char * 128),
    ]


class Argument(ctypes.Structure):
    """struct blkpg_ioctl_arg."""

    _fields_ = [
        ("operation", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("length", ctypes.c_int),
        ("data", ctypes.POINTER(Partition)),
    ]


def eject(name: str) -> None:
    """Let every later access to the loop device fail, then detach it; it goes when its last user does."""
    disk = os.open(f"/dev/{name}", os.O_RDONLY)
    try:
        for path in Path("/sys/block", name).glob(f"{name}p*/partition"):
            _shrink_partition(disk, int(path.read_text()), int((path.parent / "start").read_text()))
        _shrink(disk, name)
    finally:
        os.close(disk)
    loops.detach(name)


def _shrink_partition(disk: int, number: int, start: int) -> None:
    partition = Partition(start * SECTOR, SECTOR, number)
    argument = Argument(RESIZE, 0, ctypes.sizeof(partition), ctypes.pointer(partition))
    fcntl.ioctl(disk, BLKPG, argument)


def _shrink(disk: int, name: str) -> None:
    info = LoopInfo()
    fcntl.ioctl(disk, LOOP_GET_STATUS64, info)
    info.sizelimit = SECTOR
    for _ in range(TRIES):
        try:
            fcntl.ioctl(disk, LOOP_SET_STATUS64, info)
            return
        except BlockingIOError:  # pages of it are still in the cache
            time.sleep(0.1)
    raise LabError(f"{name} is so busy that it cannot be pulled: try again.")
