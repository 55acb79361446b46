"""``salt-run daemon.*``: daemons that run with an older configuration than they would start with, and their restart."""

from collections.abc import Sequence
from typing import Any

from proposals.text.errors import ProposalError
from runners.engine import answer, jobs, minions

KINDS = ("mon", "mgr", "osd", "mds", "client")  # in Ceph's order (docs.ceph.com, install/upgrading-ceph)
STEADY = 600  # seconds until the cluster must be steady again after one host's daemons


@answer.answers
def pending(**_: Any) -> dict[str, Any]:
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
def restart(test: bool = False) -> dict[str, Any]:
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
    done: dict[str, list[str]] = {}
    for kind, minion, names in steps:
        try:
            _restart(kind, minion, names)
        except ProposalError as err:
            lines = [f"{', '.join(names)} of {minion}: {err}"]
            lines += [f"restarted: {', '.join(restarted)} of {host}" for host, restarted in done.items()]
            return {**answer.bad("\n".join([*lines, "run it again when the cause is gone"])), "changes": done}
        done.setdefault(minion, []).extend(names)
    lines = [f"{minion}: restarted {', '.join(names)}" for minion, names in done.items()]
    return {"text": "\n".join(lines), "changes": done}


def _restart(kind: str, minion: str, names: Sequence[str]) -> None:
    """One host's daemons of one kind, before and after which the cluster is steady."""
    _steady()
    if kind in ("mon", "osd", "mds"):
        ids = [name.partition(".")[2] for name in names]
        jobs.cluster(__opts__, "cluster_health.stoppable", [kind, ids])
    jobs.one(__opts__, minion, "daemons.restart", [names])
    _steady()
    left = sorted(set(names) & set(jobs.one(__opts__, minion, "daemons.pending")))
    if left:
        raise ProposalError(
            f"{', '.join(left)} still run with the old configuration: see 'journalctl -u ceph-{kind}@*'"
        )


def _steady() -> None:
    """Wait until the cluster is steady."""
    jobs.cluster(__opts__, "cluster_health.steady", [STEADY], timeout=STEADY + 60)


def _pending() -> dict[str, dict]:
    """Which daemons of which minion wait, with what: asked in one job, after one question to the cluster."""
    startup = jobs.cluster(__opts__, "cluster_config.startup")
    replies = jobs.ask(__opts__, minions.members(__opts__)["all"], "daemons.pending", [startup])
    return {minion: daemons for minion, daemons in replies.whole().items() if daemons}


def _shown(value: object) -> object:
    return "not set" if value is None else value
