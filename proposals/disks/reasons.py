"""Why each disk got the role it has, and why those that got none did not."""

from __future__ import annotations

from proposals.disks import shortages
from proposals.disks.allocate import Allocation
from proposals.disks.arguments import Arguments
from proposals.disks.shape import DATA, EXCLUDE, Placed
from proposals.disks.values import State


def settle(
    state: State, allocation: Allocation | None, osds: tuple[Placed, ...], short: dict[int, str], arguments: Arguments
) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
    """Role and reason of every disk, by position. ``short`` is why data disks were left over."""
    disks = state.shape.disks
    roles = ["unused"] * len(disks)
    everything = (*state.shape.existing, *osds)
    for role in ("wal", "db", "data"):
        for one in everything:
            at = getattr(one, role)
            if at is not None:
                roles[at] = role
    explain = _Reasons(state, allocation, short, arguments)
    why = [None if role != "unused" else explain.of(at) for at, role in enumerate(roles)]
    return tuple(roles), tuple(why)


class _Reasons:
    """Answers for one host why a disk stays unused."""

    def __init__(self, state, allocation, short, arguments) -> None:
        self.state, self.allocation, self.short, self.arguments = state, allocation, short, arguments
        self.unplaced = set(allocation.unplaced) if allocation else set()
        self.beyond = set(allocation.tiers.data) - self.unplaced if allocation else set()

    def of(self, at: int) -> str:
        disk, tiers = self.state.shape.disks[at], self.allocation.tiers if self.allocation else None
        if disk.reason:
            return disk.reason
        if disk.mask & EXCLUDE:
            return f"exclude={self.arguments.exclude.text}"
        if at in self.state.neighbours.strays:
            return shortages.strays_text(self.state.neighbours.strays[at])
        if self.short.get(at):
            return self.short[at]
        if at in self.beyond or (not tiers and self._over_limit(at, disk)):
            return f"limit-data={self.arguments.limit_data} is reached"
        if tiers and at in tiers.small:
            return "holds less than half of the largest DB device: left out of the DB tier (db=... takes it in)"
        if tiers and at in self.allocation.over:
            return f"no WAL device is left for it: db-ratio={self.arguments.db_ratio} (a larger db-ratio uses it)"
        if tiers and at in (*tiers.db, *tiers.wal):
            return "no data disk is left for it"
        return self._unwanted(at, disk, tiers)

    def _over_limit(self, at, disk) -> bool:
        return self.state.limit is not None and at in self.state.pool.free and bool(disk.mask & DATA)

    def _unwanted(self, at, disk, tiers) -> str:
        given = [(name, getattr(self.arguments, name)) for name in ("data", "db", "wal")]
        missed = [f"{name}={wanted.text}" for name, wanted in given if wanted]
        if not disk.mask & DATA or (missed and tiers and self.arguments.data and self.arguments.db):
            return f"matches neither {' nor '.join(missed)}" if len(missed) > 1 else f"does not match {missed[0]}"
        layout = tiers.layout if tiers else self.arguments.layout
        return f"layout {layout} does not use it (leftovers=true makes it an OSD)"
