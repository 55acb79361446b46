"""Sizes: read once, at the edge, into bytes; shown in both ways people count.

A disk's label is decimal (6 TB), kernels count in binary (5589 GiB); both are understood everywhere."""

import re
from decimal import Decimal
from typing import NamedTuple

from proposals.text.errors import ArgumentError, FilterError
from proposals.text.names import shown

MIB = 1 << 20
GIB = 1 << 30
TIB = 1 << 40
EXTENT = 4 * MIB  # LVM's extent: sizes of volumes and partitions are whole ones

BINARY = {"m": MIB, "g": GIB, "t": TIB, "p": 1 << 50}
UNITS = {
    **BINARY,
    **{f"{letter}ib": unit for letter, unit in BINARY.items()},
    **{f"{letter}b": 1000**power for power, letter in enumerate("mgtp", 2)},
}
_NUMBER = r"\d{1,15}(?:\.\d{1,6})?"
_SIZE = re.compile(rf"({_NUMBER})\s*([a-z]*)", re.ASCII)
_RANGE = re.compile(rf"(?:({_NUMBER})\s*([a-z]*))?\s*(-)?\s*(?:({_NUMBER})\s*([a-z]*))?", re.ASCII)


class Range(NamedTuple):
    """Bytes from ``low`` up to, not including, ``high`` (None: no end)."""

    low: int
    high: int | None

    def __contains__(self, size: object) -> bool:
        return isinstance(size, int) and self.low <= size and (self.high is None or size < self.high)


def parse_size(name: str, text: str) -> int:
    """Bytes of ``40g``, ``500MB``, ``1.5T`` or ``40`` (GiB), rounded up to whole extents of 4 MiB.

    ``name`` is the argument's, for the message. Raises ArgumentError."""
    match = _SIZE.fullmatch(text.strip().lower())
    if not match or (match[2] and match[2] not in UNITS):
        raise ArgumentError(
            f"{name}={shown(text)} is not a size: a number, then M, G, T, MiB, GiB, TiB (binary) or MB, GB, TB "
            "(decimal); without a unit it is GiB"
        )
    size = int(Decimal(match[1]) * UNITS[match[2] or "g"])
    if not size:
        raise ArgumentError(f"{name}={shown(text)}: the size must be above zero; leave {name} out for the default")
    return -(-size // EXTENT) * EXTENT


def parse_range(text: str) -> Range:
    """Range of ``740-770``, ``5000-``, ``-770``, ``745``, ``5TB-7TB``, ``5.4TiB-``.

    Each end holds what rounds down to it in its own unit and decimals: a disk of 6.0012 TB is in ``6TB``
    and in ``5TB-6TB``. An end without a unit takes the other's; without any: GiB. Raises FilterError."""
    match = _RANGE.fullmatch(text.strip().lower())
    low, low_unit, dash, high, high_unit = match.groups() if match else (None,) * 5
    if low is None and high is None:
        raise FilterError(_not_a_range(text))
    if not dash:
        if low is None or high is not None or Decimal(low) == 0:
            raise FilterError(_not_a_range(text))
        high, high_unit = low, low_unit
    for unit in (low_unit, high_unit):
        if unit and unit not in UNITS:
            raise FilterError(_not_a_range(text))
    bottom = _scaled(low or "0", low_unit or high_unit)
    if high is None:
        return Range(_ceil(bottom), None)
    unit = high_unit or low_unit
    if Decimal(high) == 0 or bottom > _scaled(high, unit):
        raise FilterError(f"size {shown(text)}: the low end must not lie above the high end, and the high end not be 0")
    step = Decimal(1).scaleb(-len(high.partition(".")[2])) * UNITS[unit or "g"]
    return Range(_ceil(bottom), _ceil(_scaled(high, unit) + step))


def _not_a_range(text: str) -> str:
    return (
        f"size '{shown(text)}' is not understood: write 740-770, 5000-, -770, 745, 5TB-7TB or 5.4TiB- "
        "(TB, GB decimal; TiB, GiB, T, G binary; without a unit GiB)"
    )


def _scaled(number: str, unit: str | None) -> Decimal:
    return Decimal(number) * UNITS[unit or "g"]


def _ceil(value: Decimal) -> int:
    whole = int(value)
    return whole if whole == value else whole + 1


def gib(size: int) -> str:
    """``40``, ``745.2``: GiB with at most one decimal, rounded down as size filters do."""
    tenths = size * 10 // GIB
    return f"{tenths // 10}" if tenths % 10 == 0 else f"{tenths / 10:.1f}"


def rounded(size: int) -> str:
    """``3 GiB``, ``20 MiB``, ``0 MiB``: of data that moves."""
    return f"{gib(size)} GiB" if size >= GIB else f"{round(size / MIB)} MiB"


def typed(size: int) -> str | None:
    """``40g``, ``37.5g`` as ``38400m``: what an admin types for exactly these bytes; None where nothing says them."""
    if size <= 0 or size % EXTENT:
        return None
    return f"{size // MIB}m" if size % GIB else f"{size // GIB}g"


def both(size: int) -> str:
    """``745.2 GiB = 800.2 GB``: as kernels and as labels count."""
    label = f"{size / 1e12:.2f} TB" if size >= 10**12 else f"{size / 1e9:.1f} GB"
    return f"{gib(size)} GiB = {label}"


def terabytes(size: int) -> str:
    """``6.0 TB``: decimal, as raw capacity is bought and sold."""
    return f"{size / 1e12:.1f} TB" if size < 10**15 else f"{size / 1e15:.2f} PB"
