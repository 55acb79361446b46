"""What clients feel of a recovery, of a load that tells each second what it has done: the dip's depth and length."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

ENOUGH = 0.95  # of the load before: from there on clients have their I/O back
WINDOW = 10  # seconds of which the mean counts: one slow second is no dip

Sample = tuple[float, float]  # a time in seconds, and all that was done until then


class Dip(NamedTuple):
    """``before``: operations a second; ``depth``: what was lost of them at worst, a part of one; ``length``: seconds
    below ``ENOUGH`` of them; ``back``: the second from which on they were there again, None where they were not.
    """

    before: float
    depth: float
    length: int
    back: int | None


def each_second(samples: Sequence[Sample], begin: float, seconds: int) -> list[float]:
    """Return what was done in each second from a time on; where a load tells nothing any more, it did nothing.

    samples
        Of one load generator, in order; sums, not rates, so that no sample has to lie on a whole second.
    """
    sums = [_at(samples, begin + at) for at in range(seconds + 1)]
    return [after - earlier for earlier, after in zip(sums, sums[1:], strict=False)]


def together(curves: Iterable[Sequence[float]]) -> list[float]:
    """Return the sum of several load generators' curves."""
    return [sum(each) for each in zip(*curves, strict=True)]


def dip(curve: Sequence[float], before: float) -> Dip:
    """Return the dip of a curve that begins with the change.

    before
        The mean a second before the change, more than 0.
    """
    means = _smooth(curve)
    low = [at for at, mean in enumerate(means) if mean < ENOUGH * before]
    depth = max(0.0, 1 - min(means, default=before) / before)
    back = low[-1] + 1 if low else 0
    return Dip(before, depth, len(low), None if back and back == len(means) else back)


def _smooth(curve: Sequence[float]) -> list[float]:
    """The mean of each second and those before it, fewer at the begin."""
    return [sum(part) / len(part) for at in range(len(curve)) if (part := curve[max(0, at + 1 - WINDOW) : at + 1])]


def _at(samples: Sequence[Sample], time: float) -> float:
    """All that was done until a time, on the line between two samples."""
    after = bisect_left(samples, time, key=lambda sample: sample[0])
    if after == 0 or after == len(samples):
        return samples[min(after, len(samples) - 1)][1] if samples else 0.0
    (t0, sum0), (t1, sum1) = samples[after - 1], samples[after]
    return sum0 + (sum1 - sum0) * (time - t0) / (t1 - t0)
