"""``salt-run stage_log.*``: what each run of a stage leaves, ``STAGE-TIME.jsonl``, one record a line.

A process of its own, forked where a stage begins, reads Salt's event bus and writes; it outlives a stage that is
killed and says so. Records: ``stage`` (who, what), ``waits``, ``step``, ``job``, ``minion`` (start, end, result,
reason), ``result`` (of a step), ``stop``, ``end``. What minions return is not kept, but for the reasons of failures.
"""

import json
import logging
import os
import signal
import sys
import time
from pathlib import Path

import salt.utils.event

from proposals.files.site import site
from proposals.pillar import redaction
from proposals.text.errors import ProposalError

log = logging.getLogger(__name__)

LONGEST = 2000  # characters of one reason
LINGER = 2  # seconds to read on after the stage's process has gone


def begin(job):
    """Begin the log of a stage's run and fork its recorder; return the log's path.

    job
        What ``stage_lock.take`` answered.

    CLI Example:

    .. code-block:: bash

        salt-run stage_log.begin '{}'
    """
    path = _new(job)
    _append(path, _record("stage", **{key: job[key] for key in ("stage", "jid", "pid", "user", "arguments")}))
    ready, told = os.pipe()
    child = os.fork()
    if not child:
        _recorder(path, job, told)
    os.close(told)
    os.waitpid(child, 0)  # it has forked the recorder, which nobody waits for
    os.read(ready, 1)  # it hears the bus, or has failed
    os.close(ready)
    return str(path)


def add(path, event, **more):
    """Add one record to a log.

    CLI Example:

    .. code-block:: bash

        salt-run stage_log.add /var/log/halocline/prep-20260101T000000.jsonl waits minions='[node1]'
    """
    _append(Path(path), _record(event, **more))


def paths():
    """Return the logs that are there, the oldest first.

    CLI Example:

    .. code-block:: bash

        salt-run stage_log.paths
    """
    return [str(path) for path in sorted(_folder().glob("*-*.jsonl"), key=lambda path: path.name.rpartition("-")[2])]


def read(path):
    """Return the records of a log.

    CLI Example:

    .. code-block:: bash

        salt-run stage_log.read /var/log/halocline/prep-20260101T000000.jsonl
    """
    lines = Path(path).read_text(errors="replace").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]  # the last may be half written


def of(command):
    """Return the log of what a command outside the stages does, ``COMMAND.jsonl``; made where it is absent.

    CLI Example:

    .. code-block:: bash

        salt-run stage_log.of disk.wipe
    """
    path = _folder() / f"{command}.jsonl"
    try:
        path.touch(mode=0o640)
    except OSError as err:
        raise ProposalError(f"the log {path} cannot be written: {err.strerror}") from err
    return str(path)


def _folder():
    folder = __opts__.get("halocline_log_dir")
    if not folder:
        raise ProposalError(
            "the master's configuration has no halocline_log_dir: put srv/master.d/halocline.conf into its master.d"
        )
    try:
        Path(folder).mkdir(mode=0o750, parents=True, exist_ok=True)
    except OSError as err:
        raise ProposalError(f"the run logs' folder {folder} cannot be made: {err.strerror}") from err
    return Path(folder)


def _new(job):
    """A file that no run has, named after the stage and the job's time; readable by root and its group alone."""
    stem = f"{job['stage']}-{job['jid'][:8]}T{job['jid'][8:14]}"
    for name in (stem, f"{stem}.{job['jid'][14:]}"):
        try:
            os.close(os.open(_folder() / f"{name}.jsonl", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o640))
        except FileExistsError:
            continue
        except OSError as err:
            raise ProposalError(f"the run log {name}.jsonl cannot be written: {err.strerror}") from err
        return _folder() / f"{name}.jsonl"
    raise ProposalError(f"the run log {stem}.jsonl is there already")


def _record(event, **more):
    return {"time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "event": event, **more}


def _append(path, record, hide=str):
    """One write for one line: what reads along never sees half of it."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, (hide(json.dumps(record)) + "\n").encode())
    finally:
        os.close(fd)


def _recorder(path, job, told):
    """Become the recorder; never returns. Ctrl-C, and whoever reads the stage's output, are none of its business."""
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, signal.SIG_IGN)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        hide = redaction.hider(redaction.known(site(__opts__)))
        with salt.utils.event.get_event("master", opts=__opts__, listen=True) as bus:
            os.close(told)
            _follow(bus, job, path, lambda record: _append(path, record, hide))
    finally:
        if failed := sys.exception() is not None:
            log.error("the run log %s ends here", path, exc_info=True)
        os._exit(failed)  # nothing of the parent's is cleaned up here


def _follow(bus, job, path, write):
    """Write what the bus tells of a job until it ends, or its process does."""
    run = _Run(job["jid"])
    gone = None
    while gone is None or time.monotonic() < gone + LINGER:
        event = bus.get_event(wait=0.5, full=True)
        for record in run.records(event["tag"].split("/"), event["data"]) if event else ():
            write(record)
            if record["event"] == "end":
                return
        if gone is None and __salt__["stage_lock.born"](job["pid"]) != job["born"]:
            gone = time.monotonic()
    stopped = any(record["event"] == "stop" for record in read(path))
    write(_record("end", result="stopped" if stopped else "interrupted", reason="its process has gone"))


class _Run:
    """Events of the bus to records, for one orchestration."""

    def __init__(self, jid):
        self.jid = jid
        self.step = {}
        self.jobs = {}

    def records(self, tag, data):
        """The records that one event makes."""
        if tag[:3] == ["salt", "run", self.jid]:
            if tag[3] == "args":
                return [self._step(data)]
            return list(self._end(data["return"])) if tag[3] == "ret" else []
        if tag[:2] == ["salt", "job"] and tag[3:] == ["new"]:
            return self._job(data)
        if tag[:2] == ["salt", "job"] and tag[3:4] == ["ret"] and tag[2] in self.jobs:
            return [self._minion(data, self.jobs[tag[2]])]
        return []

    def _step(self, data):
        what = data["args"]["arg"][0] if data["type"] == "state" else data["name"]
        self.step = {"step": data["name"], "what": what, "runner": data["type"] == "runner"}
        return _record("step", step=data["name"], what=what)

    def _job(self, data):
        """A job is this step's where it does what the step asks: its SLS, or several functions for a runner."""
        ours = (
            isinstance(data["fun"], list)
            if self.step.get("runner")
            else data["fun"] == "state.sls" and data["arg"][:1] == [self.step.get("what")]
        )
        if not ours or not self.step:
            return []
        self.jobs[data["jid"]] = {"step": self.step["step"], "start": data["_stamp"]}
        return [_record("job", step=self.step["step"], job=data["jid"], minions=sorted(data["minions"]))]

    def _minion(self, data, job):
        reason, changes = _outcome(data["return"], data.get("success", True))
        more = {"reason": reason[:LONGEST]} if reason else {}
        result = "failed" if reason else "done"
        times = {"start": job["start"], "end": data["_stamp"]}
        return _record(
            "minion",
            step=job["step"],
            job=data["jid"],
            minion=data["id"],
            **times,
            result=result,
            changes=changes,
            **more,
        )

    def _end(self, answer):
        """What the orchestration returned: the result of each step, and of the whole."""
        if not isinstance(answer, dict) or "data" not in answer:  # ended by a signal, or its SLS cannot be read
            yield _record("end", result="interrupted", reason=_last_line(answer))
            return
        states = next(iter(answer["data"].values()))
        if not isinstance(states, dict):
            yield _record("end", result="failed", reason="; ".join(map(str, states))[:LONGEST])
            return
        failed = None
        for tag, state in sorted(states.items(), key=lambda one: one[1]["__run_num__"]):
            more = {} if state["result"] else {"reason": str(state["comment"])[:LONGEST]}
            seconds = round(state.get("duration", 0) / 1000, 1)
            word = "done" if state["result"] else "failed"
            name = state["name"] if tag.startswith("step_|-") else state["__id__"]
            yield _record("result", step=name, result=word, seconds=seconds, changed=bool(state["changes"]), **more)
            failed = name if state["result"] is False else failed
        changed = any(state["changes"] for state in states.values())
        reason = {"reason": f"in step {failed}"} if failed else {}
        yield _record("end", result="failed" if failed else "done", changed=changed, **reason)


def _outcome(returned, success):
    """Why one minion failed (empty where it did not), and how many states changed something."""
    if isinstance(returned, dict) and all(isinstance(one, dict) and "result" in one for one in returned.values()):
        wrong = [state for state in returned.values() if state["result"] is False]
        reason = "; ".join(f"{state.get('__id__')}: {state.get('comment')}" for state in wrong)
        return reason, sum(1 for state in returned.values() if state.get("changes"))
    if isinstance(success, dict):  # several functions: a truth for each
        return "; ".join(f"{name}: {returned.get(name)}" for name, good in success.items() if not good), 0
    if isinstance(returned, list):
        return "; ".join(map(str, returned)), 0
    return "" if success else str(returned), 0


def _last_line(text):
    return (str(text).strip().splitlines() or [""])[-1][:LONGEST]
