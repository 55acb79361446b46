"""From an inventory and arguments to the answer: who gets which disk, and why."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from proposals.disks import advice, checks, history, hostplan, losses, shape
from proposals.disks.arguments import Arguments
from proposals.disks.shape import Origin, Placed, Shape
from proposals.disks.values import HostPlan, Planned
from proposals.files.gc_paused import uncollected
from proposals.inventory import inventory
from proposals.inventory.disk import Disk
from proposals.inventory.inventory import Host, Inventory
from proposals.text.errors import PlanError
from proposals.text.notes import HINT, WARNING, Note, merged

VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}  # RFC 9562's, of a UUID


@dataclass(frozen=True, slots=True)
class Plan:
    """The answer of ``peek``: every targeted host, every disk with role or reason."""

    arguments: Arguments
    inventory: Inventory
    hosts: tuple[Planned, ...]
    notes: Mapping[str, tuple[Note, ...]]
    general: tuple[Note, ...]

    @uncollected()
    def as_dict(self) -> dict:
        """The answer as docs/reference/proposal.md has it: plain data for JSON and YAML, in one order."""
        hosts = {planned.host.id: self.host_dict(planned) for planned in self.hosts}
        summary = losses.summary(hosts)
        for host in hosts.values():
            losses.shares(host, summary["raw_bytes"])
        return {
            "name": self.arguments.name,
            "arguments": dict(self.arguments.typed),
            "hosts": hosts,
            "warnings": self.lines(WARNING),
            "hints": self.lines(HINT),
            "summary": summary,
        }

    def lines(self, level: str) -> list[str]:
        """Warnings or hints, one line for each group of equal hosts."""
        general = [note.text for note in self.general if note.level == level]
        return general + merged(self.notes, level)

    def host_dict(self, planned: Planned) -> dict:
        """One host's part of the answer."""
        disks, plan = planned.host.disks, planned.plan
        existing = zip(planned.shape.existing, planned.origins, strict=True)
        new = Origin(None, None, False, self.arguments.format, self.arguments.encryption)
        osds = [_osd(one, origin, disks, origin.uuid) for one, origin in existing]
        osds += [_osd(one, new, disks, _uuid(planned.host.id, disks[one.data], one.part)) for one in plan.osds]
        listed = [
            {"id": disk.id, "class": disk.cls, "size": disk.size, "role": role, "reason": reason}
            for disk, role, reason in zip(disks, plan.roles, plan.reasons, strict=True)
        ]
        lost = [{"id": disks[one.disk].id, "osds": one.osds, "raw_bytes": one.raw} for one in plan.losses]
        candidates = [one._asdict() for one in plan.candidates]
        return {"layout": plan.layout, "osds": osds, "disks": listed, "candidates": candidates, "devices": lost}


def _osd(one: Placed, origin: Origin, disks: tuple[Disk, ...], uuid: str | None) -> dict:
    return {
        "data": disks[one.data].id,
        "db": None if one.db is None else disks[one.db].id,
        "wal": None if one.wal is None else disks[one.wal].id,
        "db_size": one.db_size,
        "wal_size": one.wal_size,
        "format": origin.format,
        "encryption": origin.encryption,
        "uuid": uuid,
        "existing": origin.existing,
    }


@uncollected()
def peek(
    raw: Mapping, arguments: Arguments, stored: Mapping | None = None, targets: Collection[str] | None = None
) -> Plan:
    """Plan the hosts of the inventory ``raw``; nothing is written.

    ``stored`` is a proposal.json read back: with the same arguments, what it placed stays. ``targets``
    names the hosts (the runner has matched them); without it ``target`` is a glob over the inventory's ids.
    Raises a ProposalError with the one message where the input, a filter or what was asked is wrong.

    CLI: ``python -m proposals peek INVENTORY ratio=9 db=740-770``"""
    found = inventory.read(raw, arguments.target, targets)
    checks.filters(found, arguments)
    before = stored.get("hosts", {}) if stored else {}
    same = bool(stored) and stored.get("arguments") == dict(arguments.typed)
    plans: dict[Shape, HostPlan] = {}
    masks = shape.Masks(arguments)
    planned = []
    for host in found.hosts:
        past = before.get(host.id) if same else None
        look, origins = shape.build(host, masks, past)
        origins = history.recalled(origins, before.get(host.id)) if origins else ()
        planned.append(Planned(host, look, _plan(look, arguments, host, plans), origins))
    checks.layout(planned, arguments)
    notes = {one.host.id: one.plan.notes for one in planned}
    for one in planned:
        if one.shape.existing:
            lost = history.fallen(one, before.get(one.host.id, {}))
            notes[one.host.id] += tuple(Note(WARNING, text) for text in lost)
    unread = [Note(WARNING, f"{text}: left out") for text in found.unread]
    made = Plan(arguments, found, tuple(planned), notes, (*unread, *advice.general(planned, arguments)))
    return made if same or not before else _with_moves(made, before)


def _with_moves(made: Plan, before: Mapping) -> Plan:
    """``made`` with a warning for each host on which the stored proposal placed something otherwise."""
    notes = dict(made.notes)
    for planned in made.hosts:
        moves = history.moves(before.get(planned.host.id, {}), made.host_dict(planned))
        notes[planned.host.id] = (*notes[planned.host.id], *(Note(WARNING, text) for text in moves))
    return replace(made, notes=notes)


def _plan(look: Shape, arguments: Arguments, host: Host, plans: dict[Shape, HostPlan]) -> HostPlan:
    known = plans.get(look)
    if known is None:
        try:
            known = plans[look] = hostplan.plan(look, arguments)
        except PlanError as error:
            raise PlanError(f"{host.id}: {error}") from error
    return known


def _uuid(host: str, disk: Disk, part: int) -> str:
    return make_uuid(f"{host}\0{disk.id}\0{disk.wwn}\0{disk.serial}\0{part}")


def make_uuid(text: str) -> str:
    """A UUID made from ``text`` alone (version 8 of RFC 9562: made by a rule of one's own)."""
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-{VARIANT[digest[16]]}{digest[17:20]}-{digest[20:]}"
