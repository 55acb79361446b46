"""``salt-run stage_lock.*``: one stage at a time on this master.

The kernel holds the lock for the process that runs the orchestration and drops it when that process ends, however it
ends: nothing stale is ever left. What stands beside it in ``stage.json`` only says who holds it. (A POSIX record
lock: it does not pass to forked children, and goes when the process closes *any* descriptor of that file; so only
this file opens it, and never closes what holds it.)
"""

import contextlib
import datetime
import fcntl
import json
import os
import time
from pathlib import Path

import salt.payload

ORCHESTRATIONS = ("runner.state.orch", "runner.state.orchestrate", "runner.state.sls")
PROBES = 5  # tries of 0.1 s: whoever asks for the holder has the lock for a blink


def holder():
    """Return who runs a stage now (stage, user, jid, pid, since, log …), or None.

    CLI Example:

    .. code-block:: bash

        salt-run stage_lock.holder
    """
    told = noted()
    if not told or told["pid"] == os.getpid():
        return told if told and told["born"] == born(os.getpid()) else None
    with (_folder() / "stage.lock").open("a+") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return told
    return None


def take(stage):
    """Take the lock for the orchestration that this process runs; return its job, or ``{"holder": …}``.

    Without an orchestration (a runner typed by hand) there is nothing to lock: None.

    stage
        The stage's name.

    CLI Example:

    .. code-block:: bash

        salt-run stage_lock.take prep
    """
    job = _job()
    if job is None:
        return None
    mine = holder()
    if not (mine and mine["pid"] == os.getpid()) and not _lock():
        return {"holder": noted() or {}}
    now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    return note({**job, "stage": stage, "since": now, "born": born(os.getpid())})


def note(told):
    """Write who holds the lock; for the process that took it.

    CLI Example:

    .. code-block:: bash

        salt-run stage_lock.note '{}'
    """
    draft = _folder() / f"stage.json.{os.getpid()}"
    draft.write_text(json.dumps(told))
    draft.replace(_folder() / "stage.json")
    return told


def born(pid):
    """Return when a process began, in the kernel's ticks; None where it does not run. A pid alone may be reused.

    CLI Example:

    .. code-block:: bash

        salt-run stage_lock.born 1
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])  # proc(5): state is field 3, starttime 22


def _lock():
    fd = os.open(_folder() / "stage.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for _ in range(PROBES):
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.1)
        else:
            return True
    os.close(fd)
    return False


def _folder():
    folder = Path(__opts__["cachedir"]) / "halocline"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def silent():
    """Return the minions that did not answer when the stage that this process runs began.

    CLI Example:

    .. code-block:: bash

        salt-run stage_lock.silent
    """
    told = noted() or {}
    mine = told.get("pid") == os.getpid() and told.get("born") == born(os.getpid())
    return told.get("silent", []) if mine else []


def noted():
    """Return who took the lock last, whether it still runs or not; None where nobody has.

    CLI Example:

    .. code-block:: bash

        salt-run stage_lock.noted
    """
    try:
        return json.loads((_folder() / "stage.json").read_text())
    except FileNotFoundError:
        return None


def _job():
    """The orchestration of this process, as Salt's job tracker has it: who, what, which job."""
    for path in (Path(__opts__["cachedir"]) / "proc").iterdir():
        with contextlib.suppress(FileNotFoundError):  # others' end while we look
            written = path.read_bytes()
            job = salt.payload.loads(written) if written else {}
            if job.get("pid") != os.getpid() or job.get("fun") not in ORCHESTRATIONS:
                continue
            return {"jid": job["jid"], "pid": job["pid"], "user": job["user"], "arguments": _arguments(job)}
    return None


def _arguments(job):
    """What was typed; of an inline pillar its keys alone, which may have been given for their secrets."""
    shown = []
    for word in job["fun_args"]:
        if isinstance(word, dict):
            given = {key: value for key, value in word.items() if key != "orchestration_jid"}
            pillar = given.pop("pillar", None)
            shown += [f"{key}={value}" for key, value in sorted(given.items())]
            shown += [f"pillar={sorted(pillar)}"] if isinstance(pillar, dict) else []
        else:
            shown.append(str(word))
    return shown
