"""The logical volumes of this cluster's OSDs: one slot for each data, DB and WAL, one volume group a disk.

Groups, volumes and their tags are named as ``osd_names`` has it.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

DEV = Path("/dev")
LIMIT = 60  # seconds one command may take
LABEL = 4096  # bytes of BlueStore's label


def make(todo: Sequence[Mapping]) -> list[int]:
    """Make the volumes that OSDs (in ``osd_plan.osds``'s form) lack. Returns no descriptors: nothing needs holding.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_lvm_parts.make '[]'
    """
    planned: dict[str, list[tuple[str, str, Mapping]]] = {}
    for osd in todo:
        for role, part in osd["parts"].items():
            planned.setdefault(part["disk"], []).append((osd["fsid"], role, part))
    groups = __salt__["disks_lvm.groups"]()
    new = _new(planned, groups)
    for disk in sorted(planned):
        name = __salt__["osd_names.group"](disk)
        group = groups.get(str(Path(disk).resolve()), {"group": None, "volumes": []})
        if group["group"] is None:
            _run(["pvcreate", "--quiet", "--uuid", __salt__["osd_names.pv_uuid"](disk), "--norestorefile", disk])
        if not group["group"]:
            _run(["vgcreate", "--quiet", name, disk])
        for fsid, role, part in new[disk]:
            _add(name, fsid, role, part)
    return []


def _new(parts: Mapping[str, Sequence[tuple[str, str, Mapping]]], groups: Mapping) -> dict[str, list]:
    """The parts that lack their volume, by disk. Raises where another disk carries it: a device that was away is back,
    and of two volumes of one slot nobody could tell which is the OSD's.
    """
    lies = {volume["slot"]: disk for disk, group in groups.items() for volume in group["volumes"]}
    new = {}
    for disk, listed in parts.items():
        there = {volume["slot"] for volume in groups.get(str(Path(disk).resolve()), {"volumes": []})["volumes"]}
        new[disk] = [entry for entry in listed if entry[2]["partuuid"] not in there]
        for fsid, role, part in new[disk]:
            if other := lies.get(part["partuuid"]):
                raise CommandExecutionError(
                    f"the {role} of OSD {fsid} is planned on {disk} and lies on {other} already: take {other} out of "
                    "this host, and run the stage again"
                )
    return new


def remove(fsid: str) -> list[str]:
    """Close an OSD's encrypted volumes and take its DB and WAL away: their space is free again. Return what went.

    The volume of its data stays, as it is. Volumes that this cluster did not make for that OSD are not touched, and
    none of a disk that cannot be read.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_lvm_parts.remove 6b0c1f2e-0000-4000-8000-000000000000
    """
    slots = {slot: role for role in ("data", "db", "wal") for slot in __salt__["osd_names.slots"](fsid, role)}
    removed = []
    for disk, group in __salt__["disks_lvm.groups"]().items():
        for volume in (volume for volume in group["volumes"] if volume["slot"] in slots):
            close(volume)
            if slots[volume["slot"]] != "data" and not __salt__["osd_guard.gone"](disk):
                _run(["lvremove", "--quiet", "--yes", volume["path"]])
                removed.append(f"volume {group['group']}/{volume['name']}")
    return removed


def close(volume: Mapping) -> None:
    """Close the crypt device on a volume (in ``disks_lvm.groups``'s form), which ``ceph-volume`` names after it.

    CLI Example: for ``osd_lvm.make``.
    """
    if Path(f"/dev/mapper/{volume['uuid']}").exists():
        _run(["cryptsetup", "close", volume["uuid"]])


def _add(group: str, fsid: str, role: str, part: Mapping) -> None:
    """Add one volume, wiped of what an earlier life of the disk left there: by LVM alone at its beginning."""
    size = ["--size", f"{part['size']}b"] if part["size"] else ["--extents", "100%FREE"]
    slot = part["partuuid"]
    name = __salt__["osd_names.volume"](fsid, role, slot)
    names = ["--name", name, "--addtag", f"slot={slot}"]
    _run(["lvcreate", "--quiet", "--yes", "--zero", "y", "--wipesignatures", "y", *size, *names, group])
    _forget_labels(DEV / group / name)


def _forget_labels(volume: Path) -> None:
    """Clear the copies of BlueStore's label on a new volume: newer releases read them where the first is gone."""
    try:
        with volume.open("r+b", buffering=0) as node:
            for place in __salt__["disks_label.places"](node.seek(0, os.SEEK_END)):
                os.pwrite(node.fileno(), bytes(LABEL), place)
            os.fsync(node.fileno())
    except OSError as err:
        raise CommandExecutionError(f"{volume} is new, and cannot be written to: {err.strerror}") from err


def _run(command: Sequence[str]) -> None:
    halocline.run(command, limit=LIMIT)
