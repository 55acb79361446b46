"""The restart of one host's daemons of one kind: by Ceph's leave before, and until they are back after."""

from collections.abc import Mapping, Sequence

from proposals.cluster.health import judge, seen
from proposals.cluster.health.findings import WRONG, Complaint
from proposals.cluster.health.judge import Verdict
from proposals.text.errors import ProposalError
from runners.engine import health, jobs, spared

ASKED = ("mon", "osd", "mds")  # the kinds that Ceph has an ok-to-stop for
LEAVE = 120  # seconds without progress after which Ceph's no stands; groups peer within a few
WAITING = "waiting"  # what a stage keeps for its last step: the daemons that wait for a restart, by minion
QUORUM = 60  # seconds for a monitor to be in quorum again


def needed(opts: Mapping, kind: str, names: Sequence[str]) -> str:
    """Return why the cluster needs these daemons now, in Ceph's words; empty where it does not.

    While data moves, that may change, and is waited for.

    opts
        The master's options.
    kind, names
        ``osd``, ``[osd.3, osd.4]``: of one host.
    """
    return spared.leave(opts, lambda: refusals(opts, kind, names), LEAVE) if kind in ASKED else ""


def refusals(opts: Mapping, kind: str, names: Sequence[str]) -> list[str]:
    """Return why Ceph does not let these daemons stop now; arguments as for ``needed``."""
    try:
        jobs.cluster(opts, "cluster_health.stoppable", [kind, [name.partition(".")[2] for name in names]])
    except ProposalError as err:
        return [str(err)]
    return []


def restart(opts: Mapping, kind: str, minion: str, names: Sequence[str]) -> Verdict:
    """Restart daemons of a host, and wait until they are back and nothing new is wrong; return the verdict then.

    Raises ProposalError with what is wrong; arguments as above.
    """
    first = health.look(opts)
    jobs.one(opts, minion, "daemons.restart", [names])
    if kind == "mon":  # the others see a moment late that it was gone
        jobs.one(opts, minion, "mon.joined", [QUORUM], bool)
    verdict = back(opts, minion, names, first)
    if left := sorted(set(names) & set(jobs.one(opts, minion, "daemons.pending"))):
        raise ProposalError(
            f"{', '.join(left)} still run with the old configuration: see 'journalctl -u ceph-{kind}@*'"
        )
    return verdict


def back(opts: Mapping, minion: str, names: Sequence[str], first: seen.Seen) -> Verdict:
    """Wait until daemons of a host are back and nothing new is wrong; return the verdict then.

    opts, minion, names
        As above.
    first
        What the cluster said before they went.

    Raises ProposalError with what is wrong.
    """
    before = judge.remembered(first)

    def look() -> Verdict:
        try:
            now = health.look(opts)
        except ProposalError as err:
            return judge.unreachable(str(err))
        found = judge.judge(now, before=before)
        wrong = (*_gone(names, first, now), *found.wrong) or _stopped(opts, minion, names)
        return Verdict(tuple(wrong), found.moves, found.known)

    verdict = health.waited(look)
    if verdict.wrong:
        raise ProposalError(f"restarted, and since then: {'; '.join(judge.lines(verdict.wrong))}")
    return verdict


def _stopped(opts: Mapping, minion: str, names: Sequence[str]) -> list[Complaint]:
    """The daemons that do not run on their host, whatever the monitors still believe."""
    running = jobs.one(opts, minion, "daemons.running")
    return [Complaint(f"runs {name}", WRONG, name, "does not run") for name in names if name not in running]


def _gone(names: Sequence[str], first: seen.Seen, now: seen.Seen) -> list[Complaint]:
    """The OSDs that have not come up since: the monitors may not have seen yet that they went."""
    since = {osd.id: osd.up_from for osd in first.osds}
    return [
        Complaint(f"osd boots {osd.id}", WRONG, f"osd.{osd.id}", "has not come up again", strict=True)
        for osd in now.osds
        if f"osd.{osd.id}" in names and osd.up_from <= since.get(osd.id, 0)
    ]
