"""What an orchestration in Salt's test mode says that it would do, step by step."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from proposals.stages.replies import told
from proposals.text.notes import FEW, by_host

NOTHING = "would change nothing on the minions"
FOLLOWS = {"discovery.collect", "policy.push"}  # what discovery sees, configure goes by
UNSEEN = ", as long as discovery finds nothing new"
NEXT = "after ceph.stage.configure 'salt-run stage.plan deploy' says what that changes on the minions"


def steps(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the steps of a plan that a step of an orchestration is: itself, or the parts that its runner names.

    state
        The step's state of the orchestration, as Salt returns it.

    Each is ``{step, comment, fails, minions}``; ``minions`` as ``by_minion`` returns it. With ``serves``, a generation,
    it is the one that would serve another pillar than the plan knows.
    """
    if parts := state.get("plan"):
        return parts
    changes = state["changes"].get("ret", {}) if isinstance(state["changes"], dict) else {}
    about = {"step": state["__id__"], "comment": state["comment"], "fails": state["result"] is False}
    return [{**about, "minions": by_minion(changes)}]


def end(stage: str, states: Collection[Mapping[str, Any]]) -> list[str]:
    """Return the last line of a plan that met nothing wrong, if any: what it does not know, or that nothing changes.

    stage
        The stage's name.
    states
        Its steps, as for ``steps``.
    """
    parts = [step for state in states for step in steps(state)]
    if any(step["fails"] for step in parts):  # told already
        return []
    if any("serves" in step for step in parts):
        return [f"stage {stage} would serve another pillar: {NEXT}"]
    # What a runner would change itself stands in its step's changes; of an SLS all answers do, under ``ret``.
    own = [set(state["changes"]) - {"ret"} for state in states if isinstance(state["changes"], dict)]
    would = any(told for step in parts for told in step["minions"].values())
    unseen = UNSEEN if {state.get("name") for state in states} >= FOLLOWS else ""
    return [] if would or any(own) else [f"stage {stage} {NOTHING}{unseen}"]


def by_minion(answers: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return for each minion the states that would change something or fail: ``{state, comment, fails}``.

    answers
        What an SLS in test mode returned of each minion; one that returned no states is left out.
    """
    return {
        minion: [_told(state) for state in sorted(states.values(), key=_order) if state["result"] is not True]
        for minion, states in sorted(answers.items())
        if isinstance(states, dict)
    }


def _told(state: Mapping[str, Any]) -> dict[str, Any]:
    name, comment = told(state)
    return {"state": name, "comment": comment, "fails": state["result"] is False}


def _order(state: Mapping[str, Any]) -> int:
    return state["__run_num__"]


def skipped(state: Mapping[str, Any]) -> bool:
    """Return whether a step was not even tried because one before it failed."""
    return state["result"] is False and state["comment"].startswith("One or more requisite failed")


def lines(step: Mapping[str, Any]) -> Iterator[str]:
    """Return what a person reads of one step of a plan: host by host, or of many what several have in common."""
    yield f"{step['step']}: {step['comment'].strip()}" if step["fails"] or not step["minions"] else step["step"]
    told = [
        ("fails" if state["fails"] else "would", minion, f"{state['state']}: {state['comment'].strip()}")
        for minion, states in step["minions"].items()
        for state in states
    ]
    if len(step["minions"]) <= FEW:
        yield from (f"  {word}  {minion}: {text}" for word, minion, text in told)
        return
    for word in ("fails", "would"):
        yield from (
            f"  {word}  {line}" for line in by_host((minion, text) for which, minion, text in told if which == word)
        )
