"""What ``salt-run`` and ``salt`` can call, read from syntax trees: names, arguments, docstrings. Salt is not run."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from proposals.text.argument_readers import Argument

ROOT = Path(__file__).parents[2]
RUNNERS, MODULES = ROOT / "runners", ROOT / "_modules"
# Arguments that a docstring explains, one or some together: their names, and below them, set in, what they are.
_DEFINED = re.compile(r"^([a-z_]+(?:, [a-z_]+)*)\n((?:    +.*(?:\n|\Z))+)", re.MULTILINE)


@dataclass(frozen=True)
class Function:
    """One function that can be typed.

    name
        ``noun.verb``.
    doc
        Its docstring, unindented.
    takes
        What it takes as ``key=value`` beside its own arguments, with meanings: the planner's.
    """

    name: str
    signature: inspect.Signature
    doc: str
    takes: Mapping[str, Argument]

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring."""
        return " ".join(self.doc.partition("\n\n")[0].split())

    @property
    def about(self) -> str:
        """The docstring without summary, arguments and example."""
        paragraphs = re.split(r"\n\n", self.doc.partition("CLI Example:")[0])[1:]
        return "\n\n".join(part for part in paragraphs if part.strip() and not _DEFINED.match(part))

    @property
    def arguments(self) -> dict[str, str]:
        """What the docstring says of each argument."""
        body = self.doc.partition("CLI Example:")[0]
        return {name: " ".join(text.split()) for names, text in _DEFINED.findall(body) for name in names.split(", ")}

    @property
    def defaults(self) -> dict[str, object]:
        """What an argument is where it is not given; without those that are nothing then."""
        given = {each.name: each.default for each in self.signature.parameters.values()}
        return {name: value for name, value in given.items() if value is not inspect.Parameter.empty and value}

    @property
    def examples(self) -> list[str]:
        """The commands of its example."""
        example = self.doc.partition("CLI Example:")[2]
        return [line.strip() for line in example.splitlines() if re.match(r" +salt", line)]

    @property
    def open(self) -> bool:
        """Whether it passes any ``key=value`` on."""
        kinds = {each.name for each in self.signature.parameters.values() if each.kind is each.VAR_KEYWORD}
        return bool(kinds - {"_", "kwargs"})

    @property
    def keywords(self) -> set[str]:
        """Every argument that may be given as ``key=value``; with dashes or underscores, as typed."""
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        own = {each.name for each in self.signature.parameters.values() if each.kind in kinds}
        return own | set(self.arguments) | set(self.takes)


@cache
def runners() -> Mapping[str, Function]:
    """Every function of ``runners/`` that salt-run can call, by name."""
    return {each.name: each for path in sorted(RUNNERS.glob("*.py")) for each in _functions(path)}


@cache
def modules() -> Mapping[str, Function]:
    """Every function of ``_modules/`` that a minion can be asked for, by name."""
    return {each.name: each for path in sorted(MODULES.glob("*.py")) for each in _functions(path)}


def _functions(path: Path) -> Iterator[Function]:
    tree = ast.parse(path.read_text(), str(path))
    aliases = _aliases(tree)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            name = f"{path.stem}.{aliases.get(node.name, node.name)}"
            yield Function(
                name, _signature(node.args, tree), inspect.cleandoc(ast.get_docstring(node) or ""), _takes(node, tree)
            )


def _aliases(tree: ast.Module) -> Mapping[str, str]:
    """``__func_alias__``: what a function is called where its name would hide another."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "__func_alias__":
            return ast.literal_eval(node.value)
    return {}


def _signature(arguments: ast.arguments, tree: ast.Module) -> inspect.Signature:
    kinds = inspect.Parameter
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [kinds.empty] * (len(plain) - len(arguments.defaults)) + [
        _value(each, tree) for each in arguments.defaults
    ]
    parameters = [
        kinds(each.arg, kinds.POSITIONAL_OR_KEYWORD, default=default)
        for each, default in zip(plain, defaults, strict=True)
    ]
    if arguments.vararg:
        parameters.append(kinds(arguments.vararg.arg, kinds.VAR_POSITIONAL))
    parameters += [
        kinds(each.arg, kinds.KEYWORD_ONLY, default=kinds.empty if default is None else _value(default, tree))
        for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        parameters.append(kinds(arguments.kwarg.arg, kinds.VAR_KEYWORD))
    return inspect.Signature(parameters)


def _value(default: ast.expr, tree: ast.Module) -> object:
    """A default as it is: written out, or by the name of a constant of this file or of one that it imports."""
    if isinstance(default, ast.Name):
        assigned = (each for each in tree.body if isinstance(each, ast.Assign))
        own = [each.value for each in assigned if getattr(each.targets[0], "id", None) == default.id]
        return _value(own[0], tree) if own else _constant(_imported(tree, default.id))
    if isinstance(default, ast.Attribute):
        return _constant(f"{_imported(tree, ast.unparse(default.value))}.{default.attr}")
    return ast.literal_eval(default)


def _constant(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _takes(node: ast.FunctionDef, tree: ast.Module) -> Mapping[str, Argument]:
    """The table that ``@answer.takes(MODULE.ARGUMENTS)`` names."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "answer.takes":
            alias, _, table = ast.unparse(decorator.args[0]).partition(".")
            return getattr(importlib.import_module(_imported(tree, alias)), table)
    return {}


def _imported(tree: ast.Module, alias: str) -> str:
    """The module that ``alias`` stands for in this file."""
    return next(
        f"{node.module}.{each.name}"
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
        if (each.asname or each.name) == alias
    )
