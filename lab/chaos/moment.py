"""When a fault happens: a part of a stage's usual length, told as one of its steps and the seconds since that began.

A stage's run log has each step's event and, at its end, each step's seconds (``proposals/stages/records.py``). A step
comes in every run, so a part means the same moment in each, however long a run takes. Reads no clock and no cluster.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]
LATE = "after it ended"  # of a fault that struck no stage
UNKNOWN = 20.0  # seconds of a stage that has not run to its end on this lab yet


def parse(text: str) -> list[Record]:
    """The records of a run log's text; a last line without its end is none yet."""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def lengths(records: Sequence[Record]) -> list[tuple[str, float]]:
    """Each step of a run and its seconds, in order; nothing where the run did not end well."""
    if not records or records[-1].get("result") != "done" or records[-1]["event"] != "end":
        return []
    return [(each["step"], each["seconds"]) for each in records if each["event"] == "result"]


def moment(steps: Sequence[tuple[str, float]], part: float) -> tuple[str | None, float]:
    """The step in which a part (0 to 1) of a stage lies, and the seconds since that step began.

    None: since the stage itself began. Its first step writes the log, which does not tell of that step.
    """
    left = part * (sum(seconds for _, seconds in steps) if steps else UNKNOWN)
    for at, (step, seconds) in enumerate(steps):
        if left < seconds:
            return (step if at else None), round(left, 1)
        left -= seconds
    return (steps[-1][0] if len(steps) > 1 else None), round(left, 1)


def begun(records: Sequence[Record], step: str | None, usual: Sequence[tuple[str, float]] = ()) -> str | None:
    """The step that a run has come to: this one or, where it leaves that out, a later one of the usual run.

    step: None is the run's beginning, which is told as ``it``. None as the answer: it has not come so far.
    """
    if step is None:
        return "it" if any(each["event"] == "stage" for each in records) else None
    names = [name for name, _ in usual]
    wanted = {step, *(names[names.index(step) :] if step in names else ())}
    return next((each["step"] for each in records if each["event"] == "step" and each["step"] in wanted), None)
