"""``salt-run osd.*``: the cluster's OSDs, on all hosts."""

from collections.abc import Mapping
from typing import Any

from proposals.cluster import report
from proposals.cluster.health import judge
from proposals.files import site
from proposals.stages import replies
from proposals.text import names
from proposals.text.errors import ArgumentError
from runners.engine import answer, health, jobs, minions, planned, stage_lock, stage_log


@answer.answers
def report_(**_: Any) -> answer.Output:
    """Show every planned OSD's real data, DB and WAL beside the plan; exit status 1 where one differs.

    CLI Example:

    .. code-block:: bash

        salt-run osd.report
    """
    planned_osds, members = planned.osds(site.site(__opts__)), minions.members(__opts__)
    hosts = jobs.ask(__opts__, members["storage"], "osd.report")
    metadata = jobs.ask(__opts__, members["master"], "cluster_osds.metadata", kind=list).whole()
    osds = report.report(planned_osds, hosts.answers, next(iter(metadata.values())))
    good = sum(not osd["problems"] for osd in osds)
    lines = [*map(_text, osds), *replies.lines(hosts.problems), f"{good} of {len(osds)} OSDs are as planned"]
    return answer.Answer("\n".join(lines), {"osds": osds}, status=0 if good == len(osds) else 1)


__func_alias__ = {"report_": "report"}


@answer.answers
def replace(osd_id: int) -> dict[str, Any]:
    """Destroy an OSD whose disk is to be replaced, and free its slot; the next new disk of its host takes its id.

    Refused while Ceph does not call it safe to destroy. Run again after any interruption.

    osd_id
        The OSD's number.

    CLI Example:

    .. code-block:: bash

        salt-run osd.replace 12
    """
    if type(osd_id) is not int:
        raise ArgumentError(f"'{names.shown(osd_id)}' is not an OSD's number: expected one such as 12")
    stage_lock.free(__opts__)
    states = jobs.cluster(__opts__, "cluster_osds.states", kind=list)
    osd = next((osd for osd in states if osd["id"] == osd_id), None)
    if osd is None:
        return answer.bad(f"the cluster has no osd.{osd_id}: see 'ceph osd tree'")
    minion = planned.minion_of(site.site(__opts__), osd)
    if osd["state"] != "destroyed":
        if why := jobs.cluster(__opts__, "cluster_osds.unsafe", [osd_id], dict)["unsafe"]:
            verdict = health.judged(__opts__)
            return answer.bad("\n".join([_not_safe(osd, why), *judge.lines((*verdict.wrong, *verdict.moves))]))
        jobs.one(__opts__, minion, "osd_retire.stop", [osd_id, osd["fsid"]])
        jobs.cluster(__opts__, "cluster_osds.destroy", [osd_id, osd["fsid"]])
    freed = jobs.one(__opts__, minion, "osd_retire.free", [osd_id], dict)["freed"]
    more = {"osd": osd_id, "fsid": osd["fsid"], "minion": minion, "freed": freed}
    stage_log.note(__opts__, "osd.replace", "replaced", **more)
    return {
        "text": f"osd.{osd_id} of {minion} is destroyed; freed: {', '.join(freed) or 'nothing was left'}\n"
        "change its disk (to keep it: 'salt-run disk.wipe'), then run ceph.stage.discovery, proposal.populate with "
        "the same arguments, ceph.stage.configure and ceph.stage.deploy: the new disk's OSD takes the same id"
    }


def _not_safe(osd: Mapping[str, Any], why: str) -> str:
    osd_id = osd["id"]
    out = f"'ceph osd out {osd_id}', " if osd["in"] else ""
    return (
        f"osd.{osd_id} is not destroyed, its data would be at risk: {why}\n"
        f"let the cluster copy it first: {out}wait until 'ceph osd safe-to-destroy {osd_id}' agrees, run this again"
    )


def _text(line: Mapping[str, Any]) -> str:
    where = " ".join(
        f"{role} {line[role]} {_size(line[f'{role}_size'])}" for role in ("data", "db", "wal") if line[role]
    )
    state = "; ".join(line["problems"]) or "as planned"
    return f"osd.{line['id']} {line['host']} {where}: {state}"


def _size(size: int | None) -> str:
    return f"{size / 2**30:.1f} GiB" if size else "-"
