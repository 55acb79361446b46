"""Addresses and networks: which lies in which. Text that is no address lies nowhere: it may come from a minion."""

import ipaddress
from collections.abc import Iterable

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Ip = ipaddress.IPv4Address | ipaddress.IPv6Address  # addresses with prefix length (ip_interface) are among them


def network(text: object) -> Network | None:
    """Return a network such as ``10.0.0.0/24``; None for text that is none, or an address in one."""
    try:
        return ipaddress.ip_network(str(text))
    except ValueError:
        return None


def around(text: object) -> Network | None:
    """Return the network of an address with prefix length or mask, as Ceph takes it; None for text that is none."""
    try:
        return ipaddress.ip_network(str(text), strict=False)
    except ValueError:
        return None


def ip(text: object) -> Ip | None:
    """Return an address, of text with or without prefix length; None for text that is none."""
    try:
        return ipaddress.ip_interface(str(text)).ip
    except ValueError:
        return None


def bracketed(host: str) -> str:
    """Return an address or a name as it stands before a colon and a port: IPv6 in brackets (RFC 3986, 3.2.2)."""
    return f"[{host}]" if ":" in host else host


def within(address: Ip | None, net: Network | None) -> bool:
    """Return whether an address lies in a network; neither need be there."""
    return address is not None and net is not None and address in net


def inside(addresses: Iterable[object], net: Network | None) -> list[str]:
    """Return those addresses that lie in a network, in their order, without prefix length."""
    return [str(found) for text in addresses if within(found := ip(text), net)]


def beside(address: object, own: object) -> bool:
    """Return whether an address, without prefix length, lies in the network of ``own``, an address with one."""
    try:
        return within(ipaddress.ip_address(str(address)), ipaddress.ip_interface(str(own)).network)
    except ValueError:
        return False
