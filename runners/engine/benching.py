"""A benchmark, from its checks to its result: what it needs is made, load generators run in step, all is taken away."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proposals.benchmarks import figures, loads, places, suites
from proposals.benchmarks.suites import Job, Size, Suite
from proposals.cluster.health import judge
from proposals.files import atomic
from proposals.files.site import site
from proposals.pillar import chosen, secrets, served
from proposals.stages import replies
from proposals.text.errors import ProposalError
from proposals.text.sizes import rounded
from runners.engine import health, jobs, lent, minions, stage_lock

LEAD = 15  # seconds from asking to the common start: every generator has the job by then
SETTLE = 3  # seconds between two jobs
COUNTED = 12  # seconds until the managers know what pools have read and written
APART, OVERLAP = 1.0, 0.9  # seconds between two that begin, and share of the run: else hosts were not in step
Tell = Callable[[str], object]


class Stopped(ProposalError):
    """Somebody typed ``benchmark.stop``."""


@dataclass(frozen=True)
class Ready:
    """A run that may begin: what is measured where, by whom, of which size."""

    suite: Suite
    size: Size
    named: str
    targets: Sequence[str]
    label: str
    generators: list[str]
    facts: Mapping[str, Any]
    made: places.Places
    image: int


def ready(
    opts: Mapping, suite: Suite, size: Size, named: str, targets: Sequence[str], label: str
) -> tuple[Ready, list[str]]:
    """Return what a run would be, and what stands against it. Nothing is changed."""
    generators = hosts(opts)
    facts = jobs.cluster(opts, "cluster_benchmark.facts", kind=dict)
    own = int(size.options.get("numjobs", 1)) if size.options.get("own") else 1
    image = places.image(size, facts, max(len(generators), 1), own)
    verdict = health.judged(opts)
    against = [f"the cluster is not sound: {line}" for line in judge.lines(verdict.wrong)]
    against += [f"data moves, which would be measured too: {line}" for line in judge.lines(verdict.moves)]
    mine = set(interrupted(opts).get("pools", ()))
    known = {**facts, "pools": [name for name in facts["pools"] if name not in mine]}
    against += places.against(targets, known, generators, size, image)
    made = places.plan(targets, facts, generators, size, image)
    return Ready(suite, size, named, targets, label, generators, facts, made, image), against


def about(plan: Ready) -> list[str]:
    """Return what a run is, in words: its suite, on what, how long, from whom."""
    minutes = max(1, suites.seconds(plan.suite, plan.size, len(plan.made.places)) // 60)
    return [
        f"{plan.suite.title}: {len(plan.suite.jobs)} jobs on {', '.join(plan.made.places)}, about {minutes} minutes",
        f"load from {', '.join(plan.generators)}; {plan.size.images} images or files of {rounded(plan.image)} each",
    ]


def hosts(opts: Mapping) -> list[str]:
    """Return the load generators: the minions with the role benchmark in the generation that is served."""
    minions.members(opts)  # says so where nothing is configured yet
    roles = chosen.roles(served.contents(site(opts)))
    return sorted(minion for minion, has in roles.items() if "benchmark" in has)


def interrupted(opts: Mapping) -> dict[str, Any]:
    """Return the record of a run whose process is gone; empty where none is. ProposalError where one runs."""
    record: dict[str, Any] = jobs.cluster(opts, "cluster_benchmark.record", kind=dict)
    if record and alive(record):
        raise ProposalError(
            f"benchmark {record['id']} is running: wait for it, or end it with 'salt-run benchmark.stop'"
        )
    return record


def alive(record: Mapping[str, Any]) -> bool:
    """Return whether the process that runs a benchmark is still there."""
    return stage_lock.born(record["pid"]) == record["born"]


def run(opts: Mapping, plan: Ready, tell: Tell) -> dict[str, Any]:
    """Run a benchmark; return its result. Whatever happens, what was made for it is taken away.

    tell
        Says each step as it begins.
    """
    if left := interrupted(opts):
        tell(f"takes away what {left['id']} left, which was interrupted")
        tidy(opts, left)
    pid = os.getpid()
    begun = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    run_id = f"{plan.suite.name}-{begun}"
    record = {"id": run_id, "pid": pid, "born": stage_lock.born(pid), "stop": False, "generators": plan.generators}
    record |= plan.made.record
    jobs.cluster(opts, "cluster_benchmark.note", [record], bool)
    asked = sorted({*plan.generators, minions.members(opts)["master"][0]})
    try:
        with lent.lent(opts, asked, "benchmark", secrets.new_key()):
            tell(f"makes {', '.join(plan.made.record['pools'])}")
            jobs.cluster(opts, "cluster_benchmark.make", [plan.made.commands, plan.made.caps], bool, timeout=1800)
            return {**_about(opts, plan, run_id), **_measured(opts, plan, tell)}
    finally:
        tell("takes away what was made for it")
        tidy(opts, record)


def tidy(opts: Mapping, record: Mapping[str, Any]) -> None:
    """Take away all that a record names: on load generators, then in the cluster."""
    if record["generators"]:
        jobs.ask(opts, record["generators"], "benchmark_load.tidy", kind=bool, timeout=120)
    jobs.cluster(opts, "cluster_benchmark.tidy", timeout=1800)


def stop(opts: Mapping) -> str:
    """Let the run that is on its way end now; return its id, empty where none runs. Its own process takes all away."""
    record = jobs.cluster(opts, "cluster_benchmark.record", kind=dict)
    if not record:
        return ""
    jobs.cluster(opts, "cluster_benchmark.note", [{**record, "stop": True}], bool)
    jobs.ask(opts, record["generators"], "benchmark_load.stop", kind=bool, timeout=120)
    if not alive(record):
        tidy(opts, record)
    return str(record["id"])


def _about(opts: Mapping, plan: Ready, run_id: str) -> dict[str, Any]:
    """What a run is repeated with, and judged by: all but its cells."""
    paths = site(opts)
    policy = paths.proposals / "policy.cfg"
    return {
        "id": run_id,
        "suite": plan.suite.name,
        "size": plan.named,
        "label": plan.label,
        "drop": plan.size.drop,
        "seed": loads.SEED,
        "generators": plan.generators,
        "image": plan.image,
        "images": plan.size.images,
        "options": dict(plan.size.options),
        "generation": paths.current.resolve().name,
        "policy": atomic.read_text(policy) if policy.exists() else "",
        "commands": plan.made.commands,
        "facts": dict(plan.facts),
        **jobs.cluster(opts, "cluster_benchmark.about", kind=dict),
    }


def _measured(opts: Mapping, plan: Ready, tell: Tell) -> dict[str, Any]:
    """Every job on every place: ``cells``, when and with what they ran, what was odd."""
    cells: dict[str, dict[str, list]] = {}
    runs, notes, tools = [], [], set()
    for target, place in plan.made.places.items():
        _ask(opts, plan, "benchmark_load.prepare", [place], 300)
        if fill := loads.prefill(plan.suite, plan.size, place, plan.image):
            tell(f"{target}: writes all that will be read")
            _in_step(opts, plan, fill)
        for job in plan.suite.jobs:
            for at in range(plan.size.repeats):
                _go_on(opts)
                _drop_caches(opts)
                again = f", {at + 1} of {plan.size.repeats}" if plan.size.repeats > 1 else ""
                tell(f"{target}: {job.name}{again}")
                told = _job(opts, plan, job, place)
                tools |= set(told.pop("versions"))
                for way, row in job.rows.items():
                    if way in told["figures"]:
                        cells.setdefault(target, {}).setdefault(row, []).append(told["figures"][way])
                runs.append({"target": target, "job": job.name, **{key: told[key] for key in told if key != "figures"}})
                notes += [f"{target}: {job.name}: {note}" for note in told["notes"]]
                time.sleep(SETTLE)
    return {"targets": list(plan.made.places), "cells": cells, "runs": runs, "notes": notes, "tools": sorted(tools)}


def _job(opts: Mapping, plan: Ready, job: Job, place: Mapping[str, Any]) -> dict[str, Any]:
    """One job on all generators: figures of all together, spans by host, counters of a pool beside them."""
    counted = plan.suite.tool == "rados"
    before = _counters(opts, place) if counted else {}
    answers = _in_step(opts, plan, loads.job(plan.suite, plan.size, job, place, plan.image))
    reader = figures.rados if counted else figures.fio
    spans = {host: (each["began"], each["ended"]) for host, each in answers.items()}
    step = figures.overlap(list(spans.values()))
    notes = [] if step["apart"] <= APART and step["overlap"] >= OVERLAP else [
        f"load generators were not in step: {step['apart']:.1f} s apart, {step['overlap']:.0%} of the run together"
    ]  # fmt: skip
    together = figures.together(reader(each["printed"]) for each in answers.values())
    told = {"figures": {way: each.as_dict() for way, each in together.items()}, "spans": spans, **step, "notes": notes}
    if counted:
        time.sleep(COUNTED)
        after = _counters(opts, place)
        told["counted"] = {way: after[way] - before[way] for way in after}
    return {**told, "versions": sorted({each["version"] for each in answers.values()})}


def _counters(opts: Mapping, place: Mapping[str, Any]) -> dict[str, int]:
    counters: dict[str, int] = jobs.cluster(opts, "cluster_benchmark.counters", kind=dict)[place["pool"]]
    return counters


def _in_step(opts: Mapping, plan: Ready, job: Mapping[str, Any]) -> dict[str, Any]:
    """Start a job on all generators at one time; return what each answers."""
    limit = loads.limit(job)
    return _ask(opts, plan, "benchmark_load.run", [job, time.time() + LEAD, limit], limit + 2 * LEAD + 60)


def _ask(opts: Mapping, plan: Ready, function: str, words: Sequence[Any], timeout: float) -> dict[str, Any]:
    """One job of Salt's on all generators; one that fails ends the benchmark, or says that it was stopped."""
    answered = jobs.ask(opts, plan.generators, function, words, object, timeout)
    if answered.problems:
        _go_on(opts)
        raise ProposalError("\n".join(replies.lines(answered.problems)))
    return dict(answered.answers)


def _go_on(opts: Mapping) -> None:
    """Raise Stopped where somebody typed so."""
    record = jobs.cluster(opts, "cluster_benchmark.record", kind=dict)
    if not record or record["stop"]:
        raise Stopped("the benchmark was stopped: what was made for it is taken away, no result is kept")


def _drop_caches(opts: Mapping) -> None:
    """Drop the caches of hosts with OSDs where that can be done: in containers it cannot."""
    jobs.ask(opts, minions.members(opts)["storage"], "benchmark_load.drop_caches", kind=bool, timeout=400)
