"""The jobs of a benchmark: each place prepared and filled, each job on all load generators at one time."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proposals.benchmarks import figures, loads, places, suites
from proposals.benchmarks.suites import Job, Size, Suite
from proposals.stages import replies
from proposals.text.errors import ProposalError
from runners.engine import jobs, minions, network_proof

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


def measured(opts: Mapping, plan: Ready, tell: Tell) -> dict[str, Any]:
    """Run every job on every place; return ``cells``, when and with what they ran, what was odd.

    Raises Stopped where somebody typed so, ProposalError where a load generator fails.
    """
    cells: dict[str, dict[str, list]] = {}
    links, odd = _links(opts, plan, tell)
    runs, notes, tools = [], [*suites.clients(plan.suite, len(plan.generators)), *plan.made.notes, *odd], set()
    for target, place in plan.made.places.items():
        _ask(opts, plan, "benchmark_load.prepare", [place], 300)
        if fill := loads.prefill(plan.suite, plan.size, place, plan.image):
            tell(f"{target}: writes all that will be read")
            _in_step(opts, plan, fill)
        for job in plan.suite.jobs:
            for at in range(plan.size.repeats):
                time.sleep(plan.size.settle)
                _go_on(opts)
                _drop_caches(opts, plan)
                again = f", {at + 1} of {plan.size.repeats}" if plan.size.repeats > 1 else ""
                tell(f"{target}: {job.name}{again}")
                told = _job(opts, plan, job, place)
                tools |= set(told.pop("versions"))
                for way, row in job.rows.items():
                    if way in told["figures"]:
                        cells.setdefault(target, {}).setdefault(row, []).append(told["figures"][way])
                runs.append({"target": target, "job": job.name, **{key: told[key] for key in told if key != "figures"}})
                notes += [f"{target}: {job.name}: {note}" for note in told["notes"]]
    told = {"targets": list(plan.made.places), "cells": cells, "runs": runs, "notes": notes, "tools": sorted(tools)}
    return {**told, "links": links}


def _links(opts: Mapping, plan: Ready, tell: Tell) -> tuple[dict[str, list[float]], list[str]]:
    """What each pair of hosts carries in Mb/s, by network, where the suite's document tells of it; what was odd."""
    if not plan.suite.links:
        return {}, []
    tell("every link, by iperf")
    try:
        proof = network_proof.iperf(opts, network_proof.SECONDS, network_proof.STREAMS)
    except ProposalError as err:
        return {}, [f"links were not measured: {err}"]
    return {kind: sorted(seen["rates"].values()) for kind, seen in proof.data.items()}, proof.problems


def _job(opts: Mapping, plan: Ready, job: Job, place: Mapping[str, Any]) -> dict[str, Any]:
    """One job on all generators: figures of all together, spans by host, counters of a pool beside them."""
    one = loads.job(plan.suite, plan.size, job, place, plan.image)
    counted = one["tool"] == "rados"
    before = _counters(opts, place) if counted else {}
    answers = _in_step(opts, plan, one)
    reader = figures.READERS[one["tool"]]
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
        gained = {way: after[way] - before[way] for way in after}
        told["counted"] = gained
        notes += figures.disagreement(together, gained)
    return {**told, "versions": sorted({each["version"] for each in answers.values()})}


def _counters(opts: Mapping, place: Mapping[str, Any]) -> dict[str, int]:
    counters: dict[str, int] = jobs.cluster(opts, "cluster_benchmark.counters", kind=dict)[place["pool"]]
    return counters


def _in_step(opts: Mapping, plan: Ready, job: Mapping[str, Any]) -> dict[str, Any]:
    """Start a job on all generators at one time; return what each answers."""
    limit = loads.limit(job)
    return _ask(opts, plan, "benchmark_load.run", [job, time.time() + suites.LEAD, limit], limit + 2 * suites.LEAD + 60)


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


def _drop_caches(opts: Mapping, plan: Ready) -> None:
    """Drop the caches of hosts with OSDs and of load generators where that can be done: in containers it cannot."""
    asked = sorted({*minions.members(opts)["storage"], *plan.generators})
    jobs.ask(opts, asked, "benchmark_load.drop_caches", kind=bool, timeout=400)
