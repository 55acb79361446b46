"""Which text from minions is accepted, and how any other text is shown.

A minion is not trusted: what it calls its disks ends up in files that Salt renders as Jinja and YAML. So
only these patterns pass; everything else makes the disk unusable, and is shown with its odd characters
escaped."""

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase
from glob import has_magic
from typing import TypeGuard

from proposals.text.errors import ArgumentError

MINION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
PROFILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

_IN_PATHS = "A-Za-z0-9._:+=@,/-"
_IN_LABELS = " ()#&" + _IN_PATHS
LONGEST = 255  # characters of a path or label
DEVICE = re.compile(rf"/dev/[{_IN_PATHS}]{{1,{LONGEST - 5}}}")  # a device or one of udev's links to it
LABEL = re.compile(rf"[{_IN_LABELS}]{{0,{LONGEST}}}")  # model, vendor, serial, wwn, path, transport
FORBIDDEN = ("../", "/..", ": ")
_LINE = re.compile(rf"/dev/[{_IN_PATHS}]++\t/dev/[{_IN_PATHS}]++(?:\t[{_IN_LABELS}]*+){{6}}")  # device, id, labels

_ODD = re.compile(r"[^A-Za-z0-9 ._:+/(),#&=@'*?\[\]|!^$<>;~%-]|!(?=!)|(?<=!)!")
LISTED = 30  # known words in one message
SHOWN_AT_MOST = 60  # characters of a refused text


def is_device(text: object) -> TypeGuard[str]:
    """Whether ``text`` is an acceptable device path."""
    return isinstance(text, str) and bool(DEVICE.fullmatch(text)) and not any(f in text for f in FORBIDDEN)


def plain(line: str) -> bool:
    """Whether two paths and the six labels after them, joined by tabs to ``line``, are all acceptable.

    The quick answer for nearly every disk; False means that each text is to be asked for itself."""
    return len(line) <= LONGEST and ".." not in line and ": " not in line and bool(_LINE.fullmatch(line))


def is_label(text: object) -> bool:
    """Whether ``text`` is an acceptable model, vendor, serial, wwn, path or transport."""
    return isinstance(text, str) and bool(LABEL.fullmatch(text)) and not any(f in text for f in FORBIDDEN)


def shown(text: object, at_most: int = SHOWN_AT_MOST) -> str:
    """``text`` with everything odd escaped as ``\\xNN`` or ``\\uNNNN``, and shortened."""
    raw = hex(text) if type(text) is int and text.bit_length() > 128 else str(text)  # Python prints no endless number
    cut = _ODD.sub(lambda m: _escape(m[0]), raw[:at_most]).replace("../", "..\\x2f")
    return f"{cut}... ({len(raw)} characters)" if len(raw) > at_most else cut


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def printable(text: str) -> str:
    """``text`` with characters that a terminal would obey escaped; line ends and all letters stay."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else _escape(char) for char in text)


def is_minion_id(text: object) -> bool:
    """Whether ``text`` is an acceptable minion id; it becomes a file name, so ``..`` is not."""
    return isinstance(text, str) and bool(MINION_ID.fullmatch(text)) and ".." not in text


def check_minion_id(text: object) -> str:
    """Return ``text`` where it is a minion id: letters, digits, dot, underscore, dash.

    Raises ArgumentError for anything else."""
    if isinstance(text, str) and is_minion_id(text):
        return text
    raise ArgumentError(
        f"minion id '{shown(text)}' is not accepted: letters, digits, '.', '_' and '-' are, beginning with "
        "a letter or digit; rename the minion (its 'id:' setting, then accept its new key)"
    )


def matched(minions: Collection[str], pattern: str) -> list[str]:
    """Those of some minions that an id or glob names, in their order. An id is looked up: where each minion has a line
    of its own, none is compared with all of them.

    minions
        A mapping or set."""
    if not has_magic(pattern):
        return [pattern] if pattern in minions else []
    return [minion for minion in minions if fnmatchcase(minion, pattern)]


def check_profile(text: object) -> str:
    """Return ``text`` where it may name a profile; ``import`` is reserved."""
    if not isinstance(text, str) or not PROFILE.fullmatch(text) or ".." in text:
        raise ArgumentError(
            f"name '{shown(text)}' is not accepted: at most 64 letters, digits, '.', '_' and '-', beginning "
            "with a letter or digit"
        )
    if text == "import":
        raise ArgumentError("name 'import' is reserved for imported clusters: choose another name")
    return text


def closest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known word most like ``word``, of those that are ``cutoff`` alike or more (difflib's ratio)."""
    return next(iter(get_close_matches(word.lower(), sorted(known), n=1, cutoff=cutoff)), None)


def nearest(word: str, known: Iterable[str]) -> str:
    """``: did you mean X?`` for the known word most like ``word``, else the list of all."""
    words = sorted(known)
    if near := closest(word, words):
        return f": did you mean '{near}'?"
    more = f" and {len(words) - LISTED} more" if len(words) > LISTED else ""
    return f"; known are {', '.join(words[:LISTED])}{more}"
