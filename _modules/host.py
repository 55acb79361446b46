"""What a host is, as far as validation asks: clock, names, versions, interfaces, space, ports. It only looks."""

import ipaddress
import os
import re
import socket
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

FORMAT = 1
LIMIT = 5  # seconds all names together may take, and any command
PROC, NET, DMI = Path("/proc"), Path("/sys/class/net"), Path("/sys/class/dmi/id")
MACHINE_ID, CONTAINER = Path("/etc/machine-id"), Path("/run/systemd/container")
MONITORS, OSDS = Path("/var/lib/ceph/mon"), Path("/var/lib/ceph/osd")
PACKAGES = ("ceph-common", "ceph-mon", "ceph-mgr", "ceph-osd")
TOLD = "host.told"  # in __context__, with the thread that runs the job: when facts were told
LISTENS = "0A"  # state of a socket in /proc/net/tcp


def facts(reference: float, network: str = "", names: Mapping | None = None, probes: Sequence | None = None) -> dict:
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
    interfaces, monitor = _interfaces(), __salt__["mon.status"]()
    roles = set(__pillar__.get("roles", []))
    probes = [probe for probe in probes or [] if roles & set(probe["roles"])]
    answer = {
        "format": FORMAT,
        "hostname": __grains__["host"],
        "nodename": os.uname().nodename.partition(".")[0],
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
        "blocked": _blocked(probes, interfaces),
        "listening": _listening(probes),
        "monitor": __salt__["mon.exists"](),
        "monitor_at": monitor["addresses"],
        "monitor_quorum": monitor["quorum"],
        "osds": any(map(_ours, OSDS.glob("ceph-*"))),
    }
    __context__[(TOLD, threading.get_ident())] = time.monotonic()
    return {**answer, "clock": [began, time.time() - reference]}


def since() -> float:
    """Return the seconds since ``facts`` were told, in a job of both.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' host.since
    """
    return time.monotonic() - __context__[(TOLD, threading.get_ident())]


def _interfaces() -> dict[str, dict]:
    """Each interface but loopback: MTU, whether it is up, its addresses. One that is switched on has to have a link."""
    interfaces = {}
    for name, interface in __salt__["network.interfaces"]().items():
        addresses = [entry["address"] for kind in ("inet", "inet6") for entry in interface.get(kind, [])]
        port = NET / name.partition("@")[0]
        mtu, dead = _text(port / "mtu"), _text(port / "carrier") == "0"
        if mtu and not any(ipaddress.ip_address(address).is_loopback for address in addresses):
            interfaces[name] = {"mtu": int(mtu), "up": bool(interface.get("up")) and not dead, "addresses": addresses}
    return interfaces


def _ours(folder: Path) -> bool:
    """Whether a folder is of an OSD of this cluster, or of one that does not say: encrypted and not open, say. A mount
    point that an earlier cluster left is empty.
    """
    cluster = _text(folder / "ceph_fsid")
    return cluster == __pillar__.get("fsid") if cluster else folder.is_dir() and any(folder.iterdir())


def _own(interfaces: Mapping[str, dict], network: str) -> dict[str, str]:
    """This host's own name with its address in a network."""
    return {__grains__["host"]: place[1]} if (place := _inside(interfaces, network)) else {}


def _inside(interfaces: Mapping[str, dict], network: str) -> tuple[str, str] | None:
    """The first interface with an address in a network, and that address."""
    inside = ipaddress.ip_network(network) if network else None
    for name, interface in sorted(interfaces.items()):
        for address in interface["addresses"]:
            if inside and ipaddress.ip_address(address) in inside:
                return name, address
    return None


def _names(expected: Mapping[str, str]) -> dict[str, dict]:
    """Resolve names and their addresses back, side by side; what takes longer than the limit counts as nothing."""
    answers = {
        name: {"expected": address, "addresses": [], "back": "", "back_addresses": []}
        for name, address in expected.items()
    }
    # Daemon threads: a name server that does not answer must not hold this job's process.
    threads = [threading.Thread(target=_resolve, args=(name, answer), daemon=True) for name, answer in answers.items()]
    for thread in threads:
        thread.start()
    end = time.monotonic() + LIMIT
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))
    return {name: dict(answer) for name, answer in answers.items()}


def _resolve(name: str, answer: dict) -> None:
    answer["addresses"] = _addresses(name)
    try:
        back = socket.gethostbyaddr(answer["expected"])[0]
    except OSError:
        return
    answer["back_addresses"] = _addresses(back)
    answer["back"] = back


def _addresses(name: str) -> list[str]:
    try:
        return sorted({str(entry[4][0]) for entry in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)})
    except (OSError, UnicodeError):
        return []


def _synchronised() -> bool | None:
    """Whether the kernel's clock is synchronised; None where that cannot be known, as in a container."""
    if CONTAINER.exists():
        return None
    command = ["timedatectl", "show", "--property", "NTPSynchronized", "--value"]
    try:
        out = halocline.run(command, ok=None, limit=LIMIT)
    except CommandExecutionError:  # no systemd, or it hangs
        return None
    return {"yes": True, "no": False}.get(out.strip())


def _memory() -> int:
    return int(re.findall(r"MemTotal: +(\d+) kB", _text(PROC / "meminfo"))[0]) * 1024


def _space(folder: Path) -> dict:
    """Free and all bytes of the file system where a folder is, or will be."""
    while not folder.exists():
        folder = folder.parent
    stat = os.statvfs(folder)
    return {"path": str(folder), "free": stat.f_bavail * stat.f_frsize, "total": stat.f_blocks * stat.f_frsize}


def _blocked(probes: Sequence[Mapping], interfaces: Mapping[str, dict]) -> list[dict]:
    """The ports of probes that a firewall rule blocks."""
    packets = [
        {"source": source[0], "destination": address, "interface": name, "port": port, "network": probe["network"]}
        for probe in probes
        for name, address in filter(None, [_inside(interfaces, probe["network"])])
        for source in [[other for other in probe["sources"] if other != address]]
        if source
        for port in probe["ports"]
    ]
    blocked = {}
    for rules in ("host_iptables.blocks", "host_nft.blocks"):
        for number, verdict in enumerate(__salt__[rules](packets)) if packets else ():
            if verdict and (number not in blocked or verdict["sure"]):
                packet = packets[number]
                blocked[number] = {"port": packet["port"], "network": packet["network"], **verdict}
    return [blocked[number] for number in sorted(blocked)]


def _listening(probes: Sequence[Mapping]) -> list[dict]:
    """The ports of probes with a process of their own that are listened on, and by which process."""
    expected = {port: probe["process"] for probe in probes if probe["process"] for port in probe["ports"]}
    sockets = {}
    for line in _text(PROC / "net/tcp").splitlines()[1:] + _text(PROC / "net/tcp6").splitlines()[1:]:
        words = line.split()
        port = int(words[1].rpartition(":")[2], 16)
        if words[3] == LISTENS and port in expected:
            sockets[f"socket:[{words[9]}]"] = port
    owners = _owners(set(sockets)) if sockets else {}
    held = {(port, owners.get(name, "")) for name, port in sockets.items()}
    return [{"port": port, "process": process, "wanted": expected[port]} for port, process in sorted(held)]


def _owners(sockets: Collection[str]) -> dict[str, str]:
    """The process that holds each of these sockets."""
    owners = {}
    for folder in PROC.glob("[0-9]*"):
        try:
            for entry in os.scandir(folder / "fd"):
                if (name := str(Path(entry.path).readlink())) in sockets:
                    owners[name] = _text(folder / "comm")
        except OSError:  # the process has ended, or is of another user namespace
            continue
    return owners


def _text(path: Path) -> str:
    """The stripped text of a small file, empty where it is absent or cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
