"""What a minion would be told of its network, judged once more: fragments may have been edited by hand."""

import ipaddress
from collections import Counter
from collections.abc import Iterable, Mapping

from proposals.networking.arguments import MODES, MTU, VLAN
from proposals.networking.nics import NAME
from proposals.text.addresses import beside
from proposals.text.names import shown

KINDS = ("bond", "vlan", "ethernet")


def of(content: Mapping) -> Mapping | None:
    """``ceph:network`` of a minion's fragment; None where it has none."""
    ceph = content.get("ceph")
    return ceph.get("network") if isinstance(ceph, Mapping) else None


def addresses(content: Mapping) -> list[str]:
    """The addresses that a minion's fragment plans, with prefix length; none where it is not of our form."""
    network = of(content)
    links = network.get("links") if isinstance(network, Mapping) else None
    if not isinstance(links, Mapping):
        return []
    return [str(one) for link in links.values() if isinstance(link, Mapping) for one in _listed(link, "addresses")]


def problems(network: object) -> list[str]:
    """Return what is wrong with one host's ``ceph:network``, one line each."""
    links = network.get("links") if isinstance(network, Mapping) else None
    ports = network.get("ports") if isinstance(network, Mapping) else None
    if not isinstance(links, Mapping) or not isinstance(ports, Mapping):
        return ["ceph:network: 'links' and 'ports' were expected: run networks.populate again"]
    odd = [f"'{shown(name)}' is not the name of a link" for name in (*links, *ports) if not _is_name(name)]
    odd += [f"{shown(name)}: {shown(one)} is not a link" for name, one in links.items() if not isinstance(one, Mapping)]
    if odd:
        return odd
    told = [f"{name}: {line}" for name, link in links.items() for line in _link(name, link, links, ports)]
    return told + _twice(links) + _overlaps(links)


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(NAME.fullmatch(name))


def _link(name: str, link: Mapping, links: Mapping, ports: Mapping) -> Iterable[str]:
    """What one link says wrongly."""
    kind, mtu = link.get("kind"), link.get("mtu")
    if kind not in KINDS:
        yield f"kind {shown(kind)} is not known; known are {', '.join(KINDS)}"
    if type(mtu) is not int or mtu not in MTU:
        yield f"MTU {shown(mtu)}: {MTU[0]} to {MTU[-1]} was expected"
    yield from _addresses(link)
    if kind == "vlan":
        yield from _vlan(link, links, mtu)
    if kind == "bond":
        yield from _bond(link, ports)
    if kind == "ethernet" and name not in ports:
        yield "is not among the host's 'ports'"


def _vlan(link: Mapping, links: Mapping, mtu: object) -> Iterable[str]:
    id_, lower = link.get("id"), links.get(link.get("lower"))
    if type(id_) is not int or id_ not in VLAN:
        yield f"VLAN {shown(id_)}: {VLAN[0]} to {VLAN[-1]} was expected"
    if lower is None:
        yield f"lies on {shown(link.get('lower'))}, which is no link of this host"
    elif isinstance(mtu, int) and isinstance(lower.get("mtu"), int) and mtu > lower["mtu"]:
        yield f"MTU {mtu} is more than {link['lower']} carries, {lower['mtu']}"


def _bond(link: Mapping, ports: Mapping) -> Iterable[str]:
    members = link.get("ports")
    members = members if isinstance(members, list) else []
    if link.get("mode") not in MODES[:2]:
        yield f"mode {shown(link.get('mode'))} is not known; known are {', '.join(MODES[:2])}"
    if len(members) < 2:
        yield f"a bond needs two ports, it has {', '.join(map(shown, members)) or 'none'}"
    yield from (f"port {shown(port)} is not among the host's 'ports'" for port in members if port not in ports)


def _addresses(link: Mapping) -> Iterable[str]:
    listed = link.get("addresses")
    for text in listed if isinstance(listed, list) else [listed]:
        try:
            address = ipaddress.ip_interface(str(text))
        except ValueError:
            yield f"'{shown(text)}' is not an address with prefix length, such as 192.168.124.31/24"
            continue
        if address.network.prefixlen < address.max_prefixlen - 1 and address.ip == address.network.network_address:
            yield f"{text} is a network, not an address in one"
    gateway = link.get("gateway")
    if gateway and not any(beside(gateway, text) for text in (listed if isinstance(listed, list) else ())):
        yield f"gateway {shown(gateway)} lies in none of its networks"


def _twice(links: Mapping) -> list[str]:
    """Ports in two bonds or twice in one, addresses on two links."""
    ports = Counter(str(port) for link in links.values() for port in _listed(link, "ports"))
    addresses = Counter(str(one) for link in links.values() for one in _listed(link, "addresses"))
    return [
        f"port {port} is named twice: a bond holds each port once" for port, count in ports.items() if count > 1
    ] + [f"address {one} is given twice" for one, count in addresses.items() if count > 1]


def _listed(link: Mapping, key: str) -> list:
    found = link.get(key)
    return found if isinstance(found, list) else []


def _overlaps(links: Mapping) -> list[str]:
    """Two links in networks that share addresses: the kernel would answer over either."""
    networks = []
    for name, link in links.items():
        for text in _listed(link, "addresses"):
            try:
                networks.append((ipaddress.ip_interface(str(text)).network, name))
            except ValueError:
                continue
    return [
        f"{one} on {name} and {other} on {second} overlap: one link a network"
        for at, (one, name) in enumerate(networks)
        for other, second in networks[at + 1 :]
        if name != second and one.version == other.version and one.overlaps(other)
    ]
