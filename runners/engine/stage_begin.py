"""A stage's first step: the lock and the run log, who answers, who is left out, what an interrupted run left."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from proposals.stages import masters, orchestrations, presence, targets
from proposals.stages.replies import TRIED, Question
from proposals.text.errors import ArgumentError, PolicyError
from proposals.text.form import has
from runners.engine import answer
from runners.engine.asking import minions, taking_part
from runners.engine.cluster import maintained, service_look
from runners.engine.looks import early, facts, keys, look, parts, stage_jobs, stage_look
from runners.engine.runs import stage_child, stage_lock, stage_log, stage_recorder

LOOK = {"groups": [[object]], "pillar": {"*": object}}
TRIES = Question("config.option", ["test"], bool, optional=True)  # whether it would change nothing, and say success
WAIT = 600  # seconds for jobs that an interrupted run left on its minions
INTERRUPTED = (
    "stage {}: interrupted; its jobs on minions go on: 'salt-run stage.stop' ends them, running the stage again waits "
    "for them"
)


class Told(NamedTuple):
    """What the stage says of itself: arguments of the runner ``stage.begin``."""

    stage: str
    stages: Sequence[str]
    needs: str
    members: Sequence[str] | None
    must: Sequence[str]
    only: str | None
    steps: Sequence[str]
    look: Mapping[str, Any] | None
    changes: int


def begin(opts: Mapping, of: Told, wait: float, test: bool) -> answer.Output:
    """Begin it.

    opts
        The master's options.
    of
        What it says of itself.
    wait
        Seconds to wait for jobs of an interrupted run.
    test
        Only look (test mode): no run log.
    """
    job, log = stage_lock.take(opts, of.stage) or {}, None
    stage_lock.whole(opts)
    expected = minions.addressed(opts, of.stage, of.members, of.changes)
    hosts, ours = targets.named(of.only, expected), {"ours": expected} if of.members is None else {}
    note: dict[str, Any] = {"only": of.only, "hosts": hosts, "must": list(of.must), **ours}
    if job and not test:
        job = _recorded(opts, job, note, of)
        log = job["log"]
    whole = hosts == expected
    looked = of.look if whole else None
    asked = questions(opts, of.stages, whole, test, looked)
    told = early.once(opts, expected, asked, stage_jobs.PATIENCE, of.changes)
    running = told.replies[stage_jobs.RUNNING.function]
    answered = {minion: orchestrations.state_runs(answer) for minion, answer in running.answers.items()}
    said = {problem.minion: problem.text.replace("\n", "; ") for problem in running.failed}
    for minion in [] if test else _trying(told):
        del answered[minion]
        said[minion] = TRIED
    masters_ = masters.several_active(told.replies[masters.ACTIVE.function].answers)
    if masters_ and minions.pillar(opts).get(masters.SETTING) is not True:
        masters.refuse(of.stage, masters_)
    note["silent"] = sorted(set(expected) - set(answered))
    away, unknown = maintained.known(opts, told.replies)
    note |= taking_part.left_at_first(note, away, said)
    if job:
        stage_lock.note_on(opts, {**job, **note})
    if set(note["hosts"]) <= note["maintenance"].keys():
        return answer.bad(f"stage {of.stage}: all of its hosts are in maintenance: see 'salt-run maintenance.show'")
    if missing := presence.absent(presence.needed(of.needs, note["hosts"], of.must), note, answered):
        return answer.bad(presence.missing(of.stage, missing, expected, said))
    if left := stage_jobs.wait(opts, answered, wait, lambda jobs: _waits(opts, of.stage, jobs, wait, log)):
        return answer.bad(
            f"stage {of.stage}: after {wait} s these jobs of an interrupted run still run: "
            f"{orchestrations.named(left)}; {orchestrations.ended(left)}"
        )
    busy = any(answered.values())  # what was waited for has changed hosts since
    early.keep(opts, None if busy else told)
    seen = None  # nor does what a stage before in the same run has seen
    if looked is not None and stage_look.DIFFERING in told.replies and not busy:
        seen = stage_look.seen(opts, told, targets.groups(note, looked["groups"], expected))
    stage_look.keep(opts, seen)
    began = targets.began(note, expected, len(answered))
    return {"text": "\n".join(filter(None, [began, unknown])), "left": note["left"]}


def _trying(told: early.Told) -> list[str]:
    """The minions whose own configuration says ``test: True``."""
    answers = told.replies[TRIES.function].answers
    return [minion for minion in told.replies[stage_jobs.RUNNING.function].answers if answers.get(minion) is True]


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
    preps = "prep" in stages
    deploys, services = ("deploy" in stages, "services" in stages) if _configured(opts) else (False, False)
    asked = facts.questions(opts) if deploys else []  # first: they tell the time
    if whole and not test:
        asked += look.QUESTIONS if "discovery" in stages else []
        asked += [keys.QUESTION] if "configure" in stages else []
    asked += parts.questions(refresh=not test) if preps and whole else []
    asked += [stage_jobs.RUNNING, masters.ACTIVE, *([] if test else [TRIES])]
    more, cluster, groups = service_look.early_questions(opts) if services and whole and not test else ([], {}, [])
    if looked is None and not groups:
        return _each([*asked, *maintained.questions(opts)])
    looked = {"groups": [*(looked["groups"] if looked else ()), *groups], "pillar": looked["pillar"] if looked else {}}
    cluster |= stage_look.CLUSTER if deploys else {stage_look.MAINTAINED: []} if cluster else {}
    asked += facts.BESIDE.values() if deploys else [] if cluster else maintained.questions(opts)
    asked += [*more, *stage_look.questions(opts, looked, cluster, anew=preps)]
    return _each([*asked, *([facts.SINCE] if deploys else [])])


def _configured(opts: Mapping) -> bool:
    try:
        return bool(minions.members(opts))
    except PolicyError:
        return False


def _each(questions: Iterable[Question]) -> list[Question]:
    """Each function once, as its last question has it: of two stages the later one asks for more."""
    return list({question.function: question for question in questions}.values())


def _recorded(opts: Mapping, job: stage_lock.Job, note: Mapping[str, Any], of: Told) -> stage_lock.Job:
    """The job with its run log: that of the stage before in the same run, or a new one."""
    if "log" not in job:
        job = {**job, "log": str(stage_recorder.start(opts, {**job, **note, "steps": list(of.steps)}))}
        stage_child.guard(of.stage, INTERRUPTED.format(of.stage))
        return stage_lock.note(opts, job)
    return stage_lock.note_on(opts, job)


def _waits(opts: Mapping, stage: str, jobs: str, limit: float, log: str | None) -> None:
    """Say what a stage waits for; a program that named its ``--out`` gets the answer alone."""
    if log:
        stage_log.add(log, "waits", jobs=jobs, limit=limit)
    if not opts.get("output"):
        print(f"stage {stage}: waits up to {limit} s for jobs of an interrupted run: {jobs}", flush=True)
