"""A host that the running cluster is to do without for a moment: Ceph's leave before, ``noout`` meanwhile."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from proposals.cluster.health.findings import WRONG, Complaint
from proposals.cluster.health.judge import Verdict
from runners.engine import health, jobs


def refused(opts: Mapping, host: str, asker: str) -> tuple[Complaint, ...]:
    """Return why the cluster needs a host's daemons now, in Ceph's words; empty where it does not.

    opts
        The master's options.
    host
        The host's name, as CRUSH and the monitors have it.
    asker
        The minion that asks the cluster.
    """
    said = jobs.one(opts, asker, "cluster_maintenance.needed", [host], list)
    return tuple(Complaint(f"groups needed {number}", WRONG, "", why) for number, why in enumerate(said))


def leave(opts: Mapping, host: str, asker: str, limit: float) -> Verdict:
    """Wait for Ceph's leave, as long as data moves that may bring it; return what stands against it then.

    limit
        Seconds without progress. The other arguments are those of ``refused``.
    """

    def look() -> Verdict:
        no = refused(opts, host, asker)
        return Verdict(no, health.judged(opts, asker=asker).moves) if no else Verdict()

    return health.waited(look, limit)


@contextmanager
def noout(opts: Mapping, host: str, asker: str) -> Iterator[None]:
    """Set ``noout`` for a host while something is done to it; that of an interrupted run is taken away before.

    Arguments as for ``refused``.
    """
    jobs.one(opts, asker, "cluster_maintenance.end", kind=list)
    jobs.one(opts, asker, "cluster_maintenance.begin", [host], list)
    try:
        yield
    finally:
        jobs.one(opts, asker, "cluster_maintenance.end", kind=list)
