"""Updates of the system and reboots in a running cluster, in turns; what is due is read from the hosts each time."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Any

from proposals.cluster import maintenance
from proposals.cluster.health import judge
from proposals.stages import replies
from proposals.text.errors import PolicyError, ProposalError
from proposals.text.notes import FEW, by_host, several
from runners.engine import waiting
from runners.engine.asking import jobs, minions
from runners.engine.cluster import daemon_restart, gateways, health, spared
from runners.engine.runs import one_at_a_time, stage_log

INSPECT, UPDATES = "host_updates.inspect", "updates"
TOLD = {"pending", "ceph", "reboot", "host", "daemons", "units", "foreign", "asks"}  # of its answer
LONG = 3600  # seconds that a host's package manager may take
POLL = 5  # seconds
ONLY = "; with only=, where it was typed with that: without it all hosts are meant"  # of a stage that was paused
Allowed = Mapping[str, maintenance.Allowed]
Looked = Mapping[str, Mapping[str, Any]]


def look(opts: Mapping, hosts: Sequence[str], refresh: bool) -> dict[str, Any]:
    """Return what each host is due, and has of Ceph; ProposalError where one does not say."""
    return looked_at(opts, hosts, refresh).whole()


def looked_at(opts: Mapping, hosts: Sequence[str], refresh: bool) -> replies.Replies:
    """Return the same with the problems of hosts that do not say; ProposalError where a module is older."""
    found = jobs.ask(opts, hosts, INSPECT, [refresh])  # who works on it is waited for; LONG, who is dead, too
    if older := sorted(minion for minion, told in found.answers.items() if TOLD - told.keys()):
        raise ProposalError(
            f"{several(older, most=FEW)}: older modules: run ceph.stage.prep, which brings them up to date"
        )
    return found


@one_at_a_time.stops_daemons("updates.apply")
def in_turns(opts: Mapping, due: Sequence[str], allowed: Allowed, looked: Looked, limit: float) -> None:
    """Update and reboot hosts of a running cluster, turn by turn; raise ProposalError with what stops it.

    Monitors' hosts come first, then all others that run more than OSDs, one by one; then hosts of OSDs alone, after a
    first one as many at once as Ceph allows; the master's own at last. Before each turn the cluster has to be well,
    with all that ran before the first one, and nobody to have paused it.

    opts
        The master's options.
    due
        The hosts.
    allowed, looked
        By minion; of the master's host too where it may ask.
    limit
        Seconds for a host to be back, and for the cluster to get well.
    """
    asker = asks(opts, looked)
    _clean(opts, asker)
    before: judge.Before | None = None
    for turn in _turns(opts, due, looked, asker):
        if why := paused(opts, asker):
            raise ProposalError(
                f"paused {why}, before {several(turn, most=FEW)}: 'salt-run updates.resume' lets it go on"
            )
        _until_well(opts, asker, limit, {minion: looked[minion] for minion in turn}, before)
        before = before or judge.remembered(health.look(opts, asker))
        daemons = [name.replace("radosgw.", "client.") for minion in turn for name in looked[minion]["daemons"]]
        with spared.noout(opts, [looked[m]["host"] for m in turn], asker), gateways.drained(opts, daemons, turn):
            maintain(opts, turn, allowed, limit, asker, before)
            _osds_up(opts, turn, looked, asker, limit)
    _until_well(opts, asker, limit, {}, before)


@one_at_a_time.stops_daemons("updates.apply")
def clean(opts: Mapping, asker: str) -> None:
    """Take away what an interrupted run left in the cluster: ``noout`` of its hosts, gateways that are drained."""
    _clean(opts, asker)


def _clean(opts: Mapping, asker: str) -> None:
    ask(opts, [asker], "cluster_maintenance.end", kind=list)
    if _configured(opts):
        gateways.back(opts)


def paused(opts: Mapping, asker: str) -> str | None:
    """Return who paused updates and reboots, and since when; None where nobody did."""
    why: str | None = jobs.one(opts, asker, "cluster_upgrade.paused", [UPDATES], str | None)
    return why


def pause(opts: Mapping, asker: str, held: bool) -> None:
    """Let them pause before the next hosts, in the name of who types this; or go on."""
    jobs.one(opts, asker, "cluster_upgrade.pause", [by(opts) if held else None, UPDATES], bool)


def by(opts: Mapping) -> str:
    """Return who types this, and when: what is kept of a pause."""
    since = datetime.datetime.now().astimezone().isoformat(timespec="minutes")
    return f"by {stage_log.typist(opts)} since {since}"


def asks(opts: Mapping, looked: Looked) -> str:
    """Return a minion that may ask the cluster, the master's own where it may; ProposalError where none may."""
    master = minions.master(opts)
    may = sorted((minion for minion, seen in looked.items() if seen["asks"]), key=lambda minion: minion != master)
    if not may:
        daemons = [minion for minion, seen in sorted(looked.items()) if seen["daemons"] or seen["foreign"]]
        raise ProposalError(
            f"{several(daemons, most=FEW)}: daemons of Ceph are here, and no minion of ours has the admin key to ask "
            "their cluster: nothing was updated. Maintain these hosts with the tool that deployed them, or take them "
            "out of ceph_minions"
        )
    return may[0]


def maintain(
    opts: Mapping,
    hosts: Sequence[str],
    allowed: Allowed,
    limit: float,
    asker: str | None = None,
    before: judge.Before | None = None,
) -> None:
    """Update, look again, reboot: each one job for all of these hosts. Arguments and errors as for ``in_turns``.

    asker
        The minion that asks the cluster, where one runs.
    before
        What was known of the cluster before the first turn.
    """
    if updated := [minion for minion in hosts if allowed[minion].update]:
        if asker:  # hours may have passed since sources were asked, and Ceph's packages come in its order
            _without_ceph(opts, updated)
        applied = ask(opts, updated, "state.sls", ["ceph.host.updates"], timeout=LONG)
        failed = {minion: words for minion, states in applied.items() if (words := "; ".join(replies.failures(states)))}
        if failed:
            lines = by_host((minion, f"its update failed: {words}") for minion, words in failed.items())
            raise ProposalError("\n".join(lines))
    looked = look(opts, hosts, refresh=False)
    if reboots := [minion for minion in hosts if allowed[minion].reboot and looked[minion]["reboot"]]:
        if asker:  # much may have happened since Ceph was asked: an update takes up to an hour
            _until_well(opts, asker, limit, {minion: looked[minion] for minion in reboots}, before, "not rebooted: ")
        asked = jobs.ask(opts, reboots, "host_updates.reboot", kind=str)
        _await(opts, asked.answers, limit)  # those that do it, before the others are told of
        asked.whole()


def _osds_up(opts: Mapping, hosts: Sequence[str], looked: Looked, asker: str, limit: float) -> None:
    """Wait until the cluster says of the OSDs of hosts that they run again, as long as their ``noout`` is there."""
    theirs = {name for minion in hosts for name in looked[minion]["daemons"] if name.startswith("osd.")}

    def down() -> set[str]:
        try:
            return theirs & {f"osd.{osd_id}" for osd_id in spared.down(health.look(opts, asker))}
        except ProposalError:  # its monitors are among them
            return theirs

    if left := waiting.until_none(down, limit, POLL):
        raise ProposalError(
            f"{several(hosts, most=FEW)}: {several(sorted(left), 'more')} still down after {limit} s (ready_timeout): "
            "see 'journalctl -u ceph-osd@*' there, then run the stage again"
        )


def _without_ceph(opts: Mapping, hosts: Sequence[str]) -> None:
    """Raise ProposalError where an update would bring packages of Ceph now."""
    if lines := maintenance.against(hosts, look(opts, hosts, refresh=True)):
        raise ProposalError("\n".join([*lines, "nothing else is touched"]))


def ask(
    opts: Mapping,
    hosts: Sequence[str],
    function: str,
    arguments: Sequence[Any] = (),
    kind: type | UnionType = dict,
    timeout: float = 60,
) -> dict[str, Any]:
    """One function on minions in one job, each of which has to answer without an error."""
    return jobs.ask(opts, hosts, function, arguments, kind, timeout).whole()


def _turns(opts: Mapping, due: Sequence[str], looked: Looked, asker: str) -> Iterator[list[str]]:
    """Which hosts go at once: asked of Ceph when it is their turn."""
    master = minions.master(opts)
    ordered = maintenance.order(due, looked, master)
    osds = maintenance.osds([minion for minion in ordered if minion != master], looked)
    yield from ([minion] for minion in ordered if minion not in osds and minion != master)
    yield from (list(turn) for turn in daemon_restart.turns(opts, "osd", osds, asker))
    yield from ([minion] for minion in ordered if minion == master)


def _until_well(
    opts: Mapping, asker: str, limit: float, turn: Looked, before: judge.Before | None = None, what: str = ""
) -> None:
    """Wait until nothing is wrong with the cluster, and until Ceph can do without the hosts of a turn, if there are.

    Raises ProposalError with what stands against it, and what was not done (``what``), when that got no better for
    ``limit`` seconds.
    """

    def seen() -> judge.Verdict:
        found = health.judged(opts, before=before, asker=asker)
        if not turn or found.wrong:
            return found
        return judge.Verdict(spared.against(_refused(opts, asker, turn)), found.moves, found.known)

    if wrong := health.waited(seen, limit).wrong:
        why = "; ".join(judge.lines(wrong))
        who = several([one["host"] for one in turn.values()], most=FEW) or "the cluster"
        raise ProposalError(f"{who}: {what}{why}; nothing else is touched; when the cause is gone, run the stage again")


def _refused(opts: Mapping, asker: str, turn: Looked) -> list[str]:
    """Why Ceph needs these hosts now: each one's monitor and OSDs; all of their monitors, OSDs and metadata servers
    together, by the hosts' own word: others may have called a monitor otherwise than its host."""
    refused = [why for seen in turn.values() for why in spared.refused(opts, seen["host"], asker)]
    if refused:
        return refused
    names = {kind: [name for seen in turn.values() for name in _running(seen, kind)] for kind in ("mon", "osd", "mds")}
    return [why for kind, own in names.items() if own for why in daemon_restart.refusals(opts, kind, own, asker)]


def _running(seen: Mapping[str, Any], kind: str) -> list[str]:
    """A host's daemons of a kind: those with a folder whose unit runs, or starts at boot."""
    return [
        name
        for name in seen["daemons"]
        if name.startswith(f"{kind}.") and f"ceph-{name.replace('.', '@', 1)}.service" in seen["units"]
    ]


def _await(opts: Mapping, booted: Mapping[str, str], limit: float) -> None:
    """Wait until hosts answer after a boot that is not the one in ``booted``."""

    def away() -> list[str]:
        boots = jobs.ask(opts, booted, "host_updates.boot", kind=str, timeout=POLL).answers
        return [minion for minion, before in booted.items() if boots.get(minion) in (None, before)]

    if left := waiting.until_none(away, limit, POLL):
        raise ProposalError(
            f"{several(sorted(left), most=FEW)}: rebooted, and not back after {limit} s (ready_timeout): look at the "
            "console, then run the stage again"
        )


def _configured(opts: Mapping) -> bool:
    """Whether a generation of ours is served; before, a cluster that others made may run on these hosts."""
    try:
        minions.members(opts)
    except PolicyError:
        return False
    return True
