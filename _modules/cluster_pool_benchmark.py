"""A quick benchmark of a cluster: a pool of its own, written to and read by ``rados bench``, then gone again.

The master makes the pool, waits until its placement groups are served, lets it be measured, and takes it away.
"""

import json
from collections import Counter
from typing import Any

import halocline
from salt.exceptions import CommandExecutionError

POOL = "halocline_quick_test"
ROOT = "default"  # of the rule that a pool gets for which none is named
MORE = 120  # seconds a benchmark may take beyond its duration


def groups() -> dict[str, Any]:
    """Return what a new pool's placement groups and its room depend on: ``{osds, per_osd, used, size, free,
    host_free}``.

    ``used`` are the placement groups of all pools times their replicas; ``per_osd`` is ``mon_max_pg_per_osd``; ``free``
    are the raw bytes that fit until the first OSD is full, ``host_free`` those that fit on each host alone.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_pool_benchmark.groups
    """
    status = _ask(["osd", "stat"])
    pools = _ask(["osd", "pool", "ls", "detail"])
    tree = _ask(["osd", "tree"])["nodes"]
    rooms = _rooms(tree)
    return {
        "osds": status["num_in_osds"],
        "per_osd": int(__salt__["cluster_cli.tell"](["config", "get", "mon", "mon_max_pg_per_osd"])),
        "used": sum(pool["pg_num"] * pool["size"] for pool in pools if pool["pool_name"] != POOL),
        "size": int(__salt__["cluster_cli.tell"](["config", "get", "mon", "osd_pool_default_size"])),
        "free": rooms.get(ROOT, 0),
        "host_free": {node["name"]: rooms[node["name"]] for node in tree if node["type"] == "host"},
    }


def make(pg_num: int) -> bool:
    """Make the pool, after what an interrupted run left is gone.

    pg_num
        Its placement groups.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_pool_benchmark.make 256
    """
    tidy()
    _ask(["osd", "pool", "create", POOL, str(pg_num), str(pg_num), "replicated", "--autoscale-mode=off"])
    _ask(["osd", "pool", "application", "enable", POOL, "rados"])
    return True


def states() -> dict[str, int]:
    """Return how many of the pool's placement groups are in each state.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_pool_benchmark.states
    """
    return dict(Counter(group["state"] for group in _ask(["pg", "ls-by-pool", POOL])["pg_stats"]))


def run(seconds: int, objects: int) -> dict[str, dict]:
    """Write and read the pool; return what ``rados bench`` measured: ``{write, seq}``.

    seconds
        How long to write, and at most to read.
    objects
        How many to write at most, of 4 MiB: it ends early rather than fill an OSD.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_pool_benchmark.run 10 1000
    """
    return {
        "write": _bench("write", seconds, "--no-cleanup", "--max-objects", str(int(objects))),
        "seq": _bench("seq", seconds),
    }


def tidy() -> bool:
    """Take the benchmark's pool away where it is there, and put the permission back to what it was.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_pool_benchmark.tidy
    """
    return bool(__salt__["cluster_pools.delete"](POOL, POOL))


def _rooms(tree: list[dict]) -> dict[str, int]:
    """The raw bytes that fit below each bucket, as Ceph makes MAX AVAIL (src/mon/PGMap.cc, get_rule_avail): data goes
    to OSDs by their weights, so that the one with the least room for its weight is full first; what all have together
    never fits.
    """
    full = _ask(["osd", "dump"])["full_ratio"]
    below = {node["id"]: node.get("children", ()) for node in tree}
    up = {node["id"] for node in tree if node.get("status") == "up"}
    osds = {
        osd["id"]: (weight, max(0, osd["kb_avail"] - osd["kb"] * (1 - full)))
        for osd in _ask(["osd", "df"])["nodes"]
        if (weight := osd["crush_weight"] * osd["reweight"]) and osd["id"] in up
    }

    def within(id_: int) -> list[tuple[float, float]]:
        return [osds[id_]] if id_ in osds else [osd for child in below.get(id_, ()) for osd in within(child)]

    inside = {node["name"]: within(node["id"]) for node in tree if node["id"] < 0}
    return {
        name: int(min((room / weight for weight, room in found), default=0) * sum(weight for weight, _ in found)) << 10
        for name, found in inside.items()
    }


def _bench(kind: str, seconds: int, *more: str) -> dict:
    """One run of ``rados bench`` in its own words: totals, bandwidth in MB/s, operations, latency in seconds."""
    command = ["rados", "--pool", POOL, "--format", "json", "bench", str(seconds), kind, *more]
    out = halocline.run(command, limit=seconds + MORE)
    measured = out[out.find("{") :]  # before it "hints = 1"
    try:
        return {key: value for key, value in json.loads(measured).items() if key != "datas"}
    except ValueError as err:
        raise CommandExecutionError(f"{' '.join(command)}: answered no JSON: {out[-500:]}") from err


def _ask(words: list[str]) -> Any:
    return __salt__["cluster_cli.ask"](words)
