"""``salt-run links.deploy``: apply the planned links, host by host where a cluster runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from proposals.networking import proof
from proposals.stages import replies
from runners.engine import answer, jobs, waiting
from runners.engine import minions as minions_

LIMIT = 180  # seconds one host may take to apply its links, the rollback included; the same for the cluster to recover


@answer.answers
def deploy(minions: Sequence[str] = (), test: bool = False, **_: Any) -> dict[str, Any]:
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
    reports = _reports(minions)
    problems = replies.lines(reports.problems)
    problems += [f"{host}: {line}" for host, report in reports.answers.items() for line in report["problems"]]
    if problems:
        return answer.bad("\n".join(problems))
    differ = {host: report["changes"] for host, report in reports.answers.items() if report["changes"]}
    if not differ:
        return {"text": f"the links of {len(reports.answers)} hosts are as planned"}
    if test:
        return {"text": "\n".join(f"{host}: {_words(changes)}" for host, changes in differ.items()), "changes": differ}
    running = any(report["daemons"] for report in reports.answers.values())
    lines: list[str] = []
    for group in proof.turns(sorted(differ), minions_.master(__opts__), running):
        before = _health() if running else []
        if failures := _apply(group):
            return answer.bad("\n".join([*lines, *failures]))
        lines += [f"{host}: {_words(differ[host])}" for host in group]
        if running and (worse := waiting.until_none(lambda before=before: _worse(before), LIMIT, 2)):
            text = f"stopped after {', '.join(group)}, the cluster is worse: {'; '.join(worse)}"
            return answer.bad("\n".join([*lines, text]))
    return {"text": "\n".join(lines), "changes": differ}


def _apply(group: Sequence[str]) -> list[str]:
    """Apply on some hosts; return what went wrong, by host. A lost answer is asked for again."""
    applied = jobs.ask(__opts__, group, "state.apply", ["ceph.host.networks"], timeout=LIMIT)
    reports = replies.Replies({}, [])

    def unknown() -> list[replies.Problem]:
        nonlocal reports
        reports = _reports(group)
        return reports.problems

    lost = waiting.until_none(unknown, LIMIT, 2)
    failures = [f"{minion}: does not answer any more: it rolls back by itself; see its console" for minion, *_ in lost]
    why = {problem.minion: problem.text for problem in applied.failed}
    why |= {host: _failed(states) for host, states in applied.answers.items()}
    for host, report in reports.answers.items():
        if changes := report["changes"]:
            reason = report["undone"] or why.get(host) or _words(changes)
            failures.append(f"{host}: the new links failed and were rolled back: {reason}")
    return failures


def _failed(states: Mapping[str, Mapping]) -> str:
    """The comments of the states that failed."""
    return "; ".join(state["comment"] for state in states.values() if state.get("result") is False)


def _reports(minions: Sequence[str]) -> replies.Replies:
    """What each minion plans, has and lacks of its links."""
    return jobs.ask(__opts__, minions, "links.report")


def _health() -> list[str]:
    """What keeps the cluster from being whole, as the master's own host sees it."""
    seen = jobs.ask(__opts__, [minions_.master(__opts__)], "cluster_health.problems", [0], list)
    return [*(line for problems in seen.answers.values() for line in problems), *replies.lines(seen.problems)]


def _worse(before: Sequence[str]) -> list[str]:
    """What is wrong and was not before."""
    return sorted(set(_health()) - set(before))


def _words(changes: Mapping[str, str]) -> str:
    return "; ".join(f"{name} {what}" for name, what in sorted(changes.items()))
