"""A host of a running cluster, taken out of service for a moment and given back: what the cluster says to that."""

import time

from salt.exceptions import CommandExecutionError

PAUSE = 2  # seconds between two looks
NOTE = "halocline/noout"  # in the monitors' key store: the host whose noout is ours to take away
SOUND = "active+clean"  # with scrubbing or without: that moves nothing


def begin(host, timeout=300):
    """Wait until the cluster can do without a host's daemons, then set ``noout`` for that host.

    The cluster can when it is well (``cluster_maintenance.problems``) and says that this host's monitor and OSDs are
    ``ok-to-stop``. Raises with what stands against it after the limit; nothing is set then.

    host
        The host's name, as CRUSH and the monitors have it.
    timeout
        Seconds.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.begin node1
    """
    well(timeout, host)
    if osds := _osds(host):
        __salt__["cluster_cli.tell"](["config-key", "set", NOTE, host])
        __salt__["cluster_cli.tell"](["osd", "set-group", "noout", host])
    return osds


def well(timeout=300, host=None):
    """Wait until the cluster is well, and where a host is named can do without it; raise with what is not.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.well
    """
    deadline = time.monotonic() + timeout
    while found := problems() + (_needed(host) if host else []):
        if time.monotonic() > deadline:
            raise CommandExecutionError(f"after {timeout} s: {'; '.join(found)}")
        time.sleep(PAUSE)
    return True


def end():
    """Take away the ``noout`` that ``cluster_maintenance.begin`` has set, of an interrupted run too; return its host
    in a list, empty where there is none.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.end
    """
    if NOTE not in __salt__["cluster_cli.ask"](["config-key", "ls"]):
        return []
    host = __salt__["cluster_cli.tell"](["config-key", "get", NOTE]).strip()
    __salt__["cluster_cli.tell"](["osd", "unset-group", "noout", host])
    __salt__["cluster_cli.tell"](["config-key", "rm", NOTE])
    return [host]


def problems():
    """Return what keeps the cluster from doing without anything, one line each; flags and full logs do not.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.problems
    """
    status = __salt__["cluster_cli.ask"](["status"])
    checks = status["health"]["checks"].items()
    lines = [f"{name}: {one['summary']['message']}" for name, one in checks if one["severity"] == "HEALTH_ERR"]
    if len(status["quorum_names"]) < status["monmap"]["num_mons"]:
        lines.append(f"{len(status['quorum_names'])} of {status['monmap']['num_mons']} monitors in quorum")
    osds = status["osdmap"]
    if osds["num_up_osds"] < osds["num_in_osds"]:
        lines.append(f"{osds['num_up_osds']} of {osds['num_in_osds']} OSDs up")
    groups = status["pgmap"].get("pgs_by_state", [])
    return lines + [
        f"{one['count']} placement groups {one['state_name']}"
        for one in groups
        if not one["state_name"].startswith(SOUND)
    ]


def _needed(host):
    """Why the cluster needs this host's daemons now."""
    mons = {mon["name"] for mon in __salt__["cluster_cli.ask"](["mon", "dump"])["mons"]}
    asked = [["mon", "ok-to-stop", host]] if host in mons else []
    asked += [["osd", "ok-to-stop", *map(str, osds)]] if (osds := _osds(host)) else []
    return [why for words in asked if (why := _refused(words))]


def _refused(words):
    """Ceph's own words where it says no, by its exit status."""
    try:
        __salt__["cluster_cli.tell"](words)
    except CommandExecutionError as err:
        return str(err)
    return ""


def _osds(host):
    """The OSDs that CRUSH has on a host; none where it does not know the host."""
    nodes = __salt__["cluster_cli.ask"](["osd", "tree"])["nodes"]
    return sorted(
        child for node in nodes if (node["type"], node["name"]) == ("host", host) for child in node["children"]
    )
