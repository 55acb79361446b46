"""What Ceph says of the running cluster, for the master to judge (``proposals/cluster/health``); it only looks."""

from collections.abc import Sequence
from typing import Any

import halocline

STATUS = ("health", "quorum_names", "monmap", "mgrmap", "pgmap", "servicemap")
OSD = ("osd", "uuid", "up", "in", "state", "up_from")


def inspect() -> dict[str, Any]:
    """Return ``{status, osd_dump, mgr, mds}``: what ``ceph status`` and ``ceph osd dump`` print, as far as it is
    judged, and the names of the managers and metadata servers that run.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_health.inspect
    """
    asked = [["status"], ["osd", "dump"], ["mgr", "metadata"], ["mds", "metadata"]]
    status, dump, *daemons = halocline.side_by_side(
        lambda words: __salt__["cluster_cli.ask"](words), [(words,) for words in asked], len(asked)
    )
    mgr, mds = ([daemon.get("name") for daemon in each or ()] for each in daemons)
    return {
        "status": {key: status[key] for key in STATUS if key in status},
        "osd_dump": {"flags": dump["flags"], "osds": [{key: osd[key] for key in OSD} for osd in dump["osds"]]},
        "mgr": mgr,
        "mds": mds,
    }


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
