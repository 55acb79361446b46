"""Look at what LVM has on this host's disks. Everything here only reads."""

import json
import shutil
from pathlib import Path

SECRET = "ceph.cephx_lockbox_secret"  # a tag that ceph-volume puts on encrypted OSDs; never returned


def look():
    """Return LVM's view of each physical volume, by device: ``{uuid, group, alone, free, size, volumes}``.

    ``alone``: the volume group has no other disk; ``free`` and ``size`` are the group's bytes. ``volumes`` are its
    logical volumes: ``{name, size, uuid, path, tags, slot, open}``, where ``tags`` are those of ``ceph-volume`` without
    secrets, ``slot`` is the name of a slot that this cluster made (``osd_volumes``) and ``open`` tells that a process,
    a mount or an encrypted device uses it. Two processes, whatever the number of disks.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_groups.look
    """
    found = {}
    volumes = {}
    for row in _rows("pv", "pv_name,pv_uuid,vg_name,vg_free,vg_size,pv_count"):
        found[str(Path(row["pv_name"]).resolve())] = {
            "uuid": row["pv_uuid"],
            "group": row["vg_name"],
            "alone": row["pv_count"] in ("", "1"),
            "free": int(row["vg_free"] or 0),
            "size": int(row["vg_size"] or 0),
            "volumes": volumes.setdefault(row["vg_name"], []),
        }
    for row in _rows("lv", "vg_name,lv_name,lv_size,lv_uuid,lv_path,lv_tags,lv_device_open") if found else ():
        tags = dict(tag.split("=", 1) for tag in row["lv_tags"].split(",") if "=" in tag)
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
    return found


def _rows(kind, fields):
    """Rows of one of LVM's reports, lvmreport(7); sizes in bytes."""
    if not shutil.which(f"{kind}s"):
        return []
    command = [f"{kind}s", "--reportformat", "json", "--units", "b", "--nosuffix", "--options", fields]
    return json.loads(__salt__["commands.run"](command, limit=60))["report"][0][kind]
