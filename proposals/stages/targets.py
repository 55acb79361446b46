"""Which hosts a run of a stage changes: those that ``only`` names, less those that were left out on the way."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import filter as glob  # what Salt's own glob target is (salt/utils/minions.py)
from typing import Any

from proposals.stages import replies
from proposals.text.errors import ArgumentError, ProposalError
from proposals.text.names import nearest, shown
from proposals.text.notes import by_host, several

MARKS = re.compile(r"\[[^\]]*\]|[*?]")  # of a glob
SILENT = "does not answer"
# Of a run, beside its lock: only, hosts, silent, left, failed, must; maintenance: daemons of hosts in it, by minion;
# ours: every minion of ours, of a stage that addresses all.
Note = Mapping[str, Any]


def pattern(only: object) -> str | None:
    """Return the pattern that was typed to name hosts; None where none was, which alone means all.

    only
        As it came from the command line or a pillar. ArgumentError where it is no text, or names nothing: a shell's
        variable that is not set must not mean all hosts.
    """
    if only is None:
        return None
    if type(only) not in (str, int):
        raise ArgumentError(f"only={shown(only)}: expected minion ids as Salt's glob, such as 'osdnode[1-4]*'")
    if not str(only).strip():
        raise ArgumentError("only= names no host: leave it out for all")
    return str(only)


def named(only: object, expected: Collection[str]) -> list[str]:
    """Return the hosts that a pattern names, sorted; all where there is none.

    only
        Salt's glob, such as ``osdnode[1-4]*``; None for all.
    expected
        The minions that there are to choose from.

    Raises ArgumentError with what comes near where it names none.
    """
    wanted = pattern(only)
    if wanted is None:
        return sorted(expected)
    hosts = sorted(glob(sorted(expected), wanted))
    if not hosts:
        raise ArgumentError(f"only={shown(wanted)}: no minion is called so{_near(MARKS.sub('', wanted), expected)}")
    return hosts


def _near(stem: str, expected: Collection[str]) -> str:
    """What a pattern without its marks comes near to, or all that there are."""
    near = get_close_matches(stem.lower(), sorted(expected), n=4)
    return f": did you mean {', '.join(sorted(near))}?" if near else nearest(stem, expected)


def among(note: Note, minions: Iterable[str], limited: bool = True) -> list[str]:
    """Return those of some minions that take part in a run, sorted; all of them where no run is noted.

    note
        The run's.
    limited
        Whether ``only`` limits them; what the cluster itself is told goes through its own host in any case.
    """
    away = {*note.get("silent", ()), *note.get("left", ())}
    hosts = set(note["hosts"]) if limited and "hosts" in note else None
    return sorted(minion for minion in minions if minion not in away and (hosts is None or minion in hosts))


def groups(note: Note, wanted: Iterable[Sequence[Any]], ours: Collection[str]) -> list[tuple[list[str], list[str]]]:
    """Return lists of SLS, each with those of its minions that take part in a run.

    note
        The run's.
    wanted
        Lists of SLS with their minions, None for all of ours.
    ours
        The minions of the run.
    """
    found = [(sls, among(note, ours if hosts is None else hosts)) for sls, hosts in wanted]
    return [(sls, taking) for sls, taking in found if taking]


def named_by(note: Note, minions: Iterable[str]) -> list[str]:
    """Return those of some minions that the run is to change, also where they are left out, sorted.

    Those in maintenance are none: nobody asks for anything of them.
    """
    there = set(minions) - set(note.get("maintenance", ()))
    return sorted(there if note.get("hosts") is None else there & set(note["hosts"]))


def began(note: Note, expected: Collection[str], answered: int) -> str:
    """Return what a run says at its beginning: who takes part, who answers, who is left out."""
    lines = [f"{answered} minions answer"]
    if note.get("only"):
        hosts = note["hosts"]
        lines.insert(0, f"only={shown(note['only'])}: {len(hosts)} of {len(expected)} hosts: {several(hosts)}")
    left = ((minion, f"{why}; the stage goes on without it") for minion, why in sorted(note["left"].items()))
    return "\n".join([*lines, *by_host(left)])


def failures(answers: Mapping[str, Any], test: bool = False) -> dict[str, str]:
    """Return why minions failed in a step, of what an SLS returned of each (``salt.state``'s changes).

    test
        Whether states that only say what they would do are none that failed.
    """
    reasons = {minion: _reason(answer, test) for minion, answer in sorted(answers.items())}
    return {minion: why for minion, why in reasons.items() if why}


def _reason(answer: Any, test: bool) -> str:
    """Why one failed; empty where it did not."""
    if isinstance(answer, Mapping):
        states = {name: state for name, state in answer.items() if isinstance(state, Mapping)}
        return "; ".join(replies.failures(states, test))
    if isinstance(answer, list):  # what Salt's compiler says of an SLS that it cannot read
        return "; ".join(map(str, answer))
    if isinstance(answer, str) and answer.strip():  # the function itself failed, before or behind its states
        return answer.strip().splitlines()[-1].strip() if "Traceback" in answer else answer.strip()
    return "" if answer else "did not return"


def left_from_here(failed: Mapping[str, str]) -> str:
    """Return what is said of hosts that failed in a step and are left out of what follows."""
    return "\n".join(by_host((minion, f"left out from here on: {why}") for minion, why in failed.items()))


def leave(note: Note, step: str, hosts: Collection[str], failed: Mapping[str, str]) -> Note:
    """Return a run's note with the hosts left out that failed in a step.

    hosts
        All that the step was for.
    failed
        Those that failed, each with its reason.

    Raises ProposalError where the stage cannot go on without them: all of them failed, or one that it needs.
    """
    if set(hosts) <= set(failed):
        raise ProposalError("it failed on each of its hosts")
    if needed := sorted(set(failed) & set(note.get("must", ()))):
        raise ProposalError(f"the stage cannot go on without {', '.join(needed)}")
    left = {minion: f"failed in {step}: {why}" for minion, why in failed.items()}
    return {
        **note,
        "left": {**note.get("left", {}), **left},
        "failed": sorted({*note.get("failed", ()), *failed}),
    }
