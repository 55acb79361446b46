"""A plan of disks for what discovery stored: the arguments that were typed, and whom they mean."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import salt.utils.args

from proposals.disks import arguments
from proposals.disks import plan as planner
from proposals.files import site
from proposals.inventory import compare, spares
from proposals.pillar import adopted
from proposals.policy import store
from proposals.text import argument_readers
from proposals.text.errors import ArgumentError, ProposalError
from proposals.text.names import shown
from runners.engine.asking import matching, minions
from runners.engine.asking import planned as served
from runners.engine.looks import look

DIFFER = 200  # hosts of one answer
TARGETS = "GLNS"  # of Salt's compound matches: grains, lists, node groups, subnets


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
    inventory, kept_back = minions.seen(opts), spares.wanted(minions.pillar(opts).get(spares.KEY))
    told = spares.notes(inventory["hosts"], kept_back)
    inventory["hosts"] = adopted.reserve(spares.reserve(inventory["hosts"], kept_back), served.proposed_adopted(paths))
    targets = minions_of(opts, parsed.target)
    stored = store.stored_proposal(paths.proposals, parsed.name)
    planned = planner.peek(inventory, parsed, stored=stored, targets=targets)
    return Planned(planned, parsed, paths.proposals, [*told, *look.stale(opts, targets, inventory["hosts"])])


def discovered(opts: Mapping[str, Any]) -> Path:
    """The folder of the inventory. Raises ProposalError where discovery has not run."""
    folder = site.site(opts).inventory
    if not folder.is_dir():
        raise ProposalError("discovery has not run yet: run the stage discovery, or salt-run stage.run discovery")
    return folder


def narrow(typed: Mapping[str, Any]) -> Mapping[str, Any]:
    """The planner's arguments of somebody who may plan and not read pillars. Raises ArgumentError for other targets.

    Whom ``I@`` and ``J@`` match tells what a pillar holds, keys too, a letter at a time; an expression of ``E@`` and
    ``P@`` may take for ever; ``R@`` asks another server."""
    asked = [str(value) for key, value in typed.items() if argument_readers.named(key) == "target"]
    words = re.split(r"[\s()]+", " ".join(asked))
    if odd := next((word for word in words if "@" in word and word[0] not in TARGETS), None):
        raise ArgumentError(
            f"target={shown(odd)}: globs, and {', '.join(f'{engine}@' for engine in TARGETS)} are taken here; "
            "salt-run proposal.peek takes any"
        )
    return typed


def minions_of(opts: Mapping[str, Any], target: str | None) -> list[str]:
    """Those of our minions that a target names; all where there is none."""
    ours = minions.ours(opts)
    return matching.match(opts, target, ours) if target else ours


def differs(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> dict[str, Any]:
    """What differs between two proposals, of so many hosts as one answer takes: ``{stored, hosts, more}``.

    ``before`` is None, and ``stored`` false, where there is none yet."""
    if before is None or "summary" not in before:
        return {"stored": False, "hosts": {}, "more": 0}
    changed = compare.differences(before, after)["hosts"]
    told = {host: changed[host] for host in sorted(changed)[:DIFFER]}
    return {"stored": True, "hosts": told, "more": len(changed) - len(told)}
