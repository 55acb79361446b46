"""The messages that a user can see, read from the code that says them: rows of checks, and errors that are raised.

A message's text is that of the statement, with ``…`` for what is known only when it is said. Lists of lines are put
together of other messages, and do not stand here.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from docs.generate.functions import ROOT
from proposals.text import errors
from proposals.validation.check import Check

CODE = ("proposals", "runners", "_modules", "salt/_utils", "salt/_states")
ANY = "…"
WORDS = 3  # of its own that a message has at least: what is less quotes another one
ON_MINIONS = "CommandExecutionError"  # Salt's own, by which modules refuse
MEANS_ON_MINIONS = """A host could not do what it was told.

Look at the host that the message names; where a program failed, its own words are in it. Then type the same command
again: what was done stays done, and it goes on."""

# What their functions yield, or return in lists, are lines of what stands against something.
AGAINST = (
    "proposals/adoption/judging.py",
    "proposals/cluster/maintained.py",
    "proposals/cluster/purge/against.py",
    "proposals/cluster/removal/roles.py",
    "proposals/cluster/removal/room.py",
)
STANDS_AGAINST = "against"
MEANS_AGAINST = """Something stands against what was asked, and nothing was changed.

Mend what the line names, or type what it says allows it, then the same command again. All that stands against it is
listed at once."""


class Message(NamedTuple):
    """One message: its text, and which part of the product says it."""

    text: str
    part: str


class Kind(NamedTuple):
    """What errors of one class mean, what to do, and all their messages."""

    means: str
    to_do: str
    messages: list[Message]


@cache
def kinds() -> list[Kind]:
    """Return every class of errors, in the order in which they are written, with its messages by text.

    All of the product's code is read for it, once in a process.
    """
    means = {STANDS_AGAINST: MEANS_AGAINST}
    means |= {name: inspect.cleandoc(each.__doc__ or "") for name, each in _classes().items()}
    means[ON_MINIONS] = MEANS_ON_MINIONS
    found: dict[str, dict[str, Message]] = {name: {} for name in means}
    for path in _files():
        for name, message in of_code(path.read_text(), str(path.relative_to(ROOT)) in AGAINST):
            found[name].setdefault(message.text, message)
    parts = ((means[name].partition("\n\n"), messages) for name, messages in found.items())
    return [Kind(about, to_do, sorted(messages.values())) for (about, _, to_do), messages in parts]


def of_check(row: Check) -> str:
    """Return what a check says, with ``…`` for its values."""
    return filled(row.message)


def filled(text: str) -> str:
    """Return a text on one line, with ``…`` for fields, and one for several that touch."""
    return re.sub(rf"{ANY}+", ANY, " ".join(re.sub(r"\{\w+\}", ANY, text).split()))


@cache
def _classes() -> dict[str, type]:
    made = inspect.getmembers(errors, inspect.isclass)
    order = inspect.getsource(errors)
    return dict(sorted(made, key=lambda each: order.index(f"class {each[0]}(")))


def _files() -> list[Path]:
    return sorted(path for folder in CODE for path in (ROOT / folder).rglob("*.py"))


def of_code(code: str, against: bool = False) -> Iterator[tuple[str, Message]]:
    """Yield the messages of a file, each with the name of its error's class, or STANDS_AGAINST.

    against
        Whether its functions tell what stands against something.
    """
    tree = ast.parse(code)
    part = " ".join((ast.get_docstring(tree) or "").partition("\n\n")[0].split())
    texts = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }
    for node in ast.walk(tree):
        for name, value in _said(node, against):
            text = filled(_text(value, texts))
            if len(re.findall(r"[^\W\d_]{2,}", text)) >= WORDS:
                yield name, Message(text, part.replace("``", "`"))


def _said(node: ast.AST, against: bool) -> list[tuple[str, ast.expr]]:
    """The texts that one statement or expression says, each with its kind."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _classes() or name == ON_MINIONS:
            return [(name, first)]
        case ast.Yield(value=ast.expr() as value) if against:
            return [(STANDS_AGAINST, value)]
        case ast.Return(value=ast.List(elts=values)) if against:
            return [(STANDS_AGAINST, value) for value in values]
    return []


def _text(node: ast.AST, texts: dict[str, str]) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr():
            return "".join(_text(value, texts) for value in node.values)
        case ast.FormattedValue():
            return _text(node.value, texts)
        case ast.Name():
            return texts.get(node.id, ANY)
        case ast.BinOp(op=ast.Add()):
            return _text(node.left, texts) + _text(node.right, texts)
    return ANY
