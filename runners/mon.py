"""``salt-run mon.*``: the cluster's monitors. New ones come by policy.cfg, configure and deploy."""

from collections.abc import Mapping, Sequence
from typing import Any

from proposals.files import site
from proposals.inventory import kept
from proposals.stages import replies
from proposals.text import names
from proposals.text.errors import ArgumentError
from runners.engine import answer
from runners.engine.asking import jobs, minions
from runners.engine.runs import one_at_a_time, stage_lock, stage_log


@answer.answers
def remove(name: str) -> dict[str, Any]:
    """Take a monitor out of the cluster that policy.cfg gives no role-mon any more; its store is moved aside.

    Refused while it is planned, where the others would hold no quorum, or where its host answers and does not stop it.
    A host that is lost does not have to answer. Interrupted, the same command goes on.

    name
        The monitor's name: its host's.

    CLI Example:

    .. code-block:: bash

        salt-run mon.remove monnode3
    """
    stage_lock.free(__opts__)
    monitors, name = jobs.cluster(__opts__, "cluster_mons.monitors", kind=dict)["names"], str(name)
    if name not in monitors:
        raise ArgumentError(f"the cluster has no monitor '{names.shown(name)}'{names.nearest(name, monitors)}")
    hosts = kept.load_inventory(site.site(__opts__).inventory)["hosts"]
    named = {minion for minion, host in hosts.items() if host.get("hostname") == name}
    if named.intersection(minions.members(__opts__)["mon"]):
        return answer.bad(
            f"{name} has the role mon: take its line out of policy.cfg and run ceph.stage.configure first, "
            "or the next deploy would make it again"
        )
    return _removed(__opts__, name, sorted(named.intersection(minions.ours(__opts__))))  # not an id that it had before


@one_at_a_time.stops_daemons("mon.remove")
def _removed(opts: Mapping, name: str, hosts: Sequence[str]) -> dict[str, Any]:
    """Take it out, where the others can do without it; the runner's answer. Each minion of its host's name is asked."""
    jobs.cluster(opts, "cluster_mons.removable", [name], bool)
    stage_log.note(opts, "mon.remove", "removes", monitor=name)
    retired = jobs.ask(opts, hosts, "mon.retire", kind=str)
    if retired.failed:  # it may run still: the others are not told to do without it
        return answer.bad("\n".join([*replies.lines(retired.failed), f"mon.{name} stays in the map"]))
    left = jobs.cluster(opts, "cluster_mons.remove", [name], dict)["names"]
    lost = ["its store is still there"] if not retired.answers else []
    store = "; ".join([*dict.fromkeys(retired.answers.values()), *lost, *replies.lines(retired.problems)])
    return {"text": f"mon.{name} is out of the map, left are {', '.join(left)}; {store}"}
