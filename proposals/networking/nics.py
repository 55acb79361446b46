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
    bond, bridge or VLAN lies on; ``reason``: why it cannot be used, None where it can."""

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

    @property
    def card(self) -> str:
        """Where its card sits: the path without the function; a port without path is a card of its own."""
        return self.path.rpartition(".")[0] if self.path else self.name


class Host(NamedTuple):
    """A minion with its interfaces by name. ``disks``: how many hard disks and flash disks Ceph has or may get."""

    id: str
    nics: Mapping[str, Nic]
    gateway: str | None
    disks: tuple[int, int]


def read(raw: object, target: str | None = None, targets: Collection[str] | None = None) -> tuple[Host, ...]:
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


def _host(name: str, raw: object) -> Host:
    answer = raw if isinstance(raw, Mapping) else {}
    found = answer.get("ceph_nics")
    if not isinstance(found, list):
        raise InventoryError(
            f"{name}: 'ceph_nics', a list of network ports, was expected; found {names.shown(found)}: "
            "run ceph.stage.prep and ceph.stage.discovery again"
        )
    nics = sorted((_nic(one) for one in found), key=lambda nic: (nic.name, nic.reason or ""))
    twice = [nic.name for at, nic in enumerate(nics) if at and nics[at - 1].name == nic.name]
    if twice:
        raise InventoryError(f"{name}: port {twice[0]} is listed twice: run ceph.stage.discovery again")
    gateway = answer.get("gateway")
    return Host(name, {nic.name: nic for nic in nics}, gateway if _is_ip(gateway) else None, _disks(answer))


def _nic(raw: object) -> Nic:
    """One entry; what is odd in it makes it unusable with that reason, shown escaped."""
    told = raw if isinstance(raw, Mapping) else {}
    name, reason = told.get("name"), None
    if not isinstance(name, str) or not NAME.fullmatch(name) or ".." in name:
        name, reason = names.shown(name), "its name is not accepted: letters, digits, '.', '_' and '-' are"
    elif told.get("error"):
        reason = f"cannot be read: {names.shown(told['error'])}"
    addresses, wrong = _addresses(told.get("addresses"))
    for key in ("driver", "path", "master", "kind"):
        if told.get(key) is not None and not names.is_label(told[key]):
            reason = reason or f"its {key} is not accepted: {names.shown(told[key])}"
    return Nic(
        name,
        kind=_label(told.get("kind")) or "ethernet",
        speed=_number(told.get("speed")),
        numa_node=_number(told.get("numa_node")),
        max_mtu=_number(told.get("max_mtu")),
        vlan=_number(told.get("vlan")),
        driver=_label(told.get("driver")),
        path=_label(told.get("path")),
        master=_label(told.get("master")),
        mtu=_number(told.get("mtu")) or 1500,
        link=told.get("link") if isinstance(told.get("link"), bool) else None,
        addresses=addresses,
        lower=tuple(str(one) for one in told.get("lower") or () if isinstance(one, str) and NAME.fullmatch(one)),
        reason=reason or (f"its address is not one: {wrong}" if wrong else None),
    )


def _number(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _label(value: object) -> str | None:
    return value if isinstance(value, str) and value and names.is_label(value) else None


def _addresses(raw: object) -> tuple[tuple[Address, ...], str | None]:
    found = []
    for text in raw if isinstance(raw, list) else ():
        try:
            found.append(ipaddress.ip_interface(str(text)))
        except ValueError:
            return tuple(found), names.shown(text)
    return tuple(sorted(found, key=lambda one: (one.version, one))), None


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
