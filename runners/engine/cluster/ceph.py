"""What the running cluster is asked and told by planned ``ceph`` commands, through the host with the role master."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from proposals.cluster import moves
from proposals.text.errors import ProposalError
from proposals.text.notes import FEW, NAMED, SCREEN
from runners.engine import answer
from runners.engine.asking import jobs
from runners.engine.looks import stage_look
from runners.engine.runs import stage_log

LATER = "looked at when the cluster runs"  # what a step says where ``found`` is None


def found(opts: Mapping, test: bool) -> dict[str, Any] | None:
    """Return what ``cluster_crush.inspect`` answers; None in test mode where there is no cluster to ask yet."""
    if looked := stage_look.kept(opts):
        return looked.cluster[stage_look.CRUSH]
    try:
        return jobs.cluster(opts, stage_look.CRUSH, kind=dict)
    except ProposalError:
        if test:
            return None
        raise


def typed(command: Sequence[str]) -> str:
    """Return a planned command as a person types it: ``rbd`` stands in it, ``ceph`` does not."""
    return " ".join(command if command[0] == "rbd" else ["ceph", *command])


def run(opts: Mapping, commands: Sequence[Sequence[str]], test: bool, steady: str) -> dict[str, Any]:
    """Run planned commands, or in test mode say them; return a step's answer.

    opts
        The master's options.
    commands
        Each without ``ceph`` itself; those of ``rbd`` begin with it.
    test
        Only say them.
    steady
        What to say where there is none.
    """
    lines = [typed(command) for command in commands]
    if not commands:
        return {"text": f"{steady}: nothing changed"}
    if test:
        return {"text": "\n".join(["would run:", *_folded(lines)]), "changes": {"ceph": lines}}
    stage_look.keep(opts, None)
    jobs.cluster(opts, "cluster_crush.apply", [commands])
    return {"text": "\n".join(_folded(lines)), "changes": {"ceph": lines}}


def _folded(lines: Sequence[str]) -> list[str]:
    """Commands for a person: beyond a screen the first ones, and how many more of each kind there are."""
    if len(lines) <= SCREEN:
        return list(lines)
    kinds = Counter(" ".join(line.split()[:4]) for line in lines[FEW:])
    more = ", ".join(f"{count} of '{kind}'" for kind, count in kinds.most_common(NAMED))
    return [*lines[:FEW], f"and {len(lines) - FEW} more, {more}: --out json has each"]


def change(
    opts: Mapping,
    commands: Sequence[Sequence[str]],
    moved: Sequence[str],
    against: Sequence[str],
    test: bool,
    typed_as: str = "",
    **log: Any,
) -> dict[str, Any]:
    """Run planned commands that move data, and note them; in test mode say them; refuse what would hurt.

    opts, commands, test
        As for ``run``.
    moved
        What moves, a line each.
    against
        What stands against it; where anything does, nothing is run.
    typed_as
        What was typed, where no data is to move before the last command has run.
    log
        As ``stage_log.note`` takes it: ``command``, ``event``, and what is noted beside the commands.
    """
    lines = [typed(command) for command in commands]
    if against:
        return answer.bad("\n".join([*_folded(lines), *moved, "refused, nothing was changed:", *against]))
    if test:
        return {"text": "\n".join(["would run:", *_folded(lines), *moved]), "changes": {"ceph": lines}}
    stage_log.note(opts, **log, commands=list(commands))
    if typed_as:
        ran = jobs.cluster(opts, "cluster_crush.move", [list(commands), typed_as], dict)["run"]
        lines, moved = [typed(command.split()) for command in ran], [*moved, *moves.held(ran)]
    else:
        jobs.cluster(opts, "cluster_crush.apply", [list(commands)])
    return {"text": "\n".join([*_folded(lines), *moved]), "changes": {"ceph": lines}}
