"""Disk filters: ``740-770``, ``5TB-7TB,model=ST6000*,vendor=!ATA|SEAGATE``.

Terms joined by commas must all hold. Values match whole, in any case, with ``*`` and ``?`` as in a shell;
``|`` separates alternatives, ``!`` before the first negates them all."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import translate
from typing import Any, NamedTuple

from proposals.inventory.disk import CLASSES, Disk
from proposals.text.errors import FilterError
from proposals.text.names import nearest, shown
from proposals.text.sizes import Range, parse_range


class Key(NamedTuple):
    """A property of disks that a filter may ask for; the filters reference prints the meaning."""

    of: Callable[[Disk], object]
    meaning: str


KEYS: dict[str, Key] = {
    "size": Key(lambda disk: disk.size, "bytes, as a range; also where no key is given"),
    "model": Key(lambda disk: disk.model, "as the drive says it: ST6000NM0115-1YZ"),
    "vendor": Key(lambda disk: disk.vendor, "as the drive says it: ATA, SEAGATE"),
    "serial": Key(lambda disk: disk.serial, "the serial number"),
    "rotational": Key(lambda disk: disk.rotational, "true or false"),
    "transport": Key(lambda disk: disk.transport, "sata, sas, nvme, virtio, usb, loop or unknown"),
    "class": Key(lambda disk: disk.cls, "hdd, ssd or nvme"),
    "path": Key(lambda disk: disk.path, "where it sits: pci-0000:3b:00.0-ata-1"),
    "id": Key(lambda disk: disk.id, "its stable name: /dev/disk/by-id/wwn-0x5000c500a1b2c3d4"),
}
SYNTAX = f"""filters: terms joined by commas, all of which must hold
    740-770, 5000-, 5TB-7TB
        a size; without a unit GiB
    KEY=VALUE
        KEY is one of {", ".join(KEYS)};
        * and ? as in a shell, | between alternatives, ! before the first
        negates them all"""
UNIQUE = ("serial", "path", "id")  # as many values as disks
TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
LONGEST = 1000  # characters of one filter


@dataclass(frozen=True, slots=True)
class Term:
    """One ``key=value`` of a filter. A disk that lacks the key matches only a negated term."""

    text: str
    key: str
    negated: bool
    test: Callable[[object], bool] = field(compare=False)

    def matches(self, disk: Disk) -> bool:
        """Whether this term holds for ``disk``."""
        value = KEYS[self.key].of(disk)
        return self.negated if value is None else self.test(value) != self.negated


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed filter: ``text`` as typed (lower case) and its terms."""

    text: str
    terms: tuple[Term, ...]

    @property
    def by_name(self) -> bool:
        """Whether it asks for what tells equal disks apart."""
        return any(term.key in UNIQUE for term in self.terms)

    def matches(self, disk: Disk) -> bool:
        """Whether every term holds for ``disk``."""
        return all(term.matches(disk) for term in self.terms)


def parse(name: str, text: str) -> Filter:
    """The filter that ``text`` says; ``name`` is the argument it was given for.

    Raises FilterError, which names argument, term and what is understood."""
    lowered = text.strip().lower()
    if len(lowered) > LONGEST:
        raise FilterError(f"{name}: a filter of {len(lowered)} characters is too long, at most {LONGEST}")
    try:
        return Filter(lowered, tuple(_term(part.strip()) for part in lowered.split(",")))
    except FilterError as error:
        raise FilterError(f"{name}={shown(text)}: {error}") from error


def _term(text: str) -> Term:
    key, found, value = text.partition("=")
    if not found:
        key, value = "size", text
    key, value = key.strip(), value.strip()
    if key not in KEYS:
        raise FilterError(f"'{shown(key)}' is not a disk's property{nearest(key, KEYS)}")
    negated = value.startswith("!")
    values = [part.strip() for part in value.removeprefix("!").split("|")]
    if not all(values):
        raise FilterError(f"'{shown(text)}' holds an empty value")
    if any(part.startswith("!") for part in values):
        meant = f"{key}=!{'|'.join(part.removeprefix('!') for part in values)}"
        raise FilterError(f"'{shown(text)}': '!' stands once, before all values, and negates the list: {shown(meant)}")
    if key == "size":
        return Term(text, key, negated, _within([parse_range(part) for part in values]))
    if key == "rotational":
        return Term(text, key, negated, _one_of({_truth(part) for part in values}))
    if key == "class" and (wrong := [part for part in values if not _globbed(part) and part not in CLASSES]):
        raise FilterError(f"'{shown(wrong[0])}' is not a class of disks; known are {', '.join(CLASSES)}")
    return Term(text, key, negated, _like(values))


def _truth(text: str) -> bool:
    if text not in TRUTH:
        raise FilterError(f"rotational={shown(text)}: true or false was expected")
    return TRUTH[text]


def _globbed(text: str) -> bool:
    return "*" in text or "?" in text


def _within(ranges: list[Range]) -> Callable[[object], bool]:
    return lambda size: any(size in one for one in ranges)


def _one_of(wanted: set) -> Callable[[object], bool]:
    return lambda value: value in wanted


def _like(values: list[str]) -> Callable[[Any], bool]:
    # fnmatch's expression, with its own sets ([abc]) taken as plain text; it does not backtrack over stars
    pattern = re.compile("|".join(translate(value.replace("[", "[[]")) for value in values))
    return lambda value: pattern.match(value.lower()) is not None
