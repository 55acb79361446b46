"""``salt-run updates.*``: updates and reboots, where the pillar asks for them: the prep stage's last step.

``stage_prep_minion`` and ``stage_prep_master`` say what is allowed. Where a cluster runs, hosts go in turns: the
cluster has to be well and to say ``ok-to-stop``; ``noout`` is set for a turn's hosts, and taken away afterwards.
"""

from typing import Any

from proposals.cluster import maintenance
from proposals.settings import reader
from proposals.stages import replies
from runners.engine import answer
from runners.engine.asking import minions, taking_part
from runners.engine.hosts import updating
from runners.engine.runs import one_at_a_time, stage_lock

NOTHING = "no host needs updates or a reboot: nothing changed"
UNASKED = "neither updates nor reboots are asked for: nothing changed"


@answer.answers
def apply(test: bool = False, **_: Any) -> answer.Output:
    """Update and reboot the hosts that need it, as far as the pillar allows it. Interrupted, the same command goes on.

    Where a cluster runs: monitors' hosts first and one by one, as all that run more than OSDs; then of the hosts of
    OSDs one alone, and after it as many at once as Ceph allows (``ok-to-stop --max``). Before each turn nothing may be
    wrong with the cluster. A host whose update fails, or that does not come back, stops all, by name. Object gateways
    are out of their balancer meanwhile. Ceph's own packages are left to ``ceph.stage.upgrade``: while an update would
    bring them, nothing is updated.

    test
        Only say what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run updates.apply test=True
    """
    if not test:
        stage_lock.free(__opts__)
    master, pillar = minions.master(__opts__), minions.pillar(__opts__)
    allowed = maintenance.wanted(pillar, taking_part.among(__opts__), master)
    if not any(host.update or host.reboot for host in allowed.values()):
        return {"text": UNASKED}
    # The master's own host too, which may ask a cluster whose other hosts this run does not change.
    asks = set(taking_part.among(__opts__, limited=False)) & {master}
    updates = [minion for minion, host in allowed.items() if host.update and not test]  # of others no source is asked
    looked = {
        **updating.look(__opts__, sorted({*allowed, *asks}.difference(updates)), refresh=False),
        **updating.look(__opts__, updates, refresh=True),
    }
    due = maintenance.due(allowed, {minion: looked[minion] for minion in allowed})
    lines = maintenance.lines(due, maintenance.EACH if test else "")
    if why := looked.get(master, {}).get("reboot"):
        lines.append(f"{master}: needs a reboot ({why}): reboot it when no stage is running")
    runs = maintenance.runs(looked.values())
    updated = [minion for minion in due if allowed[minion].update]
    against = maintenance.against(updated, looked) if runs else []
    if runs and not due and not test and any(seen["asks"] for seen in looked.values()):
        try:
            updating.clean(__opts__, updating.asks(__opts__, looked))
        except one_at_a_time.Busy as err:  # its noout is in use
            lines.append(str(err))
    if not due:
        return {"text": "\n".join([*lines, NOTHING, *against])}
    if test:
        lines.append(f"{len(due)} hosts need updates or a reboot; nothing done in test mode")
        return {"text": "\n".join([*lines, *against]), "changes": due}
    if against:
        return answer.bad("\n".join(["refused, nothing was changed:", *against]))
    limit = reader.only("ready_timeout", pillar.get("ready_timeout"))[0]  # ``wanted`` has refused what is none
    if runs:
        updating.in_turns(__opts__, list(due), allowed, looked, limit)
    else:
        updating.maintain(__opts__, list(due), allowed, limit)
    return {"text": "\n".join(lines), "changes": due}


@answer.answers
def pause() -> answer.Output:
    """Pause updates and reboots of a running cluster: prep ends before its next hosts, with what it has begun done.

    CLI Example:

    .. code-block:: bash

        salt-run updates.pause
    """
    if why := updating.paused(__opts__, asker := _asker()):
        return {"text": f"they are paused {why}: nothing changed"}
    updating.pause(__opts__, asker, True)
    return {"text": "updates and reboots pause before the next hosts: 'salt-run updates.resume' lets them go on"}


@answer.answers
def resume() -> answer.Output:
    """Let updates and reboots that were paused go on: a stage that has ended meanwhile is to be run again.

    CLI Example:

    .. code-block:: bash

        salt-run updates.resume
    """
    if not updating.paused(__opts__, asker := _asker()):
        return {"text": "updates are not paused: nothing changed"}
    updating.pause(__opts__, asker, False)
    runs = (stage_lock.holder(__opts__) or {}).get("stage") == "prep"
    return {"text": "they go on" if runs else f"they may go on: 'salt-run stage.run prep'{updating.ONLY}"}


@answer.answers
def status() -> answer.Output:
    """Show which hosts are due updates or a reboot, as far as they know, and whether somebody paused that.

    CLI Example:

    .. code-block:: bash

        salt-run updates.status
    """
    looked, problems = updating.looked_at(__opts__, taking_part.among(__opts__), refresh=False)
    every = dict.fromkeys(looked, maintenance.Allowed(update=True, reboot=True))
    due = maintenance.due(every, looked)
    lines = maintenance.lines(due, maintenance.EACH)
    lines = lines or ["no host that answers is due any" if problems else "no host is due any"]
    asks = any(seen["asks"] for seen in looked.values())
    why = updating.paused(__opts__, updating.asks(__opts__, looked)) if asks else None
    lines += [f"paused {why}: 'salt-run updates.resume' lets them go on"] if why else []
    return answer.Answer("\n".join([*lines, *replies.lines(problems)]), {"due": due, "paused": why})


def _asker() -> str:
    """The minion with the role master, which asks the cluster."""
    return minions.members(__opts__)["master"][0]
