"""``salt-run daemon.*``: daemons that run with an older configuration than they would start with, and their restart."""

from proposals import answer
from proposals.text.errors import ProposalError

KINDS = ("mon", "mgr", "osd", "mds", "client")  # in Ceph's order (docs.ceph.com, install/upgrading-ceph)
STEADY = 600  # seconds until the cluster must be steady again after one host's daemons


@answer.answers
def pending(**_):
    """Name the daemons that a restart would change, with their options; nothing is restarted.

    CLI Example:

    .. code-block:: bash

        salt-run daemon.pending
    """
    waiting = _pending()
    lines = [
        f"{minion}: {name}: {option} is {_shown(now)}, would be {_shown(then)}"
        for minion, daemons in waiting.items()
        for name, options in daemons.items()
        for option, (now, then) in options.items()
    ]
    text = "\n".join([*lines, "'salt-run state.orch ceph.stage.restart' restarts them, host by host"])
    return {"text": text if lines else "no daemon waits for a restart", "daemons": waiting}


@answer.answers
def restart(test=False):
    """Restart the daemons that wait for it: monitors, managers, OSDs, others; one host at a time, while all is steady.

    Steady is: all monitors in quorum, every OSD that is in is up, all placement groups active and clean. A host is a
    failure domain or lies within one. What was not restarted is named, and the next run goes on.

    test
        Only say which.

    CLI Example:

    .. code-block:: bash

        salt-run daemon.restart test=true
    """
    waiting = _pending()
    if not waiting:
        return {"text": "no daemon waits for a restart: nothing changed"}
    steps = [
        (kind, minion, names)
        for kind in KINDS
        for minion, daemons in waiting.items()
        if (names := sorted(name for name in daemons if name.startswith(f"{kind}.")))
    ]
    if test:
        return {"text": "\n".join(f"would restart {', '.join(names)} of {minion}" for _, minion, names in steps)}
    done = {}
    for kind, minion, names in steps:
        try:
            _restart(kind, minion, names)
        except ProposalError as err:
            said = [
                f"{', '.join(names)} of {minion}: {err}",
                *(f"restarted: {host}: {each}" for host, each in done.items()),
            ]
            return {**answer.bad("\n".join([*said, "run it again when the cause is gone"])), "changes": done}
        done.setdefault(minion, []).extend(names)
    lines = [f"{minion}: restarted {', '.join(names)}" for minion, names in done.items()]
    return {"text": "\n".join(lines), "changes": done}


def _restart(kind, minion, names):
    """One host's daemons of one kind, before and after which the cluster is steady."""
    __salt__["minions.cluster"]("cluster_health.steady", [STEADY], timeout=STEADY + 60)
    if kind in ("mon", "osd", "mds"):
        ids = [name.partition(".")[2] for name in names]
        __salt__["minions.cluster"]("cluster_health.stoppable", [kind, ids])
    __salt__["minions.one"](minion, "daemons.restart", [names])
    __salt__["minions.cluster"]("cluster_health.steady", [STEADY], timeout=STEADY + 60)
    left = sorted(set(names) & set(__salt__["minions.one"](minion, "daemons.pending")))
    if left:
        raise ProposalError(
            f"{', '.join(left)} still run with the old configuration: see 'journalctl -u ceph-{kind}@*'"
        )


def _pending():
    """Which daemons of which minion wait, with what: asked in one job, after one question to the cluster."""
    startup = __salt__["minions.cluster"]("cluster_config.startup")
    members = __salt__["minions.members"]()["all"]
    answered = __salt__["minions.ask"](members, ["daemons.pending"], [[startup]])
    wrong = {minion: given["daemons.pending"] for minion, given in answered.items()}
    wrong = [f"{minion}: {said}" for minion, said in sorted(wrong.items()) if not isinstance(said, dict)]
    wrong += [f"{minion} does not answer" for minion in sorted(set(members) - set(answered))]
    if wrong:
        raise ProposalError("which daemons wait for a restart cannot be told: " + "; ".join(wrong))
    return {minion: given["daemons.pending"] for minion, given in sorted(answered.items()) if given["daemons.pending"]}


def _shown(value):
    return "not set" if value is None else value
