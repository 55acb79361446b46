"""Events of Salt's bus, for one orchestration, as the records of its run log.

Records: ``stage`` (who, what, its steps), ``waits``, ``step``, ``job``, ``osd`` (how far a host is), ``minion`` (start,
end, result, reason), ``result`` (of a step), ``stop``, ``end``. What minions return is not kept, but for the reasons of
failures.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proposals.stages import left_out, summary
from proposals.stages.replies import failure, words
from proposals.text.notes import several

LONGEST = 2000  # characters of one text; whoever writes it cuts it, once no secret is in it
MOST = 10_000  # OSDs of one host: no number above this is believed
OSD = ["halocline", "osd"]  # the tag of _modules/osd.py, split
COUNTS = ("made", "failed", "of")  # what its events carry
BEGIN = "stage.begin"  # the first step: the log begins in it, behind its own event
Record = dict[str, Any]


def record(event: str, **more: Any) -> Record:
    """Return a record of an event of now."""
    return {"time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "event": event, **more}


class Run:
    """One orchestration, by its job's id: what its events say."""

    def __init__(self, jid: str) -> None:
        self.jid = jid
        self.step: dict[str, Any] = {"step": BEGIN, "runner": True}
        self.jobs: dict[str, dict[str, str]] = {}
        self.asks: tuple[Any, set[str]] = ([], set())  # what the first step asks all hosts, and those asked so far
        self.through: dict[str, int] = {}  # of those that the step waits for: how many OSDs each told of, -1 at first

    def records(self, tag: Sequence[str], data: Mapping[str, Any]) -> list[Record]:
        """Return the records that one event makes.

        tag
            The event's tag, split at its slashes.
        data
            What the event carries.
        """
        if tag[:3] == ["salt", "run", self.jid]:
            if tag[3] == "args":
                return [self._step(data)]
            return list(_end(data["return"])) if tag[3] == "ret" else []
        if tag[:2] == ["salt", "job"] and tag[3:] == ["new"]:
            return self._job(data)
        if tag[:2] == ["salt", "job"] and tag[3:4] == ["ret"] and tag[2] in self.jobs:
            self.through.pop(data["id"], None)
            return [_minion(data, self.jobs[tag[2]])]
        return self._osd(data) if tag == OSD else []

    def _step(self, data: Mapping[str, Any]) -> Record:
        what = data["args"]["arg"][0] if data["type"] == "state" else data["name"]
        self.step = {"step": data["name"], "what": what, "runner": data["type"] == "runner"}
        self.through.clear()
        return record("step", step=data["name"], what=what)

    def _job(self, data: Mapping[str, Any]) -> list[Record]:
        """A job is this step's where it does what the step asks: its SLS, or several functions for a runner."""
        ours = (
            isinstance(data["fun"], list)
            if self.step.get("runner")
            else data["fun"] == "state.sls" and data["arg"][:1] == [self.step.get("what")]
        )
        if not ours or (self.step["step"] == BEGIN and not self._first(data)):
            return []
        self.jobs[data["jid"]] = {"step": self.step["step"], "start": data["_stamp"]}
        self.through |= dict.fromkeys(data["minions"], -1)
        return [record("job", step=self.step["step"], job=data["jid"], minions=sorted(data["minions"]))]

    def _first(self, data: Mapping[str, Any]) -> bool:
        """Whether a job is the one by which the first step asks all hosts, or, where they are many, a further share of
        them: behind it it asks who is still busy, again and again.
        """
        asks, asked = self.asks
        if self.jobs and (data["fun"] != asks or asked & set(data["minions"])):
            return False
        self.asks = data["fun"], asked | set(data["minions"])
        return True

    def _osd(self, data: Mapping[str, Any]) -> list[Record]:
        """How many OSDs of a host are through. Any minion may send such an event: it counts of one that the step waits
        for, and where its numbers can be and are more than before."""
        minion, told = data.get("id"), data.get("data")
        if not isinstance(minion, str) or minion not in self.through or not isinstance(told, Mapping):
            return []
        counts = {key: told[key] for key in COUNTS if type(told.get(key)) is int and 0 <= told[key] <= MOST}
        through = counts.get("made", 0) + counts.get("failed", 0)
        if len(counts) < len(COUNTS) or not self.through[minion] < through <= counts["of"]:
            return []
        self.through[minion] = through
        return [record("osd", step=self.step["step"], minion=minion, **counts)]


def _minion(data: Mapping[str, Any], job: Mapping[str, str]) -> Record:
    """What one minion returned to a job of a step. What the first asks may fail: the step that takes it says so."""
    reason, changes = ("", 0) if job["step"] == BEGIN else _outcome(data["return"], data.get("success", True))
    return record(
        "minion",
        step=job["step"],
        job=data["jid"],
        minion=data["id"],
        start=job["start"],
        end=data["_stamp"],
        result="failed" if reason else "done",
        changes=changes,
        **({"reason": reason} if reason else {}),
        **({"warnings": warnings} if (warnings := _warnings(data["return"])) else {}),
    )


def _end(answer: Any) -> Iterator[Record]:
    """What the orchestration returned: the result of each step, and of the whole."""
    if not isinstance(answer, dict) or "data" not in answer:  # ended by a signal, or its SLS cannot be read
        yield record("end", result="interrupted", reason=_last_line(answer))
        return
    states = next(iter(answer["data"].values()))
    if not isinstance(states, dict):
        yield record("end", result="failed", reason="; ".join(map(str, states)))
        return
    failed, ran = None, list(_ran(states))
    for tag, state in ran:
        more: Record = {} if state["result"] or "summary" in state else {"reason": str(state["comment"])}
        warnings = [_warning(finding) for finding in state.get("findings", ()) if finding["severity"] == "warning"]
        more |= {"warnings": warnings} if warnings and "summary" not in state else {}
        seconds = round(state.get("duration", 0) / 1000, 1)
        word = "done" if state["result"] else "failed"
        name = state["name"] if tag.startswith("step_|-") else state["__id__"]
        yield record("result", step=name, result=word, seconds=seconds, changed=bool(state["changes"]), **more)
        failed = name if state["result"] is False else failed
    reason = {"reason": f"in step {failed}"} if failed else {}
    changed = any(state["changes"] for _, state in ran)
    summary_ = _summary([state for _, state in ran])
    yield record("end", result="failed" if failed else "done", changed=changed, summary=summary_, **reason)


def _ran(states: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The states of an orchestration in their order, each with its tag; in place of one that ran stages of its own
    (``step.rest``) theirs.
    """
    for tag, state in sorted(states.items(), key=lambda item: item[1]["__run_num__"]):
        if "states" in state:
            yield from _ran(state["states"])
        else:
            yield tag, state


def _summary(ran: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the last step says that the run did; of one that did not come so far, what its steps changed and who was
    left out from the beginning of its last stage.
    """
    did = {state["name"]: state.get("changed", ()) for state in ran if state.get("changed", state["changes"])}
    if "summary" in ran[-1]:
        return [*summary.lines(did), *(text for text in ran[-1]["summary"] if not summary.of_changes(text))]
    left: Mapping[str, str] = next((state["left"] for state in reversed(ran) if "left" in state), {})
    return summary.lines(did, left_out.judged(left, (), None))


def _warning(finding: Mapping[str, Any]) -> str:
    """What a check warns of, in one line."""
    hosts = f"{several(finding['hosts'])}: " if finding["hosts"] else ""
    return f"{hosts}{finding['message']}; {finding['fix']}"


def _outcome(returned: Any, success: Any, function: str = "") -> tuple[str, int]:
    """Why one minion failed (empty where it did not), and how many states changed something."""
    if isinstance(success, dict):  # several functions: a truth for each
        outcomes = [_outcome(returned.get(name), good, name) for name, good in success.items()]
        return "; ".join(reason for reason, _ in outcomes if reason), sum(changes for _, changes in outcomes)
    if isinstance(returned, dict) and all(isinstance(state, dict) and "result" in state for state in returned.values()):
        wrong = [state for state in returned.values() if state["result"] is False]
        reason = "; ".join(failure(state) for state in wrong)
        return reason, sum(1 for state in returned.values() if state.get("changes"))
    if success:
        return "", 0
    return "; ".join(map(str, returned)) if isinstance(returned, list) else words(function, str(returned)), 0


def _warnings(returned: Any) -> list[str]:
    """What a minion's states warn of (Salt's own key), in their order."""
    states = returned.values() if isinstance(returned, dict) else ()
    lists = (state.get("warnings") or () for state in states if isinstance(state, dict))
    return [str(warning) for warnings in lists for warning in warnings]


def _last_line(text: Any) -> str:
    return (str(text).strip().splitlines() or [""])[-1]
