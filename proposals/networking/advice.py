"""Advice on the network, with the papers' figures (reference: Mellanox, "Deploying Ceph with High Performance
Networks", 2014; the SUSE Enterprise Storage guide for HPE Apollo 4510)."""

from collections.abc import Iterable, Mapping, Sequence

from proposals.networking.arguments import NetworkArguments
from proposals.networking.bonding import gbits
from proposals.networking.hostplan import HostNetwork, Networks
from proposals.text.notes import HINT, WARNING, Note, several

HARD_DISK = 10_000 / 15  # Mb/s: a node of 15 hard disks writes more than 10 GbE carries
FLASH = 40_000  # Mb/s that a node with flash for data needs at least
TIMES = 2, 4  # the cluster network should have so many times the public one's capacity


def general(hosts: Sequence[HostNetwork], wanted: NetworkArguments, networks: Networks) -> list[Note]:
    """Notes on all hosts together: equal hosts share a line."""
    hosts_by_note: dict[Note, list[str]] = {}
    for planned in hosts:
        for note in (*_capacity(planned, networks), *_load(planned, networks)):
            hosts_by_note.setdefault(note, []).append(planned.host.id)
    notes = [Note(note.level, f"{several(names)}: {note.text}") for note, names in hosts_by_note.items()]
    return notes + _switches(hosts, wanted) + _jumbo(hosts, networks) + _differ(hosts)


def speed(planned: HostNetwork, name: str | None) -> int:
    """What an interface carries at most, in Mb/s; 0 where unknown. A VLAN carries what lies below it."""
    links = {link.name: link for link in planned.links}
    while name in links and links[name].lower:
        name = links[name].lower
    if name in links and links[name].ports:
        return sum(planned.host.nics[port].speed or 0 for port in links[name].ports)
    nic = planned.host.nics.get(name or "")
    return (nic.speed or 0) if nic else 0


def _base(planned: HostNetwork, name: str | None) -> str | None:
    return next((link.lower for link in planned.links if link.name == name and link.lower), name)


def _capacity(planned: HostNetwork, networks: Networks) -> Iterable[Note]:
    """The cluster network against the public one."""
    public, cluster = (planned.carrier(network) for network in networks)
    if planned.bond and public in planned.host.nics and speed(planned, public) < speed(planned, planned.bond.name):
        yield Note(
            HINT,
            f"the public network stays on {public}, {gbits(speed(planned, public))}: give its address to a port of "
            f"{planned.bond.name} and run ceph.stage.discovery again to have it there",
        )
    if not public or not cluster:
        return
    if _base(planned, public) == _base(planned, cluster):
        yield Note(
            HINT,
            f"public and cluster network share {_base(planned, public)}, {gbits(speed(planned, public))}: the papers "
            f"give the cluster network {TIMES[0]} to {TIMES[1]} times the public one's capacity, here both take what "
            "they need",
        )
    elif ours := speed(planned, public):
        times = speed(planned, cluster) / ours
        if times < TIMES[0]:
            yield Note(
                WARNING,
                f"the cluster network has {times:g} times the capacity of the public one "
                f"({gbits(speed(planned, cluster))} on {cluster}, {gbits(ours)} on {public}): {TIMES[0]} to {TIMES[1]} "
                "times is advised, each write goes on to the other replicas there",
            )


def _load(planned: HostNetwork, networks: Networks) -> Iterable[Note]:
    """What the node's disks can write against what its network carries."""
    hard, flash = planned.host.disks
    carries = speed(planned, planned.carrier(networks.cluster) or planned.carrier(networks.public))
    if not carries:
        return
    writes = hard * HARD_DISK
    if writes > carries:
        yield Note(
            WARNING,
            f"{hard} hard disks write about {writes / 1000:.0f} Gb/s and its network carries {gbits(carries)} "
            "(15 of them write more than 10 GbE carries)",
        )
    if flash and not hard and carries < FLASH:
        yield Note(WARNING, f"{flash} flash disks behind {gbits(carries)}: flash needs at least {gbits(FLASH)}")


def _switches(hosts: Sequence[HostNetwork], wanted: NetworkArguments) -> list[Note]:
    if not wanted.mode or not any(planned.bond for planned in hosts):
        return []
    if wanted.switches == 1:
        return [
            Note(WARNING, "one switch: all hosts lose their network with it; two in an MLAG pair outlive one of them")
        ]
    if wanted.mode == "802.3ad":
        text = "802.3ad over two switches needs them paired (MLAG, vPC): networks.switch prints their configuration"
        return [Note(HINT, text)]
    return [
        Note(HINT, "active-backup carries one port's speed at a time; 802.3ad carries all, where switches know LACP")
    ]


def _jumbo(hosts: Sequence[HostNetwork], networks: Networks) -> list[Note]:
    """MTUs that differ within a network lose large messages without a word."""
    notes = []
    for network in (networks.public, networks.cluster):
        by_mtu: dict[int, list[str]] = {}
        for planned in hosts:
            if name := planned.carrier(network):
                by_mtu.setdefault(_mtu(planned, name), []).append(planned.host.id)
        if len(by_mtu) > 1:
            mtus = "; ".join(f"{mtu} on {several(names)}" for mtu, names in sorted(by_mtu.items()))
            notes.append(
                Note(WARNING, f"the MTU differs in {network}: {mtus}: large messages would be lost without a word")
            )
    most = max((link.mtu for planned in hosts for link in planned.links), default=0)
    if most > 1500:
        notes.append(Note(HINT, f"MTU {most}: the switches must let through 9216; networks.jumbo proves it"))
    return notes


def _mtu(host: HostNetwork, name: str) -> int:
    mtus: Mapping[str, int] = {link.name: link.mtu for link in host.links}
    return mtus.get(name) or host.host.nics[name].mtu


def _differ(hosts: Sequence[HostNetwork]) -> list[Note]:
    groups: dict[str, list[str]] = {}
    for planned in hosts:
        bonds = [
            f"{link.name} of {len(link.ports)} x {gbits(speed(planned, link.ports[0]))}"
            for link in planned.links
            if link.ports
        ]
        groups.setdefault(", ".join(bonds) or "no bond", []).append(planned.host.id)
    if len(groups) < 2:
        return []
    return [
        Note(HINT, "hosts differ: " + "; ".join(f"{key} on {several(names)}" for key, names in sorted(groups.items())))
    ]
