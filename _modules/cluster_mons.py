"""The monitors' map, on a host with the admin's key."""


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
    __salt__["cluster_cli.tell"](["mon", "rm", name])
    return monitors()
