"""What a step of a stage asks every host, asked by the first step already, in the job that asks who answers.

Each job costs a process on every host, whatever is asked. What is told early is for one step: the first that takes it,
before anything was changed.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from proposals.stages.replies import SILENT, Problem, Question, Replies
from runners.engine.asking import jobs, taking_part
from runners.engine.runs.stage_memory import Memory


class Told(NamedTuple):
    """What hosts replied to each question, by function; the questions; when all had, in seconds since the epoch."""

    replies: Mapping[str, Replies]
    questions: Sequence[Question]
    ended: float


FRESH = 60  # seconds for which a later stage takes what one before was told: to look for updates may take longer
_TOLD: Memory[Told] = Memory()
_RUN: Memory[tuple[int, Told]] = Memory()  # what the first of several stages was told, with how much had changed then


def ask(opts: Mapping, asked: Collection[str], questions: Sequence[Question], timeout: float = 60) -> Told:
    """Ask now, in one job; arguments and errors as of ``jobs.ask_apart``."""
    return Told(jobs.ask_apart(opts, asked, questions, timeout), questions, time.time())


def once(opts: Mapping, asked: Collection[str], questions: Sequence[Question], timeout: float, changes: int) -> Told:
    """Ask as ``ask`` does, but where a stage before in the same run has just asked for all, and nothing changed since.

    changes
        How many steps of the run have changed anything.
    """
    before, told = _RUN.kept(opts) or (None, None)
    if told is None or before != changes or time.time() - told.ended > FRESH or not _asked(told) >= set(asked):
        told = ask(opts, asked, questions, timeout)
        _RUN.keep(opts, (changes, told))
    return told._replace(replies={name: _of(replies, asked, asked) for name, replies in told.replies.items()})


def _asked(told: Told) -> set[str]:
    """Who was asked: each has answered, or is one of the problems."""
    every = told.replies.values()
    return {name for each in every for name in (*each.answers, *(one.minion for one in each.problems))}


def told(opts: Mapping, asked: Collection[str], function: str) -> Replies | None:
    """Return what some minions replied to a function in the stage's first step, for a step that knows that nothing has
    changed since; None where it was not asked.
    """
    _, told = _RUN.kept(opts) or (None, None)
    if told is None or function not in told.replies:
        return None
    return _of(told.replies[function], asked, set(taking_part.among(opts, asked, limited=False)))


def keep(opts: Mapping, told: Told | None) -> None:
    """Keep what was told for a later step of the stage that this process runs; None: nothing of it holds any more, for
    no later stage of the run either."""
    _TOLD.keep(opts, told)
    if told is None:
        _RUN.keep(opts, None)


def taken(opts: Mapping, asked: Collection[str], function: str) -> Told | None:
    """Take what some minions replied to a function and to what was asked with it; None where that was not asked early,
    or is taken already. Who was left out since is silent, as ``jobs.ask_apart`` has it.
    """
    told = _TOLD.taken(opts)
    if told is None or function not in told.replies:
        return None
    awake = set(taking_part.among(opts, asked, limited=False))
    return told._replace(replies={name: _of(replies, asked, awake) for name, replies in told.replies.items()})


def _of(replies: Replies, asked: Collection[str], awake: Collection[str]) -> Replies:
    answers, problems = replies.of(set(asked).intersection(awake))
    said = {each.minion: each for each in problems}
    others = sorted(set(asked) - set(answers))
    return Replies(answers, [said.get(minion, Problem(minion, SILENT, True)) for minion in others])
