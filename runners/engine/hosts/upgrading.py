"""The upgrade of a running cluster, in turns: packages, Ceph's leave, restart, and whether all is well, host by host.

What is done is read from the hosts: from their packages, and from the files that their daemons run from. So the same
command goes on after any end; the monitors keep what hosts do not know (``proposals/cluster/upgrade/record.py``).
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from proposals.cluster.health import judge
from proposals.cluster.upgrade import hosts as told_hosts
from proposals.cluster.upgrade import order, record, systems, versions
from proposals.cluster.upgrade.hosts import Host
from proposals.cluster.upgrade.record import Record
from proposals.files.site import site
from proposals.pillar import named, served
from proposals.stages import targets
from proposals.text.errors import ProposalError
from proposals.text.notes import FEW, SCREEN, by_host, several
from runners.engine.asking import jobs, minions, taking_part
from runners.engine.cluster import daemon_restart, gateways, health, spared
from runners.engine.runs import one_at_a_time, stage_log
from runners.engine.waiting import until_none

INSPECT, SEEN = "daemons_upgrade.inspect", "cluster_upgrade.inspect"
LONG = 3600  # seconds that a host's package manager may take
REDUCED = 300  # seconds until a file system has one active server: the others give their parts of the tree away
AGAIN = "nothing else is touched; when the cause is gone, run ceph.stage.upgrade again, and it goes on"
Done = dict[str, list[str]]  # by minion: what was done there
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Look:
    """A look at all hosts and the cluster.

    hosts
        Those with Ceph's packages that answer, by minion.
    part
        Those of them that this run changes.
    left
        Minions that it leaves out: silent ones, and those in maintenance.
    seen
        ``cluster_upgrade.inspect``'s answer.
    record
        What is kept of an upgrade that is under way.
    """

    hosts: Mapping[str, Host]
    part: Mapping[str, Host]
    left: Sequence[str]
    seen: Mapping[str, Any]
    record: Record | None

    @property
    def target(self) -> str:
        """The version that all hosts come to."""
        return next(iter(told_hosts.targets(self.hosts)), "")

    @property
    def last(self) -> set[str]:
        """Daemons whose hosts come last of their kind."""
        return active(self.seen)

    @property
    def done(self) -> bool:
        """Whether nothing is left to be done, also of an interrupted run."""
        return self.record is None and order.done(self.hosts)


def active(seen: Mapping[str, Any]) -> set[str]:
    """Return the active manager and metadata servers of ``cluster_upgrade.inspect``'s answer: standbys go first."""
    return {f"mgr.{seen['manager']}", *systems.active(seen["systems"])}


def at(opts: Mapping, refresh: bool, whole: bool = True) -> Look:
    """Look. Raises ProposalError where a host that takes part, or the cluster, does not say.

    refresh
        Ask the package sources anew.
    whole
        Whether every host that takes part has to say; else who does not is among those left out.
    """
    minions.members(opts)  # says so where nothing is configured yet
    part = taking_part.among(opts)
    found = jobs.ask(opts, minions.ours(opts), INSPECT, [refresh])
    if whole and (failed := [problem for problem in found.problems if problem.minion in part]):
        raise ProposalError("\n".join(by_host((problem.minion, problem.text) for problem in failed)))
    every = told_hosts.read(found.answers)
    seen = jobs.cluster(opts, SEEN, kind=dict)
    left = sorted({*taking_part.left(opts), *(problem.minion for problem in found.problems)})
    return Look(every, {m: host for m, host in every.items() if m in part}, left, seen, _kept(opts, seen["record"]))


def _kept(opts: Mapping, text: str | None) -> Record | None:
    """What is kept of an upgrade that is under way: who ran when it began counts while it is served."""
    if (begun := record.read(text)) is None:
        return None
    hosts = named.hosts(served.contents(paths := site(opts)), named.hostnames(paths))
    parts = [(part, told) for host in hosts.values() for part, told in host["parts"].items()]
    # Ceph's map of services has gateways without the "rgw." that their names begin with.
    return begun.without(
        {f"{part}.{name.removeprefix('rgw.')}" for part, told in parts for name in told.get("daemons", ())}
    )


def against(opts: Mapping, look: Look) -> list[str]:
    """Return what stands against an upgrade, a line each: versions, releases, a cluster that is not well, a pause."""
    found = told_hosts.targets(look.hosts)
    if not found:
        return ["no host has Ceph's packages: run ceph.stage.deploy first"]
    if len(found) > 1:
        return [told_hosts.several(found)]
    target, begun = versions.of_package(look.target), look.record
    lines = [f"paused {look.seen['paused']}: 'salt-run upgrade.resume' lets it go on"] if look.seen["paused"] else []
    runs = versions.running(look.seen["versions"])
    lines += versions.against(runs, target, look.seen["required"], begun is not None)
    leveldb = sorted(name for host in look.hosts.values() for name in host.leveldb if name in host.daemons)
    lines += versions.stores(look.seen["stores"], leveldb, target)
    if begun and versions.of_package(begun.target).release != target.release:
        lines.append(f"an upgrade to {begun.target} is under way, and sources have {look.target}: end that one first")
    return lines + judge.lines(health.judged(opts, before=begun.known if begun else None).wrong)


@one_at_a_time.stops_daemons("ceph.stage.upgrade")
def carry_out(opts: Mapping, look: Look, done: Done, tell: Tell) -> list[str]:
    """Upgrade, and return what is to be known beside; raise ProposalError with what stops it: the same command goes on.

    opts, look
        The master's options, a look that nothing stands against.
    done
        Gets what was done, as it is.
    tell
        Gets a line for each step as it begins.
    """
    kept = _begun(opts, look)
    jobs.cluster(opts, "cluster_maintenance.end", kind=list)  # flags of an interrupted run
    gateways.back(opts)
    for kind in order.KINDS:
        waiting = order.of_kind(look.part, kind, look.last)
        if kind == "mds" and waiting:
            kept, active = _reduced(opts, kept, tell)
            waiting = order.of_kind(look.part, kind, active)
        for turn in daemon_restart.turns(opts, kind, waiting):
            _may(opts, kept, several(list(turn), most=FEW))
            _turn(opts, look, kept, kind, list(turn), done, tell)
        if kind == "mds":
            kept = _restored(opts, kept, tell)
    if rest := order.rest(look.part):
        _may(opts, kept, several(rest, most=FEW))
        _install(opts, kept, rest, done, tell)
    return _ended(opts, kept, tell)


def _begun(opts: Mapping, look: Look) -> Record:
    """Keep the record before anything is changed; what was wrong when it began counts, not what came of it."""
    if look.record:
        kept = look.record.to(look.target)
    else:
        now = datetime.datetime.now().astimezone().isoformat(timespec="minutes")
        user = stage_log.typist(opts)
        kept = Record(look.target, now, user, judge.remembered(health.look(opts)))
    return _note(opts, kept)


def _note(opts: Mapping, kept: Record) -> Record:
    jobs.cluster(opts, "cluster_upgrade.note", [kept.as_dict()], bool)
    return kept


def _may(opts: Mapping, kept: Record, who: str) -> None:
    """Raise ProposalError where somebody paused it, or anything is wrong that was not when it began."""
    if why := jobs.cluster(opts, "cluster_upgrade.paused", kind=str | None):
        raise ProposalError(f"paused {why}, before {who}: 'salt-run upgrade.resume' lets it go on")
    if wrong := health.waited(lambda: health.judged(opts, before=kept.known)).wrong:
        raise ProposalError(f"stopped before {who}: {'; '.join(judge.lines(wrong))}; {AGAIN}")


def _turn(opts: Mapping, look: Look, kept: Record, kind: str, turn: Sequence[str], done: Done, tell: Tell) -> None:
    """Packages of some hosts, then their daemons of a kind."""
    names = [look.hosts[minion].name for minion in turn]
    asker = minions.members(opts)["master"][0]
    with spared.noout(opts, names, asker) if kind == "osd" else nullcontext():
        hosts = _install(opts, kept, turn, done, tell)
        again = {minion: names for minion in turn if (names := hosts[minion].waiting(kind))}
        if not again:
            return
        who, listed = several(list(again), most=FEW), [name for own in again.values() for name in own]
        tell(f"{who}: {several(listed, 'more', SCREEN)} begin anew")
        try:
            _restart(opts, kept, kind, again)
        except ProposalError as err:
            raise ProposalError(f"{who}: {err}; {AGAIN}") from err
    for minion, own in again.items():
        done.setdefault(minion, []).append(f"restarted {', '.join(own)}")


def _restart(opts: Mapping, kept: Record, kind: str, daemons: Mapping[str, Sequence[str]]) -> None:
    """Daemons of a kind begin anew, by Ceph's leave. Raises ProposalError."""
    if kind == "gateway":
        for minion, names in daemons.items():
            jobs.one(opts, minion, "daemons_upgrade.restart", [list(names)])
        return
    names = [name for own in daemons.values() for name in own]
    if why := daemon_restart.needed(opts, kind, names):
        raise ProposalError(f"{several(names, 'more', SCREEN)}: not restarted: {why}")
    daemon_restart.restart(opts, kind, daemons, kept.known)


def _install(opts: Mapping, kept: Record, turn: Sequence[str], done: Done, tell: Tell) -> dict[str, Host]:
    """The packages that were checked, on hosts, in one job for those of the same; return what the hosts have then."""
    hosts = _hosts(opts, turn)
    if other := {minion: host.next for minion, host in hosts.items() if host.next != kept.target}:
        named = "; ".join(by_host((minion, f"its sources have {version}") for minion, version in other.items()))
        raise ProposalError(f"{named} by now, expected {kept.target}: none of it was installed; {AGAIN}")
    same: dict[tuple, list[str]] = {}
    for minion, host in hosts.items():
        same.setdefault(tuple(host.newer.items()), []).append(minion)
    for packages, asked in same.items():
        if not packages:
            continue
        tell(f"{several(asked, most=FEW)}: packages {hosts[asked[0]].next}")
        pillar = {"ceph_upgrade": [{name: version} for name, version in packages]}
        arguments = ["ceph.host.upgrade", {"__kwarg__": True, "pillar": pillar}]
        found = jobs.ask(opts, asked, "state.apply", arguments, timeout=LONG)
        failed = targets.failures(found.answers) | {problem.minion: problem.text for problem in found.problems}
        for minion in set(asked) - failed.keys():
            done.setdefault(minion, []).append(f"packages {hosts[minion].next}")
        if failed:
            lines = by_host((minion, f"its packages: {why}") for minion, why in sorted(failed.items()))
            raise ProposalError("\n".join([*lines, AGAIN]))
    return _hosts(opts, turn)


def _hosts(opts: Mapping, asked: Sequence[str]) -> dict[str, Host]:
    """What hosts have now, their sources not asked anew."""
    return told_hosts.read(jobs.ask(opts, asked, INSPECT, [False], timeout=300).whole())


def _reduced(opts: Mapping, kept: Record, tell: Tell) -> tuple[Record, set[str]]:
    """One active metadata server in each file system, and which these are; what they have by now is kept before."""
    found = _systems(opts)
    kept = _note(opts, kept.having(systems.noted(found, kept.systems)))
    if commands := systems.reduce(found):
        tell(f"one active metadata server alone in {', '.join(system['name'] for system in found)}")
        jobs.cluster(opts, "cluster_crush.apply", [commands])
    if left := until_none(lambda: systems.many(_systems(opts)), REDUCED, 2):
        raise ProposalError(
            f"{', '.join(left)}: more than one active metadata server {REDUCED} s after max_mds was set to 1: see "
            f"'ceph fs status'; {AGAIN}"
        )
    return kept, systems.active(_systems(opts))


def _restored(opts: Mapping, kept: Record, tell: Tell) -> Record:
    """File systems have again what they had, where no metadata server runs an older version any more."""
    every = told_hosts.read(jobs.ask(opts, minions.ours(opts), INSPECT, [False], timeout=300).answers)
    seen = jobs.cluster(opts, SEEN, kind=dict)  # of a host that does not answer, too
    runs, target = versions.running(seen["versions"]), versions.of_package(kept.target)
    if not kept.systems or order.of_kind(every, "mds") or versions.older(runs, target, ["mds"]):
        return kept
    if commands := systems.restore(seen["systems"], kept.systems):
        tell(f"file systems have their active metadata servers again: {', '.join(kept.systems)}")
        jobs.cluster(opts, "cluster_crush.apply", [commands])
    return _note(opts, kept.having({}))


def _systems(opts: Mapping) -> list[dict[str, Any]]:
    """The file systems as they are now."""
    return list(jobs.cluster(opts, SEEN, kind=dict)["systems"])


def _ended(opts: Mapping, kept: Record, tell: Tell) -> list[str]:
    """Require the new release of OSDs and forget the record where all is done; else say what is left."""
    reduced = bool(kept.systems) and bool(_restored(opts, kept, tell).systems)  # with the record this would be lost
    look = at(opts, refresh=False)
    if look.left or not order.done(look.hosts):
        open_ = [minion for minion, host in look.hosts.items() if not order.done({minion: host})]
        names = several(sorted({*open_, *look.left}), most=FEW)
        return [f"not ended: {names} took no part: run ceph.stage.upgrade again with them, and it goes on"]
    runs = versions.running(look.seen["versions"])
    kinds = (*versions.CORE, "mds") if reduced else versions.CORE
    if older := versions.older(runs, versions.of_package(look.target), kinds):
        return [
            f"not ended: 'ceph versions' has {', '.join(older)}, on hosts that Salt does not upgrade: bring them to "
            f"{look.target}, then run ceph.stage.upgrade again, which ends it"
        ]
    if name := versions.to_require(runs, look.seen["required"]):
        tell(f"OSDs older than {name} are let in no more")
        jobs.cluster(opts, "cluster_crush.apply", [[["osd", "require-osd-release", name]]])
    jobs.cluster(opts, "cluster_upgrade.forget", kind=bool)
    return []
