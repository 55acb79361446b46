"""What is not as states say, seen in one job: each host looks for itself, now, and changes nothing."""

from collections.abc import Collection, Mapping, Sequence

from proposals.stages import replies
from proposals.text.notes import by_host
from runners.engine import jobs

LINE = "not as told, or to be applied:"  # before what differs
Group = tuple[Sequence[str], Collection[str]]  # SLS, and the minions that they are for


def differing(opts: Mapping, groups: Sequence[Group], pillar: Mapping | None = None) -> list[str]:
    """Return what differs, a line each, and the problems of hosts of which that is not known; empty where nothing does.

    opts
        The master's options.
    groups
        Lists of SLS, each with the minions that they are for.
    pillar
        More pillar for them.

    Raises ProposalError where the master takes no job.
    """
    looked = jobs.ask(opts, hosts(groups), "host_states.differing", [groups, pillar or {}], list)
    differ = [(host, line) for host, lines in looked.answers.items() for line in lines]
    return [*replies.lines(looked.problems), *by_host(differ)]


def hosts(groups: Sequence[Group]) -> list[str]:
    """Return all minions of groups, sorted."""
    return sorted({host for _, minions in groups for host in minions})
