"""What Ceph says of a running cluster, read once. Its form is that of Ceph 16.2; newer releases have the same keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proposals.text.errors import InventoryError
from proposals.text.names import shown

LONGEST = 300  # characters of a check's text
GATEWAYS = "rgw"  # of the daemons that only the service map knows, those whose names stay after a restart


@dataclass(frozen=True)
class HealthCheck:
    """A health check that Ceph raises: HEALTH_WARN or HEALTH_ERR."""

    severity: str
    message: str
    muted: bool


@dataclass(frozen=True)
class Osd:
    """An OSD of the OSD map. ``fresh``: it never was up; ``up_from``: the map's epoch when it came up last."""

    id: int
    uuid: str
    up: bool
    is_in: bool
    fresh: bool
    up_from: int = 0


@dataclass(frozen=True)
class Seen:
    """A look at a cluster.

    monitors
        How many the monitor map has.
    osds
        All but those that are destroyed: their ids wait for another disk.
    changed
        Seconds since one of them came up or in, or went; None: nobody knows.
    states
        How many placement groups are in each state.
    copies, misplaced, degraded, unfound
        Objects times their copies; those in another place than they should be; those that lack; objects without any.
    rate
        Objects that are recovered a second.
    running
        Monitors in quorum, managers, metadata servers and gateways that the cluster knows to run: ``mon.node1``.
    """

    checks: Mapping[str, HealthCheck]
    flags: frozenset[str]
    monitors: int
    manager: bool
    osds: tuple[Osd, ...]
    changed: float | None
    states: Mapping[str, int]
    copies: int
    misplaced: int
    degraded: int
    unfound: int
    rate: int
    running: frozenset[str]


def read(answer: Mapping[str, Any]) -> Seen:
    """Return what ``cluster_health.inspect`` answers, as it is judged. Raises InventoryError for another form.

    answer
        ``status`` and ``osd_dump`` as ``ceph`` prints them, ``mgr`` and ``mds`` the names of the daemons that
        ``ceph mgr metadata`` and ``ceph mds metadata`` list.
    """
    try:
        return _read(answer["status"], answer["osd_dump"], answer)
    except (KeyError, TypeError, ValueError, AttributeError) as err:
        raise InventoryError(
            f"what Ceph says of itself has not the form expected (cluster_health.inspect: {shown(err)}): run "
            "ceph.stage.prep, which brings the modules up to date"
        ) from err


def _read(status: Mapping, dump: Mapping, names: Mapping) -> Seen:
    groups = status["pgmap"]
    running = {f"mon.{shown(name)}" for name in status["quorum_names"]}
    running |= {f"{kind}.{shown(name)}" for kind in ("mgr", "mds") for name in names.get(kind, ()) if name}
    return Seen(
        checks={shown(name): _check(check) for name, check in status["health"]["checks"].items()},
        flags=frozenset(dump["flags"].split(",")),
        monitors=int(status["monmap"]["num_mons"]),
        manager=status["mgrmap"].get("available") is True,
        osds=tuple(_osd(osd) for osd in dump["osds"] if "destroyed" not in osd["state"]),
        changed=None if dump.get("changed") is None else float(dump["changed"]),
        states={shown(state["state_name"], LONGEST): int(state["count"]) for state in groups.get("pgs_by_state", ())},
        copies=max(int(groups.get(f"{kind}_total", 0)) for kind in ("misplaced", "degraded")),
        misplaced=int(groups.get("misplaced_objects", 0)),
        degraded=int(groups.get("degraded_objects", 0)),
        unfound=int(groups.get("unfound_objects", 0)),
        rate=int(groups.get("recovering_objects_per_sec", 0)),
        running=frozenset(running | _gateways(status)),
    )


def _check(check: Mapping) -> HealthCheck:
    message = shown(check["summary"]["message"], LONGEST)
    return HealthCheck(str(check["severity"]), message, check.get("muted") is True)


def _osd(osd: Mapping) -> Osd:
    up, inside, fresh = bool(osd["up"]), bool(osd["in"]), "new" in osd["state"]
    return Osd(int(osd["osd"]), str(osd["uuid"]), up, inside, fresh, int(osd.get("up_from", 0)))


def _gateways(status: Mapping) -> set[str]:
    """By their names: the map's own keys are numbers that change with every start."""
    daemons = status.get("servicemap", {}).get("services", {}).get(GATEWAYS, {}).get("daemons", {})
    entries = (entry.get("metadata", {}) for entry in daemons.values() if isinstance(entry, Mapping))
    return {f"{GATEWAYS}.{shown(entry['id'])}" for entry in entries if entry.get("id")}
