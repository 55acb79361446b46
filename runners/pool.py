"""``salt-run pool.*``: the cluster's pools."""

from functools import partial
from typing import Any

from proposals.cluster import pool_benchmark, pool_deleting, pools
from proposals.cluster.health import judge
from proposals.text import argument_readers, names
from proposals.text.errors import ArgumentError, ProposalError
from runners.engine import answer
from runners.engine.asking import jobs, minions
from runners.engine.benchmarks import benching
from runners.engine.cluster import ceph, health, pooled
from runners.engine.runs import one_at_a_time, stage_lock, stage_log


@answer.answers
def quick_test_(seconds: int = pool_benchmark.SECONDS, pg_num: int = pool_benchmark.WANTED) -> answer.Output:
    """Test a new cluster: make a pool, write and read it with ``rados bench``, take it away again.

    Refused while the cluster is not sound, beside a stage or a benchmark, and where there is too little room: it writes
    at most half of what fits until the first OSD is full, and ends early there.

    seconds
        How long it writes, and reads; at most an hour.
    pg_num
        Placement groups of the pool; where they do not fit, the largest power of two that does.

    CLI Example:

    .. code-block:: bash

        salt-run pool.quick_test
        salt-run pool.quick_test seconds=30
    """
    seconds, pg_num = _number("seconds", seconds, pool_benchmark.LONGEST), _number("pg_num", pg_num, 65536)
    stage_lock.free(__opts__)
    with one_at_a_time.alone(__opts__, "pool.quick_test"):  # another one would take the pool away that this one writes
        benching.interrupted(__opts__)
        return _tested(seconds, pg_num)


@answer.answers
def make(test: bool = False) -> dict[str, Any]:
    """Make the pools of the site that are missing; what exists is left alone. A step of the deploy stage.

    In ``<pillar_root>/ceph/stack/ceph/cluster.yml``: ``pools: {images: {application: rbd}, backup: {application: rbd,
    erasure: 2+2}}``; all keys are on the page of settings. What an existing pool has otherwise is named.

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


@answer.answers
def change(name: str, test: bool = False) -> answer.Output:
    """Bring an existing pool to what the settings say of it: rule, copies, quotas, compression, autoscaler.

    Its rule and the number of copies move data: how much is said first, by Ceph's own crushtool. Refused where
    placement groups would find too few failure domains, OSDs would be too full, or clients could not write meanwhile.
    Data moves by itself afterwards, at the recovery settings that OSDs have. A second run changes nothing.

    name
        The pool's.
    test
        Only say what would be done, what would move and what stands against it.

    CLI Example:

    .. code-block:: bash

        salt-run pool.change images test=true
        salt-run pool.change images
    """
    stage_lock.free(__opts__)
    name = argument_readers.text("name", name)
    done, lines, against = pooled.change(__opts__, name)
    if not done.commands:
        return {"text": f"pool {name} is as the settings say: nothing changed"}
    return ceph.change(__opts__, done.commands, lines, against, test, command="pool.change", event="changes", pool=name)


@answer.answers
def delete(name: str, again: str | None = None, test: bool = False) -> answer.Output:
    """Delete a pool with all that is in it; its name is typed twice. Nothing brings its data back.

    Refused while the settings or a service name it, while a file system or a cache consists of it, and where it is
    nodelete. Deleting is allowed to Ceph for that moment alone (mon_allow_pool_delete).

    name, again
        The pool's name, twice.
    test
        Only say what would be lost, and what stands against it.

    CLI Example:

    .. code-block:: bash

        salt-run pool.delete scratch test=true
        salt-run pool.delete scratch scratch
    """
    stage_lock.free(__opts__)
    name = argument_readers.text("name", name)  # of 1.10 Salt makes 1.1, which another pool may be called
    again = None if again is None else argument_readers.text("again", again)
    there = jobs.cluster(__opts__, "cluster_pools.inspect", kind=dict)
    if name not in there:
        raise ArgumentError(f"the cluster has no pool {names.shown(name)}{names.nearest(name, there)}")
    lost = pool_deleting.lost(name, there[name])
    if why := pool_deleting.against(name, there[name], pooled.planned(__opts__)):
        return answer.bad("\n".join([lost, "refused, nothing was deleted:", *why]))
    command = f"salt-run pool.delete {argument_readers.typed(name)} {argument_readers.typed(name)}"
    if test:
        return {"text": f"would delete {lost}\nto do it: {command}"}
    if again != name:
        return answer.bad(f"{lost}\nnothing was deleted: type its name twice: {command}")
    stage_log.note(__opts__, "pool.delete", "deletes", pool=name, **there[name])
    jobs.cluster(__opts__, "cluster_pools.delete", [name, again], bool)
    return {"text": f"deleted: {lost}", "changes": {"ceph": [f"pool {name} is deleted"]}}


__func_alias__ = {"quick_test_": "quick_test"}


def _tested(seconds: int, pg_num: int) -> answer.Output:
    limits = benching.room(__opts__, "cluster_pool_benchmark.groups")
    groups = pool_benchmark.pg_num(limits, pg_num)
    verdict = health.waited(partial(health.judged, __opts__), limit=health.SETTLE)
    against = [f"the cluster is not sound: {line}" for line in judge.lines(verdict.wrong)]
    if against := [*against, *pool_benchmark.against(limits, groups)]:
        return answer.bad("\n".join(["refused, nothing was changed:", *against]))
    try:
        jobs.cluster(__opts__, "cluster_pool_benchmark.make", [groups], bool)
        _until_served(groups)
        words = [seconds, pool_benchmark.objects(limits)]
        measured = jobs.cluster(__opts__, "cluster_pool_benchmark.run", words, timeout=2 * seconds + 900)
    finally:
        jobs.cluster(__opts__, "cluster_pool_benchmark.tidy", kind=bool)
    text = [pool_benchmark.text(limits, groups, seconds, measured, pg_num)]
    text += [f"the cluster was busy, which was measured too: {line}" for line in judge.lines(verdict.moves)]
    return answer.Answer("\n".join(text), {"pg_num": groups, "seconds": seconds, **measured})


def _until_served(groups: int) -> None:
    """Wait until the pool's placement groups are served and settled; whatever other pools do."""

    def look() -> judge.Verdict:
        states = jobs.cluster(__opts__, "cluster_pool_benchmark.states", kind=dict)
        told = sum(count for state, count in states.items() if state != "unknown")
        return judge.of_groups({**states, "unknown": groups - told})

    if wrong := health.waited(look, settle=health.SETTLE).wrong:
        raise ProposalError(f"its pool is not usable: {'; '.join(judge.lines(wrong))}; see 'ceph -s'")


def _number(name: str, value: object, most: int) -> int:
    if type(value) is int and 0 < value <= most:
        return value
    raise ArgumentError(f"{name}={names.shown(value)}: expected a whole number from 1 to {most}")
