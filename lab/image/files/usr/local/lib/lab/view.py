"""What a node sees in /sys of block devices: its own and no others.

All containers share the machine's /sys, so each would see the disks of all (and Ceph's inventory stumbles over a
partition whose disk is not this node's). A small tmpfs with the same links lies over each of the three lists.
"""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

REAL = Path("/sys/devices/virtual/block")  # where loop devices and their partitions really are
LISTS = {"/sys/block": "..", "/sys/class/block": "../..", "/sys/dev/block": "../.."}  # list -> the way up to /sys


def cover() -> None:
    """Lay the empty lists over the kernel's."""
    for folder in LISTS:
        if not os.path.ismount(folder):
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=755", "lab-disks", folder], check=True)


def show(devices: Mapping[str, tuple]) -> None:
    """Let the lists hold these devices: kernel name -> (its disk, …)."""
    wanted: dict[str, dict[str, str]] = {folder: {} for folder in LISTS}
    for name, (described, *_) in devices.items():
        disk = described["name"]
        below = f"{disk}/{name}" if name != disk else name
        number = (REAL / below / "dev").read_text().strip()
        for folder, up in LISTS.items():
            entry = number if folder == "/sys/dev/block" else name
            if name == disk or folder != "/sys/block":
                wanted[folder][entry] = f"{up}/devices/virtual/block/{below}"
    for folder, links in wanted.items():
        _keep(Path(folder), links)


def _keep(folder: Path, links: Mapping[str, str]) -> None:
    there = {path.name: str(path.readlink()) for path in folder.iterdir()}
    for name in there:
        if links.get(name) != there[name]:
            (folder / name).unlink()
    for name, target in links.items():
        if there.get(name) != target:
            (folder / name).symlink_to(target)
