"""Whether a running cluster can do without a host for a moment, and ``noout`` for that host."""

from collections.abc import Sequence

import halocline
from salt.exceptions import CommandExecutionError

PAUSE = 2  # seconds between two looks
NOTE = "halocline/noout"  # in the monitors' key store: the host whose noout is ours to take away
SOUND = "active+clean"  # with scrubbing or without: that moves nothing


def begin(host: str, timeout: int = 300) -> list[int]:
    """Wait until the cluster can do without a host's daemons, then set ``noout`` for that host.

    The cluster can when it is well (``cluster_maintenance.problems``) and says that this host's monitor and OSDs are
    ``ok-to-stop``. Raises with what stands against it after the limit; nothing is set then. Returns the host's OSDs.

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


def well(timeout: int = 300, host: str | None = None) -> bool:
    """Wait until the cluster is well, and where a host is named can do without it; raise with what is not.

    timeout
        Seconds.
    host
        As for ``begin``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.well
    """

    def look() -> bool:
        if lines := problems() + (_needed(host) if host else []):
            raise CommandExecutionError("; ".join(lines))
        return True

    return halocline.until(look, timeout, pause=PAUSE)


def end() -> list[str]:
    """Take away the ``noout`` that ``begin`` has set, of an interrupted run too; return its host, empty for none.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.end
    """
    host = __salt__["cluster_cli.kept"](NOTE)
    if host is None:
        return []
    __salt__["cluster_cli.tell"](["osd", "unset-group", "noout", host])
    __salt__["cluster_cli.tell"](["config-key", "rm", NOTE])
    return [host]


def problems() -> list[str]:
    """Return what keeps the cluster from doing without a daemon, one line each. Flags and warnings do not.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_maintenance.problems
    """
    status = __salt__["cluster_cli.ask"](["status"])
    checks = status["health"]["checks"].items()
    lines = [f"{name}: {check['summary']['message']}" for name, check in checks if check["severity"] == "HEALTH_ERR"]
    if len(status["quorum_names"]) < status["monmap"]["num_mons"]:
        lines.append(f"{len(status['quorum_names'])} of {status['monmap']['num_mons']} monitors in quorum")
    osds = status["osdmap"]
    if osds["num_up_osds"] < osds["num_in_osds"]:
        lines.append(f"{osds['num_up_osds']} of {osds['num_in_osds']} OSDs up")
    groups = status["pgmap"].get("pgs_by_state", [])
    return lines + [
        f"{group['count']} placement groups {group['state_name']}"
        for group in groups
        if not group["state_name"].startswith(SOUND)
    ]


def _needed(host: str) -> list[str]:
    """Why the cluster needs this host's daemons now."""
    mons = {mon["name"] for mon in __salt__["cluster_cli.ask"](["mon", "dump"])["mons"]}
    questions = [["mon", "ok-to-stop", host]] if host in mons else []
    questions += [["osd", "ok-to-stop", *map(str, osds)]] if (osds := _osds(host)) else []
    return [why for words in questions if (why := _refused(words))]


def _refused(words: Sequence[str]) -> str:
    """Ceph's own words where it says no, by its exit status."""
    try:
        __salt__["cluster_cli.tell"](words)
    except CommandExecutionError as err:
        return str(err)
    return ""


def _osds(host: str) -> list[int]:
    """The OSDs that CRUSH has on a host; none where it does not know the host."""
    nodes = __salt__["cluster_cli.ask"](["osd", "tree"])["nodes"]
    return sorted(
        child for node in nodes if (node["type"], node["name"]) == ("host", host) for child in node["children"]
    )
