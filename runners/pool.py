"""``salt-run pool.*``: the cluster's pools."""

from typing import Any

from proposals.cluster import pool_benchmark, pools
from proposals.cluster.health import judge
from proposals.text import names
from proposals.text.errors import ArgumentError, ProposalError
from runners.engine import answer, ceph, health, jobs, minions


@answer.answers
def quick_test_(seconds: int = pool_benchmark.SECONDS, pg_num: int = pool_benchmark.WANTED) -> answer.Output:
    """Test a new cluster: make a pool, write and read it with ``rados bench``, take it away again.

    seconds
        How long it writes, and reads.
    pg_num
        Placement groups of the pool; where they do not fit, the largest power of two that does.

    CLI Example:

    .. code-block:: bash

        salt-run pool.quick_test
        salt-run pool.quick_test seconds=30
    """
    seconds, pg_num = _number("seconds", seconds), _number("pg_num", pg_num)
    limits = jobs.cluster(__opts__, "cluster_pool_benchmark.groups")
    groups = pool_benchmark.pg_num(limits, pg_num)
    if not groups:
        return answer.bad(
            f"no pool fits: {limits['osds']} OSDs are in, at most {limits['per_osd']} placement groups each, "
            f"{limits['used']} are there: see 'ceph osd df' and mon_max_pg_per_osd"
        )
    try:
        jobs.cluster(__opts__, "cluster_pool_benchmark.make", [groups], bool)
        _until_served(groups)
        timeout = 2 * seconds + 900
        measured = jobs.cluster(__opts__, "cluster_pool_benchmark.run", [seconds], timeout=timeout)
    finally:
        jobs.cluster(__opts__, "cluster_pool_benchmark.tidy", kind=bool)
    text = pool_benchmark.text(limits, groups, seconds, measured, pg_num)
    return answer.Answer(text, {"pg_num": groups, "seconds": seconds, **measured})


@answer.answers
def make(test: bool = False) -> dict[str, Any]:
    """Make the pools of the site that are missing; what exists is left alone. A step of the deploy stage.

    In ``<pillar_root>/ceph/stack/ceph/cluster.yml``: ``pools: {images: {application: rbd}, backup: {application: rbd,
    erasure: 2+2}}``; more keys: size, plugin, failure_domain, device_class, pg_num, target_size_ratio.

    test
        Only say what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run pool.make test=true
    """
    asked = minions.pillar(__opts__).get("pools")
    if not asked:
        return {"text": "the site names no pools (pools): nothing changed"}
    found = ceph.found(__opts__, test)
    if found is None:
        return {"text": ceph.LATER}
    commands, notes = pools.plan(asked, found)
    done = ceph.run(__opts__, commands, test, f"{len(asked)} pools exist")
    return {**done, "text": "\n".join([done["text"], *notes])}


__func_alias__ = {"quick_test_": "quick_test"}


def _until_served(groups: int) -> None:
    """Wait until the pool's placement groups are served and settled; whatever other pools do."""

    def look() -> judge.Verdict:
        states = jobs.cluster(__opts__, "cluster_pool_benchmark.states", kind=dict)
        told = sum(count for state, count in states.items() if state != "unknown")
        return judge.of_groups({**states, "unknown": groups - told})

    if wrong := health.waited(look, settle=health.SETTLE).wrong:
        raise ProposalError(f"its pool is not usable: {'; '.join(judge.lines(wrong))}; see 'ceph -s'")


def _number(name: str, value: object) -> int:
    if type(value) is int and value > 0:
        return value
    raise ArgumentError(f"{name}={names.shown(value)}: expected a whole number from 1 on")
