"""The jobs of a benchmark: each place prepared and filled, each job on all load generators at one time."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from proposals.benchmarks import figures, loads, places, suites
from proposals.benchmarks.suites import Job, Size, Suite
from proposals.stages import replies
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs, minions
from runners.engine.cluster import network_proof

COUNTED = 12  # seconds until the managers know what pools have read and written
APART, OVERLAP = 1.0, 0.9  # seconds between two that begin, and share of the run: else hosts were not in step
CONTAINER = "it is a container, and they are the whole machine's"
CUT = "it still runs, or its process was ended"  # why a result is partial, as long as nothing else is known
Tell = Callable[[str], object]
Keep = Callable[[Mapping[str, Any]], object]  # takes what is known until now, which counts if no more comes


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


class Lead:
    """How long before the common start load generators are asked: twice what the slowest took to have the last job."""

    def __init__(self) -> None:
        self.seconds = float(suites.LEAD)

    def learn(self, took: float) -> None:
        """Take the seconds that the slowest generator took."""
        self.seconds = min(float(suites.LEAD), max(float(suites.LEAST), 2 * took))


def measured(opts: Mapping, plan: Ready, tell: Tell, keep: Keep) -> dict[str, Any]:
    """Run every job on every place; return ``cells``, when and with what they ran, what was odd.

    Where somebody stops it, or a load generator fails, ``partial`` says at which job and why, and what was measured
    until then is returned; where that is nothing, Stopped or ProposalError is raised.

    keep
        Takes what is known after each job, partial as it is.
    """
    links, odd = _links(opts, plan, tell)
    lead = Lead()
    notes = [*suites.clients(plan.suite, len(plan.generators)), *plan.made.notes, *odd]
    result: dict[str, Any] = {"targets": list(plan.made.places), "links": links, "notes": notes}
    result |= {"cells": {}, "runs": [], "tools": []}
    try:
        for target, place in plan.made.places.items():
            where = f"{target}: writes all that will be read"
            _ask(opts, plan, "benchmark_load.prepare", [place], 300)
            if fill := loads.prefill(plan.suite, plan.size, place, plan.image):
                tell(where)
                _in_step(opts, plan, fill, lead)
            for job, at in product(plan.suite.jobs, range(plan.size.repeats)):
                time.sleep(plan.size.settle)
                where = f"{target}: {job.name}"
                where += f", {at + 1} of {plan.size.repeats}" if plan.size.repeats > 1 else ""
                _go_on(opts)
                notes += [line for line in _drop_caches(opts, plan) if line not in notes]
                tell(where)
                _add(result, target, job, _job(opts, plan, job, place, lead))
                keep({**result, "partial": CUT})
    except ProposalError as err:
        if not result["cells"]:
            raise
        result["partial"] = ended(where, err)
    return result


def ended(where: str, err: ProposalError) -> str:
    """Return why a result is partial, in one line: at what it ended, and the words of its end."""
    return f"it ended at {where}: {'; '.join(str(err).splitlines())}"


def _add(result: dict[str, Any], target: str, job: Job, told: Mapping[str, Any]) -> None:
    """Add what a job told to a result."""
    for way, row in job.rows.items():
        if way in told["figures"]:
            result["cells"].setdefault(target, {}).setdefault(row, []).append(told["figures"][way])
    run = {key: value for key, value in told.items() if key not in ("figures", "versions")}
    result["runs"].append({"target": target, "job": job.name, **run})
    result["notes"] += [f"{target}: {job.name}: {note}" for note in told["notes"]]
    result["tools"] = sorted({*result["tools"], *told["versions"]})


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


def _job(opts: Mapping, plan: Ready, job: Job, place: Mapping[str, Any], lead: Lead) -> dict[str, Any]:
    """One job on all generators: figures of all together, spans by host, counters of a pool beside them."""
    one = loads.job(plan.suite, plan.size, job, place, plan.image)
    counted = one["tool"] == "rados"
    before = _counters(opts, place) if counted else {}
    answers = _in_step(opts, plan, one, lead)
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


def _in_step(opts: Mapping, plan: Ready, job: Mapping[str, Any], lead: Lead) -> dict[str, Any]:
    """Start a job on all generators at one time; return what each answers."""
    limit, asked = loads.limit(job), time.time()
    patience = limit + 2 * suites.LEAD + 60
    answers = _ask(opts, plan, "benchmark_load.run", [job, asked + lead.seconds, limit], patience)
    lead.learn(max(each["came"] for each in answers.values()) - asked)
    return answers


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
        raise Stopped("the benchmark was stopped, and what was made for it is taken away")


def _drop_caches(opts: Mapping, plan: Ready) -> list[str]:
    """Drop the caches of hosts with OSDs and of load generators; return a line where that could not be done."""
    asked = sorted({*minions.members(opts)["storage"], *plan.generators})
    answered = jobs.ask(opts, asked, "benchmark_load.drop_caches", kind=bool, timeout=400)
    kept = [replies.Problem(host, CONTAINER) for host, dropped in answered.answers.items() if not dropped]
    return [f"caches were not dropped: {line}" for line in replies.lines([*answered.problems, *kept])]
