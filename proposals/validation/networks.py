"""Checks of networks: valid, apart, every address in its network, MTUs equal."""

from collections import Counter
from collections.abc import Iterable, Mapping

from proposals.settings.cluster import NETWORKS
from proposals.text import addresses
from proposals.validation.check import ERROR, HOSTS, POLICY, WARNING, Check, Found, at
from proposals.validation.roles import DAEMONS
from proposals.validation.subject import Subject

CLUSTER_YML = "config/stack/default/ceph/cluster.yml (or its override stack/ceph/cluster.yml)"


def network_shape(subject: Subject) -> Iterable[Found]:
    """Settings that are not a network."""
    for key in NETWORKS:
        if subject.network(key) is None:
            yield at(key=key, found=subject.settings.get(key) or "not set")


def network_family(subject: Subject) -> Iterable[Found]:
    """One network of IPv4 and one of IPv6."""
    public, cluster = (subject.network(key) for key in NETWORKS)
    if public and cluster and public.version != cluster.version:
        yield at(public=public, cluster=cluster)


def network_overlap(subject: Subject) -> Iterable[Found]:
    """Two networks that share addresses and are not the same one."""
    public, cluster = (subject.network(key) for key in NETWORKS)
    if public and cluster and public != cluster and public.version == cluster.version and public.overlaps(cluster):
        yield at(public=public, cluster=cluster)


def address_missing(subject: Subject) -> Iterable[Found]:
    """Daemons' hosts without an address that they need: public for all, cluster for storage."""
    for key, roles in zip(NETWORKS, (DAEMONS, ("storage",)), strict=True):
        network = subject.network(key)
        for minion in subject.members(*roles) if network else ():
            planned = addresses.inside(subject.links.get(minion, ()), network)  # deploy makes it
            if minion in subject.hosts and not _inside(subject, minion, network) and not planned:
                has = sorted(
                    {address for each in subject.hosts[minion].interfaces.values() for address in each["addresses"]}
                )
                yield at(minion, key=key, network=network, has=", ".join(has) or "none")


def address_down(subject: Subject) -> Iterable[Found]:
    """Interfaces that have the address but no link."""
    for key in NETWORKS:
        for minion in sorted(subject.hosts):
            for name, interface in _inside(subject, minion, subject.network(key)):
                if not interface["up"]:
                    yield at(minion, name=name, key=key)


def address_twice(subject: Subject) -> Iterable[Found]:
    """An address of our networks that several hosts have."""
    for key in dict.fromkeys(NETWORKS):
        owners: dict[str, list[str]] = {}
        network = subject.network(key)
        for minion in sorted(subject.hosts):
            for _, interface in _inside(subject, minion, network):
                for address in addresses.inside(interface["addresses"], network):
                    owners.setdefault(address, []).append(minion)
        yield from (at(*who, address=address) for address, who in owners.items() if len(set(who)) > 1)


def monitor_moved(subject: Subject) -> Iterable[Found]:
    """Monitors that listen elsewhere than ceph.conf would say: nobody would find them any more, from no host."""
    for minion, facts in sorted(subject.answered.items()):
        planned = subject.monitors.get(facts.hostname)
        if planned and facts.monitor_at and addresses.ip(planned) not in map(addresses.ip, facts.monitor_at):
            yield at(minion, found=", ".join(facts.monitor_at), planned=planned)


def mtu_differs(subject: Subject) -> Iterable[Found]:
    """Interfaces in a network whose MTU is not that of most hosts there; those without link do not count."""
    for key in NETWORKS:
        network = subject.network(key)
        mtus = [
            (minion, name, interface["mtu"])
            for minion in sorted(subject.hosts)
            for name, interface in _inside(subject, minion, network)
            if interface["up"]
        ]
        counts = Counter(mtu for _, _, mtu in mtus)
        most = max(counts, key=lambda mtu: (counts[mtu], mtu), default=0)
        yield from (
            at(minion, name=name, mtu=mtu, network=network, most=most) for minion, name, mtu in mtus if mtu != most
        )


def _inside(subject: Subject, minion: str, network: addresses.Network | None) -> list[tuple[str, Mapping]]:
    """A host's interfaces that have an address in a network."""
    interfaces = sorted(subject.hosts[minion].interfaces.items())
    return [(name, interface) for name, interface in interfaces if addresses.inside(interface["addresses"], network)]


CHECKS = (
    Check(
        *("network_shape", ERROR, POLICY, "public_network and cluster_network are networks"),
        "{key} is {found}, expected one network such as 192.168.124.0/24",
        f"correct it in {CLUSTER_YML} and run ceph.stage.configure",
        network_shape,
    ),
    Check(
        *("network_family", ERROR, POLICY, "the two networks are both of IPv4 or both of IPv6"),
        "public_network {public} and cluster_network {cluster} are of two kinds: Ceph's daemons bind one of them",
        f"choose both of IPv4 or both of IPv6 in {CLUSTER_YML}",
        network_family,
    ),
    Check(
        *("network_overlap", ERROR, POLICY, "the two networks are the same or share no address"),
        "public_network {public} and cluster_network {cluster} overlap",
        f"make them equal (one network for all) or separate in {CLUSTER_YML}",
        network_overlap,
    ),
    Check(
        *("address_missing", ERROR, HOSTS, "every host with a daemon has an address in its networks"),
        "no address in {key} {network}; it has {has}",
        f"give the interface an address there, or correct {{key}} in {CLUSTER_YML}",
        address_missing,
    ),
    Check(
        *("address_down", ERROR, HOSTS, "the interfaces of both networks have a link"),
        "{name} has the address in {key}, and no link",
        "look at the cable and at 'ip link show {name}' there",
        address_down,
    ),
    Check(
        *("address_twice", ERROR, HOSTS, "no two hosts have the same address"),
        "have the same address {address}",
        "change the address of all but one",
        address_twice,
    ),
    Check(
        *("monitor_moved", ERROR, HOSTS, "each monitor listens on the address that ceph.conf says"),
        "its monitor listens on {found}, and ceph.conf would say {planned}: no client would find it",
        "a monitor keeps the address that it was made with: give its host {found} back, take {planned} from it, or "
        f"correct public_network in {CLUSTER_YML}, then run ceph.stage.discovery and ceph.stage.configure",
        monitor_moved,
        "docs.ceph.com, rados/operations/add-or-rm-mons",
    ),
    Check(
        *("mtu", WARNING, HOSTS, "the MTU is equal on all hosts of a network"),
        "{name} has MTU {mtu}, most hosts in {network} have {most}: large messages may be lost without a word",
        "set the MTU of {name} to {most}, and look at what the switches let through",
        mtu_differs,
        "docs.ceph.com, cephadm/operations (CEPHADM_CHECK_MTU)",
    ),
)
