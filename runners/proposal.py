"""``salt-run proposal.*``: what could become of the disks, and what is to."""

import salt.utils.args

from proposals import answer
from proposals.disks import arguments, plan
from proposals.disks import explain as explain_
from proposals.disks import export as export_
from proposals.files.site import site
from proposals.inventory import compare, kept
from proposals.policy import store
from proposals.text import tables
from proposals.text.errors import ArgumentError, PlanError


@answer.answers
@answer.takes(arguments.ARGUMENTS)
def peek(**kwargs):
    """Show what a proposal would be; write nothing.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.peek name=apollo ratio=9 wal=740-770 db=740-770 target='osd*' data=5000-7000
    """
    made, _, _, stale = _plan(kwargs)
    shown = made.as_dict()
    text = "\n".join([answer.printed(tables.proposal, shown), *stale])
    return answer.told(text, {**shown, **({"messages": stale} if stale else {})}, __opts__.get("output"))


@answer.answers
@answer.takes(arguments.ARGUMENTS)
def populate(**kwargs):
    """Write a proposal: profile fragments, ``proposal.json`` and, where there is none, a policy.cfg.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.populate name=apollo ratio=9 wal=740-770 db=740-770 target='osd*' db-size=40g
    """
    made, parsed, root, stale = _plan(kwargs)
    report = store.populate(root, made, force=parsed.force)
    shown, messages = made.as_dict(), [*stale, *report.messages]
    text = "\n".join([answer.printed(tables.proposal, shown), *messages])
    return answer.told(text, {**shown, "messages": messages}, __opts__.get("output"), report.status)


@answer.answers
def default(**_):
    """Write the proposal ``default``, with no arguments, and no policy.cfg: the discovery stage's last step.

    One that cannot be made, or whose files were edited, is said and is no failure.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.default
    """
    try:
        made, _, root, _ = _plan({})
        report = store.populate(root, made, propose_policy=False)
    except PlanError as err:
        return {"text": f"warning: no default proposal can be made: {err}"}
    lines = ["warning: " + message for message in report.messages] if report.status else []
    total = made.as_dict()["summary"]
    lines.append(f"proposal 'default': {total['osds']} OSDs on {total['hosts']} hosts (salt-run proposal.show)")
    changes = {key: list(each) for key in ("written", "removed") if (each := getattr(report, key))}
    return {"text": "\n".join(lines), "changes": changes}


@answer.answers
def show(name="default", **_):
    """Show a stored proposal.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.show apollo
    """
    stored = _stored(name)
    return answer.told(answer.printed(tables.proposal, stored), stored, __opts__.get("output"))


@answer.answers
@answer.takes(arguments.ARGUMENTS)
def explain(host, disk, **kwargs):
    """Show every step of why one disk becomes what it does; further arguments are the planner's.

    host
        The minion's id.
    disk
        The disk's id, device or serial.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.explain osdnode1 /dev/sdc name=apollo ratio=9
    """
    made, _, _, _ = _plan(kwargs)
    found = explain_.disk(made, str(host), str(disk))
    return answer.told(answer.printed(tables.explanation, found), found, __opts__.get("output"))


@answer.answers
def diff(old, new=None, live=False, **_):
    """Compare two stored proposals, or one with what discovery saw last; exit status 1 where they differ.

    live
        True: compare with the disks that its hosts have now, in one job, and not with what discovery saw.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.diff apollo
        salt-run proposal.diff apollo live=true
    """
    if type(live) is not bool or (live and new is not None):
        raise ArgumentError("diff: live=true compares one proposal with its hosts: expected no other beside it")
    before, silent = _stored(old), []
    if live:
        asked = _minions(before["arguments"].get("target"))
        other = {"hosts": __salt__["discovery.look"](asked)}
        silent = [f"{minion}: does not answer" for minion in asked if minion not in other["hosts"]]
        before["hosts"] = {name: host for name, host in before["hosts"].items() if name in other["hosts"]}
    else:
        other = kept.load_inventory(site(__opts__).inventory) if new is None else _stored(new)
    found = {**compare.differences(before, other), **({"messages": silent} if silent else {})}
    text = "\n".join([answer.printed(tables.differences, found), *silent])
    return answer.told(text, found, __opts__.get("output"), 0 if found["same"] and not silent else 1)


@answer.answers
def export(name="default", **kwargs):
    """Print a stored proposal for another tool: ``as=cephadm`` (a service specification) or ``as=ceph-volume``.

    as
        ``cephadm`` or ``ceph-volume``.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.export apollo as=cephadm
    """
    form = kwargs.pop("as", "cephadm")
    if kwargs:
        raise ArgumentError(f"export: '{next(iter(kwargs))}' is not an argument; known are name, as")
    text = export_.text(_stored(name), form)
    return answer.told(text, {"as": form, "text": text}, __opts__.get("output"))


def _stored(name):
    """A stored proposal; one that is not there is told with those that are."""
    return store.finished_proposal(site(__opts__).proposals, str(name))


def _minions(target):
    """Those of our minions that a target names; all where there is none."""
    ours = __salt__["minions.ours"]()
    return [minion for minion in __salt__["minions.match"](target) if minion in ours] if target else ours


def _plan(kwargs):
    """The plan for what discovery stored, its arguments, the proposals folder, and what is stale in the inventory."""
    paths = site(__opts__)
    parsed = arguments.parse(salt.utils.args.clean_kwargs(**kwargs))
    inventory = kept.load_inventory(paths.inventory)
    targets = _minions(parsed.target)
    stored = store.stored_proposal(paths.proposals, parsed.name)
    made = plan.peek(inventory, parsed, stored=stored, targets=targets)
    return made, parsed, paths.proposals, __salt__["discovery.stale"](targets, inventory["hosts"])
