"""When a fault happens: a part of a stage's usual length, told as one of its steps and the seconds since that began.

A stage's run log has each step's event and, at its end, each step's seconds (``proposals/stages/records.py``). A step
comes in every run, so a part means the same moment in each, however long a run takes. Reads no clock and no cluster.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]
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


def begun(records: Sequence[Record], step: str | None) -> bool:
    """Whether a run has come to a step; None: to its beginning."""
    return any(each["event"] == ("stage" if step is None else "step") and each.get("step") == step for each in records)
