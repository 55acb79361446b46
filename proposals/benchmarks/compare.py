"""Two runs of a suite beside each other: what is better and worse beyond noise, and whether a limit is passed."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from proposals.benchmarks import results
from proposals.text.errors import ArgumentError

NOISE = 0.05  # share that two runs may differ by though nothing changed
SPREADS = 2.0  # standard deviations of the repeats that count as noise too
JUDGED = ("mib_s", "iops", "mean_ms")  # a maximum is one operation's
WITH_REPEATS = ("p99_ms",)  # of one run nobody knows how far it lies apart


class Difference(NamedTuple):
    """A figure of both runs; ``change`` is a share of the first, above 0 where it got better."""

    target: str
    row: str
    column: str
    before: float
    after: float
    change: float
    noise: float

    @property
    def beyond(self) -> bool:
        """Whether it is more than noise."""
        return abs(self.change) > self.noise


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Return the differences of all cells that both runs have, the worst first.

    Raises ArgumentError where the runs are none that can be compared.
    """
    for key in ("suite", "size", "label"):
        if before.get(key) != after.get(key):
            raise ArgumentError(
                f"{before['id']} has {key} {before.get(key)}, {after['id']} has {after.get(key)}: compare runs of the "
                "same suite, size and label"
            )
    found = [
        _difference(target, row, key, value, then[key])
        for target, rows in before["cells"].items()
        for row in rows
        if (then := results.values(after, target, row))
        for key, value in results.values(before, target, row).items()
        if (key in JUDGED or key in WITH_REPEATS and value.repeats > 1) and key in then and value.mean
    ]
    if not found:
        raise ArgumentError(f"{before['id']} and {after['id']} have no cell in common")
    return sorted(found, key=lambda each: each.change)


def regressions(found: Iterable[Difference], limit: float) -> list[Difference]:
    """Return what got worse by more than a limit, in percent, and by more than noise."""
    return [each for each in found if each.beyond and -each.change * 100 > limit]


def lines(found: Iterable[Difference]) -> list[str]:
    """Return what is worse and what is better, a line each; one line where nothing is beyond noise."""
    told = [each for each in found if each.beyond]
    return [_line(each) for each in told] or ["nothing is better or worse beyond noise"]


def lacking(*told: Mapping[str, Any]) -> list[str]:
    """Return a line for each run that is partial: what it lacks is compared with nothing."""
    return [f"{each['id']} is partial: {each['partial']}" for each in told if each.get("partial")]


def _difference(target: str, row: str, key: str, before: results.Value, after: results.Value) -> Difference:
    change = (after.mean - before.mean) / before.mean
    spread = max(before.spread, after.spread) / before.mean
    better = -change if key in results.LESS_IS_BETTER else change
    return Difference(target, row, key, before.mean, after.mean, better, max(NOISE, SPREADS * spread))


def _line(each: Difference) -> str:
    head, decimals = results.COLUMNS[each.column]
    word = "better" if each.change > 0 else "worse"
    return (
        f"{word} by {abs(each.change):.0%}: {each.target}, {each.row}: {head} {each.before:.{decimals}f} -> "
        f"{each.after:.{decimals}f} (noise {each.noise:.0%})"
    )
