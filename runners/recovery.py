"""``salt-run recovery.*``: how fast the cluster recovers, at what price for its clients."""

from proposals.cluster import recovery
from runners.engine import answer, jobs, minions, stage_lock, stage_log

KEPT = "halocline/recovery"  # of the monitors: what a profile has set


@answer.answers
def profile(name: str | None = None, test: bool = False) -> answer.Output:
    """Let OSDs recover as fast as disks allow, or so that clients feel least; without a name, tell what is set.

    It is central configuration, OSDs take it on at once, also in the middle of a recovery. ``default`` takes away what
    another profile set, so that the release's own values hold. What the site's ``ceph_config`` or somebody by hand has
    set is never replaced: it is refused by name. Options that the running Ceph does not know are refused by name too.

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
