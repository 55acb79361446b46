"""``salt-run pool.*``: the cluster's pools."""

import salt.pillar

from proposals import answer
from proposals.cluster import pool_benchmark, pools
from proposals.text import names
from proposals.text.errors import ArgumentError


@answer.answers
def quick_test_(seconds=pool_benchmark.SECONDS, pg_num=pool_benchmark.WANTED):
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
    seconds, wanted = _number("seconds", seconds), _number("pg_num", pg_num)
    found = __salt__["minions.cluster"]("cluster_pool_benchmark.groups")
    groups = pool_benchmark.pg_num(found, wanted)
    if not groups:
        return answer.bad(
            f"no pool fits: {found['osds']} OSDs are in, at most {found['per_osd']} placement groups each, "
            f"{found['used']} are there: see 'ceph osd df' and mon_max_pg_per_osd"
        )
    measured = __salt__["minions.cluster"]("cluster_pool_benchmark.run", [groups, seconds], timeout=2 * seconds + 900)
    told = pool_benchmark.text(found, groups, seconds, measured, wanted)
    return answer.told(told, {"pg_num": groups, "seconds": seconds, **measured}, __opts__.get("output"))


@answer.answers
def make(test=False):
    """Make the pools of the site that are missing; what exists is left alone. A step of the deploy stage.

    In ``<pillar_root>/ceph/stack/ceph/cluster.yml``: ``pools: {images: {application: rbd}, backup: {application: rbd,
    erasure: 2+2}}``; more keys: size, plugin, failure_domain, device_class, pg_num, target_size_ratio.

    test
        Only say what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run pool.make test=true
    """
    own = salt.pillar.get_pillar(__opts__, {}, __opts__["id"], "base").compile_pillar()
    if not own.get("pools"):
        return {"text": "the site names no pools (pools): nothing changed"}
    found = __salt__["crush.known"](test)
    if found is None:
        return {"text": "looked at when the cluster runs"}
    todo, told = pools.plan(own["pools"], found)
    made = __salt__["crush.done"](todo, test, f"{len(own['pools'])} pools are there")
    return {**made, "text": "\n".join([made["text"], *told])}


__func_alias__ = {"quick_test_": "quick_test"}


def _number(name, value):
    if type(value) is int and value > 0:
        return value
    raise ArgumentError(f"{name}={names.shown(value)}: expected a whole number from 1 on")
