"""Runs of stages for the page: which there are, how one goes on, and one that is begun after its dry run."""

import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proposals.files import atomic
from proposals.stages import orchestrations
from proposals.text.errors import ArgumentError, ProposalError
from proposals.text.names import shown
from runners.engine.page import page_policy
from runners.engine.runs import stage_child, stage_lock, stage_log
from runners.engine.waiting import until_none

STAGES = ("prep", "discovery", "configure", "deploy", "services")  # that may be run from the page
TYPED = {  # what takes away or destroys is typed on the master: the page only says how
    "wipe a disk (Hosts has its own line)": "salt-run disk.wipe HOST DISK serial=SERIAL",
    "give up an OSD whose disk died": "salt-run osd.replace NUMBER test=true",
    "take hosts, disks or roles away": "salt-run stage.plan removal",
    "take the cluster apart": "salt-run ceph.purge fsid=FSID test=true",
    "upgrade Ceph": "salt-run stage.plan upgrade",
}
RUNS = 50  # that can be looked at
RECORDS = 300  # of one answer
BYTES = 400_000
WAIT = 20  # seconds for the next record of a run that goes on
LATE = 20  # seconds in which the end of a log comes after its stage's
PLANNED = 3600  # seconds for which a dry run counts
KEPT = 20  # dry runs


def known(opts: Mapping[str, Any]) -> dict[str, Any]:
    """``runs``: the names of run logs, the newest first; ``running``: that of the stage that goes on, or None."""
    runs = [path.stem for path in stage_log.paths(opts)[-RUNS:]][::-1]
    job = stage_lock.holder(opts) or {}
    return {"runs": runs, "running": Path(job["log"]).stem if job.get("log") else None}


def records(opts: Mapping[str, Any], run: object, after: int) -> dict[str, Any]:
    """Records of a run from the ``after``-th line of its log on: ``{run, records, next, running}``, ``next`` the line
    behind them; of one that goes on it waits. No line is parsed for another answer than its own.

    Raises ArgumentError for a run that there is not: only names of logs are compared, nothing typed becomes a path.
    """
    if run is None:
        there = known(opts)
        run = there["running"] or next(iter(there["runs"]), None)
        if run is None:
            return {"run": None, "records": [], "next": 0, "running": False}
    path = next((path for path in stage_log.paths(opts) if path.stem == run), None)
    if path is None:
        raise ArgumentError(f"there is no run '{shown(run)}': view.stages names those that there are")

    def quiet() -> bool:
        return len(stage_log.whole(path)) <= after and _goes_on(opts, path)

    until_none(quiet, WAIT, 0.3)
    running, lines = _goes_on(opts, path), stage_log.whole(path)
    told: list[Any] = []
    size, end = 0, after
    for line in lines[after : after + RECORDS]:
        size += len(line)
        if told and size > BYTES:
            break
        told += filter(None, [stage_log.known(line)])
        end += 1
    return {"run": path.stem, "records": told, "next": end, "running": running or end < len(lines)}


def planned(opts: Mapping[str, Any], user: str, stage: str, only: str | None, steps: Any) -> str:
    """Keep that a user saw a stage's dry run; return the hash by which it is confirmed."""
    now = time.time()
    confirm = page_policy.confirmation({"user": user, "stage": stage, "only": only, "steps": steps, "at": now})
    note = {"user": user, "stage": stage, "only": only, "at": now}
    newest = sorted(_noted(opts).items(), key=lambda each: each[1]["at"])[-KEPT + 1 :]
    atomic.write(_notes(opts), json.dumps({**dict(newest), confirm: note}), 0o600)
    return confirm


def begin(opts: Mapping[str, Any], user: str, stage: str, only: str | None, confirm: object) -> dict[str, Any]:
    """Begin a stage whose dry run this user saw within the hour; return its run. It goes on without who asked.

    Raises ProposalError where that dry run is not known, another stage runs, or it ends at once.
    """
    noted = _noted(opts)
    note = noted.pop(str(confirm), None)
    if note is None or note["at"] < time.time() - PLANNED or (note["user"], note["stage"], note["only"]) != (
        user, stage, only,
    ):  # fmt: skip
        raise ProposalError(f"stage {stage}: look at its dry run first, which is good for an hour and one run")
    stage_lock.free(opts)
    atomic.write(_notes(opts), json.dumps(noted), 0o600)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = stage_child.start(opts, stage, out, err, *orchestrations.told(only=only), user=user)
        log = stage_child.log(opts, child)
        if log is None:
            why = orchestrations.failure(stage_child.printed(out), stage_child.printed(err))
            raise ProposalError(why or f"stage {stage} ended with status {child.wait()}")
    return {"run": Path(log).stem}


def stage(typed: object) -> str:
    """The name of a stage that may be run from the page. Raises ArgumentError for any other."""
    if typed not in STAGES:
        raise ArgumentError(f"'{shown(typed)}' is not run from the page: {', '.join(STAGES)} are")
    return str(typed)


def _goes_on(opts: Mapping[str, Any], path: Path) -> bool:
    """Whether more is to come of a run: its stage runs, or has gone so lately that its log may get its end still."""
    if (stage_lock.holder(opts) or {}).get("log") == str(path):
        return True
    ends = stage_log.ends(path)
    return (ends is None or ends[1]["event"] != "end") and time.time() - path.stat().st_mtime < LATE


def _notes(opts: Mapping[str, Any]) -> Path:
    return Path(opts["cachedir"]) / "halocline" / "page-plans.json"


def _noted(opts: Mapping[str, Any]) -> dict[str, Any]:
    path = _notes(opts)
    return json.loads(atomic.read_text(path)) if path.exists() else {}
