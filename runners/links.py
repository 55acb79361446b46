"""``salt-run links.deploy``: planned links come to be, host by host where a cluster runs."""

import time

from proposals import answer
from proposals.networking import proof

LIMIT = 180  # seconds one host may take to apply its links, the rollback included; the same for the cluster to recover


@answer.answers
def deploy(minions=(), test=False, **_):
    """Apply the planned links where they differ: the deploy stage's step. Each host has its own rollback.

    Host by host where a cluster runs, the next one when the cluster is as it was before; all at once where none does;
    the master's own host last. The others are asked once and left alone.

    minions
        The minions that have planned links.
    test
        Only say what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run links.deploy '[osdnode1]' test=True
    """
    found, silent = _reports(minions)
    if silent:
        return answer.bad(f"{', '.join(silent)}: did not answer: look at 'salt-run manage.status', run the stage again")
    problems = [f"{host}: {line}" for host, one in found.items() for line in one["problems"]]
    if problems:
        return answer.bad("\n".join(problems))
    differ = {host: one["changes"] for host, one in found.items() if one["changes"]}
    if not differ:
        return {"text": f"the links of {len(found)} hosts are as planned"}
    if test:
        return {"text": "\n".join(f"{host}: {_words(what)}" for host, what in differ.items()), "changes": differ}
    running = any(one["daemons"] for one in found.values())
    lines = []
    for group in proof.turns(sorted(differ), _master(), running):
        before = _health() if running else []
        said = _apply(group)
        if said:
            return answer.bad("\n".join([*lines, *said]))
        lines += [f"{host}: {_words(differ[host])}" for host in group]
        if running and (worse := _settled(before)):
            return answer.bad("\n".join([*lines, f"stopped after {', '.join(group)}, the cluster is worse: {worse}"]))
    return {"text": "\n".join(lines), "changes": differ}


def _apply(group):
    """Apply on some hosts; return what went wrong, by host. A lost answer is asked for again."""
    answered = __salt__["minions.ask"](group, ["state.apply"], [["ceph.host.networks"]], timeout=LIMIT)
    found, silent = _reports(group)
    end = time.monotonic() + LIMIT
    while silent and time.monotonic() < end:
        time.sleep(2)
        found, silent = _reports(group)
    told = [f"{host}: does not answer any more: it undoes the change by itself; look at its console" for host in silent]
    for host, one in found.items():
        if one["changes"]:
            why = one["undone"] or _failed(answered.get(host, {})) or _words(one["changes"])
            told.append(f"{host}: the planned links did not come to be, what was there is there again: {why}")
    return told


def _failed(answered):
    """The comments of the states that failed, or what Salt said in their place."""
    states = answered.get("state.apply")
    if not isinstance(states, dict):
        return str(states or "")
    return "; ".join(one["comment"] for one in states.values() if one.get("result") is False)


def _reports(minions):
    """``links.report`` of each minion, in one job, and those that did not answer."""
    answered = __salt__["minions.ask"](list(minions), ["links.report"]) if minions else {}
    found = {
        host: one["links.report"] for host, one in sorted(answered.items()) if isinstance(one.get("links.report"), dict)
    }
    return found, sorted(set(minions) - set(found))


def _master():
    return __opts__["id"].removesuffix("_master")


def _health():
    """What keeps the cluster from being whole, as the master's own host sees it."""
    answered = __salt__["minions.ask"]([_master()], ["cluster_health.problems"], [[0]])
    found = answered.get(_master(), {}).get("cluster_health.problems")
    return found if isinstance(found, list) else [str(found)]


def _settled(before):
    """Wait until nothing is wrong that was not before; return what still is after the limit."""
    end = time.monotonic() + LIMIT
    while (worse := sorted(set(_health()) - set(before))) and time.monotonic() < end:
        time.sleep(2)
    return "; ".join(worse)


def _words(changes):
    return "; ".join(f"{name} {what}" for name, what in sorted(changes.items()))
