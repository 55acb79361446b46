"""What tools printed, as figures: MiB/s, IOPS, latencies; of several hosts together, percentiles from histograms."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from proposals.text.errors import ProposalError
from proposals.text.sizes import rounded

MIB = 1 << 20
APART = 0.1  # share by which a pool's counters and its load generators may differ
PERCENTILES = (50.0, 95.0, 99.0, 99.9)


@dataclass(frozen=True)
class Figures:
    """One direction of one run: MiB/s, operations a second, how many there were, milliseconds; ``bins`` of latency are
    operations by nanoseconds (fio's ``json+``).
    """

    mib_s: float
    iops: float
    operations: int
    mean_ms: float
    max_ms: float
    bins: Mapping[int, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """As a result has them: percentiles in place of the histogram, which is kept beside them."""
        told = {"mib_s": self.mib_s, "iops": self.iops, "operations": self.operations}
        told |= {"mean_ms": self.mean_ms, "max_ms": self.max_ms}
        return {**told, **percentiles(self.bins), "histogram_ns": {str(ns): n for ns, n in sorted(self.bins.items())}}


def fio(printed: Mapping[str, Any]) -> dict[str, Figures]:
    """Return the figures of each direction in which fio did anything, of its JSON (3.x, ``json`` or ``json+``).

    Raises ProposalError where it says of a job that it failed, or has another form.
    """
    try:
        failed = sorted({int(job["error"]) for job in printed["jobs"]} - {0})
        found = {way: _all(_fio(job[way]) for job in printed["jobs"]) for way in ("read", "write")}
    except (KeyError, TypeError, ValueError) as err:
        raise ProposalError(f"fio's answer is of another form than fio 3's JSON: {err!r} is missing or odd") from err
    if failed:
        raise ProposalError(f"fio says of its jobs: error {', '.join(map(str, failed))}; see its output on that host")
    return {way: figures for way, figures in found.items() if figures.operations}


def rados(printed: Mapping[str, Any]) -> dict[str, Figures]:
    """Return the figures of one ``rados bench --format json``: its MB are 2^20 bytes (ObjBencher, src/common)."""
    try:
        ways = {"total_writes_made": "write", "total_reads_made": "read"}
        (key,) = ways.keys() & printed.keys()
        numbers = [float(printed[name]) for name in ("bandwidth", "average_iops", "average_latency", "max_latency")]
        operations = int(float(printed[key]))
    except (KeyError, TypeError, ValueError) as err:
        raise ProposalError(f"rados bench answered in another form than Ceph 16's JSON: {err}") from err
    seconds = float(printed.get("total_time_run", 0))
    exact = operations / seconds if seconds else numbers[1]  # it prints whole IOPS alone
    return {ways[key]: Figures(numbers[0], exact, operations, numbers[2] * 1000, numbers[3] * 1000)}


def find(printed: Mapping[str, Any]) -> dict[str, Figures]:
    """Return the rate at which GNU find looked at files, as IO500 has it (src/phase_find.c); none where it matched
    nothing, which IO500 calls invalid. Bytes and a maximum it does not tell.
    """
    try:
        files, matched, seconds = int(printed["files"]), int(printed["matched"]), float(printed["seconds"])
        figure = Figures(0.0, files / seconds, files, seconds / files * 1000, 0.0) if matched else None
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as err:
        raise ProposalError(f"a load generator tells of find in another form than its module: {err!r}") from err
    return {"read": figure} if figure else {}


READERS = {"fio": fio, "rados": rados, "find": find}  # by tool


def together(hosts: Iterable[Mapping[str, Figures]]) -> dict[str, Figures]:
    """Return the figures of several hosts that ran in step: sums, the mean by operations, the worst."""
    told = list(hosts)
    ways = sorted({way for each in told for way in each})
    return {way: _all(each[way] for each in told if way in each) for way in ways}


def percentiles(bins: Mapping[int, int]) -> dict[str, float]:
    """Return ``{p50_ms, p95_ms, p99_ms, p99_9_ms}`` of a histogram; empty without one."""
    total, found = sum(bins.values()), {}
    for share in PERCENTILES if total else ():
        seen, wanted = 0, total * share / 100
        for nanoseconds, count in sorted(bins.items()):
            seen += count
            if seen >= wanted:
                found[f"p{share:g}_ms".replace(".", "_")] = nanoseconds / 1e6
                break
    return found


def overlap(spans: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Return how far hosts ran in step, of when each began and ended by its own clock: ``apart`` seconds between the
    first and the last that began, ``overlap`` the share of the longest run in which all of them ran.
    """
    begins, ends = [begin for begin, _ in spans], [end for _, end in spans]
    longest = max(end - begin for begin, end in spans)
    shared = max(0.0, min(ends) - max(begins))
    return {"apart": max(begins) - min(begins), "overlap": shared / longest if longest else 1.0}


def disagreement(told: Mapping[str, Figures], counted: Mapping[str, int]) -> list[str]:
    """Return a line for each direction in which a pool's own counters gained another sum than its load generators tell.

    counted
        Bytes that the pool has read and written meanwhile, by direction.
    """
    lines = []
    for way, each in told.items():
        moved = each.operations * each.mib_s * MIB / each.iops if each.iops else 0.0
        if abs(counted[way] - moved) > APART * moved:
            lines.append(f"{way}: its counters say {rounded(counted[way])}, its load generators {rounded(int(moved))}")
    return lines


def _fio(way: Mapping[str, Any]) -> Figures:
    """One direction of one of fio's jobs; ``filestat`` and its like have completion latency alone."""
    latency = way["lat_ns"] if way["lat_ns"]["max"] else way["clat_ns"]
    bins = {int(ns): int(count) for ns, count in way["clat_ns"].get("bins", {}).items()}
    return Figures(
        way["bw_bytes"] / MIB, way["iops"], int(way["total_ios"]), latency["mean"] / 1e6, latency["max"] / 1e6, bins
    )


def _all(several: Iterable[Figures]) -> Figures:
    each = list(several)
    operations = sum(one.operations for one in each)
    bins: Counter[int] = Counter()
    for one in each:
        bins.update(one.bins)
    return Figures(
        sum(one.mib_s for one in each),
        sum(one.iops for one in each),
        operations,
        sum(one.mean_ms * one.operations for one in each) / operations if operations else 0.0,
        max((one.max_ms for one in each), default=0.0),
        bins,
    )
