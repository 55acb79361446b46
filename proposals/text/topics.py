"""What can be looked up by a word: commands, nouns of commands, pages, their sections, rows of their tables."""

import html
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from proposals.text.errors import ArgumentError
from proposals.text.names import nearest, shown

COMMAND, NOUN, PAGE, ROW, SECTION, MESSAGE = "command", "commands", "page", "row", "section", "message"
LOOKED_UP = ("reference/", "glossary")  # pages whose rows each explain a word
MESSAGES = "reference/messages"  # the page whose sections each explain a message
SAYS = re.compile(r"^It says: (.*)$", re.MULTILINE)  # a message under the name of its check
ANY = "…"  # in a message: what is known only when it is said
_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
_LINE = re.compile(r"^\|(.*)\|$")
_RULE = re.compile(r"^\|[-:| ]+\|$")


class Topic(NamedTuple):
    """One thing that is explained: ``about`` in one line, ``text`` whole."""

    name: str
    kind: str
    about: str
    text: str


def of_page(path: str, text: str) -> Iterator[Topic]:
    """Yield the topics of a Markdown page: itself, what its tables explain, its sections.

    path
        Below the docs, without its end: ``howto/pools``.
    """
    title = text.partition("\n")[0].removeprefix("# ")
    yield Topic(path.rpartition("/")[2], PAGE, title, plain(text))
    if path.startswith(LOOKED_UP):
        yield from _rows(path, text)
    for section in re.split(r"^(?=##+ )", text, flags=re.MULTILINE)[1:]:
        heading = plain(section.partition("\n")[0].lstrip("# "))
        yield Topic(heading, SECTION, f"in {path}", f"{plain(section)}\n({path})")
        if path == MESSAGES and section.startswith("### "):
            says = SAYS.search(plain(section))
            yield Topic(says[1] if says else heading.strip("`"), MESSAGE, f"in {path}", f"{plain(section)}\n({path})")


def _rows(path: str, text: str) -> Iterator[Topic]:
    """What each row of a page's tables says of the words in its first cell."""
    lines = text.splitlines()
    head: list[str] = []
    for before, line in zip(["", *lines], lines, strict=False):
        if _RULE.match(line):
            head = _cells(before)
        elif not _LINE.match(line):
            head = []
        elif head and (cells := _cells(line)):
            told = [f"  {name}: {cell}" for name, cell in zip(head[1:], cells[1:], strict=False) if cell]
            for word in cells[0].rstrip(" *").split(", "):
                yield Topic(word, ROW, f"in {path}", "\n".join([f"{cells[0]} ({path})", *told]))


def _cells(line: str) -> list[str]:
    return [plain(cell.strip()).replace("`", "") for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def plain(markdown: str) -> str:
    """Return Markdown as a terminal shows it: links as their words, no escapes of HTML or of tables."""
    return html.unescape(_LINK.sub(r"\1", markdown)).replace(r"\|", "|").strip()


def find(word: str, topics: Iterable[Topic]) -> list[Topic]:
    """Return what a word names: what is more than a section where there is any; upper case, dashes and underscores
    make no difference. What names nothing may be a message, whole or in part.

    Raises ArgumentError with the nearest word where it is none of these."""
    topics = list(topics)
    by_name: dict[str, list[Topic]] = {}
    for topic in topics:
        by_name.setdefault(_key(topic.name), []).append(topic)
    found = by_name.get(_key(word))
    if not found and (said := _said(word, [topic for topic in topics if topic.kind == MESSAGE])):
        return said
    if not found:
        near = nearest(_key(word), by_name)
        hint = near if near.startswith(": did") else "; 'salt-run halocline.help' lists commands and pages"
        raise ArgumentError(f"there is no topic '{shown(word)}'{hint}")
    return [each for each in found if each.kind != SECTION] or found


def _said(words: str, messages: Iterable[Topic]) -> list[Topic]:
    """The messages that have most of a text for themselves; else those that several words stand in."""
    text = " ".join(words.lower().split())
    most = {topic: _own(topic.name, text) for topic in messages}
    best = max(most.values(), default=0)
    if best:
        return [topic for topic, own in most.items() if own == best]
    return [topic for topic in most if " " in text and text in " ".join(topic.name.lower().split())]


def _own(message: str, text: str) -> int:
    """How many characters of a text are a message's own; 0 where it is not said there, with all its parts in order."""
    at, own = 0, 0
    for part in map(str.strip, " ".join(message.lower().split()).split(ANY)):
        at = text.find(part, at)
        if at < 0:
            return 0
        at, own = at + len(part), own + len(part)
    return own


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", "-", name.strip().strip("`").lower())


def listed(topics: Iterable[Topic]) -> str:
    """Return one line for each of these topics."""
    topics = list(topics)
    width = max((len(topic.name) for topic in topics), default=0)
    return "\n".join(f"  {topic.name:<{width}}  {topic.about}".rstrip() for topic in topics)
