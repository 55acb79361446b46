"""Every network interface of this host, as sysfs, /proc and the kernel's address list show it.

No process is started and no port is asked: a firmware that hangs must not block a minion's start. Physical ports,
bonds, bridges and VLANs are all listed, each with what it is made of.
"""

import ipaddress
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

# Where the kernel and udev tell; tests point these at a machine on file.
NET, VLANS, UDEV = Path("/sys/class/net"), Path("/proc/net/vlan/config"), Path("/run/udev/data")
ROUTES, ROUTES6 = Path("/proc/net/route"), Path("/proc/net/ipv6_route")
ETHERNET, INFINIBAND = "1", "32"  # ARPHRD_*, linux/if_arp.h: other types (loopback, tunnels) carry no cluster
PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
UP = 1  # IFF_UP, linux/if.h
GATEWAY = 2  # RTF_GATEWAY, linux/route.h


def ceph_nics() -> dict[str, list[dict]]:
    """Return ``{ceph_nics: [...]}``, sorted by name; one odd port never hides the others.

    Each has ``name``, ``kind`` (``ethernet``, ``infiniband`` or the kernel's word: ``bond``, ``bridge``, ``vlan`` …),
    ``mac`` (its own, also while a bond gives it another), ``mtu``, ``up`` (switched on by the host), ``link`` (a
    carrier; None where the kernel cannot say, as while it is not up) and ``addresses`` with prefix length, link-local
    ones left out. Where there is one: ``speed`` (Mb/s, as it runs now), ``driver``, ``path`` (``pci-0000:3b:00.0``,
    udev's ID_PATH), ``physfn`` (of a virtual function: its port's PCI address), ``numa_node``, ``master`` (the bond or
    bridge it is a member of), ``lower`` (what a bond, bridge or VLAN lies on), ``mode`` (of a bond), ``vlan`` (its
    number), ``gateways`` (of its default routes, IPv4 first, by metric; link-local ones, which routers advertise, left
    out), ``error`` in place of what cannot be read.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' grains.get ceph_nics
    """
    addresses, vlans, gateways = _addresses(), _vlans(), _gateways()
    nics = []
    for port in sorted(NET.glob("*")):
        try:
            nic = _nic(port, vlans)
        except (OSError, ValueError) as err:
            nic = {"name": port.name, "error": str(err)}
        if nic:
            known = {"gateways": gateways[port.name]} if port.name in gateways else {}
            nics.append({**nic, "addresses": addresses.get(port.name, []), **known})
    return {"ceph_nics": nics}


def _nic(port: Path, vlans: Mapping[str, int]) -> dict | None:
    """Describe one interface but for its addresses; ``None`` where it could carry no cluster."""
    if not port.is_dir():  # bonding_masters is a file
        return None
    type_ = (port / "type").read_text().strip()
    if type_ not in (ETHERNET, INFINIBAND):
        return None
    uevent = dict(line.split("=", 1) for line in _text(port / "uevent").splitlines() if "=" in line)
    carrier = _text(port / "carrier")
    nic = {
        "name": port.name,
        "kind": uevent.get("DEVTYPE") or ("infiniband" if type_ == INFINIBAND else "ethernet"),
        "mac": _text(port / "bonding_slave/perm_hwaddr") or _text(port / "address"),
        "mtu": int((port / "mtu").read_text()),
        "up": bool(int(_text(port / "flags") or "0", 16) & UP),
        "link": carrier == "1" if carrier else None,
    }
    for key, value in (
        ("speed", _positive(port / "speed")),
        ("driver", _link(port / "device/driver")),
        ("path", _path(port, uevent.get("IFINDEX"))),
        ("physfn", _link(port / "device/physfn")),
        ("numa_node", _positive(port / "device/numa_node")),
        ("master", _link(port / "master")),
        ("lower", sorted(link.name.removeprefix("lower_") for link in port.glob("lower_*")) or None),
        ("mode", _text(port / "bonding/mode").partition(" ")[0] or None),
        ("vlan", vlans.get(port.name)),
    ):
        if value is not None:
            nic[key] = value
    return nic


def _text(path: Path) -> str:
    """The stripped text of a small file, empty where it is absent or cannot be read (speed of a port that is down)."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _positive(path: Path) -> int | None:
    """A number of zero or more; None for -1, or the same unsigned: what the kernel does not know."""
    text = _text(path)
    return int(text) if text.isdecimal() and int(text) < 2**32 - 1 else None


def _link(path: Path) -> str | None:
    """The name that a symbolic link leads to."""
    return path.resolve().name if path.exists() else None


def _path(port: Path, index: str | None) -> str | None:
    """Where the port sits: udev's ID_PATH, else the last PCI address on its way."""
    for line in _text(UDEV / f"n{index}").splitlines():
        if line.startswith("E:ID_PATH="):
            return line.partition("=")[2]
    addresses = PCI.findall(str((port / "device").resolve())) if (port / "device").exists() else []
    return f"pci-{addresses[-1]}" if addresses else None


def _vlans() -> dict[str, int]:
    """``{interface: VLAN number}``, of the table ``name | number | device`` (linux/net/8021q/vlanproc.c)."""
    rows = [line.split("|") for line in _text(VLANS).splitlines()]
    return {row[0].strip(): int(row[1]) for row in rows if len(row) == 3 and row[1].strip().isdigit()}


def _addresses() -> dict[str, list[str]]:
    """``{interface: [address/prefix]}``; those of an alias (eth0:1) belong to its interface."""
    addresses: dict[str, list[str]] = {}
    for name, entries in psutil.net_if_addrs().items():
        for entry in entries:
            try:
                address = ipaddress.ip_address(entry.address.partition("%")[0])
                mask = int(ipaddress.ip_address(entry.netmask))
            except (ValueError, TypeError):  # a MAC, or without netmask
                continue
            if not address.is_link_local:
                addresses.setdefault(name.partition(":")[0], []).append(f"{address}/{mask.bit_count()}")
    return {name: sorted(listed) for name, listed in addresses.items()}


def _gateways() -> dict[str, list[str]]:
    """``{interface: [address]}`` of the default routes, IPv4 first, by metric."""
    gateways: dict[str, list[str]] = {}
    for _, name, packed in (*sorted(_ipv4_defaults()), *sorted(_ipv6_defaults())):
        address = ipaddress.ip_address(packed)
        if not address.is_link_local and str(address) not in gateways.setdefault(name, []):
            gateways[name].append(str(address))
    return {name: listed for name, listed in gateways.items() if listed}


def _ipv4_defaults() -> Iterator[tuple[int, str, bytes]]:
    """Metric, interface and gateway of the main table's default routes (linux/net/ipv4/fib_trie.c): an address is a
    number as this host's processor keeps it.
    """
    for row in map(str.split, _text(ROUTES).splitlines()):
        if len(row) > 7 and row[1] == row[7] == "0" * 8 and int(row[3], 16) & GATEWAY:
            yield int(row[6]), row[0], int(row[2], 16).to_bytes(4, sys.byteorder)


def _ipv6_defaults() -> Iterator[tuple[int, str, bytes]]:
    """The same of IPv6 (linux/net/ipv6/route.c)."""
    for row in map(str.split, _text(ROUTES6).splitlines()):
        if len(row) > 9 and row[0] == "0" * 32 and row[1] == row[3] == "00" and int(row[8], 16) & GATEWAY:
            yield int(row[5], 16), row[9], bytes.fromhex(row[4])
