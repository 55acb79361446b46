"""What the cluster knows of its OSDs, and what it says may be done to them; on a host with the admin's key."""

from collections.abc import Mapping, Sequence

import halocline
from salt.exceptions import CommandExecutionError

NOBODY = 0x7FFFFFFF  # where a placement group lacks an OSD (CRUSH_ITEM_NONE, src/crush/crush.h)
DOWN = 30  # seconds until the map shows that an OSD stopped, which it tells the monitors itself


def states() -> list[dict] | dict[str, list[str]]:
    """Return each OSD that the cluster knows: ``[{id, fsid, host, state, new, up, in, weight, class}]``;
    ``new``: it never was up; ``weight``: in the CRUSH map, ``None`` where it has no place there; ``class``: its device
    class, ``None`` where it has none.

    ``state`` is ``in-use``, or ``destroyed`` (``ceph osd destroy``), which leaves it no fsid; its id waits for another
    disk. ``host`` is its host's name in the CRUSH map; ``None`` where it has no place there.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_osds.states
    """
    return halocline.packed(_states())


def _states() -> list[dict]:
    hosts = {}
    weights, classes = {}, {}
    tree, dump = __salt__["cluster_cli.ask_all"]([["osd", "tree"], ["osd", "dump"]])
    for node in tree["nodes"]:
        if node["type"] == "host":
            hosts.update(dict.fromkeys(node["children"], node["name"]))
        elif node["type"] == "osd":
            classes[node["id"]] = node.get("device_class")
            weights[node["id"]] = node["crush_weight"] if node["id"] in hosts else None
    return [
        {
            "id": osd["osd"],
            "fsid": None if "destroyed" in osd["state"] else osd["uuid"],
            "host": hosts.get(osd["osd"]),
            "state": "destroyed" if "destroyed" in osd["state"] else "in-use",
            "new": "new" in osd["state"],
            "up": bool(osd["up"]),
            "in": bool(osd["in"]),
            "weight": weights.get(osd["osd"]),
            "class": classes.get(osd["osd"]),
        }
        for osd in dump["osds"]
    ]


def metadata_of(osd_id: int) -> dict:
    """Return what one OSD reported of itself, as ``metadata``.

    osd_id
        Its number.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_osds.metadata_of 3
    """
    return __salt__["cluster_cli.ask"](["osd", "metadata", str(osd_id)])


def metadata() -> list[dict] | dict[str, list[str]]:
    """Return what every OSD reported of itself to the cluster (``ceph osd metadata``).

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_osds.metadata
    """
    return halocline.packed(__salt__["cluster_cli.ask"](["osd", "metadata"]))


def unsafe(osd_id: int) -> dict[str, str | None]:
    """Return ``{unsafe: why}``: why an OSD must not be destroyed now, in Ceph's words; ``None`` where it is safe to.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_osds.unsafe 3
    """
    return {"unsafe": __salt__["cluster_cli.refused"](["osd", "safe-to-destroy", str(osd_id)]) or None}


def at_risk(osd_ids: Sequence[int]) -> list[dict] | dict[str, list[str]]:
    """Return the placement groups that lie on some OSDs, or wait for one of them:
    ``[{group, pool, state, osds, waits_for}]``, where ``osds`` are those that hold it now.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_osds.at_risk '[3, 4]'
    """
    ask = __salt__["cluster_cli.ask"]
    pools = {str(pool["pool"]): pool["pool_name"] for pool in ask(["osd", "dump"])["pools"]}
    stuck = ask(["pg", "ls", "down", "incomplete", "stale"]).get("pg_stats", [])
    waits = {group["pgid"]: group["blocked_by"] for group in stuck}
    asked = set(osd_ids)
    found = [
        {
            "group": group["pgid"],
            "pool": pools.get(group["pgid"].partition(".")[0]),
            "state": group["state"],
            "osds": [osd for osd in group["acting"] if osd != NOBODY],
            "waits_for": waits.get(group["pgid"], []),
        }
        for group in ask(["pg", "dump", "pgs_brief"])["pg_stats"]
        if not asked.isdisjoint([*group["up"], *group["acting"], *waits.get(group["pgid"], [])])
    ]
    return halocline.packed(found)


def groups(osd_ids: Sequence[int]) -> dict[str, int]:
    """Return how many placement groups lie on some OSDs (``ceph osd df``), by their numbers.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_osds.groups '[3, 4]'
    """
    return {str(osd["id"]): osd["pgs"] for osd in _used(osd_ids)}


def metadata_bytes(osd_ids: Sequence[int]) -> dict[str, int]:
    """Return how many bytes the DBs of some OSDs hold (``ceph osd df``: omap and metadata), by their numbers.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_osds.metadata_bytes '[3, 4]'
    """
    return {str(osd["id"]): (osd["kb_used_omap"] + osd["kb_used_meta"]) * 1024 for osd in _used(osd_ids)}


def _used(osd_ids: Sequence[int]) -> list[Mapping]:
    """What ``ceph osd df`` says of some OSDs."""
    asked = set(osd_ids)
    return [osd for osd in __salt__["cluster_cli.ask"](["osd", "df"])["nodes"] if osd["id"] in asked]


def stoppable(osd_ids: Sequence[int]) -> dict[str, list[str]]:
    """Return ``{refused: [why]}``: why OSDs must not be stopped and given up together, in Ceph's words, or by a flag of
    somebody's (``cluster_health.held``); empty where they may. One that does not run is not asked to stop.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_osds.stoppable '[3, 4]'
    """
    known = {osd["id"]: osd for osd in _states() if osd["id"] in osd_ids}
    running = [str(osd_id) for osd_id, osd in known.items() if osd["up"]]
    asked = [["osd", "ok-to-stop", *running]] if running else []
    asked += [["osd", "safe-to-destroy", *map(str, known)]] if known else []
    refused = [why for words in asked if (why := __salt__["cluster_cli.refused"](words))]
    return {"refused": refused + (__salt__["cluster_health.held"](running, back=False) if running else [])}


def purge(osd_id: int, fsid: str) -> dict[str, bool]:
    """Purge a stopped OSD: number, keys, place in CRUSH, and what the central configuration says of it alone.

    Refused unless it is down and Ceph calls it safe to destroy. Purged before, nothing is left to do.

    osd_id
        The OSD's number.
    fsid
        Its fsid, empty for one that was destroyed: a number that belongs to another one by now is refused.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_osds.purge 3 6b0c1f2e-0000-4000-8000-000000000000
    """
    known = _states()
    if fsid and all(osd["fsid"] != fsid for osd in known):
        return {"purged": False}
    _may_go(osd_id, fsid or None, known)
    # The options first: once the OSD is purged, nobody would look for them again.
    for row in __salt__["cluster_cli.ask"](["config", "dump"]):
        if row["section"] == f"osd.{osd_id}":
            __salt__["cluster_cli.tell"](["config", "rm", row["section"], row["name"]])
    __salt__["cluster_cli.tell"](["osd", "purge", str(osd_id), "--yes-i-really-mean-it"])
    return {"purged": True}


def destroy(osd_id: int, fsid: str) -> dict[str, int]:
    """Destroy a stopped OSD: its key goes, its id waits for another disk. Refused unless Ceph calls it safe. Destroyed
    before, as where Ceph's answer was lost, nothing is left to do.

    osd_id
        The OSD's number.
    fsid
        Its fsid: a number that belongs to another one by now is refused.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_osds.destroy 3 6b0c1f2e-0000-4000-8000-000000000000
    """
    known = _states()
    destroyed = any((osd["id"], osd["state"]) == (osd_id, "destroyed") for osd in known)
    if destroyed and all(osd["fsid"] != fsid for osd in known):
        return {"destroyed": osd_id}
    _may_go(osd_id, fsid, known)
    __salt__["cluster_cli.tell"](["osd", "destroy", str(osd_id), "--yes-i-really-mean-it"])
    return {"destroyed": osd_id}


def _may_go(osd_id: int, fsid: str | None, known: Sequence[Mapping]) -> None:
    """Raise unless the number is that OSD's, it is down, and Ceph calls it safe to destroy."""
    same_id = [osd for osd in known if osd["id"] == osd_id]
    if [osd["fsid"] for osd in same_id] != [fsid]:
        raise CommandExecutionError(f"osd.{osd_id} is not the OSD with fsid {fsid}: the cluster has {same_id}")
    halocline.until(lambda: _down(osd_id), DOWN)
    if why := unsafe(osd_id)["unsafe"]:
        raise CommandExecutionError(why)


def _down(osd_id: int) -> None:
    if any(osd["id"] == osd_id and osd["up"] for osd in _states()):
        raise CommandExecutionError(f"osd.{osd_id} still runs: stop it first")
