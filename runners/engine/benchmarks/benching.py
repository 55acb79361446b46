"""A benchmark, from its checks to its result: what it needs is made, load generators run in step, all is taken away."""

import json
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proposals.benchmarks import loads, places, suites
from proposals.benchmarks.suites import Size, Suite
from proposals.cluster.health import judge
from proposals.files import atomic
from proposals.files.site import Site, site
from proposals.pillar import chosen, key_store, served
from proposals.stages import replies
from proposals.text import form
from proposals.text.errors import ProposalError
from proposals.text.sizes import rounded
from runners.engine.asking import jobs, lent, minions
from runners.engine.benchmarks import bench_jobs, bench_store
from runners.engine.benchmarks.bench_jobs import Keep, Ready, Tell
from runners.engine.cluster import health
from runners.engine.runs import stage_lock

FREE = {"free": int, "host_free": {"*": int}}
Measured = Callable[[Mapping, Ready, Tell, Keep], dict[str, Any]]


def ready(
    opts: Mapping, suite: Suite, size: Size, named: str, targets: Sequence[str], label: str, away: int = 0
) -> tuple[Ready, list[str]]:
    """Return what a run would be, and what stands against it. Nothing is changed.

    away
        OSDs that go out meanwhile: the others have to carry all placement groups.
    """
    generators = hosts(opts)
    facts = room(opts)
    own = int(size.options.get("numjobs", 1)) if size.options.get("own") else 1
    image = places.image(targets, size, facts, max(len(generators), 1), own)
    verdict = health.judged(opts)
    against = [f"the cluster is not sound: {line}" for line in judge.lines(verdict.wrong)]
    against += [f"the cluster is busy, which would be measured too: {line}" for line in judge.lines(verdict.moves)]
    mine = set(interrupted(opts).get("pools", ()))
    known = {**facts, "pools": [name for name in facts["pools"] if name not in mine]}
    against += places.against(targets, known, generators, size, image)
    made = places.plan(targets, {**facts, "osds": facts["osds"] - away}, generators, size, image)
    return Ready(suite, size, named, targets, label, generators, facts, made, image), against


def room(opts: Mapping, asked: str = "cluster_benchmark.facts") -> dict[str, Any]:
    """Return what the cluster has for a new pool, which a module says: ``free``, and what stands beside it."""
    facts: dict[str, Any] = jobs.cluster(opts, asked, kind=dict)
    if not form.has(facts, FREE):  # a module from before prep tells what all OSDs have together, or nothing
        raise ProposalError(f"the cluster's answer is not of the form expected ({asked}): run ceph.stage.prep")
    return facts


def about(plan: Ready) -> list[str]:
    """Return what a run is, in words: its suite, on what, how long, from whom."""
    minutes = max(1, suites.seconds(plan.suite, plan.size, len(plan.made.places)) // 60)
    return [
        f"{plan.suite.title}: {len(plan.suite.jobs)} jobs on {', '.join(plan.made.places)}, about {minutes} minutes",
        f"load from {', '.join(plan.generators)}; {plan.size.images} images or files of {rounded(plan.image)} each",
        *suites.clients(plan.suite, len(plan.generators)),
        *plan.made.notes,
    ]


def hosts(opts: Mapping) -> list[str]:
    """Return the load generators: the minions with the role benchmark in the generation that is served."""
    minions.members(opts)  # says so where nothing is configured yet
    roles = chosen.roles(served.contents(site(opts)))
    return sorted(minion for minion, has in roles.items() if "benchmark" in has)


def interrupted(opts: Mapping) -> dict[str, Any]:
    """Return the record of a run whose process is gone; empty where none is. ProposalError where one runs."""
    record: dict[str, Any] = jobs.cluster(opts, "cluster_benchmark.record", kind=dict)
    if record and (on := where(record)):
        raise ProposalError(f"benchmark {record['id']} is {on}: wait for it, or end it with 'salt-run benchmark.stop'")
    return record


def process() -> dict[str, Any]:
    """Return what a record names this process by."""
    pid = os.getpid()
    return {"pid": pid, "born": stage_lock.born(pid), "host": socket.gethostname()}


def where(record: Mapping[str, Any]) -> str:
    """Return that the process which runs a benchmark is there, and on which master where that is another one, as nobody
    here sees whether it has ended; empty where it is gone.
    """
    if (host := record.get("host", socket.gethostname())) != socket.gethostname():
        return f"running on {host}, or was killed there"
    return "running" if alive(record) else ""


def alive(record: Mapping[str, Any]) -> bool:
    """Return whether the process that runs a benchmark is still there, on this master."""
    return stage_lock.born(record["pid"]) == record["born"]


def run(opts: Mapping, plan: Ready, tell: Tell, measured: Measured = bench_jobs.measured) -> dict[str, Any]:
    """Run a benchmark; return its result, which is kept as it grows. Whatever happens, all that was made is taken away.

    tell
        Says each step as it begins.
    measured
        What is done between; what it returns counts more than what is told of each run.
    """
    if left := interrupted(opts):
        tell(f"takes away what {left['id']} left, which was interrupted")
        tidy(opts, left)
    begun = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    run_id = f"{plan.suite.name}-{begun}"
    record = {"id": run_id, **process(), "stop": False, "generators": plan.generators}
    record |= plan.made.record
    jobs.cluster(opts, "cluster_benchmark.note", [record], bool)
    asked = sorted({*plan.generators, minions.members(opts)["master"][0]})
    try:
        with lent.lent(opts, asked, "benchmark", key_store.fresh_key(site(opts))):
            tell(f"makes {', '.join(plan.made.record['pools'])}")
            jobs.cluster(opts, "cluster_benchmark.make", [plan.made.commands, plan.made.caps], bool, timeout=1800)
            known = _about(opts, plan, run_id)

            def keep(told: Mapping[str, Any]) -> None:
                bench_store.write(opts, {**known, **told}, {})

            told = measured(opts, plan, tell, keep)
            keep(told)  # whatever becomes of taking all away
            return {**known, **told}
    finally:
        tell("takes away what was made for it")
        for line in tidy(opts, record):
            tell(line)


def tidy(opts: Mapping, record: Mapping[str, Any]) -> list[str]:
    """Take away all that a record names, on load generators, then in the cluster; return what could not be told to go.

    A load generator that does not answer keeps a key that nobody accepts any more, until its next benchmark.
    """
    asked = record["generators"]
    told = jobs.ask(opts, asked, "benchmark_load.tidy", kind=bool, timeout=120) if asked else replies.Replies({}, [])
    jobs.cluster(opts, "cluster_benchmark.tidy", timeout=1800)
    return replies.lines(told.problems)


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
        "cluster": minions.pillar(opts).get("fsid", ""),
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
        "proposals": _arguments(paths),
        "suite_file": atomic.read_text(suites.FOLDER / f"{plan.suite.name}.yaml"),
        "commands": plan.made.commands,
        "facts": dict(plan.facts),
        **jobs.cluster(opts, "cluster_benchmark.about", kind=dict),
    }


def _arguments(paths: Site) -> dict[str, Any]:
    """The arguments of each stored proposal."""
    files = sorted(paths.proposals.glob("profile-*/proposal.json"))
    return {path.parent.name: json.loads(atomic.read_text(path)).get("arguments") for path in files}
