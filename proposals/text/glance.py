"""What says the same to a reader becomes one line, and a long list ends where a screen does."""

import re
from collections.abc import Collection, Iterable, Sequence

from proposals.text.notes import NAMED, counted, several

ROWS = 8  # of one table; where there are more, rows that differ in numbers alone become one
LINES = 3  # of warnings or hints that differ in numbers alone
EACH = "--all tells each (with salt-run: all=true)"
ALL = "--all shows each host and device (with salt-run: all=true)"
_NUMBER = r"\d+(?:\.\d+)?"
_VARIES = re.compile(rf"/dev/[^\s,;:]+|{_NUMBER}(?: to {_NUMBER})?")
_MANY = re.compile(r"\b(device|disk|OSD|hdd|ssd|nvme)s\b(?:, each\b)?")
_MORE = re.compile(r"(.*) and (\d+) more hosts")

Row = tuple[str | None, ...]


def rows(listed: Iterable[tuple[str, Row]], everything: bool = False) -> list[tuple[str, Row]]:
    """Rows with the hosts that they are about: one for those that print alike.

    Of more than ROWS, those that differ in numbers alone become one with ranges, and the rest is counted.
    ``everything``: each row as it is."""
    if everything:
        return list(listed)
    groups: dict[Row, dict[str, None]] = {}
    for host, row in listed:
        groups.setdefault(row, {})[host] = None
    if len(groups) > ROWS:
        groups = _alike(groups)
    shown = list(groups.items())
    if len(shown) > ROWS:
        shown.sort(key=lambda group: -len(group[1]))
    rest = {host for _, hosts in shown[ROWS:] for host in hosts}
    told = [(several(list(hosts)), row) for row, hosts in shown[:ROWS]]
    if rest:
        told.append((f"{counted(len(shown) - ROWS, 'more line')} of {counted(len(rest), 'host')}", ()))
    return told


def _alike(groups: dict[Row, dict[str, None]]) -> dict[Row, dict[str, None]]:
    kinds: dict[Row, list[Row]] = {}
    for row in groups:
        kinds.setdefault(tuple(cell and _kind(cell) for cell in row), []).append(row)
    return {
        tuple(ranged(cells) for cells in zip(*alike, strict=True)): {
            host: None for row in alike for host in groups[row]
        }
        for alike in kinds.values()
    }


def _kind(text: str) -> str:
    """What texts have in common that differ in numbers alone."""
    return _MANY.sub(r"\1", _VARIES.sub("#", text))


def ranged(texts: Sequence[str | None]) -> str | None:
    """One text for several that differ in numbers alone: ``3 to 24 data disks``."""
    known = [text for text in texts if text is not None]
    if len(set(known)) < 2:
        return known[0] if known else None
    values = iter([_range(column) for column in zip(*map(_VARIES.findall, known), strict=True)])
    return _VARIES.sub(lambda _: next(values), max(known, key=len))  # the longest has its nouns in the plural


def _range(values: Sequence[str]) -> str:
    if len(set(values)) == 1:
        return values[0]
    if any(value.startswith("/dev/") for value in values):
        return "..."
    ends = [end for value in values for end in value.split(" to ")]
    return f"{min(ends, key=float)} to {max(ends, key=float)}"


def lines(listed: Sequence[str], hosts: Collection[str], everything: bool = False) -> list[str]:
    """Warnings or hints, ``HOSTS: TEXT``, where more than LINES that differ in numbers alone become one."""
    if everything:
        return list(listed)
    kinds: dict[tuple[bool, str], list[tuple[list[str], int, str]]] = {}
    for line in listed:
        names, count, text = _parted(line, hosts)
        kinds.setdefault((bool(names), _kind(_parts(text)[0])), []).append((names, count, text))
    told = []
    for alike in kinds.values():
        told += [_line(*one) for one in alike] if len(alike) <= LINES else [_merged(alike)]
    return told


def _parted(line: str, hosts: Collection[str]) -> tuple[list[str], int, str]:
    """Hosts that a line names, how many it is about, and its text; none of them where it is about all."""
    head, _, text = line.partition(": ")
    more = _MORE.fullmatch(head)
    names = (more[1] if more else head).split(", ")
    if not text or names[0] not in hosts:
        return [], 0, line
    return names, len(names) + (int(more[2]) if more else 0), text


def _line(names: Sequence[str], count: int, text: str) -> str:
    if not names:
        return text
    if count <= NAMED:
        return f"{', '.join(names)}: {text}"
    return f"{', '.join(names[:2])} and {count - 2} more hosts: {text}"


def _merged(alike: Sequence[tuple[list[str], int, str]]) -> str:
    """One line for many of a kind; ways out that differ are left to --all."""
    heads, ways = zip(*(_parts(text) for _, _, text in alike), strict=True)
    way = ways[0] if len(set(ways)) == 1 else "; what helps differs"
    names = [name for listed, _, _ in alike for name in listed]
    return _line(names, sum(count for _, count, _ in alike), f"{ranged(heads)}{way}")


def _parts(text: str) -> tuple[str, str]:
    """A note's text, and its ways out with the ``; `` before them."""
    head, mark, ways = text.rpartition("; ")
    return (head, mark + ways) if head else (text, "")
