"""A run's records as lines for a person, and where a run that goes on is now."""

import time
from collections.abc import Mapping
from typing import Any


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
        case "result" if record["result"] == "failed":
            return f"{record['step']}: {_reason(record)}"
        case "result" if warnings := record.get("warnings"):
            return "\n".join(f"{record['step']}: warning: {warning}" for warning in warnings)
        case "stop":
            return f"stopped by {record['user']}"
        case "end":
            return _end(record)
    return None


class Progress:
    """Where a run is: its step, since when, and who has not answered. Times are seconds of one steady clock."""

    def __init__(self, now: float) -> None:
        self._begin("", now)

    def _begin(self, step: str, now: float) -> None:
        self.step, self.since = step, now
        self.asked: set[str] = set()
        self.left: set[str] = set()

    def take(self, record: Mapping[str, Any], now: float) -> None:
        """Take in one record of the run's log."""
        if record["event"] == "step":
            self._begin(record["step"], now)
        elif record["event"] == "job":
            self.asked |= set(record["minions"])
            self.left |= set(record["minions"])
        elif record["event"] == "minion":
            self.left.discard(record["minion"])

    def seconds(self, now: float) -> float:
        """How long the step has taken."""
        return now - self.since

    def text(self, now: float) -> str:
        """What a person reads of it."""
        seconds = f"{self.seconds(now):.0f} s"
        if not self.step:
            return f"sees who answers, {seconds}"
        waits = f", waits for {', '.join(sorted(self.left))}" if self.left else ""
        return f"{self.step}: {len(self.asked) - len(self.left)} of {len(self.asked)}, {seconds}{waits}"


def _minion(record: Mapping[str, Any]) -> str:
    start, end = (time.mktime(time.strptime(record[key][:19], "%Y-%m-%dT%H:%M:%S")) for key in ("start", "end"))
    more = ", changed" if record["changes"] else ""
    reason = f": {_reason(record)}" if record.get("reason") else ""
    warnings = "".join(f"\n    warning: {warning}" for warning in record.get("warnings", ()))
    return f"  {record['result']:6} {end - start:5.0f} s  {record['minion']}{more}{reason}{warnings}"


def _reason(record: Mapping[str, Any]) -> str:
    return str(record.get("reason", "")).strip()


def _end(record: Mapping[str, Any]) -> str:
    if record["result"] == "done":
        return "done, changed" if record["changed"] else "done, nothing changed"
    return f"{record['result']}: {_reason(record)}".rstrip(": ")
