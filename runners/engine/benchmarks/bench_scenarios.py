"""Recovery measured: each scenario under each profile, one at a time, each second of the load sampled.

All that is changed was recorded before with what it was; whatever happens, it is put back.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from proposals.benchmarks import dips, loads, scenarios
from proposals.benchmarks.dips import Sample
from proposals.cluster.health import judge
from proposals.stages import replies
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs
from runners.engine.benchmarks import bench_jobs, bench_recovery, benching
from runners.engine.benchmarks.bench_jobs import Keep, Ready, Stopped, Tell
from runners.engine.benchmarks.bench_recovery import Plan, Target
from runners.engine.cluster import health

LEAD = 30  # seconds of load before a change, whose mean is what clients have
FULL = 20  # seconds that find out the most that the load generators reach
SEEN = 20  # seconds until what a change moves is seen: groups peer, and report every 5 (mgr_stats_period)
PAUSE = 5  # seconds between two looks; the load itself tells each second
TAIL = 180  # seconds that clients have to get their I/O back after all is clean
FILL = 5  # seconds at first that fill queues, and say nothing of what is reached
LATE = 3  # seconds that the newest sample is old at most
WHOLE = 900  # seconds without progress after which the cluster is taken to stay unsound between two scenarios


def now() -> float:
    """Return the time in seconds since 1970."""
    return time.time()


def pause() -> None:
    """Wait until it is time to look again."""
    time.sleep(PAUSE)


def run(opts: Mapping, plan: Plan, tell: Tell) -> dict[str, Any]:
    """Run all scenarios; return the result. Whatever happens, all that was changed is put back.

    tell
        Says each step as it begins.
    """
    record = {**benching.process(), "generators": plan.ready.generators, **plan.before}
    jobs.cluster(opts, "cluster_recovery_measure.note", [record], bool)
    try:
        return benching.run(opts, plan.ready, tell, partial(_measured, plan=plan, record=record))
    finally:
        bench_recovery.put_back(opts, record)  # done already, where the pool could be made
        bench_recovery.forget(opts)


def _measured(
    opts: Mapping, ready: Ready, tell: Tell, keep: Keep, plan: Plan, record: Mapping[str, Any]
) -> dict[str, Any]:
    """What is done between making the pool and taking it away; ended early, the scenarios until then, ``partial``."""
    begun = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    chosen = {kind: target.line() for kind, target in plan.targets.items()}
    told: dict[str, Any] = {"id": f"recovery-{begun}", "suite": "recovery", "load": plan.load, "chosen": chosen}
    curves: list[dict[str, Any]] = []
    ended = ""

    def result(why: str) -> dict[str, Any]:
        notes = [*([f"partial: {why}"] if why else []), *scenarios.notes(curves)]
        return {**told, "targets": [], "cells": {}, "curves": curves, "notes": notes, "partial": why}

    try:
        told["rate"] = rate = _prepared(opts, plan, ready, tell)
        whole(opts)  # the pool is new
        for profile, options in plan.profiles.items():
            jobs.cluster(opts, "cluster_config.apply", [options, bench_recovery.KEPT], dict)
            for kind, target in plan.targets.items():
                for way, change in (("out", _out), ("in", _in)):
                    where = f"{profile}: {scenarios.TITLES[f'{kind}-{way}']}: {target.line()}"
                    tell(where)
                    one = _scenario(opts, plan, ready, rate, partial(change, opts, plan, target))
                    curves.append({"scenario": f"{kind}-{way}", "profile": profile, **one})
                    keep(result(bench_jobs.CUT))
                whole(opts)
    except ProposalError as err:
        if not curves:
            raise
        ended = bench_jobs.ended(where, err)
    finally:
        tell("puts all back")
        bench_recovery.put_back(opts, record)
    return result(ended)


def _prepared(opts: Mapping, plan: Plan, ready: Ready, tell: Tell) -> int:
    """Write the images whole, and return the rate of each load generator that is the wanted share of the most."""
    (place,) = ready.made.places.values()
    _ask(opts, ready.generators, "benchmark_load.prepare", [place], 300)
    fill = loads.prefill(ready.suite, ready.size, place, ready.image)
    if fill:
        tell("writes the images whole")
        limit = loads.limit(fill)
        _ask(opts, ready.generators, "benchmark_load.run", [fill, now(), limit], limit + 60)
    if plan.load == 100:
        return 0
    tell("looks for the most that the load generators reach")
    watch = _Watch(opts, ready)
    watch.begin(scenarios.load(place, ready.image, FULL * 3), FULL * 4)
    try:
        start = watch.for_seconds(FULL)
    finally:
        watch.end()
    most = _mean(watch.curve(start, FULL)[FILL:])
    return max(1, round(most * plan.load / 100 / len(ready.generators)))


def _scenario(opts: Mapping, plan: Plan, ready: Ready, rate: int, change: Callable[[], float]) -> dict[str, Any]:
    """One change under load, until clients have their I/O back and all is clean: what was lost, for how long."""
    (place,) = ready.made.places.values()
    limit = ready.size.seconds
    longest = limit + LEAD + 600  # seconds: the load ends by itself too, whatever becomes of this process
    watch = _Watch(opts, ready)
    watch.begin(scenarios.load(place, ready.image, longest, rate), longest)
    try:
        start = watch.for_seconds(LEAD)
        if not any(watch.curve(start, watch.until(start))):
            raise ProposalError("the load generators wrote nothing: there is no client I/O that could dip")
        first, ticks = _state(opts), _ticks(opts, ready, plan)
        event = change()
        watch.look()
        before = max(1.0, _mean(watch.curve(event - LEAD, LEAD - LATE)[FILL:]))
        clean: int | None = None
        moved = False
        while True:
            pause()
            watch.look()
            at, state = round(now() - event), _state(opts)
            clean = (at if clean is None else clean) if state["clean"] else None
            moved = moved or clean is None
            settled = clean is not None and at > SEEN
            if at > limit or settled and (at > (clean or 0) + TAIL or watch.dip(event, before).back is not None):
                break
        busy = _busy(ticks, _ticks(opts, ready, plan))
    finally:
        watch.end()
    felt = watch.dip(event, before)
    if not moved:
        clean = 0
    return {
        "before": before,
        "depth": felt.depth,
        "length": felt.length,
        "best": None if felt.back is None or clean is None else max(felt.back, clean),
        "clean": clean,
        "moved": max(0, state["recovered"] - first["recovered"]),
        "busy": busy,
        "lead": LEAD,
        "curve": [round(each, 1) for each in watch.curve(event - LEAD, LEAD + watch.until(event))],
    }


def _out(opts: Mapping, plan: Plan, target: Target) -> float:
    """Stop OSDs and give them out, asked anew just before, as the pool lies there since; return when that began."""
    if against := bench_recovery.against_target(opts, target):
        raise ProposalError("\n".join(against))
    began = now()
    jobs.one(opts, target.minion, "daemons_maintenance.stop", [list(_units(plan, target))], list)
    jobs.cluster(opts, "cluster_recovery_measure.out", [list(target.osds)], bool)
    return began


def _in(opts: Mapping, plan: Plan, target: Target) -> float:
    """Start OSDs and take all in; return when that began."""
    began = now()
    jobs.one(opts, target.minion, "daemons_maintenance.start", [_units(plan, target)], list)
    jobs.cluster(opts, "cluster_recovery_measure.back", kind=list)
    return began


def _units(plan: Plan, target: Target) -> dict[str, str]:
    units = {f"ceph-osd@{osd}.service" for osd in target.osds}
    return {unit: word for unit, word in plan.before["units"][target.minion].items() if unit in units}


def whole(opts: Mapping) -> None:
    """Wait until the cluster is sound and nothing moves: only then comes the next scenario."""

    def look() -> judge.Verdict:
        found = health.judged(opts)
        return judge.Verdict((*found.wrong, *found.moves), (), found.known)

    if wrong := health.waited(look, WHOLE).wrong:
        raise ProposalError("\n".join(["the cluster does not get sound again:", *judge.lines(wrong)]))


def _state(opts: Mapping) -> dict[str, Any]:
    state: dict[str, Any] = jobs.cluster(opts, "cluster_recovery_measure.state", kind=dict)
    return state


def _ticks(opts: Mapping, ready: Ready, plan: Plan) -> dict[str, list[int]]:
    """How long processors were idle, of the hosts that make load and of those that have OSDs."""
    return _ask(opts, sorted({*ready.generators, *plan.storage}), "benchmark_sample.processors", [], 60)


def _busy(first: Mapping[str, Sequence[int]], last: Mapping[str, Sequence[int]]) -> float:
    """How busy the processors of the busiest host were, 0 to 1."""
    shares = [1 - (last[host][0] - idle) / (last[host][1] - total) for host, (idle, total) in first.items()
              if host in last and last[host][1] > total]  # fmt: skip
    return max(shares, default=0.0)


def _go_on(opts: Mapping) -> None:
    """Raise Stopped where somebody typed so: ``recovery.stop``, ``benchmark.stop``."""
    record = jobs.cluster(opts, "cluster_benchmark.record", kind=dict)
    if not record or record["stop"]:
        raise Stopped("the measurement was stopped, and all is put back")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _ask(opts: Mapping, asked: Sequence[str], function: str, words: Sequence[Any], timeout: float) -> dict[str, Any]:
    """Ask hosts in one job; one that fails ends the measurement, or says that it was stopped."""
    answered = jobs.ask(opts, asked, function, words, object, timeout)
    if answered.problems:
        _go_on(opts)
        raise ProposalError("\n".join(replies.lines(answered.problems)))
    return dict(answered.answers)


class _Watch:
    """The loads of all generators: begun, looked at, ended; what each told until now."""

    def __init__(self, opts: Mapping, ready: Ready) -> None:
        self.opts, self.hosts = opts, ready.generators
        self.told: dict[str, list[Sample]] = {host: [] for host in self.hosts}
        self.zero: dict[str, float] = {}  # when each began, by its own clock

    def begin(self, job: Mapping[str, Any], limit: int) -> None:
        _ask(self.opts, self.hosts, "benchmark_sample.start", [job, limit], 120)

    def look(self) -> None:
        _go_on(self.opts)
        known = min(len(each) for each in self.told.values())
        for host, answer in _ask(self.opts, self.hosts, "benchmark_sample.since", [known], 60).items():
            samples = answer["samples"]
            if samples:
                self.zero.setdefault(host, answer["at"] - samples[-1][0] / 1000)
                new = [(self.zero[host] + ms / 1000, kib / scenarios.BLOCK) for ms, kib in samples]
                self.told[host][known:] = new

    def for_seconds(self, seconds: int) -> float:
        """Look for so long; return when that began."""
        start = now()
        while now() < start + seconds:
            pause()
            self.look()
        return start

    def until(self, begin: float) -> int:
        """For how many seconds since a time all of them have told what they did."""
        return max(0, int(min(each[-1][0] if each else 0 for each in self.told.values()) - begin))

    def dip(self, event: float, before: float) -> dips.Dip:
        """What clients felt of a change until now."""
        return dips.dip(self.curve(event, self.until(event)), before)

    def end(self) -> None:
        jobs.ask(self.opts, self.hosts, "benchmark_load.stop", kind=bool, timeout=120)

    def curve(self, begin: float, seconds: int) -> list[float]:
        return dips.together(dips.each_second(each, begin, max(0, seconds)) for each in self.told.values())
