"""What Ceph says of the running cluster, for the master to judge (``proposals/cluster/health``); it only looks."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import halocline
from salt.exceptions import CommandExecutionError

STATUS = ("health", "quorum_names", "monmap", "mgrmap", "pgmap", "servicemap")
OSD = ("osd", "uuid", "up", "in", "state", "up_from")
CHANGES = ("last_up_change", "last_in_change")  # of the OSD map: when an OSD came or went
# Flags by which an OSD that stops hurts, though ok-to-stop looks at none of them (src/mgr/DaemonServer.cc): monitors
# refuse to mark it down, or up again (OSDMonitor::can_mark_down and can_mark_up, src/mon/OSDMonitor.cc).
DOWN = {"nodown": "an OSD that stops stays up in the map, and clients wait for it"}
HOLDING = {**DOWN, "noup": "an OSD that stops does not come up again"}
NONE = 0x7FFFFFFF  # CRUSH_ITEM_NONE, src/crush/crush.h


def inspect() -> dict[str, Any]:
    """Return ``{status, osd_dump, mgr, mds}``: what ``ceph status`` and ``ceph osd dump`` print, as far as it is
    judged, and the names of the managers and metadata servers that run.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_health.inspect
    """
    asked = [["status"], ["osd", "dump"], ["mgr", "metadata"], ["mds", "metadata"]]
    status, dump, *daemons = __salt__["cluster_cli.ask_all"](asked)
    mgr, mds = ([daemon.get("name") for daemon in each or ()] for each in daemons)
    told = {
        "status": {key: status[key] for key in STATUS if key in status},
        "osd_dump": {
            "flags": dump["flags"],
            "changed": _changed(dump),
            "osds": [{key: osd[key] for key in OSD} for osd in dump["osds"]],
        },
        "mgr": mgr,
        "mds": mds,
    }
    return halocline.packed(told)


def stoppable(kind: str, ids: Sequence[str]) -> dict[str, list[str]]:
    """Ask Ceph whether daemons may be stopped together (``ok-to-stop``); raise with its words where not.

    kind
        mon, osd or mds.
    ids
        A list.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_health.stoppable osd '["3", "4"]'
    """
    __salt__["cluster_cli.tell"]([kind, "ok-to-stop", *ids])
    if kind == "osd" and (why := held(ids)):
        raise CommandExecutionError("; ".join(why))
    return {"ok": list(ids)}


def held(ids: Sequence[int | str], back: bool = True) -> list[str]:
    """Return why OSDs are not to stop now though Ceph calls it ok, a line each: flags that somebody has set, of the
    whole map, or of a device class, a bucket or an OSD that these are of; and the sites of a stretched cluster.

    ids
        Their numbers.
    back
        Whether they are to come up again.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_health.held '[3, 4]'
    """
    tree, dump = __salt__["cluster_cli.ask_all"]([["osd", "tree"], ["osd", "dump"]])
    lines = []
    for flag, why in (HOLDING if back else DOWN).items():
        whose = sorted(_flagged(flag, set(map(int, ids)), tree["nodes"], dump))
        if flag in dump["flags"].split(","):
            lines.append(f"the flag {flag} is set: {why}: 'ceph osd unset {flag}' first")
        elif whose:
            words = f"{flag} {' '.join(whose)}"
            lines.append(f"{flag} is set for {', '.join(whose)}: {why}: 'ceph osd unset-group {words}' first")
    return lines + _unserved(set(map(int, ids)), tree["nodes"], dump["pools"])


def _unserved(ids: set[int], nodes: Sequence[Mapping], pools: Sequence[Mapping]) -> list[str]:
    """Why groups of stretched pools would not be served without some OSDs: these need copies below several buckets of a
    type, or below one that is named (pg_pool_t::stretch_set_can_peer, src/osd/osd_types.cc); ok-to-stop counts copies.
    """
    stretched = {str(pool["pool"]): pool for pool in pools if pool.get("peering_crush_bucket_count")}
    if not stretched:
        return []
    children = {node["id"]: node.get("children", ()) for node in nodes}

    def below(item: int) -> Iterator[int]:
        yield item
        for child in children.get(item, ()):
            yield from below(child)

    kinds = {pool["peering_crush_bucket_barrier"] for pool in stretched.values()}
    sites: dict[int, dict[int, int]] = {kind: {} for kind in kinds}  # by their type: each OSD's
    for node in nodes:
        sites.get(node["type_id"], {}).update(dict.fromkeys(below(node["id"]), node["id"]))
    lost: list[str] = []
    for group in __salt__["cluster_cli.ask"](["pg", "dump", "pgs_brief"])["pg_stats"]:
        pool = stretched.get(group["pgid"].partition(".")[0])
        if pool is None or ids.isdisjoint(group["acting"]):
            continue
        of = sites[pool["peering_crush_bucket_barrier"]]
        left = {of[osd] for osd in group["acting"] if osd not in ids and osd in of}
        must = {pool["peering_crush_bucket_mandatory_member"]} - {NONE}
        if len(left) < pool["peering_crush_bucket_count"] or must - left:
            lost.append(pool["pool_name"])
    if not lost:
        return []
    return [
        f"{len(lost)} placement groups of stretched pools ({', '.join(sorted(set(lost)))}) would have no copy where "
        "they need one (peering_crush_bucket_count), and would not be served: stop OSDs of fewer hosts at once, or "
        "bring back what is down at the other site first"
    ]


def _flagged(flag: str, ids: Collection[int], nodes: Sequence[Mapping], dump: Mapping) -> set[str]:
    """What has a flag of its own and is one of some OSDs, or has one of them."""
    found = {f"osd.{osd['osd']}" for osd in dump["osds"] if osd["osd"] in ids and flag in osd["state"]}
    classes = {node.get("device_class") for node in nodes if node["id"] in ids}
    found |= {name for name, flags in dump.get("device_class_flags", {}).items() if flag in flags and name in classes}
    children = {node["id"]: node.get("children", ()) for node in nodes}

    def has(node: int) -> bool:
        return node in ids or any(map(has, children.get(node, ())))

    named = {name for name, flags in dump.get("crush_node_flags", {}).items() if flag in flags}
    return found | {node["name"] for node in nodes if node["name"] in named and has(node["id"])}


def together(ids: Sequence[str], most: int) -> list[str]:
    """Return the OSDs that may stop together, these among them: Ceph adds their neighbours in the CRUSH map as long as
    that leaves all data available (``ok-to-stop --max``). Empty where even these may not; these alone where the others
    are held (``held``), as those of a whole site are.

    ids
        Their numbers, as a list of texts.
    most
        How many at most.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_health.together '["3", "4"]' 12
    """
    # Asked for JSON, Ceph 16 exits with 0 whatever the answer: it stands in the answer.
    told = __salt__["cluster_cli.ask"](["osd", "ok-to-stop", *ids, "--max", str(most)])
    if not told["ok_to_stop"]:
        return []
    return list(ids) if held(told["osds"]) else [str(osd) for osd in told["osds"]]


def _changed(dump: Mapping) -> float | None:
    """Seconds since an OSD came up or in, or went; None where none ever did, by the monitors' clock and this host's."""
    times = []
    for key in CHANGES:
        with suppress(KeyError, ValueError):  # 0.000000: never
            times.append(datetime.strptime(dump[key], "%Y-%m-%dT%H:%M:%S.%f%z").timestamp())
    return time.time() - max(times) if times else None
