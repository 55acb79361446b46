"""``salt-run upgrade.*``: newer packages of Ceph on a running cluster: the stage upgrade, its pause and its status."""

from typing import Any

from proposals.cluster.upgrade import order, told
from proposals.text.errors import ProposalError
from proposals.text.notes import FEW, several
from runners.engine import answer
from runners.engine.asking import jobs, minions
from runners.engine.hosts import updating, upgrading
from runners.engine.runs import stage_lock


@answer.answers
def check(test: bool = False) -> answer.Output:
    """Say which versions there are, in which order hosts would be upgraded, what stands against it: the stage's check.

    Nothing is changed but what hosts know of their package sources. Exit status 2 where it may not begin: a daemon
    newer than the packages, more than two releases at once, several versions that run, sources that differ, a cluster
    that is not well.

    test
        As the stage in test mode calls it: no difference.

    CLI Example:

    .. code-block:: bash

        salt-run upgrade.check
    """
    look = upgrading.at(__opts__, refresh=True)
    if look.done:
        return {"text": told.NOTHING, **_data(look)}
    systems = [system["name"] for system in look.seen["systems"]]
    text = "\n".join([*told.versions(look.hosts), *told.plan(look.part, look.last, systems)])
    if against := upgrading.against(__opts__, look):
        return {**answer.bad("\n".join([text, "refused, nothing was changed:", *against])), **_data(look)}
    return {"text": text, **_data(look)}


@answer.answers
def carry_out(test: bool = False) -> answer.Output:
    """Upgrade Ceph's packages and restart its daemons: a step of the stage. Interrupted, the same command goes on.

    Monitors, managers (the active one last), OSDs, metadata servers (file systems have one active server meanwhile),
    gateways; then hosts without daemons. Of each kind one host goes alone at first; then OSDs go by as many hosts at
    once as Ceph allows (``ok-to-stop --max``), with ``noout`` for these. Before each turn the cluster may have nothing
    wrong that was not when it began; a host whose packages fail, or whose daemons do not come back, stops all, by name.
    At the end OSDs older than the new release are let in no more (``require-osd-release``).

    test
        Only say what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run upgrade.carry_out test=true
    """
    if test:
        said = check(test=True)
        return said if said.get("text") == told.NOTHING else {**said, "changes": said.get("hosts", {})}
    stage_lock.free(__opts__)
    look = upgrading.at(__opts__, refresh=False)
    if look.done:
        return {"text": f"{told.NOTHING}: nothing changed"}
    if against := upgrading.against(__opts__, look):
        return answer.bad("\n".join(["refused, nothing was changed:", *against]))
    done: upgrading.Done = {}
    try:
        notes = upgrading.carry_out(__opts__, look, done, _tell)
    except ProposalError as err:
        return {**answer.bad("\n".join([*told.done(done), str(err)]), 1), "changes": done}
    if notes:
        return {**answer.bad("\n".join([*told.done(done), *notes]), 1), "changes": done}
    ended = f"all hosts have Ceph's packages {look.target}, and all daemons run from them"
    ended += "; 'salt-run smoke.test' tries every service"
    return {"text": "\n".join([*told.done(done), ended]), "changes": done or {"ceph": ["upgrade ended"]}}


@answer.answers
def pause() -> answer.Output:
    """Pause the upgrade that is under way: the stage ends before the next hosts, with what it has begun done.

    CLI Example:

    .. code-block:: bash

        salt-run upgrade.pause
    """
    seen = _seen()
    if seen["record"] is None:
        return {"text": "no upgrade is under way: nothing changed"}
    if seen["paused"]:
        return {"text": f"it is paused {seen['paused']}: nothing changed"}
    jobs.cluster(__opts__, "cluster_upgrade.pause", [updating.by(__opts__)], bool)
    return {"text": "the upgrade pauses before its next hosts: 'salt-run upgrade.resume' lets it go on"}


@answer.answers
def resume() -> answer.Output:
    """Let an upgrade that was paused go on: a stage that has ended meanwhile is to be run again.

    CLI Example:

    .. code-block:: bash

        salt-run upgrade.resume
    """
    if not _seen()["paused"]:
        return {"text": "no upgrade is paused: nothing changed"}
    jobs.cluster(__opts__, "cluster_upgrade.pause", [None], bool)
    runs = (stage_lock.holder(__opts__) or {}).get("stage") == "upgrade"
    return {"text": "the upgrade goes on" if runs else f"it may go on: 'salt-run stage.run upgrade'{updating.ONLY}"}


@answer.answers
def status() -> answer.Output:
    """Show how far an upgrade is: versions of packages, daemons that run from older ones, what is kept of it.

    CLI Example:

    .. code-block:: bash

        salt-run upgrade.status
    """
    look = upgrading.at(__opts__, refresh=False, whole=False)
    lines = told.status(look.hosts, look.record, look.seen["paused"])
    if look.left:
        lines.append(f"does not answer, or is left out: {several(look.left, most=FEW)}")
    return answer.Answer("\n".join(lines), _data(look))


def _data(look: upgrading.Look) -> dict[str, Any]:
    hosts = {
        minion: {
            "version": host.version,
            "next": host.next,
            "anew": [name for kind in order.KINDS for name in host.waiting(kind)],
        }
        for minion, host in look.hosts.items()
    }
    return {"hosts": hosts, "left": [*look.left], "record": look.record.as_dict() if look.record else None}


def _seen() -> dict[str, Any]:
    minions.members(__opts__)  # says so where nothing is configured yet
    return jobs.cluster(__opts__, upgrading.SEEN, kind=dict)


def _tell(line: str) -> None:
    """Say a step as it begins; a stage gets the answer alone."""
    if not stage_lock.own(__opts__):
        answer.tell(__opts__, line)
