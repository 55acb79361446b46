"""How long a cluster is waited for: as long as it gets better, and a limit beyond."""

from proposals.cluster.health.findings import WRONG
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
        """Whether anything is less than it ever was; what comes and goes is no progress the second time.

        Data that moves counts only while something is wrong that it may mend: groups that nobody serves.
        """
        mends = any(finding.key.startswith("groups") for finding in verdict.wrong)
        amounts = {finding.key: finding.amount for finding in verdict.wrong}
        amounts |= {finding.key: finding.amount for finding in verdict.moves if mends}
        before = self.least
        self.least = {key: min(amounts.get(key, 0), before.get(key, amounts.get(key, 0))) for key in before | amounts}
        return any(self.least[key] < least for key, least in before.items())
