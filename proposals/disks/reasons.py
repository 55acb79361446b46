"""Why each disk got the role it has, and why those that got none did not."""

from collections.abc import Mapping

from proposals.disks import room, shortages
from proposals.disks.shape import DATA, EXCLUDE, Facts
from proposals.disks.values import Placement


def settle(placement: Placement, short: Mapping[int, str]) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
    """Role and reason of every disk, by position. ``short`` is why data disks were left over."""
    shape = placement.state.shape
    roles = ["unused"] * len(shape.disks)
    everything = (*shape.leaving, *shape.existing, *placement.state.placed)
    for role in ("wal", "db", "data"):
        for osd in everything:
            at = getattr(osd, role)
            if at is not None:
                roles[at] = role
    explain = _Reasons(placement, short)
    why = [None if role != "unused" else explain.of(at) for at, role in enumerate(roles)]
    return tuple(roles), tuple(why)


class _Reasons:
    """Answers for one host why a disk stays unused."""

    def __init__(self, placement: Placement, short: Mapping[int, str]) -> None:
        self.state, self.allocation, self.short = placement.state, placement.allocation, short
        self.arguments = placement.state.arguments
        self.layout = placement.layout or self.arguments.layout
        self.tiers = self.allocation.tiers if self.allocation else None
        self.data = set(self.tiers.data if self.tiers else self.state.pool.free)
        self.fast = {*self.tiers.db, *self.tiers.wal} if self.tiers else set()

    def of(self, at: int) -> str:
        disk, tiers = self.state.shape.disks[at], self.tiers
        if disk.reason:
            return disk.reason
        if disk.mask & EXCLUDE:
            return f"exclude={self.arguments.exclude and self.arguments.exclude.text}"
        if at in self.state.neighbours.strays:
            return shortages.strays_text(self.state.neighbours.strays[at])
        if self.short.get(at):
            return self.short[at]
        if self._over_limit(at, disk):
            return f"limit-data={self.arguments.limit_data} is reached"
        if tiers and at in tiers.small:
            return "holds less than half of the largest DB device: left out of the DB tier where no db filter is typed"
        if self.allocation and at in self.allocation.over:
            return room.over(self.allocation, self.arguments)
        if at in self.fast:
            return "no data disk is left for it"
        return self._unwanted(disk)

    def _over_limit(self, at: int, disk: Facts) -> bool:
        """Whether ``limit-data`` alone keeps a disk from being data."""
        return self.state.limit is not None and at in self.data and bool(disk.mask & DATA)

    def _unwanted(self, disk: Facts) -> str:
        named = [(name, getattr(self.arguments, name)) for name in ("data", "db", "wal")]
        missed = [f"{name}={filter_.text}" for name, filter_ in named if filter_]
        if not disk.mask & DATA or (missed and self.tiers and self.arguments.data and self.arguments.db):
            return f"matches neither {' nor '.join(missed)}" if len(missed) > 1 else f"does not match {missed[0]}"
        way = " (leftovers=true makes it an OSD)" if self.state.limit is None else ""
        return f"layout {self.layout} does not use it{way}"
