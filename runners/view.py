"""``salt-run view.*``: what the page shows, as data. Nothing here changes anything; ``page.enable`` says to whom."""

import time
from typing import Any

from proposals.disks import arguments
from proposals.files import tree
from proposals.files.site import site
from proposals.inventory import kept
from proposals.pictures import disks, drawing, report
from proposals.pictures import hosts as pictured
from proposals.pictures import networks as pictured_networks
from proposals.policy import fragments, store
from proposals.text.errors import ArgumentError, ProposalError
from runners.engine import answer
from runners.engine.master import planning
from runners.engine.page import page_policy, page_runs
from runners.engine.runs import stage_lock

__func_alias__ = {"hosts_": "hosts", "networks_": "networks"}
MOST = 200  # lines or hosts of one answer
CABLES = 5000


@answer.answers
def start(**_: Any) -> answer.Output:
    """Tell what there is to see: proposals, network proposals, the planner's arguments, stages that may be run.

    CLI Example:

    .. code-block:: bash

        salt-run view.start
    """
    root = site(__opts__).proposals
    folders = tree.folders(root) if root.is_dir() else []  # before discovery there is none
    named = {
        kind: [folder.removeprefix(f"{kind}-") for folder in folders if folder.startswith(f"{kind}-")]
        for kind in ("profile", "network")
    }
    told = [
        {"name": name, "meaning": argument.meaning, "default": argument.default}
        for name, argument in arguments.ARGUMENTS.items()
        if name != "force"
    ]
    job = stage_lock.holder(__opts__) or {}
    return {
        "user": answer.user(),
        "proposals": named["profile"],
        "networks": named["network"],
        "arguments": told,
        "stages": page_runs.STAGES,
        "typed": page_runs.TYPED,
        "running": job.get("stage"),
    }


@answer.answers
def hosts_(first: int = 0, **_: Any) -> answer.Output:
    """Show hosts and disks as discovery saw them, as a picture's data.

    first
        The group of equal hosts to begin with: one answer holds as many as Salt's event bus takes.

    CLI Example:

    .. code-block:: bash

        salt-run view.hosts
    """
    folder = planning.discovered(__opts__)
    looked = kept.looked(folder).values()
    told = [time.strftime("%Y-%m-%d %H:%M", time.localtime(edge(looked))) for edge in (min, max)] if looked else []
    return {**drawing.told(pictured.picture(kept.load_inventory(folder)), _number(first)), "looked": told}


@answer.answers
@answer.takes(arguments.ARGUMENTS)
def peek(first: int = 0, **kwargs: Any) -> answer.Output:
    """Show what ``proposal.peek`` shows, as a picture's data, and what differs from the stored one of that name.

    first
        As in ``view.hosts``.

    CLI Example:

    .. code-block:: bash

        salt-run view.peek name=apollo ratio=9
    """
    planning.discovered(__opts__)
    made = planning.plan(__opts__, planning.narrow(kwargs))
    told = made.plan.as_dict()
    told["hosts"] = fragments.named(made.plan, told)
    picture = {**drawing.told(disks.picture(told), _number(first)), "messages": made.stale}
    stored = store.stored_proposal(made.root, told["name"])
    return {**picture, "arguments": told["arguments"], "differs": planning.differs(stored, told)}


@answer.answers
def proposal(name: str = "default", first: int = 0, **_: Any) -> answer.Output:
    """Show a stored proposal as a picture's data, and its arguments.

    first
        As in ``view.hosts``.

    CLI Example:

    .. code-block:: bash

        salt-run view.proposal apollo
    """
    stored = _asked("proposal.show", name=str(name))
    return {**drawing.told(disks.picture(stored), _number(first)), "arguments": stored["arguments"]}


@answer.answers
def compare(old: str, new: str, **_: Any) -> answer.Output:
    """Show what differs between two stored proposals.

    CLI Example:

    .. code-block:: bash

        salt-run view.compare default apollo
    """
    before, after = (_asked("proposal.show", name=str(name)) for name in (old, new))
    told = {"old": before["arguments"], "new": after["arguments"]}
    summaries = [disks.picture(each).summary for each in (before, after)]
    falls = [disks.worst(each) for each in (before, after)]
    return {"arguments": told, "summaries": summaries, "falls": falls, "differs": planning.differs(before, after)}


@answer.answers
def policy(**_: Any) -> answer.Output:
    """Show policy.cfg and what each of its lines matches.

    CLI Example:

    .. code-block:: bash

        salt-run view.policy
    """
    root = site(__opts__).proposals
    return page_policy.shown(root, page_policy.text(root))


@answer.answers
def networks_(name: str = "default", cables: bool = False, first: int = 0, **_: Any) -> answer.Output:
    """Show a stored network proposal as a picture's data: bonds, VLANs, ports.

    cables
        True: with the switch that each port's cable leads to, as ``networks.cables`` tells; hosts are asked now.
    first
        As in ``view.hosts``.

    CLI Example:

    .. code-block:: bash

        salt-run view.networks apollo
    """
    stored = _asked("networks.show", name=str(name))
    wires = _asked("networks.cables")["ports"] if cables is True else None
    return drawing.told(pictured_networks.picture(stored, wires), _number(first))


@answer.answers
def cables(**_: Any) -> answer.Output:
    """Show which cable is where, as the switches tell hosts by LLDP: ``networks.cables``; hosts are asked now.

    CLI Example:

    .. code-block:: bash

        salt-run view.cables
    """
    said = _asked("networks.cables")
    rows = [[host, port, where] for host, ports in said["ports"].items() for port, where in ports.items()]
    return {"rows": rows[:CABLES], "more": max(0, len(rows) - CABLES), "unknown": said["unknown"][:MOST]}


@answer.answers
def stages(**_: Any) -> answer.Output:
    """Show who ran what, which stage runs, and which runs can be looked at, the newest first.

    CLI Example:

    .. code-block:: bash

        salt-run view.stages
    """
    told = _asked("history.show", most=MOST)["entries"]
    return {"entries": told[::-1], **page_runs.known(__opts__)}


@answer.answers
def progress(run: str | None = None, after: int = 0, **_: Any) -> answer.Output:
    """Show the records of a stage's run; of one that goes on, those that come within 20 seconds.

    run
        One of those that ``view.stages`` names; without it, the one that goes on, or the last.
    after
        How many lines of its log are known already: ``next`` of the answer before.

    CLI Example:

    .. code-block:: bash

        salt-run view.progress
    """
    return page_runs.records(__opts__, run, _number(after))


@answer.answers
def health(**_: Any) -> answer.Output:
    """Show what is wrong with the cluster, what moves and what was known before, as ``health.show`` does.

    CLI Example:

    .. code-block:: bash

        salt-run view.health
    """
    said = _asked("health.show")
    return {kind: said[kind][:MOST] for kind in ("wrong", "moves", "known")}


@answer.answers
def osds(first: int = 0, **_: Any) -> answer.Output:
    """Show every planned OSD beside its plan, as ``osd.report`` does, as a picture's data.

    first
        As in ``view.hosts``.

    CLI Example:

    .. code-block:: bash

        salt-run view.osds
    """
    said = _asked("osd.report")
    return drawing.told(report.picture(said["osds"], said.get("messages", ())), _number(first))


def _asked(function: str, **typed: Any) -> dict[str, Any]:
    """The data of another command. Raises ProposalError with its message where it has one."""
    said = __salt__[function](**typed, __out="json")
    if "error" in said:
        raise ProposalError(said["error"])
    return said


def _number(typed: object) -> int:
    if type(typed) is not int or typed < 0:
        raise ArgumentError(f"a whole number from 0 on was expected, found '{str(typed)[:20]}'")
    return typed
