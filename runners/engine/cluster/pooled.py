"""The pools that the site and its services plan, one of them beside what the cluster has, and what a change moves."""

from collections.abc import Mapping
from typing import Any

from proposals.cluster import moves, pool_changes, pools
from proposals.cluster.pool_changes import Change
from proposals.text import names
from proposals.text.errors import ArgumentError
from runners.engine.asking import jobs, minions
from runners.engine.cluster import ceph


def planned(opts: Mapping) -> dict[str, dict]:
    """Return every pool that deploy or a service's stage makes: the site's ``pools``, and the services'."""
    pillar = minions.pillar(opts)
    services = pillar.get("ceph", {}).get("services", {})
    found = {name: each for step in services.values() for name, each in step.get("pools", {}).items()}
    return {**found, **pools.read(pillar.get("pools") or {})}


def change(opts: Mapping, name: str) -> tuple[Change, list[str], list[str]]:
    """Return what brings an existing pool to what is planned, what that moves in words, what stands against it.

    opts
        The master's options.
    name
        As typed. ArgumentError where no such pool is planned, or none exists.
    """
    wanted: Mapping[str, Any] = planned(opts)
    if name not in wanted:
        known = names.nearest(name, wanted) if wanted else ""
        raise ArgumentError(f"{names.shown(name)}: no setting names this pool{known}")
    found = ceph.found(opts, False) or {}
    there = {pool["pool_name"]: pool for pool in found["pools"]}
    if name not in there:
        raise ArgumentError(f"the cluster has no pool {names.shown(name)} yet: deploy or its service's stage makes it")
    pool = pools.Pool(name, wanted[name], found, there[name])
    done = pool_changes.change(pool, there[name])
    if not done.commands:
        return done, [], []
    moved = jobs.cluster(opts, "cluster_moves.estimate", [list(done.edits), {name: done.then}], dict)
    own = {**moved, "pools": {name: moved["pools"][name]}}  # an edit makes a rule: nothing else has it yet
    against = [*pool_changes.against(pool, done, own), *moves.against(own)]
    if quotas := pool_changes.quotas(pool, there[name]):
        held = jobs.cluster(opts, "cluster_pools.inspect", kind=dict)[name]
        against += pool_changes.over(name, quotas, held)
    return done, moves.lines(own), against
