"""Where a benchmark runs: pools, images and a file system of its own, the commands that make them, room for them.

All of it carries one prefix: what is made, and taken away, is known by its name, and no pool that exists is touched.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from proposals.benchmarks.suites import Size
from proposals.cluster import pool_benchmark
from proposals.text.sizes import rounded

PREFIX = "halocline-bench"
GROUPS = {
    "rbd": 512,
    "rbd-ec": 128,
    "cephfs": 512,
    "cephfs-ec": 128,
    "hosts": 64,
}  # of appendix E; more where a suite asks for so many an OSD, less where room lacks
META = 16  # placement groups of a pool of metadata
K, M = 2, 2  # of the guide's erasure coded pools
SHARE = pool_benchmark.SHARE
LEAST = 1 << 30  # bytes that rados bench may write from one load generator, at least
LARGEST = 1500 << 30  # bytes of the images of one load generator: benchmaster's
MIB = 1 << 20
# docs.ceph.com, rados/operations/user-management: images lock each other out through the monitors.
MON = "profile rbd, allow r"
# docs.ceph.com, cephfs/client-auth: a folder's pool is a layout, which asks for p; no other file system is reached.
MDS = f"allow rwp fsname={PREFIX}"


@dataclass(frozen=True)
class Places:
    """What is made: ``commands`` of ceph, and of rbd, in order; ``places`` by name, as a load generator takes them.

    ``record`` names all of it: what takes it away again, also of a run that was killed. ``notes``: what is otherwise
    than the suite asks.
    """

    commands: list[list[str]] = field(default_factory=list)
    places: dict[str, dict[str, Any]] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=lambda: {"pools": [], "rules": [], "profiles": [], "fs": ""})
    caps: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def image(targets: Sequence[str], size: Size, facts: Mapping[str, Any], generators: int, own: int = 1) -> int:
    """Return the bytes of one image: as the suite says, or its share of the free raw space; whole MiB.

    targets
        All that the run is on: a share is smaller where, with all copies, it would leave too little free.
    own
        How many parts an image has, each of that size.
    """
    if size.image:
        return size.image * own
    shared = int(facts["free"] * min(size.share, SHARE / max(1, _copies(targets, facts)))) // size.images
    return min(shared // generators, LARGEST // size.images) // MIB * MIB


def plan(targets: Sequence[str], facts: Mapping[str, Any], generators: Sequence[str], size: Size, each: int) -> Places:
    """Return what is made for some targets.

    facts
        ``cluster_benchmark.facts``'s answer.
    generators
        The minions that make load; each has images, or a folder, of its own.
    each
        Bytes of an image.
    """
    made = Places()
    pools = [pool for target in targets for pool in _pools(target, facts)]
    left = {**facts, "used": facts["used"]}
    for kind, name, rule in pools:
        if name in made.record["pools"]:
            continue
        copies = K + M if kind.endswith("-ec") else min(facts["size"], facts["hosts"].get(rule, facts["size"]))
        wanted = META if name.endswith("-meta") else max(GROUPS[kind], _even(size.groups * facts["osds"] // copies))
        share = {**left, "size": copies}
        if rule:  # a host's OSDs carry their part of what there is
            share |= {"osds": facts["hosts"][rule], "used": left["used"] * facts["hosts"][rule] // facts["osds"]}
        groups = pool_benchmark.pg_num(share, wanted) or 1
        left["used"] += groups * copies
        if groups * copies < size.groups * share["osds"]:
            made.notes.append(
                f"{name}: {groups * copies // share['osds']} placement groups an OSD, where the document advises "
                f"{size.groups} or more: mon_max_pg_per_osd allows {facts['per_osd']} of all pools together"
            )
        made.commands.extend(_pool(made.record, kind, name, rule, str(groups), copies))
    for target in targets:
        _fill(made, target, facts, generators, size, each)
    names = made.record["pools"]
    made.caps.update({"mon": MON, "osd": ", ".join(f"allow rwx pool={name}" for name in names)})
    if made.record["fs"]:
        made.caps["mds"] = MDS
    return made


def against(
    targets: Sequence[str], facts: Mapping[str, Any], generators: Sequence[str], size: Size, each: int
) -> list[str]:
    """Return what stands against a run: no load generator, too few hosts, no metadata server, no room, names taken."""
    why = []
    if not generators:
        why.append(
            "no load generator: give a host the role benchmark (role-benchmark/cluster/HOST*.sls in policy.cfg), then "
            "run the stages configure, deploy and services"
        )
    hosts = len(facts["hosts"])
    if "hosts" in targets and hosts:
        why += _against_hosts(facts, max(len(generators), 1))
    for target in targets:
        if target.endswith("-ec") and hosts < K + M:
            why.append(f"{target}: {K}+{M} needs {K + M} hosts with OSDs, there are {hosts}: name other targets")
    if any(target.startswith("cephfs") for target in targets) and not facts["standby_mds"]:
        why.append("cephfs: no metadata server stands by for a file system of its own: give one more host the role mds")
    taken = sorted(name for name in facts["pools"] if name.startswith(PREFIX))
    if taken:
        why.append(f"pools of that name exist, and no run of ours made them: {', '.join(taken)}")
    need = need_raw(targets, facts, max(len(generators), 1), size, each)
    if need > facts["free"] * SHARE:
        why.append(
            f"no room: it would write {rounded(need)} with all copies, and may fill {SHARE:.0%} of the "
            f"{rounded(facts['free'])} that fit until the first OSD is full: choose size=quick, or fewer targets"
        )
    return why


def need_raw(targets: Sequence[str], facts: Mapping[str, Any], generators: int, size: Size, each: int) -> int:
    """Return the raw bytes that images and files take, with all copies; rados bench has a limit of its own."""
    return int(each * size.images * generators * _copies(targets, facts))


def room(host: str, facts: Mapping[str, Any], generators: int) -> int:
    """Return the bytes that rados bench may write on a host's pool from each load generator."""
    copies = max(1, min(facts["size"], facts["hosts"][host]))
    return int(facts["host_free"][host] * SHARE) // copies // generators


def _copies(targets: Sequence[str], facts: Mapping[str, Any]) -> float:
    """The raw bytes that one byte takes which is written on every target."""
    factors = {"rbd-ec": (K + M) / K, "cephfs-ec": (K + M) / K, "rbd": facts["size"], "cephfs": facts["size"]}
    return float(sum(factors.get(target, 0) for target in targets))


def _even(groups: int) -> int:
    """The smallest power of two that is not less."""
    return 1 << (groups - 1).bit_length() if groups > 0 else 0


def _against_hosts(facts: Mapping[str, Any], generators: int) -> Iterator[str]:
    """Of pools that lie on one host each: one copy, which Ceph refuses; no room."""
    if single := sorted(host for host, osds in facts["hosts"].items() if osds < 2):
        yield f"hosts: one OSD on {', '.join(single)}, and Ceph makes no pool of a single copy: name another suite"
    least, host = min((room(host, facts, generators), host) for host in facts["hosts"])
    if least < LEAST:
        yield f"no room: each load generator could write {rounded(least)} on {host}, {rounded(LEAST)} is the least"


def _pools(target: str, facts: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Kind, name and host (empty: all) of each pool of a target."""
    if target == "hosts":
        yield from (("hosts", f"{PREFIX}-{host}", host) for host in sorted(facts["hosts"]))
        return
    if target.startswith("cephfs"):
        yield "cephfs", f"{PREFIX}-meta", ""
        yield "cephfs", f"{PREFIX}-cephfs", ""
    if target.startswith("rbd"):
        yield "rbd", f"{PREFIX}-rbd", ""
    if target.endswith("-ec"):
        yield target, f"{PREFIX}-{target}", ""


def _pool(record: dict, kind: str, name: str, host: str, groups: str, copies: int) -> Iterator[list[str]]:
    create = ["osd", "pool", "create", name, groups, groups]
    if host:  # the rule takes the host itself: all its I/O hits this host, and nothing moves in the CRUSH map
        yield ["osd", "crush", "rule", "create-replicated", name, host, "osd"]
        record["rules"].append(name)
    if kind.endswith("-ec"):
        if not record["profiles"]:
            yield [
                *["osd", "erasure-code-profile", "set"],
                PREFIX,
                f"k={K}",
                f"m={M}",
                "plugin=isa",
                "crush-failure-domain=host",
            ]
            record["profiles"].append(PREFIX)
        yield [*create, "erasure", PREFIX, "--autoscale-mode=off"]
        yield ["osd", "pool", "set", name, "allow_ec_overwrites", "true"]
        record["rules"].append(name)  # Ceph makes one named as the pool
    else:
        yield [*create, "replicated", *([name] if host else []), "--autoscale-mode=off"]
        if host:
            yield ["osd", "pool", "set", name, "size", str(copies)]
    application = {"rbd": "rbd", "ceph": "cephfs", "host": "rados"}[kind[:4].rstrip("-")]
    if application != "cephfs":
        yield ["osd", "pool", "application", "enable", name, application]
    record["pools"].append(name)


def _fill(
    made: Places, target: str, facts: Mapping[str, Any], generators: Sequence[str], size: Size, each: int
) -> None:
    """Images, the file system, and each place as a load generator takes it."""
    if target == "hosts":
        for host in sorted(facts["hosts"]):
            most = room(host, facts, max(len(generators), 1))
            made.places[host] = {"kind": "pool", "pool": f"{PREFIX}-{host}", "room": most}
        return
    if target.startswith("rbd"):
        coded = ["--data-pool", f"{PREFIX}-{target}"] if target.endswith("-ec") else []
        names = {minion: [f"{target}-{minion}-{at}" for at in range(size.images)] for minion in generators}
        for name in (name for each_host in names.values() for name in each_host):
            words = ["rbd", "create", f"{PREFIX}-rbd/{name}", "--size", f"{each // MIB}M", *coded]
            made.commands.append([*words, "--image-feature", "layering"])  # several jobs share an image: no lock
        made.places[target] = {"kind": "rbd", "pool": f"{PREFIX}-rbd", "images": names}
        return
    if not made.record["fs"]:
        made.record["fs"] = PREFIX
        made.commands.append(["fs", "new", PREFIX, f"{PREFIX}-meta", f"{PREFIX}-cephfs"])
    pool = ""
    if target.endswith("-ec"):
        pool = f"{PREFIX}-{target}"
        made.commands.append(["fs", "add_data_pool", PREFIX, pool])
    made.places[target] = {"kind": "fs", "fs": PREFIX, "folder": target, "pool": pool}
