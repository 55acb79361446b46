"""The InfiniFlash document's measurement of recovery: an OSD or a host goes out and comes back under clients' load.

Its method and Table 6, its times: "Red Hat Ceph Storage 1.3 on SanDisk InfiniFlash", figures 20 to 23, on 8 servers
with 64 cards of 1.7 TB. Its "default" are the values of our profile ``fast``, its "minimum impact" those of ``least``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proposals.benchmarks.suites import Size
from proposals.text import names
from proposals.text.errors import ArgumentError
from proposals.text.sizes import rounded

TITLE = "InfiniFlash paper, table 6 and figures 20 to 23: recovery under load"
WHAT = ("osd", "host")
TITLES: Mapping[str, str] = {
    "osd-out": "figure 20: OSD down and out",
    "osd-in": "figure 21: OSD back in",
    "host-out": "figure 22: host down and out",
    "host-in": "figure 23: host back in",
}
# Minutes to the best I/O that the document prints, by our profile ("about", "slightly over").
PRINTED: Mapping[str, Mapping[str, int]] = {
    "osd-out": {"fast": 13, "least": 45},
    "osd-in": {"fast": 60, "least": 147},
    "host-out": {"fast": 60, "least": 270},
    "host-in": {"fast": 78, "least": 258},
}
BUSY = 0.9  # share of all processors of a host from which on a run says nothing of disks
OPTIONS = {"rw": "randwrite", "bs": "4k", "iodepth": 32, "numjobs": 1}
BLOCK = 4  # KiB of one operation
PER_OSD = 300 << 20  # bytes that size=quick puts on each OSD
SHARE = 0.3  # of the free raw space that size=paper fills
LIMITS = {"quick": 3600, "paper": 8 * 3600}  # seconds that one scenario may take
HEAD = (
    *("scenario", "profile", "client IOPS before", "dip %", "dip s", "time to best I/O", "document", "PGs clean"),
    *("bytes moved", "times as long", "document"),
)


def several(name: str, typed: object, known: Sequence[str]) -> tuple[str, ...]:
    """Return words as typed with commas between, in the order typed; ArgumentError for one that is not known."""
    words = tuple(dict.fromkeys(word.strip() for word in str(typed).split(",") if word.strip()))
    for word in words or (str(typed),):
        if word not in known:
            raise ArgumentError(f"{name}={names.shown(word)}: expected some of {', '.join(known)}, with commas between")
    return words


def check_named(kinds: Sequence[str], named: Mapping[str, object]) -> None:
    """Raise ArgumentError where an OSD or a host is named that is not measured: another one would go out in its place.

    kinds
        Of ``WHAT``, those that are measured.
    named
        What was typed of each kind; None where nothing was.
    """
    for kind, typed in named.items():
        if typed is not None and kind not in kinds:
            raise ArgumentError(
                f"{kind}={names.shown(typed)}: what={','.join(kinds)} measures no {kind}: leave it out, or add {kind} "
                "to what="
            )


def percent(typed: object) -> int:
    """Return how much of the most that the load generators reach is their load, as typed: 1 to 100 %."""
    if type(typed) is not int or not 1 <= typed <= 100:
        raise ArgumentError(f"load={names.shown(typed)}: expected percent of the most that is reached, 1 to 100")
    return typed


def size(named: object, facts: Mapping[str, Any], generators: int) -> Size:
    """Return how much data lies on the cluster while it recovers: one image a load generator.

    named
        ``quick`` or ``paper``, as typed.
    facts
        ``cluster_benchmark.facts``'s answer.
    """
    if named not in LIMITS:
        raise ArgumentError(f"size={names.shown(named)}: expected {' or '.join(LIMITS)}")
    raw = PER_OSD * facts["osds"] if named == "quick" else int(facts["free"] * SHARE)
    each = raw // max(1, facts["size"]) // max(1, generators)
    image = max(1, each >> 20) << 20  # whole MiB
    return Size({"numjobs": 1}, LIMITS[str(named)], image, 0, 1, 1, 0)


def load(place: Mapping[str, Any], image: int, seconds: int, rate: int = 0) -> dict[str, Any]:
    """Return the load of one generator as ``benchmark_sample.start`` takes it; ``rate``: IOPS at most, 0 for none."""
    options = {**OPTIONS, **({"rate_iops": rate} if rate else {})}
    return {"tool": "fio", "place": dict(place), "options": options, "seconds": seconds, "bytes": image}


def table(curves: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Each line of the table as texts, its head first. A run that processors held up has no ratio."""
    yield list(HEAD)
    first = {each["scenario"]: each for each in reversed(curves)}
    for each in curves:
        printed = PRINTED[each["scenario"]].get(each["profile"])
        yield [
            *(each["scenario"], each["profile"], f"{each['before']:.0f}", f"{each['depth'] * 100:.0f}"),
            *(str(each["length"]), _time(each["best"]), f"{printed} min" if printed else "-", _time(each["clean"])),
            *(rounded(each["moved"]), *_ratios(each, first[each["scenario"]])),
        ]


def plain(curves: Sequence[Mapping[str, Any]]) -> str:
    """Return the table as a terminal shows it."""
    rows = list(table(curves))
    wide = [max(len(row[at]) for row in rows) for at in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True)).rstrip() for row in rows
    )


def notes(curves: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what a reader must know of some runs: held up by processors, not ended."""
    told = []
    for each in curves:
        name = f"{each['scenario']}, {each['profile']}"
        if each["busy"] >= BUSY:
            told.append(f"{name}: processors were {each['busy']:.0%} busy and held it up: it says nothing of disks")
        if each["clean"] is None:
            told.append(f"{name}: placement groups were not all clean when its time was over")
        elif each["best"] is None:
            told.append(f"{name}: clients had less than 95 % of their I/O still when all was clean")
    return told


def _ratios(each: Mapping[str, Any], first: Mapping[str, Any]) -> tuple[str, str]:
    """How many times as long as the scenario's first profile it took: measured, and in the document."""
    if each is first:
        return "1", "1"
    printed = PRINTED[each["scenario"]]
    both = printed.get(each["profile"]), printed.get(first["profile"])
    document = f"{both[0] / both[1]:.1f}" if both[0] and both[1] else "-"
    slow = max(each["busy"], first["busy"]) >= BUSY or not each["best"] or not first["best"]
    return ("-" if slow else f"{each['best'] / first['best']:.1f}"), document


def _time(seconds: int | None) -> str:
    if seconds is None:
        return "not reached"
    return f"{seconds} s" if seconds < 120 else f"{seconds / 60:.1f} min"
