"""What the minions said of their network ports (``ceph_nics``), read at the edge: a minion is not trusted."""

import ipaddress
import re
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from proposals.text import names
from proposals.text.errors import InventoryError

# linux/if.h: at most 15 characters; the kernel takes more than these, no distribution names ports so
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,14}")
PORTS = ("ethernet", "infiniband")  # kinds that are ports of a card; others lie on these
Address = ipaddress.IPv4Interface | ipaddress.IPv6Interface


class Nic(NamedTuple):
    """An interface of a host. ``speed`` in Mb/s; ``master``: the bond or bridge it is a member of; ``lower``: what a
    bond, bridge or VLAN lies on; ``gateways``: of its default routes, which older inventories do not tell; ``physfn``:
    the PCI address of the port that it is a virtual function (SR-IOV) of; ``reason``: why it cannot be used, None where
    it can."""

    name: str
    kind: str
    speed: int | None
    driver: str | None
    path: str | None
    numa_node: int | None
    mtu: int
    max_mtu: int | None
    link: bool | None
    addresses: tuple[Address, ...]
    master: str | None
    lower: tuple[str, ...]
    vlan: int | None
    reason: str | None
    gateways: tuple[str, ...] = ()
    physfn: str | None = None

    @property
    def card(self) -> str:
        """Where its card sits: the path without the function; a port without path is a card of its own."""
        return self.path.rpartition(".")[0] if self.path else self.name


class HostPorts(NamedTuple):
    """A minion with its interfaces by name. ``disks``: how many hard disks and flash disks Ceph has or may get."""

    id: str
    nics: Mapping[str, Nic]
    gateway: str | None
    disks: tuple[int, int]

    def stack(self, names: Collection[str]) -> list[str]:
        """These interfaces and the VLANs on them, where the host has them: what moves together."""
        on = {nic.name for nic in self.nics.values() if nic.vlan and not nic.reason and set(nic.lower) & set(names)}
        return sorted(on | {name for name in names if name in self.nics})

    def burden(self, names: Collection[str]) -> str | None:
        """What lies on these interfaces or their VLANs and would not move with them, such as ``bridge br0``."""
        stack = self.stack(names)
        above = {nic.name for nic in self.nics.values() if set(nic.lower) & set(stack)}
        above |= {master for name in stack if (master := self.nics[name].master)}
        name = min(above - {*stack, *names}, default=None)
        return f"{self.nics[name].kind} {name}" if name and name in self.nics else name


def read(raw: object, target: str | None = None, targets: Collection[str] | None = None) -> tuple[HostPorts, ...]:
    """The hosts of an inventory that ``target`` (a glob) or ``targets`` name, sorted by id.

    Raises InventoryError where it is none, or a host has no ``ceph_nics``."""
    listed = raw.get("hosts") if isinstance(raw, Mapping) else None
    if not isinstance(listed, Mapping) or not listed:
        raise InventoryError("the inventory holds no hosts: has discovery run (salt-run state.orch ceph.stage.1)?")
    hosts = sorted(str(host) for host in listed)
    wanted = [host for host in hosts if (host in targets if targets is not None else _matches(host, target))]
    if not wanted:
        raise InventoryError(f"target={names.shown(target)} matches no host; there are {', '.join(hosts[:8])}")
    return tuple(_host(names.check_minion_id(host), listed[host]) for host in wanted)


def _matches(host: str, target: str | None) -> bool:
    return target is None or fnmatchcase(host, target)


def _host(name: str, raw: object) -> HostPorts:
    answer = raw if isinstance(raw, Mapping) else {}
    listed = answer.get("ceph_nics")
    if not isinstance(listed, list):
        raise InventoryError(
            f"{name}: 'ceph_nics', a list of network ports, was expected; found {names.shown(listed)}: "
            "run ceph.stage.prep and ceph.stage.discovery again"
        )
    nics = interfaces(answer)
    twice = [nic.name for at, nic in enumerate(nics) if at and nics[at - 1].name == nic.name]
    if twice:
        raise InventoryError(f"{name}: port {twice[0]} is listed twice: run ceph.stage.discovery again")
    gateway = answer.get("gateway")
    return HostPorts(name, {nic.name: nic for nic in nics}, gateway if _is_ip(gateway) else None, _disks(answer))


def interfaces(raw: object) -> list[Nic]:
    """A host's interfaces, sorted by name; none where it tells none."""
    listed = raw.get("ceph_nics") if isinstance(raw, Mapping) else None
    nics = [_nic(one) for one in listed] if isinstance(listed, list) else []
    return sorted(nics, key=lambda nic: (nic.name, nic.reason or ""))


def _nic(raw: object) -> Nic:
    """One entry; what is odd in it makes it unusable with that reason, shown escaped."""
    entry = raw if isinstance(raw, Mapping) else {}
    name, reason = entry.get("name"), None
    if not isinstance(name, str) or not NAME.fullmatch(name) or ".." in name:
        name, reason = names.shown(name), "its name is not accepted: letters, digits, '.', '_' and '-' are"
    elif entry.get("error"):
        reason = f"cannot be read: {names.shown(entry['error'])}"
    addresses, wrong = _addresses(entry.get("addresses"))
    listed = entry.get("gateways")
    gateways = tuple(str(one) for one in (listed if isinstance(listed, list) else ()))
    if odd := next((one for one in gateways if not _is_ip(one)), None):
        gateways, reason = (), reason or f"its gateway is not an address: {names.shown(odd)}"
    for key in ("driver", "path", "physfn", "master", "kind"):
        if entry.get(key) is not None and not names.is_label(entry[key]):
            reason = reason or f"its {key} is not accepted: {names.shown(entry[key])}"
    return Nic(
        name,
        kind=_label(entry.get("kind")) or "ethernet",
        speed=_number(entry.get("speed")),
        numa_node=_number(entry.get("numa_node")),
        max_mtu=_number(entry.get("max_mtu")),
        vlan=_number(entry.get("vlan")),
        driver=_label(entry.get("driver")),
        path=_label(entry.get("path")),
        physfn=_label(entry.get("physfn")),
        master=_label(entry.get("master")),
        mtu=_number(entry.get("mtu")) or 1500,
        link=entry.get("link") if isinstance(entry.get("link"), bool) else None,
        addresses=addresses,
        gateways=gateways,
        lower=tuple(str(one) for one in entry.get("lower") or () if isinstance(one, str) and NAME.fullmatch(one)),
        reason=reason or (f"its address is not one: {wrong}" if wrong else None),
    )


def _number(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _label(value: object) -> str | None:
    return value if isinstance(value, str) and value and names.is_label(value) else None


def _addresses(raw: object) -> tuple[tuple[Address, ...], str | None]:
    addresses = []
    for text in raw if isinstance(raw, list) else ():
        try:
            addresses.append(ipaddress.ip_interface(str(text)))
        except ValueError:
            return tuple(addresses), names.shown(text)
    return tuple(sorted(addresses, key=lambda one: (one.version, one))), None


def _is_ip(text: object) -> bool:
    try:
        return bool(ipaddress.ip_address(str(text)))
    except ValueError:
        return False


def _disks(raw: Mapping) -> tuple[int, int]:
    """Hard disks and flash disks that carry OSDs or are free: what will load the network."""
    listed = raw.get("ceph_disks")
    usable = [
        disk
        for disk in (listed if isinstance(listed, list) else ())
        if isinstance(disk, Mapping) and (disk.get("osds") or not disk.get("in_use"))
    ]
    hdds = sum(1 for disk in usable if disk.get("rotational"))
    return hdds, len(usable) - hdds
