"""``salt-run proposal.*``: plan disks, store and show plans."""

from typing import Any

from proposals.disks import arguments, history
from proposals.disks import explain as explain_
from proposals.disks import export as export_
from proposals.files import site
from proposals.inventory import compare, kept
from proposals.pictures import disks as pictures
from proposals.pictures import terminal
from proposals.policy import store
from proposals.stages import replies
from proposals.text import argument_readers, tables
from proposals.text.errors import ArgumentError, ProposalError
from proposals.text.notes import cut
from runners.engine import answer
from runners.engine.looks import look
from runners.engine.master import pages, planning
from runners.engine.runs import one_at_a_time

AGAIN = "'salt-run proposal.populate --out json' has each"


@answer.answers
@answer.takes(arguments.ARGUMENTS)
def peek(**kwargs: Any) -> answer.Answer:
    """Show what a proposal would be; write nothing. ``all=true`` gives each host and device a line of its own,
    ``tree=true`` a tree of what hangs on which device.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.peek name=apollo ratio=9 wal=740-770 db=740-770 target='osd*' data=5000-7000
    """
    everything, tree = _switch("all", kwargs), _switch("tree", kwargs)
    planned, _, _, stale = planning.plan(__opts__, kwargs)
    shown = planned.as_dict()
    text = "\n".join([_printed(shown, everything, tree), *stale])
    return answer.Answer(text, {**shown, **({"messages": stale} if stale else {})})


@answer.answers
@answer.takes(arguments.ARGUMENTS)
def populate(**kwargs: Any) -> answer.Answer:
    """Write a proposal: profile fragments, ``proposal.json`` and, where there is none, a policy.cfg.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.populate name=apollo ratio=9 wal=740-770 db=740-770 target='osd*' db-size=40g
    """
    everything = _switch("all", kwargs)
    with one_at_a_time.alone(__opts__, "proposal.populate", one_at_a_time.PROPOSALS):
        planned, parsed, root, stale = planning.plan(__opts__, kwargs)
        report = store.populate(root, planned, force=parsed.force)
    shown, messages = planned.as_dict(), [*stale, *report.messages]
    told = tables.messages(messages, everything)
    text = "\n".join([tables.printed(tables.proposal, shown, everything), *told])
    return answer.Answer(text, {**shown, "messages": messages}, report.status)


@answer.answers
def default(**_: Any) -> dict[str, Any]:
    """Write the proposal ``default``, with no arguments, and no policy.cfg: the discovery stage's last step.

    One that somebody made with arguments is left alone. Where it cannot be made, or its files were edited, a warning
    says so; that is no failure.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.default
    """
    try:
        asked = history.by_hand(store.stored_proposal(site.site(__opts__).proposals, "default"))
        if asked:
            left = f"proposal 'default' was made with {asked} and is left alone"
            return {"text": f"{left}: plan new disks with salt-run proposal.populate {asked}"}
        with one_at_a_time.alone(__opts__, "proposal.default", one_at_a_time.PROPOSALS):
            planned = planning.plan(__opts__, {})
            report = store.populate(planned.root, planned.plan, propose_policy=False)
    except ProposalError as err:
        return {"text": f"warning: no default proposal can be made: {err}"}
    lines = cut(["warning: " + message for message in report.messages] if report.status else [], AGAIN)
    total = planned.plan.as_dict()["summary"]
    lines.append(f"proposal 'default': {total['osds']} OSDs on {total['hosts']} hosts (salt-run proposal.show)")
    changes = {key: list(files) for key in ("written", "removed") if (files := getattr(report, key))}
    return {"text": "\n".join(lines), "changes": changes}


@answer.answers
def show(name: str = "default", all: bool = False, tree: bool = False, **_: Any) -> answer.Answer:
    """Show a stored proposal; ``all=true`` gives each host and device a line of its own.

    tree
        True: what hangs on which device, as a tree.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.show apollo
        salt-run proposal.show apollo tree=true
    """
    stored = _stored(name)
    return answer.Answer(_printed(stored, _switch("all", {"all": all}), _switch("tree", {"tree": tree})), stored)


@answer.answers
@answer.takes(arguments.ARGUMENTS)
def explain(host: str, disk: str, **kwargs: Any) -> answer.Answer:
    """Show every step of why one disk becomes what it does; further arguments are the planner's.

    host
        The minion's id.
    disk
        The disk's id, device or serial.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.explain osdnode1 /dev/sdc name=apollo ratio=9
    """
    planned, _, _, _ = planning.plan(__opts__, kwargs)
    steps = explain_.disk(planned, str(host), str(disk))
    return answer.Answer(tables.printed(tables.explanation, steps), steps)


@answer.answers
def diff(old: str, new: str | None = None, live: bool = False, **_: Any) -> answer.Answer:
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
    if new is not None:
        other = _stored(new)
    else:
        target = before["arguments"].pop("target", None)  # a match, which only Salt can tell whom it means
        asked = planning.minions_of(__opts__, None if target is None else str(target))
        if live:
            looked = look.at(__opts__, asked)
            other, silent = {"hosts": looked.hosts}, replies.lines(looked.problems)
            before["hosts"] = {name: host for name, host in before["hosts"].items() if name in other["hosts"]}
        else:
            hosts = kept.load_inventory(site.site(__opts__).inventory)["hosts"]
            other = {"hosts": {name: hosts[name] for name in hosts.keys() & {*asked, *before["hosts"]}}}
    changes = {**compare.differences(before, other), **({"messages": silent} if silent else {})}
    text = "\n".join([tables.printed(tables.differences, changes), *silent])
    return answer.Answer(text, changes, 0 if changes["same"] and not silent else 1)


@answer.answers
def export(name: str = "default", **kwargs: Any) -> answer.Answer:
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
    return answer.Answer(text, {"as": form, "text": text})


@answer.answers
def page(name: str = "default", file: str = "proposal.html", **_: Any) -> answer.Answer:
    """Write a stored proposal as a picture that needs no server: what lies on which disk, what falls with each.

    file
        Where to; ``.html`` or ``.svg`` at its end says which.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.page apollo file=/srv/apollo.html
    """
    return pages.write(str(file), lambda: pictures.picture(_stored(name)))


def _stored(name: str) -> dict[str, Any]:
    """A stored proposal; ArgumentError that lists those that are there where it is not."""
    return store.finished_proposal(site.site(__opts__).proposals, str(name))


def _switch(name: str, kwargs: dict[str, Any]) -> bool:
    """Take a switch out of what was typed: ``all``, each host and device by itself; ``tree``."""
    return bool(argument_readers.switch(name, kwargs.pop(name, False))[0])


def _printed(told: dict[str, Any], everything: bool, tree: bool) -> str:
    """A proposal as a person reads it."""
    if tree:
        return tables.printed(terminal.show, pictures.picture(told))
    return tables.printed(tables.proposal, told, everything)
