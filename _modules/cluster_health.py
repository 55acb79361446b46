"""Whether the cluster is whole: more than the word HEALTH_OK, which a cluster without OSDs shows too."""

import json
import subprocess
import time

from salt.exceptions import CommandExecutionError

LIMIT = 60  # seconds one command may take


def problems(osds):
    """Return what keeps the cluster from being whole, one line each; empty where nothing does.

    Whole is: HEALTH_OK, an active mgr, every monitor of the map in quorum, ``osds`` OSDs up and in, at least one
    placement group and all of them active+clean.

    osds
        How many OSDs the plan has.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_health.problems 36
    """
    status = json.loads(_ceph(["status"]))
    checks = status["health"]["checks"]
    lines = [f"{name}: {check['summary']['message']}" for name, check in sorted(checks.items())]
    if not lines and status["health"]["status"] != "HEALTH_OK":
        lines.append(status["health"]["status"])
    if not status["mgrmap"].get("available"):
        lines.append("no mgr is active")
    if len(status["quorum_names"]) < status["monmap"]["num_mons"]:
        lines.append(f"{len(status['quorum_names'])} of {status['monmap']['num_mons']} monitors in quorum")
    osdmap = status["osdmap"]
    if not osds == osdmap["num_osds"] == osdmap["num_up_osds"] == osdmap["num_in_osds"]:
        lines += _osds(osds, osdmap)
    return lines + _groups(status["pgmap"])


def _osds(planned, osdmap):
    """What is wrong with the number of OSDs; a destroyed one's id, which waits for another disk, counts for none."""
    known = [osd for osd in json.loads(_ceph(["osd", "dump"]))["osds"] if "destroyed" not in osd["state"]]
    if planned == len(known) == osdmap["num_up_osds"] == osdmap["num_in_osds"]:
        return []
    return [f"{len(known)} OSDs of {planned} planned, {osdmap['num_up_osds']} up, {osdmap['num_in_osds']} in"]


def _groups(pgmap):
    if not pgmap["num_pgs"]:
        return ["no placement group yet"]
    return [
        f"{state['count']} placement groups {state['state_name']}"
        for state in pgmap.get("pgs_by_state", [])
        if state["state_name"] != "active+clean"
    ]


def wait(osds, timeout=300):
    """Wait until the cluster is whole; raise with what is not after the limit.

    osds
        How many OSDs the plan has.
    timeout
        Seconds to wait.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_health.wait 36
    """
    end = time.monotonic() + timeout
    while found := problems(osds):
        if time.monotonic() > end:
            raise CommandExecutionError(f"after {timeout} s: " + "; ".join(found))
        time.sleep(1)
    return True


def steady(timeout=300):
    """Wait until one host's daemons may be stopped: quorum whole, OSDs up, placement groups clean; warnings may be.

    timeout
        Seconds to wait; then it raises with what is not so.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_health.steady
    """
    end = time.monotonic() + timeout
    while found := _unsteady(json.loads(_ceph(["status"]))):
        if time.monotonic() > end:
            raise CommandExecutionError(f"the cluster is not steady after {timeout} s: " + "; ".join(found))
        time.sleep(1)
    return {"steady": True}


def stoppable(kind, ids):
    """Ask Ceph whether daemons may be stopped together (``ok-to-stop``); raise with its words where not.

    kind
        mon, osd or mds.
    ids
        A list.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_health.stoppable osd '["3", "4"]'
    """
    __salt__["cluster_cli.tell"]([kind, "ok-to-stop", *ids])
    return {"ok": ids}


def _unsteady(status):
    """What keeps one host's daemons from being stopped."""
    osdmap, lines = status["osdmap"], []
    if len(status["quorum_names"]) < status["monmap"]["num_mons"]:
        lines.append(f"{len(status['quorum_names'])} of {status['monmap']['num_mons']} monitors in quorum")
    if not status["mgrmap"].get("available"):
        lines.append("no mgr is active")
    if osdmap["num_up_osds"] < osdmap["num_in_osds"]:
        lines.append(f"{osdmap['num_up_osds']} OSDs up, {osdmap['num_in_osds']} in")
    return lines + _groups(status["pgmap"])


def _ceph(arguments):
    command = ["ceph", "--connect-timeout", "30", "--format", "json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode:
        raise CommandExecutionError(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout
