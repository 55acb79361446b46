"""Look at this host's disks: what the grain cannot know without reading them.

Everything here only reads. Ceph's BlueStore label is parsed here rather than by ``ceph-bluestore-tool
show-label``: it costs no process a disk, and the label holds the OSD's secret (``osd_key``), which this module
never returns.
"""

import concurrent.futures
import json
import os
import shlex
import struct
import subprocess
import uuid
from pathlib import Path

import salt.loader

LIMIT = 10  # seconds one disk may take before it "does not answer"
AT_ONCE = 16  # disks read side by side
LABEL_SIZE = 4096  # bytes: BDEV_LABEL_BLOCK_SIZE, src/os/bluestore/BlueStore.cc
MAGIC = b"bluestore block device\n"
ROLES = {"main": "data", "bluefs db": "db", "bluefs wal": "wal"}  # label's description -> role


def inspect():
    """Return the disks of this host, as the ``ceph_disks`` grain sees them now and as their content shows.

    Returns ``{ceph_disks_format: 1, ceph_disks: [...], inspected: {device: {...}}}``. Each inspected disk has
    ``signatures`` (types found on the bare disk), ``partitions`` (how many), ``osds`` (of each BlueStore label:
    fsid, role, id, size and offset in bytes, cluster, device; and of each logical volume that ceph-volume made),
    ``volumes`` and ``groups`` (what else LVM keeps there), ``error`` where it did not answer within its limit.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks.inspect
    """
    found = salt.loader.grain_funcs(__opts__)["ceph_disks.ceph_disks"]()
    devices = [disk["device"] for disk in found["ceph_disks"] if "error" not in disk]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        found["inspected"] = dict(zip(devices, pool.map(_content, devices), strict=True))
    for device, content in found["inspected"].items():
        if content["partitions"] > len(content["osds"]):
            try:
                content["osds"] += _begun(device, content["osds"])
            except (OSError, subprocess.SubprocessError) as err:
                content["error"] = str(err)
    try:
        volumes = __salt__["disks_lvm.inspect"]()
    except (OSError, subprocess.SubprocessError):  # their signatures still say that LVM has these disks
        volumes = {}
    for device, lying in volumes.items():
        if device in found["inspected"]:
            content = found["inspected"][device]
            found["inspected"][device] = {**content, **lying, "osds": content["osds"] + lying["osds"]}
    return found


def _content(device):
    """What lies on one disk; a disk that fails or hangs is described, never raised."""
    try:
        signed = [entry for entry in signatures(device) if entry != "ceph_bluestore"]
        nodes = partition_nodes(device)
        labels = [label(node) for node in [device, *nodes]]
    except (OSError, subprocess.SubprocessError) as err:
        return {"signatures": [], "partitions": 0, "osds": [], "error": str(err)}
    return {"signatures": signed, "partitions": len(nodes), "osds": [found for found in labels if found]}


def _begun(device, labels):
    """This cluster's own slots on a disk that carry no label yet: an interrupted run made them for these OSDs."""
    if not __pillar__.get("fsid"):
        return []
    there = {found.get("offset") for found in labels}
    nodes = {_offset(node): node for node in partition_nodes(device)}
    return [
        {
            "fsid": part["name"],
            "role": __salt__["osd_names.role"](part),
            "size": part["size"],
            "offset": part["start"],
            "device": nodes[part["start"]],
            "cluster": __pillar__["fsid"],
            "begun": True,
        }
        for part in (partitions(device) or {"partitions": []})["partitions"]
        if part["start"] in nodes and part["start"] not in there and __salt__["osd_names.ours"](part)
    ]


def signatures(device):
    """Return the names of all signatures on a device by ``wipefs -n`` and ``blkid -p``; empty where clean.

    device
        The device node, a whole disk or a partition.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks.signatures /dev/sdc
    """
    out = _run(["wipefs", "--no-act", "--json", device])
    found = [entry["type"] for entry in json.loads(out)["signatures"]] if out.strip() else []
    probe = _probe(device)
    found += [probe[key] for key in ("TYPE", "PTTYPE") if key in probe]
    return sorted(set(found))


def _probe(device):
    """What ``blkid -p`` finds on a device, as a mapping; empty for nothing."""
    out = _run(["blkid", "-p", "-o", "export", device], ok=(0, 2, 8))
    return dict(line.split("=", 1) for line in out.splitlines() if "=" in line)


def partitions(device):
    """Return the partition table of a disk: ``{guid, partitions: [{number, uuid, type, name, start, size}]}``.

    Sizes and starts are bytes; ``None`` where the disk has no GPT. Read from the disk by blkid and partx.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks.partitions /dev/sdc
    """
    probe = _probe(device)
    if probe.get("PTTYPE") != "gpt":
        return None
    rows = _run(["partx", "--pairs", "--output", "NR,START,SECTORS,NAME,UUID,TYPE", device], ok=(0, 1)).splitlines()
    found = [dict(pair.split("=", 1) for pair in shlex.split(row)) for row in rows]
    return {
        "guid": probe["PTUUID"].lower(),
        "partitions": [
            {
                "number": int(part["NR"]),
                "uuid": part["UUID"].lower(),
                "type": part["TYPE"].lower(),
                "name": part["NAME"],
                "start": int(part["START"]) * 512,
                "size": int(part["SECTORS"]) * 512,
            }
            for part in found
        ],
    }


def partition_nodes(device):
    """Return the device nodes of a disk's partitions that the kernel knows, in their order.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks.partition_nodes /dev/sdc
    """
    block = Path("/sys/class/block") / Path(device).resolve().name
    numbered = ((int((part / "partition").read_text()), part.name) for part in block.glob(f"{block.name}*"))
    return [f"/dev/{name}" for _, name in sorted(numbered)]


def label(device):
    """Return what a BlueStore label says: ``{fsid, role, size, offset, device[, id, cluster, ready]}``, or ``None``.

    Sizes are bytes; ``offset`` is where on its disk the device begins.

    Layout: 23 bytes of magic, the OSD's uuid as text, then ``bluestore_bdev_label_t`` (uuid, size, birth time,
    description, map of text to text), src/os/bluestore/bluestore_types.cc of Ceph 16.

    device
        The device node, a whole disk or a partition.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks.label /dev/sdc1
    """
    with open(device, "rb", buffering=0) as node:  # noqa: PTH123 - unbuffered: one aligned read
        block = node.read(LABEL_SIZE)
    if not block.startswith(MAGIC):
        return None
    at = len(MAGIC) + 37 + 6  # the uuid's line, then the encoding's version, compat and length
    try:
        osd_uuid, size = uuid.UUID(bytes=block[at : at + 16]), struct.unpack_from("<Q", block, at + 16)[0]
        description, at = _string(block, at + 32)
        meta = _map(block, at)
    except (struct.error, ValueError, UnicodeDecodeError):
        return {
            "fsid": block[len(MAGIC) :][:36].decode("ascii", "replace"),
            "role": "unknown",
            "device": device,
        }
    found = {
        "fsid": str(osd_uuid),
        "role": ROLES.get(description, description),
        "size": size,
        "offset": _offset(device),
        "device": device,
    }
    if meta.get("whoami", "").isdecimal():
        found["id"] = int(meta["whoami"])
    if "ceph_fsid" in meta:
        found["cluster"] = meta["ceph_fsid"]
    if found["role"] == "data":
        found["ready"] = meta.get("ready") == "ready"  # the last that ceph-osd --mkfs writes (OSD::write_meta)
    return found


def _offset(device):
    """Where on its disk a partition begins, in bytes (/sys/class/block/*/start counts 512 each); 0 of a whole disk."""
    start = Path("/sys/class/block") / Path(device).resolve().name / "start"
    return int(start.read_text()) * 512 if start.exists() else 0


def _string(block, at):
    """One length-prefixed text and the place after it."""
    (length,) = struct.unpack_from("<I", block, at)
    end = at + 4 + length
    if end > len(block):
        raise ValueError("a text runs over the label's end")
    return block[at + 4 : end].decode("utf-8"), end


def _map(block, at):
    """One map of text to text, without what is secret."""
    (count,) = struct.unpack_from("<I", block, at)
    at, meta = at + 4, {}
    for _ in range(min(count, 64)):
        key, at = _string(block, at)
        value, at = _string(block, at)
        if key != "osd_key":
            meta[key] = value
    return meta


def identity(device):
    """Return ``{size, serial}`` of a whole disk: bytes from sysfs, serial from udev's database.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks.identity /dev/disk/by-id/wwn-0x5000c500a1b2c3d4
    """
    block = Path("/sys/class/block") / Path(device).resolve().name
    found = {"size": int((block / "size").read_text()) * 512, "serial": None}
    database = Path("/run/udev/data") / f"b{(block / 'dev').read_text().strip()}"
    if database.exists():
        for line in database.read_text(errors="replace").splitlines():
            if line.startswith("E:ID_SERIAL_SHORT="):
                found["serial"] = line.split("=", 1)[1]
    if found["serial"] is None and (block / "device/serial").exists():
        found["serial"] = (block / "device/serial").read_text().strip()
    return found


def in_use():
    """Return why each disk of this host is in use, by device: the grain's reasons, looked at now.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks.in_use
    """
    found = salt.loader.grain_funcs(__opts__)["ceph_disks.ceph_disks"]()["ceph_disks"]
    return {disk["device"]: disk["in_use"] for disk in found}


def held(device):
    """Return why a whole disk cannot be had alone, or ``None``.

    An exclusive open is the kernel's own answer: it fails while the disk or a part of it is mounted, in any
    mount namespace, or claimed by device-mapper or MD (open(2), O_EXCL on block devices).

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks.held /dev/sdc
    """
    try:
        os.close(os.open(device, os.O_RDONLY | os.O_EXCL))
    except OSError as err:
        return f"cannot be opened alone: {err.strerror}"
    return None


def _run(command, ok=(0,)):
    """A command's standard output; its own words as an error where it fails or takes too long."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)  # noqa: S603
    if done.returncode not in ok:
        raise OSError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout
