"""Who is changed when: Ceph's order of daemons, a canary first, and OSDs as many at once as Ceph allows."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from proposals.cluster.upgrade.hosts import Host

# docs.ceph.com/en/pacific/releases/pacific (upgrading without cephadm): monitors, managers, OSDs, metadata servers,
# gateways. "client" is an object gateway, by Ceph's name; "gateway" are daemons that are not Ceph's own.
KINDS = ("mon", "mgr", "osd", "mds", "client", "gateway")
Waiting = Mapping[str, Sequence[str]]  # daemons' names by minion


def of_kind(hosts: Mapping[str, Host], kind: str, last: Collection[str] = ()) -> dict[str, Sequence[str]]:
    """Return whose daemons of a kind wait, in their order.

    hosts
        By minion.
    kind
        One of ``KINDS``.
    last
        Daemons whose hosts come last: the active manager, active metadata servers; standbys take over from them.
    """
    return in_order({minion: names for minion, host in hosts.items() if (names := host.waiting(kind))}, last)


def in_order(waiting: Waiting, last: Collection[str]) -> dict[str, Sequence[str]]:
    """Return it in its order: by minion, those with one of the daemons in ``last`` behind the others."""
    return dict(sorted(waiting.items(), key=lambda each: (bool(set(each[1]) & set(last)), each[0])))


def together(waiting: Waiting, allowed: Iterable[str]) -> list[str]:
    """Return the minions whose daemons stop in one turn: the first, and each all of whose daemons Ceph allows beside.

    waiting
        In their order; not empty.
    allowed
        The daemons that Ceph lets stop at once, of which the first minion's were asked for.
    """
    may = set(allowed)
    first, *others = waiting
    return [first, *(minion for minion in others if set(waiting[minion]) <= may)]


def rest(hosts: Mapping[str, Host]) -> list[str]:
    """Return the minions without a daemon that waits, and with newer packages: clients, the master's own host."""
    return [minion for minion, host in hosts.items() if host.newer and not any(map(host.waiting, KINDS))]


def done(hosts: Mapping[str, Host]) -> bool:
    """Whether all hosts have their newest packages and no daemon runs from older ones."""
    return not any(host.newer or any(map(host.waiting, KINDS)) for host in hosts.values())
