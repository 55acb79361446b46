"""What ``recovery.measure`` would give out, what stands against it, and how all of it is put back."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proposals.benchmarks import scenarios, suites
from proposals.cluster import recovery
from proposals.cluster.removal import domains, room
from proposals.stages import replies
from proposals.text import names
from proposals.text.errors import ArgumentError, ProposalError
from runners.engine.asking import jobs, minions
from runners.engine.benchmarks import benching
from runners.engine.benchmarks.bench_jobs import Ready
from runners.engine.removal import leaving

KEPT = "halocline/recovery"  # of the monitors: what a profile has set
SUITE = "infiniflash"  # of which it is a part: its pool, image and load generators


@dataclass(frozen=True)
class Target:
    """The OSDs that go out together, all of one host."""

    minion: str
    osds: tuple[int, ...]

    def line(self) -> str:
        """It for a person."""
        return f"{', '.join(f'osd.{osd}' for osd in self.osds)} of {self.minion}"


@dataclass(frozen=True)
class Plan:
    """A measurement that may begin: ``targets`` by osd and host, ``profiles`` by name with what each sets, ``before``
    what is put back: the OSDs' weights, the units that stop by minion, the profile's options; ``moves``: lines on room;
    ``storage``: the minions with OSDs.
    """

    ready: Ready
    targets: Mapping[str, Target]
    profiles: Mapping[str, Mapping[str, Mapping]]
    load: int
    before: Mapping[str, Any]
    moves: Sequence[str]
    storage: Sequence[str]


def interrupted(opts: Mapping) -> dict[str, Any]:
    """Return the record of a measurement whose process is gone; empty where none is. ProposalError where one runs."""
    record: dict[str, Any] = jobs.cluster(opts, "cluster_recovery_measure.record", kind=dict)
    if record and (on := benching.where(record)):
        raise ProposalError(f"recovery.measure is {on}: wait for it, or end it with 'salt-run recovery.stop'")
    return record


def ready(
    opts: Mapping, what: Sequence[str], profiles: Sequence[str], osd: object, host: object, load: int, named: str
) -> tuple[Plan, list[str]]:
    """Return what a measurement would be, and what stands against it. Nothing is changed.

    opts
        The master's options.
    what, profiles
        Of ``scenarios.WHAT``, and of profiles' names.
    osd, host
        An OSD's number and a minion, as typed; None: one that the cluster can do without.
    load
        Percent of the most that the load generators reach.
    named
        The size, as typed.
    """
    bench = benching.room(opts)
    size = scenarios.size(named, bench, len(benching.hosts(opts)))
    facts = jobs.cluster(opts, "cluster_recovery_measure.facts", kind=dict)
    looked = jobs.cluster(opts, "cluster_recovery.inspect", kind=dict)
    wanted = {profile: recovery.options(profile, looked["queue"]) for profile in profiles}
    for options in wanted.values():
        recovery.refuse(options, minions.pillar(opts).get("ceph_config") or {}, looked["others"])
        jobs.cluster(opts, "cluster_config.changes", [options, KEPT], dict)  # refuses what the release does not know
    against: list[str] = []
    if facts["flags"]:
        against.append(
            f"flags hold recovery back: {', '.join(facts['flags'])}: take them away ('ceph osd unset') first"
        )
    if away := sorted(jobs.cluster(opts, "cluster_maintenance.hosts", kind=dict)):
        against.append(f"{', '.join(away)}: in maintenance: 'salt-run maintenance.end' first")
    seen = jobs.cluster(opts, "cluster_removal.inspect", kind=dict)
    if seen["record"]:
        against.append("a removal is under way: end it, or call it off with 'salt-run removal.cancel', first")
    found = jobs.ask(opts, minions.members(opts)["storage"], "daemons.running")
    against += replies.lines(found.problems)
    there = _osds(found.answers, facts["weights"])
    targets = _targets(seen, there, what, osd, host)
    most = max(len(target.osds) for target in targets.values())  # whose placement groups the others take
    made, first = benching.ready(opts, suites.read(SUITE), size, named, ["rbd"], "", most)
    against[:0] = first
    moves = []
    for target in targets.values():
        against += against_target(opts, target, seen)
        moves.append(f"{target.line()}: {_room(seen, target.osds).line()}")
    before = {
        "weights": {str(osd): facts["weights"][str(osd)] for target in targets.values() for osd in target.osds},
        "units": {target.minion: _units(opts, target, targets) for target in targets.values()},
        "profile": {recovery.SECTION: looked["ours"]} if looked["ours"] else {},
    }
    return Plan(made, targets, wanted, load, before, moves, sorted(there)), list(dict.fromkeys(against))


def against_target(opts: Mapping, target: Target, seen: Mapping | None = None) -> list[str]:
    """Return why OSDs must not go out now: failure domains, room, and Ceph's own ``ok-to-stop``.

    seen
        ``cluster_removal.inspect``'s answer; without, it is asked.
    """
    seen = seen or jobs.cluster(opts, "cluster_removal.inspect", kind=dict)
    why = _lacks(seen, target.osds)
    if refused := jobs.cluster(opts, "cluster_recovery_measure.refused", [list(target.osds)], str):
        why.append(f"Ceph does not let them stop: {refused}")
    return [f"{target.line()} cannot go out: {line}" for line in why]


def put_back(opts: Mapping, record: Mapping[str, Any]) -> None:
    """Let all be as a record says that it was: load stopped, OSDs started and in, the profile. What is so stays so.

    Every part is tried. Raises ProposalError where one fails; the record stays, and the same command goes on.
    """
    jobs.ask(opts, record["generators"], "benchmark_load.stop", kind=bool, timeout=120)
    problems = []
    master = minions.members(opts)["master"][0]
    for minion, function, words, kind in (
        *((minion, "daemons_maintenance.start", [units], list) for minion, units in record["units"].items()),
        (master, "cluster_recovery_measure.back", [], list),
        (master, "cluster_config.apply", [record["profile"], KEPT], dict),
    ):
        try:
            jobs.one(opts, minion, function, words, kind)
        except ProposalError as err:
            problems.append(str(err))
    if problems:
        raise ProposalError("\n".join(["not all is as it was; 'salt-run recovery.stop' goes on:", *problems]))


def finish(opts: Mapping, record: Mapping[str, Any]) -> None:
    """Put back what a measurement changed whose process is gone, take its pool away, then forget it."""
    put_back(opts, record)
    if left := benching.interrupted(opts):
        benching.tidy(opts, left)
    forget(opts)


def forget(opts: Mapping) -> None:
    """Forget the record: all is as it was."""
    jobs.cluster(opts, "cluster_recovery_measure.forget", kind=bool)


def _osds(running: Mapping[str, Mapping[str, Mapping]], weights: Collection[str]) -> dict[str, tuple[int, ...]]:
    """The OSDs of each minion that run, are up and are in."""
    found = {
        minion: sorted(int(each["id"]) for each in daemons.values() if each["type"] == "osd" and each["id"] in weights)
        for minion, daemons in running.items()
    }
    return {minion: tuple(osds) for minion, osds in sorted(found.items()) if osds}


def _targets(
    seen: Mapping, there: Mapping[str, tuple[int, ...]], what: Sequence[str], osd: object, host: object
) -> dict[str, Target]:
    """What goes out: as typed, else the first that the cluster can do without, else the first."""
    every = {
        "osd": [Target(minion, (each,)) for minion, osds in there.items() for each in osds],
        "host": [Target(minion, osds) for minion, osds in there.items()],
    }
    typed = {"osd": osd, "host": host}
    targets = {}
    for kind in what:
        known = {target.minion if kind == "host" else str(target.osds[0]): target for target in every[kind]}
        asked = str(typed[kind]).removeprefix("osd.")
        if typed[kind] is not None and asked not in known:
            says = f"{kind}={names.shown(typed[kind])}: no {kind} with running OSDs that are in"
            raise ArgumentError(f"{says}{names.nearest(asked, known)}")
        if not known:
            raise ProposalError("no OSD of ours runs and is in: nothing can be measured")
        free = (target for target in every[kind] if not _lacks(seen, target.osds))
        targets[kind] = known[asked] if typed[kind] is not None else next(free, every[kind][0])
    return targets


def _lacks(seen: Mapping, osds: Collection[int]) -> list[str]:
    crush = leaving.crush(seen)
    return [*domains.lacking(crush, seen["pools"], osds), *_room(seen, osds).against]


def _room(seen: Mapping, osds: Collection[int]) -> room.Room:
    return room.room(leaving.crush(seen), seen["pools"], seen["usage"], seen["limits"], set(osds))


def _units(opts: Mapping, target: Target, targets: Mapping[str, Target]) -> dict[str, str]:
    """The units of a minion's OSDs that stop in any scenario, with how they start at boot."""
    osds = {osd for each in targets.values() if each.minion == target.minion for osd in each.osds}
    units = jobs.one(opts, target.minion, "daemons_maintenance.units", kind=dict)
    return {unit: word for unit, word in units.items() if unit in {f"ceph-osd@{osd}.service" for osd in osds}}
