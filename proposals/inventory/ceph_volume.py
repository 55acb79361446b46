"""A host as ``ceph-volume inventory --format json`` tells it, alone or in ``ceph orch device ls --format json``.

The fields are those of Ceph's docs, ceph-volume/inventory, and of what its manager passes on (python-common's
deployment/inventory)."""

from collections.abc import Iterable, Mapping
from typing import Any

from proposals.inventory.disk import HIGHEST
from proposals.inventory.lsblk import bus, is_stacked
from proposals.text import names
from proposals.text.errors import InventoryError

ROLES = {"block": "data", "db": "db", "wal": "wal", "data": "data", "journal": "journal"}
# What it says of a disk because of OSDs that are told as such; the second is what Nautilus and Octopus say.
EXPLAINED = (
    "LVM detected",
    "Insufficient space (<5GB) on vgs",
    "Insufficient space (<10 extents) on vgs",
    "locked",
    "Has BlueStore device label",
)
PARTS = ("lvm", "part")  # types of devices that newer releases list beside the disks they lie on


def is_device(entry: object) -> bool:
    """Whether this is an entry of ceph-volume's inventory."""
    return isinstance(entry, Mapping) and isinstance(entry.get("path"), str) and isinstance(entry.get("sys_api"), dict)


def host(devices: Iterable[Any], name: str) -> dict:
    """One host of the inventory. Raises InventoryError where an entry is none of ceph-volume's."""
    listed = list(devices)
    for entry in listed:
        if not is_device(entry):
            shown = names.shown(entry)
            raise InventoryError(f"{names.shown(name)}: a device with 'path' and 'sys_api' was expected, found {shown}")
    whole = [one for one in listed if one["sys_api"].get("type") not in PARTS and not is_stacked(one["path"])]
    return {"ceph_disks": list(map(_disk, whole))}


def _disk(entry: Mapping) -> dict:
    path, told, transport = entry["path"], entry["sys_api"], bus(entry["path"])
    listed = entry.get("lvs")
    volumes = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    osds = [osd for one in volumes if (osd := _osd(one))]
    labels = {key: text.strip() for key in ("vendor", "model") if isinstance(text := told.get(key), str)}
    size = told.get("size")
    return {
        "device": path,
        "size": int(size) if isinstance(size, float) and size.is_integer() else size,
        "rotational": {"1": True, "0": False}.get(str(told.get("rotational")), False if transport == "nvme" else None),
        "transport": transport,
        "in_use": _in_use(entry, told, whole=bool(osds) and len(osds) == len(volumes)),
        "osds": osds,
        **labels,
        **_serial(entry, labels),
    }


def _serial(entry: Mapping, labels: Mapping) -> dict:
    """The serial number is the last word of ``device_id``, which is vendor, model and serial (or the last two).

    Blanks of the model are underlines there, in some releases not (github.com/ceph/ceph.io, issue 625)."""
    known = str(entry.get("device_id")).replace(" ", "_")
    stem = str(labels.get("model") or "").replace(" ", "_")
    if not stem or f"{stem}_" not in known:
        return {}
    return {"serial": known.rpartition(f"{stem}_")[2]}


def _in_use(entry: Mapping, told: Mapping, whole: bool) -> list[str]:
    """Its reasons, less those that OSDs explain where these are all that lies there."""
    listed = entry.get("rejected_reasons")
    reasons = [str(one) for one in listed if one] if isinstance(listed, list) else []
    if whole:
        reasons = [one for one in reasons if one not in EXPLAINED]
    elif not reasons and entry.get("available") is False:
        reasons = ["not available"]
    mine = [word for word, key in (("removable", "removable"), ("read-only", "ro")) if str(told.get(key)) == "1"]
    if told.get("partitions"):  # Nautilus lists them and yet says that the disk is available
        mine.append("has partitions")
    return [*mine, *(f"ceph-volume says {one}" for one in reasons if one.lower() not in mine)]


def _osd(volume: Mapping) -> dict | None:
    """A logical volume of an OSD in the inventory's words; its size is not told."""
    role, number = ROLES.get(str(volume.get("type"))), str(volume.get("osd_id"))
    if role is None or not number.isascii() or not number.isdigit() or len(number) > len(str(HIGHEST)):
        return None
    return {
        "id": int(number),
        "role": role,
        **{key: volume[told] for key, told in (("fsid", "osd_fsid"), ("cluster", "cluster_fsid")) if volume.get(told)},
    }
