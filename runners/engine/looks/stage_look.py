"""What the steps of a stage want to know, seen once: of the cluster and of the hosts, in the job that asks who answers.

Where a look says that nothing is to be done, each step behind it takes its part of that. Once anything was changed each
asks for itself, and the last ones by a look of their own.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from proposals.stages import replies
from proposals.stages.replies import Question, Replies
from proposals.text.errors import ProposalError
from proposals.text.notes import by_host
from runners.engine.asking import jobs, minions, taking_part
from runners.engine.looks import early
from runners.engine.runs.stage_memory import Memory

HEALTH, STATES, MONITORS = "cluster_health.inspect", "cluster_osds.states", "cluster_mons.monitors"
STARTUP, CRUSH, HELD = "cluster_config.startup", "cluster_crush.inspect", "cluster_crush.held"
FILL, NOOUT, MAINTAINED = "cluster_fill.inspect", "cluster_maintenance.noted", "cluster_maintenance.hosts"
CLUSTER = {HEALTH: [], STATES: [], MONITORS: [], STARTUP: [], CRUSH: [], HELD: [], FILL: [False], NOOUT: []}
DELETING = "cluster_pools.allowed"
CLUSTER |= {MAINTAINED: [], DELETING: []}
TOGETHER = "cluster_cli.together"  # asks all of them
SETTINGS, STOPPED, ABSENT, DISKS = "daemons.settings", "daemons.stopped", "osd.absent", "disks_smart.inspect"
HOSTS = (Question(SETTINGS), Question(STOPPED, kind=list), Question(ABSENT), Question(DISKS))
DIFFERING = "host_states.differing"
AS_TOLD = "as_told"  # of the stage's job: whether no host differs from what its steps say
LINE = "not as told, or to be applied:"  # before what differs
GONE = "not looked at where the stage began, or something changed since"
Group = tuple[Sequence[str], Collection[str]]  # SLS, and the minions that they are for


class Look(NamedTuple):
    """What the cluster answered, and what the hosts, by the name of what was asked; why the cluster did not."""

    cluster: Mapping[str, Any]
    hosts: Mapping[str, Replies]
    why: Sequence[str] = ()

    def differing(self) -> list[str]:
        """Return what is not as SLS say, a line each, and the problems of hosts of which that is not known."""
        return [*self.why, *_lines(self.hosts[DIFFERING])]


_KEPT: Memory[Look] = Memory()


def questions(opts: Mapping, look: Mapping, cluster: Mapping[str, Sequence], anew: bool) -> list[Question]:
    """Return what a stage that begins asks for its look, in its job to all hosts.

    opts
        The master's options.
    look
        SLS with their hosts (``groups``, None for all), and more ``pillar`` for them.
    cluster
        What the cluster is asked: functions with their arguments; of ``CLUSTER``, hosts are asked more than states too.
    anew
        Whether a host reads its grains anew in the same job.
    """
    states = Question(DIFFERING, [look["groups"], look["pillar"], False, anew], list)
    asked = [Question(TOGETHER, [dict(cluster), _asker(opts)])] if cluster else []
    return [*asked, *(HOSTS if HEALTH in cluster else ()), states]


def seen(opts: Mapping, told: early.Told, groups: Sequence[Group]) -> Look:
    """Return the look that ``questions`` gave.

    opts
        The master's options.
    told
        What each host told.
    groups
        SLS with those of their hosts that take part.
    """
    replied = dict(told.replies)
    replied[DIFFERING] = replied[DIFFERING].of(hosts(groups))
    if SETTINGS not in replied:
        return Look({}, replied)
    replied |= _of_hosts(opts, replied)
    try:
        return Look(_of_cluster(opts, replied), replied)
    except ProposalError as err:
        return Look({}, replied, [str(err)])


def look(opts: Mapping) -> Look:
    """Ask all that steps want to know, but what states say. Raises ProposalError where the cluster does not answer, or
    the master takes no job.
    """
    asked = {*taking_part.among(opts, minions.members(opts)["all"]), _asker(opts)}
    seen = jobs.ask_apart(opts, asked, [Question(TOGETHER, [CLUSTER, _asker(opts)]), *HOSTS])
    return Look(_of_cluster(opts, seen), seen | _of_hosts(opts, seen))


def part(together: Replies, function: str) -> Replies:
    """Return the replies to one of the questions to the cluster, of those to all."""
    return together._replace(answers={minion: told.get(function, {}) for minion, told in together.answers.items()})


def _asker(opts: Mapping) -> str:
    return minions.members(opts)["master"][0]


def _of_cluster(opts: Mapping, seen: Mapping[str, Replies]) -> Mapping[str, Any]:
    """What the cluster answered; ProposalError where it did not."""
    answered: Mapping[str, Any] = seen[TOGETHER].of([_asker(opts)]).whole()[_asker(opts)]
    return answered


def _of_hosts(opts: Mapping, seen: Mapping[str, Replies]) -> dict[str, Replies]:
    """What hosts that take part told of themselves."""
    taking = taking_part.among(opts, minions.members(opts)["all"])
    return {question.function: seen[question.function].of(taking) for question in HOSTS}


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


def begun(opts: Mapping) -> Look | None:
    """Return what an earlier step of the stage that this process runs has seen; None where none has, where anything was
    changed since, or there is no stage. Of a cluster that did not answer, or was not asked, it holds nothing.
    """
    return _KEPT.kept(opts)


def kept(opts: Mapping) -> Look | None:
    """Return the same where the cluster has answered too; else None, and who wants to know asks for itself."""
    seen = begun(opts)
    return seen if seen and seen.cluster else None


def _lines(looked: Replies) -> list[str]:
    differ = [(host, str(line)) for host, lines in looked.answers.items() for line in lines]
    return [*replies.lines(looked.problems), *by_host(differ)]
