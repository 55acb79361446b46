"""What a row of the table is, and the kinds of single values: each says what it expects, and reads what a site wrote.

Why own code and no library: docs/contributing/decisions.md.
"""

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from proposals.text.names import PROFILE, closest, shown

Read = tuple[object, list[str]]  # the value as the product uses it, None where there is none, and what is wrong with it
PLAIN = re.compile(r"[\w*+.-]+")


class Kind(Protocol):
    """A kind of value."""

    @property
    def expected(self) -> str:
        """What a site writes, with range or choices: ends the sentence 'expected ...'."""

    def read(self, key: str, value: object) -> Read:
        """Read what stands at a key; never raises."""

    def inner(self) -> "Iterable[tuple[str, Setting]]":
        """The rows within, by path: those of a mapping's keys."""


@dataclass(frozen=True)
class Setting:
    """A row of the table.

    key
        As the site writes it.
    meaning
        What it does, one line of plain English.
    default
        What holds where the site says nothing, as a site would write it; None where ``meaning`` tells it.
    source
        Where the rule or number comes from.
    required
        Whether a mapping that holds this key is nothing without it.
    place
        The file in which a site usually writes it, below ``<pillar_root>/ceph``; of rows that are not nested.
    """

    key: str
    kind: Kind
    meaning: str
    default: object = None
    source: str = ""
    required: bool = False
    place: str = ""


class Single:
    """What kinds of single values share: no rows within."""

    def inner(self) -> Iterable[tuple[str, Setting]]:
        return ()


@dataclass(frozen=True)
class Text(Single):
    """Text, or a number read as text, that ``proof`` takes: it answers something true and raises no ValueError."""

    expected: str
    proof: Callable[[str], object]
    numbers: bool = True  # YAML reads 0123 as 83 and 0x5000 as 20480: where a text may look so, it has to be quoted

    def read(self, key: str, value: object) -> Read:
        if isinstance(value, str | int | float if self.numbers else str) and not isinstance(value, bool):
            try:
                if self.proof(str(value)):
                    return str(value), []
            except ValueError:
                pass
        return None, [wrong(key, value, self.expected)]


@dataclass(frozen=True)
class Whole(Single):
    """A whole number from ``low`` to ``high``."""

    low: int
    high: int | None = None
    what: str = "a whole number"

    @property
    def expected(self) -> str:
        return f"{self.what} from {self.low} {'on' if self.high is None else f'to {self.high}'}"

    def read(self, key: str, value: object) -> Read:
        if type(value) is int and self.low <= value and (self.high is None or value <= self.high):
            return value, []
        return None, [wrong(key, value, self.expected)]


@dataclass(frozen=True)
class Number(Single):
    """A number from 0 on, with or without a fraction."""

    expected: str = "a number from 0 on"

    def read(self, key: str, value: object) -> Read:
        if type(value) in (int, float) and 0 <= value < float("inf"):  # type: ignore[operator]
            return value, []
        return None, [wrong(key, value, self.expected)]


@dataclass(frozen=True)
class Flag(Single):
    """On or off."""

    expected: str = "true or false"

    def read(self, key: str, value: object) -> Read:
        return (value, []) if isinstance(value, bool) else (None, [wrong(key, value, self.expected)])


@dataclass(frozen=True)
class Choice(Single):
    """One of some words; in capitals, whatever the site's, where ``upper``. YAML reads ``on`` and ``off`` as a flag."""

    words: tuple[str, ...]
    upper: bool = False

    @property
    def expected(self) -> str:
        return f"one of {', '.join(word if PLAIN.fullmatch(word) else repr(word) for word in self.words)}"

    def read(self, key: str, value: object) -> Read:
        word = value.upper() if self.upper and isinstance(value, str) else value
        if isinstance(value, bool) and "on" in self.words:
            word = "on" if value else "off"
        if isinstance(word, str) and word in self.words:
            return word, []
        near = closest(str(word), self.words)
        return None, [wrong(key, word, self.expected) + (f": did you mean '{near}'?" if near else "")]


@dataclass(frozen=True)
class Own(Single):
    """Words of another program (Salt's, Ceph's, Alertmanager's), taken as they are where ``proof`` takes them."""

    expected: str
    proof: Callable[[object], object]

    def read(self, key: str, value: object) -> Read:
        return (value, []) if self.proof(value) else (None, [wrong(key, _bare(value), self.expected)])


def _bare(value: object) -> object:
    """Of another program's words what a message may say: of mappings their keys, a value may be a password."""
    if isinstance(value, Mapping):
        return list(value)
    return [_bare(one) for one in value] if isinstance(value, list) else value


def wrong(key: str, value: object, expected: str) -> str:
    """Return the one form of error: the key, what stands there, what was expected."""
    found = "not set" if value is None else "empty" if value in ("", [], {}) else shown(value)
    return f"{key} is {found}: expected {expected}"


def unknown(word: object, known: Iterable[str], key: str = "") -> str:
    """Return the error of a key that nothing reads, with the nearest right one, else all that there are."""
    listed = tuple(known)
    near = closest(str(word), listed)
    where = f"{key}: {shown(word)}" if key else shown(word)
    return f"{where}: no such setting" + (f": did you mean '{near}'?" if near else f"; known are {', '.join(listed)}")


def is_name(text: str) -> bool:
    """Whether a text may name a role, file system, pool or file."""
    return bool(PROFILE.fullmatch(text)) and ".." not in text


NAME = Text("a name of letters, digits, '.', '_', '-'", is_name)
GIVEN = Text("the name of a file in <pillar_root>/ceph/keys/given", is_name)
PORT = Whole(1, 65535, "a TCP port")


class Address(Text):
    """An address, read in its one form: ``FD00::64`` is ``fd00::64``, as the kernel writes it."""

    def read(self, key: str, value: object) -> Read:
        text, problems = super().read(key, value)
        return text and str(ipaddress.ip_address(str(text))), problems


ADDRESS = Address("an address such as 192.168.124.100", ipaddress.ip_address)
NETWORK = Text("a network such as 192.168.124.0/24", ipaddress.ip_network)
