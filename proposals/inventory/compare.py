"""What differs between two proposals, two inventories, or one of each."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from proposals.inventory.disk import parse
from proposals.text.errors import InventoryError

KINDS = ("added", "removed", "replaced", "moved", "osds")


class Known(NamedTuple):
    """What both a proposal and an inventory tell of a disk."""

    id: str
    device: str | None
    size: int
    serial: str | None
    wwn: str | None
    path: str | None

    @property
    def identity(self) -> tuple:
        """What makes it this very disk, whatever it is called; a serial alone is not enough."""
        return ("wwn", self.wwn) if self.wwn else ("serial", self.serial, self.size) if self.serial else ("id", self.id)


def differences(old: Mapping, new: Mapping) -> dict:
    """``{"same": bool, "hosts": {host: {"added", "removed", "replaced", "moved", "osds": [lines]}}}``.

    Each side is a proposal.json or an inventory; OSDs are compared where both are proposals.
    Raises InventoryError for anything else.

    CLI: ``python -m proposals diff OLD NEW``"""
    before, after = _hosts(old), _hosts(new)
    hosts = {}
    for name in sorted(_compared(old, new, before) | _compared(new, old, after)):
        earlier, later = before.get(name, {}), after.get(name, {})
        changes = _disks(list(map(_known, _listed(earlier))), list(map(_known, _listed(later))))
        if "osds" in earlier and "osds" in later:
            changes["osds"] = _osds(earlier["osds"], later["osds"])
        changes = {kind: changes[kind] for kind in KINDS if changes.get(kind)}
        if changes:
            hosts[name] = changes
    return {"same": not hosts, "hosts": hosts}


def _hosts(told: Mapping) -> Mapping[str, Mapping]:
    hosts: Any = told.get("hosts") if isinstance(told, Mapping) else None
    good = isinstance(hosts, Mapping) and isinstance(told.get("arguments", {}), Mapping)
    if good and all(isinstance(host, Mapping) and _well_formed(host) for host in hosts.values()):
        return hosts
    raise InventoryError("diff compares proposals (proposal.json) and inventories: one of these files is neither")


def _well_formed(host: Mapping) -> bool:
    """Whether a host has a list of disks; of a proposal, whose entries say what is compared."""
    disks, osds = _listed(host), host.get("osds", [])
    if not isinstance(disks, list) or not isinstance(osds, list):
        return False
    planned = [disk for disk in disks if isinstance(disk, Mapping) and "role" in disk]
    return all(isinstance(disk.get("id"), str) and type(disk.get("size")) is int for disk in planned) and all(
        isinstance(osd, Mapping) and isinstance(osd.get("data"), str) and moves_are_told(osd) for osd in osds
    )


def moves_are_told(osd: Mapping) -> bool:
    """Whether what an OSD's entry says of its moves has their form; it need not say anything."""
    moves = osd.get("moves", {})
    return isinstance(moves, Mapping) and all(
        role in ("db", "wal")
        and isinstance(move, Mapping)
        and all(key in move and isinstance(move[key], str | None) for key in ("from", "to"))
        and (type(move.get("size")) is int if move["to"] else move.get("size") is None)
        for role, move in moves.items()
    )


def _compared(told: Mapping, other: Mapping, hosts: Mapping) -> set[str]:
    """Hosts of one side that count: an inventory beside a proposal may hold hosts that were not targeted."""
    if "arguments" in told or "arguments" not in other:
        return set(hosts)
    target = str(other["arguments"].get("target", "*"))
    return {name for name in hosts if name in other["hosts"] or fnmatchcase(name, target)}


def _listed(host: Mapping) -> Any:
    """A host's disks, of a proposal or an inventory."""
    return host.get("disks", host.get("ceph_disks", [] if not host else None))


def _known(raw: object) -> Known:
    if isinstance(raw, Mapping) and "role" in raw:
        return Known(raw["id"], raw.get("device"), raw["size"], raw.get("serial"), raw.get("wwn"), raw.get("path"))
    disk = parse(raw)
    return Known(disk.id, disk.device, disk.size, disk.serial, disk.wwn, disk.path)


def _disks(old: list[Known], new: list[Known]) -> dict[str, list[str]]:
    changes: dict[str, list[str]] = {kind: [] for kind in KINDS}
    there = {disk.identity: disk for disk in new}
    gone = [disk for disk in old if disk.identity not in there]
    for disk in old:
        now = there.get(disk.identity)
        if now and (disk.id, disk.device or now.device) != (now.id, now.device):
            changes["moved"].append(f"{_named(disk)} is now {_named(now)}")
    known = {disk.identity for disk in old}
    come = [disk for disk in new if disk.identity not in known]
    for disk in gone:
        place = next((one for one in come if one.id == disk.id or (one.path and one.path == disk.path)), None)
        if place is None:
            place = next((one for one in come if disk.device and one.device == disk.device), None)
        if place is None:
            changes["removed"].append(_told(disk))
        else:
            come.remove(place)
            changes["replaced"].append(f"{_told(disk)} by {_told(place)}")
    changes["added"] = list(map(_told, come))
    return {kind: sorted(lines) for kind, lines in changes.items()}


def _named(disk: Known) -> str:
    return f"{disk.device} ({disk.id})" if disk.device and disk.device != disk.id else disk.id


def _told(disk: Known) -> str:
    serial = f", serial {disk.serial}" if disk.serial else ""
    return f"{_named(disk)}, {disk.size} bytes{serial}"


def _osds(old: Iterable[Mapping], new: Iterable[Mapping]) -> list[str]:
    before, after = _by_part(old), _by_part(new)
    lines = []
    for data, part in sorted({*before, *after}):
        earlier, later = before.get((data, part)), after.get((data, part))
        if earlier is None or later is None:
            lines.append(f"{data}: OSD {'added' if earlier is None else 'removed'}")
            continue
        changed = [key for key in earlier if key not in ("existing", "moves") and earlier[key] != later.get(key)]
        lines += [f"{data}: {key} {earlier[key]} -> {later.get(key)}" for key in changed]
        lines += [f"{data}: {line}" for line in _moves(earlier.get("moves") or {}, later.get("moves") or {})]
    return lines


def _moves(old: Mapping, new: Mapping) -> list[str]:
    """Moves of one OSD's parts that only one side plans, or each to another place."""
    lines = []
    for role in sorted(role for role in {*old, *new} if old.get(role) != new.get(role)):
        move = new.get(role)
        if move is None:
            lines.append(f"{role} stays where it lies, and was to move to {old[role]['to'] or 'the data disk'}")
            continue
        size = f", {move['size']} bytes" if move["size"] else ""
        lines.append(f"{role} moves from {move['from'] or 'the data disk'} to {move['to'] or 'the data disk'}{size}")
    return lines


def _by_part(osds: Iterable[Mapping]) -> dict[tuple[str, int], Mapping]:
    found: dict[tuple[str, int], Mapping] = {}
    for osd in osds:
        part = sum(1 for data, _ in found if data == osd["data"]) if (osd["data"], 0) in found else 0
        found[osd["data"], part] = osd
    return found
