"""The state runs on minions that stages start, wait for and end."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

from proposals.stages import masters
from proposals.stages.orchestrations import Jobs, named, state_runs
from proposals.stages.replies import Question
from proposals.text.errors import ArgumentError
from proposals.text.form import has
from runners.engine import facts, jobs, keys, look, maintained, parts, service_look, stage_look, taking_part
from runners.engine.waiting import until_none

PATIENCE = 15  # seconds for a minion to answer, then Salt asks once more (gather_job_timeout)
LOOK = {"groups": [[object]], "pillar": {"*": object}}
RUNNING = Question("saltutil.running", kind=list)


def running(opts: Mapping, minions: Collection[str]) -> Jobs:
    """Return the state runs on each of these minions that answers, asked in one job."""
    replies = jobs.ask(opts, minions, RUNNING.function, RUNNING.arguments, RUNNING.kind, PATIENCE)
    return {minion: state_runs(answer) for minion, answer in replies.answers.items()}


def questions(
    opts: Mapping, stages: Collection[str], whole: bool, test: bool, looked: Mapping | None
) -> list[Question]:
    """Return what stages that begin ask all hosts: what runs there, what their next steps ask them, which masters they
    have, one of them who is in maintenance; and their look.

    opts
        The master's options.
    stages
        The names of those that are run as one; of a stage by itself its own.
    whole
        Whether the run is for all hosts: a minion that it is not for reads nothing anew.
    test
        Whether it is in test mode.
    looked
        Their look: SLS with their hosts (``groups``), and more ``pillar`` for them; None where they have none.

    Raises ArgumentError for a look of another form.
    """
    if looked is not None and not (has(looked, LOOK) and all(len(group) == 2 for group in looked["groups"])):
        raise ArgumentError("look= is what a stage's own first step tells (step.begin): leave it out")
    deploys, preps, services = "deploy" in stages, "prep" in stages, "services" in stages
    asked = facts.questions(opts) if deploys else []  # first: they tell the time
    if whole and not test:
        asked += look.QUESTIONS if "discovery" in stages else []
        asked += [keys.QUESTION] if "configure" in stages else []
    asked += parts.questions(refresh=not test) if preps and whole else []
    asked += [RUNNING, masters.ACTIVE]
    more, cluster, groups = service_look.early_questions(opts) if services and whole and not test else ([], {}, [])
    if looked is None and not groups:
        return _each([*asked, *maintained.questions(opts)])
    looked = {"groups": [*(looked["groups"] if looked else ()), *groups], "pillar": looked["pillar"] if looked else {}}
    cluster |= stage_look.CLUSTER if deploys else {stage_look.MAINTAINED: []} if cluster else {}
    asked += facts.BESIDE.values() if deploys else [] if cluster else maintained.questions(opts)
    asked += [*more, *stage_look.questions(opts, looked, cluster, anew=preps)]
    return _each([*asked, *([facts.SINCE] if deploys else [])])


def _each(questions: Iterable[Question]) -> list[Question]:
    """Each function once, as its last question has it: of two stages the later one asks for more."""
    return list({question.function: question for question in questions}.values())


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
