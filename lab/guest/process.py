"""A guest as a process of this machine: how User Mode Linux is started, asked, stopped."""

import contextlib
import os
import shlex
import signal
import subprocess
import time
import uuid
from pathlib import Path

from lab.commands import run
from lab.containers import Done
from lab.errors import LabError
from lab.guest import xstate

LOG_LIMIT = 4 << 20  # bytes: a guest with a failed device once wrote 241 MB of console in 90 s
BOOT_LIMIT, STOP_LIMIT = 120, 60  # seconds; a boot takes 6 to 10, power-off 5 to 15
# The kernel's driver discards 32 KiB at a time: of a disk of 960 GB, as Ceph's mkfs does it, an hour. "t": not at all.
DISK = "ubd{}t={}"


def start(folder: Path, memory: int, disks: list[str], tap: str | None, mac: str) -> int:
    """Start a guest; returns its process id. memory in MiB; disks are ubd0 (COW,base), ubd1 and so on.

    The bell (a FIFO) is open in the guest's own process, for both ways: nobody who rings it ever blocks.
    """
    environment = os.environ | xstate.environment()
    for name in ("share", "ctl"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "share/ready").unlink(missing_ok=True)
    bell = folder / "bell"
    if not bell.exists():
        os.mkfifo(bell)
    listening, silent = os.open(bell, os.O_RDWR), os.open(os.devnull, os.O_WRONLY)
    words = [
        *("linux.uml", f"umid={folder.name}", f"uml_dir={folder}/ctl/", f"mem={memory}M", "root=/dev/ubda", "rw"),
        *(DISK.format(number, disk) for number, disk in enumerate(disks)),
        *(f"hostfs={folder}/share", "con=null", "con0=null,fd:1", "ssl=null", f"ssl0=fd:{listening},fd:{silent}"),
        *([f"vec0:transport=tap,ifname={tap},depth=128,gro=1,mac={mac}"] if tap else []),
        "init=/lib/systemd/systemd",
    ]
    keep = f"head -c {LOG_LIMIT} >{shlex.quote(str(folder / 'console.log'))}; exec cat >/dev/null"
    null = subprocess.DEVNULL  # our own output may be a pipe that somebody waits on
    log = subprocess.Popen(["sh", "-c", keep], stdin=subprocess.PIPE, stdout=null, stderr=null, start_new_session=True)
    assert log.stdin  # a pipe was asked for
    guest = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=log.stdin,
        stderr=subprocess.STDOUT,
        pass_fds=(listening, silent),
        start_new_session=True,
        env=environment,
    )
    log.stdin.close()
    os.close(listening)
    os.close(silent)
    return guest.pid


def exists(pid: int) -> bool:
    """Whether a process of that number runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _is(folder: Path, pid: int) -> bool:
    try:
        return f"uml_dir={folder}/ctl/".encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def alive(folder: Path, pid: int) -> bool:
    """Whether that process runs and is this guest, not another one that got the number later."""
    return exists(pid) and _is(folder, pid)


def wait_until_ready(folder: Path, pid: int) -> None:
    """Wait until the guest's agent takes commands; LabError with the console's end where it does not come to that."""
    deadline = time.monotonic() + BOOT_LIMIT
    while not (folder / "share/ready").exists():
        if not exists(pid) or time.monotonic() > deadline:  # by its words it is no guest yet: it starts itself twice
            raise LabError(f"{folder.name} did not boot; its console ends:\n{console(folder)}")
        time.sleep(0.1)


def console(folder: Path, lines: int = 15) -> str:
    """The last lines of a guest's console."""
    path = folder / "console.log"
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else "(empty)"


def ring(folder: Path, command: str | list[str]) -> str:
    """Hand a command to a guest and do not wait; returns the name that its answer will have."""
    name = uuid.uuid4().hex
    script = command if isinstance(command, str) else shlex.join(command)
    (folder / "share" / f"{name}.sh").write_text(script)
    bell = os.open(folder / "bell", os.O_RDWR)
    try:
        os.write(bell, f"{name}\n".encode())
    finally:
        os.close(bell)
    return name


def execute(folder: Path, pid: int, command: str | list[str], limit: float) -> Done:
    """Run a command (a list, or text for bash) in a guest; `limit` in seconds."""
    share, name = folder / "share", ring(folder, command)
    try:
        deadline = time.monotonic() + limit
        while not (share / f"{name}.rc").exists():
            if not alive(folder, pid):
                raise LabError(f"{folder.name} died; its console ends:\n{console(folder)}")
            if time.monotonic() > deadline:
                raise LabError(f"{folder.name}: {command}: no end after {limit:.0f} s.")
            time.sleep(0.02)
        out, err = ((share / f"{name}.{end}").read_text(errors="replace") for end in ("out", "err"))
        return Done(int((share / f"{name}.rc").read_text()), out, err)
    finally:
        for left in share.glob(f"{name}.*"):
            left.unlink()


def add_disk(folder: Path, number: int, path: Path) -> None:
    """Attach a file as ubd NUMBER to a running guest."""
    said = run("uml_mconsole", folder / "ctl" / folder.name / "mconsole", "config", DISK.format(number, path))
    if not said.startswith("OK"):
        raise LabError(f"{folder.name}: disk {number} cannot be attached: {said.strip()}")


def wait_until_gone(folder: Path, pid: int) -> bool:
    """Whether the guest ended by itself within STOP_LIMIT."""
    deadline = time.monotonic() + STOP_LIMIT
    while alive(folder, pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def kill(folder: Path) -> None:
    """End a guest at once, as a power failure does: every process of it, also one that no record knows."""
    numbers = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    mine = [pid for pid in numbers if _is(folder, pid)]
    for pid in mine:
        with contextlib.suppress(ProcessLookupError):  # gone with the one before
            os.kill(pid, signal.SIGKILL)
    for pid in mine:
        wait_until_gone(folder, pid)
