"""``salt-run removal.*``: what policy.cfg no longer names leaves the cluster: the stage removal, and calling it off."""

from proposals.cluster.removal import record, told
from proposals.files.site import site
from proposals.pillar import named
from proposals.stages import plan_steps
from proposals.text import names
from proposals.text.errors import ArgumentError, ProposalError
from proposals.text.notes import FEW
from runners.engine import answer
from runners.engine.asking import jobs
from runners.engine.removal import departure, leaving
from runners.engine.runs import stage_lock, stage_log

STEPS = 20  # at most: more smaller movements only take longer


@answer.answers
def check(confirm: str | None = None, gone: str | None = None, steps: int = 1, test: bool = False) -> answer.Output:
    """Show what leaves, what moves and what stands against it; change nothing: the stage's check.

    What leaves is what a generation that was served named, and the served one does not: OSDs, monitors, managers,
    metadata servers, gateways, monitoring, keys. Exit status 2 where it may not begin: refused, or not confirmed.

    confirm
        The hash that was printed with the list.
    gone
        Minions whose hosts are gone for good, as ``osdnode4`` or ``osdnode3,osdnode4``: what they had is given up.
    steps
        In how many steps data leaves OSDs; 1 is one movement.
    test
        As the stage in test mode calls it: that nothing was confirmed is no error then.

    CLI Example:

    .. code-block:: bash

        salt-run removal.check
    """
    _steps(steps)
    look = leaving.at(__opts__, gone)
    text = "\n".join(leaving.plan(look, _typed(gone, steps)))
    data = leaving.data(look)
    if against := leaving.against(__opts__, look):
        return {**answer.bad("\n".join([text, "refused, nothing was changed:", *against])), **data}
    if look.items and not test and confirm != look.hash:
        typed = f"confirm={names.shown(confirm)} is another list's hash" if confirm else "nothing was confirmed"
        return {**answer.bad(f"{text}\n{typed}: nothing was changed"), **data}
    return {"text": text, **data}


@answer.answers
def carry_out(confirm: str | None = None, gone: str | None = None, steps: int = 1, test: bool = False) -> answer.Output:
    """Let leave what was confirmed: a step of the stage. Interrupted at any moment, the same command goes on.

    Arguments are those of ``removal.check``, which is asked again before anything is changed.

    confirm
        The hash that was printed with the list.
    gone
        Minions whose hosts are gone for good.
    steps
        In how many steps data leaves OSDs.
    test
        Only say what would be done, in which order.

    CLI Example:

    .. code-block:: bash

        salt-run removal.carry_out test=true
    """
    _steps(steps)
    stage_lock.free(__opts__)
    look = leaving.at(__opts__, gone)
    if test:
        plan = told.dry(look.items, steps)
        changes = {step["step"]: step["comment"] for step in plan}  # of a key no minion has any part
        return {"text": _lines(plan), "plan": plan, "changes": changes} if plan else {"text": told.NOTHING}
    if against := leaving.against(__opts__, look):
        return answer.bad("\n".join(["refused, nothing was changed:", *against]))
    if look.items and confirm != look.hash:
        return answer.bad(f"the list is another one by now (hash {look.hash}): look at 'salt-run stage.plan removal'")
    if not look.items and look.begun is None:
        named.forget(site(__opts__), look.past)
        held = told.held_back(look.silent, sorted({item.minion for item in look.silent}))
        nothing = told.past(look.past) or [f"{told.NOTHING}: nothing changed"]
        return answer.bad("\n".join(held), 1) if held else {"text": "\n".join(nothing)}
    done: departure.Done = {}
    try:
        departure.carry_out(__opts__, look, done, steps)
    except ProposalError as err:
        return {**answer.bad("\n".join([*departure.lines(done), str(err)]), 1), "changes": done}
    return _done(look, done)


@answer.answers
def cancel(test: bool = False) -> answer.Output:
    """Call a removal off: OSDs that began to leave get their CRUSH weights back. What has left does not come back.

    test
        Only say what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run removal.cancel test=true
    """
    stage_lock.free(__opts__)
    seen = jobs.cluster(__opts__, "cluster_removal.inspect", kind=dict)
    begun = record.read(seen["record"])
    if begun is None:
        return {"text": "no removal is under way: nothing changed"}
    fsids = record.fsids(jobs.cluster(__opts__, "cluster_osds.states", kind=list))
    weights = record.back(begun, seen["weights"], fsids)
    lines = told.weights(weights, "{osds}: its CRUSH weight is {weight} again")
    lines += [told.LATER if test else told.LOG] if len(weights) > FEW else []
    if test:
        return {"text": "\n".join(["would be called off:", *lines]), "weights": weights}
    if weights:
        jobs.cluster(__opts__, "cluster_removal.weigh", [weights])
    jobs.cluster(__opts__, "cluster_removal.forget", kind=bool)
    stage_log.note(__opts__, "removal.cancel", "cancelled", hash=begun.hash, weights=weights)
    again = "to keep what policy.cfg no longer names, give it its lines back and run ceph.stage.configure, then "
    again += "ceph.stage.deploy, which starts what was stopped; else the stage lists it as before"
    return {"text": "\n".join([f"removal {begun.hash} is called off", *lines, again]), "weights": weights}


def _done(look: leaving.Look, done: departure.Done) -> answer.Output:
    """What was done; a host that did not answer keeps what it has, which is not what was asked for."""
    lines = departure.lines(done)
    lines += (
        ["run ceph.stage.deploy: each host's ceph.conf names the monitors that are left"]
        if any(item.kind == "mon" for item in look.items)
        else []
    )
    if held := told.held_back(look.silent, sorted({item.minion for item in look.silent})):
        return {**answer.bad("\n".join([*lines, *held]), 1), "changes": done}
    return {"text": "\n".join(lines) or "what was begun has ended: nothing changed", "changes": done}


def _lines(plan: list) -> str:
    return "\n".join(line for step in plan for line in plan_steps.lines(step))


def _steps(steps: object) -> None:
    if type(steps) is not int or not 1 <= steps <= STEPS:
        raise ArgumentError(f"steps={names.shown(steps)}: expected a whole number from 1 to {STEPS}")


def _typed(gone: str | None, steps: int) -> dict[str, str | int]:
    """What is typed beside the hash."""
    only = stage_lock.own(__opts__).get("only")
    typed = {"only": only, "gone": gone, "steps": steps if steps > 1 else None}
    return {key: value for key, value in typed.items() if value}
