"""``salt-run updates.*``: updates and reboots, where the pillar asks for them: the prep stage's last step.

``stage_prep_minion`` and ``stage_prep_master`` say what is allowed. Where a cluster runs, one host follows the other:
the cluster has to be well and to say ``ok-to-stop``, ``noout`` is set for that host, and taken away when it is back.
"""

from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any

from proposals.cluster import maintenance
from proposals.cluster.health import judge
from proposals.text.errors import ProposalError
from runners.engine import answer, health, jobs, minions, spared, taking_part, waiting

LONG = 3600  # seconds that a host's package manager may take
POLL = 5  # seconds
NOTHING = "no host needs updates or a reboot: nothing changed"
Allowed = Mapping[str, maintenance.Allowed]


@answer.answers
def apply(test: bool = False, **_: Any) -> dict[str, Any]:
    """Update and reboot the hosts that need it, as far as the pillar allows it.

    test
        Only say what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run updates.apply test=True
    """
    master, pillar = minions.master(__opts__), minions.pillar(__opts__)
    allowed = maintenance.wanted(pillar, taking_part.among(__opts__), master)
    if not any(host.update or host.reboot for host in allowed.values()):
        return {"text": "neither updates nor reboots are asked for: nothing changed"}
    # The master's own host too, which may ask a cluster whose other hosts this run does not change.
    asks = set(taking_part.among(__opts__, limited=False)) & {master}
    looked = _look(sorted({*allowed, *asks}), refresh=not test)
    due = maintenance.due(allowed, {minion: looked[minion] for minion in allowed})
    lines = [f"{minion}: {', '.join(words)}" for minion, words in due.items()]
    if why := looked.get(master, {}).get("reboot"):
        lines.append(f"{master}: needs a reboot ({why}): reboot it when no stage is running")
    if test or not due:
        lines.append(f"{len(due)} hosts need updates or a reboot; nothing done in test mode" if due else NOTHING)
        return {"text": "\n".join(lines)}
    limit = pillar["ready_timeout"]
    if any(seen["daemons"] or seen["foreign"] for seen in looked.values()):
        _one_by_one(maintenance.order(due, looked, master), allowed, looked, _asker(looked, master), limit)
    else:
        _maintain(list(due), allowed, limit)
    return {"text": "\n".join(lines), "changes": due}


def _one_by_one(
    hosts: Sequence[str], allowed: Allowed, looked: Mapping[str, Mapping], asker: str, limit: float
) -> None:
    """Hosts of a running cluster; the first that does not come back well ends it."""
    _ask([asker], "cluster_maintenance.end", kind=list)
    for minion in hosts:
        _until_well(asker, limit, host := looked[minion]["host"])
        with spared.noout(__opts__, [host], asker):
            _maintain([minion], allowed, limit)
    _until_well(asker, limit)


def _until_well(asker: str, limit: float, host: str | None = None) -> None:
    """Wait until nothing is wrong with the cluster, and where a host is named until Ceph can do without it.

    Raises ProposalError with what stands against it when that got no better for ``limit`` seconds.
    """

    def look() -> judge.Verdict:
        found = health.judged(__opts__, asker=asker)
        if host is None or found.wrong:
            return found
        refusals = spared.against(spared.refused(__opts__, host, asker))
        return judge.Verdict(refusals, found.moves, found.known)

    if wrong := health.waited(look, limit).wrong:
        why = "; ".join(judge.lines(wrong))
        raise ProposalError(f"{host or 'the cluster'}: {why}; when the cause is gone, run the stage again")


def _maintain(hosts: Sequence[str], allowed: Allowed, limit: float) -> None:
    """Update, look again, reboot: each one job for all of these hosts; ``limit`` is in seconds."""
    if updated := [minion for minion in hosts if allowed[minion].update]:
        applied = _ask(updated, "state.sls", ["ceph.host.updates"], timeout=LONG)
        failed = {minion: words for minion, states in applied.items() if (words := _failed(states))}
        if failed:
            raise ProposalError("\n".join(f"{minion}: its update failed: {words}" for minion, words in failed.items()))
    looked = _look(hosts, refresh=False)
    if reboots := [minion for minion in hosts if allowed[minion].reboot and looked[minion]["reboot"]]:
        _await(_ask(reboots, "host_updates.reboot", kind=str), limit)


def _await(booted: Mapping[str, str], limit: float) -> None:
    """Wait until hosts answer after a boot that is not the one in ``booted``."""

    def away() -> list[str]:
        boots = jobs.ask(__opts__, booted, "host_updates.boot", kind=str, timeout=POLL).answers
        return [minion for minion, before in booted.items() if boots.get(minion) in (None, before)]

    if left := waiting.until_none(away, limit, POLL):
        raise ProposalError(
            f"{', '.join(sorted(left))}: rebooted, and not back after {limit} s (ready_timeout): look at the "
            "console, then run the stage again"
        )


def _asker(looked: Mapping[str, Mapping], master: str) -> str:
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


def _look(hosts: Sequence[str], refresh: bool = True) -> dict[str, Any]:
    return _ask(hosts, "host_updates.inspect", [refresh], timeout=LONG)


def _ask(
    hosts: Sequence[str],
    function: str,
    arguments: Sequence[Any] = (),
    kind: type | UnionType = dict,
    timeout: float = 60,
) -> dict[str, Any]:
    """One function on minions in one job, each of which has to answer without an error."""
    return jobs.ask(__opts__, hosts, function, arguments, kind, timeout).whole()


def _failed(states: Mapping[str, Mapping]) -> str:
    """What failed of a state run, in words."""
    return "; ".join(str(state["comment"]) for state in states.values() if state["result"] is False)
