"""The logical volumes of this cluster's OSDs: one slot for each data, DB and WAL, one volume group a disk.

Groups, volumes and their tags are named as ``osd_names`` has it.
"""

from pathlib import Path

from salt.exceptions import CommandExecutionError

EXTENT = 4 << 20  # bytes: LVM's default
HEADER = 1 << 20  # bytes at the beginning of a physical volume that LVM keeps (pvcreate(8), --dataalignment)


def strangers(disk, found):
    """Return what lies in our own volume group that this cluster did not make; ``None`` where nothing does.

    disk
        The by-id name.
    found
        What ``disks_lvm.groups`` says of it.

    CLI Example: for ``osd_guard.problem``.
    """
    if found["group"] not in ("", __salt__["osd_names.group"](disk)) or not found["alone"]:
        return f"is part of volume group {found['group']}, which this cluster did not make so"
    for each in found["volumes"]:
        if __salt__["osd_names.owner"](each["name"], each["slot"]) is None:
            return f"carries logical volume {found['group']}/{each['name']}, which this cluster did not make"
    return None


def make(todo):
    """Make the volumes that OSDs (in ``osd_plan.osds``'s form) lack. Returns no descriptors: nothing needs holding.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_lvm_parts.make '[]'
    """
    wanted = {}
    for osd in todo:
        for role, part in osd["parts"].items():
            wanted.setdefault(part["disk"], []).append((osd["uuid"], role, part))
    known = __salt__["disks_lvm.groups"]()
    for disk, parts in sorted(wanted.items()):
        group = __salt__["osd_names.group"](disk)
        found = known.get(str(Path(disk).resolve()), {"group": None, "volumes": []})
        if found["group"] is None:
            _run(["pvcreate", "--quiet", "--uuid", __salt__["osd_names.pv_uuid"](disk), "--norestorefile", disk])
        if not found["group"]:
            _run(["vgcreate", "--quiet", group, disk])
        there = {each["slot"] for each in found["volumes"]}
        for osd_uuid, role, part in parts:
            if part["partuuid"] not in there:
                size = ["--size", f"{part['size']}b"] if part["size"] else ["--extents", "100%FREE"]
                names = ["--name", __salt__["osd_names.volume"](osd_uuid, role), "--addtag", f"slot={part['partuuid']}"]
                # Wiped of what an earlier life of the disk left there.
                _run(["lvcreate", "--quiet", "--yes", "--zero", "y", "--wipesignatures", "y", *size, *names, group])
    return []


def remove(osd_uuid):
    """Close an OSD's encrypted volumes and take its DB and WAL away: their space is free again. Return what went.

    The volume of its data stays, as it is. Volumes that this cluster did not make for that OSD are not touched.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_lvm_parts.remove 6b0c1f2e-0000-4000-8000-000000000000
    """
    slots = {__salt__["osd_names.partuuid"](osd_uuid, role): role for role in ("data", "db", "wal")}
    removed = []
    for found in __salt__["disks_lvm.groups"]().values():
        for each in (volume for volume in found["volumes"] if volume["slot"] in slots):
            close(each)
            if slots[each["slot"]] != "data":
                _run(["lvremove", "--quiet", "--yes", each["path"]])
                removed.append(f"volume {found['group']}/{each['name']}")
    return removed


def close(volume):
    """Close the crypt device on a volume (in ``disks_lvm.groups``'s form), which ``ceph-volume`` names after it.

    CLI Example: for ``osd_lvm.make``.
    """
    if Path(f"/dev/mapper/{volume['uuid']}").exists():
        _run(["cryptsetup", "close", volume["uuid"]])


def blocks(size, found):
    """Return the free stretches of a disk as ``osd_raw_parts.blocks`` does; one, as LVM needs none in one piece.

    CLI Example: for ``osd_guard.problem``.
    """
    if found and found["group"]:
        return [[0, found["free"]]]
    return [[0, (size - HEADER) // EXTENT * EXTENT]]


def _run(command):
    try:
        return __salt__["commands.run"](command, limit=60)
    except CommandExecutionError as err:
        raise CommandExecutionError(f"LVM: {err}") from err
