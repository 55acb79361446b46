"""A run's result: its cells, a row's figures on a target over all repeats, and the document's table of them."""

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from statistics import fmean, geometric_mean, stdev
from typing import Any, NamedTuple

from proposals.benchmarks.suites import Suite

# What a column shows: its head in a table, and how many decimals.
COLUMNS: Mapping[str, tuple[str, int]] = {
    "mib_s": ("MiB/s", 1),
    "iops": ("IOPS", 0),
    "mean_ms": ("average ms", 2),
    "p99_ms": ("99th percentile ms", 2),
    "max_ms": ("maximum ms", 1),
}
LESS_IS_BETTER = ("mean_ms", "p99_ms", "max_ms")


class Value(NamedTuple):
    """A figure over the repeats that count: their mean, and how far they lie apart (standard deviation)."""

    mean: float
    spread: float
    repeats: int


class Line(NamedTuple):
    """A row of a table: ``cells`` by column are measured, printed in the document, and the ratio of both."""

    target: str
    row: str
    cells: Mapping[str, tuple[float | None, float | None, float | None]]


def value(repeats: Sequence[float], drop: int = 0) -> Value:
    """Return the mean of some repeats without the ``drop`` highest and lowest, where enough are left.

    CBT's scheme in the InfiniFlash document: five runs, highest and lowest dropped, mean of the other three.
    """
    kept = sorted(repeats)
    if drop and len(kept) > 2 * drop:
        kept = kept[drop:-drop]
    return Value(fmean(kept), stdev(kept) if len(kept) > 1 else 0.0, len(kept))


def values(result: Mapping[str, Any], target: str, row: str) -> dict[str, Value]:
    """Return every figure of a cell that was measured in all its repeats; empty where the cell was not measured."""
    repeats = result["cells"].get(target, {}).get(row, [])
    keys = [key for key in COLUMNS if repeats and all(key in repeat for repeat in repeats)]
    return {key: value([repeat[key] for repeat in repeats], result.get("drop", 0)) for key in keys}


def table(suite: Suite, result: Mapping[str, Any]) -> list[Line]:
    """Return a result's table: all rows of the suite on each target, empty cells too.

    What the document prints is looked up by the run's label (a network's speed), else by the target.
    """
    lines = []
    for target in result["targets"]:
        printed = suite.printed.get(result.get("label") or target, suite.printed.get(target, {}))
        for row in suite.rows:
            measured = values(result, target, row)
            beside = dict(zip(suite.columns, printed.get(row, ()), strict=False))
            lines.append(Line(target, row, {key: _cell(measured.get(key), beside.get(key)) for key in suite.columns}))
    return lines


def texts(suite: Suite, result: Mapping[str, Any]) -> Iterator[list[str]]:
    """Each line of the table as texts, its head first: what was measured, ``(document: 106, x 0.42)`` beside it."""
    yield ["target", "test", *(COLUMNS[key][0] for key in suite.columns)]
    for line in table(suite, result):
        yield [line.target, line.row, *(_text(key, cell) for key, cell in line.cells.items())]


def plain(suite: Suite, result: Mapping[str, Any]) -> str:
    """Return the table as a terminal shows it, and what stands below it."""
    rows = list(texts(suite, result))
    wide = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, wide, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, *below(suite, result)])


def named(result: Mapping[str, Any]) -> str:
    """Return what a run is called above its table: its id, its label, and whether it is partial."""
    return " ".join(filter(None, (result["id"], result.get("label"), "(partial)" if result.get("partial") else "")))


def below(suite: Suite, result: Mapping[str, Any]) -> Iterator[str]:
    """Return the lines below a table: why it is partial, what links carried, the score, where there are any."""
    if result.get("partial"):
        yield f"partial: {result['partial']}"
    for kind, rates in (result.get("links") or {}).items():
        printed = suite.links.get(result.get("label") or "", ()) if kind == "public" else ()
        beside = f" (document: {printed[0]} to {printed[-1]})" if printed else ""
        if rates:
            yield f"links of the {kind} network: {rates[0]:.0f} to {rates[-1]:.0f} Mb/s{beside}"
    yield from scores(suite, result)


def scores(suite: Suite, result: Mapping[str, Any]) -> Iterator[str]:
    """Return a line for each target on which all phases of a score were measured.

    IO500's: the root of the geometric mean of bandwidths in GiB/s, times that of rates in thousands a second.
    """
    if not (told := suite.score):
        return
    lines = table(suite, result)
    for target in result["targets"]:
        means = [
            _geometric([line.cells[column][0] for line in lines if line.target == target and line.row.startswith(rows)])
            for rows, column in ((told["bandwidth"], "mib_s"), (told["rate"], "iops"))
        ]
        if all(means):
            score, printed = (
                sqrt(means[0] / 1024 * means[1] / 1000),
                ", ".join(f"{value:g}" for value in told["printed"]),
            )
            yield f"{target}: score of these phases: {score:.4f} (document: {printed})"


def _geometric(values: Sequence[float | None]) -> float:
    """The geometric mean; 0 where one of them is missing."""
    known = [value for value in values if value]
    return geometric_mean(known) if known and len(known) == len(values) else 0.0


def empty(suite: Suite, result: Mapping[str, Any]) -> list[str]:
    """Return the cells that have no figure, ``rbd: seq write 4k``."""
    return [
        f"{line.target}: {line.row}"
        for line in table(suite, result)
        if all(measured is None for measured, _, _ in line.cells.values())
    ]


def _cell(measured: Value | None, printed: float | None) -> tuple[float | None, float | None, float | None]:
    mean = measured.mean if measured else None
    return mean, printed, mean / printed if mean is not None and printed else None


def _text(key: str, cell: tuple[float | None, float | None, float | None]) -> str:
    measured, printed, ratio = cell
    own = "-" if measured is None else f"{measured:.{COLUMNS[key][1]}f}"
    beside = "" if printed is None else f" (document: {printed:g}{'' if ratio is None else f', x {ratio:.2g}'})"
    return f"{own}{beside}"
