"""``salt-run benchmark.*``: measure the cluster as the reference documents did, keep, show and compare results."""

from typing import Any

from proposals.benchmarks import baseline as slowness
from proposals.benchmarks import compare as comparing
from proposals.benchmarks import estimate as estimating
from proposals.benchmarks import rates, report, results, suites
from proposals.files import site
from proposals.policy import store
from proposals.text import names
from proposals.text.errors import ArgumentError
from runners.engine import answer
from runners.engine.asking import minions
from runners.engine.benchmarks import bench_baseline, bench_shown, bench_store, benching
from runners.engine.runs import stage_lock, stage_log

LIMIT = 10  # percent that a figure may be worse than the baseline's: DeepSea's margin


@answer.answers
def run(
    suite: str | None = None, target: str | None = None, size: str = "quick", label: str = "", test: bool = False
) -> answer.Output:
    """Measure the cluster by a suite: its document's own table, with its values and ratios beside; plots; one page.

    Load comes from the hosts with the role benchmark, all in step. Pools, images, a file system and a user are made for
    it, and taken away after it; no pool that exists is touched. Refused on a cluster that is not sound, while data
    moves, without a load generator, and where there is no room. It loads the cluster fully: not beside work that
    matters. Stopped, or failed in a job, it keeps what it has measured until then, which is called partial, and ends
    with exit status 1. Killed, the next run, or benchmark.clean, takes away what it left.

    suite
        Its name: see benchmark.list.
    target
        What to run on, with commas between, such as ``rbd,cephfs``; without, all that the suite is for.
    size
        ``quick``: minutes, says little of hardware. ``paper``: as the document ran it, hours to days.
    label
        A word by which runs of one suite are told apart, such as a network's speed; a document's values may have one.
    test
        Only say what would be made and how long it takes, and what stands against it.

    CLI Example:

    .. code-block:: bash

        salt-run benchmark.run apollo test=true
        salt-run benchmark.run apollo target=rbd,cephfs size=paper
        salt-run benchmark.run mellanox label=10gbe
    """
    if not stage_lock.own(__opts__):
        stage_lock.free(__opts__)
    chosen = suites.read(suite)
    of_size, targets = suites.size(chosen, size), suites.targets(chosen, target)
    plan, against = benching.ready(__opts__, chosen, of_size, size, targets, _label(label))
    if against:
        return answer.bad("\n".join([f"{suite}: refused, nothing was made:", *against]))
    about = "\n".join(benching.about(plan))
    if test:
        made = list(plan.made.record["pools"])
        text = f"{about}\nwould make pools {', '.join(made)}, and take them away again"
        return {"text": text, "changes": {"pools": made}}
    stage_log.note(__opts__, "benchmark.run", "begins", suite=suite, size=size, targets=list(targets))
    _tell(about)
    result = benching.run(__opts__, plan, _tell)
    folder = bench_store.write(__opts__, result, report.files(chosen, [result]))
    missing = results.empty(chosen, result)
    lines = [results.plain(chosen, result), *result["notes"], *(f"no figure: {cell}" for cell in missing)]
    lines += [f"{result['id']}: kept in {folder}; open report.html there"]
    partial = result.get("partial", "")
    data = {"id": result["id"], "folder": str(folder), "partial": partial}
    return answer.Answer("\n".join(lines), data, 1 if missing or partial else 0)


@answer.answers
def list_() -> answer.Output:
    """List the suites, then the runs that are kept, and which of these are partial.

    CLI Example:

    .. code-block:: bash

        salt-run benchmark.list
    """
    known = {name: suites.read(name) for name in suites.known()}
    runs, odd = bench_store.runs(__opts__), bench_store.odd(__opts__)
    lines = [f"{name:<12} {suite.title} (on {', '.join(suite.targets)})" for name, suite in known.items()]
    lines += ["", *(f"{run} ({odd[run]})" if run in odd else run for run in runs or ["no run is kept yet"])]
    return answer.Answer("\n".join(lines), {"suites": sorted(known), "runs": runs, "odd": odd})


@answer.answers
def show(run: str) -> answer.Output:
    """Show a run's table again, or several of one suite below each other; their page is written anew.

    A recovery that was measured is shown too.

    run
        Its id, or several with commas between: their plots have a curve each, such as one for each label.

    CLI Example:

    .. code-block:: bash

        salt-run benchmark.show apollo-20260101T120000
    """
    told = [bench_store.read(__opts__, each.strip()) for each in str(run).split(",")]
    tables, files = bench_shown.shown(told)
    folder = bench_store.write(__opts__, told[0], files)
    data = {"runs": [{key: each.get(key) for key in ("id", "cells", "notes", "partial")} for each in told]}
    return answer.Answer("\n".join([*tables, f"page: {folder / 'report.html'}"]), data)


@answer.answers
def keep(run: str) -> answer.Output:
    """Let a run be this cluster's baseline for its suite, size and label: later runs are compared with it.

    CLI Example:

    .. code-block:: bash

        salt-run benchmark.keep apollo-20260101T120000
    """
    kind = bench_store.keep(__opts__, bench_store.read(__opts__, run))
    return {"text": f"{run} is the baseline of '{kind}'"}


@answer.answers
def compare(run: str, before: str | None = None, limit: float = LIMIT) -> answer.Output:
    """Say what a run has better and worse than an earlier one, beyond noise; exit status 1 where a limit is passed.

    Noise is 5 %, or twice the standard deviation of repeats where a suite has them.

    run
        Its id.
    before
        The earlier run's; without, the baseline that benchmark.keep named.
    limit
        Percent by which a figure may be worse.

    CLI Example:

    .. code-block:: bash

        salt-run benchmark.compare apollo-20260102T120000 apollo-20260101T120000
    """
    limit = _percent("limit", limit)
    after = bench_store.read(__opts__, run)
    earlier = before or bench_store.baselines(__opts__).get(bench_store.called(after))
    if earlier is None:
        raise ArgumentError(
            f"'{bench_store.called(after)}' has no baseline yet: name an earlier run, or make one the baseline with "
            "'salt-run benchmark.keep RUN'"
        )
    then = bench_store.read(__opts__, earlier)
    if before is None and then.get("cluster") != after.get("cluster"):
        raise ArgumentError(f"the baseline {earlier} is of another cluster: name an earlier run of this one")
    found = comparing.differences(then, after)
    bad = comparing.regressions(found, limit)
    last = f"{len(bad)} figures are worse than {earlier} by more than {limit:g} %" if bad else "within the limit"
    data: dict[str, Any] = {"before": earlier, "regressions": [each._asdict() for each in bad]}
    lines = [*comparing.lacking(then, after), *comparing.lines(found), last]
    return answer.Answer("\n".join(lines), data, 1 if bad else 0)


@answer.answers
def baseline(parts: str = "disks,osds,links", seconds: int = 3, margin: float = slowness.MARGIN) -> answer.Output:
    """Measure each disk, OSD and network link beside its equals, and name the slow one; exit status 1 where one is.

    Disks of the storage hosts are read by fio, which writes to none; OSDs write 100 MiB each by Ceph's own
    ``osd bench``; every pair of hosts measures its link, as in networks.iperf. Best before a pool is made. What was
    measured is kept for benchmark.estimate.

    parts
        Some of ``disks``, ``osds``, ``links``, with commas between.
    seconds
        For each disk and each pair of hosts.
    margin
        Percent below the median of its equals, from which on a part is slow.

    CLI Example:

    .. code-block:: bash

        salt-run benchmark.baseline
        salt-run benchmark.baseline parts=disks seconds=10
    """
    stage_lock.free(__opts__)
    if type(seconds) is not int or not 1 <= seconds <= 3600:
        raise ArgumentError(f"seconds={names.shown(seconds)}: expected a whole number from 1 to 3600")
    below = _percent("margin", margin)  # before anything is measured, which takes hours on a large cluster
    measured, problems = bench_baseline.speeds(__opts__, slowness.parts(parts), seconds)
    slow = slowness.slow(measured, below)
    bench_store.keep_speeds(__opts__, measured)
    text = [*slowness.lines(measured), *problems, *(slow or ["no part is slower than its equals"])]
    data = {"speeds": [each._asdict() for each in measured], "slow": slow, "problems": problems}
    return answer.Answer("\n".join(text), data, 1 if slow or problems else 0)


@answer.answers
def estimate(
    name: str = "default", redundancy: str | int | None = None, clients: float | None = None, hdd: float | None = None,
    ssd: float | None = None, nvme: float | None = None, public: float | None = None, cluster: float | None = None,
) -> answer.Output:  # fmt: skip
    """Say what a stored proposal would read and write at most, and where its bottleneck is; nothing is asked or run.

    Large reads and writes, from what benchmark.baseline measured: each part may take what it carries, for its share of
    the data. Operations a second and processors are not estimated.

    name
        The proposal's.
    redundancy
        Replicas such as 3, or parts such as 4+2; without, the site's ``redundancy``.
    clients
        Gb/s of all clients' links together; without, they hold nothing back.
    hdd, ssd, nvme
        MiB/s of a disk of that class that was not measured.
    public, cluster
        Gb/s of a host's link that was not measured. Without cluster the public network carries all.

    CLI Example:

    .. code-block:: bash

        salt-run benchmark.estimate apollo
        salt-run benchmark.estimate apollo redundancy=4+2 clients=50 hdd=180 ssd=450 public=25 cluster=50
    """
    hosts = store.finished_proposal(site.site(__opts__).proposals, str(name))["hosts"]
    typed = {"hdd": hdd, "ssd": ssd, "nvme": nvme, "public": public, "cluster": cluster, "clients": clients}
    usual = rates.usual(typed)
    planned = minions.pillar(__opts__).get("redundancy", 3) if redundancy is None else redundancy
    copies = rates.redundancy(planned)
    known = rates.known(bench_store.speeds(__opts__), usual)
    told = estimating.limits(hosts, known, copies, usual.get("clients"))
    advice = estimating.advice(hosts, known)
    data = {cls: {way: [one._asdict() for one in each] for way, each in ways.items()} for cls, ways in told.items()}
    text = [*estimating.lines(told, hosts, copies), *advice]
    return answer.Answer("\n".join(text), {"classes": data, "advice": advice})


@answer.answers
def stop() -> answer.Output:
    """Stop the benchmark that runs, from any shell; what was made for it is taken away.

    CLI Example:

    .. code-block:: bash

        salt-run benchmark.stop
    """
    stopped = benching.stop(__opts__)
    return {"text": f"{stopped} is stopped" if stopped else "no benchmark is running: nothing changed"}


@answer.answers
def clean(test: bool = False) -> answer.Output:
    """Take away what a benchmark left that was killed: load, pools, images, its file system, rules and user.

    test
        Only say what would go.

    CLI Example:

    .. code-block:: bash

        salt-run benchmark.clean test=true
    """
    left = benching.interrupted(__opts__)
    if not left:
        return {"text": "no benchmark left anything: nothing changed"}
    if test:
        return {"text": f"would take away what {left['id']} made: {', '.join(left['pools'])}"}
    problems = benching.tidy(__opts__, left)
    text = "\n".join([f"what {left['id']} made is gone", *problems])
    return answer.Answer(text, {"removed": left["pools"], "problems": problems}, 1 if problems else 0)


__func_alias__ = {"list_": "list"}


def _label(label: object) -> str:
    """A label as typed: it stands in tables and in a page."""
    text = str(label)
    if text and not names.PROFILE.fullmatch(text):
        raise ArgumentError(f"label={names.shown(label)}: expected at most 64 letters, digits, '.', '_' and '-'")
    return text


def _percent(name: str, value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100:
        return float(value)
    raise ArgumentError(f"{name}={names.shown(value)}: expected percent, 0 to 100")


def _tell(line: str) -> None:
    """Say a step as it begins; a stage gets the answer alone."""
    if not stage_lock.own(__opts__):
        answer.tell(__opts__, line)
