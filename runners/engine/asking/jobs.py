"""One way to ask minions: one job, whose replies are answers and problems.

Like all of ``runners/engine`` this is plain Python that no ``salt-run`` command reaches: Salt's loader skips a folder
without ``__init__.py``. Functions take the master's options first, a runner's ``__opts__``.
"""

import io
import json
import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import redirect_stdout
from types import UnionType
from typing import Any

import salt.client
import salt.config
import salt.exceptions

from proposals.stages import masters
from proposals.stages.replies import Question, Replies, joined, judged
from proposals.text.errors import ProposalError
from runners.engine.asking import minions, taking_part

# For these the master compiles the pillar of each minion, and takes so many seconds for each of many that ask at
# once, if it is small: proposals/validation/master_load.py has more.
FETCHING, PILLAR = {"saltutil.refresh_pillar", "state.apply", "state.sls", "host_states.differing"}, 0.2
# A minion that has waited so many seconds for its pillar asks again, and the master compiles both: of its
# request_channel_timeout, 60 (salt/config/__init__.py), two thirds.
WAITING = 40
REFRESH = [True, 60]  # of saltutil.refresh_pillar: it ends when the pillar is there, or after those 60 seconds
# Bytes of what one job says of its hosts: all of them get it, and Salt repeats it in the return of each.
SAID = 1 << 16
# What Salt's client raises where no master takes a job, or not this user's.
REFUSED = (
    salt.exceptions.SaltClientError,
    salt.exceptions.SaltReqTimeoutError,
    salt.exceptions.AuthenticationError,
)
UNKEPT = "Some exception handling minion payload"  # of a master that runs, where it cannot keep a job in its cache


def ask(
    opts: Mapping,
    asked: Collection[str],
    function: str,
    arguments: Sequence[Any] = (),
    kind: type | UnionType = dict,
    timeout: float = 60,
) -> Replies:
    """Run a function on minions in one job; return what each answered, and the problems of the others.

    opts
        The master's options.
    asked
        Ids of minions. Those that the running stage found silent, or left out since, are not asked again.
    function, arguments
        What to run, with its arguments in order.
    kind
        The type of the function's answer; anything else is a problem.
    timeout
        Seconds to wait for an answer. A minion that still works on it is waited for.

    Raises ProposalError where the master takes no job.
    """
    replies = ask_several(opts, asked, [Question(function, arguments, kind)], timeout)
    return Replies({minion: answer[function] for minion, answer in replies.answers.items()}, replies.problems)


def ask_own(
    opts: Mapping,
    said: Mapping[str, Any],
    function: str,
    arguments: Callable[[Mapping], Sequence[Any]],
    kind: type | UnionType = dict,
    timeout: float = 60,
) -> Replies:
    """Run a function on minions of which each is told something of its own, in a job for each share. Else as ``ask``.

    said
        What is said to each, by minion.
    arguments
        Makes of a share of it the function's arguments.
    """
    return joined([ask(opts, list(share), function, arguments(share), kind, timeout) for share in apart(said)])


def apart(said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what is said to minions, by minion, in shares of some ``SAID`` bytes or one minion: the master sends twice
    as much to twice as many hosts, and not four times.
    """
    shares: list[dict[str, Any]] = [{}]
    size = 0
    for minion, own in sorted(said.items()):
        long = len(json.dumps(own))
        if shares[-1] and size + long > SAID:
            shares.append({})
            size = 0
        shares[-1][minion] = own
        size += long
    return shares


def ask_several(opts: Mapping, asked: Collection[str], questions: Sequence[Question], timeout: float = 60) -> Replies:
    """Run several functions on minions in one job; each answer is ``{function: answer}``. Else as ``ask``."""
    return judged(asked, questions, _said(opts, asked, questions, timeout))


def ask_apart(
    opts: Mapping, asked: Collection[str], questions: Sequence[Question], timeout: float = 60
) -> dict[str, Replies]:
    """Run several functions on minions in one job; return the replies of each by its name: a minion that fails in one
    has answered the others. Else as ``ask``.
    """
    said, apart = _said(opts, asked, questions, timeout), {}
    for question in questions:
        answers, problems = judged(asked, [question], said)
        apart[question.function] = Replies({each: told[question.function] for each, told in answers.items()}, problems)
    return apart


def _said(opts: Mapping, asked: Collection[str], questions: Sequence[Question], timeout: float) -> dict:
    """What one job of several functions returns of those that are awake."""
    awake = taking_part.among(opts, asked, limited=False)
    # Always a list: by that a run's log knows the jobs of a runner's step.
    functions = [question.function for question in questions]
    arguments = [list(question.arguments) for question in questions]
    return _returned(opts, awake, functions, arguments, timeout) if awake else {}


def one(
    opts: Mapping,
    minion: str,
    function: str,
    arguments: Sequence[Any] = (),
    kind: type | UnionType = dict | list,
    timeout: float = 300,
) -> Any:
    """Return one minion's answer; ProposalError with its own words where it fails. Else as ``ask``."""
    ours = minions.ours(opts)
    if minion not in ours:
        raise ProposalError(f"{minion} is not managed by Halocline: {minions.listed(ours)}")
    return _one(opts, minion, Question(function, arguments, kind), timeout)


def _one(opts: Mapping, minion: str, question: Question, timeout: float) -> Any:
    function = question.function
    returned = {
        name: {**reply, "ret": {function: reply.get("ret")}, "retcode": {function: reply.get("retcode")}}
        for name, reply in _returned(opts, [minion], function, list(question.arguments), timeout).items()
        if isinstance(reply, Mapping)
    }
    return judged([minion], [question], returned).whole()[minion][function]


def cluster(
    opts: Mapping,
    function: str,
    arguments: Sequence[Any] = (),
    kind: type | UnionType = dict | list,
    timeout: float = 300,
) -> Any:
    """Return what the host with the role master answers, which holds the admin's key. Else as ``one``.

    That it is ours the generation says that is served: no pillar is compiled to ask.
    """
    return _one(opts, minions.members(opts)["master"][0], Question(function, arguments, kind), timeout)


def patience(opts: Mapping, functions: str | Collection[str], count: int) -> int:
    """Return the seconds in which a minion has to say that it still works: what the master says, and more where so many
    minions fetch their pillars at once that this very answer waits behind them.

    opts
        The master's options.
    functions
        What they are asked.
    count
        How many minions are asked.
    """
    return max(opts["gather_job_timeout"], round(PILLAR * count) if _fetches(functions) else 0)


def shares(opts: Mapping, functions: str | Collection[str], asked: Sequence[str]) -> list[list[str]]:
    """Return minions in as few equal shares as the master bears, a job each: one, but where so many fetch their pillars
    at once that the last would ask again before its own is compiled.

    opts
        The master's options.
    functions
        What they are asked.
    asked
        Ids of minions.
    """
    each = int(WAITING / PILLAR) * max(1, min(os.cpu_count() or 1, opts["worker_threads"]))
    count = max(1, math.ceil(len(asked) / each)) if _fetches(functions) else 1
    return [list(asked[at::count]) for at in range(count)]


def _fetches(functions: str | Collection[str]) -> bool:
    return bool(FETCHING & ({functions} if isinstance(functions, str) else set(functions)))


def _own(opts: Mapping) -> Mapping:
    """The options with the master's own user, whose key a job needs: an orchestration that is typed behind sudo has
    ``sudo_NAME`` there, who is nobody (salt/runners/state.py).
    """
    if not str(opts.get("user")).startswith("sudo_"):
        return opts
    return {**opts, "user": salt.config.master_config(opts["conf_file"])["user"]}


def _returned(opts: Mapping, asked: list[str], functions: str | list[str], arguments: list, timeout: float) -> dict:
    """What one Salt job returns, in full, or a job for each share; ProposalError where the master takes none, or is one
    of masters.
    """
    masters.alone(opts.get("order_masters"))
    returned: dict[str, Any] = {}
    try:
        # Where no key of theirs is accepted Salt prints so, before the answer of --out json.
        with redirect_stdout(io.StringIO()), salt.client.get_local_client(mopts=_own(opts)) as client:
            for share in shares(opts, functions, asked):
                waits = {"timeout": timeout, "gather_job_timeout": patience(opts, functions, len(share))}
                returned |= client.cmd(share, functions, arguments, tgt_type="list", full_return=True, **waits)
            return returned
    except REFUSED as err:
        said = str(err).partition(". ")[0]  # Salt goes on with advice that does not hold here
        if UNKEPT in said:
            cache = opts["cachedir"]
            raise ProposalError(
                f"the Salt master takes no jobs ({said}): is the disk of {cache} full? Its log says more"
            ) from err
        raise ProposalError(f"the Salt master takes no jobs ({said}): is salt-master running?") from err
