"""Steps of a stage that run on the master: a runner's answer as a state.

Salt's own ``salt.runner`` reports every run as a change and drops the runner's words; a stage must be able to
say that nothing changed.
"""


def runner(name, **kwargs):
    """Run a runner function and take its answer: ``changes`` where it made some, its ``text`` as comment.

    name
        The runner's name, such as ``discovery.collect``; other arguments are passed on.
    """
    arguments = {key: value for key, value in kwargs.items() if not key.startswith("__") and key not in RESERVED}
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if __opts__["test"]:
        ret["comment"] = "runs on the master when the stage does"
        return ret
    answer = __salt__["saltutil.runner"](name, kwarg=arguments, full_return=True).get("return")
    if not isinstance(answer, dict):
        ret.update(result=False, comment=str(answer))
        return ret
    ret["changes"] = answer.get("changes", {})
    ret["comment"] = answer.get("error") or answer.get("text") or ""
    ret["result"] = answer.get("retcode", 0) == 0
    return ret


# What Salt's compiler adds to every state's arguments (salt.state.STATE_INTERNAL_KEYWORDS holds more).
RESERVED = ("failhard", "order", "require", "fun", "state", "saltenv", "parallel", "retry")
