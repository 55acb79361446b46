"""Which minions lack a part that Salt would sync to them: modules, states, grains ... of ours and of the site's.

Salt's own sync (salt/utils/extmods.py) asks the master for the hash of each file, one by one, for each kind anew. Here
each minion tells one hash over all of its files, in one job, and the master compares: what was edited, removed or added
on either side is found as before, and only who differs is synced.
"""

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path

import salt.fileserver

from proposals.stages.replies import Problem, Question
from runners.engine.asking import jobs
from runners.engine.looks import early

# What saltutil.sync_all brings to a minion of a master: kinds, each from the folder _KIND; and which files of them.
KINDS = (
    *("beacons", "clouds", "engines", "executors", "grains", "log_handlers", "matchers", "modules", "output", "proxy"),
    *("renderers", "resources", "returners", "sdb", "serializers", "states", "thorium", "utils"),
)
SUFFIXES = (".py", ".pyx", ".so", ".zip")
DIGEST = Question("host_parts.digest", [KINDS, SUFFIXES], str)
REFRESH = Question("saltutil.refresh_pillar", kind=bool)


def questions(refresh: bool) -> list[Question]:
    """Return what ``lacking`` asks of minions, with its own argument."""
    return [DIGEST, REFRESH] if refresh else [DIGEST]


def lacking(opts: Mapping, asked: Collection[str], refresh: bool) -> tuple[list[str], list[Problem]]:
    """Return which of some minions are to be synced, and the problems of those that do not answer.

    opts
        The master's options.
    asked
        Ids of minions.
    refresh
        Whether they read pillar, grains and modules anew, as after a sync: the files may be as they were and what
        depends on the host not.

    The running stage's first step has asked already, where it asks (``early``).

    Raises ProposalError where the master takes no job.
    """
    told = early.taken(opts, asked, DIGEST.function)
    replies = told.replies if told else jobs.ask_apart(opts, asked, questions(refresh))
    here, digests = digest(opts), replies[DIGEST.function]
    same = {minion for minion, answer in digests.answers.items() if answer == here}
    failed = {problem.minion for question in questions(refresh) for problem in replies[question.function].failed}
    silent = [problem for problem in digests.problems if problem.silent]
    return sorted(set(asked) - (same - failed) - set(digests.silent)), silent


def digest(opts: Mapping) -> str | None:
    """Return the hash over all that a minion would have after a sync; None where that is not for the master to tell:
    where it serves more than one environment, each minion's top file says which of them it has."""
    server = salt.fileserver.Fileserver(opts)
    if server.envs() != ["base"]:
        return None
    lines = []
    for name in server.file_list({"saltenv": "base"}):
        kind = name.partition("/")[0]
        if kind[:1] == "_" and kind[1:] in KINDS and Path(name).suffix in SUFFIXES:
            path = server.find_file(name, "base")["path"]
            if not path:  # gone since it was listed
                return None
            lines.append(f"{hashlib.sha256(Path(path).read_bytes()).hexdigest()} {name[1:]}")
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()
