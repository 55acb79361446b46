"""What a host is, as far as validation asks: clock, names, versions, interfaces, space, ports. It only looks."""

import ipaddress
import os
import re
import socket
import subprocess
import threading
import time
from pathlib import Path

FORMAT = 1
LIMIT = 5  # seconds all names together may take, and any command
PROC, NET, DMI = Path("/proc"), Path("/sys/class/net"), Path("/sys/class/dmi/id")
MACHINE_ID, CONTAINER = Path("/etc/machine-id"), Path("/run/systemd/container")
MONITORS = Path("/var/lib/ceph/mon")
PACKAGES = ("ceph-common", "ceph-mon", "ceph-mgr", "ceph-osd")
LISTENS = "0A"  # state of a socket in /proc/net/tcp


def facts(reference, network="", names=None, probes=None):
    """Return what validation needs to know of this host, in one answer within seconds.

    reference
        The asker's clock, in seconds since the epoch.
    network
        The public network, in which this host's own name is looked for.
    names
        ``{host name: its address}`` of the hosts to resolve, beside this one.
    probes
        ``[{roles, network, sources, ports, process}]``: from which network hosts with these roles are reached on
        which TCP ports, and the process that shall listen there.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' host.facts "$(date +%s)" 192.168.124.0/24 '{monnode2: 192.168.124.22}'
    """
    began = time.time() - reference
    interfaces = _interfaces()
    roles = set(__pillar__.get("roles", []))
    mine = [probe for probe in probes or [] if roles & set(probe["roles"])]
    found = {
        "format": FORMAT,
        "hostname": __grains__["host"],
        "salt": __grains__["saltversion"],
        "ceph": {name: version for name, version in __salt__["pkg.version"](*PACKAGES).items() if version},
        "generation": __pillar__.get("ceph", {}).get("generation"),
        "synchronised": _synchronised(),
        "machine_id": _text(MACHINE_ID),
        "serial": "" if CONTAINER.exists() else _text(DMI / "product_serial"),  # a container shows its host's
        "memory": _memory(),
        "interfaces": interfaces,
        "names": _names({**(names or {}), **_own(interfaces, network)}),
        "space": _space(MONITORS),
        "blocked": _blocked(mine, interfaces),
        "listening": _listening(mine),
    }
    return {**found, "clock": [began, time.time() - reference]}


def _interfaces():
    """Each interface but loopback: MTU, whether it is up, its addresses."""
    found = {}
    for name, one in __salt__["network.interfaces"]().items():
        addresses = [each["address"] for kind in ("inet", "inet6") for each in one.get(kind, [])]
        mtu = _text(NET / name.partition("@")[0] / "mtu")
        if mtu and not any(ipaddress.ip_address(address).is_loopback for address in addresses):
            found[name] = {"mtu": int(mtu), "up": bool(one.get("up")), "addresses": addresses}
    return found


def _own(interfaces, network):
    """This host's own name with its address in a network."""
    address = _inside(interfaces, network)
    return {__grains__["host"]: address[1]} if address else {}


def _inside(interfaces, network):
    """The first interface with an address in a network, and that address."""
    inside = ipaddress.ip_network(network) if network else None
    for name, one in sorted(interfaces.items()):
        for address in one["addresses"]:
            if inside and ipaddress.ip_address(address) in inside:
                return name, address
    return None


def _names(wanted):
    """Resolve names and their addresses back, side by side; what takes longer than the limit counts as nothing."""
    found = {
        name: {"expected": address, "addresses": [], "back": "", "back_addresses": []}
        for name, address in wanted.items()
    }
    # Daemon threads: a name server that does not answer must not hold this job's process.
    threads = [threading.Thread(target=_resolve, args=(name, one), daemon=True) for name, one in found.items()]
    for thread in threads:
        thread.start()
    end = time.monotonic() + LIMIT
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))
    return {name: dict(one) for name, one in found.items()}


def _resolve(name, one):
    one["addresses"] = _addresses(name)
    try:
        back = socket.gethostbyaddr(one["expected"])[0]
    except OSError:
        return
    one["back_addresses"] = _addresses(back)
    one["back"] = back


def _addresses(name):
    try:
        return sorted({found[4][0] for found in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)})
    except (OSError, UnicodeError):
        return []


def _synchronised():
    """Whether something sets the kernel's clock; None where nobody can say, as in a container."""
    if CONTAINER.exists():
        return None
    command = ["timedatectl", "show", "--property", "NTPSynchronized", "--value"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False).stdout
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    return {"yes": True, "no": False}.get(said.strip())


def _memory():
    return int(re.search(r"MemTotal: +(\d+) kB", _text(PROC / "meminfo"))[1]) * 1024


def _space(folder):
    """Free and all bytes of the file system where a folder is, or will be."""
    while not folder.exists():
        folder = folder.parent
    stat = os.statvfs(folder)
    return {"path": str(folder), "free": stat.f_bavail * stat.f_frsize, "total": stat.f_blocks * stat.f_frsize}


def _blocked(probes, interfaces):
    """The ports of probes that a firewall rule blocks."""
    packets = [
        {"source": source[0], "destination": address, "interface": name, "port": port, "network": probe["network"]}
        for probe in probes
        for name, address in filter(None, [_inside(interfaces, probe["network"])])
        for source in [[each for each in probe["sources"] if each != address]]
        if source
        for port in probe["ports"]
    ]
    found = {}
    for rules in ("host_iptables.blocks", "host_nft.blocks"):
        for at, verdict in enumerate(__salt__[rules](packets)) if packets else ():
            if verdict and (at not in found or verdict["sure"]):
                found[at] = {"port": packets[at]["port"], "network": packets[at]["network"], **verdict}
    return [found[at] for at in sorted(found)]


def _listening(probes):
    """The ports of probes with a process of their own that are listened on, and by which process."""
    wanted = {port: probe["process"] for probe in probes if probe["process"] for port in probe["ports"]}
    sockets = {}
    for line in _text(PROC / "net/tcp").splitlines()[1:] + _text(PROC / "net/tcp6").splitlines()[1:]:
        words = line.split()
        port = int(words[1].rpartition(":")[2], 16)
        if words[3] == LISTENS and port in wanted:
            sockets[f"socket:[{words[9]}]"] = port
    owners = _owners(set(sockets)) if sockets else {}
    held = {(port, owners.get(name, "")) for name, port in sockets.items()}
    return [{"port": port, "process": process, "wanted": wanted[port]} for port, process in sorted(held)]


def _owners(sockets):
    """The process that holds each of these sockets."""
    found = {}
    for folder in PROC.glob("[0-9]*"):
        try:
            for entry in os.scandir(folder / "fd"):
                if (name := str(Path(entry.path).readlink())) in sockets:
                    found[name] = _text(folder / "comm")
        except OSError:  # the process has ended, or is of another user namespace
            continue
    return found


def _text(path):
    """The stripped text of a small file, empty where it is absent or cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
