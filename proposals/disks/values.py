"""What the planner's steps hand on: what lies there, what was tried, a host's plan. All frozen."""

from dataclasses import dataclass
from typing import NamedTuple

from proposals.disks.layouts import Pool
from proposals.disks.losses import Loss
from proposals.disks.shape import Origin, Placed, Shape
from proposals.disks.slots import Neighbours
from proposals.inventory.inventory import Host
from proposals.text.notes import Note


class Candidate(NamedTuple):
    """A layout that was tried, with the numbers that decide between it and the others."""

    layout: str
    osds: int
    data_disks: int
    behind_bytes: int  # raw capacity behind a faster DB
    lost_at_most: int  # OSDs that fall with one DB or WAL device
    fits: bool
    why_not: str | None


class HostPlan(NamedTuple):
    """What one shape becomes. ``osds`` are the new ones, by data disk; roles and reasons stand by position."""

    layout: str | None
    osds: tuple[Placed, ...]
    roles: tuple[str, ...]
    reasons: tuple[str | None, ...]
    candidates: tuple[Candidate, ...]
    notes: tuple[Note, ...]
    losses: tuple[Loss, ...]


class State(NamedTuple):
    """What lies on the disks before anything new is placed."""

    shape: Shape
    pinned: tuple[Placed, ...]
    neighbours: Neighbours
    pool: Pool
    limit: int | None


@dataclass(frozen=True, slots=True)
class Planned:
    """One host with its plan."""

    host: Host
    shape: Shape
    plan: HostPlan
    origins: tuple[Origin, ...]
