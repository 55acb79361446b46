"""What the planner's steps hand on: what lies there, what was tried, a host's plan. All frozen."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from proposals.disks.allocate import Allocation
from proposals.disks.arguments import DiskArguments
from proposals.disks.layouts import Pool
from proposals.disks.losses import Loss
from proposals.disks.shape import Origin, Placed, Shape
from proposals.disks.slots import Neighbours
from proposals.disks.waiting import Waits
from proposals.inventory.inventory import Host
from proposals.text.notes import Note


class Candidate(NamedTuple):
    """A layout that was tried, with the numbers that decide between it and the others."""

    layout: str | None
    osds: int
    data_disks: int
    behind_bytes: int  # raw capacity behind a faster DB
    lost_at_most: int  # OSDs that fall with one device
    fits: bool
    why_not: str | None
    chosen: bool = False


class Attempt(NamedTuple):
    """A layout that was tried on what lies on the disks: its numbers, and what would go where."""

    candidate: Candidate
    allocation: Allocation


class State(NamedTuple):
    """A host at one moment of planning: what lies on its disks or was placed, and what may still be used.

    ``placed`` are OSDs beside those that exist, ``limit`` the data disks that ``limit-data`` still allows."""

    shape: Shape
    arguments: DiskArguments
    placed: tuple[Placed, ...]
    neighbours: Neighbours
    pool: Pool
    limit: int | None


class Placement(NamedTuple):
    """A host with everything in its place; whether an OSD was placed now or is a stored plan's makes no difference.

    ``allocation`` is the chosen layout with all its OSDs lying there, so that it places nothing more; None where
    no layout with DB or WAL devices was chosen, and ``layout`` is None too. ``standalone``: every disk that may be
    data became an OSD of its own."""

    state: State
    allocation: Allocation | None
    layout: str | None
    standalone: bool


class HostPlan(NamedTuple):
    """What one shape becomes. ``osds`` are the new ones, by data disk; roles and reasons stand by position.
    ``moves`` is where OSDs that exist are to lie, by position in the shape's ``existing``; losses are those after."""

    layout: str | None
    osds: tuple[Placed, ...]
    roles: tuple[str, ...]
    reasons: tuple[str | None, ...]
    candidates: tuple[Candidate, ...]
    notes: tuple[Note, ...]
    losses: tuple[Loss, ...]
    moves: Mapping[int, Placed]


@dataclass(frozen=True, slots=True)
class PlannedHost:
    """One host with its plan."""

    host: Host
    shape: Shape
    plan: HostPlan
    origins: tuple[Origin, ...]
    waits: Waits = Waits()
