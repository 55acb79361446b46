"""The restart of daemons of one kind: in turns, by Ceph's leave before, and until they are back after."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Any

from proposals.cluster.health import judge, seen
from proposals.cluster.health.findings import REPORTED, WRONG, Complaint
from proposals.cluster.health.judge import Before, Verdict
from proposals.cluster.upgrade import order
from proposals.cluster.upgrade.order import Waiting
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs, minions, taking_part
from runners.engine.cluster import gateways, health, spared

ASKED = ("mon", "osd", "mds")  # the kinds that Ceph has an ok-to-stop for
LEAVE = 120  # seconds without progress after which Ceph's no stands; groups peer within a few
WAITING = "waiting"  # what a stage keeps for its last step: the daemons that wait for a restart, by minion
QUORUM = 60  # seconds for a monitor to be in quorum again


def turns(
    opts: Mapping,
    kind: str,
    waiting: Waiting,
    asker: str | None = None,
    passed: Callable[[], bool] = lambda: True,
) -> Iterator[dict[str, Sequence[str]]]:
    """Yield whose daemons of a kind stop in one turn, host by host; of OSDs, after a first host, as many hosts at once
    as Ceph allows at that moment (``ok-to-stop --max``), which is a failure domain at most.

    opts
        The master's options.
    kind
        ``mon``, ``mgr``, ``osd``, ``mds``, ``client``.
    waiting
        The daemons' names by minion, in their order.
    asker
        The minion that asks the cluster; without, the one with the role master.
    passed
        Whether a turn has gone through, of one who goes on where one has not: until then hosts go alone.
    """
    left, canary = dict(waiting), True
    while left:
        several = kind == "osd" and not canary and len(left) > 1
        turn = order.together(left, _allowed(opts, left, asker)) if several else [next(iter(left))]
        yield {minion: left.pop(minion) for minion in turn}
        canary = canary and not passed()


def _allowed(opts: Mapping, waiting: Waiting, asker: str | None) -> list[str]:
    """The OSDs that Ceph lets stop together with those of the first minion; why it says no to these is asked later."""
    ids = [[name.removeprefix("osd.") for name in names] for names in waiting.values()]
    try:
        told = _asked(opts, asker, "cluster_health.together", [ids[0], sum(map(len, ids))], list)
    except ProposalError:
        return []
    return [f"osd.{number}" for number in told]


def needed(opts: Mapping, kind: str, names: Sequence[str]) -> str:
    """Return why the cluster needs these daemons now, in Ceph's words; empty where it does not.

    While data moves, that may change, and is waited for.

    opts
        The master's options.
    kind, names
        ``osd``, ``[osd.3, osd.4]``: of one host.
    """
    return spared.leave(opts, lambda: refusals(opts, kind, names), LEAVE) if kind in ASKED else ""


def refusals(opts: Mapping, kind: str, names: Sequence[str], asker: str | None = None) -> list[str]:
    """Return why Ceph does not let these daemons stop now; arguments as for ``needed`` and ``turns``."""
    if kind == "mon" and not asker and (dead := _dead(opts, names)):  # by who is planned, of which nobody may know yet
        return [f"{', '.join(dead)}: does not run, and the monitors have not seen it yet"]
    try:
        _asked(opts, asker, "cluster_health.stoppable", [kind, [name.partition(".")[2] for name in names]], dict | list)
    except ProposalError as err:
        return [str(err)]
    return []


def _dead(opts: Mapping, names: Sequence[str]) -> list[str]:
    """The other monitors that do not run by their hosts' word: the quorum misses one only when its lease ends."""
    hosts = minions.members(opts).get("mon", [])
    if not hosts or taking_part.among(opts, hosts, limited=False) != sorted(hosts):  # one is left out: nobody knows
        return []
    told = jobs.ask(opts, hosts, "daemons.running")
    if told.problems:
        return []
    quorum = {name for name in health.look(opts).running if name.startswith("mon.")}
    return sorted(quorum.difference(names, *told.answers.values()))


def _asked(opts: Mapping, asker: str | None, function: str, words: list[Any], kind: type | UnionType) -> Any:
    if asker:
        return jobs.one(opts, asker, function, words, kind)
    return jobs.cluster(opts, function, words, kind)


def restart(opts: Mapping, kind: str, daemons: Waiting, known: Before | None = None) -> Verdict:
    """Restart daemons, and wait until they are back and nothing new is wrong; return the verdict then.

    Object gateways are out of their balancer meanwhile.

    opts, kind
        As above.
    daemons
        Their names, by minion: one host's, or those of several that Ceph allows together.
    known
        As ``back`` takes it.

    Raises ProposalError with what is wrong.
    """
    first = health.look(opts)
    managers = _managers(opts) if kind == "mgr" else None
    with gateways.drained(opts, [name for names in daemons.values() for name in names]):
        _restarted(opts, kind, daemons)
        verdict = back(opts, daemons, first, known, managers)
    pending = jobs.ask(opts, daemons, "daemons.pending", kind=dict | list).whole()
    for minion, names in daemons.items():
        if left := sorted(set(names).intersection(pending[minion])):
            unit = "ceph-radosgw" if kind == "client" else f"ceph-{kind}"
            raise ProposalError(
                f"{', '.join(left)} still run with the old configuration: see 'journalctl -u {unit}@*' on {minion}"
            )
    return verdict


def _restarted(opts: Mapping, kind: str, daemons: Waiting) -> None:
    """Restart daemons: OSDs of several hosts side by side, as Ceph has allowed them together."""
    if kind == "osd" and len(daemons) > 1:
        jobs.ask(opts, daemons, "daemons.restart_own", [dict(daemons)], timeout=300).whole()
        return
    for minion, names in daemons.items():
        jobs.one(opts, minion, "daemons.restart", [names])
        if kind == "mon":  # the others see a moment late that it was gone
            jobs.one(opts, minion, "mon.joined", [QUORUM], bool)
        if kind == "client":  # the cluster misses one a minute late (mgr_service_beacon_grace)
            jobs.one(opts, minion, "daemons_started.serving", [names, health.LIMIT], bool)


def back(
    opts: Mapping,
    daemons: Waiting,
    first: seen.Seen,
    known: Before | None = None,
    managers: Mapping[str, int] | None = None,
) -> Verdict:
    """Wait until daemons are back and nothing new is wrong; return the verdict then.

    After OSDs it is known what they lack: by what the managers know, Ceph gives its leave for the next ones.

    opts, daemons
        As above.
    first
        What the cluster said before they went.
    known
        More that is no reason to stop, with its amounts.
    managers
        The processes of those that went, as ``daemons_started.managers`` told them.

    Raises ProposalError with what is wrong.
    """
    before, names = {**judge.remembered(first), **(known or {})}, [name for own in daemons.values() for name in own]
    settle = REPORTED if any(name.startswith("osd.") for name in names) else 0

    def lacking(now: seen.Seen) -> list[Complaint]:
        return _gone(names, first, now) or _same(opts, names, managers) or _stopped(opts, daemons)

    verdict = health.since(opts, before, lacking, settle)
    if verdict.wrong:
        raise ProposalError(f"restarted, and since then: {'; '.join(judge.lines(verdict.wrong))}")
    return verdict


def _stopped(opts: Mapping, daemons: Waiting) -> list[Complaint]:
    """The daemons that do not run on their hosts, whatever the monitors still believe."""
    runs = jobs.ask(opts, daemons, "daemons.running", kind=dict | list).whole()
    return [
        Complaint(f"runs {name}", WRONG, name, "does not run")
        for minion, names in daemons.items()
        for name in sorted(set(names).difference(runs[minion]))
    ]


def _managers(opts: Mapping) -> dict[str, int]:
    told: dict[str, int] = jobs.cluster(opts, "daemons_started.managers", kind=dict)
    return {f"mgr.{name}": gid for name, gid in told.items()}


def _same(opts: Mapping, names: Sequence[str], before: Mapping[str, int] | None) -> list[Complaint]:
    """The managers that are not in the map by another process: one that is dead stays there for 30 s
    (mon_mgr_beacon_grace)."""
    if before is None:
        return []
    now = _managers(opts)
    return [
        Complaint(f"mgr begins {name}", WRONG, name, "has not come up again", strict=True)
        for name in names
        if now.get(name) in (None, before.get(name))
    ]


def _gone(names: Sequence[str], first: seen.Seen, now: seen.Seen) -> list[Complaint]:
    """The OSDs that have not come up since: the monitors may not have seen yet that they went."""
    since, asked = {osd.id: osd.up_from for osd in first.osds}, set(names)
    return [
        Complaint(f"osd boots {osd.id}", WRONG, f"osd.{osd.id}", "has not come up again", strict=True)
        for osd in now.osds
        if f"osd.{osd.id}" in asked and osd.up_from <= since.get(osd.id, 0)
    ]
