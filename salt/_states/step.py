"""Steps of a stage: an SLS on the hosts that take part, or a runner's answer as a state.

Salt's own ``salt.state`` takes its targets when the stage begins to be compiled, before anybody was asked who answers;
``salt.runner`` reports every run as a change and drops the runner's words.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import salt.loader
import salt.utils.event
from salt.exceptions import SaltClientError, SaltReqTimeoutError


def begin(name: str, **kwargs: object) -> dict:
    """Run the runner ``name``, in test mode too, and tell it the names of all steps of the stage: its first step.

    What the stage will look at (``look``) it sees in the job that asks who answers. Where stages are run as one
    (``ceph.stage.all``) the first of them asks for all, and the others take that, until a step changes anything. Once
    configure serves another pillar than they were compiled with, they are left to ``rest``.
    """
    if any(state.get("name") == PUSH and SERVED & set(state["changes"]) for state in __running__.values()):
        return _unchanged(name, LATER) | {"later": True}
    stages = [step["stage"] for step in __lowstate__ if step["fun"] == "begin"]
    steps = [str(step["name"]) for step in __lowstate__]
    told = {"steps": steps, "look": _looked_at(), "changes": len(_changing())}
    return runner(name, check=name, stages=stages[stages.index(kwargs["stage"]) :], **told, **kwargs)


def rest(name: str, sls: Sequence[str]) -> dict:
    """Run the stages that ``begin`` left for it, with the pillar that is served now: the last step of several stages.

    name
        Of the step.
    sls
        These stages. They are told what was typed for this run, as those before them were.
    """
    if not _later():
        return _unchanged(name, "each stage before was compiled with what is served: nothing left")
    from runners.engine.runs import stage_lock

    told = {"pillar": stage_lock.inline(__opts__) or None, "orchestration_jid": __orchestration_jid__}
    answer = _runners()["state.orchestrate"](mods=list(sls), **told)
    states = next(iter(answer["data"].values()))
    well = answer["retcode"] == 0 and isinstance(states, Mapping)
    said = {"states": states} if isinstance(states, Mapping) else {}
    comment = "ended well" if well else "did not end well" if said else "\n".join(map(str, states))
    return _unchanged(name, comment) | {"result": well, **said}


def end(name: str, **kwargs: object) -> dict:
    """Run the runner ``name``, in test mode too, and tell it what each step changed: the last step of a stage."""
    changed = {state["name"]: list(state.get("changed", ())) for state in _changing()}
    return runner(name, check=name, changed=changed, **kwargs)


def look(name: str) -> dict:
    """Say, by the runner ``name``, whether any SLS of the steps behind it would change or say anything, as the stage's
    first step has seen it.

    Where none would on any host they are not applied, nor planned, unless a step between changes something: a run with
    nothing to do costs one job in place of one a step. Each state looks for itself, now, in Salt's test mode.
    """
    return _unchanged(name, LATER) if _later() else _taken(_unchanged(name, ""), name, {})


def _looked_at() -> dict[str, Any] | None:
    """All SLS of the steps behind the look, each list of them with its hosts (None: all of ours), and more pillar for
    them. None where the stage has no look."""
    at = next((number for number, step in enumerate(__lowstate__) if step["fun"] == "look"), None)
    if at is None:
        return None
    pillar: dict[str, Any] = {}
    wanted: dict[str | None, list[str]] = {}
    for step in (step for step in __lowstate__[at + 1 :] if step["fun"] == "state"):
        pillar |= step.get("pillar") or {}
        for host in [None] if step.get("hosts") is None else step["hosts"]:
            wanted.setdefault(host, []).extend([step["sls"]] if isinstance(step["sls"], str) else step["sls"])
    groups: dict[tuple[str, ...], list[str | None]] = {}
    for host, sls in wanted.items():
        groups.setdefault(tuple(sls), []).append(host)
    told = [[list(sls), None if hosts == [None] else hosts] for sls, hosts in groups.items()]
    return {"groups": told, "pillar": pillar}


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
    runs = name
    if _later():
        return _unchanged(name, LATER)
    if __opts__["test"]:
        if not check:
            ret["comment"] = "runs on the master when the stage does"
            return ret
        runs, arguments = check, {**arguments, "test": True} if check == name else {}
    ret = _taken(ret, runs, arguments)
    behind = name == PUSH and any(step["name"] == DISCOVERY for step in __lowstate__)
    if __opts__["test"] and not ret["result"] and behind:  # what policy.cfg names may be what discovery will find
        told = {"step": name, "comment": ret["comment"], "fails": True, "minions": {}}
        return ret | {"result": True, "plan": [told]}
    return ret


def state(
    name: str,
    sls: str | Sequence[str],
    hosts: Sequence[str] | None = None,
    pillar: Mapping | None = None,
    limited: bool = True,
    go_on: bool = False,
) -> dict:
    """Apply an SLS on those of some hosts that take part in the run, side by side in one job, by ``salt.state``.

    name
        Of the step, for its run log.
    sls
        One, or several.
    hosts
        Minion ids; without it, every minion of ours.
    pillar
        More pillar for it.
    limited
        Whether the run's ``only`` limits the hosts.
    go_on
        Whether the stage goes on without a host that fails here: it is left out of what follows, and named at the end.
    """
    if _later():
        return _unchanged(name, LATER)
    taking, why = _taking(hosts, limited)
    if why:
        return {"name": name, "result": False, "changes": {}, "comment": why}
    if not taking:
        return _unchanged(name, "none of its hosts takes part: nothing changed")
    if _as_told():
        return _unchanged(name, "all was as it says when looked at: nothing changed")
    try:
        ret = _applied(name, taking, sls, pillar)
    except (SaltClientError, SaltReqTimeoutError) as err:  # it runs on the minions; the next stage waits for it
        why = BUSY.format(len(taking), str(err).partition(". ")[0])
        return {"name": name, "result": False, "changes": {}, "comment": why}
    if not __opts__["test"]:
        _refuse_test_mode(ret)
    ret["changed"] = _changed(ret["changes"].get("ret", {}))
    if len(taking) > FEW:
        ret["comment"] = _counted(ret, len(taking))
    if ret["result"] is False and go_on:
        answers = ret["changes"].get("ret", {})
        left = _runners()["targets.leave"](step=name, among=taking, answers=answers)
        said = left.get("error") or left["text"]
        ret["result"] = "error" not in left and bool(said)  # nobody named: not known who failed, so nobody is left out
        ret["comment"] += f"\n{said}"
    return ret


def _applied(name: str, taking: Sequence[str], sls: str | Sequence[str], pillar: Mapping | None) -> dict:
    """What ``salt.state`` answers; where hosts are more than the master bears at once, of all shares."""
    from runners.engine.asking import jobs

    rets: list[dict] = []
    answers: dict[str, Any] = {}
    for share in jobs.shares(__opts__, "state.apply", taking):
        patience = jobs.patience(__opts__, "state.apply", len(share))  # None: the master's own timeout
        timeout = patience if patience > __opts__["gather_job_timeout"] else None
        told = {"tgt": share, "tgt_type": "list", "sls": sls, "pillar": pillar, "timeout": timeout}
        rets.append(ret := __states__["salt.state"](name, **told))
        silent = dict.fromkeys(share, False) if ret["result"] is False else {}  # where none answers, Salt names none
        answers |= ret["changes"].get("ret") or silent
    result = next(each for each in (False, None, True) if each in [ret["result"] for ret in rets])
    said = dict.fromkeys(ret["comment"] for ret in rets if ret["result"] is result)
    return {**rets[0], "result": result, "changes": {"ret": answers} if answers else {}, "comment": "\n".join(said)}


def _counted(ret: Mapping, count: int) -> str:
    """What is said of many hosts in place of Salt's words, which name each that failed or changed."""
    from proposals.stages import targets
    from proposals.text.notes import by_host

    if ret["comment"].startswith("States ran successfully"):
        return f"{count} hosts, {len(ret['changed'])} changed"
    failed = targets.failures(ret["changes"].get("ret", {}), test=True)
    if not failed or not ret["comment"].startswith("Run failed on minions"):
        return str(ret["comment"])
    return "\n".join([f"{len(failed)} of {count} hosts failed", *by_host(failed.items())])


def _refuse_test_mode(ret: dict) -> None:
    """A minion whose own configuration says ``test: True`` has changed nothing, which Salt takes for success."""
    from proposals.stages import replies
    from proposals.text.notes import several

    answers = ret["changes"].get("ret", {})
    if tried := [minion for minion, states in answers.items() if replies.tried(states)]:
        answers |= dict.fromkeys(tried, replies.TRIED)
        ret |= {"result": False, "comment": f"{several(tried, 'more', FEW)}: {replies.TRIED}"}


def _unchanged(name: str, comment: str) -> dict:
    return {"name": name, "result": True, "changes": {}, "comment": comment}


def _as_told() -> bool:
    """Whether this stage saw that nothing is to be done (``look``), and the run has changed nothing since."""
    from runners.engine.runs import stage_lock

    looks = [number for number, tag in enumerate(__running__) if tag.endswith("_|-look")]  # in the order of running
    return stage_lock.kept(__opts__, "as_told") is True and not _changing(max(looks, default=0))


def _changing(since: int = 0) -> list[Mapping[str, Any]]:
    """The steps so far that changed anything, in their order; Salt has failures in changes too.

    since
        How many steps before are not meant.
    """
    return [state for state in list(__running__.values())[since:] if state.get("changed", state["changes"])]


def _later() -> bool:
    """Whether the stage that began last is left to ``rest``."""
    begun = [state for tag, state in __running__.items() if tag.endswith("_|-begin")]  # in the order of running
    return bool(begun) and "later" in begun[-1]


def _look_anew() -> None:
    """What was seen before a change holds no more."""
    from runners.engine.asking import minions
    from runners.engine.looks import early, stage_look

    early.keep(__opts__, None)
    minions.anew(__opts__)
    stage_look.keep(__opts__, None)


def _changed(answers: Mapping) -> list[str]:
    """The minions on which a state changed something."""
    by_minion = {minion: states.values() for minion, states in answers.items() if isinstance(states, Mapping)}
    return sorted(minion for minion, states in by_minion.items() if any(state.get("changes") for state in states))


def _taking(hosts: Sequence[str] | None, limited: bool) -> tuple[list[str], str]:
    """Which of some hosts take part, and why that is not known: the runner ``targets.hosts`` without a client of Salt's
    runners, whose making takes more than the answer, at each step."""
    from proposals.text.errors import ProposalError  # a minion has this file too, and neither of these two
    from runners.engine.asking import taking_part

    try:
        return taking_part.among(__opts__, hosts, limited), ""
    except ProposalError as err:
        return [], str(err)


def _taken(ret: dict, name: str, arguments: Mapping) -> dict:
    """Run it as a part of this orchestration, whose events then name it, and read the answer."""
    said = {"type": "runner", "name": name, "args": [], "kwargs": arguments}
    salt.utils.event.fire_args(__opts__, __orchestration_jid__, said, prefix="run")
    answer = _runners()[name](**arguments)
    ret["changes"] = answer.get("changes", {})
    if ret["changes"]:
        _look_anew()
    ret["comment"] = answer.get("error") or answer.get("text") or ""
    ret["result"] = answer.get("retcode", 0) == 0
    ret["changed"] = sorted(ret["changes"])
    return ret | {key: answer[key] for key in ("plan", "findings", "summary", "left") if key in answer}


def _runners() -> Mapping[str, Any]:
    """Salt's runners, loaded once for all steps of a stage.

    Salt's client of runners loads all that there are, makes a minion of its own to write each answer into the job
    cache, and ``saltutil.runner`` makes a client for each: a second of a processor for what the run log says already.
    """
    if RUNNERS not in __context__:
        __context__[RUNNERS] = salt.loader.runner(__opts__, utils=salt.loader.utils(__opts__))
    return __context__[RUNNERS]


BUSY = (
    "the Salt master is too busy with {} minions, or gone ({}): 'salt-run halocline.doctor' says what it needs; run "
    "the stage again, which waits for what still runs"
)
PUSH, LATER = "policy.push", "another pillar is served now: left to the last step, which takes that"
SERVED = {"generation", "written again"}  # of its changes, those by which a pillar is another one
DISCOVERY = "discovery.collect"
RUNNERS = "halocline_runners"  # in __context__
FEW = 10  # hosts that a comment names
# What Salt's compiler adds to every state's arguments (salt.state.STATE_INTERNAL_KEYWORDS holds more).
RESERVED = ("failhard", "order", "require", "fun", "state", "saltenv", "parallel", "retry")
