"""What minions of a played cluster answer, in place of ``asking.jobs``; each moment of a change can be its end.

A cluster has a method for each function that minions are asked (``osd_retire_free`` for ``osd_retire.free``), with the
minion's name and the words.
"""

import copy
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
import salt.utils.args

from proposals.stages import replies
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs
from runners.engine.runs import one_at_a_time

ROOT = Path(__file__).parents[2]
BUSY = "osd.migrate is running on this master"


def another_stops_daemons(opts):
    """As if ``osd.migrate`` were typed already in another shell: it stops daemons."""
    return one_at_a_time.alone(opts, "osd.migrate", one_at_a_time.STOPPING)


def shown_in(page, runner):
    """Each ``salt-run`` command of a runner that a page shows: its name, and its words as Salt itself reads them."""
    for name, words in re.findall(rf"salt-run ({runner}\.\w+) ?([^`\n]*)", (ROOT / page).read_text()):
        yield name, *salt.utils.args.parse_input(shlex.split(words), condition=False)


class Killed(BaseException):
    """The process ends at this moment."""


class Minions:
    """``kill``: which change is the last, and whether the process ends before it. ``log``: the changes that were made.

    ``CHANGES`` are the verbs of functions that change something; the functions of ``cluster`` are asked of "salt".
    ``seconds`` pass only where a module of ``play`` sleeps.
    """

    CHANGES: tuple[str, ...] = ()

    def __init__(self):
        self.silent, self.changes, self.kill, self.log = set(), 0, (None, False), []
        self.ended, self.seconds = False, 0.0

    def play(self, monkeypatch, *waiting):
        """Answer in place of the minions; the modules of ``waiting`` look at this clock and sleep by it."""
        for name in ("one", "cluster", "ask", "ask_several", "ask_apart"):
            monkeypatch.setattr(jobs, name, getattr(self, name))
        for module in waiting:
            monkeypatch.setattr(module, "time", SimpleNamespace(sleep=self.sleep, monotonic=lambda: self.seconds))

    def sleep(self, seconds):
        self.seconds += seconds

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

    def saltutil_running(self, _):
        return []

    def host_masters_active(self, _):
        return ["salt"]

    def config_option(self, _, name):
        return False

    def cluster_cli_together(self, minion, functions):
        return {name: self.one({}, minion, name, words) for name, words in functions.items()}

    def cluster(self, opts, function, words=(), kind=None, timeout=0):
        return self.one(opts, "salt", function, words)

    def ask(self, opts, asked, function, words=(), kind=None, timeout=0):
        told = replies.Replies({}, [])
        for minion in asked:
            if minion in self.silent:
                told.problems.append(replies.Problem(minion, replies.SILENT, True))
                continue
            try:
                told.answers[minion] = self.one(opts, minion, function, words)
            except ProposalError as err:
                told.problems.append(replies.Problem(minion, str(err)))
        return told

    def ask_apart(self, opts, asked, questions, timeout=0):
        return {each.function: self.ask(opts, asked, each.function, each.arguments) for each in questions}

    def ask_several(self, opts, asked, questions, timeout=0):
        problems = [replies.Problem(minion, replies.SILENT, True) for minion in asked if minion in self.silent]
        answers = {
            minion: {each.function: self.one(opts, minion, each.function, each.arguments) for each in questions}
            for minion in asked
            if minion not in self.silent
        }
        return replies.Replies(answers, problems)


def end_at_each_change(cluster, before, command, least=1):
    """Assert that a command goes on when it is typed again, whichever change it was killed before or after.

    ``least``: how many changes it makes at least. What it leaves, ``cluster.left()``, is what it leaves unharmed.
    """
    fresh = copy.deepcopy(vars(cluster))
    command()
    whole, changes = cluster.left(), cluster.changes
    assert changes >= least
    for moment in range(1, changes + 1):
        vars(cluster).clear()
        vars(cluster).update(copy.deepcopy(fresh))
        cluster.kill = (moment, before)
        with pytest.raises(Killed):
            command()
        cluster.kill = (None, False)
        done = command()
        assert done.get("retcode", 0) == 0, (moment, done)
        assert cluster.left() == whole, moment
