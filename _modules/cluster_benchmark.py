"""What a benchmark makes in the cluster and takes away again, with the admin's key; what it must know before.

A record (``ceph config-key``) names all that will be made before any of it is, so that a run that was killed is taken
away by the next one. Nothing is made, changed or deleted here that does not carry the benchmark's prefix.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import halocline
from salt.exceptions import CommandExecutionError

RECORD = "halocline/benchmark"
PREFIX = "halocline-bench"
USER = f"client.{PREFIX}"
RBD = 120  # seconds for an image: its pool's placement groups may still be made
CONF = Path("/etc/ceph/ceph.conf")  # no secret is in it: every user may read it
SECRET = re.compile(r"pass|secret|token|key", re.I)


def facts() -> dict[str, Any]:
    """Return ``{osds, per_osd, used, size, free, host_free, hosts, standby_mds, pools}``: placement groups and room as
    ``cluster_pool_benchmark.groups``, OSDs that are in by host, metadata servers that stand by, pools.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_benchmark.facts
    """
    tree = _ask(["osd", "tree"])["nodes"]
    inside = {
        node["id"] for node in tree if node["type"] == "osd" and node.get("reweight", 0) and node["status"] == "up"
    }
    hosts = {node["name"]: len(inside & set(node["children"])) for node in tree if node["type"] == "host"}
    return {
        **__salt__["cluster_pool_benchmark.groups"](),
        "hosts": {name: count for name, count in hosts.items() if count},
        "standby_mds": len(_ask(["fs", "dump"])["standbys"]),
        "pools": _ask(["osd", "pool", "ls"]),
    }


def about() -> dict[str, Any]:
    """Return what a run is repeated with: Ceph's versions, ceph.conf, its central configuration (no passwords), CRUSH's
    tree.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_benchmark.about
    """
    config = [row for row in _ask(["config", "dump"]) if not SECRET.search(row["name"])]
    return {
        "conf": CONF.read_text(errors="replace") if CONF.exists() else "",
        "versions": _ask(["versions"])["overall"],
        "config": [f"{row['section']} {row['name']} = {row['value']}" for row in config],
        "tree": [[node["type"], node["name"], node.get("device_class", "")] for node in _ask(["osd", "tree"])["nodes"]],
    }


def record() -> dict[str, Any]:
    """Return the record of the benchmark that runs, or was killed; empty where there is none.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_benchmark.record
    """
    kept = __salt__["cluster_cli.kept"](RECORD)
    return json.loads(kept) if kept else {}


def note(told: Mapping[str, Any]) -> bool:
    """Keep a benchmark's record: what will be made, before it is.

    CLI Example: for ``salt-run benchmark.run``.
    """
    for name in _named(told):
        _own(name)
    text = json.dumps(told, separators=(",", ":"), sort_keys=True)
    __salt__["cluster_cli.tell"](["config-key", "set", RECORD, "-i", "-"], stdin=text)
    return True


def make(commands: Sequence[Sequence[str]], caps: Mapping[str, str]) -> bool:
    """Make a benchmark's pools, images, file system and user; the user's key is in this host's pillar.

    commands
        Of ``ceph`` without its name, of ``rbd`` with it. Each names something of the benchmark's.
    caps
        What its user may do, by service.

    CLI Example: for ``salt-run benchmark.run``.
    """
    if not record():
        raise CommandExecutionError("no record of a benchmark: nobody would take away what is made")
    for words in commands:
        if not any(str(word).startswith(PREFIX) for word in words):
            raise CommandExecutionError(f"'{' '.join(words)}' names nothing of the benchmark's own: nothing was run")
    key = __pillar__.get("ceph_secrets", {}).get("benchmark")
    if not key:
        raise CommandExecutionError("this host's pillar holds no key of a benchmark: run it again")
    for words in commands:
        if words[0] == "rbd":
            halocline.run(words, limit=RBD)
        else:
            __salt__["cluster_cli.tell"](words)
    told = "".join(f'\tcaps {service} = "{what}"\n' for service, what in caps.items())
    __salt__["cluster_cli.tell"](["auth", "import", "-i", "-"], stdin=f"[{USER}]\n\tkey = {key}\n{told}")
    return True


def tidy() -> dict[str, list[str]]:
    """Take away all that the record names, then the record; return what went. Interrupted, it goes on.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_benchmark.tidy
    """
    told, tell = record(), __salt__["cluster_cli.tell"]
    if not told:
        return {"removed": []}
    for name in _named(told):
        _own(name)
    if (fs := told.get("fs")) and fs in [system["name"] for system in _ask(["fs", "ls"])]:
        tell(["fs", "fail", fs])
        tell(["fs", "rm", fs, "--yes-i-really-mean-it"])
    for pool in told["pools"]:
        __salt__["cluster_pools.delete"](pool, pool)
    rules = _ask(["osd", "crush", "rule", "ls"])
    for rule in told["rules"]:
        if rule in rules:
            tell(["osd", "crush", "rule", "rm", rule])
    for profile in told["profiles"]:
        tell(["osd", "erasure-code-profile", "rm", profile])  # of one that is gone Ceph says nothing
    tell(["auth", "rm", USER])
    tell(["config-key", "rm", RECORD])
    return {"removed": _named(told)}


def counters() -> dict[str, dict[str, int]]:
    """Return the bytes that each of the benchmark's pools has read and written: ``{pool: {read, write}}``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_benchmark.counters
    """
    pools = _ask(["df", "detail"])["pools"]
    return {
        pool["name"]: {"read": pool["stats"]["rd_bytes"], "write": pool["stats"]["wr_bytes"]}
        for pool in pools
        if pool["name"].startswith(f"{PREFIX}-")
    }


def osds(size: int) -> dict[str, float]:
    """Return how fast each OSD writes, in MiB/s, one after the other: ``ceph tell osd.N bench`` of so many bytes.

    size
        Bytes, in writes of 4 MiB; Ceph refuses more than ``osd_bench_large_size_max_throughput`` allows in 30 s.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_benchmark.osds 104857600
    """
    up = [osd["osd"] for osd in _ask(["osd", "dump"])["osds"] if osd["up"]]
    told = {f"osd.{osd}": _ask(["tell", f"osd.{osd}", "bench", str(int(size)), "4194304"]) for osd in up}
    return {name: each["bytes_per_sec"] / (1 << 20) for name, each in told.items()}


def _named(told: Mapping[str, Any]) -> list[str]:
    return [*told["pools"], *told["rules"], *told["profiles"], *([told["fs"]] if told.get("fs") else [])]


def _own(name: str) -> None:
    if not str(name).startswith(PREFIX):
        raise CommandExecutionError(f"{name} is not a benchmark's own: its name begins with {PREFIX}; nothing was done")


def _ask(words: list[str]) -> Any:
    return __salt__["cluster_cli.ask"](words)
