"""Loop devices: a sparse file becomes a block device of any size. The kernel's own list is the only record."""

import threading
from pathlib import Path

from lab.commands import run
from lab.errors import LabError

SYS = Path("/sys/block")
EJECTED = 8  # sectors of 512 bytes that a pulled disk has left at most
ONE_AT_A_TIME = threading.Lock()  # losetup looks which device is free, then takes it: two find the same, and one waits


def attached(below: Path) -> dict[Path, str]:
    """Every file below a folder that is behind a loop device, deleted ones too: path -> kernel name.

    A pulled disk that somebody still holds open (lab/eject.py) is not counted.
    """
    names = {}
    for entry in SYS.glob("loop*/loop/backing_file"):
        try:
            path = Path(entry.read_text().strip().removesuffix(" (deleted)"))
            size = int((SYS / entry.parts[3] / "size").read_text())
        except OSError:  # detached between the two looks
            continue
        if path.is_relative_to(below) and size > EJECTED:
            names[path] = entry.parts[3]
    return names


def attach(path: Path, rotational: bool, sector: int = 512) -> str:
    """Put a file behind a free loop device with partitions; returns the kernel name (loop7).

    sector
        Bytes of its logical sectors.
    """
    if not Path("/dev/loop-control").exists():
        raise LabError("this kernel has no /dev/loop-control: the lab's disks need loop devices (CONFIG_BLK_DEV_LOOP).")
    with ONE_AT_A_TIME:
        name = Path(run("losetup", "--find", "--show", "--partscan", "--sector-size", str(sector), path).strip()).name
    (SYS / name / "queue/rotational").write_text("1" if rotational else "0")
    return name


def detach(name: str) -> None:
    """Let go of a loop device; one still in use goes when its last user does."""
    run("losetup", "--detach", f"/dev/{name}")
