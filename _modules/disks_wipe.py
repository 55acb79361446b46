"""Take everything off one disk: tables, labels, signatures. What may be wiped is decided on the master
(``salt-run disk.wipe``); that nothing on this host uses the disk is looked at here, right before.
"""

import fcntl
import os
import struct
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

LIMIT = 120  # seconds one command may take
UDEV = 30  # seconds for udev, which locks a disk while it looks at what has just changed on it
EDGE = 1 << 20  # bytes at both ends of disk and partitions: GPTs, BlueStore's label, LVM's, MD's, ZFS's lie there
WHOLE = struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)  # flock of fcntl(2): all of it, for writing
LABEL = 4096  # bytes of BlueStore's label
NO_SERIAL = "none"
TOLD = {"ceph_bluestore", "LVM2_member"}  # signatures of what is told of by labels and volumes
UNTOLD = (  # OSDs on logical volumes have no label: whose they are stands in LVM's tags
    "LVM does not say what lies on its physical volume: is lvm2 installed on that host, does a filter or devices file "
    "leave the disk out, does it have another path ('pvs -a' there)?"
)
HARMLESS = ("has partitions", "removable", "stacked device")  # reasons of the grain that forbid no wiping


def inspect(device: str) -> dict:
    """Return what a disk is and holds: ``{device, id, size, serial, in_use, signatures, partitions, contents, group,
    spans, volumes, osds, fsids}``.

    ``in_use`` tells why it must not be wiped. ``contents`` are the signatures in its partitions, but for those of which
    ``osds`` and ``volumes`` tell. ``group`` is the volume group that would go with the disk: one on no
    other disk, of volumes of OSDs alone, which nothing has open; ``spans`` one that has other disks, too; ``volumes``
    what else LVM keeps there. ``osds`` are the BlueStore labels on it, those of DBs and WALs with the cluster that the
    data label beside them names; ``fsids`` every OSD that it may belong to. Only reads.

    device
        Its stable name or the kernel's; a whole disk.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks_wipe.inspect /dev/disk/by-id/wwn-0x5000c500a1b2c3d4
    """
    node = str(Path(device).resolve())
    host = __salt__["disks.inspect"]()
    disk = next((disk for disk in host["ceph_disks"] if disk["device"] == node), None)
    if disk is None:
        listed = ", ".join(disk["device"] for disk in host["ceph_disks"])
        raise CommandExecutionError(f"{device} is not a disk of this host; it has {listed}")
    if "error" in disk:
        raise CommandExecutionError(f"{device} does not answer: {disk['error']}; nothing can be written to it")
    content = host["inspected"].get(node, {})
    labels = [osd for other in host["inspected"].values() for osd in other["osds"]]
    clusters = {osd["fsid"]: osd["cluster"] for osd in labels if osd.get("cluster")}
    osds = [{"cluster": clusters.get(osd["fsid"]), **osd} for osd in content.get("osds", [])]
    nodes = __salt__["disks_kernel.partition_nodes"](node)
    inside = [] if content.get("error") else [name for part in nodes for name in __salt__["disks.signatures"](part)]
    table = __salt__["disks.partitions"](node) or {"partitions": []}
    named = [part["name"] for part in table["partitions"] if _is_uuid(part["name"])]
    known = __salt__["disks_lvm.groups"]()
    group = _group(known.get(node), content)
    harmless = (*HARMLESS, f"LVM member of {group}")
    in_use = [reason for reason in disk["in_use"] if reason not in harmless]
    held = None if group else __salt__["disks_kernel.held"](node)
    physical = "LVM2_member" in (*content.get("signatures", ()), *inside)
    untold = UNTOLD if physical and "groups" not in content else None
    in_use += [why for why in (content.get("error"), held, _locked(node), untold) if why]
    in_use += [f"{path}, another path to it, {why}" for path in _paths(disk, host["ceph_disks"]) if (why := _had(path))]
    return {
        "device": node,
        "id": disk.get("id") or node,
        "size": disk["size"],
        "serial": __salt__["disks_kernel.identity"](node)["serial"] or NO_SERIAL,
        "in_use": in_use,
        "signatures": content.get("signatures", []),
        "partitions": nodes,
        "contents": sorted(set(inside) - TOLD),
        "group": group,
        "spans": next((known[on]["group"] for on in (node, *nodes) if on in known and not known[on]["alone"]), None),
        "volumes": content.get("volumes", []),
        "osds": osds,
        "fsids": sorted({*(osd["fsid"] for osd in osds), *named, *_adopted(node)}),
    }


def _paths(disk: Mapping, disks: Sequence[Mapping]) -> list[str]:
    """The devices that are another path to a disk, as the planner has it: of the same id or WWN."""
    others = [other for other in disks if other["device"] != disk["device"]]
    names = [(key, disk[key]) for key in ("id", "wwn") if disk.get(key)]
    return [each["device"] for each in others if any(each.get(key) == name for key, name in names)]


def _had(node: str) -> str | None:
    """Why a disk cannot be had alone; ``None`` where it can."""
    return __salt__["disks_kernel.held"](node) or _locked(node)


def _adopted(node: str) -> list[str]:
    """The OSDs, by fsid, that others made and whose records name a part of a disk: journals and closed devices have no
    label by which they are known. The adoption's names may be of before a reboot: they count where nothing else tells.
    """
    record = __pillar__.get("ceph", {}).get("adopted") or {}  # null, as what is in it, once its lines were taken out
    now, before = __salt__["host_adopt.osds"](), record.get("osds") or {}
    lies = {fsid: _devices(osd) for told in (before, now) for fsid, osd in told.items()}
    # An OSD's folder may stand after its encrypted device was closed: where it leads, nothing is then.
    lies |= {fsid: _devices(before[fsid]) for fsid in before if not any(Path(path).exists() for path in lies[fsid])}
    return [fsid for fsid, paths in lies.items() if any(_lies_on(node, path) for path in paths)]


def _devices(osd: Mapping | None) -> list[str]:
    return list(((osd or {}).get("devices") or {}).values())


def _lies_on(node: str, path: str) -> bool:
    """Whether a device is a disk, or a partition of it."""
    real = str(Path(path).resolve())
    return real == node or (Path(real).exists() and __salt__["disks_kernel.holder"](real) == node)


def _group(group: Mapping | None, content: Mapping) -> str | None:
    """The volume group that goes with a disk; ``None`` where a volume is open or no OSD's, or LVM did not answer."""
    if not group or not group["alone"] or content.get("volumes") or content.get("groups") != [group["group"]]:
        return None
    return None if any(volume["open"] for volume in group["volumes"]) else group["group"]


def wipe(device: str, seen: Mapping) -> dict:
    """Wipe a disk that is still what was seen; return what it was. Raises where anything is left on it.

    device
        As for ``inspect``.
    seen
        What ``inspect`` answered and the master judged: whatever differs by now stops the wiping.

    CLI Example: for ``salt-run disk.wipe``.
    """
    disk = inspect(device)
    differs = [key for key, value in disk.items() if seen.get(key) != value]
    if differs or disk["in_use"]:
        raise CommandExecutionError(f"{device} changed while it was looked at ({', '.join(differs)}): nothing is done")
    node, group = disk["device"], disk["group"]
    edges = _edges(node, disk["partitions"], [osd["offset"] for osd in disk["osds"] if "offset" in osd])
    if group:  # LVM's own commands refuse what was opened in between
        _run(["vgchange", "--quiet", "--activate", "n", group])
        _run(["vgremove", "--quiet", "--yes", group])
        _run(["pvremove", "--quiet", "--yes", node])
    for part in disk["partitions"]:
        _run(["wipefs", "--all", "--quiet", part])
    with _alone(node) as descriptor:
        for start, length in edges:
            _clear(descriptor, start, length)
        os.fsync(descriptor)
    _run(["sgdisk", "--zap-all", node], ok=(0, 2))  # 2: nothing left that is a table
    _run(["wipefs", "--all", "--quiet", node])
    _run(["partx", "--delete", node], ok=(0, 1))
    left = [*__salt__["disks.signatures"](node), *__salt__["disks_kernel.partition_nodes"](node), *_dirty(node, edges)]
    if left:
        raise CommandExecutionError(f"{device}: after the wiping there is still {', '.join(left)}")
    return disk


def _edges(node: str, partitions: Sequence[str], labels: Sequence[int]) -> list[tuple[int, int]]:
    """Start and length of both ends of the disk and of every partition, of what begins with a label, and of the copies
    that such a label may have, in bytes.
    """
    sizes = {part: __salt__["disks_kernel.size"](part) for part in (node, *partitions)}
    starts = {part: __salt__["disks_kernel.offset"](part) for part in sizes}
    edges = {(start, EDGE) for start in labels}
    for part, size in sizes.items():
        length = min(EDGE, size)
        edges |= {(starts[part], length), (starts[part] + size - length, length)}
    for start in (*starts.values(), *labels):
        edges |= {(start + place, LABEL) for place in __salt__["disks_label.places"](sizes[node] - start)}
    return sorted(edges)


@contextmanager
def _alone(node: str) -> Iterator[int]:
    """The disk opened for writing by nobody else, with the lock that keeps udev away."""
    disk = halocline.until(lambda: _opened(node), UDEV)
    try:
        yield disk
    finally:
        os.close(disk)


def _opened(node: str) -> int:
    """The same, where nobody holds it."""
    say = "it is not wiped yet: end what uses it, and type disk.wipe again"
    try:
        disk = os.open(node, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    except OSError as err:
        raise CommandExecutionError(f"{node}: {err.strerror}; {say}") from err
    try:
        fcntl.lockf(disk, fcntl.LOCK_EX | fcntl.LOCK_NB)  # in both of Linux's ways, as ``halocline.locked``
        fcntl.flock(disk, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as err:
        os.close(disk)
        raise CommandExecutionError(f"{node}: a process holds a lock on it; {say}") from err
    return disk


def _clear(disk: int, start: int, length: int) -> None:
    """Zeroes over one stretch of a disk."""
    done = 0
    while done < length:
        done += os.pwrite(disk, bytes(length - done), start + done)


def _dirty(node: str, edges: Sequence[tuple[int, int]]) -> list[str]:
    """Stretches that do not read as zeroes."""
    with open(node, "rb", buffering=0) as disk:  # noqa: PTH123 - unbuffered
        return [f"data at {start}" for start, length in edges if os.pread(disk.fileno(), length, start).strip(b"\0")]


def _locked(node: str) -> str | None:
    """Why the disk or a part of it is locked; ``None`` where it is not. A running OSD locks what it lies on; a virtual
    machine takes locks for reading, which another one for reading would not meet.
    """
    for name in (node, *__salt__["disks_kernel.partition_nodes"](node)):
        try:
            part = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as err:
            return f"{name} cannot be opened: {err.strerror}"
        try:
            fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = struct.unpack_from("h", fcntl.fcntl(part, fcntl.F_OFD_GETLK, WHOLE))[0] != fcntl.F_UNLCK
        except BlockingIOError:
            held = True
        finally:
            os.close(part)
        if held:
            return f"a process holds a lock on {name}"
    return None


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def _run(command: Sequence[str], ok: Collection[int] = (0,)) -> None:
    halocline.run(command, ok=ok, limit=LIMIT)
