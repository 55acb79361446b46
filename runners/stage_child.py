"""``salt-run stage_child.*``: a stage's orchestration in a process of its own, for ``stage.run`` and ``stage.plan``.

What Salt prints on the way stays in files; who started it takes from them what a person needs.
"""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

logger = logging.getLogger(__name__)

SALT_RUN = "from salt.scripts import salt_run; salt_run()"  # in this very Python, wherever its scripts lie
GENTLE = 10  # seconds from the polite signal to the other one
BROKEN = "stage {}: broke off ({}: {}): is salt-master running? Salt's log has more; run the stage again"


def start(stage, out, err, *words):
    """Start a stage away from this terminal's signals; return the process.

    stage
        The stage's name.
    out, err
        Files for what it prints, as JSON, and for Salt's noise.
    words
        More for ``state.orch``.

    CLI Example: for ``salt-run stage.run prep``.
    """
    config = str(Path(__opts__["conf_file"]).parent)
    argv = [
        sys.executable,
        "-c",
        SALT_RUN,
        "--config-dir",
        config,
        "--out",
        "json",
        "state.orch",
        f"ceph.stage.{stage}",
    ]
    return subprocess.Popen([*argv, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)


def log(child):
    """Return the run log of a stage just started; None where it ended before it had one.

    CLI Example: for ``salt-run stage.run prep``.
    """
    while True:
        ended = child.poll() is not None
        job = __salt__["stage_lock.noted"]() or {}
        if job.get("pid") == child.pid and job.get("log"):
            return job["log"]
        if ended:
            return None
        time.sleep(0.1)


def guard(stage, interrupted):
    """Let Ctrl-C, a polite kill and a lost master end this process with one line; Salt's way is a traceback.

    stage
        The stage that this process runs.
    interrupted
        What to say where a signal ends it.

    CLI Example: for ``salt-run state.orch ceph.stage.prep``.
    """

    def end(signum, _):
        os.write(sys.stderr.fileno(), f"{interrupted}\n".encode())
        os._exit(128 + signum)  # as a shell has it; the lock goes with the process, the recorder sees that it went

    def broken(kind, error, trace):
        logger.error("stage %s broke off", stage, exc_info=(kind, error, trace))
        print(BROKEN.format(stage, kind.__name__, error), file=sys.stderr)

    for signum in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(signum) is not signal.SIG_IGN:  # as a shell's background job has it
            signal.signal(signum, end)
    sys.excepthook = broken


def end(job):
    """End the process of a stage: gently, then not.

    job
        What ``stage_lock.holder`` answered.

    CLI Example: for ``salt-run stage.stop``.
    """
    for signum in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + GENTLE
        if __salt__["stage_lock.born"](job["pid"]) == job["born"]:
            os.kill(job["pid"], signum)
        while __salt__["stage_lock.born"](job["pid"]) == job["born"] and time.monotonic() < deadline:
            time.sleep(0.1)


def _text(file):
    file.seek(0)
    return file.read().decode(errors="replace")


def states(out):
    """Return the orchestration's states in order, of what it printed; None where that is something else.

    CLI Example: for ``salt-run stage.plan prep``.
    """
    text = _text(out)
    begins = text.find("{")
    try:
        found = next(iter(json.loads(text[begins:])["data"].values())) if begins >= 0 else None
    except (ValueError, KeyError):
        return None
    return sorted(found.values(), key=lambda state: state["__run_num__"]) if isinstance(found, dict) else None


def said(out, err):
    """Return what a stage said that has no run log: why a step failed, else the words themselves.

    CLI Example: for ``salt-run stage.run prep``.
    """
    found = states(out)
    if found is None:
        return _text(out).strip() or _text(err).strip()
    return "\n".join(state["comment"] for state in found if state["result"] is False)
