"""The state runs on minions that stages start, wait for and end."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from proposals.stages.orchestrations import Jobs, named, state_runs
from proposals.stages.records import BEGIN
from proposals.stages.replies import Question
from runners.engine.asking import jobs, taking_part
from runners.engine.waiting import until_none

PATIENCE = 15  # seconds for a minion to answer, then Salt asks once more (gather_job_timeout)
RUNNING = Question("saltutil.running", kind=list)


def running(opts: Mapping, minions: Collection[str]) -> Jobs:
    """Return the state runs on each of these minions that answers, asked in one job."""
    return {minion: state_runs(answer) for minion, answer in _running(opts, minions).items()}


def _running(opts: Mapping, minions: Collection[str]) -> dict[str, list]:
    """All that each of these minions says of what runs on it."""
    return jobs.ask(opts, minions, RUNNING.function, RUNNING.arguments, RUNNING.kind, PATIENCE).answers


def wait(opts: Mapping, begun: Jobs, limit: float, tell: Callable[[str], None]) -> Jobs:
    """Wait until no state runs on any minion; return what still does after the limit. Of one that stops to answer
    meanwhile nobody knows that it has ended: it is waited for too.

    opts
        The master's options.
    begun
        What ``running`` returned.
    limit
        Seconds.
    tell
        Is called with what is waited for, in words, where that changes.
    """
    busy = taking_part.among(opts, [minion for minion, runs in begun.items() if runs], limited=False)
    shown = ""

    def left() -> Jobs:
        nonlocal shown
        told = running(opts, busy)
        still = {minion: runs for minion in busy if (runs := told.get(minion, _unsaid(begun[minion])))}
        if still and named(still) != shown:
            shown = named(still)
            tell(shown)
        return still

    return until_none(left, limit, 2) if busy else {}


def _unsaid(runs: list[dict[str, str]]) -> list[dict[str, str]]:
    """What ran on a minion that does not answer any more, and says so."""
    return [{**run, "what": f"{run['what']}, does not answer now".removeprefix(", ")} for run in runs]


def end(opts: Mapping, steps: Mapping[str, str], minions: Sequence[str], patience: float = 10) -> dict[str, str]:
    """End jobs on minions, with all their children: term, then kill; return ``{minion: job}`` of those that ran.

    Those are state runs, and what a stage's first step asks, which only looks: what runners do to hosts ends by itself.

    opts
        The master's options.
    steps
        The jobs, each with its stage's step.
    minions
        Where they may run.
    patience
        Seconds from term to kill, and for the kill.
    """
    ended: dict[str, str] = {}
    for function in ("saltutil.term_job", "saltutil.kill_job"):
        left = _ours(opts, steps, minions)
        ended.update(left)
        if left:
            questions = [jobs.Question(function, [jid], object) for jid in sorted(set(left.values()))]
            jobs.ask_several(opts, sorted(left), questions, PATIENCE)
            until_none(partial(_ours, opts, steps, sorted(left)), patience, 0.5)
    return ended


def _ours(opts: Mapping, steps: Mapping[str, str], minions: Collection[str]) -> dict[str, str]:
    """Which of these jobs run on minions now."""
    looks = {jid for jid, step in steps.items() if step == BEGIN}
    found: dict[str, str] = {}
    for minion, running_ in (_running(opts, minions) if minions else {}).items():
        every = {str(job.get("jid")) for job in running_ if isinstance(job, Mapping)}
        ran = [run["jid"] for run in state_runs(running_) if run["jid"] in steps]
        if ours := [*sorted(every & looks), *ran]:
            found[minion] = ours[-1]
    return found
