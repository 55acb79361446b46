"""The speeds of a cluster's parts, asked of minions: disks are read, OSDs write by their own command, links carry."""

from collections.abc import Collection, Mapping

from proposals.benchmarks import baseline
from proposals.benchmarks.baseline import Speed
from proposals.stages import replies
from runners.engine.asking import jobs, minions
from runners.engine.cluster import network_proof

OSD_BYTES = 100 << 20  # that each OSD writes and throws away: below what Ceph allows a bench in any unit of time


def speeds(opts: Mapping, parts: Collection[str], seconds: int) -> tuple[list[Speed], list[str]]:
    """Return the speeds of some kinds of parts, and what could not be measured.

    opts
        The master's options.
    parts
        Some of ``baseline.PARTS``.
    seconds
        Of each measurement of a disk or link.
    """
    found: list[Speed] = []
    problems: list[str] = []
    if "disks" in parts:
        asked = jobs.ask(opts, minions.members(opts)["storage"], "benchmark_disks.read", [seconds], timeout=3600)
        found += baseline.of_disks(asked.answers)
        problems += replies.lines(asked.problems)
    if "osds" in parts:
        measured = jobs.cluster(opts, "cluster_benchmark.osds", [OSD_BYTES], dict, timeout=7200)
        about = jobs.cluster(opts, "cluster_benchmark.about", kind=dict)
        classes = {name: cls for kind, name, cls in about["tree"] if kind == "osd"}
        found += baseline.of_osds(measured, classes)
    if "links" in parts:
        proof = network_proof.iperf(opts, seconds, network_proof.STREAMS)
        found += baseline.of_links(proof.data)
        problems += proof.problems
    return found, problems
