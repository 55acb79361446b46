"""A host as ``lsblk -J -b -O`` tells it (util-linux, lsblk(8)); older releases print numbers and booleans as text."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from proposals.text import names
from proposals.text.errors import InventoryError

# Not disks that could carry data, as salt/_grains/ceph_disks.py skips them: memory, firmware's flash, optical, network
# and stacked devices.
SKIP = ("ram", "zram", "sr", "fd", "dm-", "md", "mtd", "nbd", "rbd", "drbd", "zd")
WHOLE = ("disk", "loop")  # types of devices that are disks
TRANSPORTS = {"ata": "sata", "sata": "sata", "sas": "sas", "nvme": "nvme", "usb": "usb", "virtio": "virtio"}
BY_NAME = (("nvme", "nvme"), ("vd", "virtio"), ("loop", "loop"))
LABELS = ("vendor", "model", "serial")
# Half of a WWN: those that begin with 6 have 16 bytes (SPC-4, NAA formats).
HALF = re.compile(r"0x6[0-9a-f]{15}")


def host(devices: Iterable[object], name: str) -> dict:
    """One host of the inventory. ``devices``: the list ``blockdevices``, a tree or (``--list``) flat.

    Raises InventoryError where sizes are not bytes, or an entry is no device."""
    entries = list(map(_checked, devices))
    lying: dict[str, list[Mapping]] = {}  # by the kernel's name of a device what the flat form tells to lie on it
    for entry in entries:
        if entry.get("pkname"):
            lying.setdefault(str(entry["pkname"]), []).append(entry)
    whole = [one for one in entries if one.get("type") in WHOLE and not is_stacked(str(one["name"]))]
    if not whole:
        raise InventoryError(f"{names.shown(name)}: lsblk lists no disk: entries of type 'disk' were expected")
    return {"ceph_disks": [_disk(one, lying.get(str(one.get("kname") or one["name"]), [])) for one in whole]}


def is_stacked(device: str) -> bool:
    """Whether a device, by its name with or without ``/dev/``, is none that could carry data of its own."""
    return device.removeprefix("/dev/").startswith(SKIP)


def bus(device: str) -> str:
    """What the kernel's name of a device tells of its bus."""
    return next((told for prefix, told in BY_NAME if device.rpartition("/")[2].startswith(prefix)), "unknown")


def _checked(entry: object) -> Mapping:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
        raise InventoryError(f"lsblk: a device with a 'name' was expected, found {names.shown(entry)}")
    if entry.get("type") in WHOLE and not {"size", "rota"} <= set(entry):
        raise InventoryError(f"lsblk: {names.shown(entry['name'])} has no 'size' or no 'rota': run lsblk -J -b -O")
    return entry


def _disk(entry: Mapping, flat: list[Mapping]) -> dict:
    device = entry.get("path") or f"/dev/{entry['name'].removeprefix('/dev/').replace('!', '/')}"
    labels = {key: text for key in LABELS if (text := _text(entry.get(key)))}
    labels |= {"wwn": wwn} if (wwn := _wwn(_text(entry.get("wwn")), labels.get("serial"))) else {}
    transport = TRANSPORTS.get(str(entry.get("tran")), bus(str(device)))
    return {
        "device": device,
        "id": _stable_name(transport, labels) or device,
        "size": _bytes(entry["size"], entry["name"]),
        "rotational": _flag(entry.get("rota")),
        "transport": transport,
        "in_use": _in_use(entry, [*_children(entry), *flat], transport),
        "osds": [],
        **labels,
    }


def _text(value: object) -> Any:
    return value.strip() if isinstance(value, str) else value


def _wwn(told: object, serial: object) -> object:
    """The WWN that is the disk's alone, None where none is.

    Old releases tell the first half of a long one, which the logical disks of a RAID controller may share; the serial
    number then is the whole (util-linux, issue 322). Some disks tell zeros (harvester, issue 6604). Both on github.com.
    """
    if not isinstance(told, str):
        return told
    if HALF.fullmatch(told):
        whole = f"0x{serial}".lower()
        return whole if len(whole) == len("0x") + 32 and whole.startswith(told) else None
    return told if told.strip("0x") else None


def _stable_name(transport: str, labels: Mapping) -> str | None:
    """The link that udev makes from a disk's WWN (its rules 60-persistent-storage)."""
    wwn = labels.get("wwn")
    if not isinstance(wwn, str):
        return None
    return f"/dev/disk/by-id/{'nvme' if transport == 'nvme' else 'wwn'}-{wwn}"


def _bytes(size: object, name: str) -> object:
    """Bytes; text without a unit is a number, and 5.5T is refused: it is too coarse to plan with."""
    if isinstance(size, str):
        if not size.isascii() or not size.isdigit() or len(size) > len(str(1 << 63)):
            raise InventoryError(f"lsblk: the size of {names.shown(name)} is '{names.shown(size)}': run lsblk -J -b -O")
        return int(size)
    return size


def _flag(value: object) -> object:
    return {"1": True, "0": False}.get(value, value) if isinstance(value, str) else value


def _children(entry: Mapping) -> list[Mapping]:
    listed = entry.get("children")
    return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []


def _in_use(entry: Mapping, lying: list[Mapping], transport: str) -> list[str]:
    """Why a disk is not free, in the words of docs/reference/inventory.md."""
    parts = [one for one in lying if one.get("type") == "part"]
    reasons = []
    for one in [entry, *parts]:
        reasons += _mounted(one)
        on = _children(one) if one is not entry else [each for each in lying if each not in parts]
        reasons += map(_holder, on)
    if parts:
        reasons.append("has partitions")
    if _flag(entry.get("rm")) is True:
        reasons.append("removable")
    if _flag(entry.get("ro")) is True:
        reasons.append("read-only")
    if entry.get("zoned") == "host-managed":
        reasons.append("host-managed zones")
    if transport == "loop":
        reasons.append("loop device")
    held = [entry.get("fstype"), None if parts else entry.get("pttype")]
    reasons += [f"holds {kind}" for kind in held if kind]
    return list(dict.fromkeys(reasons))


def _mounted(one: Mapping) -> list[str]:
    """Mount points of a device; util-linux before 2.37 tells one, as ``mountpoint``."""
    told = one.get("mountpoints")
    points = told if isinstance(told, list) else [one.get("mountpoint")]
    return ["swap" if point == "[SWAP]" else f"mounted on {point}" for point in points if point]


def _holder(one: Mapping) -> str:
    kind, name = str(one.get("type")), str(one.get("name")).rpartition("/")[2]  # --paths tells /dev/ and /dev/mapper/
    if kind == "lvm":
        return f"LVM member of {name.replace('--', chr(0)).split('-')[0].replace(chr(0), '-')}"
    if kind == "mpath":
        return f"multipath path of {name}"
    return f"RAID member of {name}" if kind.startswith("raid") else f"held by {name}"
