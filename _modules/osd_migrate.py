"""DB and WAL of this host's OSDs, brought to the places that are planned for them by ``ceph-bluestore-tool``.

``osd_copy`` copies, one part after the other: the DB first, which takes a WAL with it that comes out again after, so
that nothing is copied which could not begin again. A file in the OSD's folder tells from the first stop to the last
slot that this is under way. The old slot is freed by a call of its own, once the cluster has seen the OSD on the new
one (``runners/engine/osds/migration.py``).
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import halocline
from salt.exceptions import CommandExecutionError

DATA_DIR = Path("/var/lib/ceph/osd")
PARTS = {"raw": "osd_raw_parts", "lvm": "osd_lvm_parts"}
SLOTS = {"raw": "osd_raw_slots", "lvm": "osd_lvm_slots"}
ROLES = ("db", "wal")
ASKED = "unspilled"  # in the file: its DB has nothing on its data disk
LIMIT = 120  # seconds one command may take


def inspect() -> list[dict]:
    """Return the OSDs of this host that have parts to move, or slots that they have left: ``[{id, fsid, refused, moves,
    moving, begun, left, nodes, running}]``.

    ``refused`` is why it cannot be moved, empty where it can. ``moves`` is ``{role: {from, to}}``, ``None`` for the
    data disk, else ``{disk, size}``. ``moving`` is the role of a part that is between both, ``begun`` tells of a run
    that did not end. ``left`` are slots that may be freed, ``nodes`` the devices of DB and WAL now.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_migrate.inspect
    """
    planned = __salt__["osd_plan.osds"]()
    records = _records(planned)
    found = []
    for osd in planned:
        record = records.get(osd["fsid"])
        if record is None:  # not made
            if osd["moves"]:
                found.append(_told(osd, {"id": None, "slots": {}, "moving": None}, [], osd["moves"]))
            continue
        todo = _todo(osd)
        left = [name for _, name in _left(osd, record, todo)]
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
    method = osd["method"]
    parts = {role: {**to, "partuuid": _free_name(osd, role, to)} for role, to in _todo(osd).items() if to}
    for role, part in parts.items():
        if (node := _node(osd, role, part["partuuid"])) and not _is_for(osd, node, part):
            __salt__[f"{SLOTS[method]}.free"](fsid, role, part["partuuid"])  # made for a place that is not planned now
    in_use = __salt__["disks_kernel.in_use"]()
    groups = __salt__["disks_lvm.groups"]() if method == "lvm" else {}
    for disk in sorted({part["disk"] for part in parts.values()}):
        planned = [(method, part) for part in parts.values() if part["disk"] == disk]
        recorded = __pillar__["ceph"]["storage"].get("disks", {}).get(disk)
        if why := __salt__["osd_guard.problem"](disk, recorded, in_use, planned, groups.get(str(Path(disk).resolve()))):
            raise CommandExecutionError(f"osd.{record['id']} is not moved, {disk} {why}")
    for descriptor in __salt__[f"{PARTS[method]}.make"]([{"fsid": fsid, "parts": parts}]) if parts else ():
        os.close(descriptor)
    return sorted(part["disk"] for part in parts.values())


def move(fsid: str, may_stop: bool) -> bool:
    """Stop an OSD, move what is to move, and start it; return whether it boots: one that another run moved runs on.

    Where a copy or its fsck fails, the OSD is started where it lay, and the error says so. Where all has moved it is
    only started.

    fsid
        The OSD's; its new slots are there.
    may_stop
        Whether Ceph allows that it stops, where it runs.

    CLI Example: for ``salt-run osd.migrate``.
    """
    osd, record = _osd(fsid)
    osd_id = record["id"]
    try:
        if not (DATA_DIR / f"ceph-{osd_id}/fsid").exists():  # in memory on logical volumes: the host has restarted
            __salt__[f"{SLOTS[osd['method']]}.attach"](osd_id, fsid, record["slots"])
        with _mark(osd_id).open("a") as mark:
            halocline.locked(mark, f"osd.{osd_id} is being moved by another run")
            return _moved(fsid, may_stop, mark)
    except OSError as err:
        raise CommandExecutionError(f"osd.{osd_id}: {err}: mend that, and run it again") from err


def together(fsids: Sequence[str], may_stop: Sequence[str]) -> list[str]:
    """Do what ``move`` does for several OSDs at once; return those that boot.

    fsids
        Of the OSDs. Where one fails, the others are brought to their end first.
    may_stop
        Those among them of which Ceph allows that they stop together.

    CLI Example: for ``salt-run osd.migrate at_once=2``.
    """
    boot = halocline.side_by_side(move, [(fsid, fsid in may_stop) for fsid in fsids], len(fsids))
    return [fsid for fsid, boots in zip(fsids, boot, strict=True) if boots]


def _moved(fsid: str, may_stop: bool, mark: IO) -> bool:
    """What ``move`` does, while no other run does it."""
    osd, record = _osd(fsid)
    osd_id, todo, way = record["id"], _todo(osd), SLOTS[osd["method"]]
    runs = __salt__["service.status"](f"ceph-osd@{osd_id}")
    boots = bool(todo or record["moving"] or not runs)
    if todo or record["moving"]:
        if runs and not may_stop:
            raise CommandExecutionError(f"osd.{osd_id} was down and runs by now: nothing was changed")
        mark.truncate(0 if runs else None)  # what it said before it ran holds no more
        if "db" in todo and todo["db"] is None:
            _unspilled(osd_id, fsid, way, record["slots"], mark)
        _run(["systemctl", "stop", f"ceph-osd@{osd_id}"])
        _alone(osd_id)
    for _ in ROLES:
        if not (todo := _todo(osd)):
            break
        role = next(role for role in ROLES if role in todo)
        try:
            __salt__["osd_copy.part"](osd_id, fsid, way, role, record["slots"], _after(osd, record, role, todo[role]))
        except (OSError, CommandExecutionError) as err:
            __salt__["osd_copy.settle"](osd_id, fsid, way, record["slots"])
            _start(osd_id)
            raise CommandExecutionError(f"osd.{osd_id} runs where it lay, its {role} was not moved: {err}") from err
        osd, record = _osd(fsid)
    __salt__["osd_copy.settle"](osd_id, fsid, way, record["slots"])
    _start(osd_id)
    return boots


def _after(osd: Mapping, record: Mapping, role: str, to: Mapping | None) -> dict[str, str]:
    """An OSD's slots when a part has moved: a DB takes the WAL with it, whose place is planned anew."""
    slots = {each: name for each, name in record["slots"].items() if each not in (role, "wal")}
    return {**slots, role: _free_name(osd, role, to)} if to else slots


def _unspilled(osd_id: int, fsid: str, way: str, slots: Mapping, mark: IO) -> None:
    """Raise where a part of an OSD's DB lies on its data disk already: a file on both could not be copied twice. One
    that was stopped for another move is started where it lies, to be asked.
    """
    if not __salt__["service.status"](f"ceph-osd@{osd_id}"):
        if _mark(osd_id).read_text() == ASKED:
            return
        __salt__["osd_copy.settle"](osd_id, fsid, way, slots)
        _start(osd_id)
        raise CommandExecutionError(f"osd.{osd_id} runs where it lay: it was stopped for another move: run it again")
    dump = json.loads(halocline.run(["ceph", "daemon", f"osd.{osd_id}", "perf", "dump", "bluefs"], limit=LIMIT))
    if spilled := dump["bluefs"]["slow_used_bytes"]:
        raise CommandExecutionError(
            f"osd.{osd_id} runs on: {spilled} bytes of its DB lie on the data disk already, expected 0, else a copy "
            f"that is interrupted could not begin again: 'ceph tell osd.{osd_id} compact', and run it again"
        )
    mark.write(ASKED)
    mark.flush()


def free(fsid: str) -> list[str]:
    """Free the slots that an OSD has left; refused unless it runs, and on others. Return what went.

    fsid
        The OSD's.

    CLI Example: for ``salt-run osd.migrate``.
    """
    osd, record = _osd(fsid)
    way = SLOTS[osd["method"]]
    left, mark = _left(osd, record, _todo(osd)), _mark(record["id"])
    if not left and not mark.exists():
        return []
    as_recorded = __salt__[f"{way}.attached"](record["id"], fsid, record["slots"])
    if record["moving"] or not as_recorded or not __salt__["service.status"](f"ceph-osd@{record['id']}"):
        raise CommandExecutionError(f"osd.{record['id']} does not run on its new slots: the old ones are kept")
    freed = [__salt__[f"{way}.free"](fsid, role, name) for role, name in left]
    mark.unlink(missing_ok=True)
    return freed


def _records(planned: Sequence[Mapping]) -> Mapping[str, Mapping]:
    """What is on record of this host's OSDs; LVM is asked where it carries any."""
    return __salt__["osd_record.lies" if any(osd["method"] == "lvm" for osd in planned) else "osd_record.read"]()


def _osd(fsid: str) -> tuple[Mapping, Mapping]:
    """An OSD that is planned here and made, with its record."""
    planned = __salt__["osd_plan.osds"]()
    osd = next((osd for osd in planned if osd["fsid"] == fsid), None)
    record = _records(planned).get(fsid)
    if osd is None or record is None:
        raise CommandExecutionError(f"OSD {fsid} is not one that is planned and made here")
    if why := _refused(osd, record, _todo(osd)):
        raise CommandExecutionError(f"osd.{record['id']} is not moved: {why}")
    return osd, record


def _refused(osd: Mapping, record: Mapping, todo: Mapping) -> str:
    """Why an OSD is not moved: nobody knows where it lies, or no copy could begin again; empty where it is."""
    if record["id"] is None:
        return "it is not made"
    told = {role: part["partuuid"] for role, part in osd["parts"].items() if role in ROLES}
    if told != {role: name for role, name in record["slots"].items() if role in ROLES}:  # the plan is no word on that
        return "its data disk cannot be read: bring that back first"
    if record.get("refused"):
        return str(record["refused"])
    if "wal" in todo and todo["wal"] is None and "db" not in todo:
        return "its WAL is to go where its DB stays: plan another place for the DB too, such as a larger one (db-size=)"
    if todo.get("db") and "db" not in record["slots"] and "wal" in record["slots"]:
        return "it has a WAL alone, and a DB is planned for it"
    return ""


def _told(osd: Mapping, record: Mapping, left: Sequence[str], todo: Mapping) -> dict:
    places = {role: {key: part[key] for key in ("disk", "size")} for role, part in osd["parts"].items() if role in todo}
    moves = {role: {"from": places.get(role), "to": to} for role, to in todo.items()}
    osd_id, moving = record["id"], record["moving"]
    told = {"id": osd_id, "fsid": osd["fsid"], "refused": _refused(osd, record, todo), "moves": moves}
    slots = {role: name for role, name in record["slots"].items() if role in ROLES}
    nodes = {role: str(Path(_node(osd, role, name)).resolve()) for role, name in slots.items()}
    begun = osd_id is not None and (moving is not None or _mark(osd_id).exists())
    running = osd_id is not None and __salt__["service.status"](f"ceph-osd@{osd_id}")
    return {**told, "moving": moving, "left": list(left), "nodes": nodes, "begun": begun, "running": running}


def _todo(osd: Mapping) -> dict[str, dict | None]:
    """Where each part goes that is not there yet: by disk and bytes of the slot itself."""
    return {role: to for role, to in sorted(osd["moves"].items()) if not _there(osd, role, to)}


def _there(osd: Mapping, role: str, to: Mapping | None) -> bool:
    part = osd["parts"].get(role)
    if part is None or to is None:
        return part is None and to is None
    node = _node(osd, role, part["partuuid"])
    return part["disk"] == to["disk"] and bool(node) and __salt__["disks_kernel.size"](node) == to["size"]


def _is_for(osd: Mapping, node: str, part: Mapping) -> bool:
    """Whether the slot of a part's name is on its disk, and of its size."""
    on_disk = __salt__[f"{SLOTS[osd['method']]}.on"](node, part["disk"])
    return on_disk and __salt__["disks_kernel.size"](node) == part["size"]


def _free_name(osd: Mapping, role: str, to: Mapping) -> str:
    """The one of a part's two names that it does not have now; of two, that of the slot which is there for it."""
    now = osd["parts"].get(role, {}).get("partuuid")
    names = [name for name in __salt__["osd_names.slots"](osd["fsid"], role) if name != now]
    made = [name for name in names if (node := _node(osd, role, name)) and _is_for(osd, node, to)]
    return (made or names)[0]


def _left(osd: Mapping, record: Mapping, todo: Mapping) -> list[tuple[str, str]]:
    """The slots of an OSD, with their roles, in which no part of it lies, and none is to lie."""
    kept = {*record["slots"].values()}
    stay, names = [role for role in ROLES if role not in todo], __salt__["osd_names.slots"]
    slots = [(role, name) for role in stay for name in names(osd["fsid"], role)]
    return [(role, name) for role, name in slots if name not in kept and _node(osd, role, name)]


def _mark(osd_id: int) -> Path:
    """The file that is there while an OSD is being moved."""
    return DATA_DIR / f"ceph-{osd_id}" / "migrating"


def _alone(osd_id: int) -> None:
    """Raise where an OSD's daemon, or the tool of an interrupted run, is still at work on it: both lock its fsid."""
    path = DATA_DIR / f"ceph-{osd_id}" / "fsid"
    with path.open("r+b") as file:
        halocline.locked(file, f"osd.{osd_id} is stopped, and something still works on it ('fuser {path}' tells what)")


def _node(osd: Mapping, role: str, name: str) -> str:
    return __salt__[f"{SLOTS[osd['method']]}.node"](osd["fsid"], role, name)


def _start(osd_id: int) -> None:
    __salt__["daemons.forgive"]([unit := f"ceph-osd@{osd_id}"])
    _run(["systemctl", "start", unit])


def _run(command: Sequence[str]) -> None:
    halocline.run(command, limit=LIMIT)
