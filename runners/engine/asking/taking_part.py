"""Which hosts the stage that this process runs changes; of a runner typed by hand, all."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from proposals.cluster import maintained
from proposals.cluster.maintained import Record
from proposals.stages import targets
from runners.engine.asking import minions
from runners.engine.runs import stage_lock


def among(opts: Mapping, hosts: Collection[str] | None = None, limited: bool = True) -> list[str]:
    """Return those of some minions that take part, sorted.

    opts
        The master's options.
    hosts
        Ids of minions; None for every minion of ours.
    limited
        Whether the run's ``only`` limits them.
    """
    note = stage_lock.own(opts)
    if hosts is None:  # a stage that addresses all of ours has compiled the pillar that says who they are
        hosts = note.get("ours") or minions.ours(opts)
    return targets.among(note, hosts, limited)


def wanted(opts: Mapping, hosts: Collection[str]) -> list[str]:
    """Return those of some minions that the run's ``only`` names, also where they are left out, sorted."""
    return targets.named_by(stage_lock.own(opts), hosts)


def left(opts: Mapping) -> list[str]:
    """Return the minions that the run was to change and leaves out, sorted."""
    return sorted(stage_lock.own(opts).get("left", ()))


def excused(opts: Mapping) -> list[str]:
    """Return the daemons of hosts that the running stage leaves alone, as they are in maintenance."""
    return [daemon for daemons in stage_lock.own(opts).get("maintenance", {}).values() for daemon in daemons]


def left_at_first(
    note: Mapping, away: Collection[Record] | None, said: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """Return what a run notes of hosts that are left out from its beginning: ``left`` and ``maintenance``; and
    ``unasked``, where it is to ask for the latter once the cluster answers.

    note
        The run's: who is silent.
    away
        Records of the hosts in maintenance; None where they are not known.
    said
        What the silent ones said that did answer, and not what was asked.
    """
    if away is None:
        return {**left_at_first(note, (), said), "unasked": True}
    hosts = set(note["hosts"])
    left = {minion: said.get(minion, targets.SILENT) for minion in note["silent"] if minion in hosts}
    left |= {record.minion: record.why for record in away if record.minion in hosts}
    maintenance = {record.minion: sorted(maintained.excused([record])) for record in away}
    return {"left": left, "maintenance": maintenance, "unasked": False}


def leave(opts: Mapping, step: str, hosts: Collection[str], answers: Mapping[str, Any]) -> dict[str, str]:
    """Leave the hosts that failed in a step out of the rest of the run; return why, by host.

    opts
        The master's options.
    step
        The step's name.
    hosts
        Ids of the minions that it was for.
    answers
        What those that failed, or changed something, returned.

    Raises ProposalError where the stage cannot go on without them.
    """
    # Outside of test mode the step itself has named those that changed nothing (step.state).
    asked = set(hosts)
    failed = targets.failures({minion: answer for minion, answer in answers.items() if minion in asked}, test=True)
    job = targets.leave(stage_lock.own(opts), step, hosts, failed)
    if "pid" in job:
        stage_lock.note_on(opts, dict(job))
    return failed


def must(opts: Mapping, hosts: Sequence[str]) -> None:
    """Note minions without which the run cannot go on from now."""
    if job := stage_lock.own(opts):
        stage_lock.note_on(opts, {**job, "must": sorted({*job.get("must", ()), *hosts})})
