"""``salt-run recovery.*``: how fast the cluster recovers, at what price for its clients."""

from functools import partial

from proposals.benchmarks import curves, scenarios
from proposals.cluster import recovery
from runners.engine import answer
from runners.engine.asking import jobs, minions
from runners.engine.benchmarks import bench_recovery, bench_scenarios, bench_store, benching
from runners.engine.runs import one_at_a_time, stage_lock, stage_log

KEPT = "halocline/recovery"  # of the monitors: what a profile has set


@answer.answers
def profile(name: str | None = None, test: bool = False) -> answer.Output:
    """Let OSDs recover as fast as disks allow, or so that clients feel least; without a name, tell what is set.

    It is central configuration, OSDs take it on at once, also in the middle of a recovery. ``default`` takes away what
    another profile set, so that the release's own values hold. What the site's ``ceph_config`` or somebody by hand has
    set is never replaced: it is refused by name. Options that the running Ceph does not know are refused by name too.
    Refused while recovery is being measured.

    name
        ``default``, ``least`` (clients first) or ``fast`` (recovery first: while copies are missing).
    test
        Only say what would be set.

    CLI Example:

    .. code-block:: bash

        salt-run recovery.profile
        salt-run recovery.profile least test=true
        salt-run recovery.profile fast
    """
    found = jobs.cluster(__opts__, "cluster_recovery.inspect", kind=dict)
    beside = recovery.beside(found["others"])
    if name is None:
        set_ = [f"  {option} {value}" for option, value in sorted(found["ours"].items())]
        head = f"profile {recovery.current(found['ours'], found['queue'])}, osd_op_queue {found['queue']}"
        return answer.Answer("\n".join([head, *set_, *beside]), found)
    stage_lock.free(__opts__)
    bench_recovery.interrupted(__opts__)  # one that runs sets profiles of its own, and puts the one from before back
    wanted = recovery.options(name, found["queue"])
    recovery.refuse(wanted, minions.pillar(__opts__).get("ceph_config") or {}, found["others"])
    todo = jobs.cluster(__opts__, "cluster_config.changes", [wanted, KEPT], dict)
    lines = [f"{option} {value}" for _, option, value in todo["set"]]
    lines += [f"{option}: the release's own value" for _, option in todo["remove"]]
    if not lines:
        return {"text": "\n".join([f"profile {name} is set: nothing changed", *beside])}
    if test:
        return {"text": "\n".join(["would set:", *lines, *beside])}
    stage_log.note(__opts__, "recovery.profile", "changes", profile=name, set=todo["set"], remove=todo["remove"])
    jobs.cluster(__opts__, "cluster_config.apply", [wanted, KEPT], dict)
    return {"text": "\n".join([f"profile {name}:", *lines, *beside]), "changes": {"ceph": lines}}


@answer.answers
def measure(
    what: str = "osd,host",
    profiles: str = "fast,least",
    osd: int | None = None,
    host: str | None = None,
    load: int = 30,
    size: str = "quick",
    test: bool = False,
) -> answer.Output:
    """Measure recovery under a client's load as the InfiniFlash document did: an OSD, then a host, goes out, comes in.

    Stops OSDs and gives them out, one scenario at a time, each under each profile, while load generators (role
    benchmark) write to images of their own; each second of their I/O is a point of the curve. Refused on a cluster that
    is not sound, and where failure domains, room or Ceph (ok-to-stop) do not allow it. At the end, and after a kill by
    the same command or recovery.stop, OSDs are up and in, the profile is what it was, and pool and images are gone.
    Stopped, or failed in a scenario, it keeps those that it has measured until then, and ends with exit status 1.

    what
        ``osd``, ``host`` or both, with a comma between.
    profiles
        Of ``recovery.profile``, with commas between; times of the others are compared with the first one's.
    osd, host
        The OSD's number, and the minion; without, the first that the cluster can do without.
    load
        Percent of the most that the load generators reach.
    size
        ``quick``: 300 MiB an OSD, says little of hardware. ``paper``: a third of the free space, for many hours.
    test
        Only say what would be done, and what stands against it.

    CLI Example:

    .. code-block:: bash

        salt-run recovery.measure test=true
        salt-run recovery.measure what=osd osd=3 profiles=fast,least,default
        salt-run recovery.measure host=osdnode4 load=60 size=paper
    """
    stage_lock.free(__opts__)
    kinds = scenarios.several("what", what, scenarios.WHAT)
    scenarios.check_named(kinds, {"osd": osd, "host": host})
    wanted = scenarios.several("profiles", profiles, tuple(recovery.WEIGHED))
    scenarios.percent(load)
    if left := bench_recovery.interrupted(__opts__):
        if test:
            return {"text": f"would first put back what a measurement left: {', '.join(sorted(left['units']))}"}
        answer.tell(__opts__, "puts back what a measurement left that was interrupted")
        bench_recovery.finish(__opts__, left)
        bench_scenarios.whole(__opts__)
    plan, against = bench_recovery.ready(__opts__, kinds, wanted, osd, host, load, size)
    if against:
        return answer.bad("\n".join(["refused, nothing was changed:", *against]))
    about = [f"under {', '.join(plan.profiles)}, load from {', '.join(plan.ready.generators)}:", *plan.moves]
    if test:
        return {"text": "\n".join(["would give out, and take in again,", *about])}
    with one_at_a_time.alone(__opts__, "recovery.measure", one_at_a_time.STOPPING):
        stage_log.note(__opts__, "recovery.measure", "begins", what=kinds, profiles=wanted, size=size, load=load)
        answer.tell(__opts__, "\n".join(about))
        result = bench_scenarios.run(__opts__, plan, partial(answer.tell, __opts__))
    folder = bench_store.write(__opts__, result, curves.files(scenarios.TITLE, result))
    last = f"{result['id']}: kept in {folder}; open report.html there"
    return answer.Answer(
        "\n".join([scenarios.plain(result["curves"]), *result["notes"], last]),
        {"id": result["id"], "folder": str(folder), "partial": result.get("partial", "")},
        1 if result.get("partial") else 0,
    )


@answer.answers
def stop() -> answer.Output:
    """Stop a measurement from any shell, or put back what one left that was killed: OSDs, profile, pool and images.

    CLI Example:

    .. code-block:: bash

        salt-run recovery.stop
    """
    record = jobs.cluster(__opts__, "cluster_recovery_measure.record", kind=dict)
    if not record:
        return {"text": "no recovery is being measured: nothing changed"}
    if benching.alive(record):
        if not benching.stop(__opts__):
            return answer.bad("a measurement begins or ends just now: nothing was changed; type it again")
        return {"text": "it is stopped: its own process puts all back"}
    bench_recovery.finish(__opts__, record)
    return {"text": "what it left is put back", "changes": {"ceph": sorted(record["units"])}}
