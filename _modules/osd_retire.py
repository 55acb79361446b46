"""What an OSD leaves when the cluster has given it up (``osd.replace``): stopped, its slot freed.

Its data disk is left as it is: that is pulled, or wiped by a command of its own (``salt-run disk.wipe``).
"""

import shutil
from pathlib import Path

from salt.exceptions import CommandExecutionError

LIMIT = 120  # seconds one command may take
DATA_DIR = Path("/var/lib/ceph/osd")
RECORDS = Path("/etc/ceph/osd-devices")


def stop(osd_id, uuid):
    """Stop one OSD's daemon and keep it from starting; refused where the number is another OSD's here.

    osd_id
        The OSD's number.
    uuid
        Its fsid.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_retire.stop 3 6b0c1f2e-0000-4000-8000-000000000000
    """
    known = recorded(osd_id)["uuid"]
    if known is None:
        raise CommandExecutionError(
            f"osd.{osd_id} has neither a record in {RECORDS} nor one set of this cluster's logical volumes on this "
            f"host: 'ceph osd find {osd_id}' tells where it ran last"
        )
    if known != uuid:
        raise CommandExecutionError(f"osd.{osd_id} of this host is OSD {known}, not {uuid}")
    units = [f"ceph-osd@{osd_id}", f"osd-devices@{osd_id}"]
    _run(["systemctl", "disable", "--quiet", units[0], f"ceph-volume@lvm-{osd_id}-{uuid}"])
    _run(["systemctl", "stop", *units])
    return {"stopped": units[0]}


def recorded(osd_id):
    """Return ``{uuid: …}``: which OSD this host has under a number, by its record or its volumes; else ``None``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_retire.recorded 3
    """
    record = RECORDS / str(osd_id)
    if record.exists():
        return {"uuid": record.read_text().split()[1]}
    volumes = [each["tags"] for group in __salt__["disks_lvm.groups"]().values() for each in group["volumes"]]
    mine = [tags for tags in volumes if tags.get("ceph.osd_id") == str(osd_id)]
    found = {tags["ceph.osd_fsid"] for tags in mine if tags.get("ceph.cluster_fsid") == __pillar__["fsid"]}
    return {"uuid": found.pop() if len(found) == 1 else None}


def free(osd_id):
    """Take away the DB and WAL slots of a destroyed OSD, its record and its folder; return what went.

    Partitions and volumes that this cluster did not make for that OSD stay. Done before, nothing is left to do.

    osd_id
        The number of an OSD that the cluster gave up.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_retire.free 3
    """
    uuid = recorded(osd_id)["uuid"]
    if uuid is None:
        return {"freed": []}
    stop(osd_id, uuid)
    freed = []
    for disk in sorted(__salt__["disks.in_use"]()):
        table = __salt__["disks.partitions"](disk) or {"partitions": []}
        mine = [part for part in table["partitions"] if part["name"] == uuid and __salt__["osd_names.ours"](part)]
        numbers = [part["number"] for part in mine if __salt__["osd_names.role"](part) != "data"]
        if numbers:
            __salt__["osd_raw_parts.remove"](disk, numbers)
            freed += [f"partition {number} of {disk}" for number in numbers]
    folder = DATA_DIR / f"ceph-{osd_id}"
    if folder.is_mount():
        _run(["umount", str(folder)])
    if folder.exists():
        shutil.rmtree(folder)
    freed += __salt__["osd_lvm_parts.remove"](uuid)
    (RECORDS / str(osd_id)).unlink(
        missing_ok=True
    )  # last: whatever interrupts this, the next run finds what is left by it
    return {"freed": freed}


def _run(command):
    return __salt__["commands.run"](command, limit=LIMIT)
