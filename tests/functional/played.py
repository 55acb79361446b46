"""What minions of a played cluster answer, in place of ``runners.engine.jobs``; each moment of a change can be its end.

A cluster has a method for each function that minions are asked (``osd_retire_free`` for ``osd_retire.free``), with the
minion's name and the words.
"""

import copy

from proposals.stages import replies
from proposals.text.errors import ProposalError


class Killed(BaseException):
    """The process ends at this moment."""


class Minions:
    """``kill``: which change is the last, and whether the process ends before it. ``log``: the changes that were made.

    ``CHANGES`` are the verbs of functions that change something; the functions of ``cluster`` are asked of "salt".
    """

    CHANGES: tuple[str, ...] = ()

    def __init__(self):
        self.silent, self.changes, self.kill, self.log = set(), 0, (None, False), []
        self.ended = False

    def one(self, opts, minion, function, words=(), kind=None, timeout=0):
        if self.ended and self.kill[0] is not None:  # nothing comes after its end, what stands in ``finally`` neither
            raise Killed
        if minion in self.silent:
            raise ProposalError(f"{minion}: {replies.SILENT}")
        changes = function.partition(".")[2] in self.CHANGES
        self.changes += changes
        at, before = self.kill
        self.ended = bool(changes and at == self.changes)
        if self.ended and before:
            raise Killed
        answer = getattr(self, function.replace(".", "_"))(minion, *copy.deepcopy(list(words)))
        self.log += [(minion, function)] if changes else []
        if self.ended:
            raise Killed
        return answer

    def cluster(self, opts, function, words=(), kind=None, timeout=0):
        return self.one(opts, "salt", function, words)

    def ask(self, opts, asked, function, words=(), kind=None, timeout=0):
        problems = [replies.Problem(minion, replies.SILENT, True) for minion in asked if minion in self.silent]
        answers = {minion: self.one(opts, minion, function, words) for minion in asked if minion not in self.silent}
        return replies.Replies(answers, problems)
