"""Who closed a device after writing to it: inotify on device nodes, as udevd's own "watch" option does.

Without it a new file system on a disk would not show in udev's database, for no kernel event tells of it.
"""

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

IN_CLOSE_WRITE, IN_IGNORED = 0x8, 0x8000
HEADER = struct.Struct("iIII")


class Writes:
    """Device nodes being watched; `descriptor` becomes readable when one was closed after writing."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.descriptor < 0:
            raise OSError(ctypes.get_errno(), "no inotify instance left: fs.inotify.max_user_instances is too low")
        self._names: dict[int, str] = {}

    def follow(self, nodes: Iterable[Path]) -> None:
        """Watch these nodes; those watched already stay as they are."""
        for node in nodes:
            number = self._libc.inotify_add_watch(self.descriptor, os.fsencode(node), IN_CLOSE_WRITE)
            if number >= 0:
                self._names[number] = node.name

    def closed(self) -> set[str]:
        """Names of the devices that were written and closed since the last call."""
        names, data, position = set(), os.read(self.descriptor, 65536), 0
        while position < len(data):
            number, mask, _, length = HEADER.unpack_from(data, position)
            position += HEADER.size + length
            if mask & IN_IGNORED:
                self._names.pop(number, None)
            elif number in self._names:
                names.add(self._names[number])
        return names
