"""What the last steps of a stage ask, seen once: of the cluster in one job, of the hosts that take part in another."""

from collections.abc import Mapping
from typing import NamedTuple

from proposals.stages.replies import Question, Replies
from runners.engine import jobs, minions, stage_lock, taking_part

STATES, MONITORS, STARTUP = "cluster_osds.states", "cluster_mons.monitors", "cluster_config.startup"
PENDING, STOPPED, ABSENT, DISKS = "daemons.pending", "daemons.stopped", "osd.absent", "disks_smart.inspect"


class Look(NamedTuple):
    """What was answered, by the name of what was asked: by the cluster, by the hosts."""

    cluster: Mapping[str, Replies]
    hosts: Mapping[str, Replies]

    def states(self) -> list[dict]:
        """Return what the cluster knows of its OSDs; ProposalError where it did not say."""
        return next(iter(self.cluster[STATES].whole().values()))

    def monitors(self) -> list[str]:
        """Return the names of its monitors; ProposalError where it did not say."""
        return next(iter(self.cluster[MONITORS].whole().values()))["names"]


_KEPT: dict[str, Look] = {}  # by the job of the stage that this process runs


def look(opts: Mapping) -> Look:
    """Ask all that the last steps want to know; those behind take it from ``kept``.

    opts
        The master's options.

    Raises ProposalError where the cluster does not say what daemons read at their start, or the master takes no job.
    """
    members = minions.members(opts)
    asked = [Question(STATES, kind=list), Question(MONITORS), Question(STARTUP, kind=list)]
    cluster = jobs.ask_apart(opts, members["master"], asked, timeout=300)
    startup = cluster[STARTUP].whole()[members["master"][0]]
    wanted = [Question(PENDING, [startup]), Question(STOPPED, kind=list), Question(ABSENT), Question(DISKS)]
    seen = Look(cluster, jobs.ask_apart(opts, taking_part.among(opts, members["all"]), wanted))
    if job := stage_lock.own(opts):
        _KEPT.clear()
        _KEPT[job["jid"]] = seen
    return seen


def kept(opts: Mapping) -> Look | None:
    """Return what an earlier step of the stage that this process runs has seen; None where none has, or there is no
    stage.
    """
    return _KEPT.get(stage_lock.own(opts).get("jid", ""))
