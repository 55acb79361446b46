"""``salt-run osd.*``: the cluster's OSDs, on all hosts."""

from proposals import answer
from proposals.cluster import report
from proposals.files import tree
from proposals.files.site import MINIONS, site
from proposals.inventory import kept
from proposals.pillar import chosen
from proposals.text import names
from proposals.text.errors import ArgumentError, ProposalError


@answer.answers
def report_(**_):
    """Show every planned OSD's real data, DB and WAL beside the plan; exit status 1 where one differs.

    CLI Example:

    .. code-block:: bash

        salt-run osd.report
    """
    planned, members = _planned(site(__opts__)), __salt__["minions.members"]()
    hosts = __salt__["minions.ask"](members["storage"], ["osd.report"])
    admins = __salt__["minions.ask"](members["master"], ["cluster_osds.metadata"])
    metadata = next((given["cluster_osds.metadata"] for given in admins.values()), None)
    if not isinstance(metadata, list):
        return answer.bad(f"{', '.join(members['master'])} cannot ask the cluster ('ceph osd metadata'): {metadata}")
    lines = report.report(planned, {minion: given["osd.report"] for minion, given in hosts.items()}, metadata)
    wrong = [line for line in lines if line["problems"]]
    text = "\n".join(
        [*(_text(line) for line in lines), f"{len(lines) - len(wrong)} of {len(lines)} OSDs are as planned"]
    )
    return answer.told(text, {"osds": lines}, __opts__.get("output"), status=1 if wrong else 0)


__func_alias__ = {"report_": "report"}


@answer.answers
def replace(osd_id):
    """Give up an OSD whose disk is to be replaced, and free its slot; the next new disk of its host takes its id.

    Refused while Ceph does not call it safe to destroy. Run again after any interruption.

    osd_id
        The OSD's number.

    CLI Example:

    .. code-block:: bash

        salt-run osd.replace 12
    """
    if type(osd_id) is not int:
        raise ArgumentError(f"'{names.shown(osd_id)}' is not an OSD's number: expected one such as 12")
    if running := __salt__["stage_lock.holder"]():
        return answer.bad(f"stage {running['stage']} is running: wait for it, or end it with 'salt-run stage.stop'")
    known = __salt__["minions.cluster"]("cluster_osds.states")
    osd = next((each for each in known if each["id"] == osd_id), None)
    if osd is None:
        return answer.bad(f"the cluster has no osd.{osd_id}: see 'ceph osd tree'")
    minion = _minion(site(__opts__), osd)
    if osd["state"] != "destroyed":
        if why := __salt__["minions.cluster"]("cluster_osds.unsafe", [osd_id])["unsafe"]:
            return answer.bad(_not_safe(osd, why))
        __salt__["minions.one"](minion, "osd_retire.stop", [osd_id, osd["fsid"]])
        __salt__["minions.cluster"]("cluster_osds.destroy", [osd_id, osd["fsid"]])
    freed = __salt__["minions.one"](minion, "osd_retire.free", [osd_id])["freed"]
    log = __salt__["stage_log.of"]("osd.replace")
    __salt__["stage_log.add"](log, "replaced", osd=osd_id, fsid=osd["fsid"], minion=minion, freed=freed)
    return {
        "text": f"osd.{osd_id} of {minion} is given up; freed: {', '.join(freed) or 'nothing was left'}\n"
        "change its disk (one that stays: 'salt-run disk.wipe'), then run ceph.stage.discovery, proposal.populate with "
        "the same arguments, ceph.stage.configure and ceph.stage.deploy: the new disk's OSD takes the same id"
    }


def _minion(paths, osd):
    """The minion on whose host an OSD lives, by the host name that discovery saw."""
    hosts = kept.load_inventory(paths.inventory)["hosts"]
    found = [minion for minion, host in hosts.items() if host.get("hostname") == osd["host"]]
    if len(found) != 1:
        raise ProposalError(
            f"osd.{osd['id']} lies below host '{osd['host']}' in the CRUSH map, which is the name of {len(found)} "
            "minions that discovery saw: expected one; run ceph.stage.discovery with that host up"
        )
    return found[0]


def _not_safe(osd, why):
    osd_id = osd["id"]
    out = f"'ceph osd out {osd_id}', " if osd["in"] else ""
    return (
        f"osd.{osd_id} is not given up, its data would be at risk: {why}\n"
        f"let the cluster copy it first: {out}wait until 'ceph osd safe-to-destroy {osd_id}' agrees, run this again"
    )


def _planned(paths):
    """The planned OSDs of the generation that is served; a minion may be told other things than OSDs."""
    told = (paths.current / MINIONS).glob("*.yml")
    return chosen.osds({f"{MINIONS}/{path.name}": tree.read_yaml(path) for path in told})


def _text(line):
    where = " ".join(
        f"{role} {line[role]} {_size(line[f'{role}_size'])}" for role in ("data", "db", "wal") if line[role]
    )
    state = "; ".join(line["problems"]) or "as planned"
    return f"osd.{line['id']} {line['host']} {where}: {state}"


def _size(size):
    return f"{size / 2**30:.1f} GiB" if size else "-"
