"""CephFS as the cluster has it, on a host with the admin's key. What to do about it is planned on the master."""

STANDBY_REPLAY = 1 << 5  # CEPH_MDSMAP_ALLOW_STANDBY_REPLAY, src/include/ceph_fs.h


def inspect() -> dict[str, list]:
    """Return ``{file_systems: [{name, data_pools, max_mds, standby_replay}]}``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_cephfs.inspect
    """
    ask = __salt__["cluster_cli.ask"]
    pools = {pool["pool_id"]: pool["pool_name"] for pool in ask(["osd", "pool", "ls", "detail"])}
    systems = [system["mdsmap"] for system in ask(["fs", "dump"])["filesystems"]]
    return {
        "file_systems": [
            {
                "name": system["fs_name"],
                "data_pools": [pools[pool] for pool in system["data_pools"]],
                "max_mds": system["max_mds"],
                "standby_replay": bool(system["flags"] & STANDBY_REPLAY),
            }
            for system in systems
        ]
    }
