"""How the running cluster is: asked through a host with the admin's key, judged by ``proposals/cluster/health``."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping

from proposals.cluster import growth
from proposals.cluster.health import judge, seen
from proposals.cluster.health.findings import Complaint, Plan
from proposals.cluster.health.judge import Before, Verdict
from proposals.cluster.health.patience import Patience
from proposals.files.site import site
from proposals.inventory import kept
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs, minions, planned, taking_part
from runners.engine.looks import stage_look

LIMIT = 300  # seconds without progress after which what is wrong is taken to stay so
SETTLE = 30  # seconds for what ends by itself; a new cluster needs some until all of its groups are active and clean
KEPT = "health"  # of the stage's job: what was found before its first change; nothing where there was no cluster
MADE = "monitors"  # of the stage's job: whether any host that answers has a monitor's store
PAUSES = (1, 5)  # seconds between two looks: at first, and after a minute


def look(opts: Mapping, asker: str | None = None) -> seen.Seen:
    """Return what the cluster says of itself; ProposalError where it does not answer.

    opts
        The master's options.
    asker
        The minion that asks; without, the one with the role master.
    """
    if asker is None:
        return seen.read(jobs.cluster(opts, stage_look.HEALTH, kind=dict))
    return seen.read(jobs.one(opts, asker, stage_look.HEALTH, kind=dict))


def looked(opts: Mapping) -> seen.Seen | None:
    """Return what the cluster said of itself when the running stage looked; None where that holds no more."""
    look = stage_look.kept(opts)
    return seen.read(look.cluster[stage_look.HEALTH]) if look else None


def judged(
    opts: Mapping,
    plan: Plan | None = None,
    before: Before | None = None,
    asker: str | None = None,
    excused: Collection[str] = (),
) -> Verdict:
    """Return the verdict on the cluster as it is now; that it does not answer is one. Arguments as for ``judge``.

    Daemons of hosts that the running stage leaves alone, as they are in maintenance, are excused besides.
    """
    try:
        return judge.judge(look(opts, asker), plan, before, {*excused, *taking_part.excused(opts)})
    except ProposalError as err:
        return judge.unreachable(str(err))


def waited(judged: Callable[[], Verdict], limit: float = LIMIT, settle: float = 0) -> Verdict:
    """Look until nothing is wrong, or until it does not get better any more; return the last verdict.

    judged
        Looks.
    limit, settle
        As ``Patience`` takes them.
    """
    began = time.monotonic()
    patience = Patience(limit, settle, began)
    while not patience.ends(verdict := judged(), now := time.monotonic()):
        time.sleep(PAUSES[now - began > 60])
    return verdict


def since(
    opts: Mapping, before: Before, lacking: Callable[[seen.Seen], Iterable[Complaint]], settle: float = 0
) -> Verdict:
    """Wait until nothing is wrong that was not before and nothing lacks; return the verdict then. Of hosts in
    maintenance as ``judged`` has it.

    opts
        The master's options.
    before
        What was known, as ``judge`` takes it.
    lacking
        What is to be back and is not, of what the cluster says.
    settle
        Seconds from then on that are given to what ends by itself.
    """

    def judged() -> Verdict:
        try:
            now = look(opts)
        except ProposalError as err:
            return judge.unreachable(str(err))
        found = judge.judge(now, before=before, excused=taking_part.excused(opts))
        return Verdict((*lacking(now), *found.wrong), found.moves, found.known)

    verdict = waited(judged)
    return waited(judged, settle=settle) if settle and not verdict.wrong else verdict


def plan(opts: Mapping, gone: Collection[str] = ()) -> Plan:
    """Return what the generation that is served says that is to run; the hosts of the running stage are to have it.

    opts
        The master's options.
    gone
        The fsids of OSDs whose disks are gone.
    """
    paths = site(opts)
    hosts = kept.load_inventory(paths.inventory)["hosts"]
    members = minions.members(opts)
    theirs = {fsid: minion for minion, told in planned.adopted_osds(paths).items() for fsid in told}
    osds = theirs | growth.minions(planned.osds(paths))
    daemons = {
        f"{kind}.{hosts.get(minion, {}).get('hostname', minion)}": minion
        for kind in ("mon", "mgr")
        for minion in members[kind]
    }
    return Plan(osds, daemons, sorted(set(members["all"]) - set(taking_part.among(opts, members["all"]))), gone)


def gone(opts: Mapping) -> dict[str, dict[str, str]]:
    """Return the planned OSDs whose disks are gone, by host and fsid, each with the reason: as the hosts say now."""
    if looked := stage_look.kept(opts):
        found = looked.hosts[stage_look.ABSENT]
    else:
        found = jobs.ask(opts, taking_part.among(opts, minions.members(opts)["storage"]), stage_look.ABSENT)
    return {minion: osds for minion, osds in found.answers.items() if osds}
