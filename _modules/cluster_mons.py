"""The monitors' map, on a host with the admin's key."""

import halocline
from salt.exceptions import CommandExecutionError

LIMIT = 60  # seconds: a monitor that was stopped is missed within 10, an election ends within 5


def monitors() -> dict[str, list[str]]:
    """Return ``{names, quorum}``: the monitors of the map, and those of them in quorum.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_mons.monitors
    """
    status = __salt__["cluster_cli.ask"](["quorum_status"])
    return {"names": [mon["name"] for mon in status["monmap"]["mons"]], "quorum": status["quorum_names"]}


def removable(name: str) -> bool:
    """Raise with Ceph's own words where the others would keep no quorum without this monitor.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_mons.removable monnode3
    """
    __salt__["cluster_cli.tell"](["mon", "ok-to-rm", name])
    return True


def remove(name: str) -> dict[str, list[str]]:
    """Take a monitor out of the map, if Ceph says that the others keep a quorum; return ``monitors``' answer.

    One that still runs ends itself then, and may crash at it (Ceph 16.2): its host stops it first, in the order of
    Ceph's "Adding/Removing Monitors".

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_mons.remove monnode3
    """
    removable(name)

    def without() -> dict[str, list[str]]:
        # Ceph answers before it writes the map (src/mon/MonmapMonitor.cc, "mon rm"). An election that begins in
        # between, as one does where a monitor was just stopped, can lose what was to be written.
        __salt__["cluster_cli.tell"](["mon", "rm", name])
        left = monitors()
        if name in left["names"]:
            raise CommandExecutionError(
                f"the monitors were told to remove mon.{name} and have it still: run this again"
            )
        return left

    return halocline.until(without, LIMIT)
