"""CephFS as the cluster has it, on a host with the admin's key. What to do about it is planned on the master."""

STANDBY_REPLAY = 1 << 5  # CEPH_MDSMAP_ALLOW_STANDBY_REPLAY, src/include/ceph_fs.h


def found():
    """Return ``{file_systems: [{name, data_pools, max_mds, standby_replay}]}``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_cephfs.found
    """
    ask = __salt__["cluster_cli.ask"]
    pools = {pool["pool_id"]: pool["pool_name"] for pool in ask(["osd", "pool", "ls", "detail"])}
    systems = [each["mdsmap"] for each in ask(["fs", "dump"])["filesystems"]]
    return {
        "file_systems": [
            {
                "name": one["fs_name"],
                "data_pools": [pools[pool] for pool in one["data_pools"]],
                "max_mds": one["max_mds"],
                "standby_replay": bool(one["flags"] & STANDBY_REPLAY),
            }
            for one in systems
        ]
    }
