"""What LVM keeps on this host's disks: one reader, whatever the number of disks. Everything here only reads.

``ceph-volume`` writes into the tags of its volumes which OSD they are of. The tags also hold the key of encrypted OSDs
(``ceph.cephx_lockbox_secret``): only what is named here ever leaves this module.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import halocline

SECRET = "ceph.cephx_lockbox_secret"  # a tag that ceph-volume puts on encrypted OSDs; never returned
CLUSTER = "ceph.cluster_fsid"  # a tag: of which cluster an OSD is
QUICK = 10  # seconds, as for one disk
LIMIT = 60  # seconds where device-mapper is asked too
# --readonly: takes no lock and writes nothing, also while another command holds one; knows not what is open (pvs(8)).
SEGMENTS = ("--segments", "--readonly")
COLUMNS = "pv_name,pe_start,vg_extent_size,pvseg_start,pvseg_size,vg_name,lv_name,lv_size,lv_tags"
# ceph-volume's words (src/ceph-volume/ceph_volume/api/lvm.py, ceph.type): data and journal are filestore's.
ROLES = {"block": "data", "db": "db", "wal": "wal", "data": "data", "journal": "journal"}


def inspect() -> dict[str, dict[str, list]]:
    """Return what LVM keeps on this host's disks: ``{device: {osds: [...], volumes: [...], groups: [...]}}``.

    ``osds`` are the parts of OSDs (id, fsid, role, size and offset in bytes, cluster, format, encryption, device: the
    disk or partition that holds it), ``volumes`` other logical volumes as GROUP/NAME, ``groups`` the volume groups.
    Empty where there is no LVM. Raises CommandExecutionError where it does not answer.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks_lvm.inspect
    """
    return parse(_rows("pv", COLUMNS, SEGMENTS, QUICK))


def parse(segments: Sequence[Mapping[str, str]]) -> dict[str, dict[str, list]]:
    """Return ``inspect``'s answer from the segments that pvs lists.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks_lvm.parse '[]'
    """
    disks: dict[str, dict[str, list]] = {}
    for segment in segments:
        disk, start = _disk(segment["pv_name"])
        on_disk = disks.setdefault(disk, {"osds": [], "volumes": [], "groups": []})
        group, volume = segment["vg_name"], segment["lv_name"]
        if group and group not in on_disk["groups"]:
            on_disk["groups"].append(group)
        osd = _osd(segment, start)
        if osd is None and volume and f"{group}/{volume}" not in on_disk["volumes"]:
            on_disk["volumes"].append(f"{group}/{volume}")
        elif osd and (osd["fsid"], osd["role"]) not in {(part["fsid"], part["role"]) for part in on_disk["osds"]}:
            on_disk["osds"].append(osd)  # of a volume in several pieces the first
    return disks


def groups() -> dict[str, dict]:
    """Return LVM's view of each physical volume, by device: ``{uuid, group, alone, free, size, volumes}``.

    ``alone``: the volume group has no other disk; ``free`` and ``size`` are the group's bytes. ``volumes`` are its
    logical volumes: ``{name, size, uuid, path, tags, slot, open}``, where ``tags`` are those of ``ceph-volume`` without
    secrets, ``slot`` is the name of a slot that this cluster made (``osd_names``) and ``open`` tells that a process, a
    mount or an encrypted device uses it. Two processes, whatever the number of disks.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks_lvm.groups
    """
    disks: dict[str, dict] = {}
    volumes: dict[str, list[dict]] = {}
    for row in _rows("pv", "pv_name,pv_uuid,vg_name,vg_free,vg_size,pv_count"):
        disks[str(Path(row["pv_name"]).resolve())] = {
            "uuid": row["pv_uuid"],
            "group": row["vg_name"],
            "alone": row["pv_count"] in ("", "1"),
            "free": int(row["vg_free"] or 0),
            "size": int(row["vg_size"] or 0),
            "volumes": volumes.setdefault(row["vg_name"], []),
        }
    for row in _rows("lv", "vg_name,lv_name,lv_size,lv_uuid,lv_path,lv_tags,lv_device_open") if disks else ():
        tags = _tags(row)
        volumes.setdefault(row["vg_name"], []).append(
            {
                "name": row["lv_name"],
                "size": int(row["lv_size"]),
                "uuid": row["lv_uuid"],
                "path": row["lv_path"],
                "tags": {key: value for key, value in tags.items() if key.startswith("ceph.") and key != SECRET},
                "slot": tags.get("slot"),
                "open": row["lv_device_open"] == "open",
            }
        )
    return disks


def _rows(kind: str, columns: str, options: Sequence[str] = (), limit: float = LIMIT) -> list[dict[str, str]]:
    """Rows of one of LVM's reports, lvmreport(7), sizes in bytes; none where there is no LVM."""
    if not shutil.which(f"{kind}s"):
        return []
    form = ["--reportformat", "json", "--units", "b", "--nosuffix", "--options", columns]
    out = halocline.run([f"{kind}s", *options, *form], limit=limit, secret=True)
    return next(iter(json.loads(out)["report"][0].values()))


def _tags(row: Mapping[str, str]) -> dict[str, str]:
    """The cluster's fsid as Ceph itself tells it: ``ceph-volume`` has it as ceph.conf does, maybe in capitals."""
    tags = dict(tag.split("=", 1) for tag in row["lv_tags"].split(",") if "=" in tag)
    return {key: value.lower() if key == CLUSTER else value for key, value in tags.items()}


def _osd(segment: Mapping[str, str], start: int) -> dict | None:
    """The part of an OSD that a segment holds; None where it is none, or one of another's that was never finished."""
    tags = _tags(segment)
    role = ROLES.get(tags.get("ceph.type", ""))
    osd_id, fsid = tags.get("ceph.osd_id", ""), tags.get("ceph.osd_fsid", "null")
    place = {
        "size": int(segment["lv_size"] or 0),
        "offset": start + int(segment["pe_start"]) + int(segment["pvseg_start"]) * int(segment["vg_extent_size"]),
        "device": segment["pv_name"],
    }
    if role is None or not osd_id.isdecimal() or fsid == "null":
        return _begun(segment["lv_name"], tags.get("slot"), place)
    return {
        "id": int(osd_id),
        "fsid": fsid,
        "role": role,
        **place,
        "cluster": tags.get(CLUSTER),
        "format": "filestore" if tags["ceph.type"] in ("data", "journal") else "bluestore",
        "encryption": "dmcrypt" if tags.get("ceph.encrypted") == "1" else None,
    }


def _begun(name: str, slot: str | None, place: Mapping) -> dict | None:
    """This cluster's own volume for an OSD that an interrupted run did not finish; None where it is not ours."""
    owner = __salt__["osd_names.owner"](name, slot)
    if owner is None:
        return None
    role, fsid = owner
    return {"fsid": fsid, "role": role, **place, "cluster": __pillar__["fsid"], "begun": True}


def _disk(device: str) -> tuple[str, int]:
    """The whole disk that a physical volume is on, and where on it that begins, in bytes."""
    start = __salt__["disks_kernel.offset"](device)
    return (__salt__["disks_kernel.holder"](device), start) if start else (str(Path(device).resolve()), 0)
