"""DBs of this host's OSDs on partitions, moved to the slots that are planned by ``ceph-bluestore-tool``.

Only DBs that go to a new slot, of OSDs without a WAL of their own: all that the tool writes goes into it then, last of
all what tells where all lies, and the place that it reads stays as it is (``BlueFS::device_migrate_to_new``). For a
WAL it writes that into the DB, and on the way back to the data disk it may write over what a file of both devices had
there: neither can begin again.

``osd_copy`` copies. A file in the OSD's folder tells from the first stop to the last slot that this is under way. The
old slot is freed by a call of its own, once the cluster has seen the OSD on the new one
(``runners/engine/migration.py``).
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

DATA_DIR = Path("/var/lib/ceph/osd")
BY_PARTUUID = Path("/dev/disk/by-partuuid")
ROLES = ("db", "wal")
LIMIT = 120  # seconds one command may take


def inspect() -> list[dict]:
    """Return the OSDs of this host that have parts to move, or slots that they have left: ``[{id, fsid, method, moves,
    moving, begun, left, nodes, running}]``.

    ``moves`` is ``{role: {from, to}}``, each ``{disk, size}`` or ``None`` for the data disk; ``moving`` is the role of
    a part that is between both, ``begun`` whether a run began and did not end; ``left`` are slots that may be freed,
    ``nodes`` the devices of DB and WAL now.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_migrate.inspect
    """
    records = __salt__["osd_record.read"]()
    found = []
    for osd in __salt__["osd_plan.osds"]():
        record = records.get(osd["fsid"])
        if record is None:  # on logical volumes, or not made
            if osd["moves"]:
                found.append(_told(osd, {"id": None, "slots": {}, "moving": None}, [], osd["moves"]))
            continue
        todo = _todo(osd)
        left = _left(osd["fsid"], record, todo)
        if todo or left or record["moving"] or _mark(record["id"]).exists():
            found.append(_told(osd, record, left, todo))
    return found


def prepare(fsid: str) -> list[str]:
    """Make the slots that an OSD's parts are to move to, on disks that are looked at first; the OSD runs on.

    fsid
        The OSD's.

    CLI Example: for ``salt-run osd.migrate``.
    """
    osd, record = _osd(fsid)
    parts = {role: {**to, "partuuid": _free_name(osd, role)} for role, to in _todo(osd).items() if to}
    for part in parts.values():
        if (BY_PARTUUID / part["partuuid"]).exists() and not _made_for(part):
            _freed(fsid, part["partuuid"])  # made for a place that is not planned any more
    in_use = __salt__["disks_kernel.in_use"]()
    for disk in sorted({part["disk"] for part in parts.values()}):
        planned = [("raw", part) for part in parts.values() if part["disk"] == disk]
        recorded = __pillar__["ceph"]["storage"].get("disks", {}).get(disk)
        if why := __salt__["osd_guard.problem"](disk, recorded, in_use, planned, None):
            raise CommandExecutionError(f"osd.{record['id']} is not moved, {disk} {why}")
    for descriptor in __salt__["osd_raw_parts.make"]([{"fsid": fsid, "parts": parts}]) if parts else ():
        os.close(descriptor)
    return sorted(part["disk"] for part in parts.values())


def move(fsid: str) -> dict[str, str]:
    """Stop an OSD, move what is to move, and start it; return ``{role: node}`` of DB and WAL then.

    Where a copy or its fsck fails, the OSD is started where it lay, and the error says so. Only called when Ceph allows
    that it stops. Where all has moved it is only started.

    fsid
        The OSD's; its new slots are there.

    CLI Example: for ``salt-run osd.migrate``.
    """
    osd_id = _osd(fsid)[1]["id"]
    try:
        with _mark(osd_id).open("a") as mark:
            halocline.locked(mark, f"osd.{osd_id} is being moved by another run")
            return _moved(fsid)
    except OSError as err:
        raise CommandExecutionError(f"osd.{osd_id}: {err}: mend that, and run it again") from err


def _moved(fsid: str) -> dict[str, str]:
    """What ``move`` does, while no other run does it."""
    osd, record = _osd(fsid)
    osd_id, slots, todo = record["id"], dict(record["slots"]), _todo(osd)
    if todo or record["moving"]:
        _run(["systemctl", "stop", f"ceph-osd@{osd_id}"])
        _alone(osd_id)
    for role in todo:
        new = {**slots, role: _free_name(osd, role)}
        try:
            __salt__["osd_copy.part"](osd_id, fsid, role, slots, new)
        except (OSError, CommandExecutionError) as err:
            __salt__["osd_copy.settle"](osd_id, fsid, slots)
            _start(osd_id)
            raise CommandExecutionError(f"osd.{osd_id} runs where it lay, its {role} was not moved: {err}") from err
        slots = new
    __salt__["osd_copy.settle"](osd_id, fsid, slots)
    _start(osd_id)
    return _nodes(slots)


def free(fsid: str) -> list[str]:
    """Free the slots that an OSD has left; refused unless it runs, and on others. Return what went.

    fsid
        The OSD's.

    CLI Example: for ``salt-run osd.migrate``.
    """
    osd, record = _osd(fsid)
    left = _left(fsid, record, _todo(osd))
    mark = _mark(record["id"])
    if not left and not mark.exists():
        return []
    as_recorded = __salt__["osd_copy.linked"](record["id"], record["slots"])
    if record["moving"] or not as_recorded or not __salt__["service.status"](f"ceph-osd@{record['id']}"):
        raise CommandExecutionError(f"osd.{record['id']} does not run on its new slots: the old ones are kept")
    freed = [_freed(fsid, name) for name in left]
    mark.unlink(missing_ok=True)
    return freed


def _freed(fsid: str, name: str) -> str:
    """Take away a slot of an OSD in which nothing of it lies, by its name."""
    node = BY_PARTUUID / name
    disk = __salt__["disks_kernel.holder"](str(node))
    parts = (__salt__["disks.partitions"](disk) or {"partitions": []})["partitions"]
    numbers = [part["number"] for part in parts if part["uuid"] == name and part["name"] == fsid]
    if len(numbers) != 1:
        raise CommandExecutionError(f"{node} is not a slot of OSD {fsid} on {disk} alone: it was not freed")
    halocline.unused(node)
    __salt__["osd_raw_parts.remove"](disk, numbers)
    return f"partition {numbers[0]} of {disk}"


def _osd(fsid: str) -> tuple[dict, dict]:
    """An OSD that is planned here and lies on partitions, with its record."""
    osd = next((osd for osd in __salt__["osd_plan.osds"]() if osd["fsid"] == fsid), None)
    record = __salt__["osd_record.read"]().get(fsid)
    if osd is None or record is None or osd["method"] != "raw":
        raise CommandExecutionError(f"OSD {fsid} is not one that is planned here and lies on partitions")
    todo = _todo(osd)
    if any(role != "db" or to is None for role, to in todo.items()) or (todo and "wal" in record["slots"]):
        raise CommandExecutionError(f"osd.{record['id']} has a WAL of its own, or a part to move that goes to no slot")
    return osd, record


def _told(osd: Mapping, record: Mapping, left: Sequence[str], todo: Mapping) -> dict:
    moves = {role: {"from": _without_name(osd["parts"].get(role)), "to": to} for role, to in todo.items()}
    running = record["id"] is not None and __salt__["service.status"](f"ceph-osd@{record['id']}")
    more = {"moves": moves, "moving": record["moving"], "left": list(left), "nodes": _nodes(record["slots"])}
    more |= {"running": running, "begun": record["id"] is not None and _mark(record["id"]).exists()}
    return {"id": record["id"], "fsid": osd["fsid"], "method": osd["method"], **more}


def _without_name(part: Mapping | None) -> dict | None:
    return {key: part[key] for key in ("disk", "size")} if part else None


def _todo(osd: Mapping) -> dict[str, dict | None]:
    """Where each part goes that is not there yet: by disk and bytes of the slot itself."""
    return {role: to for role, to in sorted(osd["moves"].items()) if not _there(osd["parts"].get(role), to)}


def _there(part: Mapping | None, to: Mapping | None) -> bool:
    if part is None or to is None:
        return part is None and to is None
    node = BY_PARTUUID / part["partuuid"]
    return part["disk"] == to["disk"] and node.exists() and __salt__["disks_kernel.size"](str(node)) == to["size"]


def _made_for(part: Mapping) -> bool:
    """Whether the slot of a part's name is on its disk, and of its size."""
    node = str(BY_PARTUUID / part["partuuid"])
    on_disk = __salt__["disks_kernel.holder"](node) == str(Path(part["disk"]).resolve())
    return on_disk and __salt__["disks_kernel.size"](node) == part["size"]


def _free_name(osd: Mapping, role: str) -> str:
    """The one of a part's two names that it does not have now."""
    now = osd["parts"].get(role, {}).get("partuuid")
    return next(name for name in __salt__["osd_names.slots"](osd["fsid"], role) if name != now)


def _left(fsid: str, record: Mapping, todo: Mapping) -> list[str]:
    """The slots of an OSD in which no part of it lies, and none is to lie."""
    kept = {*record["slots"].values()}
    names = [name for role in ROLES if role not in todo for name in __salt__["osd_names.slots"](fsid, role)]
    return [name for name in names if name not in kept and (BY_PARTUUID / name).exists()]


def _mark(osd_id: int) -> Path:
    """The file that is there while an OSD is being moved."""
    return DATA_DIR / f"ceph-{osd_id}" / "migrating"


def _alone(osd_id: int) -> None:
    """Raise where an OSD's daemon, or the tool of an interrupted run, is still at work on it: both lock its fsid."""
    path = DATA_DIR / f"ceph-{osd_id}" / "fsid"
    with path.open("r+b") as file:
        halocline.locked(file, f"osd.{osd_id} is stopped, and something still works on it ('fuser {path}' tells what)")


def _nodes(slots: Mapping) -> dict[str, str]:
    return {role: str((BY_PARTUUID / slots[role]).resolve()) for role in ROLES if role in slots}


def _start(osd_id: int) -> None:
    __salt__["daemons.forgive"]([f"ceph-osd@{osd_id}"])
    _run(["systemctl", "start", f"ceph-osd@{osd_id}"])


def _run(command: Sequence[str]) -> None:
    halocline.run(command, limit=LIMIT)
