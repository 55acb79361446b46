"""Warnings and hints: gathered host by host, told once for each group of equal hosts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

WARNING, HINT = "warning", "hint"
NAMED = 4  # hosts named in one line; of more the number is told
FEW = 10  # hosts that have a line each
SCREEN = 50  # lines that are read without paging


class Way(NamedTuple):
    """What an admin may do about a note: ``typed`` are arguments and their values as in proposal.json, ``more`` the
    disks to add to the host, each told as the position of one that it is like."""

    text: str
    typed: tuple[tuple[str, object], ...] = ()
    more: tuple[int, ...] = ()


class Note(NamedTuple):
    """A warning or hint about a host; the same note of several hosts is one line.

    ``ways`` are told only where they have been tried: of the ways in each inner tuple the first that ends what
    ``kind`` is about and leaves the host with at least ``disks`` data disks. ``gain`` is what they are good for."""

    level: str
    text: str
    kind: str = ""
    ways: tuple[tuple[Way, ...], ...] = ()
    gain: str = ""
    disks: int = 0


def line(note: Note) -> str:
    """A note as it is told: ``24 data disks unused: ratio=5 is reached; ratio=9 uses all 54``."""
    ways = " or ".join(way.text for way, *_ in note.ways)
    return f"{note.text}; {ways} {note.gain}".rstrip() if ways else note.text


def counted(count: int, noun: str) -> str:
    """``1 data disk``, ``24 data disks``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def several(names: Sequence[str], more: str = "more hosts", most: int = NAMED) -> str:
    """``osdnode1, osdnode2`` or, of more than ``most``, ``osdnode1, osdnode2 and 118 more hosts``."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:2])} and {len(names) - 2} {more}"


def by_host(pairs: Iterable[tuple[str, str]], where: str = "", noun: str = "host") -> list[str]:
    """A line for each host and text; of more than ``FEW`` those of the same text share one, and further lines are
    counted.

    where
        Where each host is named, told in a last line of its own where lines are shared or counted.
    noun
        What they are in place of hosts."""
    listed = list(pairs)
    if len(listed) <= FEW:
        return [f"{host}: {text}" for host, text in listed]
    hosts: dict[str, list[str]] = {}
    for host, text in listed:
        hosts.setdefault(text, []).append(host)
    return _cut([(f"{several(names, f'more {noun}s')}: {text}", names) for text, names in hosts.items()], where, noun)


def by_name(
    told: Iterable[tuple[str, Iterable[str], str]],
    form: str = "{who}: {names}: {text}",
    where: str = "",
    noun: str = "daemon",
    few: int = FEW,
) -> list[str]:
    """A line for each host and what it names; of more than ``few`` hosts those of the same text share one, and further
    lines are counted: ``osdnode1, osdnode2 and 118 more hosts: osd.0, osd.1 and 7078 more: down``.

    told
        A host, the names of its daemons, units or disks, what is said of them.
    form
        Of a line, with ``who``, ``names``, ``text`` and ``count``: how many of a ``noun`` are named.
    where
        As for ``by_host``."""
    listed = [(host, list(names), text) for host, names, text in told]
    if len({host for host, *_ in listed}) <= few:
        return [
            form.format(who=host, names=", ".join(names), text=text, count=counted(len(names), noun))
            for host, names, text in listed
        ]
    hosts: dict[str, dict[str, None]] = {}
    named: dict[str, dict[str, None]] = {}
    for host, names, text in listed:
        hosts.setdefault(text, {})[host] = None
        named.setdefault(text, {}).update(dict.fromkeys(names))
    said = [
        form.format(
            who=several(list(who)), names=several(list(named[text]), "more"), text=text,
            count=counted(len(named[text]), noun),
        )
        for text, who in hosts.items()
    ]  # fmt: skip
    return _cut(list(zip(said, hosts.values(), strict=True)), where)


def cut(lines: Sequence[str], where: str) -> list[str]:
    """Lines; beyond a screen the first ``FEW``, how many more there are, and ``where`` they are told."""
    if len(lines) <= SCREEN:
        return list(lines)
    return [*lines[:FEW], f"and {len(lines) - FEW} more: {where}"]


def _cut(said: Sequence[tuple[str, Iterable[str]]], where: str, noun: str = "host") -> list[str]:
    """The first ``FEW`` lines, each given with its hosts; the others counted."""
    rest = {host for _, hosts in said[FEW:] for host in hosts}
    more = [f"and {counted(len(said) - FEW, 'more line')} of {counted(len(rest), noun)}"] if rest else []
    return [*(line for line, _ in said[:FEW]), *more, *([where] if where else [])]


def merged(by_host: Mapping[str, Iterable[Note]], level: str, order: Sequence[str] = ()) -> list[str]:
    """One line for each note of ``level``, with the hosts that it is about; kinds of ``order`` first.

    Notes of host ``""`` are about all of them."""
    hosts: dict[tuple[str, str], list[str]] = {}
    for host, notes in by_host.items():
        for note in notes:
            if note.level == level:
                hosts.setdefault((note.kind, line(note)), []).append(host)
    rank = {kind: place for place, kind in enumerate(order)}
    told = sorted(hosts.items(), key=lambda item: rank.get(item[0][0], len(rank)))
    return [f"{several(names)}: {text}" if names != [""] else text for (_, text), names in told]
