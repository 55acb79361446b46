"""The state runs on minions that stages start, wait for and end."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from proposals.stages.masters import several_active
from proposals.stages.orchestrations import Jobs, named, state_runs
from runners.engine import jobs
from runners.engine.waiting import until_none

PATIENCE = 15  # seconds for a minion to answer, then Salt asks once more (gather_job_timeout)


def running(opts: Mapping, minions: Collection[str]) -> Jobs:
    """Return the state runs on each of these minions that answers, asked in one job."""
    replies = jobs.ask(opts, minions, "saltutil.running", kind=list, timeout=PATIENCE)
    return {minion: state_runs(answer) for minion, answer in replies.answers.items()}


def begun(opts: Mapping, minions: Collection[str]) -> tuple[Jobs, dict[str, tuple[str, ...]]]:
    """Return what ``running`` does, and the masters of each minion that takes jobs from several at once; one job."""
    questions = [
        jobs.Question("saltutil.running", kind=list),
        jobs.Question("host_masters.active", kind=list, optional=True),
    ]
    answers = jobs.ask_several(opts, minions, questions, PATIENCE).answers
    runs, active = ({minion: answer[asked.function] for minion, answer in answers.items()} for asked in questions)
    return {minion: state_runs(answer) for minion, answer in runs.items()}, several_active(active)


def wait(opts: Mapping, begun: Jobs, limit: float, tell: Callable[[str], None]) -> Jobs:
    """Wait until no state runs on any minion; return what still does after the limit.

    opts
        The master's options.
    begun
        What ``running`` returned.
    limit
        Seconds.
    tell
        Is called with what is waited for, in words, where that changes.
    """
    busy = [minion for minion, runs in begun.items() if runs]
    shown = ""

    def left() -> Jobs:
        nonlocal shown
        still = {minion: runs for minion, runs in running(opts, busy).items() if runs}
        if still and named(still) != shown:
            shown = named(still)
            tell(shown)
        return still

    return until_none(left, limit, 2) if busy else {}


def end(opts: Mapping, jids: Collection[str], minions: Sequence[str], patience: float = 10) -> dict[str, str]:
    """End jobs on minions, with all their children: term, then kill; return ``{minion: job}`` of those that ran.

    opts
        The master's options.
    jids
        The jobs.
    minions
        Where they may run.
    patience
        Seconds from term to kill, and for the kill.
    """
    ended: dict[str, str] = {}
    for function in ("saltutil.term_job", "saltutil.kill_job"):
        left = _ours(opts, jids, minions)
        ended.update(left)
        if left:
            questions = [jobs.Question(function, [jid], object) for jid in sorted(set(left.values()))]
            jobs.ask_several(opts, sorted(left), questions, PATIENCE)
            until_none(partial(_ours, opts, jids, sorted(left)), patience, 0.5)
    return ended


def _ours(opts: Mapping, jids: Collection[str], minions: Collection[str]) -> dict[str, str]:
    found = running(opts, minions) if minions else {}
    return {minion: run["jid"] for minion, runs in found.items() for run in runs if run["jid"] in jids}
