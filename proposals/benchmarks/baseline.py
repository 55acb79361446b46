"""A cluster's parts beside their equals: which disk, OSD or link is slow, before a pool is made of it."""

from collections.abc import Iterable, Mapping
from statistics import median
from typing import NamedTuple

from proposals.text import names
from proposals.text.errors import ArgumentError

PARTS = ("disks", "osds", "links")
MARGIN = 10  # percent below the median of its equals: DeepSea's
FEWEST = 3  # equals: of two nobody knows which is the slow one


class Speed(NamedTuple):
    """What a part does, in ``unit``, and what it is one of: only these are compared with each other."""

    part: str
    kind: str
    value: float
    unit: str


def parts(typed: object) -> tuple[str, ...]:
    """Return the kinds of parts that were typed with commas between; ArgumentError for one that is none."""
    asked = tuple(word.strip() for word in str(typed).split(",") if word.strip())
    for word in asked:
        if word not in PARTS:
            raise ArgumentError(f"{names.shown(word)} is nothing that is measured{names.nearest(word, PARTS)}")
    if not asked:
        raise ArgumentError(f"parts={names.shown(typed)}: expected some of {', '.join(PARTS)}; leave it out for all")
    return asked


def slow(speeds: Iterable[Speed], margin: float = MARGIN) -> list[str]:
    """Return a line for each part that is slower than its equals by more than a margin, in percent; the worst first.

    A kind of fewer than three is not judged.
    """
    found = []
    for kind, each in _kinds(speeds).items():
        middle = median(one.value for one in each)
        found += [
            (
                one.value / middle,
                f"{one.part} is slow: {_figure(one)}, {_figure(one._replace(value=middle))} is usual for {kind}",
            )
            for one in each
            if len(each) >= FEWEST and middle and one.value < middle * (1 - margin / 100)
        ]
    return [line for _, line in sorted(found)]


def lines(speeds: Iterable[Speed]) -> list[str]:
    """Return a line for each kind: how many, the slowest, the median, the fastest."""
    told = []
    for kind, each in _kinds(speeds).items():
        values = sorted(each, key=lambda one: one.value)
        middle = values[0]._replace(value=median(one.value for one in values))
        told.append(f"{kind}: {len(each)}, {_figure(values[0])} to {_figure(values[-1])}, median {_figure(middle)}")
    return told


def of_disks(hosts: Mapping[str, Mapping[str, Mapping]]) -> list[Speed]:
    """Return disks' speeds of ``benchmark_disks.read``'s answers by host; disks of one model and size are equals."""
    return [
        Speed(f"{host} {disk}", f"{told['model']} of {told['size'] // 10**9} GB", told["mib_s"], "MiB/s")
        for host, disks in sorted(hosts.items())
        for disk, told in sorted(disks.items())
    ]


def of_osds(speeds: Mapping[str, float], classes: Mapping[str, str]) -> list[Speed]:
    """Return OSDs' speeds; those of one device class are equals."""
    return [Speed(osd, f"OSDs of class {classes.get(osd, '-')}", value, "MiB/s") for osd, value in speeds.items()]


def of_links(networks: Mapping[str, Mapping]) -> list[Speed]:
    """Return links' speeds of ``networks.iperf``'s data: a host's link is as fast as the best that it carried, since
    the other end of a pair may be the slow one.
    """
    best: dict[tuple[str, str], float] = {}
    for kind, told in networks.items():
        for pair, rate in told["rates"].items():
            for host in pair.split():
                best[kind, host] = max(best.get((kind, host), 0.0), float(rate))
    return [Speed(f"{host}'s link", f"the {kind} network", rate, "Mb/s") for (kind, host), rate in best.items()]


def _kinds(speeds: Iterable[Speed]) -> dict[str, list[Speed]]:
    kinds: dict[str, list[Speed]] = {}
    for one in speeds:
        kinds.setdefault(one.kind, []).append(one)
    return kinds


def _figure(one: Speed) -> str:
    return f"{one.value:.1f} {one.unit}"
