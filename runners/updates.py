"""``salt-run updates.*``: updates and reboots, where the pillar asks for them: the prep stage's last step.

``stage_prep_minion`` and ``stage_prep_master`` say what is allowed. Where a cluster runs, one host follows the other:
the cluster has to be well and to say ``ok-to-stop``, ``noout`` is set for that host, and taken away when it is back.
"""

import time

from proposals import answer
from proposals.cluster import maintenance
from proposals.text.errors import ProposalError

LONG = 3600  # seconds that a host's package manager may take
POLL = 5


@answer.answers
def apply(test=False, **_):
    """Update and reboot what is due and allowed; nothing where the pillar allows nothing.

    test
        Only say what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run updates.apply test=True
    """
    master = __opts__["id"].removesuffix("_master")
    pillar = __salt__["minions.pillar"]()
    allowed = maintenance.wanted(pillar, __salt__["minions.ours"](), master)
    if not any(each.update or each.reboot for each in allowed.values()):
        return {"text": "neither updates nor reboots are asked for: nothing changed"}
    looked = _look(sorted(allowed), refresh=not test)
    due = maintenance.due(allowed, looked)
    lines = [f"{minion}: {', '.join(words)}" for minion, words in due.items()]
    if why := looked.get(master, {}).get("reboot"):
        lines.append(f"{master}: is due a reboot ({why}): reboot it when no stage is running")
    if test or not due:
        return {"text": "\n".join([*lines, f"{len(due)} hosts are due something: nothing changed"])}
    limit = pillar["ready_timeout"]
    if any(seen["daemons"] or seen["foreign"] for seen in looked.values()):
        _one_by_one(maintenance.order(due, looked, master), allowed, looked, _asker(looked, master), limit)
    else:
        _maintain(list(due), allowed, limit)
    return {"text": "\n".join(lines), "changes": due}


def _one_by_one(minions, allowed, looked, asker, limit):
    """Hosts of a running cluster; the first that does not come back well ends it."""
    _ask([asker], "cluster_maintenance.end")
    for minion in minions:
        _ask([asker], "cluster_maintenance.begin", [looked[minion]["host"], limit], limit)
        try:
            _maintain([minion], allowed, limit)
        finally:
            _ask([asker], "cluster_maintenance.end")
    _ask([asker], "cluster_maintenance.well", [limit], limit)


def _maintain(minions, allowed, limit):
    """Update, look again, reboot: each one job for all of these hosts; ``limit`` is in seconds."""
    if updated := [minion for minion in minions if allowed[minion].update]:
        states = _ask(updated, "state.sls", ["ceph.host.updates"], LONG)
        failed = {minion: words for minion, states in states.items() if (words := _failed(states))}
        if failed:
            raise ProposalError("\n".join(f"{minion}: its update failed: {words}" for minion, words in failed.items()))
    looked = _look(minions, refresh=False)
    if reboots := [minion for minion in minions if allowed[minion].reboot and looked[minion]["reboot"]]:
        _await(_ask(reboots, "host_updates.reboot"), limit)


def _await(booted, limit):
    """Wait until hosts answer after a boot that is not the one in ``booted``."""
    deadline = time.monotonic() + limit
    while booted:
        if time.monotonic() > deadline:
            raise ProposalError(
                f"{', '.join(sorted(booted))}: rebooted, and not back after {limit} s (ready_timeout): look at the "
                "console, then run the stage again"
            )
        time.sleep(POLL)
        now = __salt__["minions.ask"](sorted(booted), ["host_updates.boot"], timeout=POLL)
        booted = {minion: before for minion, before in booted.items() if _boot(now, minion) in (None, before)}


def _boot(answered, minion):
    """What a minion says of its boot; None where it says nothing, or stumbles while it starts."""
    said = answered.get(minion, {}).get("host_updates.boot")
    return said if isinstance(said, str) and len(said.split()) == 2 else None


def _asker(looked, master):
    """A minion that may ask the cluster; the master's own where it may."""
    asks = sorted((minion for minion, seen in looked.items() if seen["asks"]), key=lambda minion: minion != master)
    if not asks:
        daemons = [minion for minion, seen in sorted(looked.items()) if seen["daemons"] or seen["foreign"]]
        raise ProposalError(
            f"{', '.join(daemons)}: daemons of Ceph are here, and no minion of ours has the admin key to ask their "
            "cluster: nothing was updated. Maintain these hosts with the tool that deployed them, or take them out "
            "of ceph_minions"
        )
    return asks[0]


def _look(minions, refresh=True):
    return _ask(minions, "host_updates.inspect", [refresh], LONG)


def _ask(minions, function, arguments=(), timeout=60):
    """One function on minions in one job, each of which has to answer without an error."""
    answered = __salt__["minions.ask"](minions, [function], [list(arguments)], timeout=timeout)
    given = {minion: answered.get(minion, {}).get(function, "does not answer") for minion in minions}
    # of several functions Salt answers a traceback where one fails: its last line says why
    wrong = [
        f"{minion}: {function}: {said.strip().splitlines()[-1].rpartition('Error: ')[2]}"
        for minion, said in given.items()
        if _is_wrong(function, said)
    ]
    if wrong:
        raise ProposalError("\n".join([*wrong, "when the cause is gone, run the stage again"]))
    return given


def _is_wrong(function, said):
    """Whether a text is what Salt says of an error: of these functions only ``host_updates.reboot`` answers one."""
    expected = {"host_updates.reboot": 2}.get(function)
    return isinstance(said, str) and (expected is None or len(said.split()) != expected)


def _failed(states):
    """What failed of a state run, in words; a list is what the compiler says."""
    if isinstance(states, list):
        return "; ".join(map(str, states))
    return "; ".join(str(state["comment"]) for state in states.values() if state["result"] is False)
