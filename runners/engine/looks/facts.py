"""Ask every host what validation needs to know of it (``host.facts``), in one job whatever their number."""

import time
from collections.abc import Mapping

from proposals.files.site import site
from proposals.inventory import kept
from proposals.stages.replies import Question, Replies
from proposals.text.errors import ProposalError
from proposals.validation import check, host_questions
from proposals.validation.subject import Subject
from runners.engine.asking import minions
from runners.engine.looks import early, keys

ASKED = "host.facts"
BESIDE = {check.MACHINES: Question("host_hardware.facts"), check.KEYS: Question(keys.ASKED, [True])}
SINCE = Question("host.since", kind=float)  # behind it, and behind all else that the same job asks
EARLY = 5  # seconds in which a host may have told them; in more they are asked anew: no clock is compared more closely


def questions(opts: Mapping) -> list[Question]:
    """Return what ``ask`` will ask, for an earlier job; nothing where that is not known, as validation will say."""
    try:
        members, settings = minions.members(opts), minions.pillar(opts)
        having = {role: set(has) for role, has in members.items()}
        roles = {minion: [role for role, has in having.items() if minion in has] for minion in members["all"]}
        return [_question(opts, Subject(roles, settings, {}))]
    except ProposalError:
        return []


def ask(opts: Mapping, chosen: Subject) -> tuple[Replies, dict[str, float]]:
    """Return the facts of all hosts, and of each the seconds from the master's clock that it was told to its answer: to
    the job's end, less what the host was asked behind.

    The running stage's first step has asked already, where it asked the same (``early``).

    opts
        The master's options.
    chosen
        Who is what.

    Raises ProposalError where the master takes no job.
    """
    question = _question(opts, chosen)
    told = early.taken(opts, chosen.roles, ASKED)
    before = next((each for each in told.questions if each.function == ASKED), question) if told else question
    took = _took(told, before)
    if not told or before.arguments[1:] != question.arguments[1:] or max(took.values(), default=0) > EARLY:
        told = early.ask(opts, chosen.roles, [question])
        took = _took(told, question)
    return told.replies[ASKED], took


def _took(told: early.Told | None, question: Question) -> dict[str, float]:
    if told is None:
        return {}
    since = told.replies[SINCE.function].answers if SINCE.function in told.replies else {}
    whole = told.ended - question.arguments[0]
    return {minion: whole - since.get(minion, 0) for minion in told.replies[ASKED].answers}


def _question(opts: Mapping, chosen: Subject) -> Question:
    asked = host_questions.ask(chosen, kept.load_inventory(site(opts).inventory)["hosts"])
    return Question(ASKED, [time.time(), *asked.values()])
