"""One disk: every step of why it became what it is."""

from typing import Any

from proposals.disks import turn
from proposals.disks.arguments import DiskArguments
from proposals.disks.filters import KEYS, Filter
from proposals.disks.plan import DiskPlan, PlannedHost
from proposals.disks.shape import label
from proposals.inventory.disk import Disk
from proposals.text import names
from proposals.text.errors import ArgumentError
from proposals.text.sizes import both, gib, terabytes

PURPOSES = ("exclude", "data", "db", "wal")


def disk(plan: DiskPlan, host: str, word: str) -> dict:
    """Role, reason, OSDs and the steps that led there; ``word`` is the disk's id, device or serial.

    Raises ArgumentError for a host or disk that the plan does not know, naming the nearest.

    CLI: ``python -m proposals explain INVENTORY osdnode1 /dev/sda ratio=9``"""
    planned = next((one for one in plan.hosts if one.host.id == host), None)
    if planned is None:
        raise ArgumentError(
            f"host '{names.shown(host)}' is not in the plan{names.nearest(host, [one.host.id for one in plan.hosts])}"
        )
    at = _position(planned, word)
    explained = planned.host.disks[at]
    answer = plan.host_dict(planned)
    osds = [osd for osd in answer["osds"] if explained.id in _disks(osd)]
    role, reason = planned.plan.roles[at], planned.plan.reasons[at]
    steps = [
        *_seen(explained, planned.shape.disks[at].reason),
        *_filters(explained, plan.arguments),
        *_layouts(planned),
    ]
    steps += [*turn.steps(planned, at), *_outcome(explained, role, reason, osds)]
    return {"host": host, "disk": explained.id, "role": role, "reason": reason, "osds": osds, "steps": steps}


def _disks(osd: dict) -> set[str | None]:
    """The disks that an OSD lies on or is to move to."""
    return {osd["data"], osd["db"], osd["wal"], *(to["to"] for to in osd.get("moves", {}).values())}


def _position(planned: PlannedHost, word: str) -> int:
    known: dict[str | None, int] = {}
    for at, disk in enumerate(planned.host.disks):
        for name in (disk.id, disk.device, disk.serial, disk.id.rpartition("/")[2], disk.device.rpartition("/")[2]):
            if name:
                known.setdefault(name, at)
    if word not in known:
        devices = [disk.device for disk in planned.host.disks]
        raise ArgumentError(f"{planned.host.id} has no disk '{names.shown(word)}'{names.nearest(word, devices)}")
    return known[word]


def _seen(disk: Disk, reason: str | None) -> list[str]:
    told = [text for text in (disk.vendor, disk.model, disk.serial and f"serial {disk.serial}", disk.path) if text]
    steps = [f"{disk.device} is {disk.id}: {both(disk.size)}{', ' if told else ''}{', '.join(told)}"]
    why = "it rotates" if disk.cls == "hdd" else f"it does not rotate, transport {disk.transport or 'unknown'}"
    steps.append(f"class {disk.cls}: {why}")
    for one in disk.residents:
        size = f" of {gib(one.size)} GiB" if one.size else ""
        steps.append(f"on it lies the {one.role}{size} of {label(one)}, {one.state}")
    steps.append(f"not free: {reason}" if reason else "nothing stands against a new role")
    return steps


def _filters(disk: Disk, arguments: DiskArguments) -> list[str]:
    steps = []
    for purpose in PURPOSES:
        wanted: Filter | None = getattr(arguments, purpose)
        for term in wanted.terms if wanted else ():
            value = KEYS[term.key].of(disk)
            shown = _shown(term.key, value)
            verb = "matches" if term.matches(disk) else "does not match"
            steps.append(f"{purpose}: {term.key} is {shown}: {verb} {term.text}")
    return steps


def _layouts(planned: PlannedHost) -> list[str]:
    steps = []
    for one in planned.plan.candidates:
        numbers = f"{one.osds} OSDs, {terabytes(one.behind_bytes)} behind a DB, at most {one.lost_at_most} lost at once"
        why = "chosen" if one.chosen else f"not chosen: {one.why_not}" if one.fits else f"does not fit: {one.why_not}"
        steps.append(f"layout {one.layout}: {numbers}; {why}")
    return [*steps, f"layout of the host: {planned.plan.layout or 'none'}"]


def _outcome(disk: Disk, role: str, reason: str | None, osds: list[dict]) -> list[str]:
    if role == "unused":
        return [f"unused: {reason}"]
    if role != "data":
        data = ", ".join(osd["data"].rpartition("/")[2] for osd in osds)
        return [f"{role}: {len(osds)} OSDs have their part here; with it falls {data}"]
    steps = []
    for osd in osds:
        parts = [f"{key} of {gib(osd[f'{key}_size'] or 0)} GiB on {osd[key]}" for key in ("db", "wal") if osd[key]]
        state = "new" if not osd["existing"] else "exists and moves" if osd.get("moves") else "exists and stays"
        steps.append(f"data of OSD {osd['uuid']} ({state}): {' and '.join(parts) or 'DB and WAL on the disk itself'}")
        for key, to in osd.get("moves", {}).items():
            place = f"to {gib(to['size'] or 0)} GiB on {to['to']}" if to["to"] else "back to the data disk"
            steps.append(f"its {key} is to move {place}")
    return steps


def _shown(key: str, value: Any) -> object:
    if value is None:
        return "not known"
    return both(value) if key == "size" else value
