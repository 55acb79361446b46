"""Steps of a stage that run on the master: a runner's answer as a state.

Salt's own ``salt.runner`` reports every run as a change and drops the runner's words; a stage must be able to
say that nothing changed.
"""

from collections.abc import Mapping


def runner(name: str, check: str | None = None, **kwargs: object) -> dict:
    """Run a runner function and take its answer: ``changes`` where it made some, its ``text`` as comment.

    name
        The runner's name, such as ``discovery.collect``; other arguments are passed on.
    check
        What runs in its place in test mode: a runner that only looks, without arguments or, where it is the same
        one, with ``test=True`` beside its own. Without it nothing runs in test mode.
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    arguments = {key: value for key, value in kwargs.items() if not key.startswith("__") and key not in RESERVED}
    if __opts__["test"]:
        if not check:
            ret["comment"] = "runs on the master when the stage does"
            return ret
        arguments = {**arguments, "test": True} if check == name else {}
    return _taken(ret, check if __opts__["test"] else name, arguments)


def _taken(ret: dict, name: str, arguments: Mapping) -> dict:
    """Run it as a part of this orchestration, whose events then name it, and read the answer."""
    done = __salt__["saltutil.runner"](
        name, kwarg=arguments, full_return=True, __orchestration_jid__=__orchestration_jid__
    )
    answer = done.get("return")
    if not isinstance(answer, dict):
        ret.update(result=False, comment=str(answer))
        return ret
    ret["changes"] = answer.get("changes", {})
    ret["comment"] = answer.get("error") or answer.get("text") or ""
    ret["result"] = answer.get("retcode", 0) == 0
    return ret | {key: answer[key] for key in ("plan", "findings") if key in answer}


# What Salt's compiler adds to every state's arguments (salt.state.STATE_INTERNAL_KEYWORDS holds more).
RESERVED = ("failhard", "order", "require", "fun", "state", "saltenv", "parallel", "retry")
