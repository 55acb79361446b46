"""Take everything off one disk: tables, labels, signatures. What may be wiped is decided on the master
(``salt-run disk.wipe``); that nothing on this host uses the disk is looked at here, right before.
"""

import fcntl
import os
import uuid
from contextlib import contextmanager
from pathlib import Path

from salt.exceptions import CommandExecutionError

LIMIT = 120  # seconds one command may take
EDGE = 1 << 20  # bytes at both ends of disk and partitions: GPTs, BlueStore's label, LVM's, MD's, ZFS's lie there
NO_SERIAL = "none"
HARMLESS = ("has partitions", "removable")  # reasons of the grain that forbid no wiping


def look(device):
    """Return what a disk is and holds: ``{device, id, size, serial, in_use, signatures, partitions, group, volumes,
    osds, uuids}``.

    ``in_use`` tells why it must not be wiped. ``group`` is the volume group that would go with the disk: one on no
    other disk, of volumes of OSDs alone, which nothing has open; ``volumes`` what else LVM keeps there. ``osds`` are
    the BlueStore labels on it, those of DBs and WALs with the cluster that the data label beside them names; ``uuids``
    every OSD that it may belong to. Only reads.

    device
        Its stable name or the kernel's; a whole disk.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks_wipe.look /dev/disk/by-id/wwn-0x5000c500a1b2c3d4
    """
    node = str(Path(device).resolve())
    seen = __salt__["disks.inspect"]()
    disk = next((disk for disk in seen["ceph_disks"] if disk["device"] == node), None)
    if disk is None:
        listed = ", ".join(disk["device"] for disk in seen["ceph_disks"])
        raise CommandExecutionError(f"{device} is no disk of this host; it has {listed}")
    content = seen["inspected"].get(node, {})
    clusters = {osd["fsid"]: osd.get("cluster") for each in seen["inspected"].values() for osd in each["osds"]}
    osds = [{"cluster": clusters.get(osd["fsid"]), **osd} for osd in content.get("osds", [])]
    table = __salt__["disks.partitions"](node) or {"partitions": []}
    named = [part["name"] for part in table["partitions"] if _is_uuid(part["name"])]
    group = _group(node, content)
    goes = (*HARMLESS, f"LVM member of {group}")
    in_use = [reason for reason in disk["in_use"] if reason not in goes]
    held = None if group else __salt__["disks.held"](node)
    in_use += [why for why in (content.get("error"), held, _locked(node)) if why]
    return {
        "device": node,
        "id": disk.get("id") or node,
        "size": disk["size"],
        "serial": __salt__["disks.identity"](node)["serial"] or NO_SERIAL,
        "in_use": in_use,
        "signatures": content.get("signatures", []),
        "partitions": __salt__["disks.partition_nodes"](node),
        "group": group,
        "volumes": content.get("volumes", []),
        "osds": osds,
        "uuids": sorted({*(osd["fsid"] for osd in osds), *named}),
    }


def _group(node, content):
    """The volume group that goes with a disk; ``None`` where a volume is open or no OSD's, or LVM did not answer."""
    found = __salt__["disks_lvm.groups"]().get(node)
    if not found or not found["alone"] or content.get("volumes") or content.get("groups") != [found["group"]]:
        return None
    return None if any(each["open"] for each in found["volumes"]) else found["group"]


def wipe(device, seen):
    """Wipe a disk that is still what was seen; return what it was. Raises where anything is left on it.

    device
        As for ``look``.
    seen
        What ``look`` answered and the master judged: whatever differs by now stops the wiping.

    CLI Example: for ``salt-run disk.wipe``.
    """
    found = look(device)
    differs = [key for key, value in found.items() if seen.get(key) != value]
    if differs or found["in_use"]:
        raise CommandExecutionError(f"{device} changed while it was looked at ({', '.join(differs)}): nothing is done")
    node = found["device"]
    edges = _edges(node, found["partitions"], [osd["offset"] for osd in found["osds"] if "offset" in osd])
    if found["group"]:  # LVM's own commands refuse what was opened in between
        _run(["vgchange", "--quiet", "--activate", "n", found["group"]])
        _run(["vgremove", "--quiet", "--yes", found["group"]])
        _run(["pvremove", "--quiet", "--yes", node])
    for part in found["partitions"]:
        _run(["wipefs", "--all", "--quiet", part])
    with _alone(node) as disk:
        for start, length in edges:
            _clear(disk, start, length)
        os.fsync(disk)
    _run(["sgdisk", "--zap-all", node], ok=(0, 2))  # 2: nothing left that is a table
    _run(["wipefs", "--all", "--quiet", node])
    _run(["partx", "--delete", node], ok=(0, 1))
    left = [*__salt__["disks.signatures"](node), *__salt__["disks.partition_nodes"](node), *_dirty(node, edges)]
    if left:
        raise CommandExecutionError(f"{device}: after the wiping there is still {', '.join(left)}")
    return found


def _edges(node, partitions, labels):
    """Start and length of both ends of the disk and of every partition, and of what begins with a label, in bytes."""
    parts = [Path("/sys/class/block") / Path(each).name for each in (node, *partitions)]
    found = set()
    for part in parts:
        start = int((part / "start").read_text()) * 512 if (part / "start").exists() else 0
        size = int((part / "size").read_text()) * 512
        length = min(EDGE, size)
        found |= {(start, length), (start + size - length, length)}
    return sorted(found | {(start, EDGE) for start in labels})


@contextmanager
def _alone(node):
    """The disk opened for writing by nobody else, with the lock that keeps udev away."""
    disk = os.open(node, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    try:
        fcntl.flock(disk, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield disk
    finally:
        os.close(disk)


def _clear(disk, start, length):
    """Zeroes over one stretch of a disk."""
    done = 0
    while done < length:
        done += os.pwrite(disk, bytes(length - done), start + done)


def _dirty(node, edges):
    """Stretches that do not read as zeroes."""
    with open(node, "rb", buffering=0) as disk:  # noqa: PTH123 - unbuffered
        return [f"data at {start}" for start, length in edges if os.pread(disk.fileno(), length, start).strip(b"\0")]


def _locked(node):
    """Why the disk or a part of it is locked; ``None`` where it is not. A running OSD locks what it lies on."""
    for name in (node, *__salt__["disks.partition_nodes"](node)):
        part = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return f"a process holds a lock on {name}"
        finally:
            os.close(part)
    return None


def _is_uuid(text):
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def _run(command, ok=(0,)):
    return __salt__["commands.run"](command, ok=ok, limit=LIMIT)
