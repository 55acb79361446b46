"""From an inventory and arguments to the answer: who gets which disk, and why."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from proposals.disks import advice, checks, faults, history, hostplan, losses, moves, shape, shelves, waiting, ways
from proposals.disks.arguments import DiskArguments
from proposals.disks.fsids import fsid
from proposals.disks.shape import Origin, Placed, Shape
from proposals.disks.values import HostPlan, PlannedHost
from proposals.files.gc_paused import uncollected
from proposals.inventory import inventory
from proposals.inventory.inventory import Host, Inventory
from proposals.text.errors import PlanError
from proposals.text.notes import HINT, WARNING, Note, merged


@dataclass(frozen=True, slots=True)
class DiskPlan:
    """The answer of ``peek``: every targeted host, every disk with role or reason."""

    arguments: DiskArguments
    inventory: Inventory
    hosts: tuple[PlannedHost, ...]
    notes: Mapping[str, Sequence[Note]]
    general: Sequence[Note]
    before: Mapping[str, Mapping]  # hosts of the stored proposal
    shelves: Sequence[shelves.Shelf]  # those that hosts share

    @uncollected()
    def as_dict(self) -> dict:
        """The answer as docs/reference/proposal.md has it: plain data for JSON and YAML, in one order."""
        hosts = {planned.host.id: self.host_dict(planned) for planned in self.hosts}
        summary = losses.summary(hosts)
        waits = {planned.host.id: planned.waits.fsids for planned in self.hosts}
        moved = {name: history.moves(self.before.get(name), host, waits[name]) for name, host in hosts.items()}
        for host in hosts.values():
            losses.shares(host, summary["raw_bytes"])
        return {
            "name": self.arguments.name,
            "arguments": dict(self.arguments.typed),
            "hosts": hosts,
            "warnings": self.lines(WARNING) + merged(moved, WARNING),
            "hints": self.lines(HINT),
            "summary": summary,
            **({"shelves": shelves.told(self.shelves, summary["raw_bytes"])} if self.shelves else {}),
        }

    def lines(self, level: str) -> list[str]:
        """Warnings or hints, one line for each group of equal hosts; without what moved since the stored proposal."""
        return merged({**self.notes, "": self.general}, level, advice.ORDER)

    def host_dict(self, planned: PlannedHost) -> dict:
        """One host's part of the answer."""
        disks, plan = planned.host.disks, planned.plan
        ids = [disk.id for disk in disks]
        existing = zip(planned.shape.existing, planned.origins, strict=True)
        new = Origin(None, None, False, self.arguments.format, self.arguments.encryption)
        osds = [_osd(one, origin, ids, origin.fsid) for one, origin in existing]
        for at, to in plan.moves.items():
            osds[at]["moves"] = moves.as_dict(planned.shape.existing[at], to, ids)
        osds += [_osd(one, new, ids, fsid(planned.host.id, disks[one.data], one.part)) for one in plan.osds]
        listed = [
            {"id": disk.id, "class": disk.cls, "size": disk.size, "role": role, "reason": reason}
            for disk, role, reason in zip(disks, plan.roles, plan.reasons, strict=True)
        ]
        lost = losses.told(plan.losses, ids)
        if plan.moves:
            now = losses.by_device(planned.shape.disks, planned.shape.existing)
            lost = losses.beside(lost, losses.told(now, ids))
        candidates = [one._asdict() for one in plan.candidates]
        stands = waiting.in_place_of(planned.host, planned.waits)
        answer = {"layout": plan.layout, "osds": osds, "disks": listed, "candidates": candidates, "devices": lost}
        return {**answer, **({"in_place_of": stands} if stands else {})}


def _osd(placed: Placed, origin: Origin, ids: Sequence[str], uuid: str | None) -> dict:
    data, _, db, wal, db_size, wal_size = placed
    told = {
        "data": ids[data],
        "db": None if db is None else ids[db],
        "wal": None if wal is None else ids[wal],
        "db_size": db_size,
        "wal_size": wal_size,
        "format": origin.format,
        "encryption": origin.encryption,
        "uuid": uuid,
        "existing": origin.existing,
    }
    return {**told, "missing": list(origin.missing), **dict(origin.lost)} if origin.missing else told


@uncollected()
def peek(
    raw: Mapping, arguments: DiskArguments, stored: Mapping | None = None, targets: Collection[str] | None = None
) -> DiskPlan:
    """Plan the hosts of the inventory ``raw``; nothing is written.

    ``stored`` is a proposal.json read back: where it planned a host with the same arguments, layout and what it
    placed stay. ``targets`` names the hosts (the runner has matched them); without it ``target`` is a glob over the
    inventory's ids. Raises a ProposalError with the one message where the input, a filter or what was asked is wrong.

    CLI: ``python -m proposals peek INVENTORY ratio=9 db=740-770``"""
    targeted = inventory.read(raw, arguments.target, targets)
    checks.filters(targeted, arguments)
    before = history.Stored(stored, arguments.typed)
    plans: dict[Shape, HostPlan] = {}
    masks = shape.Masks(arguments)
    planned = []
    for host in targeted.hosts:
        look, origins = shape.build(host, masks, before.same(host.id))
        look, waits = waiting.settle(host, look, before.hosts.get(host.id, {}))
        if origins:
            origins = history.recalled(origins, look.existing, before.hosts.get(host.id, {}), host.disks)
            look = look._replace(fixed=moves.fixed(look, origins))
        planned.append(PlannedHost(host, look, _plan(look, arguments, host, plans), origins, waits))
    checks.layout(planned, arguments)
    notes_of = ways.told(plans, arguments)
    notes = {
        one.host.id: [
            *notes_of[one.shape],
            *faults.notes(one),
            *waiting.notes(one.host, one.waits),
            *advice.memory(one),
        ]
        for one in planned
    }
    unread = [Note(WARNING, f"{text}: left out") for text in targeted.unread]
    beside = shelves.shared(raw.get("hosts") or {}, planned)
    general = [*unread, *history.kept_notes(before.kept(notes)), *advice.general(planned, arguments)]
    general += [*shelves.notes(beside, planned), *advice.source(raw.get("notes"))]
    return DiskPlan(arguments, targeted, tuple(planned), notes, general, before.hosts, beside)


def _plan(look: Shape, arguments: DiskArguments, host: Host, plans: dict[Shape, HostPlan]) -> HostPlan:
    known = plans.get(look)
    if known is None:
        try:
            known = plans[look] = hostplan.plan(look, arguments)
        except PlanError as error:
            raise PlanError(f"{host.id}: {error}") from error
    return known
