"""CephFS as the cluster has it, on a host with the admin's key. What to do about it is planned on the master."""

import re

import halocline
from salt.exceptions import CommandExecutionError

TAKEOVER = 30  # seconds in which a standby takes the place of a metadata server that was stopped
STANDBY_REPLAY = 1 << 5  # CEPH_MDSMAP_ALLOW_STANDBY_REPLAY, src/include/ceph_fs.h


def inspect() -> dict[str, list]:
    """Return ``{file_systems: [{name, data_pools, max_mds, standby_replay}]}``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_cephfs.inspect
    """
    listed, dump = __salt__["cluster_cli.ask_all"]([["osd", "pool", "ls", "detail"], ["fs", "dump"]])
    pools = {pool["pool_id"]: pool["pool_name"] for pool in listed}
    systems = [system["mdsmap"] for system in dump["filesystems"]]
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


def evict(user: str, host: str, server: str) -> list[str]:
    """End the sessions of an NFS server that has stopped and is not awaited; return a line for each, none for none.

    It keeps its capabilities for what may claim them, until ``session_autoclose`` (300 s), and other clients of the
    same folder wait (nfs-ganesha's src/FSAL/FSAL_CEPH; docs.ceph.com, cephfs/eviction). Only a session that names all
    of these is ended: a client that lies about them ends its own. Ceph puts its address, with a number that no later
    process has, on the blocklist for an hour: were it alive yet, it would write nothing more.

    user
        Its cephx user without ``client.``.
    host
        Its host's name.
    server
        Its name in the grace database.

    Raises CommandExecutionError where a metadata server does not answer.

    CLI Example: for ``salt-run maintenance.begin`` and ``ceph.stage.removal``.
    """
    named = re.compile(rf"ganesha-{re.escape(server)}-[0-9a-f]{{4}}")  # of an export: reclaim_reset in its export.c
    done = []
    for name in halocline.until(_serving, TAKEOVER):
        for session in __salt__["cluster_cli.ask"](["tell", f"mds.{name}", "client", "ls"]):
            told = session.get("client_metadata", {})
            where = str(told.get("hostname"))  # of some hosts with their domain
            own = told.get("entity_id") == user and (where == host or where.startswith(f"{host}."))
            if own and named.fullmatch(str(told.get("uuid", ""))):
                number = int(session["id"])
                __salt__["cluster_cli.tell"](["tell", f"mds.{name}", "client", "evict", f"id={number}"])
                done.append(f"client.{number} of mds.{name}")
    return done


def _serving() -> list[str]:
    """The metadata servers that serve clients; CommandExecutionError where a place of theirs is empty."""
    found = []
    for system in (system["mdsmap"] for system in __salt__["cluster_cli.ask"](["fs", "dump"])["filesystems"]):
        active = [each["name"] for each in system["info"].values() if each["state"] == "up:active"]
        if len(active) < len(system["in"]):
            raise CommandExecutionError(f"file system {system['fs_name']}: a metadata server does not serve yet")
        found += active
    return sorted(found)
