"""What the running cluster says before something leaves it, and what the monitors keep of a removal that has begun.

On a host with the admin's key. What leaves is planned on the master (``ceph.stage.removal``).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import halocline
from salt.exceptions import CommandExecutionError

KEY = "halocline/removal"  # in the monitors' key store
RATIOS = {"backfillfull": "backfillfull_ratio", "full": "full_ratio"}
USAGE = ("id", "kb", "kb_used", "kb_used_data", "pgs")
POOL = ("pool_name", "size", "crush_rule", "pg_num")
ASKED = {
    "tree": ["osd", "tree"],
    "dump": ["osd", "dump"],
    "df": ["osd", "df"],
    "space": ["df"],
    "pools": ["osd", "pool", "ls", "detail"],
    "crush": ["osd", "crush", "dump"],
    "quorum": ["quorum_status"],
    "managers": ["mgr", "dump"],
    "systems": ["fs", "dump"],
    "auth": ["auth", "ls"],
}


def inspect() -> dict[str, Any]:
    """Return what is judged before a removal: ``{weights, crush, inside, usage, pools, limits, monitors, quorum,
    managers, active, file_systems, standbys, keys, record}``; ``keys`` are the entities' names alone.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_removal.inspect
    """
    answers = halocline.side_by_side(
        lambda words: __salt__["cluster_cli.ask"](words), [(w,) for w in ASKED.values()], 4
    )
    seen = dict(zip(ASKED, answers, strict=True))
    used = {pool["name"]: pool["stats"]["bytes_used"] for pool in seen["space"]["pools"]}
    limits = {name: seen["dump"][key] for name, key in RATIOS.items()}
    most = __salt__["cluster_cli.tell"](["config", "get", "mon", "mon_max_pg_per_osd"])
    manager = seen["managers"]
    running = [manager["active_name"], *(standby["name"] for standby in manager["standbys"])]
    told = {
        "weights": {str(node["id"]): node["crush_weight"] for node in seen["tree"]["nodes"] if node["type"] == "osd"},
        "crush": {key: seen["crush"][key] for key in ("buckets", "rules")},
        "inside": {str(osd["osd"]): osd["weight"] for osd in seen["dump"]["osds"]},
        "usage": [{key: osd.get(key, 0) for key in USAGE} for osd in seen["df"]["nodes"]],
        "pools": [
            {**{key: pool[key] for key in POOL}, "bytes_used": used.get(pool["pool_name"], 0)} for pool in seen["pools"]
        ],
        "limits": {**limits, "max_pgs": int(most.strip())},
        "monitors": [mon["name"] for mon in seen["quorum"]["monmap"]["mons"]],
        "quorum": seen["quorum"]["quorum_names"],
        "managers": sorted(filter(None, running)),
        "active": manager["active_name"],
        "file_systems": [_system(system["mdsmap"]) for system in seen["systems"]["filesystems"]],
        "standbys": [standby["name"] for standby in seen["systems"]["standbys"]],
        "keys": sorted(entry["entity"] for entry in seen["auth"]["auth_dump"]),
        "record": __salt__["cluster_cli.kept"](KEY),
    }
    return halocline.packed(told)


def note(record: Sequence) -> bool:
    """Keep in the monitors what was confirmed, as JSON, however long; no secret is in it.

    CLI Example: for ``ceph.stage.removal``.
    """
    return __salt__["cluster_cli.keep"](KEY, json.dumps(record, separators=(",", ":")))


def forget() -> bool:
    """Forget it: all has left, or it was called off.

    CLI Example: for ``salt-run removal.cancel``.
    """
    return __salt__["cluster_cli.forget"](KEY)


def weigh(weights: Mapping[str, float]) -> dict[str, list[str]]:
    """Give OSDs their CRUSH weights; of a host whose OSDs all get none, in one movement. Refused where nobody kept what
    they were (``note``): then they could not be given back. Return the commands that were run.

    weights
        ``{"3": 0}``: by the OSD's number.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_removal.weigh '{"3": 0}'
    """
    if __salt__["cluster_cli.kept"](KEY) is None:
        raise CommandExecutionError("nobody kept the weights that these OSDs have: nothing was changed")
    nodes = __salt__["cluster_cli.ask"](["osd", "tree"])["nodes"]
    now = {str(node["id"]): node["crush_weight"] for node in nodes if node["type"] == "osd"}
    todo = {osd: weight for osd, weight in weights.items() if osd in now and now[osd] != weight}
    commands = []
    for host in (node for node in nodes if node["type"] == "host"):
        inside = {str(child) for child in host["children"]}
        if inside and inside <= weights.keys() and inside & todo.keys() and not any(weights[osd] for osd in inside):
            commands.append(["osd", "crush", "reweight-subtree", host["name"], "0"])
            todo = {osd: weight for osd, weight in todo.items() if osd not in inside}
    commands += [["osd", "crush", "reweight", f"osd.{osd}", str(weight)] for osd, weight in sorted(todo.items())]
    __salt__["cluster_cli.tell_all"](commands)
    return halocline.packed({"run": [" ".join(words) for words in commands]})


def _system(system: Mapping) -> dict[str, Any]:
    """A file system with the names of its metadata servers."""
    servers = [server["name"] for server in system["info"].values()]
    return {"name": system["fs_name"], "max_mds": system["max_mds"], "servers": servers}
