"""Look at this host's disks: what the grain cannot know without reading them. Everything here only reads."""

import json
import os
import shlex
from collections.abc import Collection, Mapping, Sequence

import halocline
import salt.loader
from salt.exceptions import CommandExecutionError

LIMIT = 10  # seconds one disk may take before it "does not answer"
AT_ONCE = 16  # disks read side by side
ENDS = 5 << 20  # bytes at both ends of a disk: wipefs and blkid look at nothing between them (libblkid of util-linux)
NOTHING_THERE = (2, 8)  # blkid's exit statuses where it finds nothing, or several things (blkid(8))
TABLES = {"gpt", "PMBR", "dos"}
GROUP = "LVM member of ceph-"  # the grain's word for a volume group of ceph-volume's, or of ours


def inspect() -> dict:
    """Return the disks of this host, as the ``ceph_disks`` grain sees them now and as their content shows.

    Returns ``{ceph_disks_format: 1, ceph_disks: [...], inspected: {device: {...}}}``. Each inspected disk has
    ``signatures`` (types found on the bare disk), ``partitions`` (how many), ``osds`` (of each BlueStore label:
    fsid, role, id, size and offset in bytes, cluster, device; and of each logical volume that ceph-volume made),
    ``volumes`` and ``groups`` (what else LVM keeps there), ``error`` where it did not answer within its limit. A table
    or volume group that this cluster made, and that its last OSD has left, is no signature. ``waiting`` are the places
    that ``osd_waiting.kept`` keeps. Raises CommandExecutionError where OSDs may lie on LVM and it does not answer.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks.inspect
    """
    answer = salt.loader.grain_funcs(__opts__)["ceph_disks.ceph_disks"]()
    devices = [disk["device"] for disk in answer["ceph_disks"] if "error" not in disk]
    contents = halocline.side_by_side(_content, [(device,) for device in devices], AT_ONCE)
    inspected = dict(zip(devices, contents, strict=True))
    for device, content in inspected.items():
        if content["partitions"] > len(content["osds"]):
            try:
                content["osds"] += _begun(device, content["osds"])
            except (OSError, CommandExecutionError) as err:
                content["error"] = str(err)
    try:
        volumes = __salt__["disks_lvm.inspect"]()
    except CommandExecutionError:
        if any(_may_carry(disk, inspected.get(disk["device"], {})) for disk in answer["ceph_disks"]):
            raise  # without it these OSDs would be gone, and a plan of what is left would leave them out
        volumes = {}
    for device in volumes.keys() & inspected.keys():
        content, on_lvm = inspected[device], volumes[device]
        inspected[device] = {**content, **on_lvm, "osds": content["osds"] + on_lvm["osds"]}
    for disk in (disk for disk in answer["ceph_disks"] if disk["device"] in inspected):
        content = inspected[disk["device"]]
        try:
            content["signatures"] = [] if _emptied(disk, content) else content["signatures"]
        except CommandExecutionError as err:
            content["error"] = str(err)
    return {**answer, "inspected": inspected, "waiting": __salt__["osd_waiting.kept"]()}


def signatures(device: str) -> list[str]:
    """Return the names of all signatures on a device by ``wipefs -n`` and ``blkid -p``; empty where clean. Raises
    CommandExecutionError where none is found, and one may lie where the device cannot be read.

    device
        The device node, a whole disk or a partition.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks.signatures /dev/sdc
    """
    types = _signatures(device)
    if not types:
        _readable(device)
    return types


def _signatures(device: str) -> list[str]:
    out = _run(["wipefs", "--no-act", "--json", device])
    types = [entry["type"] for entry in json.loads(out)["signatures"]] if out.strip() else []
    probe = _probe(device)
    types += [probe[key] for key in ("TYPE", "PTTYPE") if key in probe]
    return sorted(set(types))


def _readable(device: str) -> None:
    """Raise where an end of a device cannot be read: there wipefs and blkid stop, and say that they found nothing."""
    with open(device, "rb", buffering=0) as node:  # noqa: PTH123 - unbuffered
        size = node.seek(0, os.SEEK_END)
    for place in {0, max(0, size - ENDS)}:
        where = [f"skip={place}", f"count={ENDS}", "iflag=skip_bytes,count_bytes", "bs=64K"]
        _run(["dd", f"if={device}", "of=/dev/null", *where, "status=none"])


def partitions(device: str) -> dict | None:
    """Return the partition table of a disk: ``{guid, partitions: [{number, uuid, type, name, start, size}]}``.

    Sizes and starts are bytes; ``None`` where the disk has no GPT. Read from the disk by blkid and partx.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks.partitions /dev/sdc
    """
    probe = _probe(device)
    if probe.get("PTTYPE") != "gpt":
        return None
    out = _run(["partx", "--pairs", "--output", "NR,START,SECTORS,NAME,UUID,TYPE", device], ok=(0, 1))
    rows = [dict(pair.split("=", 1) for pair in shlex.split(line)) for line in out.splitlines()]
    return {
        "guid": probe.get("PTUUID", "").lower(),
        "partitions": [
            {
                "number": int(row["NR"]),
                "uuid": row["UUID"].lower(),
                "type": row["TYPE"].lower(),
                "name": row["NAME"],
                "start": int(row["START"]) * 512,
                "size": int(row["SECTORS"]) * 512,
            }
            for row in rows
        ],
    }


def _content(device: str) -> dict:
    """What lies on one disk; a disk that fails or hangs is described, never raised."""
    try:
        types = [name for name in _signatures(device) if name != "ceph_bluestore"]
        nodes = __salt__["disks_kernel.partition_nodes"](device)
        labels = [__salt__["disks_label.read"](node) for node in [device, *nodes]]
        if not (types or nodes or any(labels)):
            _readable(device)
    except (OSError, CommandExecutionError) as err:
        return {"signatures": [], "partitions": 0, "osds": [], "error": str(err)}
    return {"signatures": types, "partitions": len(nodes), "osds": [label for label in labels if label]}


def _may_carry(disk: Mapping, content: Mapping) -> bool:
    """Whether OSDs may lie on LVM here: it has the whole disk, or a group named as ceph-volume names its own."""
    return "LVM2_member" in content.get("signatures", ()) or any(GROUP in reason for reason in disk["in_use"])


def _begun(device: str, labels: Sequence[Mapping]) -> list[dict]:
    """This cluster's own slots on a disk that carry no label yet: an interrupted run made them for these OSDs."""
    if not __pillar__.get("fsid"):
        return []
    labelled = {label.get("offset") for label in labels}
    nodes = {__salt__["disks_kernel.offset"](node): node for node in __salt__["disks_kernel.partition_nodes"](device)}
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
        if part["start"] in nodes and part["start"] not in labelled and __salt__["osd_names.ours"](part)
    ]


def _emptied(disk: Mapping, content: Mapping) -> bool:
    """Whether all that is on a disk is what this cluster made for its OSDs, with none of them in it any more."""
    held = set(content["signatures"])
    lies = content["partitions"] or content["osds"] or content.get("volumes")
    if not held or lies or not __pillar__.get("fsid"):
        return False
    if held == {"LVM2_member"}:
        return content.get("groups") == [__salt__["osd_names.group"](disk["id"])]
    table = partitions(disk["device"]) if held <= TABLES else None
    return table is not None and table["guid"] == __salt__["osd_names.table_guid"](disk["id"])


def _probe(device: str) -> dict[str, str]:
    """What ``blkid -p`` finds on a device; empty for nothing."""
    out = _run(["blkid", "-p", "-o", "export", device], ok=(0, *NOTHING_THERE))
    return dict(line.split("=", 1) for line in out.splitlines() if "=" in line)


def _run(command: Sequence[str], ok: Collection[int] = (0,)) -> str:
    return halocline.run(command, ok=ok, limit=LIMIT)
