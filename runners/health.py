"""``salt-run health.*``: what is wrong with the cluster, what moves, what was known before."""

from typing import Any

from proposals.cluster.health import judge, report
from proposals.cluster.maintained import excused
from proposals.text.errors import ProposalError
from runners.engine import answer
from runners.engine.asking import jobs, minions, taking_part
from runners.engine.cluster import health, maintained
from runners.engine.looks import stage_look
from runners.engine.runs import one_at_a_time, stage_lock

INTERRUPTED = (  # how a stage sees that it is there, what takes it back and names of what, what it is
    (stage_look.NOOUT, "cluster_maintenance.end", "noout"),
    (stage_look.DELETING, "cluster_pools.forbid", "the permission to delete pools"),
)
EACH = "'salt-run health.show --out json' names each"


@answer.answers
def show() -> answer.Answer:
    """Show what is wrong with the cluster beside what is planned, and what moves; exit status 1 where something is.

    Wrong is what clients feel or a plan lacks: placement groups that nobody serves, OSDs that are down, monitors out
    of quorum, managers that do not run, OSDs that are full, a paused cluster, Ceph's other errors. Moves: data that is
    copied, scrubs. Known: other flags, disks that get full, crash reports, Ceph's other warnings.

    CLI Example:

    .. code-block:: bash

        salt-run health.show
    """
    plan = health.plan(__opts__)
    try:  # where nobody answers the first question, the second one would be waited for as long
        verdict = judge.judge(health.look(__opts__), plan, excused=_excused())
    except ProposalError as err:
        verdict = judge.unreachable(str(err))
    data = {kind: judge.lines(getattr(verdict, kind), every=True) for kind in ("wrong", "moves", "known")}
    lines = report.text(verdict)
    if any(len(judge.lines(getattr(verdict, kind))) < len(own) for kind, own in data.items()):
        lines.append(EACH)
    text = "\n".join(lines) or "nothing is wrong, nothing moves"
    return answer.Answer(text, data, status=1 if verdict.wrong else 0)


def _excused() -> set[str]:
    """The daemons of hosts in maintenance; none where the cluster does not answer, which the verdict says."""
    try:
        return excused(maintained.records(__opts__).values())
    except ProposalError:
        return set()


@answer.answers
def before() -> dict[str, Any]:
    """Remember what is wrong with the cluster before a stage changes anything: a step of that stage.

    ``noout`` of a host that an interrupted run had set, for a reboot or for its links, is taken away first, and so is
    Ceph's permission to delete pools, which ``pool.delete`` takes for a moment.

    CLI Example:

    .. code-block:: bash

        salt-run health.before
    """
    made = stage_lock.kept(__opts__, health.MADE)  # as the stage's checks saw it
    if not (_made() if made is None else made):
        stage_lock.keep(__opts__, health.KEPT, {})
        return {"text": "there is no cluster yet"}
    plan = health.plan(__opts__)
    lines, changes = _taken_back()
    try:
        seen = health.looked(__opts__) or health.look(__opts__)
    except ProposalError as err:
        stage_lock.keep(__opts__, health.KEPT, None)
        return {"text": f"nothing is known of the cluster before: {err}"}
    stage_lock.keep(__opts__, health.KEPT, judge.remembered(seen, plan))
    return {"text": "\n".join([*lines, "before:", *report.text(judge.judge(seen, plan))]), "changes": changes}


def _made() -> bool:
    """Whether any host of a monitor has its store."""
    return any(jobs.ask(__opts__, minions.members(__opts__)["mon"], "mon.exists", kind=bool).answers.values())


def _taken_back() -> tuple[list[str], dict[str, str]]:
    """Take away the ``noout`` of an interrupted run, and the permission to delete pools; return what is said of it, and
    by host, or setting, what was done.

    Its host may be gone: that hides nothing of what the cluster says before.
    """
    looked, lines = stage_look.kept(__opts__), []
    changes: dict[str, str] = {}
    for seen, function, what in INTERRUPTED:
        if looked and not looked.cluster[seen]:
            continue
        stage_look.keep(__opts__, None)
        try:
            with one_at_a_time.alone(__opts__, "health.before", one_at_a_time.STOPPING):  # else it is in use
                ended = jobs.cluster(__opts__, function, kind=list)
        except ProposalError as err:
            lines.append(f"{what} of an interrupted run is not taken away: {err}")
            continue
        changes |= dict.fromkeys(ended, f"{what} of an interrupted run is taken away")
    return [*lines, *(f"{name}: {done}" for name, done in changes.items())], changes


@answer.answers
def after() -> dict[str, Any]:
    """Wait until what was deployed is up and nothing new is wrong: the last step of a stage that changes the cluster.

    It waits as long as it gets better, and 300 s beyond. What moves, and what was known before (``health.before``) or
    is no stage's doing, is a warning.

    CLI Example:

    .. code-block:: bash

        salt-run health.after
    """
    gone = [fsid for osds in health.gone(__opts__).values() for fsid in osds]
    plan, kept = health.plan(__opts__, gone), stage_lock.kept(__opts__, health.KEPT)
    seen = health.looked(__opts__)
    verdict = judge.judge(seen, plan, kept, taking_part.excused(__opts__)) if seen else None
    if verdict is None or verdict.wrong:
        stage_look.keep(__opts__, None)  # it changes by itself: the steps behind are not to rest on what it was
        verdict = health.waited(lambda: health.judged(__opts__, plan, kept), settle=health.SETTLE)
    told = "\n".join(report.text(verdict))
    if verdict.wrong:
        return answer.bad(f"the cluster is not as planned, and got no better for {health.LIMIT} s:\n{told}", 1)
    good = f"{len(plan.osds)} OSDs and {len(plan.daemons)} monitors and managers are planned; nothing new is wrong"
    return {"text": f"{good}\n{told}".rstrip(), "findings": report.warnings(verdict)}
