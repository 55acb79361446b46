"""Ask every host what validation needs to know of it (``host.facts``), in one job whatever their number."""

import time
from collections.abc import Mapping

from proposals.files.site import site
from proposals.inventory import kept
from proposals.stages.replies import Question, Replies
from proposals.text.errors import ProposalError
from proposals.validation import host_questions
from proposals.validation.subject import Subject
from runners.engine import early, minions

ASKED = "host.facts"
EARLY = 5  # seconds: of a longer job facts are asked anew, as no clock is compared more closely than the job took


def questions(opts: Mapping) -> list[Question]:
    """Return what ``ask`` will ask, for an earlier job; nothing where that is not known, as validation will say."""
    try:
        members, settings = minions.members(opts), minions.pillar(opts)
        roles = {minion: [role for role, has in members.items() if minion in has] for minion in members["all"]}
        return [_question(opts, Subject(roles, settings, {}))]
    except ProposalError:
        return []


def ask(opts: Mapping, chosen: Subject) -> tuple[Replies, float]:
    """Return the facts of all hosts, and the seconds from the master's clock that they were told to the last answer.

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
    if not told or before.arguments[1:] != question.arguments[1:] or told.ended - before.arguments[0] > EARLY:
        before, told = question, early.ask(opts, chosen.roles, [question])
    return told.replies[ASKED], told.ended - before.arguments[0]


def _question(opts: Mapping, chosen: Subject) -> Question:
    asked = host_questions.ask(chosen, kept.load_inventory(site(opts).inventory)["hosts"])
    return Question(ASKED, [time.time(), *asked.values()])
