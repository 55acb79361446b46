"""The record of an OSD, ``/etc/ceph/osd-devices/ID``: which slots it lies in.

``osd-devices@ID`` reads it before each start and lets nothing start that is being moved (``osd_migrate``). It is the
truth about where an OSD's DB and WAL are: whatever a profile says, these slots hold them. An OSD on logical volumes has
one only while it is being moved; else the tags of its volumes say it, which ``ceph-volume`` reads when it starts it.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

RECORDS = Path("/etc/ceph/osd-devices")
LINKS = {"data": "block", "db": "block.db", "wal": "block.wal"}
MOVING = "moving"
LIMIT = 300  # seconds until a folder is unmounted: that of an OSD that others made may be a file system
ROLES = {link: role for role, link in LINKS.items()}


def read() -> dict[str, dict]:
    """Return every record of this host: ``{fsid: {id, slots: {role: PARTUUID}, moving}}``.

    ``moving`` is the role of the part that is between two places, ``None`` where none is.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_record.read
    """
    found = {}
    for path in sorted(path for path in RECORDS.glob("[0-9]*") if path.name.isdecimal()):  # others: somebody's copies
        text = path.read_text(encoding="ascii", errors="replace")
        lines = dict(line.split(None, 1) for line in text.splitlines() if len(line.split(None, 1)) == 2)
        slots = {ROLES[link]: name for link, name in lines.items() if link in ROLES}
        if "fsid" in lines:
            found[lines["fsid"]] = {"id": int(path.name), "slots": slots, "moving": lines.get(MOVING)}
    return found


def lies() -> dict[str, dict]:
    """Return the same of OSDs on logical volumes too: ``{fsid: {id, slots, moving, refused, volumes}}``.

    ``refused`` is why no part of it may move, empty where it may. ``volumes`` are all that this cluster made for the
    OSD, ``{slot: {node, disk}}``; LVM is asked.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_record.lies
    """
    parts: dict[str, dict[str, dict]] = {}
    twice: dict[str, str] = {}
    for disk, group in __salt__["disks_lvm.groups"]().items():
        for volume in group["volumes"]:
            if owner := __salt__["osd_names.owner"](volume["name"], volume["slot"]):
                part = {"role": owner[0], "node": volume["path"], "disk": disk, "tags": volume["tags"]}
                if other := parts.setdefault(owner[1], {}).get(volume["slot"]):
                    twice[owner[1]] = f"{other['disk']} and {disk} carry its {owner[0]}: take the one that was away out"
                parts[owner[1]][volume["slot"]] = part
    tagged = {fsid: _tagged(fsid, volumes, twice.get(fsid, "")) for fsid, volumes in parts.items()}
    found = {fsid: record for fsid, record in tagged.items() if record}
    return {**found, **{fsid: {**found.get(fsid, {}), **record} for fsid, record in read().items()}}


def _tagged(fsid: str, volumes: Mapping[str, Mapping], twice: str) -> dict | None:
    """What the tags of an OSD's volumes say; None of one that ``ceph-volume`` has not begun."""
    own = {slot: part for slot, part in volumes.items() if part["tags"].get("ceph.osd_fsid") == fsid}
    data = next((part["tags"] for part in own.values() if part["role"] == "data"), None)
    if data is None or not data.get("ceph.osd_id", "").isdecimal():
        return None
    slots = {part["role"]: slot for slot, part in own.items()}
    places = {slot: {key: part[key] for key in ("node", "disk")} for slot, part in volumes.items()}
    refused = "it is encrypted" if data.get("ceph.encrypted") == "1" else twice
    return {"id": int(data["ceph.osd_id"]), "slots": slots, "moving": None, "refused": refused, "volumes": places}


def settled(fsid: str) -> None:
    """Raise where a part of an OSD is between two places: nothing but ``osd_migrate`` may touch it.

    fsid
        The OSD's.

    CLI Example: for ``osd_raw.make``.
    """
    record = read().get(fsid)
    if record and record["moving"]:
        raise CommandExecutionError(
            f"osd.{record['id']}: its {record['moving']} is being moved: 'salt-run osd.migrate {record['id']}' goes on"
        )


def drop(osd_id: int) -> None:
    """Take the record of an OSD on logical volumes away: its tags are the truth again.

    CLI Example: for ``osd_lvm_slots.settle``.
    """
    (RECORDS / str(osd_id)).unlink(missing_ok=True)
    halocline.synced(RECORDS)


def write(osd_id: int, fsid: str, slots: Mapping[str, str], moving: str | None = None) -> None:
    """Write an OSD's record, whole or not at all, and through to the disk.

    osd_id, fsid
        Of the OSD.
    slots
        ``{role: PARTUUID}``.
    moving
        The role of the part that is being moved: the OSD does not start meanwhile.

    CLI Example: for ``osd_raw.make``.
    """
    RECORDS.mkdir(mode=0o755, parents=True, exist_ok=True)
    lines = [f"fsid {fsid}", *([f"{MOVING} {moving}"] if moving else [])]
    lines += [f"{LINKS[role]} {name}" for role, name in sorted(slots.items())]
    halocline.write(RECORDS / str(osd_id), "\n".join(lines) + "\n")


def vacate(folder: str | Path) -> None:
    """Take an OSD's folder away, and nothing of what is mounted there, however often, or to which it is a link.

    folder
        The folder of an OSD that is stopped.

    CLI Example: for ``osd_retire.free``.
    """
    folder = Path(folder)
    if folder.is_symlink():
        folder.unlink()
        return
    while folder.is_mount():
        halocline.run(["umount", str(folder)], limit=LIMIT)
    if folder.exists():
        shutil.rmtree(folder)
