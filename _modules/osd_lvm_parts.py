"""The logical volumes of this cluster's OSDs: one slot for each data, DB and WAL, one volume group a disk.

The group is named after its disk and the volume after its OSD, as ``ceph-volume`` names those that it makes:
``ceph-wwn-0x5000c500a1b2c3d4/osd-db-6b0c…``. The physical volume's uuid is computed from the cluster's fsid and the
disk's name, a tag of each volume from its OSD's uuid and role, so that whose it is can be read from the disk alone,
after any interruption.
"""

import hashlib
import re
import uuid
from pathlib import Path

from salt.exceptions import CommandExecutionError

LONGEST = 48  # characters of a disk's name in its group's: device-mapper takes 127 for both names, hyphens doubled
KINDS = {"data": "block", "db": "db", "wal": "wal"}  # Ceph's words for the parts
EXTENT = 4 << 20  # bytes: LVM's default
HEADER = 1 << 20  # bytes at the beginning of a physical volume that LVM keeps (pvcreate(8), --dataalignment)


def group(disk):
    """Return the name of the volume group that this cluster makes on a disk (its by-id name).

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_lvm_parts.group /dev/disk/by-id/wwn-0x5000c500a1b2c3d4
    """
    name = re.sub(r"[^A-Za-z0-9+_.-]", "_", Path(disk).name)
    if len(name) > LONGEST:
        name = f"{name[: LONGEST - 9]}-{hashlib.sha256(disk.encode()).hexdigest()[:8]}"
    return f"ceph-{name}"


def volume(osd_uuid, role):
    """Return the name of the logical volume of one part of one OSD.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_lvm_parts.volume 6b0c1f2e-0000-4000-8000-000000000000 db
    """
    return f"osd-{KINDS[role]}-{osd_uuid}"


def path(disk, osd_uuid, role):
    """Return the device node of one part of one OSD.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_lvm_parts.path /dev/disk/by-id/wwn-0x5000c500a1b2 6b0c1f2e-0000-4000-8000-000000000000 db
    """
    return f"/dev/{group(disk)}/{volume(osd_uuid, role)}"


def pv_uuid(disk):
    """Return the uuid of the physical volume that this cluster makes on a disk, in LVM's form.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_lvm_parts.pv_uuid /dev/disk/by-id/wwn-0x5000c500a1b2c3d4
    """
    text = uuid.uuid5(uuid.UUID(__pillar__["fsid"]), f"physical volume {disk}").hex
    cuts = (0, 6, 10, 14, 18, 22, 26, 32)  # 6-4-4-4-4-4-6 characters, pvcreate(8)
    return "-".join(text[start:end] for start, end in zip(cuts, cuts[1:], strict=False))


def strangers(disk, found):
    """Return what lies in our own volume group that this cluster did not make; ``None`` where nothing does.

    disk
        The by-id name.
    found
        What ``disks_lvm.groups`` says of it.

    CLI Example: for ``osd_guard.problem``.
    """
    if found["group"] not in ("", group(disk)) or not found["alone"]:
        return f"is part of volume group {found['group']}, which this cluster did not make so"
    for each in found["volumes"]:
        role, osd_uuid = owner(each["name"])
        if role is None or each["slot"] != __salt__["osd_raw_parts.partuuid"](osd_uuid, role):
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
        found = known.get(str(Path(disk).resolve()), {"group": None, "volumes": []})
        if found["group"] is None:
            _run(["pvcreate", "--quiet", "--uuid", pv_uuid(disk), "--norestorefile", disk])
        if not found["group"]:
            _run(["vgcreate", "--quiet", group(disk), disk])
        there = {each["slot"] for each in found["volumes"]}
        for osd_uuid, role, part in parts:
            if part["partuuid"] not in there:
                size = ["--size", f"{part['size']}b"] if part["size"] else ["--extents", "100%FREE"]
                names = ["--name", volume(osd_uuid, role), "--addtag", f"slot={part['partuuid']}"]
                # Wiped of what an earlier life of the disk left there.
                _run(
                    ["lvcreate", "--quiet", "--yes", "--zero", "y", "--wipesignatures", "y", *size, *names, group(disk)]
                )
    return []


def remove(osd_uuid):
    """Close an OSD's encrypted volumes and take its DB and WAL away: their space is free again. Return what went.

    The volume of its data stays, as it is. Volumes that this cluster did not make for that OSD are not touched.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_lvm_parts.remove 6b0c1f2e-0000-4000-8000-000000000000
    """
    slots = {__salt__["osd_raw_parts.partuuid"](osd_uuid, role): role for role in KINDS}
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


def owner(name):
    """Return role and OSD that a volume's name tells; ``None, None`` where it is not of our form.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_lvm_parts.owner osd-db-6b0c1f2e-0000-4000-8000-000000000000
    """
    for role, kind in KINDS.items():
        if name.startswith(f"osd-{kind}-"):
            return role, name.removeprefix(f"osd-{kind}-")
    return None, None


def _run(command):
    try:
        return __salt__["commands.run"](command, limit=60)
    except CommandExecutionError as err:
        raise CommandExecutionError(f"LVM: {err}") from err
