"""Pools that are deleted: what is in them, who needs them, and Ceph's permission for a moment; with the admin's key.

Deleting a pool must be allowed (``mon_allow_pool_delete``). What that was is kept in the cluster (``ceph config-key``)
before it is changed and put back afterwards; where this run is killed, by the next one, or by the next stage.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import halocline
from salt.exceptions import CommandExecutionError

KEPT = "halocline/mon_allow_pool_delete"  # the key under which the value from before is kept
ALLOW = "mon_allow_pool_delete"
ABSENT = "(not set)"
ALLOWED = 30  # seconds until every monitor knows that a pool may be deleted
LOCK = Path("/run/lock/halocline-pools")  # of the one that has the permission
BUSY = "another pool is being deleted, nothing was changed"


def inspect() -> dict[str, dict]:
    """Return each pool by name: ``{bytes, objects, applications, nodelete, file_systems, tiers}``.

    ``bytes`` of data, without copies; ``file_systems`` that it belongs to; ``tiers``: whether it is part of a cache.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_pools.inspect
    """
    stats = {pool["name"]: pool["stats"] for pool in _ask(["df"])["pools"]}
    systems = {
        system["name"]: {system["metadata_pool"], *system["data_pools"]} for system in _ask(["fs", "ls"]) if system
    }
    return {
        pool["pool_name"]: {
            "bytes": stats.get(pool["pool_name"], {}).get("stored", 0),
            "objects": stats.get(pool["pool_name"], {}).get("objects", 0),
            "applications": list(pool["application_metadata"]),
            "nodelete": "nodelete" in pool["flags_names"].split(","),
            "file_systems": [name for name, pools in systems.items() if pool["pool_name"] in pools],
            "tiers": bool(pool["tiers"]) or pool["tier_of"] != -1,
        }
        for pool in _ask(["osd", "pool", "ls", "detail"])
    }


def delete(name: str, again: str) -> bool:
    """Delete a pool with all that is in it, where it is there; put the permission back to what it was.

    name, again
        The pool's name, twice.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_pools.delete scratch scratch
    """
    if name != again:
        raise CommandExecutionError(f"two names, {name} and {again}: nothing was deleted")
    words = ["osd", "pool", "rm", name, name, "--yes-i-really-really-mean-it"]
    with _alone():
        try:
            if name in _ask(["osd", "pool", "ls"]):
                _keep()
                _ask(["config", "set", "mon", ALLOW, "true"])
                halocline.until(lambda: _ask(words), ALLOWED)  # monitors learn a moment late that they may
        finally:
            _put_back()
    return True


def allowed() -> bool:
    """Return whether pools may be deleted for ``delete``, one that was killed among it.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_pools.allowed
    """
    return __salt__["cluster_cli.kept"](KEPT) is not None


def forbid() -> list[str]:
    """Put the permission back where a ``delete`` was killed; return the options that were, empty where none was.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_pools.forbid
    """
    with _alone():
        return [ALLOW] if _put_back() else []


@contextmanager
def _alone() -> Iterator[None]:
    """Be the one that has the permission: another would take what is set for us for what was before."""
    with LOCK.open("w") as file:
        halocline.until(lambda: halocline.locked(file, BUSY), 2 * ALLOWED)
        yield


def _keep() -> None:
    """Keep what the permission is, once: what an interrupted run kept is older and holds."""
    if __salt__["cluster_cli.kept"](KEPT) is None:
        rows = [row for row in _ask(["config", "dump"]) if (row["section"], row["name"]) == ("mon", ALLOW)]
        _ask(["config-key", "set", KEPT, rows[0]["value"] if rows else ABSENT])


def _put_back() -> bool:
    before = __salt__["cluster_cli.kept"](KEPT)
    if before is not None:
        _ask(["config", "rm", "mon", ALLOW] if before == ABSENT else ["config", "set", "mon", ALLOW, before])
        _ask(["config-key", "rm", KEPT])
    return before is not None


def _ask(words: list[str]) -> Any:
    return __salt__["cluster_cli.ask"](words)
