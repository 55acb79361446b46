"""OSDs that ``recovery.measure`` gives out and takes back in, with the admin's key; what must be known before.

A record (``ceph config-key``) names all that is changed, and what it was, before anything is: OSDs' weights, the units
that stop, the recovery profile. Nothing is given out that it does not name.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from salt.exceptions import CommandExecutionError

RECORD = "halocline/recovery-measure"
SAME = 1e-4  # Ceph keeps a weight in parts of 65536
# Of the map: with one of these set, data does not move, or OSDs do not come back (docs.ceph.com, "OSD flags").
HOLDING = {"noup", "nodown", "noin", "noout", "nobackfill", "norebalance", "norecover", "pauserd", "pausewr"}


def facts() -> dict[str, Any]:
    """Return ``{flags, weights}``: flags that hold recovery back, and the weight (``osd reweight``) of each OSD that is
    up and in.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_recovery_measure.facts
    """
    dump = _ask(["osd", "dump"])
    groups = dump.get("crush_node_flags", {}) | dump.get("device_class_flags", {})
    flags = {*dump["flags_set"], *(flag for told in groups.values() for flag in told)}
    flags |= {state for osd in dump["osds"] for state in osd["state"]}  # an OSD's own noout and the like
    weights = {str(osd["osd"]): osd["weight"] for osd in dump["osds"] if osd["up"] and osd["in"]}
    return {"flags": sorted(flags & HOLDING), "weights": weights}


def state() -> dict[str, Any]:
    """Return ``{clean, recovered}``: whether all placement groups are, and the bytes that recovery has copied so far.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_recovery_measure.state
    """
    groups = _ask(["status"])["pgmap"]
    clean = sum(each["count"] for each in groups["pgs_by_state"] if _clean(each["state_name"]))
    told = _ask(["pg", "dump", "sum"])
    recovered = told.get("pg_map", told)["pg_stats_sum"]["stat_sum"]["num_bytes_recovered"]
    return {"clean": clean == groups["num_pgs"], "recovered": int(recovered)}


def refused(osds: Sequence[int]) -> str:
    """Return why OSDs must not be stopped together now, in Ceph's words (``ok-to-stop``); empty where they may.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_recovery_measure.refused '[3, 4]'
    """
    why: str = __salt__["cluster_cli.refused"](["osd", "ok-to-stop", *map(str, osds)])
    return why


def record() -> dict[str, Any]:
    """Return the record of a measurement that runs, or was killed; empty where there is none.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_recovery_measure.record
    """
    return json.loads(__salt__["cluster_cli.kept"](RECORD) or "{}")


def note(told: Mapping[str, Any]) -> bool:
    """Keep what will be changed and what it was; no secret is in it.

    CLI Example: for ``salt-run recovery.measure``.
    """
    text = json.dumps(told, separators=(",", ":"), sort_keys=True)
    __salt__["cluster_cli.tell"](["config-key", "set", RECORD, "-i", "-"], stdin=text)
    return True


def forget() -> bool:
    """Forget it: all is as it was.

    CLI Example: for ``salt-run recovery.stop``.
    """
    if __salt__["cluster_cli.kept"](RECORD) is not None:
        __salt__["cluster_cli.tell"](["config-key", "rm", RECORD])
    return True


def out(osds: Sequence[int]) -> bool:
    """Give OSDs out, all at once; refused where the record does not say what they weighed.

    CLI Example: for ``salt-run recovery.measure``.
    """
    weights = record().get("weights", {})
    if strange := [str(osd) for osd in osds if str(osd) not in weights]:
        raise CommandExecutionError(f"nobody kept the weight of osd.{', osd.'.join(strange)}: nothing was changed")
    __salt__["cluster_cli.tell"](["osd", "out", *map(str, osds)])
    return True


def back() -> list[int]:
    """Give all OSDs of the record the weight that they had, which takes them in; return those that were changed.

    CLI Example: for ``salt-run recovery.stop``.
    """
    weights = record().get("weights", {})
    now = {str(osd["osd"]): osd["weight"] for osd in _ask(["osd", "dump"])["osds"]}
    changed = [osd for osd, weight in weights.items() if osd in now and abs(now[osd] - weight) > SAME]
    for osd in changed:
        __salt__["cluster_cli.tell"](["osd", "reweight", osd, str(weights[osd])])
    return sorted(map(int, changed))


def _clean(state: str) -> bool:
    """Whether a group's copies are all where they belong; it may be scrubbed meanwhile."""
    parts = set(state.split("+"))
    return {"active", "clean"} <= parts and not parts & {"remapped", "degraded", "undersized"}


def _ask(words: list[str]) -> Any:
    return __salt__["cluster_cli.ask"](words)
