"""From what a minion answered to its host in the inventory: grains and inspection joined.

Nothing here opens a file or asks a minion.
"""

import ipaddress
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from proposals.text.errors import InventoryError

TABLES = {"gpt", "PMBR", "dos"}
CIPHERS = ("aes", "aes256k")  # by which a host's Ceph makes keys, the newer one last
# What the inventory keeps of an OSD's part; begun: a slot without a label, of a deploy that was interrupted.
OSD = ("id", "fsid", "role", "size", "offset", "cluster", "format", "encryption", "begun")


def host(
    looked: Mapping,
    nics: list[Mapping],
    name: str,
    memory: int | None = None,
    boot: str | None = None,
    floating: Collection[str] = (),
    cipher: object = None,
) -> dict:
    """Return one host of the inventory (docs/reference/inventory.md) from what its minion answered.

    looked
        The answer of ``disks.inspect``: ``ceph_disks`` as the grain sees them, ``inspected`` by device, ``waiting``.
    nics
        The answer of ``host_nics.inspect``; all addresses in it, such as ``192.168.124.31/24``, are the host's.
    name
        The host name, which daemons carry.
    memory
        Bytes, where known.
    boot
        The kernel's id of this boot.
    floating
        Floating addresses of services: they never count as a host's own.
    cipher
        By which its Ceph makes keys (``host_ceph.inspect``); None where it has no Ceph; anything else is not known.
    Raises InventoryError where the answers are not of this form: a minion is not trusted in it.
    """
    _check(looked, nics)
    inspected = looked.get("inspected", {})
    disks = [_disk(disk, inspected.get(disk.get("device"), {})) for disk in looked["ceph_disks"]]
    _forget_begun(disks, {osd["fsid"] for on in inspected.values() for osd in on.get("osds", []) if osd.get("ready")})
    _name_clusters(disks)
    found = {"ceph_disks_format": looked.get("ceph_disks_format"), "ceph_disks": disks}
    nics = [{**nic, "addresses": _own(nic["addresses"], floating)} if nic.get("addresses") else nic for nic in nics]
    addresses = sorted({each for nic in nics for each in nic.get("addresses") or () if _is_address(each)})
    known = {"hostname": name, "addresses": addresses, "memory": memory, "boot_id": boot}
    kept = {"waiting": looked["waiting"]} if looked.get("waiting") else {}
    kept |= {"ceph_cipher": cipher} if cipher in (*CIPHERS, None) else {}
    return _storable({**found, **kept, "ceph_nics": nics, **known})


def _storable(host: dict) -> dict:
    """A host, where the inventory's file can hold it: Salt carries bytes and dates, JSON does not."""
    try:
        json.dumps(host)
    except TypeError as err:
        raise _odd(f"text, numbers, lists and mappings: {err}") from err
    return host


def _odd(form: str) -> InventoryError:
    return InventoryError(f"its answer is not of the form expected ({form}): run ceph.stage.prep, then look again")


def _check(looked: Any, nics: Any) -> None:
    """Raise InventoryError where a minion's answers are not of the form that the rest relies on."""
    inspected = looked.get("inspected", {}) if isinstance(looked, Mapping) else None
    listed: Any = looked.get("ceph_disks") if isinstance(looked, Mapping) else None
    forms = {
        "disks.inspect: 'ceph_disks', a list of disks": _mappings(listed) and all(map(_is_disk, listed)),
        "disks.inspect: 'inspected', what lies on each disk": isinstance(inspected, Mapping)
        and all(map(_is_content, inspected.values())),
        "host_nics.inspect: a list of ports with their addresses": _mappings(nics)
        and all(_texts(nic.get("addresses")) for nic in nics),
    }
    for form, holds in forms.items():
        if not holds:
            raise _odd(form)


def _mappings(listed: object) -> bool:
    return isinstance(listed, list) and all(isinstance(entry, Mapping) for entry in listed)


def _texts(listed: object) -> bool:
    return listed is None or (isinstance(listed, list) and all(isinstance(entry, str) for entry in listed))


def _is_disk(disk: Mapping) -> bool:
    return isinstance(disk.get("device"), str) and _texts(disk.get("in_use"))


def _is_content(content: object) -> bool:
    return (
        isinstance(content, Mapping)
        and all(_texts(content.get(key)) for key in ("signatures", "groups"))
        and isinstance(content.get("partitions", 0), int)
        and _mappings(content.get("osds", []))
        and all(map(_is_part, content.get("osds", [])))
    )


def _is_part(osd: Mapping) -> bool:
    texts = all(isinstance(osd.get(key), str) for key in ("fsid", "role", "device"))
    return texts and all(osd.get(key) is None or isinstance(osd[key], int | str) for key in ("id", "cluster"))


def _own(addresses: Iterable[str], floating: Collection[str]) -> list[str]:
    return [each for each in addresses if str(each).partition("/")[0] not in floating]


def _is_address(text: str) -> bool:
    """Whether this is an address with prefix length that leads to the host; a minion is not trusted in it."""
    try:
        return not ipaddress.ip_interface(text).is_loopback
    except ValueError:
        return False


def _disk(disk: Mapping, content: Mapping) -> dict:
    """One disk with what lies on it: OSDs explain partitions and volume groups, other signatures are reasons."""
    in_use = list(disk.get("in_use") or [])
    if content.get("error"):
        in_use.append("does not answer")
    osds, held = content.get("osds", []), set(content.get("signatures") or [])
    explained = {osd["device"] for osd in osds} - {disk.get("device")}
    if osds and not content.get("volumes") and content.get("partitions", 0) <= len(explained):
        in_use = [reason for reason in in_use if reason != "has partitions"]
        held -= TABLES
    if "has partitions" in in_use:
        held -= TABLES
    if osds and content.get("groups") and not content.get("volumes"):
        in_use = [why for why in in_use if why not in {f"LVM member of {group}" for group in content["groups"]}]
        held -= {"LVM2_member"}
    in_use += [f"holds {kind}" for kind in sorted(held)]
    return {**disk, "in_use": in_use, "osds": [_osd(found) for found in osds]}


def _osd(found: Mapping) -> dict:
    """A label or logical volume in the inventory's words; its device stays out, names of partitions move."""
    return {key: found[key] for key in OSD if found.get(key) is not None}


def _forget_begun(disks: list[dict], ready: Collection[str]) -> None:
    """Slots without a label are no part of an OSD where none of it has one yet, and where it was ``ready`` without
    them: a move made these. The stored plan, which made both, says where they belong."""
    made = {osd["fsid"] for disk in disks for osd in disk["osds"] if not osd.get("begun")}
    for disk in disks:
        disk["osds"] = [
            osd for osd in disk["osds"] if osd["fsid"] in made and not (osd.get("begun") and osd["fsid"] in ready)
        ]


def _name_clusters(disks: list[dict]) -> None:
    """DB and WAL labels name no cluster and no id: their data label, on the same host, does."""
    data = {osd["fsid"]: osd for disk in disks for osd in disk["osds"] if osd["role"] == "data"}
    for disk in disks:
        for osd in disk["osds"]:
            for key in ("id", "cluster"):
                if key not in osd and key in data.get(osd["fsid"], {}):
                    osd[key] = data[osd["fsid"]][key]
