"""What the cluster knows of its OSDs, and what it says may be done to them; on a host with the admin's key."""

from salt.exceptions import CommandExecutionError


def states() -> list[dict]:
    """Return each OSD that the cluster knows: ``[{id, fsid, host, state, new, up, in}]``; ``new``: it never was up.

    ``state`` is ``in-use``, or ``destroyed`` (``ceph osd destroy``), which leaves it no fsid; its id waits for another
    disk. ``host`` is its host's name in the CRUSH map; ``None`` where it has no place there.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_osds.states
    """
    hosts = {}
    for node in __salt__["cluster_cli.ask"](["osd", "tree"])["nodes"]:
        if node["type"] == "host":
            hosts.update(dict.fromkeys(node["children"], node["name"]))
    return [
        {
            "id": osd["osd"],
            "fsid": None if "destroyed" in osd["state"] else osd["uuid"],
            "host": hosts.get(osd["osd"]),
            "state": "destroyed" if "destroyed" in osd["state"] else "in-use",
            "new": "new" in osd["state"],
            "up": bool(osd["up"]),
            "in": bool(osd["in"]),
        }
        for osd in __salt__["cluster_cli.ask"](["osd", "dump"])["osds"]
    ]


def metadata() -> list[dict]:
    """Return what every OSD reported of itself to the cluster (``ceph osd metadata``).

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_osds.metadata
    """
    return __salt__["cluster_cli.ask"](["osd", "metadata"])


def unsafe(osd_id: int) -> dict[str, str | None]:
    """Return ``{unsafe: why}``: why an OSD must not be destroyed now, in Ceph's words; ``None`` where it is safe to.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_osds.unsafe 3
    """
    try:
        __salt__["cluster_cli.tell"](["osd", "safe-to-destroy", str(osd_id)])
    except CommandExecutionError as err:
        return {"unsafe": str(err)}
    return {"unsafe": None}


def destroy(osd_id: int, fsid: str) -> dict[str, int]:
    """Destroy a stopped OSD: its key goes, its id waits for another disk. Refused unless Ceph calls it safe.

    osd_id
        The OSD's number.
    fsid
        Its fsid: a number that belongs to another one by now is refused.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_osds.destroy 3 6b0c1f2e-0000-4000-8000-000000000000
    """
    same_id = [osd for osd in states() if osd["id"] == osd_id]
    if [osd["fsid"] for osd in same_id] != [fsid]:
        raise CommandExecutionError(f"osd.{osd_id} is not the OSD with fsid {fsid}: the cluster has {same_id}")
    if why := unsafe(osd_id)["unsafe"]:
        raise CommandExecutionError(why)
    __salt__["cluster_cli.tell"](["osd", "destroy", str(osd_id), "--yes-i-really-mean-it"])
    return {"destroyed": osd_id}
