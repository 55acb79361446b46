"""An NFS server that was stopped and is not awaited: its capabilities and its grace hold nobody up."""

from collections.abc import Mapping

from proposals.text.errors import ProposalError
from runners.engine.asking import jobs


def release(opts: Mapping, minion: str, hostname: str, told: Mapping, others: bool) -> list[str]:
    """Let its cluster's other servers leave grace, and end its sessions of CephFS; return what could not be done.

    opts
        The master's options.
    minion, hostname
        Its host.
    told
        What the host is told of it (``pillar.named``): ``{daemons, keys, grace}``.
    others
        Whether servers of its cluster run on. A lone one keeps its grace: what its clients had they claim when it is
        back, as nobody else gave it away.

    Never for a restart, after which it claims what it had. Where it still runs nothing is done. May be repeated.
    """
    server, grace = told["daemons"][0], told["grace"]
    try:
        if not jobs.one(opts, minion, "ganesha.ended", kind=bool):
            return ["the NFS server still runs: its sessions are left to it"]
        if others:
            words = [server, *(grace[key] for key in ("user", "pool", "namespace"))]
            jobs.one(opts, minion, "ganesha_grace.lift", words, bool)
        jobs.cluster(opts, "cluster_cephfs.evict", [grace["user"], hostname, server], list)
    except ProposalError as err:
        return [f"clients of the folders that the NFS server had may wait for 5 minutes: {err}"]
    return []
