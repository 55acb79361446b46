"""Warnings and hints: gathered host by host, told once for each group of equal hosts."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

WARNING, HINT = "warning", "hint"
NAMED = 4  # hosts named in one line; of more the number is told


class Note(NamedTuple):
    """A warning or hint about a host; the same note of several hosts is one line."""

    level: str
    text: str


class Notes:
    """Collects notes while one host is planned."""

    def __init__(self) -> None:
        self.found: list[Note] = []

    def warn(self, text: str) -> None:
        """Something that the admin should look at."""
        self.found.append(Note(WARNING, text))

    def hint(self, text: str) -> None:
        """Something that would make more of the disks."""
        self.found.append(Note(HINT, text))


def several(hosts: list[str]) -> str:
    """``osdnode1, osdnode2`` or ``osdnode1, osdnode2 and 118 more hosts``."""
    if len(hosts) <= NAMED:
        return ", ".join(hosts)
    return f"{', '.join(hosts[:2])} and {len(hosts) - 2} more hosts"


def merged(by_host: Mapping[str, Iterable[Note]], level: str) -> list[str]:
    """One line for each note of ``level``, with the hosts that it is about, by name."""
    hosts: dict[str, list[str]] = {}
    for host, notes in by_host.items():
        for note in notes:
            if note.level == level:
                hosts.setdefault(note.text, []).append(host)
    return [f"{several(names)}: {text}" for text, names in hosts.items()]
