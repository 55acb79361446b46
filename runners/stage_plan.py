"""``salt-run stage_plan.*``: what an orchestration in test mode says that it would do, step by step."""


def step(state):
    """Return one step of a plan: what it says, and for each minion the states that would change something or fail.

    CLI Example: for ``salt-run stage.plan prep``.
    """
    changes = state["changes"].get("ret", {}) if isinstance(state["changes"], dict) else {}
    minions = {
        minion: [
            {"state": one["__id__"], "comment": one["comment"], "fails": one["result"] is False}
            for one in sorted(states.values(), key=lambda one: one["__run_num__"])
            if one["result"] is not True
        ]
        for minion, states in sorted(changes.items())
        if isinstance(states, dict)
    }
    return {"step": state["__id__"], "comment": state["comment"], "fails": state["result"] is False, "minions": minions}


def skipped(state):
    """Return whether a step was not even tried because one before it failed.

    CLI Example: for ``salt-run stage.plan prep``.
    """
    return state["result"] is False and state["comment"].startswith("One or more requisite failed")


def lines(step):
    """Return what a person reads of one step of a plan.

    CLI Example: for ``salt-run stage.plan prep``.
    """
    return list(_lines(step))


def _lines(step):
    yield f"{step['step']}: {step['comment'].strip()}" if step["fails"] or not step["minions"] else step["step"]
    for minion, states in step["minions"].items():
        for state in states:
            word = "fails" if state["fails"] else "would"
            yield f"  {word}  {minion}: {state['state']}: {state['comment'].strip()}"
