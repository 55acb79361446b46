"""DB and WAL that move: what is told of it, and whether Ceph says that an OSD runs where its host says."""

from collections.abc import Mapping
from typing import Any

from proposals.cluster.report import LABELS
from proposals.text.sizes import gib

NOTHING = "no DB or WAL is to move: every OSD lies where the served generation plans it"
NO_OSD = "the cluster has no osd.{}: see 'ceph osd tree'"
STAYS = (
    "osd.{} has nothing to move: 'salt-run proposal.populate … migrate=true' plans it, ceph.stage.configure serves "
    "the plan"
)


def unmoved(osd: Mapping[str, Any]) -> str:
    """Why ``osd.migrate`` does not move an OSD of ``osd_migrate.inspect``; empty where it does."""
    name = f"OSD {osd['fsid']}" if osd["id"] is None else f"osd.{osd['id']}"
    return f"{name} is not moved: {osd['refused']}" if osd["refused"] and osd["moves"] else ""


def lines(minion: str, osd: Mapping[str, Any], used: int | None = None) -> list[str]:
    """A line for each part of an OSD that moves, or that it has still to be ended.

    minion, osd
        Of ``osd_migrate.inspect``.
    used
        The bytes that its DB holds now; None: not asked.
    """
    name = f"osd.{osd['id']} of {minion}"
    told = []
    for role, move in osd["moves"].items():
        size = f", {gib(move['to']['size'])} GiB" if move["to"] else ""
        told.append(f"{name}: {role} from {_place(move['from'])} to {_place(move['to'])}{size}")
    if not told:
        told.append(f"{name}: what was begun is ended")
    if used is not None and osd["moves"]:
        told[0] += f"; about {gib(used)} GiB are copied"
    return told


def _place(place: Mapping[str, Any] | None) -> str:
    return place["disk"] if place else "the data disk"


def risk(osd_id: int, refused: str) -> str:
    """What is at risk while an OSD is stopped. ``refused``: why Ceph says no to it now."""
    if refused:
        return f"Ceph does not let osd.{osd_id} stop now: {refused}"
    return f"Ceph lets osd.{osd_id} stop now; what lies on it has one copy less until it is back"


def elsewhere(nodes: Mapping[str, str], metadata: Mapping[str, str]) -> str:
    """Why an OSD does not run where its host says; empty where it does.

    nodes
        The device nodes of its DB and WAL, by its host.
    metadata
        Its entry of ``ceph osd metadata``.
    """
    if not metadata:
        return "the cluster knows nothing of its devices"
    for role in ("db", "wal"):
        dedicated = metadata.get(f"bluefs_dedicated_{role}") == "1"
        told = metadata.get(f"{LABELS[role]}_partition_path") if dedicated else None
        if told != nodes.get(role):
            places = [place or "on the data disk" for place in (told, nodes.get(role))]
            return f"the cluster says its {role} is {places[0]}, the host {places[1]}"
    return ""
