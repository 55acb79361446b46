"""A host of a running cluster, taken out of service for a moment and given back: what the cluster says to that."""

import json
import subprocess
import time

from salt.exceptions import CommandExecutionError

LIMIT = 60  # seconds one command may take
PAUSE = 2
NOTE = "halocline/noout"  # in the monitors' key store: the host whose noout is ours to take away
SOUND = "active+clean"  # with scrubbing or without: that moves nothing


def begin(host, timeout=300):
    """Wait until the cluster can do without a host's daemons, then set ``noout`` for that host.

    The cluster can when it is well (``maintenance.problems``) and says that this host's monitor and OSDs are
    ``ok-to-stop``. Raises with what stands against it after the limit; nothing is set then.

    host
        The host's name, as CRUSH and the monitors have it.
    timeout
        Seconds.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' maintenance.begin node1
    """
    well(timeout, host)
    if osds := _osds(host):
        _ceph("config-key", "set", NOTE, host)
        _ceph("osd", "set-group", "noout", host)
    return osds


def well(timeout=300, host=None):
    """Wait until the cluster is well, and where a host is named can do without it; raise with what is not.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' maintenance.well
    """
    deadline = time.monotonic() + timeout
    while found := problems() + (_needed(host) if host else []):
        if time.monotonic() > deadline:
            raise CommandExecutionError(f"after {timeout} s: {'; '.join(found)}")
        time.sleep(PAUSE)
    return True


def end():
    """Take away the ``noout`` that ``maintenance.begin`` has set, of an interrupted run too; return its host.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' maintenance.end
    """
    if NOTE not in json.loads(_ceph("config-key", "ls")):
        return None
    host = _ceph("config-key", "get", NOTE).strip()
    _ceph("osd", "unset-group", "noout", host)
    _ceph("config-key", "rm", NOTE)
    return host


def problems():
    """Return what keeps the cluster from doing without anything, one line each; flags and full logs do not.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' maintenance.problems
    """
    status = json.loads(_ceph("status"))
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
    asked = [["mon", "ok-to-stop", host]] if host in _mons() else []
    asked += [["osd", "ok-to-stop", *map(str, osds)]] if (osds := _osds(host)) else []
    done = [(words, _run(*words)) for words in asked]
    return [f"{' '.join(words)}: {one.stderr.strip()}" for words, one in done if one.returncode]


def _mons():
    return {mon["name"] for mon in json.loads(_ceph("mon", "dump"))["mons"]}


def _osds(host):
    """The OSDs that CRUSH has on a host; none where it does not know the host."""
    nodes = json.loads(_ceph("osd", "tree"))["nodes"]
    return sorted(
        child for node in nodes if (node["type"], node["name"]) == ("host", host) for child in node["children"]
    )


def _ceph(*words):
    done = _run(*words)
    if done.returncode:
        raise CommandExecutionError(f"ceph {' '.join(words)}: exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _run(*words):
    command = ["ceph", "--connect-timeout", "30", "--format", "json", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
