"""One stage at a time on this master.

The kernel holds the lock for the process that runs the orchestration and drops it when that process ends, however it
ends: nothing stale is ever left. What stands beside it in ``stage.json`` only says who holds it. (A POSIX record
lock: it does not pass to forked children, and goes when the process closes *any* descriptor of that file; so only
this file opens it, and never closes what holds it.)
"""

import contextlib
import datetime
import fcntl
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import salt.exceptions
import salt.payload

from proposals.files import atomic
from proposals.files.site import site
from proposals.stages.orchestrations import check, typed
from proposals.text.errors import ProposalError, StoreError
from runners.engine.waiting import until_none

logger = logging.getLogger(__name__)

ORCHESTRATIONS = ("runner.state.orch", "runner.state.orchestrate", "runner.state.sls")
PROBING = 0.5  # seconds: whoever asks for the holder has the lock for a blink
# Of a stage: stage, user, jid, pid, born, since, arguments; log, and whom it changes (stages.targets), once known.
Job = dict[str, Any]
_UNWRITTEN: dict[Path, Job] = {}  # what a disk did not take of this process's stage


def holder(opts: Mapping) -> Job | None:
    """Return who runs a stage now, or None.

    opts
        The master's options.
    """
    job = noted(opts)
    if not job or job["pid"] == os.getpid():
        return job if job and runs(job) else None
    path = _folder(opts) / "stage.lock"
    try:
        with path.open() as file:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return None
    except BlockingIOError:
        return job
    except OSError as err:
        raise atomic.failed("read", path, err) from err
    return None


def free(opts: Mapping, purge: bool = True) -> None:
    """Raise ProposalError where a stage is running: for a command that must not work beside one. As a step of the
    stage that this process runs, it is not beside it.

    purge
        Also where the cluster is being taken apart.
    """
    if own(opts):
        return
    if job := holder(opts):
        raise ProposalError(f"stage {job['stage']} is running: wait for it, or end it with 'salt-run stage.stop'")
    if purge:
        whole(opts)


def whole(opts: Mapping) -> None:
    """Raise ProposalError where the cluster is being taken apart (``ceph.purge``): nothing is to bring it back."""
    if site(opts).purge.exists():
        raise ProposalError(
            "the cluster is being taken apart: 'salt-run ceph.purge' goes on; 'salt-run ceph.engage' calls it off "
            "where nothing was stopped yet"
        )


def take(opts: Mapping, stage: str) -> Job | None:
    """Take the lock for the orchestration that this process runs; return its job: of several stages that are run as one
    since when and with which log the first began.

    Without an orchestration (a runner typed by hand) there is nothing to lock: None. Raises ProposalError that says
    who has the lock where another process does, and ArgumentError where its pillar tells what no stage reads.

    stage
        The stage's name.
    """
    job = _job(opts)
    if job is None:
        return None
    holding = holder(opts)
    if not (holding and holding["pid"] == os.getpid()) and not _lock(opts):
        raise ProposalError(f"stage {stage}: {_held(noted(opts))}")
    before = own(opts)
    now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    goes_on: Job = {key: before[key] for key in ("since", "log") if key in before and before["jid"] == job["jid"]}
    written = note_on if goes_on else note  # of the first stage of a run nobody knows yet who holds the lock
    return written(opts, {**job, "stage": stage, "since": now, "born": born(os.getpid()), **goes_on})


def note(opts: Mapping, job: Job) -> Job:
    """Write who holds the lock; for the process that took it. Raises StoreError: others would not know who has it, nor
    find its log.
    """
    path = _folder(opts) / "stage.json"
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(job))
        draft.replace(path)
    except OSError as err:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise atomic.failed("write", path, err) from err
    _UNWRITTEN.pop(path, None)
    return job


def note_on(opts: Mapping, job: Job) -> Job:
    """Write it anew while the stage goes on. Where the disk does not take it, as a full one, this process keeps it, and
    others read the one before: who holds the lock, and its log, stand in that too, and what its steps keep for later
    ones (``keep``, ``left``, ``must``) no other process asks for. The stage does not end by that.
    """
    try:
        return note(opts, job)
    except StoreError as err:
        logger.warning("the stage goes on: %s", err)
        _UNWRITTEN[_folder(opts) / "stage.json"] = json.loads(json.dumps(job))  # as it would be read
        return job


def runs(job: Job) -> bool:
    """Return whether a stage's process still runs."""
    return born(job["pid"]) == job["born"]


def ended(job: Job) -> bool:
    """Return whether a stage's process runs no more."""
    return not runs(job)


def born(pid: int) -> int | None:
    """Return when a process began, in the kernel's ticks; None where it does not run. A pid alone may be reused."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])  # proc(5): state is field 3, starttime 22


def _lock(opts: Mapping) -> bool:
    path = _folder(opts) / "stage.lock"
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as err:
        raise atomic.failed("write", path, err) from err

    def taken() -> bool:
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False

    if until_none(taken, PROBING, 0.1):
        os.close(fd)
        return False
    return True


def _held(job: Job | None) -> str:
    if not job:
        return "another stage begins just now: see 'salt-run stage.watch'"
    return (
        f"stage {job['stage']} is running, started by {job['user']} at {job['since']} "
        f"(job {job['jid']}, process {job['pid']}): wait for it ('salt-run stage.watch' shows it) or end it "
        "with 'salt-run stage.stop'"
    )


def _folder(opts: Mapping) -> Path:
    folder = Path(opts["cachedir"]) / "halocline"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as err:
        raise atomic.failed("make", folder, err) from err
    return folder


def own(opts: Mapping) -> Job:
    """Return the note of the stage that this process runs; an empty one where it runs none."""
    job = noted(opts)
    return job if job and job["pid"] == os.getpid() and runs(job) else {}


def kept(opts: Mapping, key: str) -> Any:
    """Return what an earlier step of the stage that this process runs kept; None where it kept nothing."""
    return own(opts).get(key)


def keep(opts: Mapping, key: str, value: Any) -> None:
    """Keep something, as JSON, for later steps of the stage that this process runs; without a stage nothing is kept."""
    if job := own(opts):
        note_on(opts, {**job, key: value})


def noted(opts: Mapping) -> Job | None:
    """Return who took the lock last, whether it still runs or not; None where nobody has, or a power failure emptied
    the note.
    """
    path = _folder(opts) / "stage.json"
    kept = _UNWRITTEN.get(path)
    if kept and kept["pid"] == os.getpid():  # not in a child that has it of its parent
        return kept
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return None
    except OSError as err:
        raise atomic.failed("read", path, err) from err


def inline(opts: Mapping) -> dict[str, Any]:
    """Return the pillar that was typed for the orchestration that this process runs (``pillar=``)."""
    words = (_orchestration(opts) or {}).get("fun_args", [])
    typed = [word.get("pillar") for word in words if isinstance(word, dict)]
    return {key: value for pillar in typed if isinstance(pillar, dict) for key, value in pillar.items()}


def _job(opts: Mapping) -> Job | None:
    """The orchestration of this process: who, what, which job."""
    if (job := _orchestration(opts)) is None:
        return None
    check(job["fun_args"])
    return {"jid": job["jid"], "pid": job["pid"], "user": job["user"], "arguments": typed(job["fun_args"])}


def _orchestration(opts: Mapping) -> Job | None:
    """That of this process, as Salt's job tracker has it. What a killed one left there may have the same process id:
    the newest counts.
    """
    tracked = map(_tracked, (Path(opts["cachedir"]) / "proc").iterdir())
    own = [job for job in tracked if job.get("pid") == os.getpid() and job.get("fun") in ORCHESTRATIONS]
    return max(own, key=lambda job: str(job["jid"]), default=None)


def _tracked(path: Path) -> Job:
    """What a file of Salt's job tracker holds; nothing where its job ended while we look, or where a full disk or a
    power failure left half of it.
    """
    with contextlib.suppress(FileNotFoundError, salt.exceptions.SaltDeserializationError):
        job = salt.payload.loads(written) if (written := path.read_bytes()) else {}
        return job if isinstance(job, dict) else {}
    return {}
