"""``salt-run operate.*``: what the page may change, each thing only as its dry run showed it."""

from typing import Any

from proposals.disks import arguments
from proposals.files.site import site
from proposals.stages import plan_steps, targets
from proposals.text import argument_readers
from proposals.text.errors import ArgumentError, ProposalError
from runners.engine import answer
from runners.engine.master import planning
from runners.engine.page import page_policy, page_runs
from runners.engine.runs import stage_lock, stage_log

MOST = 2000  # lines of a plan
CONFIRM = "what would be done is another thing by now: look at it again, then confirm that"


@answer.answers
@answer.takes(arguments.ARGUMENTS)
def populate(confirm: str | None = None, **kwargs: Any) -> answer.Output:
    """Write a proposal that was looked at. Without ``confirm`` nothing is written: the hash to confirm is told.

    Files that were edited stay: ``force`` is typed on the master.

    CLI Example:

    .. code-block:: bash

        salt-run operate.populate name=apollo ratio=9
    """
    if "force" in map(argument_readers.named, kwargs):
        raise ArgumentError("force is not for the page: salt-run proposal.populate ... force=true overwrites files")
    planned = _asked("proposal.peek", **planning.narrow(kwargs))
    known = {key: planned[key] for key in ("name", "arguments", "hosts")}
    if confirm is None:
        return {"confirm": page_policy.confirmation(known), "summary": planned["summary"], "name": planned["name"]}
    if confirm != page_policy.confirmation(known):
        raise ProposalError(CONFIRM)
    said = _asked("proposal.populate", **kwargs)
    _note("operate.populate", name=planned["name"])
    return {"name": planned["name"], "messages": said["messages"]}


@answer.answers
def policy(text: str, confirm: str | None = None, **_: Any) -> answer.Output:
    """Save policy.cfg. Without ``confirm`` nothing is written: what changes, what each line matches, the hash.

    Nothing is deployed by it: configure reads policy.cfg. The text from before stays as ``policy.cfg.before``.

    text
        The whole new text.

    CLI Example:

    .. code-block:: bash

        salt-run operate.policy text='cluster-ceph/cluster/*.sls'
    """
    stage_lock.free(__opts__)
    root = site(__opts__).proposals
    before, after = page_policy.text(root), page_policy.given(text)
    shown = page_policy.shown(root, after)
    hash_ = page_policy.confirmation(before, after)
    if confirm is None:
        told = {"changes": page_policy.changed(before, after), "lines": shown["lines"], "wrong": shown["wrong"]}
        return {**told, "confirm": None if shown["wrong"] else hash_}
    if shown["wrong"]:
        raise ProposalError(shown["wrong"])
    if confirm != hash_:
        raise ProposalError(CONFIRM)
    page_policy.save(root, after)
    _note("operate.policy")
    return {"saved": True}


@answer.answers
def plan(stage: str, only: str | None = None, **_: Any) -> answer.Output:
    """Show what a stage would do, as ``stage.plan`` does, and the hash by which ``operate.run`` runs it.

    CLI Example:

    .. code-block:: bash

        salt-run operate.plan deploy
    """
    name, hosts = page_runs.stage(stage), _only(only)
    said = _asked("stage.plan", name, only=hosts)
    lines = [line for step in said["steps"] for line in plan_steps.lines(step)]
    confirm = page_runs.planned(__opts__, answer.user(), name, hosts, lines)
    more = [f"and {len(lines) - MOST} more lines: salt-run stage.plan {name}"] if len(lines) > MOST else []
    fails = any(step["fails"] for step in said["steps"])
    return {"stage": name, "lines": [line[:300] for line in lines[:MOST]] + more, "fails": fails, "confirm": confirm}


@answer.answers
def run(stage: str, confirm: str, only: str | None = None, **_: Any) -> answer.Output:
    """Begin a stage whose dry run was looked at; ``view.progress`` shows how it goes, whoever looks.

    confirm
        The hash that ``operate.plan`` told the same user within the hour; each is good for one run.

    CLI Example:

    .. code-block:: bash

        salt-run operate.run deploy confirm=0123456789abcdef
    """
    return page_runs.begin(__opts__, answer.user(), page_runs.stage(stage), _only(only), confirm)


def _only(typed: object) -> str | None:
    if typed is not None and (not isinstance(typed, str) or len(typed) > 200):
        raise ArgumentError("only: Salt's glob was expected, such as osdnode[1-4]*")
    return targets.pattern(typed)


def _asked(function: str, *args: str, **typed: Any) -> dict[str, Any]:
    """The data of another command. Raises ProposalError with its message where it has one."""
    said = __salt__[function](*args, **typed, __out="json")
    if "error" in said:
        raise ProposalError(said["error"])
    return said


def _note(command: str, **more: Any) -> None:
    """Keep who did it, for ``history.show``."""
    stage_log.note(__opts__, command, "done", user=answer.user(), **more)
