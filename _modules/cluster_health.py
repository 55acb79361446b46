"""Whether the cluster is whole: more than the word HEALTH_OK, which a cluster without OSDs shows too."""

from collections.abc import Callable, Mapping, Sequence

import halocline
from salt.exceptions import CommandExecutionError


def problems(osds: int) -> list[str]:
    """Return what keeps the cluster from being whole, one line each; empty where nothing does.

    Whole is: HEALTH_OK, an active mgr, every monitor of the map in quorum, ``osds`` OSDs up and in, at least one
    placement group and all of them active+clean.

    osds
        How many OSDs the plan has.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_health.problems 36
    """
    status = _status()
    checks = status["health"]["checks"]
    lines = [f"{name}: {check['summary']['message']}" for name, check in sorted(checks.items())]
    if not lines and status["health"]["status"] != "HEALTH_OK":
        lines.append(status["health"]["status"])
    osdmap = status["osdmap"]
    if not osds == osdmap["num_osds"] == osdmap["num_up_osds"] == osdmap["num_in_osds"]:
        lines += _osds(osds, osdmap)
    return lines + _daemons(status) + _groups(status["pgmap"])


def wait(osds: int, timeout: int = 300) -> bool:
    """Wait until the cluster is whole; raise with what is not after the limit.

    osds
        How many OSDs the plan has.
    timeout
        Seconds to wait.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_health.wait 36
    """
    halocline.until(lambda: _none_of(lambda: problems(osds)), timeout)
    return True


def steady(timeout: int = 300) -> dict[str, bool]:
    """Wait until one host's daemons may be stopped: quorum whole, OSDs up, placement groups clean; warnings may be.

    timeout
        Seconds to wait; then it raises with what is not so.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_health.steady
    """
    halocline.until(lambda: _none_of(_unsteady, "the cluster is not steady: "), timeout)
    return {"steady": True}


def stoppable(kind: str, ids: Sequence[str]) -> dict[str, list[str]]:
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
    return {"ok": list(ids)}


def _none_of(look: Callable[[], list[str]], heading: str = "") -> None:
    """Raise with the lines that a function returns, if there are any."""
    if lines := look():
        raise CommandExecutionError(heading + "; ".join(lines))


def _status() -> dict:
    return __salt__["cluster_cli.ask"](["status"])


def _osds(planned: int, osdmap: Mapping[str, int]) -> list[str]:
    """What is wrong with the number of OSDs; a destroyed one's id, which waits for another disk, counts for none."""
    osds = [osd for osd in __salt__["cluster_cli.ask"](["osd", "dump"])["osds"] if "destroyed" not in osd["state"]]
    if planned == len(osds) == osdmap["num_up_osds"] == osdmap["num_in_osds"]:
        return []
    return [f"{len(osds)} OSDs of {planned} planned, {osdmap['num_up_osds']} up, {osdmap['num_in_osds']} in"]


def _daemons(status: Mapping[str, dict]) -> list[str]:
    lines = [] if status["mgrmap"].get("available") else ["no mgr is active"]
    if len(status["quorum_names"]) < status["monmap"]["num_mons"]:
        lines.append(f"{len(status['quorum_names'])} of {status['monmap']['num_mons']} monitors in quorum")
    return lines


def _groups(pgmap: Mapping) -> list[str]:
    if not pgmap["num_pgs"]:
        return ["no placement group yet"]
    return [
        f"{state['count']} placement groups {state['state_name']}"
        for state in pgmap.get("pgs_by_state", [])
        if state["state_name"] != "active+clean"
    ]


def _unsteady() -> list[str]:
    """What keeps one host's daemons from being stopped."""
    status = _status()
    osdmap, lines = status["osdmap"], _daemons(status)
    if osdmap["num_up_osds"] < osdmap["num_in_osds"]:
        lines.append(f"{osdmap['num_up_osds']} OSDs up, {osdmap['num_in_osds']} in")
    return lines + _groups(status["pgmap"])
