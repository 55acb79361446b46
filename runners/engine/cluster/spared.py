"""A host that the running cluster is to do without for a moment: Ceph's leave before, ``noout`` meanwhile."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from proposals.cluster.health.findings import WRONG, Complaint
from proposals.cluster.health.judge import Verdict
from proposals.cluster.health.seen import Seen
from proposals.text.errors import ProposalError
from proposals.text.notes import several
from runners.engine.asking import jobs
from runners.engine.cluster import health

BY_HAND = "'ceph osd unset"  # in cluster_health.held's words: a flag goes when a person takes it away, whatever moves
STAYS = "noout stays set for {} ({} down): the next run takes it away"


def refused(opts: Mapping, host: str, asker: str) -> list[str]:
    """Return why the cluster needs a host's daemons now, in Ceph's words; empty where it does not.

    opts
        The master's options.
    host
        The host's name, as the monitors have it; CRUSH may call it otherwise.
    asker
        The minion that asks the cluster.
    """
    return jobs.one(opts, asker, "cluster_maintenance.needed", [host], list)


def against(refusals: Sequence[str]) -> tuple[Complaint, ...]:
    """Return Ceph's refusals as what a verdict holds."""
    return tuple(Complaint(f"groups needed {number}", WRONG, "", why) for number, why in enumerate(refusals))


def leave(opts: Mapping, refusals: Callable[[], Sequence[str]], limit: float) -> str:
    """Wait for Ceph's leave, as long as data moves that may bring it; return why it says no then, empty for yes. What a
    flag of somebody's holds is not waited for.

    opts
        The master's options.
    refusals
        Asks Ceph.
    limit
        Seconds without progress.
    """
    last: Sequence[str] = ()

    def look() -> Verdict:
        nonlocal last
        if not (last := refusals()) or any(BY_HAND in why for why in last):
            return Verdict()
        found = health.judged(opts)
        return Verdict((*against(last), *found.wrong), found.moves)

    health.waited(look, limit)
    return "; ".join(last)


def no(ask: Callable[[], object]) -> list[str]:
    """Return why Ceph says no to a question, or to a change that is made by its leave alone, for ``leave``; empty for
    yes.
    """
    try:
        ask()
    except ProposalError as err:
        return [str(err)]
    return []


@contextmanager
def noout(opts: Mapping, hosts: Sequence[str], asker: str) -> Iterator[None]:
    """Set ``noout`` for hosts while something is done to them; that of an interrupted run is taken away before.

    Where what is done fails, or is interrupted, and OSDs of theirs are down, it stays until the next run: a host that
    is away for long, or an OSD that is copied still, is no reason to rebuild what it has. Arguments as for ``refused``.
    """
    jobs.one(opts, asker, "cluster_maintenance.end", kind=list)
    theirs: set[int] = set()
    try:
        for host in hosts:
            theirs |= set(jobs.one(opts, asker, "cluster_maintenance.begin", [host], list))
        yield
    except BaseException as err:
        lost = _lost(opts, theirs, asker)
        if not lost:
            jobs.one(opts, asker, "cluster_maintenance.end", kind=list)
        elif isinstance(err, ProposalError):
            raise ProposalError(f"{err}; {STAYS.format(', '.join(hosts), several(lost, 'more'))}") from err
        raise
    jobs.one(opts, asker, "cluster_maintenance.end", kind=list)


def down(now: Seen) -> set[int]:
    """Return the OSDs that do not run and would be marked out: of one that is out already ``noout`` holds nothing."""
    return {osd.id for osd in now.osds if osd.is_in and not osd.up}


def _lost(opts: Mapping, osds: Collection[int], asker: str) -> list[str]:
    """Which of some OSDs ``noout`` is still for; all where the cluster says nothing."""
    try:
        left = set(osds) & down(health.look(opts, asker)) if osds else set()
    except ProposalError:
        left = set(osds)
    return [f"osd.{osd_id}" for osd_id in sorted(left)]
