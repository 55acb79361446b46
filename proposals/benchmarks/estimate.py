"""What a plan would do at most, on paper: of each client byte, how much passes each disk, DB device and link.

Large reads and writes alone, by the way that data takes in Ceph (docs.ceph.com, architecture): a client sends to the
primary OSD's host by the public network, the primary sends copies or coded parts by the cluster network, and each OSD
gets the share of its weight. So the part that is slowest for its share holds all back. Operations a second, latencies
and processors are not estimated. ``advice`` has the Mellanox paper's rules on networks.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from proposals.benchmarks.rates import CLASSES, Rates, Redundancy
from proposals.text.errors import ArgumentError
from proposals.text.notes import counted, several

DISKS, DEVICES, PUBLIC, CLUSTER, CLIENTS = "disks", "DB devices", "public network", "cluster network", "clients' links"
READ, WRITE, SMALL = "large reads", "large writes", "writes that pass the WAL first"
MIB_OF_MBIT = 10**6 / 8 / 2**20  # MiB/s of one Mb/s
TIMES = 2  # as much as the public network: Mellanox (2014) asks for two to four
FLASH = 40_000  # Mb/s that flash needs behind it, by the same paper


class Limit(NamedTuple):
    """What one part allows: MiB/s of all clients together; ``kind`` and which part it is."""

    mib_s: float
    kind: str
    part: str


def limits(
    hosts: Mapping[str, Mapping], known: Rates, copies: Redundancy, clients: float | None = None
) -> dict[str, dict[str, list[Limit]]]:
    """Return by class of data disks and by kind of I/O what each kind of part allows, the lowest first.

    hosts
        A stored proposal's (docs/reference/proposal.md).
    clients
        Mb/s of all clients' links together; None: they are not counted.

    Raises ArgumentError that names what was neither measured nor typed, and where there are no OSDs.
    """
    told: dict[str, dict[str, list[Limit]]] = {}
    _complete(hosts, known)
    for cls in CLASSES:
        shares = _shares(hosts, cls)
        if not shares:
            continue
        ways = {READ: list(_reading(shares, known, copies, cls)), WRITE: list(_writing(shares, known, copies, cls))}
        behind = list(_devices(hosts, shares, known, copies))
        if cls == "hdd" and behind:
            ways[SMALL] = [*ways[WRITE], *behind]
        more = [Limit(clients * MIB_OF_MBIT, CLIENTS, "all together")] if clients else []
        told[cls] = {way: _lowest([*each, *more]) for way, each in ways.items()}
    if not told:
        raise ArgumentError("the proposal has no OSDs: there is nothing to estimate")
    return told


def advice(hosts: Mapping[str, Mapping], known: Rates) -> list[str]:
    """Return what the Mellanox paper's rules say of the networks, a line for each rule that is not kept."""
    slow: list[str] = []
    thin: list[str] = []
    for host, told in sorted(hosts.items()):
        public, cluster = known.carries("public", host), known.carries("cluster", host)
        if public and cluster and cluster < TIMES * public:
            slow.append(host)
        flash = any(disk["class"] != "hdd" for disk in _data(told))
        if flash and public and max(public, cluster or 0) < FLASH * 0.9:  # what 40 Gb/s carries, as measured
            thin.append(host)
    lines = {
        f"the cluster network carries less than {TIMES} times what the public one does, and writes pass it more often "
        "(Mellanox: two to four times)": slow,
        f"flash has less than {FLASH // 1000} Gb/s behind it (Mellanox)": thin,
    }
    return [f"{several(named)}: {line}" for line, named in lines.items() if named]


def lines(told: Mapping[str, Mapping[str, list[Limit]]], hosts: Mapping[str, Mapping], copies: Redundancy) -> list[str]:
    """Return an estimate as a person reads it: for each class and kind of I/O the bottleneck, then the rest."""
    found = []
    for cls, ways in told.items():
        disks = [disk for host in hosts.values() for disk in _data(host) if disk["class"] == cls]
        found.append(f"{cls}: {counted(len(disks), 'data disk')}, {copies.text}")
        for way, each in ways.items():
            first, *rest = each
            found.append(f"  {way}: {first.mib_s:,.0f} MiB/s at most: {first.kind} ({first.part})")
            found += [f"    {other.kind}: {other.mib_s:,.0f} MiB/s ({other.part})" for other in rest]
    return found


def _lowest(each: list[Limit]) -> list[Limit]:
    """Of each kind of part the lowest limit, in their order."""
    kinds: dict[str, Limit] = {}
    for limit in sorted(each):
        kinds.setdefault(limit.kind, limit)
    return list(kinds.values())


def _data(host: Mapping[str, Any]) -> list[Mapping]:
    """The disks of a host that carry data of OSDs."""
    used = {osd["data"] for osd in host["osds"]}
    return [disk for disk in host["disks"] if disk["id"] in used]


def _shares(hosts: Mapping[str, Mapping], cls: str) -> dict[tuple[str, str], float]:
    """The part of all data of a class that each disk gets, by its size: Ceph's weight."""
    sizes = {(name, disk["id"]): disk["size"] for name, host in hosts.items() for disk in _data(host)
             if disk["class"] == cls}  # fmt: skip
    total = sum(sizes.values())
    return {disk: size / total for disk, size in sizes.items()}


def _of_hosts(shares: Mapping[tuple[str, str], float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for (host, _), share in shares.items():
        found[host] = found.get(host, 0) + share
    return found


def _reading(shares: Mapping[tuple[str, str], float], known: Rates, copies: Redundancy, cls: str) -> Iterator[Limit]:
    for (host, disk), share in shares.items():
        yield Limit((known.read(host, disk, cls) or 0) / share, DISKS, f"{host} {disk}")
    yield from _links(shares, known, copies.fetched)


def _writing(shares: Mapping[tuple[str, str], float], known: Rates, copies: Redundancy, cls: str) -> Iterator[Limit]:
    for (host, disk), share in shares.items():
        yield Limit((known.written(host, disk, cls) or 0) / share / copies.stored, DISKS, f"{host} {disk}")
    yield from _links(shares, known, copies.sent)


def _links(shares: Mapping[tuple[str, str], float], known: Rates, between: float) -> Iterator[Limit]:
    """``between``: bytes from OSD to OSD for each of a client's; without a cluster network the public one has them."""
    for host, share in _of_hosts(shares).items():
        public, cluster = known.carries("public", host) or 0, known.carries("cluster", host)
        passes = 1 + (0 if cluster else between)
        yield Limit(public * MIB_OF_MBIT / share / passes, PUBLIC, f"{host}'s link")
        if cluster and between:
            yield Limit(cluster * MIB_OF_MBIT / share / between, CLUSTER, f"{host}'s link")


def _devices(
    hosts: Mapping[str, Mapping], shares: Mapping[tuple[str, str], float], known: Rates, copies: Redundancy
) -> Iterator[Limit]:
    """The devices of WALs, or of DBs where they have these: by what they read, the most that they may write."""
    for name, host in hosts.items():
        classes = {disk["id"]: disk["class"] for disk in host["disks"]}
        parts, behind = Counter(osd["data"] for osd in host["osds"]), dict[str, float]()
        for osd in host["osds"]:
            device = osd["wal"] or osd["db"]
            if device and (name, osd["data"]) in shares:
                behind[device] = behind.get(device, 0.0) + shares[name, osd["data"]] / parts[osd["data"]]
        for device, share in behind.items():
            speed = known.read(name, device, classes[device]) or 0
            yield Limit(speed / share / copies.stored, DEVICES, f"{name} {device}")


def _complete(hosts: Mapping[str, Mapping], known: Rates) -> None:
    """Raise ArgumentError where a disk or link that counts has no speed."""
    lacking: dict[str, list[str]] = {}
    for name, host in sorted(hosts.items()):
        used = {osd[role] for osd in host["osds"] for role in ("data", "db", "wal") if osd[role]}
        for disk in host["disks"]:
            if disk["id"] in used and not known.read(name, disk["id"], disk["class"]):
                lacking.setdefault(f"{disk['class']}=MIB_S", []).append(f"{name} {disk['id']}")
        if host["osds"] and not known.carries("public", name):
            lacking.setdefault("public=GBIT_S", []).append(f"{name}'s link of the public network")
    if lacking:
        what = "; ".join(f"{several(parts, 'more')} ({typed})" for typed, parts in lacking.items())
        raise ArgumentError(
            f"no speed is known of {what}: run 'salt-run benchmark.baseline', or type what is usual, such as hdd=180 "
            "public=10"
        )
