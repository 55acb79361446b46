"""``salt-run stage_show.*``: a stage's run for a person: lines of its log, live where it is still running."""

import json
import sys
import time
from pathlib import Path

from rich.console import Console

TICK = 0.2  # seconds between looks at a log that grows
SLOW = 30  # seconds after which plain output names who is waited for, and again
LAST_WORDS = 5  # seconds for a log to say how its run ended after its process has gone


def line(record):
    """Return what a person reads of one record of a run's log; None where that is nothing.

    CLI Example:

    .. code-block:: bash

        salt-run stage_show.line '{"event": "step", "step": "ceph-stage-deploy-osd"}'
    """
    return {
        "stage": lambda: f"{record['stage']}: begun by {record['user']}, job {record['jid']}",
        "waits": lambda: f"waits up to {record['limit']} s for jobs of an interrupted run: {record['jobs']}",
        "step": lambda: record["step"],
        "minion": lambda: _minion(record),
        "result": lambda: f"{record['step']}: {_reason(record)}" if record["result"] == "failed" else None,
        "stop": lambda: f"stopped by {record['user']}",
        "end": lambda: _end(record),
    }.get(record["event"], lambda: None)()


def follow(path, ended, quiet=False):
    """Print a run's log as it grows until it says how it ended; a live line below it on a terminal.

    Returns the record that says how, None where there is none.

    path
        The log.
    ended
        A function that tells whether the run's process has gone.
    quiet
        Print nothing.

    CLI Example: for ``stage.run`` and ``stage.watch``.
    """
    now = _Now()
    view = _Quiet() if quiet else _Terminal() if sys.stdout.isatty() else _Plain()
    with view:
        for record in _records(Path(path), ended):
            if record is None:
                view.tick(now)
                continue
            now.take(record)
            if (text := line(record)) and record["event"] != "end":
                view.say(text)
            if record["event"] == "end":
                return record
    return None


def _records(path, ended):
    """Records as they come; None where nothing came for a tick."""
    deadline = None
    with path.open() as file:
        rest = ""
        while deadline is None or time.monotonic() < deadline:
            rest += file.readline()
            if rest.endswith("\n"):
                yield json.loads(rest)
                rest = ""
                continue
            yield None
            if deadline is None and ended():
                deadline = time.monotonic() + LAST_WORDS
            time.sleep(TICK)


class _Now:
    """What a run is at: its step, since when, and who has not answered."""

    def __init__(self):
        self.step, self.all, self.left, self.since = "", set(), set(), time.monotonic()

    def take(self, record):
        if record["event"] == "step":
            self.step, self.all, self.left, self.since = record["step"], set(), set(), time.monotonic()
        elif record["event"] == "job":
            self.all |= set(record["minions"])
            self.left |= set(record["minions"])
        elif record["event"] == "minion":
            self.left.discard(record["minion"])

    @property
    def seconds(self):
        return time.monotonic() - self.since

    def __str__(self):
        if not self.step:
            return f"sees who answers, {self.seconds:.0f} s"
        waits = f", waits for {', '.join(sorted(self.left))}" if self.left else ""
        return f"{self.step}: {len(self.all) - len(self.left)} of {len(self.all)}, {self.seconds:.0f} s{waits}"


class _Quiet:
    """Nothing, for a program."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def say(self, text):
        pass

    def tick(self, now):
        pass


class _Plain(_Quiet):
    """Lines for a pipe or a file."""

    def __init__(self):
        self.next = SLOW

    def say(self, text):
        print(text, flush=True)

    def tick(self, now):
        if now.seconds < SLOW:
            self.next = SLOW
        elif now.seconds >= self.next:
            self.next += SLOW
            print(f"  … {now}", flush=True)


class _Terminal:
    """Lines, and below them one that lives."""

    def __init__(self):
        self.console = Console(highlight=False)
        self.status = self.console.status("")

    def __enter__(self):
        self.status.__enter__()
        return self

    def __exit__(self, *what):
        self.status.__exit__(*what)

    def say(self, text):
        self.console.print(text, markup=False, soft_wrap=True)

    def tick(self, now):
        self.status.update(str(now).replace("[", r"\["))


def _minion(record):
    start, end = (time.mktime(time.strptime(record[key][:19], "%Y-%m-%dT%H:%M:%S")) for key in ("start", "end"))
    more = ", changed" if record["changes"] else ""
    reason = f": {_reason(record)}" if record.get("reason") else ""
    return f"  {record['result']:6} {end - start:5.0f} s  {record['minion']}{more}{reason}"


def _reason(record):
    return str(record.get("reason", "")).strip()


def _end(record):
    if record["result"] == "done":
        return "done, changed" if record["changed"] else "done, nothing changed"
    return f"{record['result']}: {_reason(record)}".rstrip(": ")
