"""``salt-run links.deploy``: apply the planned links, host by host where a cluster runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from proposals.cluster.health import judge
from proposals.networking import proof
from proposals.stages import replies
from proposals.text.errors import ProposalError
from proposals.text.notes import FEW, by_host, by_name, counted, several
from runners.engine import answer, waiting
from runners.engine.asking import jobs, taking_part
from runners.engine.asking import minions as minions_
from runners.engine.cluster import health, spared
from runners.engine.runs import one_at_a_time, stage_lock

EACH = "--out json has each host"
OF_ONE = "'salt HOST links.report' tells of one"
LIMIT = 180  # seconds one host may take to apply its links, the rollback included, and the cluster without progress


@answer.answers
def deploy(minions: Sequence[str] = (), test: bool = False, **_: Any) -> dict[str, Any]:
    """Apply the planned links where they differ: the deploy stage's step. Each host has its own rollback.

    Of hosts that the running stage leaves out nothing is asked.

    Host by host where a cluster runs: each when Ceph says ``ok-to-stop``, with ``noout`` meanwhile, and the next one
    when the cluster is as it was before. All at once where none runs; the master's own host last. The others are asked
    once and left alone.

    minions
        The minions that have planned links.
    test
        Only say what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run links.deploy '[osdnode1]' test=True
    """
    if not test:
        stage_lock.free(__opts__)
    reports = _reports(taking_part.among(__opts__, minions))
    problems = replies.lines(reports.problems)
    lacks = [(host, (), line) for host, report in reports.answers.items() for line in report["problems"]]
    problems += by_name(lacks, "{who}: {text}", OF_ONE)
    if problems:
        return answer.bad("\n".join(problems))
    differ = {host: report["changes"] for host, report in reports.answers.items() if report["changes"]}
    if not differ:
        told = f"the links of {counted(len(reports.answers), 'host')} are as planned"
        return {"text": told if reports.answers else "no host that takes part has planned links"}
    if test:
        lines = by_host(((host, _words(changes)) for host, changes in differ.items()), EACH)
        return {"text": "\n".join(lines), "changes": differ}
    return _changed(__opts__, differ, reports.answers)


@one_at_a_time.stops_daemons("links.deploy")
def _changed(opts: Mapping, differ: Mapping[str, Mapping], told: Mapping[str, Mapping]) -> dict[str, Any]:
    """Apply what differs, turn by turn, as far as the cluster is as well as before; the runner's answer."""
    # Where gateways alone change, the cluster itself says that it runs.
    running = any(report["daemons"] for report in told.values()) or _before() is not None
    done: dict[str, str] = {}
    for group in proof.turns(sorted(differ), minions_.master(opts), running):
        try:
            before = _before() if running else None
        except ProposalError as err:
            return answer.bad("\n".join([*by_host(done.items()), f"stopped before {several(group, most=FEW)}: {err}"]))
        # Of a cluster that does not answer, the change may be what mends it.
        if failures := _apply(group, told) if before is None else _spared(group, told):
            return answer.bad("\n".join([*by_host(done.items()), *failures]))
        done |= {host: _words(differ[host]) for host in group}
        # One that did not answer before and does not now may be what the change is to mend: that is no reason to stop.
        judged = running and (before is not None or _before() is not None)
        if judged and (worse := _worse(before)):
            text = f"stopped after {several(group, most=FEW)}, the cluster is worse: {'; '.join(worse)}"
            return answer.bad("\n".join([*by_host(done.items()), text]))
    return {"text": "\n".join(by_host(done.items())), "changes": differ}


def _spared(group: Sequence[str], told: Mapping[str, Mapping]) -> list[str]:
    """Apply on a host of a running cluster, which Ceph can do without; return what went wrong."""
    asker, host = minions_.master(__opts__), told[group[0]]["host"]
    if why := spared.leave(__opts__, lambda: spared.refused(__opts__, host, asker), LIMIT):
        return [f"{group[0]}: its links are left as they are, the cluster cannot do without it now: {why}"]
    try:
        with spared.noout(__opts__, [host], asker):
            if failures := _apply(group, told):
                raise ProposalError("\n".join(failures))  # a host that is cut off keeps its noout
    except ProposalError as err:
        return [str(err)]
    return []


def _apply(group: Sequence[str], told: Mapping[str, Mapping]) -> list[str]:
    """Apply on some hosts; return what went wrong, by host. A lost answer is asked for again.

    told
        What each host reported before: why it rolled back an earlier change is no reason of this one's.
    """
    applied = jobs.ask(__opts__, group, "state.apply", ["ceph.host.networks"], timeout=LIMIT)
    reports = replies.Replies({}, [])

    def unknown() -> list[replies.Problem]:
        nonlocal reports
        reports = _reports(group)
        pending = [replies.Problem(host, "") for host, report in reports.answers.items() if report.get("pending")]
        return [*reports.problems, *pending]

    lost = waiting.until_none(unknown, LIMIT, 2)
    away = "does not answer any more: it rolls back by itself; see its console"
    failures = [(minion, away) for minion, *_ in lost if minion not in reports.answers]
    why = {problem.minion: problem.text for problem in applied.failed}
    why |= {host: "; ".join(replies.failures(states)) for host, states in applied.answers.items()}
    for host, report in reports.answers.items():
        if changes := report["changes"]:
            if (undone := report["undone"]) and undone != told[host]["undone"]:
                failures.append((host, f"the new links failed and were rolled back: {undone}"))
            else:
                failures.append((host, f"its links are not as planned: {why.get(host) or _words(changes)}"))
    return by_host(failures)


def _reports(minions: Sequence[str]) -> replies.Replies:
    """What each minion plans, has and lacks of its links."""
    return jobs.ask(__opts__, minions, "links.report")


def _before() -> judge.Before | None:
    """What is wrong with the cluster already, as the master's own host sees it; None where the cluster does not say.

    Raises ProposalError where that host itself does not answer: the cluster may serve all the same, and need each host.
    """
    try:
        return judge.remembered(health.look(__opts__, minions_.master(__opts__)))
    except ProposalError as err:
        if replies.SILENT in str(err):
            raise
        return None


def _worse(before: judge.Before | None) -> list[str]:
    """What is wrong and was not before, once it gets no better; all that is wrong where nothing is known of before."""
    asker = minions_.master(__opts__)
    verdict = health.waited(lambda: health.judged(__opts__, before=before, asker=asker), LIMIT)
    return judge.lines(verdict.wrong)


def _words(changes: Mapping[str, str]) -> str:
    return "; ".join(f"{name} {what}" for name, what in sorted(changes.items()))
