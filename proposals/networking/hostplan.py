"""One host's links: its bond, the VLANs on it, which address lies where, and why a port is left alone."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping
from typing import NamedTuple

from proposals.networking import bonding
from proposals.networking.arguments import JUMBO, NetworkArguments
from proposals.networking.nics import NAME, PORTS, Address, HostPorts, Nic
from proposals.text.addresses import Network, beside, within
from proposals.text.errors import PlanError
from proposals.text.notes import HINT, WARNING, Note

UNTAGGED = 0


class Link(NamedTuple):
    """A link as it is to be. ``ports`` of a bond; ``lower`` and ``id`` of a VLAN; a plain port has neither."""

    name: str
    kind: str
    mtu: int
    addresses: tuple[str, ...]
    ports: tuple[str, ...] = ()
    lower: str | None = None
    id: int | None = None
    gateway: str | None = None


class HostNetwork(NamedTuple):
    """The plan of one host. ``roles``: for each interface what becomes of it and, where it is unused, why."""

    host: HostPorts
    links: tuple[Link, ...]
    roles: Mapping[str, tuple[str, str | None]]
    notes: tuple[Note, ...]

    @property
    def bond(self) -> Link | None:
        """The bond, where there is one."""
        return next((link for link in self.links if link.kind == "bond"), None)

    def carrier(self, network: Network | None) -> str | None:
        """The interface that has, or will have, this host's address in a network."""
        planned = {link.name: link.addresses for link in self.links}
        left = {name: nic.addresses for name, nic in self.host.nics.items() if name not in self.roles_taken()}
        for name, addresses in {**left, **planned}.items():
            if any(within(ipaddress.ip_interface(one), network) for one in addresses):
                return name
        return None

    def roles_taken(self) -> set[str]:
        """Interfaces whose addresses the plan has moved or kept in links of its own."""
        return {name for name, (role, _) in self.roles.items() if role != "unused"}


class Networks(NamedTuple):
    """The two networks of the cluster; ``cluster`` is None where one serves both."""

    public: Network | None
    cluster: Network | None


def plan(host: HostPorts, wanted: NetworkArguments, networks: Networks) -> HostNetwork:
    """Plan one host. Raises PlanError where what was asked cannot be done there."""
    return _Planning(host, wanted, networks).done()


class _Planning:
    """Gathers one host's links step by step."""

    def __init__(self, host: HostPorts, wanted: NetworkArguments, networks: Networks) -> None:
        self.host, self.wanted, self.networks = host, wanted, networks
        self.roles: dict[str, tuple[str, str | None]] = {}
        self.notes: list[Note] = []
        self.links: list[Link] = []

    def done(self) -> HostNetwork:
        ports: tuple[Nic, ...] = ()
        if self.wanted.mode:
            ports, left = bonding.choose(self.host, self.wanted)
            self.roles |= {name: ("unused", why) for name, why in left.items()}
            if not ports:
                self.warn(
                    "no bond: no two ports with link, of one speed and driver, are free; "
                    f"its {len(left)} ports stay as they are"
                )
        if ports:
            self._bonded(ports)
        elif not self.wanted.mode:
            self._apart()
        self._routed()
        for name, nic in self.host.nics.items():
            self.roles.setdefault(name, ("unused", nic.reason or self._kept(nic)))
        return HostNetwork(self.host, tuple(self.links), dict(sorted(self.roles.items())), tuple(self.notes))

    def warn(self, text: str) -> None:
        self.notes.append(Note(WARNING, text))

    def _kept(self, nic: Nic) -> str:
        """Why an interface that is no port of ours is left alone."""
        if nic.addresses:
            return f"carries {', '.join(map(str, nic.addresses))} and stays as it is"
        if nic.link is False:
            return "no link: is its cable plugged in, and the port switched on?"
        return "nothing is planned on it"

    def _bonded(self, ports: tuple[Nic, ...]) -> None:
        wanted, names = self.wanted, {nic.name for nic in ports}
        if (there := self.host.nics.get(wanted.bond)) and there.kind != "bond":
            raise PlanError(
                f"{self.host.id}: bond={wanted.bond} is the name of an interface that is there ({there.kind}): bond= "
                "names the new bond, such as bond0, and ports= its ports"
            )
        absorbed = self.host.stack(names | {wanted.bond})
        for name in absorbed:
            self.roles[name] = (wanted.bond, None) if name in names else ("kept", None)
        by_vlan: dict[int, list[Address]] = {UNTAGGED: []}
        for name in sorted(absorbed):
            nic = self.host.nics[name]
            if nic.vlan:
                by_vlan.setdefault(nic.vlan, [])
            for address in nic.addresses:
                by_vlan.setdefault(self._vlan(address, nic.vlan or UNTAGGED), []).append(address)
        self._cluster(by_vlan, absorbed)
        mtu = self._mtu(ports)
        untagged = _texts(by_vlan.pop(UNTAGGED))
        self.links.append(Link(wanted.bond, "bond", mtu, untagged, tuple(sorted(names))))
        for id_, addresses in sorted(by_vlan.items()):
            self.links.append(Link(f"{wanted.bond}.{id_}", "vlan", mtu, _texts(addresses), (), wanted.bond, id_))
        if len({nic.card for nic in ports}) == 1:
            self.notes.append(Note(HINT, f"{wanted.bond}: all its ports are on one card, and fail with it"))

    def _vlan(self, address: Address, now: int) -> int:
        """Where an address belongs: its network's VLAN, where one was named, else where it lies."""
        for network, vlan in (
            (self.networks.public, self.wanted.public_vlan),
            (self.networks.cluster, self.wanted.cluster_vlan),
        ):
            if vlan and within(address, network):
                return vlan
        return now

    def _cluster(self, by_vlan: dict[int, list[Address]], absorbed: list[str]) -> None:
        """The address in the cluster network: kept where the host has one, else computed."""
        network = self.networks.cluster
        if not self._needs_cluster() or any(within(one, network) for each in by_vlan.values() for one in each):
            return
        if not self._elsewhere(absorbed) and (address := self._computed()):
            by_vlan.setdefault(self.wanted.cluster_vlan or UNTAGGED, []).append(address)

    def _elsewhere(self, taken: Collection[str]) -> bool:
        """Whether the cluster network's address lies on an interface that is not taken: it stays there, and is said."""
        network = self.networks.cluster
        for name, nic in self.host.nics.items():
            if name not in taken and any(within(one, network) for one in nic.addresses):
                self.notes.append(Note(HINT, f"its address in the cluster network {network} stays on {name}"))
                return True
        return False

    def _needs_cluster(self) -> bool:
        """Hosts with disks for OSDs alone speak on the cluster network, or those that the admin named."""
        named = self.wanted.cluster_hosts
        if not self.networks.cluster:
            return False
        return bonding.fnmatchcase(self.host.id, named) if named else any(self.host.disks)

    def _computed(self) -> Address | None:
        """The same host part as in the public network. Raises PlanError where the cluster network is too small."""
        public, cluster = self.networks
        if public is None or cluster is None:
            return None
        own = next((one for nic in self.host.nics.values() for one in nic.addresses if within(one, public)), None)
        if self.wanted.cluster_address == "keep":
            return None
        if own is None:
            self.warn(
                f"no address in the public network {public}: none can be computed for the cluster network {cluster}"
            )
            return None
        part = int(own.ip) - int(public.network_address)
        if not 0 < part < cluster.num_addresses - (cluster.version == 4):
            raise PlanError(
                f"{self.host.id}: host part {part} of {own.ip} lies outside the cluster network {cluster}: "
                "give a network as large as the public one, or addresses of its own and cluster-address=keep"
            )
        return ipaddress.ip_interface(f"{cluster.network_address + part}/{cluster.prefixlen}")

    def _mtu(self, ports: tuple[Nic, ...]) -> int:
        """The MTU asked for. Raises PlanError where a port cannot do it; jumbo frames unasked become what all can."""
        limit, least = min((nic.max_mtu or JUMBO * 2, nic.name) for nic in ports)
        if self.wanted.mtu and self.wanted.mtu > limit:
            raise PlanError(f"{self.host.id}: mtu={self.wanted.mtu}, and {least} can do {limit} at most: mtu={limit}")
        return self.wanted.mtu or min(JUMBO, limit)

    def _routed(self) -> None:
        """The default route: the one that was asked for, else the host's own, where it lies on what the plan takes."""
        taken = [self.host.nics[name] for name, (role, _) in self.roles.items() if role != "unused"]
        own = sorted({gateway for nic in taken for gateway in nic.gateways})
        asked = self.wanted.gateway
        if asked and self.links and self._toward(asked) is None:  # without its own route it would have none at all
            self.warn(f"gateway={asked} lies in none of the networks that are planned there: not taken")
            asked = None
        if len(own) > 1 and not asked:  # any of them may be the one that the master is reached by
            self.warn(f"default routes by {', '.join(own)}, and one can be planned: gateway= says which")
            return
        gateway = asked or next(iter(own), self.host.gateway)
        if (at := self._toward(gateway)) is not None:
            self.links[at] = self.links[at]._replace(gateway=gateway)

    def _toward(self, gateway: str | None) -> int | None:
        """The place of the link in whose network a gateway lies."""
        return next((at for at, link in enumerate(self.links) if any(beside(gateway, a) for a in link.addresses)), None)

    def _apart(self) -> None:
        """No bond: the public network stays on its port, the cluster network gets the fastest free one."""
        nics = self.host.nics.values()
        ports = [nic for nic in nics if nic.kind in PORTS and not nic.reason and not self.host.burden({nic.name})]
        own, theirs = (next((nic for nic in ports if self._carries(nic, one)), None) for one in self.networks)
        new: Address | None = None
        if not theirs and self._needs_cluster() and not self._elsewhere(()):
            free = [nic for nic in ports if nic.link and not nic.addresses and self._alone(nic) and self._named(nic)]
            theirs = max(free, key=lambda nic: nic.speed or 0, default=own if self.wanted.cluster_vlan else None)
            if theirs is None:
                cluster = self.networks.cluster
                self.warn(
                    f"no free port with link for the cluster network {cluster}: cluster-vlan= puts it on the public one"
                )
            new = self._computed() if theirs else None
        for nic in {nic.name: nic for nic in (own, theirs) if nic}.values():
            self._plain(nic, new if nic is theirs else None)

    def _carries(self, nic: Nic, network: Network | None) -> bool:
        """Whether a port, or a VLAN on it, has an address in a network."""
        stack = (self.host.nics[name] for name in self.host.stack({nic.name}))
        return any(within(address, network) for one in stack for address in one.addresses)

    def _alone(self, nic: Nic) -> bool:
        return self.host.stack({nic.name}) == [nic.name]

    def _named(self, nic: Nic) -> bool:
        """Whether ``ports=`` names a port; without it, all but virtual functions, which share a cable."""
        named = any(bonding.fnmatchcase(nic.name, one) for one in self.wanted.ports)
        return named or not (self.wanted.ports or nic.physfn)

    def _plain(self, nic: Nic, new: Address | None) -> None:
        mtu, vlan = self._mtu((nic,)), self.wanted.cluster_vlan
        stack = [self.host.nics[name] for name in self.host.stack({nic.name})]
        addresses = {one.name: list(one.addresses) for one in stack}
        vlans = {one.vlan: one.name for one in stack if one.vlan}  # on the same port: they keep their names
        if new:
            if vlan and vlan not in vlans:
                vlans[vlan] = self._vlan_name(nic.name, vlan)
            name = vlans[vlan] if vlan else nic.name
            addresses.setdefault(name, []).append(new)
        roles = (("public", self.networks.public), ("cluster", self.networks.cluster))
        held = [one for each in addresses.values() for one in each]
        inside = [role for role, network in roles if any(within(address, network) for address in held)]
        self.roles |= {one.name: ("kept", None) for one in stack}
        self.roles[nic.name] = (" and ".join(inside) or "kept", None)
        self.links.append(Link(nic.name, "ethernet", mtu, _texts(addresses[nic.name])))
        for id_, name in sorted(vlans.items()):
            self.links.append(Link(name, "vlan", mtu, _texts(addresses[name]), (), nic.name, id_))

    def _vlan_name(self, port: str, vlan: int) -> str:
        """What a new VLAN is called: after its port, where Linux takes a name so long."""
        name = f"{port}.{vlan}" if NAME.fullmatch(f"{port}.{vlan}") else f"vlan{vlan}"
        if name in self.host.nics:
            raise PlanError(
                f"{self.host.id}: VLAN {vlan} on {port} would be {name}, which is there already: take it away or "
                "rename it, and run ceph.stage.discovery again"
            )
        return name


def _texts(addresses: list[Address]) -> tuple[str, ...]:
    return tuple(str(one) for one in sorted(addresses, key=lambda one: (one.version, one)))
