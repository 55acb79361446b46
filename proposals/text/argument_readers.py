"""Values as typed: on a shell's line, or as Salt's command line reads them (YAML). Each reader
returns the parsed value and its canonical form, which proposal.json keeps."""

import re
import shlex
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

import yaml

from proposals.text import names
from proposals.text.errors import ArgumentError

TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
KEYWORD = re.compile(r"([^\d\W][\w.-]*)=(?!=)(.*)")  # as Salt tells a keyword (salt.utils.args.KWARG_REGEX)
# What YAML makes a number of that has other digits: 16 of 0x10, 90 of 1:30. Of 010 Salt makes 10.
OTHER_DIGITS = re.compile(r"[-+]?(0b_*[01][01_]*|0x_*[0-9a-fA-F][0-9a-fA-F_]*|[1-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)")
NOTHING = ("~", "null", "Null", "NULL", "None")  # what YAML, or Salt, makes None of
WIDTH = 79  # characters of a line of help
Reader = Callable[[str, object], tuple[object, object]]


class Argument(NamedTuple):
    """One argument: how it is read, what it means in one line, and what holds where it is not given.

    ``--help``, ``salt-run -d`` and docs/reference/ print these words."""

    read: Reader
    meaning: str
    default: str = "none"


def described(arguments: Mapping[str, Argument]) -> str:
    """Every argument with its meaning and default, one paragraph each."""
    paragraphs = [
        f"{name}\n{_indented(f'{argument.meaning} (default: {argument.default})')}"
        for name, argument in arguments.items()
    ]
    return "\n".join(paragraphs)


def _indented(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 4)


def read(
    pairs: Iterable[str] | Mapping[str, object], arguments: Mapping[str, Argument]
) -> tuple[dict[str, Any], dict[str, object]]:
    """Values and remembered forms of ``["ratio=9"]`` or ``{"ratio": 9}``, each read by the reader of its argument.

    Raises ArgumentError for a name that is none, or is given twice."""
    typed: dict[str, object] = {}
    values: dict[str, Any] = {}
    for key, value in _pairs(pairs):
        name = named(key)
        if name not in arguments:
            raise ArgumentError(f"'{names.shown(key)}' is not an argument{names.nearest(name, arguments)}")
        if name in values:
            raise ArgumentError(f"{name} is given twice: once is enough")
        values[name], typed[name] = arguments[name].read(name, value)
    return values, typed


def named(key: str) -> str:
    """The argument that a key means, in the ways that it may be typed: what guards one has to ask by it."""
    return key.strip().lower().replace("_", "-")


def check_words(line: Iterable[str], own: Collection[str]) -> None:
    """Raise ArgumentError where a function is not told what was typed: of a keyword that is given twice Salt takes the
    last one, and YAML makes another number of some words, of some nothing: ``only=None`` would be all hosts.

    line
        The words behind the function on salt-run's line.
    own
        The function's own arguments; a planner's may be nothing, which is ``none`` to it.
    """
    given = set()
    for word in line:
        found = KEYWORD.fullmatch(word)
        name, said = found.groups() if found else ("", word)
        if name in given:
            raise ArgumentError(f"{name} is given twice: once is enough")
        given |= {name} - {""}
        if said.strip() in NOTHING and (not name or name in own):
            raise ArgumentError(
                f"{names.shown(word)}: it would count as not typed (YAML): leave it out, or quote it twice "
                f"where it is a word: {typed(said)}"
            )
        if OTHER_DIGITS.fullmatch(said.strip()):
            raise ArgumentError(
                f"{names.shown(word)}: YAML makes another number of it ({yaml.safe_load(said)}): type a decimal one, "
                f"or quote it twice where it is a name: {typed(said)}"
            )


def words(typed: Mapping[str, object]) -> str:
    """Arguments in their remembered form, as they are typed: ``ratio=9 leftovers=true``."""
    listed = (f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in typed.items())
    return " ".join(listed) or "no arguments"


def _pairs(pairs: Iterable[str] | Mapping[str, object]) -> Iterable[tuple[str, object]]:
    if isinstance(pairs, Mapping):
        yield from ((str(key), value) for key, value in pairs.items() if not str(key).startswith("__"))
        return
    for pair in pairs:
        key, found, value = str(pair).partition("=")
        if not found:
            raise ArgumentError(f"'{names.shown(pair)}' is not understood: key=value was expected, as in ratio=9")
        yield key, value


def text(name: str, value: object) -> str:
    """What was typed; a value whose text Salt's YAML has changed is refused."""
    if isinstance(value, str):
        if not value.strip():
            raise ArgumentError(f"{name}= has no value: give one or leave {name} out")
        return value.strip()
    raise _quote(name, value)


def _quote(name: str, value: object) -> ArgumentError:
    return ArgumentError(
        f"{name}: the command line was read as YAML and gave {names.shown(value)} ({type(value).__name__}), which "
        f"may not be what was typed: quote it, {name}='\"...\"'"
    )


def typed(said: str) -> str:
    """``said`` as it is typed on salt-run's line, so that neither the shell nor Salt's YAML makes another value of it.

    Quoted twice where YAML would: ``"'0123'"``. Salt itself leaves a text with ``#`` alone, quotes and all."""
    try:
        plain = "#" in said or (said != "None" and yaml.safe_load(said) == said)
    except yaml.YAMLError:  # Salt takes it as it was typed
        plain = True
    if plain:
        return shlex.quote(said)
    twice = "'" + said.replace("'", "''") + "'"
    return shlex.quote(twice) if set(twice) & set('"$`\\!') else f'"{twice}"'


def number_text(name: str, value: object) -> str:
    """Text of a whole number as well: ``data=-770`` reaches a runner as the number -770."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else text(name, value)


def count(name: str, value: object) -> tuple[object, object]:
    """A whole number of at least 1."""
    said = number_text(name, value)
    if not (said.isdecimal() and said.isascii() and len(said) < 9 and int(said) > 0):
        raise ArgumentError(f"{name}={names.shown(said)}: a whole number of at least 1 was expected")
    return int(said), int(said)


def switch(name: str, value: object) -> tuple[object, object]:
    """True or false, in any of its words."""
    said = str(value).lower() if isinstance(value, bool | int) else text(name, value).lower()
    if said not in TRUTH:
        raise ArgumentError(f"{name}={names.shown(said)}: true or false was expected")
    return TRUTH[said], TRUTH[said]


def profile_name(name: str, value: object) -> tuple[object, object]:
    """What a proposal may be called."""
    said = names.check_profile(text(name, value))
    return said, said


def word(name: str, value: object) -> tuple[object, object]:
    """Text as it was typed."""
    said = text(name, value)
    return said, said


def choice(known: tuple[str, ...]) -> Reader:
    """A reader of one of these words; ``none`` is None."""

    def chosen(name: str, value: object) -> tuple[object, object]:
        said = "none" if value is None else text(name, value).lower()
        if said not in known:
            raise ArgumentError(f"{name}={names.shown(said)} is not known{names.nearest(said, known)}")
        return (None if said == "none" else said), said

    return chosen
