"""What shells complete, and the page of ``man halocline``: rendered from what salt-run and the planner can be told.

A word that ends with ``=`` takes a value; of a word with few values each is offered.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jinja2

from docs.generate.functions import ROOT, Function, runners
from proposals import cli as planner
from proposals.reference import machines

TEMPLATES = Path(__file__).parent / "shells"
PLACES = {  # where each is kept; srv/install and the packages put it in place
    "salt-run.bash.j2": ROOT / "srv/completions/bash/salt-run",
    "halocline.bash.j2": ROOT / "srv/completions/bash/halocline",
    "salt-run.zsh.j2": ROOT / "srv/completions/zsh/_salt-run",
    "halocline.zsh.j2": ROOT / "srv/completions/zsh/_halocline",
}
TRUTH = ("false", "true")


class Verb(NamedTuple):
    """One verb of the planner: ``places`` name the words that it must have, ``words`` what may follow."""

    path: str
    about: str
    places: list[str]
    words: list[str]


def rendered() -> dict[Path, str]:
    """Return the text of every file, by path."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        comment_start_string="{##",
        comment_end_string="##}",
    )
    verbs = list(_verbs(planner.parser()))
    facts = {
        "functions": [(each.name, _line(each.summary), _typed(each)) for each in runners().values() if each.examples],
        "stages": sorted(f"ceph.stage.{path.stem}" for path in (ROOT / "salt/ceph/stage").glob("*.sls")),
        "verbs": verbs,
        "nested": sorted({each.path.partition(" ")[0] for each in verbs if " " in each.path}),
        "first": list(dict.fromkeys(each.path.partition(" ")[0] for each in verbs)),
        "sites": list(machines.CATALOGUE),
        "inventories": [f"reference:{site}" for site in machines.CATALOGUE],
    }
    return {path: f"{made.get_template(name).render(facts)}\n" for name, path in PLACES.items()}


def _line(text: str) -> str:
    """A summary as it may stand between single quotes of a shell; zsh parts word and meaning at a colon."""
    return text.replace("``", "").replace("'", "").replace(":", "\\:")


def _typed(function: Function) -> list[str]:
    """Every argument of a function, as far as it is typed."""
    words = []
    for name in sorted(function.keywords):
        own = function.signature.parameters.get(name)
        truth = own is not None and own.default in ("True", "False")
        words += [f"{name}={value}" for value in TRUTH] if truth else [f"{name}="]
    return words


def _verbs(parser: argparse.ArgumentParser, path: str = "") -> Iterator[Verb]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                below = f"{path} {name}".strip()
                found = list(_verbs(inner, below))
                yield from found or [_verb(inner, below)]


def _verb(parser: argparse.ArgumentParser, path: str) -> Verb:
    options = [each for each in parser._actions if each.option_strings and each.dest != "help"]
    places = [each.dest for each in parser._actions if not each.option_strings and each.nargs is None]
    pairs = [f"{name}=" for name in _pairs(parser)]
    words = [word for each in options for word in _option(each)]
    return Verb(path, _line(parser.description or ""), places, [*pairs, *words])


def _option(option: argparse.Action) -> list[str]:
    name = option.option_strings[-1]
    if option.nargs == 0:
        return [name]
    return [f"{name}={choice}" for choice in option.choices] if option.choices else [f"{name}="]


def _pairs(parser: argparse.ArgumentParser) -> list[str]:
    """The arguments that a verb takes as key=value: those of the table that its help prints."""
    if not any(each.dest == "pairs" for each in parser._actions):
        return []
    table = planner.networks.arguments.ARGUMENTS if "networks" in parser.prog else planner.arguments.ARGUMENTS
    return sorted(table)
