"""What our modules and states share: one way to run a program of this host, one way to wait, how a state answers.

A utility module: the prep stage syncs it as it does modules and states (``saltutil.sync_all``), and Salt's loader lets
those import it. It is no execution module on purpose: nobody can name its functions on a command line, so a site that
denies somebody ``cmd.run`` denies this too.
"""

import base64
import concurrent.futures
import contextvars
import fcntl
import functools
import json
import os
import re
import socket
import subprocess
import time
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import IO, TypeVar

from salt.exceptions import CommandExecutionError

Answer = TypeVar("Answer")

# A cephx key in base64, of AES or AES-256: ceph-volume prints those that it makes.
KEY = re.compile(r"AQ[A-Za-z0-9+/]{36,}={0,2}|Ag[A-Za-z0-9+/]{57}=")
LOGIN = re.compile(r"(?<=://)[^\s/@]+:[^\s/@]+(?=@)")  # user and password in an address
HIDDEN = "**********"
LONG = 60_000  # bytes of an answer, and characters of a piece, that Salt's events carry as they are
LONGEST = 2000  # characters at most of what a failed program printed
# What Ceph's programs print where no monitor answers (src/pybind/ceph_argparse.py, src/ceph.in, src/mon/MonClient.cc).
UNREACHABLE = re.compile(r"RADOS timed out|cluster: TimedOut|(Connection|monclient.*) timed out|^timed out$", re.M)
ASK_OSDS = ("rados", "rbd", "radosgw-admin")
ASK_MONITORS = ("ceph", "ceph-volume", *ASK_OSDS)
NO_MONITOR = "no monitor answered: look at 'systemctl status ceph-mon.target' on the monitors' hosts, then run it again"
# In a look: the programs that nobody has answered, with what is said of it. They fail at once then, not a wait later.
WAITED: contextvars.ContextVar[dict[str, str] | None] = contextvars.ContextVar("WAITED", default=None)
# Managers answer ``osd ok-to-stop`` and ``pg dump``, OSDs what ASK_OSDS ask: without them these wait for ever.
NO_ANSWER = (
    "no monitor answered, or no manager, or nobody serves placement groups: look at 'ceph -s' and, where that hangs "
    "too, at 'systemctl status ceph-mon.target' on the monitors' hosts, then run it again"
)
NO_END = "run it there by hand to see what it waits for, then run the stage again"
KILLED = "signal {} ended it: look at 'journalctl -k' there, memory may be short, then run it again"
NO_PROGRAM = "there is no such program: ceph.stage.prep installs what is needed"


def run(
    command: Sequence[str],
    *,
    stdin: str | None = None,
    ok: Collection[int] | None = (0,),
    limit: float = 300,
    secret: bool = False,
    shown: Sequence[str] | None = None,
) -> str:
    """Return what a program prints; raise CommandExecutionError with host, command, its own words and the next step.

    command
        The program and its arguments: no shell reads them. No secret may be among them: other users see them.
    stdin
        Text for its standard input: where a secret goes.
    ok
        Exit statuses that are no failure; ``None``: any.
    limit
        Seconds that it may take; then it is killed.
    secret
        Whether its standard output holds secrets: none of it goes into an error then.
    shown
        What errors call it, where a person would type something else.
    """
    shown, waited = shown or command, WAITED.get()
    if waited and shown[0] in waited:
        raise error(shown, waited[shown[0]])
    done = _done(command, stdin, limit, shown)
    if ok is None or done.returncode in ok:
        return done.stdout
    printed = masked(done.stderr or ("" if secret else done.stdout))
    if stdin and stdin.strip():
        printed = printed.replace(stdin.strip(), HIDDEN)
    printed = printed.strip()[-LONGEST:]
    if done.returncode < 0:
        raise error(shown, KILLED.format(-done.returncode) + (f"; it said: {printed}" if printed else ""))
    step = f"; {NO_MONITOR}" if UNREACHABLE.search(printed) else ""
    if step and waited is not None:
        waited.update(dict.fromkeys(ASK_MONITORS, NO_MONITOR))
    raise error(shown, f"exit status {done.returncode}: {printed}{step}")


def status(command: Sequence[str], *, limit: float = 60) -> int:
    """Return a program's exit status, where that is its answer. Arguments and errors as for ``run``."""
    return _done(command, None, limit, command).returncode


def packed(answer: Answer) -> Answer | dict[str, list[str]]:
    """Return an answer to the master as it is, or, where it is long, as ``{halocline_packed: [text]}``, which the
    master unpacks (``proposals/stages/packed.py``).

    Salt cuts each list of more than some 13,000 entries and each text of more than some 100,000 characters out of what
    would be longer than an event (``max_event_size``; salt/utils/dicttrim.py): neither is left. It is quicker besides:
    20,000 OSDs took 15 s in a list, and take one.
    """
    text = json.dumps(answer).encode()
    if len(text) <= LONG:
        return answer
    return {"halocline_packed": pieces(text, LONG)}


def pieces(text: bytes, most: int) -> list[str]:
    """Return a long text compressed, in base64, in pieces of so many characters at most."""
    coded = base64.b64encode(zlib.compress(text)).decode()
    return [coded[at : at + most] for at in range(0, len(coded), most)]


def masked(text: str) -> str:
    """Return a text without the cephx keys and the passwords of addresses in it."""
    return LOGIN.sub(HIDDEN, KEY.sub(HIDDEN, text))


def until(
    look: Callable[[], Answer], limit: float, *, pause: float = 1, retry: type[Exception] = CommandExecutionError
) -> Answer:
    """Return what a function answers as soon as it raises nothing; raise its last error where that takes too long.

    look
        Called without arguments, at least once.
    limit
        Seconds to wait.
    pause
        Seconds between two calls.
    retry
        The error that says "not yet"; any other ends the waiting at once.
    """
    end = time.monotonic() + limit
    while True:
        try:
            return look()
        except retry as err:
            if time.monotonic() >= end:
                raise type(err)(f"after {round(limit, 1):g} s: {err}" if limit else str(err)) from err
        time.sleep(pause)


def side_by_side(
    function: Callable[..., Answer],
    calls: Sequence[tuple],
    at_once: int,
    each: Callable[[Answer], object] = lambda answer: None,
) -> list[Answer]:
    """Return a function's answers to tuples of arguments, in their order; so many are called at once.

    Salt's dunders live in a context of the calling thread, so each call gets a copy of it. ``each`` is called in that
    thread with every answer as it comes. Where a call raises, those that have not begun are not made.
    """
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(contextvars.copy_context().run, function, *call) for call in calls]
        try:
            for future in concurrent.futures.as_completed(futures):
                each(future.result())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return [future.result() for future in futures]


def tried(attempts: Mapping[str, Callable[[], object]]) -> dict[str, list[str]]:
    """Return how attempts went, one after the other, as ``{passed, failed}``: their names, with what an error said."""
    told: dict[str, list[str]] = {"passed": [], "failed": []}
    for name, attempt in attempts.items():
        try:
            attempt()
            told["passed"].append(name)
        except CommandExecutionError as err:
            told["failed"].append(f"{name}: {err}")
    return told


def spelled(value: object) -> str:
    """Return one spelling of a value of Ceph's options: admin sockets answer JSON, ``ceph-conf`` and monitors text.

    value
        As either has it: ``true``, ``True``, ``2``, ``"2.000000"``.
    """
    text = str(value).lower() if isinstance(value, bool) else str(value)
    try:
        number = float(text)
    except ValueError:
        return text
    if number.is_integer():
        return str(int(number)) if abs(number) < 2**53 else text
    return repr(number)


def unused(node: Path) -> None:
    """Raise CommandExecutionError where one of Ceph's programs has a device.

    All lock it (KernelDevice::_lock, src/blk/kernel of Ceph 16).
    """
    with node.open("r+b", buffering=0) as device:
        locked(device, f"{node} is in use")


def locked(file: IO, why: str) -> None:
    """Lock a file until it is closed, in both of Linux's ways; CommandExecutionError, ``why``, where it is."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # meets F_OFD_SETLK, by which Ceph 16 locks devices
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # by which others do
    except OSError as err:
        raise CommandExecutionError(f"{why}: {err.strerror}; run it again when that has ended") from err


def write(path: Path, text: str, mode: int | None = None) -> None:
    """Write a file whole or not at all, and through to the disk; with these permissions, where there are any."""
    fresh = draft(path)
    with fresh.open("w", encoding="utf-8") as file:
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(path)
    synced(path.parent)


def draft(path: Path) -> Path:
    """Return the file that ``write`` writes first; a power failure may leave it."""
    return path.with_name(f".{path.name}.new")


def synced(folder: Path) -> None:
    """Bring what a folder names through to the disk: after a power cut, what was taken away is not there again."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def state(function: Callable[..., dict]) -> Callable[..., dict]:
    """Let a state function fail with the words of an error that a module raised, and no traceback."""
    return _stated(function, asks_cluster=False)


def cluster_state(function: Callable[..., dict]) -> Callable[..., dict]:
    """The same for a state that asks the cluster: before the first deploy nobody answers, in test mode no failure."""
    return _stated(function, asks_cluster=True)


def unchanged(name: str, comment: str) -> dict:
    """Return a state's answer where all is as it should be."""
    return {"name": name, "result": True, "changes": {}, "comment": comment}


def changed(name: str, comment: str, changes: dict, test: bool) -> dict:
    """Return a state's answer where something was changed, or in test mode would be."""
    return {"name": name, "result": None if test else True, "changes": changes, "comment": comment}


def _stated(function: Callable[..., dict], asks_cluster: bool) -> Callable[..., dict]:
    @functools.wraps(function)
    def stated(name: str, *args: object, **kwargs: object) -> dict:
        try:
            return function(name, *args, **kwargs)
        except CommandExecutionError as err:
            unknown = asks_cluster and function.__globals__["__opts__"]["test"]
            return {"name": name, "result": None if unknown else False, "changes": {}, "comment": str(err)}

    return stated


def error(command: Sequence[str], why: str) -> CommandExecutionError:
    """Return the error of a command of this host: with both, and without keys and passwords."""
    return CommandExecutionError(masked(f"'{' '.join(command)}' on {socket.gethostname()}: {why}"))


def _done(
    command: Sequence[str], stdin: str | None, limit: float, shown: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    pipe = subprocess.PIPE
    given = None if stdin is None else pipe
    try:
        process = subprocess.Popen(command, stdin=given, stdout=pipe, stderr=pipe, text=True, errors="replace")
    except FileNotFoundError:
        raise error(shown, NO_PROGRAM) from None
    except OSError as err:
        raise error(shown, f"{err.strerror}; {NO_END}") from None
    try:
        out, errors = process.communicate(stdin, timeout=limit)
    except subprocess.TimeoutExpired:
        step, waited = NO_ANSWER if shown[0] in ASK_MONITORS else NO_END, WAITED.get()
        if waited is not None and shown[0] in ASK_OSDS:
            waited.update(dict.fromkeys(ASK_OSDS, NO_ANSWER))
        raise error(shown, f"did not end within {limit} s; {step}") from None
    finally:
        if process.poll() is None:
            process.kill()  # and not waited for: what hangs in the kernel, over a dying disk, is not ended by this
    return subprocess.CompletedProcess(command, process.returncode, out, errors)
