"""Take the medium out of a loop device that may be in use: from now on reads find nothing and writes fail.

`losetup --detach` alone waits for the last user, who would never notice. A pulled disk answers with errors at once,
so first the device and its partitions are cut down to one of its sectors.
"""

import ctypes
import fcntl
import os
import time
from pathlib import Path

from lab import loops
from lab.commands import run
from lab.errors import LabError

LOOP_SET_STATUS64, LOOP_GET_STATUS64 = 0x4C04, 0x4C05  # linux/loop.h
TRIES = 300  # half a minute: a device in use may say "try again" until those whose partitions went before have ended


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


def eject(name: str) -> None:
    """Let every later access to the loop device fail, then detach it; it goes when its last user does."""
    block = Path("/sys/block", name)
    sector = int((block / "queue/logical_block_size").read_text())
    for path in block.glob(f"{name}p*/partition"):
        run("resizepart", f"/dev/{name}", path.read_text().strip(), str(sector // 512))
    disk = os.open(f"/dev/{name}", os.O_RDONLY)
    try:
        _shrink(disk, name, sector)
    finally:
        os.close(disk)
    loops.detach(name)


def _shrink(disk: int, name: str, size: int) -> None:
    info = LoopInfo()
    fcntl.ioctl(disk, LOOP_GET_STATUS64, info)
    info.sizelimit = size
    for _ in range(TRIES):
        try:
            fcntl.ioctl(disk, LOOP_SET_STATUS64, info)
            return
        except BlockingIOError:  # pages of it are still in the cache
            time.sleep(0.1)
    raise LabError(f"{name} is so busy that it cannot be pulled: try again.")
