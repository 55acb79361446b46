"""Who writes a stage's run log: a process of its own, forked where the stage begins, which reads Salt's event bus.

It outlives a stage that is killed, and says so in the log. The site's webhook is told by it too: the stage waits for
neither.
"""

import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import salt.utils.event

from proposals.files.site import site
from proposals.pillar import redaction
from proposals.stages import webhook
from proposals.stages.records import LONGEST, Record, Run, record
from runners.engine.runs import stage_lock, stage_log, stage_webhook

logger = logging.getLogger(__name__)

LINGER = 2  # seconds to read on after the stage's process has gone


def start(opts: Mapping, job: stage_lock.Job) -> Path:
    """Begin the log of a stage's run and fork its recorder; return the log's path once the bus is heard.

    opts
        The master's options.
    job
        What ``stage_lock.take`` returned.
    """
    path = stage_log.new(opts, job)
    ready, tell = os.pipe()
    child = os.fork()
    if not child:
        _recorder(opts, path, job, tell)
    os.close(tell)
    os.waitpid(child, 0)  # it has forked the recorder, which nobody waits for
    os.read(ready, 1)  # it hears the bus, or has failed
    os.close(ready)
    return path


def hider(opts: Mapping) -> Callable[[str], str]:
    """Return what masks a site's secrets in a text, and then cuts it: half a secret would not be known as one."""
    hide = redaction.following(site(opts))
    return lambda text: hide(text)[:LONGEST]


def _recorder(opts: Mapping, path: Path, job: stage_lock.Job, tell: int) -> None:
    """Become the recorder; never returns. Detaches from the terminal's signals and the stage's output."""
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, signal.SIG_IGN)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        hide = hider(opts)
        with salt.utils.event.get_event("master", opts=opts, listen=True) as bus:
            os.close(tell)
            began = stage_webhook.tell(opts, webhook.told(job), hide)
            end = _follow(bus, job, path, hide)
        began.join(stage_webhook.LIMIT)
        stage_webhook.tell(opts, webhook.told(job, end), hide).join(stage_webhook.LIMIT)
    finally:
        if failed := sys.exception() is not None:
            logger.error("the run log %s ends here", path, exc_info=True)
        os._exit(failed)  # nothing of the parent's is cleaned up here


def _follow(bus: salt.utils.event.SaltEvent, job: stage_lock.Job, path: Path, hide: Callable[[str], str]) -> Record:
    """Write what the bus tells of a job until it ends, or its process does; return how it ended. A disk that is full
    meanwhile costs what was to be written then, and nothing after it.
    """
    run = Run(job["jid"])

    def write(line: Record) -> None:
        with contextlib.suppress(OSError):
            stage_log.append(path, line, hide)

    gone = None
    while gone is None or time.monotonic() < gone + LINGER:
        event = bus.get_event(wait=0.5, full=True)
        for line in _told(run, event) if event else ():
            write(line)
            if line["event"] == "end":
                return line
        if gone is None and not stage_lock.runs(job):
            gone = time.monotonic()
    stopped = any(line["event"] == "stop" for line in stage_log.read(path))
    end = record("end", result="stopped" if stopped else "interrupted", reason="its process has gone")
    write(end)
    return end


def _told(run: Run, event: Mapping) -> list[Record]:
    """The records that an event makes; none where it is not as Salt makes it: any minion may send one."""
    try:
        return run.records(event["tag"].split("/"), event["data"])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        logger.warning("an event that nothing can be made of: %s", event["tag"], exc_info=True)
        return []
