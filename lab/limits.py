"""The one setting of the machine that a lab needs: room for the OSDs' asynchronous I/O.

`fs.aio-max-nr` is not namespaced. Each OSD asks for 1024 slots a device; Ceph's own package sets the value below
on every OSD host (ceph-osd's sysctl.d file), so the lab does it for the machine that its nodes share.
"""

from pathlib import Path

from lab.progress import say
from lab.store import ROOT

SETTING = Path("/proc/sys/fs/aio-max-nr")
NEEDED = 1048576
BEFORE = ROOT / "aio-max-nr"  # what the machine had, to be put back by the last `down`


def raise_aio() -> None:
    """Make room where there is too little, and remember what was."""
    found = SETTING.read_text().strip()
    if int(found) >= NEEDED:
        return
    BEFORE.parent.mkdir(parents=True, exist_ok=True)
    BEFORE.write_text(found)
    SETTING.write_text(str(NEEDED))
    say(f"the machine's fs.aio-max-nr is {NEEDED} while a lab runs (it was {found})")


def restore_aio() -> None:
    """Put back what the machine had before the first lab."""
    if BEFORE.exists():
        SETTING.write_text(BEFORE.read_text())
        BEFORE.unlink()
