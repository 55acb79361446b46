"""What the steps of a stage want to know, seen once: of the cluster in one job, of the hosts in another.

Where a look says that nothing is to be done, each step behind it takes its part of that. Once anything was changed each
asks for itself, and the last ones by a look of their own.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from proposals.stages import replies
from proposals.stages.replies import Question, Replies
from proposals.text.notes import by_host
from runners.engine import jobs, minions, taking_part
from runners.engine.stage_memory import Memory

HEALTH, STATES, MONITORS = "cluster_health.inspect", "cluster_osds.states", "cluster_mons.monitors"
STARTUP, CRUSH, HELD = "cluster_config.startup", "cluster_crush.inspect", "cluster_crush.held"
FILL, NOOUT = "cluster_fill.inspect", "cluster_maintenance.noted"
CLUSTER = {HEALTH: [], STATES: [], MONITORS: [], STARTUP: [], CRUSH: [], HELD: [], FILL: [False], NOOUT: []}
PENDING, STOPPED, ABSENT, DISKS = "daemons.pending", "daemons.stopped", "osd.absent", "disks_smart.inspect"
DIFFERING = "host_states.differing"
AS_TOLD = "as_told"  # of the stage's job: whether no host differs from what its steps say
FAILED = "look_failed"  # likewise: why it could not be looked
LINE = "not as told, or to be applied:"  # before what differs
Group = tuple[Sequence[str], Collection[str]]  # SLS, and the minions that they are for


class Look(NamedTuple):
    """What the cluster answered, and what the hosts, by the name of what was asked."""

    cluster: Mapping[str, Any]
    hosts: Mapping[str, Replies]

    def differing(self) -> list[str]:
        """Return what is not as SLS say, a line each, and the problems of hosts of which that is not known."""
        return _lines(self.hosts[DIFFERING])


_KEPT: Memory[Look] = Memory()
_EXPECTED: Memory[tuple[Sequence[Group], Mapping]] = Memory()  # what the look is about


def expect(opts: Mapping, groups: Sequence[Group], pillar: Mapping) -> None:
    """Note what the look of the stage that this process runs will be about: a step before it, which asks all hosts
    anyway, may look in the same job. Arguments as for ``differing``.
    """
    _EXPECTED.keep(opts, (groups, pillar))


def expected(opts: Mapping) -> tuple[Sequence[Group], Mapping] | None:
    """Return what was noted by ``expect``; None where the stage has no look, or there is no stage."""
    return _EXPECTED.kept(opts)


def look(
    opts: Mapping,
    groups: Sequence[Group] = (),
    pillar: Mapping | None = None,
    also: Sequence[Question] = (),
    asked: Collection[str] = (),
) -> Look:
    """Ask all that steps want to know. Arguments as for ``differing``.

    also, asked
        More questions, for these hosts too.

    Raises ProposalError where the cluster does not answer, or the master takes no job.
    """
    members = minions.members(opts)
    cluster = jobs.cluster(opts, "cluster_cli.together", [CLUSTER], dict)
    wanted = [Question(PENDING, [cluster[STARTUP]]), Question(STOPPED, kind=list), Question(ABSENT), Question(DISKS)]
    wanted += [Question(DIFFERING, [groups, pillar or {}], list)] if groups else []
    taking = taking_part.among(opts, members["all"])
    replied = jobs.ask_apart(opts, sorted({*taking, *hosts(groups), *asked}), [*also, *wanted])
    whole = {DIFFERING, *(question.function for question in also)}
    return Look(cluster, {name: told if name in whole else of(told, taking) for name, told in replied.items()})


def differing(opts: Mapping, groups: Sequence[Group], pillar: Mapping | None = None) -> list[str]:
    """Return what differs, a line each, and the problems of hosts of which that is not known; empty where nothing does.

    Each host looks for itself, now, and changes nothing.

    opts
        The master's options.
    groups
        Lists of SLS, each with the minions that they are for.
    pillar
        More pillar for them.

    Raises ProposalError where the master takes no job.
    """
    return _lines(jobs.ask(opts, hosts(groups), DIFFERING, [groups, pillar or {}], list))


def hosts(groups: Sequence[Group]) -> list[str]:
    """Return all minions of groups, sorted."""
    return sorted({host for _, minions in groups for host in minions})


def keep(opts: Mapping, seen: Look | None) -> None:
    """Keep a look for the later steps of the stage that this process runs; None: what was kept holds no more."""
    _KEPT.keep(opts, seen)


def kept(opts: Mapping) -> Look | None:
    """Return what an earlier step of the stage that this process runs has seen; None where none has, where anything was
    changed since, or there is no stage.
    """
    return _KEPT.kept(opts)


def of(told: Replies, asked: Collection[str]) -> Replies:
    """Return the replies of some hosts alone."""
    answers = {minion: answer for minion, answer in told.answers.items() if minion in asked}
    return Replies(answers, [problem for problem in told.problems if problem.minion in asked])


def _lines(looked: Replies) -> list[str]:
    differ = [(host, line) for host, lines in looked.answers.items() for line in lines]
    return [*replies.lines(looked.problems), *by_host(differ)]
