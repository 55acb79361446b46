"""What the running cluster says before and while its packages are upgraded, and what the monitors keep of that.

On a host with the admin's key. The order is planned on the master (``ceph.stage.upgrade``).
"""

import json
from collections.abc import Mapping
from typing import Any

import halocline

KEY = "halocline/upgrade"  # in the monitors' key store
PAUSE = "halocline/{}-paused"  # beside it, as another process writes it: who paused upgrade or updates, since when
STANDBY_REPLAY = 1 << 5  # CEPH_MDSMAP_ALLOW_STANDBY_REPLAY, src/include/ceph_fs.h
STORES = ["osd", "count-metadata", "osd_objectstore"]
ASKED = (["versions"], ["osd", "dump"], ["mgr", "dump"], ["fs", "dump"], STORES)


def inspect() -> dict[str, Any]:
    """Return ``{versions, required, manager, systems, stores, record, paused}``: what ``ceph versions`` prints, the
    release that the OSD map requires, the active manager, file systems with their active servers, how many OSDs have
    which store, and what is kept.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_upgrade.inspect
    """
    versions, dump, managers, systems, stores = halocline.side_by_side(
        lambda words: __salt__["cluster_cli.ask"](words), [(words,) for words in ASKED], len(ASKED)
    )
    return {
        "versions": versions,
        "required": dump["require_osd_release"],
        "manager": managers["active_name"],
        "systems": [_system(system["mdsmap"]) for system in systems["filesystems"]],
        "stores": stores,
        "record": __salt__["cluster_cli.kept"](KEY),
        "paused": paused(),
    }


def note(record: Mapping) -> bool:
    """Keep in the monitors how far an upgrade is, before anything is changed; no secret is in it.

    CLI Example: for ``ceph.stage.upgrade``.
    """
    text = json.dumps(record, separators=(",", ":"), sort_keys=True)
    __salt__["cluster_cli.tell"](["config-key", "set", KEY, "-i", "-"], stdin=text)
    return True


def forget() -> bool:
    """Forget it: all has been upgraded.

    CLI Example: for ``ceph.stage.upgrade``.
    """
    for key in (KEY, PAUSE.format("upgrade")):
        _remove(key)
    return True


def paused(what: str = "upgrade") -> str | None:
    """Return who paused it, and since when; None where nobody did.

    what
        ``upgrade``, or ``updates``: those of the system, and reboots.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_upgrade.paused
    """
    return __salt__["cluster_cli.kept"](PAUSE.format(what))


def pause(why: str | None, what: str = "upgrade") -> bool:
    """Pause it before its next hosts, or let it go on.

    why
        Who paused it, and since when; None to let it go on.
    what
        As for ``paused``.

    CLI Example: for ``salt-run upgrade.pause``.
    """
    if why is None:
        _remove(PAUSE.format(what))
    else:
        __salt__["cluster_cli.tell"](["config-key", "set", PAUSE.format(what), "-i", "-"], stdin=why)
    return True


def _remove(key: str) -> None:
    if __salt__["cluster_cli.kept"](key) is not None:
        __salt__["cluster_cli.tell"](["config-key", "rm", key])


def _system(system: Mapping) -> dict[str, Any]:
    """A file system with the names of its active metadata servers."""
    ranks = [f"mds_{rank}" for rank in system["in"]]
    holders = [system["up"][rank] for rank in ranks if rank in system["up"]]
    return {
        "name": system["fs_name"],
        "max_mds": system["max_mds"],
        "standby_replay": bool(system["flags"] & STANDBY_REPLAY),
        "active": [system["info"][f"gid_{gid}"]["name"] for gid in holders if f"gid_{gid}" in system["info"]],
    }
