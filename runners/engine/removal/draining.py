"""Data leaves OSDs: their weights go to zero, in one movement or in steps; waited for as long as it gets less."""

import time
from collections.abc import Mapping, Sequence

from proposals.cluster import moves
from proposals.cluster.health import judge
from proposals.cluster.health.findings import MOVING, WAITING, WRONG, Complaint
from proposals.cluster.health.judge import Verdict
from proposals.text.errors import ProposalError
from proposals.text.notes import several
from runners.engine.asking import jobs
from runners.engine.cluster import health
from runners.engine.runs import stage_lock, stage_log

AGAIN = "the same command goes on; 'salt-run removal.cancel' calls it off"
SEEN = 10  # seconds until what a step moves is seen: groups peer, and report every 5 (mgr_stats_period)


def drain(opts: Mapping, ids: Sequence[int], weights: Mapping[str, float], steps: int) -> None:
    """Take OSDs' weights to zero and wait until nothing lies on them.

    opts
        The master's options.
    ids
        The OSDs' numbers.
    weights
        What they weighed before the first step, by their numbers.
    steps
        In how many equal ones; a weight that an earlier run made smaller is not raised.

    Raises ProposalError where data does not leave any further, or something else is wrong since.
    """
    before, drained = judge.remembered(health.look(opts)), set(map(str, ids))
    for step in range(1, steps + 1):
        now = jobs.cluster(opts, "cluster_removal.inspect", kind=dict)["weights"]
        share = 1 - step / steps
        lighter = {osd: min(round(weights.get(osd, own) * share, 5), own) for osd, own in now.items() if osd in drained}
        jobs.cluster(opts, "cluster_removal.weigh", [lighter])
        if step < steps:
            time.sleep(SEEN)
        if wrong := _waited(opts, ids, before, last=step == steps).wrong:
            raise ProposalError(f"data leaves no further: {'; '.join(judge.lines(wrong))}; {AGAIN}")


def _waited(opts: Mapping, ids: Sequence[int], before: Mapping[str, int], last: bool) -> Verdict:
    """The verdict once nothing lies on the OSDs, or before the last step once nothing moves; else the last one."""
    what = "placement groups" if last else "copies of objects"
    most, tenths = 0, 0

    def look() -> Verdict:
        nonlocal most, tenths
        try:
            now = health.look(opts)
            found = judge.judge(now, before=before)
            moving = sum(each.amount for each in found.moves if each.key in (WAITING, MOVING))
            count = sum(jobs.cluster(opts, "cluster_osds.groups", [list(ids)]).values()) if last else moving
        except ProposalError as err:
            return judge.unreachable(str(err))
        most = max(most, count)
        if most and (done := 10 * (most - count) // most) > tenths:
            tenths = done
            _tell(opts, count, most, what)
        if not count:  # whatever else is wrong: Ceph is asked before an OSD stops
            return Verdict()
        says = f"{count} {what} are still to leave {several([f'osd.{osd}' for osd in ids], 'more')}"
        if flags := sorted(moves.HOLDING & now.flags):
            says += f", which is held by {', '.join(flags)} ('ceph osd unset {flags[0]}')"
        return Verdict((Complaint("groups drain", WRONG, "", says, count), *found.wrong), found.moves)

    return health.waited(look)


def _tell(opts: Mapping, left: int, of: int, what: str) -> None:
    """Whoever watches the stage reads how far it is, by the run's log."""
    if log := stage_lock.own(opts).get("log"):
        stage_log.add(log, "drain", left=left, of=of, what=what)
