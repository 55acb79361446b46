"""A stage's orchestration in a process of its own, for ``stage.run`` and ``stage.plan``.

What Salt prints on the way stays in files; who started it takes from them what a person needs.
"""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO

from runners.engine.runs import stage_lock
from runners.engine.waiting import until_none

logger = logging.getLogger(__name__)

SALT_RUN = "from salt.scripts import salt_run; salt_run()"  # in this very Python, wherever its scripts lie
GENTLE = 10  # seconds from the polite signal to the other one
BROKEN = "stage {}: broke off ({}: {}): is salt-master running? Salt's log has more; run the stage again"


def start(
    opts: Mapping, stage: str, out: IO[bytes], err: IO[bytes], *words: str, user: str | None = None
) -> subprocess.Popen:
    """Start a stage away from this terminal's signals; return the process.

    opts
        The master's options.
    stage
        The stage's name.
    out, err
        Files for what it prints, as JSON, and for Salt's noise.
    words
        More for ``state.orch``.
    user
        Who asked for it, where that is not who runs this process; Salt names them as it does one behind sudo.
    """
    environment = {**os.environ, "SUDO_USER": user} if user else None
    config = str(Path(opts["conf_file"]).parent)
    salt_run = [sys.executable, "-c", SALT_RUN, "--config-dir", config, "--out", "json"]
    return subprocess.Popen(
        [*salt_run, "state.orch", f"ceph.stage.{stage}", *words],
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        start_new_session=True,
        env=environment,
    )


def log(opts: Mapping, child: subprocess.Popen) -> str | None:
    """Return the path of the run log of a stage just started; None where it ended before it had one."""
    while True:
        ended = child.poll() is not None
        job = stage_lock.noted(opts) or {}
        if job.get("pid") == child.pid and job.get("log"):
            return job["log"]
        if ended:
            return None
        time.sleep(0.1)


def wait(child: subprocess.Popen) -> None:
    """Wait until a stage has ended; Ctrl-C ends it too: nobody would see what it says, and it holds the lock."""
    try:
        child.wait()
    except (KeyboardInterrupt, SystemExit):
        child.terminate()
        raise


def guard(stage: str, interrupted: str) -> None:
    """Let Ctrl-C, a polite kill and a lost master end this process with one line; Salt's way is a traceback.

    stage
        The stage that this process runs.
    interrupted
        What to say where a signal ends it.
    """

    def end(signum: int, _: FrameType | None) -> None:
        os.write(sys.stderr.fileno(), f"{interrupted}\n".encode())
        os._exit(128 + signum)  # as a shell has it; the lock goes with the process, the recorder sees that it went

    def broken(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        logger.error("stage %s broke off", stage, exc_info=(kind, error, trace))
        print(BROKEN.format(stage, kind.__name__, error), file=sys.stderr)

    for signum in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(signum) is not signal.SIG_IGN:  # as a shell's background job has it
            signal.signal(signum, end)
    sys.excepthook = broken


def end(job: stage_lock.Job) -> None:
    """End the process of a stage: gently, then not.

    job
        What ``stage_lock.holder`` returned.
    """
    for signum in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):  # it ends by itself meanwhile
            if stage_lock.runs(job):
                os.kill(job["pid"], signum)
        until_none(lambda: stage_lock.runs(job), GENTLE, 0.1)


def printed(file: IO[bytes]) -> str:
    """Return what a child wrote into one of its files."""
    file.seek(0)
    return file.read().decode(errors="replace")
