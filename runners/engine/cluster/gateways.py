"""Object gateways out of their balancer while they stop: HAProxy gives them no new request, and has them back after."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from proposals.files.site import site
from proposals.pillar import named, served
from proposals.stages import replies
from proposals.text.errors import ProposalError
from proposals.text.notes import by_host
from runners.engine.asking import jobs
from runners.engine.waiting import until_none

NOTED, NOTE = "cluster_maintenance.drained", "cluster_maintenance.drains"
SLS = "ceph.service.rgw-frontend.haproxy"
BACK = 120  # seconds until HAProxy's own checks see a gateway again: its host may have just booted


def back(opts: Mapping) -> None:
    """Let gateways have requests again that an interrupted run drained.

    What is not told to every HAProxy is kept, and told by the next run; one that this run leaves out is not told.

    opts
        The master's options.
    """
    if names := jobs.cluster(opts, NOTED, kind=list):
        _ready(opts, _fronts(opts), names, [])


@contextmanager
def drained(opts: Mapping, daemons: Iterable[str], away: Collection[str] = ()) -> Iterator[None]:
    """Keep new requests from gateways while something is done to them, then wait until each HAProxy has them back. One
    that knows them at the port they had, or without TLS, is told anew.

    Nothing is drained where a HAProxy has no other gateway that is up, as clients would only wait longer, nor given
    back what somebody else has drained.

    opts
        The master's options.
    daemons
        Names of daemons as Ceph has them (``client.rgw.node1``); those that are no gateways are left alone.
    away
        Minions that go with them: their own HAProxy is not asked.

    Raises ProposalError where a HAProxy does not have one back.
    """
    names = {name.removeprefix("client.") for name in daemons if name.startswith("client.")}
    fronts = [front for front in _fronts(opts) if front not in away] if names else []
    known = _up(opts, fronts)  # of one that the run leaves out there is no answer
    behind = sorted(name for name in names if any(states.get(name) for states in known.values()))
    if not behind or not all(_others(states, names) for states in known.values()):
        yield
        _renewed(opts, fronts)
        return
    kept = jobs.cluster(opts, NOTED, kind=list)  # a HAProxy that is left out was not told of these since
    jobs.cluster(opts, NOTE, [sorted({*kept, *behind})], bool)
    try:
        jobs.ask(opts, list(known), "host_haproxy.drain", [behind], timeout=120)  # else its checks see that it stops
        yield
    finally:
        _ready(opts, list(known), behind, kept)  # one that went along has forgotten it
    _renewed(opts, fronts)
    if left := until_none(lambda: _missing(_up(opts, list(known)), behind), BACK, 1):
        raise ProposalError(f"{'; '.join(left)}: look at 'journalctl -u ceph-radosgw@*' there")


def _renewed(opts: Mapping, fronts: Collection[str]) -> None:
    """Tell the HAProxys that differ where gateways are by now, as the stage services leaves them at the former places
    while nobody answers at the new ones.
    """
    older = jobs.ask(opts, fronts, "host_haproxy.outdated", kind=bool).answers if fronts else {}
    hosts = [front for front, differs in older.items() if differs]
    told = jobs.ask(opts, hosts, "state.apply", [SLS], timeout=BACK).answers if hosts else {}
    failed = [(front, "; ".join(wrong)) for front, states in told.items() if (wrong := replies.failures(states))]
    if failed:
        raise ProposalError("\n".join(by_host(failed)))


def _ready(opts: Mapping, fronts: Collection[str], names: Sequence[str], kept: Sequence[str]) -> None:
    """Let some HAProxys give gateways requests again; where all were told, keep of the record no more than ``kept``."""
    if not jobs.ask(opts, fronts, "host_haproxy.ready", [names], list).problems:
        jobs.cluster(opts, NOTE, [kept], bool)


def _fronts(opts: Mapping) -> list[str]:
    """The minions with a HAProxy before the gateways, those too that the running stage leaves alone."""
    paths = site(opts)
    if not paths.current.exists():
        return []
    hosts = named.hosts(served.contents(paths), named.hostnames(paths))
    return sorted(minion for minion, host in hosts.items() if "rgw-frontend" in host["parts"])


def _up(opts: Mapping, fronts: Collection[str]) -> dict[str, dict[str, bool]]:
    """Of each HAProxy that answers, its gateways, each with whether it gets requests."""
    return jobs.ask(opts, fronts, "host_haproxy.servers").answers if fronts else {}


def _others(states: Mapping[str, bool], names: Collection[str]) -> list[str]:
    return [name for name, up in states.items() if up and name not in names]


def _missing(known: Mapping[str, Mapping[str, bool]], names: Collection[str]) -> list[str]:
    return [
        f"{front}: HAProxy does not have {name} back"
        for front, states in known.items()
        for name in names
        if not states.get(name, True)
    ]
