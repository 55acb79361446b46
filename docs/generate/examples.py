"""Every command that docstrings, messages and docs show, and which of them cannot be typed.

An example is a line of a ``CLI Example:`` or of a code block; a mention, a command between quotes in a sentence.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from docs.generate import commands
from docs.generate.functions import ROOT

CODE = ("proposals", "runners", "_modules", "salt", "lab", "srv", "docs", "tests")
ANY = "…"  # what is known only when a message is said
IN_MESSAGES = re.compile(rf"salt-run (?:state\.orch )?[a-z_]+\.[a-z0-9_.]*[a-z0-9_](?: (?:[a-z_]+=[^\s';,)]*|{ANY}))*")


class Example(NamedTuple):
    """A command as it is shown; ``whole`` where it is to be typed as it stands, and not a mention in a sentence."""

    place: str
    text: str
    whole: bool


@cache
def everywhere() -> tuple[Example, ...]:
    """All examples of this repository, in files' order."""
    code = sorted(path for folder in CODE for path in (ROOT / folder).rglob("*.py"))
    pages = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    found = [each for path in code for each in of_code(str(path.relative_to(ROOT)), path.read_text())]
    return (*found, *(each for path in pages for each in of_page(str(path.relative_to(ROOT)), path.read_text())))


def wrong() -> Iterator[tuple[Example, str]]:
    """Every example that cannot be typed as it is shown, with the reason."""
    for example in everywhere():
        if why := commands.problem(example.text, example.whole):
            yield example, why


def of_code(place: str, text: str) -> Iterator[Example]:
    """The examples of a Python file's docstrings, and what its messages tell to type."""
    nodes = list(ast.walk(ast.parse(text, place)))
    for line, said in () if place.startswith("tests/") else _said(nodes):
        yield from (Example(f"{place}:{line}", told, False) for told in IN_MESSAGES.findall(said))
    for node in nodes:
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and (doc := ast.get_docstring(node)):
            here = f"{place}:{getattr(node, 'lineno', 1)}"
            shown = doc.partition("CLI Example:")[2]
            for line in shown.splitlines():
                if re.match(r" +(salt|python|\.venv)", line):
                    yield Example(here, line.strip(), True)
            for quoted in re.findall(r"``([^`]+)``", doc):
                yield Example(here, " ".join(quoted.split()), False)


def _said(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """The texts of a file, those with values in them whole: a command may have its arguments from these.

    nodes
        What holds others comes before them.
    """
    parts: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts.update(node.values)
            words = (str(each.value) if isinstance(each, ast.Constant) else ANY for each in node.values)
            yield node.lineno, "".join(words)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            yield node.lineno, node.value


def of_page(place: str, text: str) -> Iterator[Example]:
    """The examples of a Markdown page."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        if mark := re.match(r"\s*(```+)(\w*)", line):
            fence = None if fence is not None else mark[2]
        elif fence in ("", "bash", "console"):
            yield Example(f"{place}:{number}", line.strip().removeprefix("$ "), True)
        elif fence is None:
            for quoted in re.findall(r"`([^`]+)`", line):
                yield Example(f"{place}:{number}", quoted, False)
