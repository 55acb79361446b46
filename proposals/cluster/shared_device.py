"""Which OSDs lie behind a DB or WAL device, what is at risk with them, and what is typed once they are given up.

Nothing here opens a file or asks a minion.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from proposals.cluster import wiping
from proposals.text.errors import ArgumentError
from proposals.text.names import shown
from proposals.text.notes import counted, several

ROLES = ("db", "wal")


def find(host: str, typed: object, osds: Mapping[str, Mapping], disks: Mapping[str, Mapping], kept: Mapping) -> str:
    """Return the id of the DB or WAL device that was typed: its id, or its serial number.

    host
        The minion.
    osds
        Its planned OSDs by data disk: ``{disk: {uuids, db, db_size, ...}}``.
    disks
        What its profile recorded of each disk: ``{id: {size, serial}}``.
    kept
        ``osd_waiting.kept``'s answer.

    Raises ArgumentError for anything else.
    """
    text = str(typed)
    carriers = sorted({each[role] for each in (*osds.values(), *kept.values()) for role in ROLES if each.get(role)})
    named = {device: str(disks.get(device, {}).get("serial")) for device in carriers}
    found = [device for device, serial in named.items() if text in (device, serial)]
    if len(found) == 1:
        return found[0]
    if any(text in (disk, str(disks.get(disk, {}).get("serial"))) for disk in osds):
        raise ArgumentError(f"{host} {shown(text)} is a data disk: 'salt-run osd.replace NUMBER' gives its OSD up")
    listed = ", ".join(f"{device} (serial {serial})" for device, serial in named.items())
    raise ArgumentError(
        f"device={shown(text)}: expected the id (/dev/disk/by-id/...) or the serial number of a DB or WAL device of "
        f"{host}: {listed or 'none is planned there'}"
    )


def lying(osd: Mapping, parts: Mapping[str, Mapping] | None) -> Mapping:
    """Return a planned OSD with the devices of DB and WAL on which it lies.

    parts
        Of the OSD, as its host has it: ``{role: {disk, size}}``; None where it does not know it.
    """
    if parts is None:
        return osd
    places = {role: parts.get(role, {}) for role in ROLES}
    return {
        **osd,
        **{role: part.get("disk") for role, part in places.items()},
        **{f"{role}_size": part.get("size") for role, part in places.items()},
    }


def behind(
    device: str,
    osds: Mapping[str, Mapping],
    disks: Mapping[str, Mapping],
    kept: Mapping[str, Mapping],
    cls: str | None,
) -> dict[str, dict[str, Any]]:
    """Return the place of each OSD behind a device: ``{fsid: {data, serial, db, db_size, wal, wal_size, class}}``.

    Those that are kept lay there, whatever is planned by now. Arguments as for ``find``; ``cls`` is the device's class.
    """
    places = {fsid: dict(place) for fsid, place in kept.items() if device in (place.get("db"), place.get("wal"))}
    for data, osd in osds.items():
        if device in (osd.get("db"), osd.get("wal")):
            place = {key: osd.get(key) for role in ROLES for key in (role, f"{role}_size")}
            place |= {"data": data, "serial": disks.get(data, {}).get("serial"), "class": cls}
            places |= {fsid: place for fsid in osd.get("uuids") or () if fsid not in kept}
    return places


def risk(groups: Iterable[Mapping], ids: Collection[int]) -> list[str]:
    """Return what is at risk with some OSDs, line by line; empty where nothing is.

    groups
        ``cluster_osds.at_risk``'s answer: ``[{group, pool, state, osds, waits_for}]``.
    """
    listed = list(groups)
    mapped = [_told(group) for group in listed if not _alone(group, ids)]
    copied = f"still to be copied: {counted(len(mapped), 'placement group')}: {several(mapped, 'more')}"
    return [*lost(listed, ids), *([copied] if mapped else [])]


def lost(groups: Iterable[Mapping], ids: Collection[int]) -> list[str]:
    """Return what would be lost with some OSDs, as no other one has it; arguments as for ``risk``."""
    alone = [_told(group) for group in groups if _alone(group, ids)]
    return [f"what no other OSD has: placement groups {', '.join(alone)}"] if alone else []


def _alone(group: Mapping, ids: Collection[int]) -> bool:
    return set(group["osds"]) <= set(ids) or bool(set(group["waits_for"]) & set(ids))


def _told(group: Mapping) -> str:
    return f"{group['group']} of pool {shown(group['pool'])} ({shown(group['state'])})"


def wipe_lines(host: str, places: Iterable[Mapping]) -> list[str]:
    """Return the command that wipes each data disk, to be typed by a person: ``yes=true`` is left to them."""
    disks = {place["data"]: place.get("serial") for place in places}
    return [f"  {wiping.command(host, disk, serial)}" for disk, serial in sorted(disks.items())]
