"""What the states of placement groups mean.

Their words are those of ``pg_state_string`` in Ceph's src/osd/osd_types.cc (16.2); docs.ceph.com, rados/operations/
pg-states, says what each stands for. A state is several of them, joined by ``+``.
"""

from collections.abc import Mapping
from typing import NamedTuple

NOT_SERVED = {"down", "incomplete", "stale", "unknown"}  # and every state without ``active``
BEGINS = {"peering", "creating", "activating", "unknown"}  # of those not served: it passes where nothing is in its way
DAMAGED = {"inconsistent", "failed_repair", "recovery_unfound", "backfill_unfound", "snaptrim_error"}
LACKING = {"undersized", "degraded", "backfill_toofull", "recovery_toofull"}
COPYING = {"backfilling", "backfill_wait", "recovering", "recovery_wait"}  # now, or when it is their turn
SCRUBBED = {"scrubbing", "deep"}
SOUND = {"active", "clean"} | SCRUBBED


class Groups(NamedTuple):
    """How many placement groups are in each state, by what it means. One that nobody serves is in no other."""

    not_served: dict[str, int]  # no client reads or writes them
    beginning: dict[str, int]  # nor these, while OSDs agree, or a manager has just begun and knows nothing
    damaged: dict[str, int]  # they serve, and have lost objects or copies
    waiting: dict[str, int]  # they serve, and lack copies or a place that nobody makes now
    moving: dict[str, int]  # they serve, while copies are made, moved or trimmed
    scrubbed: dict[str, int]  # sound, and being read to prove it


def sorted_out(states: Mapping[str, int]) -> Groups:
    """Return placement groups by what their state means; sound ones are left out.

    states
        How many are in each state, as ``ceph status`` names it: ``{"active+clean": 33}``.
    """
    by_meaning = Groups({}, {}, {}, {}, {}, {})
    for state, count in states.items():
        words = set(state.split("+"))
        if "active" not in words or words & NOT_SERVED:
            begins = words & BEGINS and not words & (NOT_SERVED - BEGINS)
            (by_meaning.beginning if begins else by_meaning.not_served)[state] = count
        elif words & DAMAGED:
            by_meaning.damaged[state] = count
        elif words & LACKING and not words & COPYING:
            by_meaning.waiting[state] = count
        elif words - SOUND or "clean" not in words:
            by_meaning.moving[state] = count
        elif words & SCRUBBED:
            by_meaning.scrubbed[state] = count
    return by_meaning


def told(states: Mapping[str, int]) -> str:
    """Return states for a person, most first: ``20 active+remapped+backfilling, 3 active+recovering``."""
    most = sorted(states.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{count} {state}" for state, count in most)
