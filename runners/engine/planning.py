"""A plan of disks for what discovery stored: the arguments that were typed, and whom they mean."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import salt.utils.args

from proposals.disks import arguments
from proposals.disks import plan as planner
from proposals.files import site
from proposals.inventory import kept, spares
from proposals.pillar import adopted
from proposals.policy import store
from runners.engine import look, minions
from runners.engine import planned as served


class Planned(NamedTuple):
    """The plan, its arguments, the folder ``proposals``, and what is stale in the inventory."""

    plan: planner.DiskPlan
    arguments: arguments.DiskArguments
    root: Path
    stale: list[str]


def plan(opts: Mapping[str, Any], typed: Mapping[str, Any]) -> Planned:
    """Plan; nothing is written. Raises ProposalError.

    opts
        The master's options.
    typed
        The planner's arguments, as Salt hands them to a runner.
    """
    paths = site.site(opts)
    parsed = arguments.parse(salt.utils.args.clean_kwargs(**typed))
    inventory, kept_back = kept.load_inventory(paths.inventory), spares.wanted(minions.pillar(opts).get(spares.KEY))
    told = spares.notes(inventory["hosts"], kept_back)
    inventory["hosts"] = adopted.reserve(spares.reserve(inventory["hosts"], kept_back), served.proposed_adopted(paths))
    targets = minions_of(opts, parsed.target)
    stored = store.stored_proposal(paths.proposals, parsed.name)
    planned = planner.peek(inventory, parsed, stored=stored, targets=targets)
    return Planned(planned, parsed, paths.proposals, [*told, *look.stale(opts, targets, inventory["hosts"])])


def minions_of(opts: Mapping[str, Any], target: str | None) -> list[str]:
    """Those of our minions that a target names; all where there is none."""
    ours = minions.ours(opts)
    return [minion for minion in minions.match(opts, target) if minion in ours] if target else ours
