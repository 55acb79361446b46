"""The settings of the machine that a lab needs: room for what all its nodes do side by side.

None of them is namespaced, so the nodes share the machine's. What was there is put back by the last `down`.
"""

from pathlib import Path

from lab.progress import say
from lab.store import ROOT

SYS = Path("/proc/sys")
NEEDED = {
    # Each OSD asks for 1024 slots a device; Ceph's own package sets this value on every OSD host.
    "fs/aio-max-nr": 1048576,
    # Each node's systemd takes half a dozen; with 128, the kernel's default, a third lab's nodes do not boot.
    "fs/inotify/max_user_instances": 8192,
}


def _before(name: str) -> Path:
    return ROOT / Path(name).name


def make_room() -> None:
    """Raise what is too low, and remember what was."""
    for name, needed in NEEDED.items():
        before = (SYS / name).read_text().strip()
        if int(before) >= needed:
            continue
        ROOT.mkdir(parents=True, exist_ok=True)
        _before(name).write_text(before)
        (SYS / name).write_text(str(needed))
        say(f"the machine's {name} is {needed} while a lab runs (it was {before})")


def put_back() -> None:
    """Put back what the machine had before the first lab."""
    for name in NEEDED:
        if _before(name).exists():
            (SYS / name).write_text(_before(name).read_text())
            _before(name).unlink()
