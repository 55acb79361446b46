"""A secret that minions are told for the time of one command, by the way of all secrets: their own file of pillar."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from proposals.files.site import Site, site
from proposals.pillar import key_store
from proposals.stages import replies
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs


@contextmanager
def lent(opts: Mapping, hosts: Collection[str], use: str, text: str) -> Iterator[None]:
    """Tell minions a secret, and forget it again; where this process is killed, the next configure forgets it.

    opts
        The master's options.
    hosts
        Their ids.
    use
        Its key in ``ceph_secrets`` of their pillar.
    text
        The secret.

    Raises ProposalError where one of them does not take it.
    """
    paths = site(opts)
    try:
        _tell(opts, paths, hosts, use, text)
        yield
    finally:
        _tell(opts, paths, hosts, use, None)


def _tell(opts: Mapping, paths: Site, hosts: Collection[str], use: str, text: str | None) -> None:
    for host in hosts:
        key_store.lend(paths, host, use, text)
    refreshed = jobs.ask(opts, hosts, "saltutil.refresh_pillar", jobs.REFRESH, object)
    if refreshed.problems and text is not None:
        raise ProposalError("\n".join(replies.lines(refreshed.problems)))
