"""How long a cluster is waited for: as long as it gets better, and a limit beyond."""

from proposals.cluster.health.findings import MOVING, WRONG
from proposals.cluster.health.judge import Verdict


class Patience:
    """Waiting for one verdict after the other. Times are seconds of one steady clock.

    limit
        Seconds without any progress after which what is wrong is taken to stay so.
    settle
        Seconds in all that are given to what ends by itself, and to what was down before and may be starting; data may
        move for days.
    """

    def __init__(self, limit: float, settle: float, now: float) -> None:
        self.limit, self.settle = limit, settle
        self.began = self.better = now
        self.least: dict[str, int] = {}
        self.most = self.left = 0  # of what moves

    def ends(self, verdict: Verdict, now: float) -> bool:
        """Whether waiting ends with this verdict, the newest."""
        if self._progress(verdict):
            self.better = now
        if verdict.wrong:
            return now - self.better >= self.limit
        excused = (finding.kind == WRONG and not finding.key.startswith("check ") for finding in verdict.known)
        unsettled = any(finding.passing for finding in verdict.moves) or any(excused)
        return not unsettled or now - self.began >= self.settle

    def _progress(self, verdict: Verdict) -> bool:
        """Whether anything wrong is less than it ever was; what comes and goes is no progress the second time.

        Data that moves counts where that may mend what is wrong: groups not served. It moves where Ceph recovers
        objects, though more is to move each time that the balancer, a pool's new groups or another OSD's loss add some;
        else where less of it is left than ever since most of it moved, as of objects that take minutes each. Scrubs and
        slow requests mend nothing, and come and go for ever.
        """
        amounts = {finding.key: finding.amount for finding in verdict.wrong}
        least = self.least
        self.least = {key: min(amounts.get(key, 0), least.get(key, amounts.get(key, 0))) for key in least | amounts}
        before, moving = self.left, sum(finding.amount for finding in verdict.moves if finding.key == MOVING)
        self.left = moving if moving > self.most else min(before, moving)
        self.most = max(self.most, moving)
        moves = self.left < before or any(finding.speed for finding in (*verdict.wrong, *verdict.moves))
        mends = any(key.startswith("groups") for key in amounts)
        return any(self.least[key] < amount for key, amount in least.items()) or (mends and moves)
