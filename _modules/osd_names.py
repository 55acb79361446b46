"""The names that this cluster gives on disk to the parts of its OSDs: whose a partition or a volume is, is read here.

Each is computed from the cluster's fsid: a partition table's GUID and a physical volume's uuid from the disk's name, a
PARTUUID (on LVM: the tag ``slot`` of a volume) from its OSD's fsid and role. A partition is named after its OSD and its
type says the role; a volume group is named after its disk and a volume after its OSD, as ``ceph-volume`` names those
that it makes: ``ceph-wwn-0x5000c500a1b2c3d4/osd-db-6b0c…``. So whose a part is can be read and checked from the disk
alone, after any interruption. Nothing here looks at a disk or asks another module.
"""

import hashlib
import re
import uuid
from pathlib import Path

# Ceph's own partition types, as ceph-disk made them (src/ceph-disk of Ceph 12; ceph-volume knows them still).
TYPES = {
    "data": "4fbd7e29-9d25-41b8-afd0-062c0ceff05d",
    "db": "30cd0809-c2b2-499c-8879-2d6b78529876",
    "wal": "5ce17fce-4087-4169-b7ff-056cc58473f9",
}
ROLES = {guid: role for role, guid in TYPES.items()}
KINDS = {"data": "block", "db": "db", "wal": "wal"}  # ceph-volume's words for the parts
SECOND = "-2"  # what the name of the second volume of a part ends in, while it moves from one to the other
LONGEST = 48  # characters of a disk's name in its group's: device-mapper takes 127 for both names, hyphens doubled


def partuuid(fsid: str, role: str) -> str:
    """Return the name of the slot of one part of one OSD of this cluster: its PARTUUID, or its volume's tag ``slot``.

    fsid
        The OSD's fsid.
    role
        data, db or wal.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_names.partuuid 6b0c1f2e-0000-4000-8000-000000000000 db
    """
    return str(uuid.uuid5(uuid.UUID(__pillar__["fsid"]), f"{fsid}/{role}"))


def slots(fsid: str, role: str) -> list[str]:
    """Return the two names that slots of one part may have: a part that moves has the other one at its new place.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_names.slots 6b0c1f2e-0000-4000-8000-000000000000 db
    """
    return [partuuid(fsid, role), str(uuid.uuid5(uuid.UUID(__pillar__["fsid"]), f"{fsid}/{role}/2"))]


def partition_type(role: str) -> str:
    """Return the type GUID of a partition that carries a part: data, db or wal.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_names.partition_type db
    """
    return TYPES[role]


def table_guid(disk: str) -> str:
    """Return the GUID of the partition table that this cluster makes on a disk (its by-id name).

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_names.table_guid /dev/disk/by-id/wwn-0x5000c500a1b2c3d4
    """
    return str(uuid.uuid5(uuid.UUID(__pillar__["fsid"]), f"table {disk}"))


def ours(part: dict) -> bool:
    """Return whether this cluster made a partition, as ``disks.partitions`` describes it.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_names.ours '{name: x, type: y, uuid: z}'
    """
    carried = role(part)
    return carried is not None and part["uuid"] in slots(part["name"], carried)


def role(part: dict) -> str | None:
    """Return what a partition of this cluster's carries: data, db or wal; ``None`` for one of another type.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_names.role '{type: 30cd0809-c2b2-499c-8879-2d6b78529876}'
    """
    return ROLES.get(part["type"])


def group(disk: str) -> str:
    """Return the name of the volume group that this cluster makes on a disk (its by-id name).

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_names.group /dev/disk/by-id/wwn-0x5000c500a1b2c3d4
    """
    name = re.sub(r"[^A-Za-z0-9+_.-]", "_", Path(disk).name)
    if len(name) > LONGEST:
        name = f"{name[: LONGEST - 9]}-{hashlib.sha256(disk.encode()).hexdigest()[:8]}"
    return f"ceph-{name}"


def volume(fsid: str, role: str, slot: str | None = None) -> str:
    """Return the name of the logical volume of one part (data, db or wal) of the OSD with that fsid.

    slot
        Its slot's name; ``None`` for the first one of ``slots``. The second one's volume ends in ``-2``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_names.volume 6b0c1f2e-0000-4000-8000-000000000000 db
    """
    return f"osd-{KINDS[role]}-{fsid}" + (SECOND if slot == slots(fsid, role)[1] else "")


def path(disk: str, fsid: str, role: str, slot: str | None = None) -> str:
    """Return the device node of the logical volume of one part (data, db or wal) of the OSD with that fsid.

    slot
        As for ``volume``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_names.path /dev/disk/by-id/wwn-0x5000c500a1b2c3d4 6b0c1f2e-0000-4000-8000-0000000000db db
    """
    return f"/dev/{group(disk)}/{volume(fsid, role, slot)}"


def pv_uuid(disk: str) -> str:
    """Return the uuid of the physical volume that this cluster makes on a disk (its by-id name), in LVM's form.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_names.pv_uuid /dev/disk/by-id/wwn-0x5000c500a1b2c3d4
    """
    text = uuid.uuid5(uuid.UUID(__pillar__["fsid"]), f"physical volume {disk}").hex
    cuts = (0, 6, 10, 14, 18, 22, 26, 32)  # 6-4-4-4-4-4-6 characters, pvcreate(8)
    return "-".join(text[start:end] for start, end in zip(cuts, cuts[1:], strict=False))


def owner(name: str, slot: str | None) -> tuple[str, str] | None:
    """Return role and OSD's fsid of a volume that this cluster made, ``None`` for any other.

    name
        The volume's name.
    slot
        Its tag ``slot``, ``None`` where it has none.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_names.owner osd-db-6b0c1f2e-0000-4000-8000-000000000000 5b7c2f3e-0000-4000-8000-000000000000
    """
    for role, kind in KINDS.items():
        prefix = f"osd-{kind}-"
        fsid = name.removeprefix(prefix).removesuffix(SECOND)
        ours = name.startswith(prefix) and __pillar__.get("fsid") and slot in slots(fsid, role)
        if ours and name == volume(fsid, role, slot):
            return role, fsid
    return None
