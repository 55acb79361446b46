"""One disk as the planner sees it: read from what a minion sent, checked, classed."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from proposals.text import names

CLASSES = ("hdd", "ssd", "nvme")  # slow to fast; DeepSea says "spinner" for hdd
SPEED = {cls: speed for speed, cls in enumerate(CLASSES)}
ROLES = {"data": "data", "db": "db", "wal": "wal", "journal": "db"}  # filestore's journal stands in db
LABELS = ("transport", "vendor", "model", "serial", "wwn", "path")
RESERVED = "reserved: "
ODD_ENTRY = "an entry of its OSDs is not understood"
DEAD = ("does not answer", "size 0")
_FAULT = re.compile(
    r"(^|; )(does not answer|size 0|has no (size|device)|size is not|does not say whether|an entry|entry is not)"
    r"|not (an )?acceptable"
)
_BLANKS = re.compile(r" *\t *")
STATES = ("in-use", "destroyed", "orphan")
LARGEST = (1 << 63) - 1  # bytes of a disk, as the kernel counts them; more is no size
HIGHEST = (1 << 31) - 1  # id of an OSD, as Ceph counts them


class Resident(NamedTuple):
    """A part of an OSD that lies on a disk: its data, its DB or its WAL. ``size`` is bytes.

    ``owner`` tells OSDs apart: the fsid, or ``osd.ID`` where no entry of the host tells one."""

    owner: str
    osd_id: int | None
    fsid: str | None
    role: str
    size: int | None
    offset: int
    state: str
    cluster: str | None
    format: str | None  # None where the inventory does not tell
    encryption: str | None


class Disk(NamedTuple):
    """A disk. ``id`` is its stable name, ``reason`` why it gets no new role (None: it may)."""

    id: str
    device: str
    size: int
    cls: str
    rotational: bool | None
    transport: str | None
    vendor: str | None
    model: str | None
    serial: str | None
    wwn: str | None
    path: str | None
    reason: str | None
    residents: tuple[Resident, ...]


KIND = slice(2, 8)  # of a Disk, what equal disks share: size, class, rotation, transport, vendor, model


@cache
def is_fault(reason: str) -> bool:
    """Whether a disk's reason says that it failed, is silent or is told badly, and not that it is in use."""
    return bool(_FAULT.search(reason))


def is_silent(reason: str | None) -> bool:
    """Whether a disk's reason says that nothing runs behind it."""
    return any(part.startswith(DEAD) for part in (reason or "").split("; "))


def parse(raw: object) -> Disk:
    """The disk that one entry of ``ceph_disks`` describes. Never raises: what is wrong is its reason."""
    if type(raw) is not dict and not isinstance(raw, Mapping):  # the quick question first
        return _odd("(not a disk)", "(not a disk)", f"entry is not a mapping: {names.shown(raw)}")
    get = raw.get
    device, size, rotational = get("device"), get("size"), get("rotational")
    id_ = get("id") or device
    if type(device) is not str or type(id_) is not str:
        return _hostile(raw, device, id_)
    transport, vendor, model = get("transport") or "", get("vendor") or "", get("model") or ""
    texts = [device, id_, transport, vendor, model, get("serial") or "", get("wwn") or "", get("path") or ""]
    try:
        line = "\t".join(texts)
    except TypeError:  # YAML reads an unquoted serial as a number
        texts = list(map(str, texts))
        line = "\t".join(texts)
    if not names.plain(line) and not _acceptable(raw, device, id_):
        return _hostile(raw, device, id_)
    if " \t" in line or "\t " in line:
        texts = _BLANKS.sub("\t", line).split("\t")
    device, id_, transport, vendor, model, serial, wwn, path = texts
    in_use = get("in_use")
    rotational = rotational if type(rotational) is bool else None
    measured = type(size) is int and 0 < size <= LARGEST
    reason = None if measured and rotational is not None and not in_use else _reasons(size, rotational, in_use)
    residents: tuple[Resident, ...] = ()
    if listed := get("osds"):
        residents, odd = _residents(listed)
        reason = "; ".join(filter(None, (reason, odd))) or None
    cls = "hdd" if rotational else "nvme" if transport == "nvme" else "ssd"
    size = size if measured else 0
    if not wwn and "/wwn-" in id_:
        wwn = id_.rpartition("/wwn-")[2]
    if transport == "loop" and not reason:
        reason = "loop device"
    transport, vendor, model = transport or None, vendor or None, model or None
    serial, wwn, path = serial or None, wwn or None, path or None
    return tuple.__new__(  # as Disk._make makes it, without one more function called for each disk
        Disk, (id_, device, size, cls, rotational, transport, vendor, model, serial, wwn, path, reason, residents)
    )


def _reasons(size: object, rotational: bool | None, in_use: object) -> str | None:
    """Why a disk gets no new role: what its measures lack, and what the minion says of it."""
    listed = in_use if isinstance(in_use, list) else [in_use] if in_use else []
    return "; ".join(filter(None, [_measures(size, rotational), *map(_reason, listed)])) or None


def _measures(size: object, rotational: bool | None) -> str | None:
    if size is None:
        return "has no size in bytes"
    if type(size) is not int or not 0 <= size <= LARGEST:
        return f"size is not understood: {names.shown(size)}"
    if size == 0:
        return "size 0"
    return "does not say whether it rotates" if rotational is None else None


def _reason(entry: object) -> str:
    """One reason as it is shown; ``reserved: TEXT`` is the only one with a colon and a blank."""
    text = str(entry)
    known = RESERVED if text.startswith(RESERVED) else ""
    return known + names.shown(text.removeprefix(known))


def _acceptable(raw: Mapping, device: str, id_: str) -> bool:
    labels = (raw.get(key) for key in LABELS)
    return names.is_device(device) and names.is_device(id_) and all(names.is_label(str(one or "")) for one in labels)


def _hostile(raw: Mapping, device: Any, id_: Any) -> Disk:
    """A disk whose texts do not keep to the written patterns: unusable, everything shown escaped.

    The offending text is taken away and the rest read, so that OSDs on the disk stay in the answer."""
    if not names.is_device(device):
        shown = "(no device)" if device is None else names.shown(device)
        reason = "has no device name" if device is None else f"device is not an acceptable path: '{shown}'"
        known = id_ if names.is_device(id_) else shown
        return _odd(known, shown, reason)
    if not names.is_device(id_):
        reason = f"id is not an acceptable path: '{names.shown(id_)}'"
        return parse({**raw, "id": device})._replace(reason=reason)
    for key in LABELS:
        text = raw.get(key)
        if text and not names.is_label(str(text)):
            reason = f"{key} is not acceptable text: '{names.shown(text)}'"
            return parse({**raw, key: None})._replace(reason=reason)
    return _odd(id_, device, "its names are not acceptable text together")


def _odd(id_: str, device: str, reason: str) -> Disk:
    return Disk(id_, device, 0, "ssd", None, None, None, None, None, None, None, reason, ())


def _residents(listed: object) -> tuple[tuple[Resident, ...], str | None]:
    """The entries that are understood, and what the first of the others is: it hides none of them."""
    residents, odd = [], []
    for entry in listed if isinstance(listed, list) else [listed]:
        resident = _resident(entry)
        (odd.append(entry) if resident is None else residents.append(resident))
    residents.sort(key=lambda one: (one.offset, one.role, one.owner))
    more = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
    reason = f"{ODD_ENTRY}: {names.shown(_entry(odd[0]))}{more}" if odd else None
    return tuple(residents), reason


def _entry(entry: object) -> str:
    """An entry as it is shown: ``id 4, fsid not-a-uuid, role db``."""
    if not isinstance(entry, Mapping):
        return str(entry)
    return ", ".join(f"{key} {entry[key]}" for key in ("id", "fsid", "role", "cluster", "state") if entry.get(key))


def _resident(entry: object) -> Resident | None:
    if not isinstance(entry, Mapping):
        return None
    osd_id, fsid, cluster = entry.get("id"), entry.get("fsid"), entry.get("cluster")
    role, state = ROLES.get(str(entry.get("role"))), entry.get("state") or "in-use"
    size, offset = entry.get("size"), entry.get("offset") or 0
    fsid = fsid.lower() if isinstance(fsid, str) else fsid
    cluster = cluster.lower() if isinstance(cluster, str) else cluster
    plain = all(text is None or (isinstance(text, str) and names.UUID.fullmatch(text)) for text in (fsid, cluster))
    whole = all(
        value is None or (type(value) is int and 0 <= value <= most)
        for value, most in ((osd_id, HIGHEST), (size, LARGEST), (offset, LARGEST))
    )
    if not plain or not whole or role is None or state not in STATES or (fsid is None and osd_id is None):
        return None
    store = "filestore" if entry.get("role") == "journal" else entry.get("format")
    store = store if store in ("bluestore", "filestore") else None
    encryption = "dmcrypt" if entry.get("encryption") == "dmcrypt" else None
    return Resident(fsid or f"osd.{osd_id}", osd_id, fsid, role, size, offset, state, cluster, store, encryption)
