"""Cluster files: which hosts a lab has, on which networks, with which disks. Parsed and judged here, at the edge.

about: one line                  networks: {public: 192.168.124.0/24, cluster: …}
domain: suse.lab                 hosts: a list of groups of equal hosts; `first` counts from the subnet's start:
disks: {NAME: {size: BYTES, …}}    - {names: [a, b], first: 31, networks: […], disks: {NAME: COUNT}, master: true}
                                   - {names: [c], first: 41, disks: {NAME: COUNT}, guest: 2048}
guest: MiB of memory, of hosts that are no containers but guests with a kernel of their own, on the first network
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from lab.errors import LabError
from lab.keys import check_keys, expect

CLUSTERS = Path(__file__).parent / "clusters"
SECTORS = (512, 4096)  # bytes
TRANSPORTS = ("sata", "sas", "nvme")
HOST = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")  # a label of a host's name (RFC 1123, section 2.1)
EXPANDER = re.compile(r"0x[0-9a-f]{16}")
GUEST_DISKS = 7  # User Mode Linux has eight; the first is the root file system
LEAST_MEMORY = 512  # MiB with which a guest with a minion boots


@dataclass(frozen=True)
class Model:
    """One kind of disk."""

    name: str
    size: int  # bytes
    model: str
    vendor: str = "ATA"
    rotational: bool = True
    transport: str = "sata"
    serial: str = "Z"  # how its serial numbers begin
    mount: tuple[str, ...] = ()  # boot disks: where each one's first partition is mounted
    sector: int = 512  # bytes of its logical sectors; 4096: 4K native
    expander: str = ""  # of SAS disks in a shelf that several hosts share: its address, the same for all of them


@dataclass(frozen=True)
class Node:
    """One node: short name (its minion id), address on each of its networks, a disk model for each slot."""

    name: str
    addresses: dict[str, str]
    slots: tuple[Model, ...]
    master: bool = False
    guest: int = 0  # MiB of memory of a guest of a real kernel; 0: it is a container


@dataclass(frozen=True)
class ClusterFile:
    """A parsed cluster file."""

    name: str
    domain: str
    networks: dict[str, str]
    hosts: tuple[Node, ...]

    @property
    def master(self) -> Node:
        return next(host for host in self.hosts if host.master)

    @property
    def containers(self) -> tuple[Node, ...]:
        return tuple(host for host in self.hosts if not host.guest)

    @property
    def guests(self) -> tuple[Node, ...]:
        return tuple(host for host in self.hosts if host.guest)

    def host(self, name: str) -> Node:
        """The host of that name.

        Raises LabError that lists the hosts there are.
        """
        for host in self.hosts:
            if host.name == name:
                return host
        raise LabError(f"{self.name} has no host {name}; it has {', '.join(host.name for host in self.hosts)}.")


def known() -> list[str]:
    """Names of the shipped clusters."""
    return sorted(path.stem for path in CLUSTERS.glob("*.yaml"))


def read(which: str) -> tuple[str, str]:
    """Name and text of a cluster: a shipped name or the path of a file.

    Raises LabError for a name that is neither.
    """
    path = CLUSTERS / f"{which}.yaml"
    if not path.is_file():
        path = Path(which)
    if not path.is_file():
        raise LabError(f"no cluster {which!r}: expected one of {', '.join(known())}, or the path of a cluster file.")
    try:
        return path.stem, path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as err:
        raise LabError(f"cluster file {path} cannot be read as text: {err}.") from err


def parse(name: str, text: str) -> ClusterFile:
    """Make a cluster of a file's text; the first thing wrong is a LabError that names it."""
    where = f"cluster {name}"
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as err:
        raise LabError(f"{where}: not YAML: {err}") from err
    check_keys(where, data, required=("networks", "hosts"), optional=("about", "domain", "disks"))
    networks = _networks(where, data["networks"])
    models = {
        key: _model(where, key, value) for key, value in expect(where, "disks", data.get("disks", {}), dict).items()
    }
    groups = expect(where, "hosts", data["hosts"], list)
    hosts = tuple(host for group in groups for host in _group(where, group, networks, models))
    _judge(where, hosts, list(networks)[:1])
    domain = expect(where, "domain", data.get("domain", "lab"), str)
    return ClusterFile(name, domain, {key: str(net) for key, net in networks.items()}, hosts)


def _networks(where: str, data: object) -> dict[str, ipaddress.IPv4Network]:
    networks = {}
    for key, value in expect(where, "networks", data, dict).items():
        try:
            networks[key] = ipaddress.IPv4Network(value)
        except ValueError as err:
            raise LabError(f"{where}: network {key}: {err}; expected a subnet like 192.168.124.0/24.") from err
    return networks


def _model(where: str, name: str, entry: object) -> Model:
    here = f"{where}: disk {name}"
    optional = ("vendor", "rotational", "transport", "serial", "mount", "sector", "expander")
    data = check_keys(here, entry, required=("size", "model"), optional=optional)
    kinds = {
        "size": int,
        "model": str,
        "vendor": str,
        "rotational": bool,
        "mount": list,
        "sector": int,
        "expander": str,
        "serial": str,
    }
    for key in (each for each in kinds if each in data):
        expect(here, key, data[key], kinds[key])
    if data.get("transport", "sata") not in TRANSPORTS:
        raise LabError(f"{here}: transport {data['transport']!r}; expected one of {', '.join(TRANSPORTS)}.")
    if (expander := data.get("expander")) and (data.get("transport") != "sas" or not EXPANDER.fullmatch(expander)):
        raise LabError(f"{here}: expander {expander!r}; expected 0x and 16 hexadecimal digits, of a disk with SAS.")
    if data["size"] < 1 << 30:
        raise LabError(f"{here}: size {data['size']} bytes; expected at least 1 GiB (1073741824).")
    if (sector := data.get("sector", 512)) not in SECTORS or data["size"] % sector:
        raise LabError(f"{here}: sector {sector}; expected 512 or 4096, and a size of whole sectors.")
    return Model(name, **{**data, "mount": tuple(data.get("mount", ()))})


def _group(where: str, entry: object, networks: Mapping, models: Mapping[str, Model]) -> list[Node]:
    optional = ("networks", "disks", "master", "guest")
    data = check_keys(f"{where}: hosts", entry, required=("names", "first"), optional=optional)
    names = expect(where, "names", data["names"], list)
    here = f"{where}: host {names[0] if names else '?'}"
    for name in names:
        if not isinstance(name, str) or not HOST.fullmatch(name):
            raise LabError(f"{here}: name {name!r}; expected lower-case letters, digits and hyphens, as of a host.")
    slots = []
    for model, count in expect(here, "disks", data.get("disks", {}), dict).items():
        if model not in models:
            raise LabError(
                f"{here}: no disk model {model!r}; expected one of {', '.join(models) or 'those of disks:'}."
            )
        if expect(here, model, count, int) < 0:
            raise LabError(f"{here}: {count} disks {model}; expected 0 or more.")
        slots += [models[model]] * count
    first, joined = (
        expect(here, "first", data["first"], int),
        expect(here, "networks", data.get("networks", ["public"]), list),
    )
    hosts = []
    for index, name in enumerate(names):
        addresses = {}
        for key in joined:
            if key not in networks:
                raise LabError(f"{here}: no network {key!r}; expected one of {', '.join(networks)}.")
            if first < 2 or first + len(names) >= networks[key].num_addresses:  # the first is this machine's own
                raise LabError(f"{here}: first: {first} leaves no room for {len(names)} hosts in {networks[key]}.")
            addresses[key] = str(networks[key][first + index])
        memory = expect(here, "guest", data.get("guest", 0), int)
        hosts.append(Node(name, addresses, tuple(slots), bool(data.get("master")), memory))
    return hosts


def _judge(where: str, hosts: tuple[Node, ...], first: list[str]) -> None:
    if sum(host.master for host in hosts) != 1:
        raise LabError(f"{where}: expected exactly one host with `master: true`.")
    for host in hosts:
        if host.guest and (wrong := _not_for_a_guest(host, first)):
            raise LabError(f"{where}: host {host.name}: {wrong}.")
    names = [host.name for host in hosts]
    addresses = [address for host in hosts for address in host.addresses.values()]
    for what, values in (("host name", names), ("address", addresses)):
        twice = sorted({value for value in values if values.count(value) > 1})
        if twice:
            raise LabError(f"{where}: {what} given twice: {', '.join(twice)}.")


def _not_for_a_guest(host: Node, first: list[str]) -> str | None:
    """What this host cannot be as a guest; None where all is well. first: the cluster's first network."""
    if host.guest < LEAST_MEMORY:
        return f"guest: expected at least {LEAST_MEMORY} MiB of memory, found {host.guest}"
    if not host.name.isalnum():
        return "is no guest name: expected letters and digits"
    if host.master:
        return "the master is a container, not a guest"
    if list(host.addresses) != first:
        return f"a guest is on the first network alone ({', '.join(first)}), found {', '.join(host.addresses)}"
    if len(host.slots) > GUEST_DISKS:
        return f"{len(host.slots)} disks; a guest takes {GUEST_DISKS}"
    return "a guest has no boot disks (`mount`)" if any(model.mount for model in host.slots) else None
