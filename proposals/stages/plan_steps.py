"""What an orchestration in Salt's test mode says that it would do, step by step."""

from collections.abc import Iterator, Mapping
from typing import Any


def step(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return one step of a plan: what it says, and for each minion the states that would change something or fail.

    state
        The step's state of the orchestration, as Salt returns it.
    """
    changes = state["changes"].get("ret", {}) if isinstance(state["changes"], dict) else {}
    minions = {
        minion: [
            {"state": state["__id__"], "comment": state["comment"], "fails": state["result"] is False}
            for state in sorted(states.values(), key=lambda state: state["__run_num__"])
            if state["result"] is not True
        ]
        for minion, states in sorted(changes.items())
        if isinstance(states, dict)
    }
    return {"step": state["__id__"], "comment": state["comment"], "fails": state["result"] is False, "minions": minions}


def skipped(state: Mapping[str, Any]) -> bool:
    """Return whether a step was not even tried because one before it failed."""
    return state["result"] is False and state["comment"].startswith("One or more requisite failed")


def lines(step: Mapping[str, Any]) -> Iterator[str]:
    """Return what a person reads of one step of a plan."""
    yield f"{step['step']}: {step['comment'].strip()}" if step["fails"] or not step["minions"] else step["step"]
    for minion, states in step["minions"].items():
        for state in states:
            word = "fails" if state["fails"] else "would"
            yield f"  {word}  {minion}: {state['state']}: {state['comment'].strip()}"
