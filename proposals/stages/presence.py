"""Who has to answer before a stage begins, and what is said of those who do not."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from proposals.stages import replies
from proposals.text.errors import ArgumentError
from proposals.text.names import shown
from proposals.text.notes import FEW, several

NEEDS = ("all", "answering")


def needed(needs: str, hosts: Collection[str], must: Collection[str]) -> set[str]:
    """Return the minions that have to answer.

    needs
        ``all``: every minion of the run; ``answering``: none by name but those of ``must``.
    hosts
        The minions that the run is to change.
    must
        Those without which nothing can be done, such as the one that asks the cluster.

    Raises ArgumentError for another word.
    """
    if needs not in NEEDS:
        raise ArgumentError(f"needs={shown(needs)}: expected one of {', '.join(NEEDS)}")
    return {*must, *(hosts if needs == "all" else ())}


def absent(needed: Collection[str], note: Mapping[str, Any], answered: Collection[str]) -> list[str]:
    """Return the minions for want of which a run cannot begin, sorted: those of ``needed``, or all where none answers.

    needed
        Who has to answer. Of a host in maintenance that is asked only where nothing can be done without it.
    note
        The run's: hosts, must, silent, left, maintenance.
    """
    alone = set(note["maintenance"]) - set(note["must"])
    silent = note["left"].keys() - alone
    if answered and len(silent) < len(set(note["hosts"]) - alone):
        return sorted(set(needed) & set(note["silent"]) - alone)
    return sorted(silent)


def missing(
    stage: str, absent: Sequence[str], expected: Sequence[str], said: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return what a person reads where minions do not answer that have to.

    absent, expected
        Both sorted.
    said
        What those said that did answer, and not what was asked.
    """
    silent = [minion for minion in absent if minion not in said]
    if len(silent) < len(absent):
        failed = [replies.Problem(minion, said[minion]) for minion in absent if minion in said]
        count = f"{len(failed)} of {len(expected)} minions cannot say what runs on them"
        lines = [f"stage {stage}: {count}; mend that and run the stage again", *replies.lines(failed)]
        return "\n".join([*lines, *([missing(stage, silent, expected)] if silent else [])])
    if silent == expected:
        return f"stage {stage}: no minion answers, of {len(expected)}: is salt-master running? Is their salt-minion?"
    return (
        f"stage {stage}: {len(silent)} of {len(expected)} minions do not answer: {several(silent, most=FEW)}; "
        "start their salt-minion and run the stage again\n"
        "of one that is gone for good, once it is out of policy.cfg, delete the key ('salt-key --delete=ID'); take one "
        "that is none of ours out of ceph_minions"
    )
