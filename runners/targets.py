"""``salt-run targets.*``: whom a stage changes and whom it leaves out: steps and parts of steps of the stages."""

from collections.abc import Mapping, Sequence
from typing import Any

from proposals.files import site
from proposals.inventory import kept
from proposals.stages import left_out, summary, targets
from proposals.text.errors import ProposalError
from runners.engine import answer
from runners.engine.asking import jobs, minions, planned, taking_part
from runners.engine.cluster import daemon_restart, health, maintained
from runners.engine.looks import stage_look
from runners.engine.runs import stage_lock


@answer.answers
def hosts(among: Sequence[str] | None = None, limited: bool = True) -> list[str]:
    """Return which minions the running stage changes: those that ``only`` names, less those that are left out.

    among
        A list of minion ids to choose from; without it, every minion of ours.
    limited
        Whether ``only`` limits them.

    CLI Example:

    .. code-block:: bash

        salt-run targets.hosts '[osdnode1, osdnode2]'
    """
    return taking_part.among(__opts__, among, limited)


@answer.answers
def leave(step: str, among: Sequence[str], answers: Mapping[str, Any]) -> dict[str, Any]:
    """Leave hosts that failed in a step out of the rest of the running stage; refused where it needs them.

    step
        The step's name.
    among
        The minions that the step was for.
    answers
        What each returned that failed, or changed something.

    CLI Example:

    .. code-block:: bash

        salt-run targets.leave ceph-stage-deploy-daemons '[osdnode1, osdnode2]' '{osdnode1: false}'
    """
    failed = taking_part.leave(__opts__, step, among, answers)
    return {"text": targets.left_from_here(failed)}


@answer.answers
def away(must: bool = True) -> dict[str, Any]:
    """Leave out the hosts in maintenance where the cluster did not say at the beginning of the running stage who they
    are: a step of it, before anything starts daemons.

    must
        Whether the stage ends where the cluster does not say it now either; without it, a later step asks again.

    CLI Example:

    .. code-block:: bash

        salt-run targets.away
    """
    note = stage_lock.own(__opts__)
    if not note.get("unasked") or stage_lock.kept(__opts__, health.MADE) is False:
        return {"text": "known since the stage began"}
    try:
        found = taking_part.left_at_first(note, list(maintained.records_by_any_key(__opts__).values()))
    except ProposalError as err:
        if must:
            raise
        return {"text": f"which hosts are in maintenance is not known yet: {err}"}
    stage_lock.note_on(__opts__, {**note, **found, "left": {**found["left"], **note["left"]}})
    named = sorted(found["left"].keys() & found["maintenance"].keys())
    lines = [f"{minion}: {found['left'][minion]}; left out from here on" for minion in named]
    return {"text": "\n".join(lines) or "no host is in maintenance"}


@answer.answers
def same() -> dict[str, Any]:
    """Say whether any host differs from what the stage's next steps say of it, as its first step has seen it: a step of
    that stage.

    Where none does, and nothing changes meanwhile, those steps are not applied (``step.look``), and runners take what
    they want to know from that look.

    CLI Example:

    .. code-block:: bash

        salt-run targets.same
    """
    seen = stage_look.begun(__opts__)
    lines = seen.differing() if seen else [stage_look.GONE]
    stage_lock.keep(__opts__, stage_look.AS_TOLD, not lines)
    stage_look.keep(__opts__, seen if not lines else None)
    if stage_lock.kept(__opts__, health.MADE) is False:
        return {"text": "there is no cluster yet: nothing is as told"}
    if seen and not lines:
        return {"text": f"{len(seen.hosts[stage_look.DIFFERING].answers)} hosts are as told"}
    return {"text": "\n".join([stage_look.LINE, *lines])}


@answer.answers
def left(
    cluster: bool = False, changed: Mapping[str, Sequence[str]] | None = None, test: bool = False
) -> answer.Output:
    """Say what the running stage changed, what it left out and why, which daemons wait for a restart: its last step.

    Exit status 1 where something that was asked for could not be made; what the cluster knows already, such as an OSD
    that was made and is down, is a warning.

    cluster
        Whether the stage makes daemons: compare with what the cluster has.
    changed
        What each step changed, hosts or other names (``step.end`` tells it); without it, what was left out alone is
        said.
    test
        As the stage in test mode calls it: a cluster that is not there yet is no error then.

    CLI Example:

    .. code-block:: bash

        salt-run targets.left cluster=true
    """
    note = stage_lock.own(__opts__)
    try:
        known = _cluster(note.get("hosts")) if cluster else None
    except ProposalError:
        if not test:
            raise
        known = None
    lines = left_out.judged(note.get("left", {}), note.get("failed", ()), known, note.get("maintenance", ()))
    text = "\n".join(summary.of_left(lines))
    findings: dict[str, Any] = {"findings": [line.as_dict() for line in lines]}
    if changed is not None and not test:
        told = summary.lines(changed, lines, note.get(daemon_restart.WAITING))
        text, findings = "\n".join(told), {**findings, "summary": told}
    if any(line.lost for line in lines) and not test:
        return {**answer.bad(text, 1), **findings}
    return {"text": text or "nothing was left out", **findings}


def _cluster(hosts: Sequence[str] | None) -> left_out.Cluster:
    """What is planned on the hosts of a run, and what the cluster and they say of it."""
    paths, members = site.site(__opts__), minions.members(__opts__)
    run = set(members["all"] if hosts is None else hosts)
    storage = run & set(members["storage"])
    hosts_ = kept.load_inventory(paths.inventory)["hosts"]
    names = {minion: hosts_.get(minion, {}).get("hostname", minion) for minion in run}
    if seen := stage_look.kept(__opts__):
        states, monitors = seen.cluster[stage_look.STATES], seen.cluster[stage_look.MONITORS]
    else:
        states = jobs.cluster(__opts__, stage_look.STATES, kind=list)
        monitors = jobs.cluster(__opts__, stage_look.MONITORS, kind=dict)
    destroyed = [osd for osd in states if osd["state"] == "destroyed"]
    return left_out.Cluster(
        planned={
            minion: {fsid: disk for disk, osd in osds.items() for fsid in osd.get("uuids") or ()}
            for minion, osds in planned.osds(paths).items()
            if minion in storage
        },
        absent=health.gone(__opts__),
        osds={osd["fsid"]: osd["id"] for osd in states if osd["fsid"] and (osd["up"] or not osd["new"])},
        waiting={minion: [osd["id"] for osd in destroyed if osd["host"] == name] for minion, name in names.items()},
        monitors={minion: names[minion] for minion in members["mon"] if minion in run},
        names=monitors["names"],
        managers=[minion for minion in members["mgr"] if minion in run],
    )
