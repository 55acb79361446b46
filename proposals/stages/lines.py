"""A run's records as lines for a person, each by itself; ``progress`` tells them in their order."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from proposals.text.notes import FEW, SCREEN

CUT = "its disk was full, or the master lost power or was killed"
KIND = 3  # warnings of one kind, where there are many
AGAIN = "run the stage again, it goes on"


def line(record: Mapping[str, Any]) -> str | None:
    """Return what a person reads of one record of a run's log; None where that is nothing."""
    match record["event"]:
        case "stage":
            only = f", only {record['only']}" if record.get("only") else ""
            return f"{record['stage']}: begun by {record['user']}, job {record['jid']}{only}"
        case "waits":
            return f"waits up to {record['limit']} s for jobs of an interrupted run: {record['jobs']}"
        case "step":
            return record["step"]
        case "minion":
            return _minion(record)
        case "result" if record["result"] == "failed" and reason(record):
            return f"{record['step']}: {reason(record)}"
        case "result" if warnings := record.get("warnings"):
            return "\n".join(f"{record['step']}: warning: {warning}" for warning in _folded(warnings))
        case "drain":
            return f"  {record['left']} of {record['of']} {record['what']} are still to leave"
        case "stop":
            return f"stopped by {record['user']}"
        case "end":
            return _end(record)
    return None


def _folded(warnings: Sequence[str]) -> list[str]:
    """A step's warnings; of more than a screen ``KIND`` with the same thing to do, the others counted."""
    if len(warnings) <= SCREEN:
        return list(warnings)
    kinds: dict[str, list[str]] = {}
    for warning in warnings:
        kinds.setdefault(warning.rpartition("; ")[2], []).append(warning)
    told = [warning for alike in list(kinds.values())[:FEW] for warning in alike[:KIND]]
    rest = len(warnings) - len(told)
    return [*told, *([f"and {rest} more, which the run log names"] if rest else [])]


def unended(holder: Mapping[str, Any] | None, log: str) -> dict[str, Any]:
    """Return an end for a run whose log has none: it goes on, or the log was cut.

    holder
        Who runs a stage now.
    log
        The run's log.
    """
    if holder and holder.get("log") == log:
        return {"event": "end", "result": "running", "reason": "'salt-run stage.watch' shows it"}
    return {"event": "end", "result": "its log has no end", "reason": f"{CUT}: {AGAIN}"}


def done(end: Mapping[str, Any] | None, status: int) -> Mapping[str, Any]:
    """Return how a run ended, by its log, or where that missed the end of one that went well, by its exit status."""
    if end and (status or end["result"] == "done"):
        return end
    return {"event": "end", "result": "done, which its log does not tell", "reason": CUT}


def reason(record: Mapping[str, Any]) -> str:
    """Return why a host, a step or a run failed; empty where it did not."""
    return str(record.get("reason", "")).strip()


def _minion(record: Mapping[str, Any]) -> str:
    start, end = (time.mktime(time.strptime(record[key][:19], "%Y-%m-%dT%H:%M:%S")) for key in ("start", "end"))
    more = ", changed" if record["changes"] else ""
    why = f": {reason(record)}" if record.get("reason") else ""
    warnings = "".join(f"\n    warning: {warning}" for warning in record.get("warnings", ()))
    return f"  {record['result']:6} {end - start:5.0f} s  {record['minion']}{more}{why}{warnings}"


def _end(record: Mapping[str, Any]) -> str:
    if record["result"] == "done":
        return "done, changed" if record["changed"] else "done, nothing changed"
    return f"{record['result']}: {reason(record)}".rstrip(": ")
