"""From an inventory and arguments to the answer: every targeted host, every port with its role or reason."""

import ipaddress
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from proposals.networking import advice, hostplan, nics
from proposals.networking.arguments import NetworkArguments, check_apart, network
from proposals.networking.hostplan import HostNetwork, Networks
from proposals.settings.cluster import NETWORKS
from proposals.text.addresses import Ip, Network
from proposals.text.errors import PlanError
from proposals.text.names import shown
from proposals.text.notes import HINT, WARNING, Note, merged, several


@dataclass(frozen=True, slots=True)
class NetworkPlan:
    """The answer of ``networks.peek``."""

    arguments: NetworkArguments
    networks: Networks
    hosts: tuple[HostNetwork, ...]
    general: tuple[Note, ...]

    def as_dict(self) -> dict:
        """The answer as plain data, in one order."""
        public, cluster = self.networks
        hosts = {planned.host.id: self._host(planned) for planned in self.hosts}
        return {
            "name": self.arguments.name,
            "arguments": dict(self.arguments.typed),
            "networks": {NETWORKS[0]: _text(public), NETWORKS[1]: _text(cluster or public)},
            "hosts": hosts,
            "warnings": self._lines(WARNING),
            "hints": self._lines(HINT),
            "summary": {
                "hosts": len(hosts),
                "bonds": sum(bool(planned.bond) for planned in self.hosts),
                "ports": sum(len(host["ports"]) for host in hosts.values()),
                "unused": sum(port["role"] == "unused" for host in hosts.values() for port in host["ports"]),
            },
        }

    def _host(self, planned: HostNetwork) -> dict:
        ports = [
            {"name": nic.name, "kind": nic.kind, "speed": nic.speed, "driver": nic.driver, "path": nic.path}
            | dict(zip(("role", "reason"), planned.roles[nic.name], strict=True))
            for nic in planned.host.nics.values()
        ]
        links = [
            {key: value for key, value in link._asdict().items() if value not in (None, ())} for link in planned.links
        ]
        for link in links:
            link["addresses"] = list(link.get("addresses", ()))
            link |= {"ports": list(link["ports"])} if "ports" in link else {}
        return {"links": links, "reached_by": planned.carrier(self.networks.public), "ports": ports}

    def _lines(self, level: str) -> list[str]:
        told = [note.text for note in self.general if note.level == level]
        return told + merged({one.host.id: one.notes for one in self.hosts}, level)


def _text(network: object) -> str | None:
    return str(network) if network else None


def peek(raw: Mapping, wanted: NetworkArguments, targets: Collection[str] | None = None) -> NetworkPlan:
    """Plan the networks of an inventory's hosts; nothing is written.

    ``targets`` names the hosts (a runner has matched them); without it ``target`` is a glob. The two networks are
    those typed, else the inventory's ``networks``, else worked out from the hosts' addresses. Raises a
    ProposalError with the one message where the input or what was asked is wrong.

    CLI: ``python -m proposals networks peek INVENTORY cluster-network=192.168.100.0/24 cluster-vlan=3001``"""
    hosts = nics.read(raw, wanted.target, targets)
    networks = _networks(raw.get("networks") or {}, wanted, hosts)
    if wanted.cluster_vlan and not networks.cluster:
        raise PlanError("cluster-vlan needs to know the cluster network: give cluster-network=192.168.100.0/24 or so")
    every = sorted(map(str, raw["hosts"]))  # a plan of monitors alone may name the others' hosts
    if wanted.cluster_hosts and not any(fnmatchcase(host, wanted.cluster_hosts) for host in every):
        raise PlanError(
            f"cluster-hosts={shown(wanted.cluster_hosts)} matches none of the hosts that discovery saw: "
            f"{several(every)}; expected a glob, such as 'osdnode*'"
        )
    planned = tuple(hostplan.plan(host, wanted, networks) for host in hosts)
    _check_addresses(planned, raw["hosts"])
    links = [link for host in planned for link in host.links]
    if links and wanted.gateway and not any(link.gateway == wanted.gateway for link in links):
        raise PlanError(f"gateway={wanted.gateway} lies in no network that is planned on any host: is it mistyped?")
    return NetworkPlan(wanted, networks, planned, tuple(advice.general(planned, wanted, networks)))


def _networks(known: Mapping, wanted: NetworkArguments, hosts: tuple[nics.HostPorts, ...]) -> Networks:
    stored = [network(key, known[key])[0] if known.get(key) else None for key in NETWORKS]
    public = wanted.public_network or stored[0] or _most_shared(hosts)
    cluster = wanted.cluster_network or stored[1]
    check_apart(public, cluster)
    return Networks(public, None if cluster == public else cluster)


def _most_shared(hosts: tuple[nics.HostPorts, ...]) -> Network | None:
    """The network that most hosts have an address in; IPv6 where they share no IPv4 (discovery's rule)."""
    shared = Counter(
        net
        for host in hosts
        for net in {one.network for nic in host.nics.values() for one in nic.addresses}
        if net.prefixlen < net.max_prefixlen - 1 and not net.is_loopback and not net.is_link_local
    )
    return max(
        shared, key=lambda net: (shared[net] > 1, -net.version, shared[net], -int(net.network_address)), default=None
    )


def _check_addresses(planned: tuple[HostNetwork, ...], listed: Mapping) -> None:
    """Raise PlanError for a planned address that another host would have, or has where nothing is planned."""
    ours = sorted({(host.host.id, text) for host in planned for link in host.links for text in link.addresses})
    owners: dict[Ip, str] = {}
    for id_, text in ours:
        owners.setdefault(ipaddress.ip_interface(text).ip, id_)
    taken = {host.host.id: host.roles_taken() for host in planned}
    stays = [
        (str(id_), str(address))
        for id_, told in sorted(listed.items(), key=lambda each: str(each[0]))
        for nic in nics.interfaces(told)
        if nic.name not in taken.get(str(id_), ())
        for address in nic.addresses
    ]
    for id_, text in (*ours, *stays):
        address = ipaddress.ip_interface(text).ip
        if (owner := owners.get(address, id_)) != id_:
            raise PlanError(
                f"{owner} and {shown(id_)} would both have {address}: correct the address of one of them and run "
                "ceph.stage.discovery again"
            )
