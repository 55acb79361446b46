"""What Ceph says of the running cluster, for the master to judge (``proposals/cluster/health``); it only looks."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import halocline

STATUS = ("health", "quorum_names", "monmap", "mgrmap", "pgmap", "servicemap")
OSD = ("osd", "uuid", "up", "in", "state", "up_from")
CHANGES = ("last_up_change", "last_in_change")  # of the OSD map: when an OSD came or went


def inspect() -> dict[str, Any]:
    """Return ``{status, osd_dump, mgr, mds}``: what ``ceph status`` and ``ceph osd dump`` print, as far as it is
    judged, and the names of the managers and metadata servers that run.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_health.inspect
    """
    asked = [["status"], ["osd", "dump"], ["mgr", "metadata"], ["mds", "metadata"]]
    status, dump, *daemons = __salt__["cluster_cli.ask_all"](asked)
    mgr, mds = ([daemon.get("name") for daemon in each or ()] for each in daemons)
    told = {
        "status": {key: status[key] for key in STATUS if key in status},
        "osd_dump": {
            "flags": dump["flags"],
            "changed": _changed(dump),
            "osds": [{key: osd[key] for key in OSD} for osd in dump["osds"]],
        },
        "mgr": mgr,
        "mds": mds,
    }
    return halocline.packed(told)


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


def together(ids: Sequence[str], most: int) -> list[str]:
    """Return the OSDs that may stop together, these among them: Ceph adds their neighbours in the CRUSH map as long as
    that leaves all data available (``ok-to-stop --max``). Empty where even these may not.

    ids
        Their numbers, as a list of texts.
    most
        How many at most.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_health.together '["3", "4"]' 12
    """
    # Asked for JSON, Ceph 16 exits with 0 whatever the answer: it stands in the answer.
    told = __salt__["cluster_cli.ask"](["osd", "ok-to-stop", *ids, "--max", str(most)])
    return [str(osd) for osd in told["osds"]] if told["ok_to_stop"] else []


def _changed(dump: Mapping) -> float | None:
    """Seconds since an OSD came up or in, or went; None where none ever did, by the monitors' clock and this host's."""
    times = []
    for key in CHANGES:
        with suppress(KeyError, ValueError):  # 0.000000: never
            times.append(datetime.strptime(dump[key], "%Y-%m-%dT%H:%M:%S.%f%z").timestamp())
    return time.time() - max(times) if times else None
