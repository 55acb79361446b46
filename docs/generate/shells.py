"""What shells complete, and the page of ``man halocline``: rendered from what salt-run and the planner can be told.

A word that ends with ``=`` takes a value; of a word with few values each is offered.
"""

import argparse
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import NamedTuple

import jinja2

from docs.generate.functions import ROOT, Function, runners
from proposals import cli as planner
from proposals.reference import machines
from proposals.text import topics
from runners.engine.master import documented

TEMPLATES = Path(__file__).parent / "shells"
PLACES = {  # where each is kept; srv/install and the packages put it in place
    "salt-run.bash.j2": ROOT / "srv/completions/bash/salt-run",
    "halocline.bash.j2": ROOT / "srv/completions/bash/halocline",
    "salt-run.zsh.j2": ROOT / "srv/completions/zsh/_salt-run",
    "halocline.zsh.j2": ROOT / "srv/completions/zsh/_halocline",
    "halocline.1.j2": ROOT / "srv/man/halocline.1",
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
        comment_start_string="{##",  # a shell counts by ${#…}
        comment_end_string="##}",
    )
    made.filters |= {"roff": _roff, "quoted": _quoted}
    verbs = list(_verbs(planner.parser()))
    facts = {
        "functions": [(each.name, each.summary, _typed(each)) for each in runners().values() if each.examples],
        "stages": sorted(f"ceph.stage.{path.stem}" for path in (ROOT / "salt/ceph/stage").glob("*.sls")),
        "verbs": verbs,
        "nested": sorted({each.path.partition(" ")[0] for each in verbs if " " in each.path}),
        "first": list(dict.fromkeys(each.path.partition(" ")[0] for each in verbs)),
        "sites": list(machines.CATALOGUE),
        "inventories": [f"reference:{site}" for site in machines.CATALOGUE],
    }
    facts |= {"nouns": list(_nouns()), "version": _version(), "examples": _examples()}
    return {path: f"{made.get_template(name).render(facts)}\n" for name, path in PLACES.items()}


def _nouns() -> Iterator[tuple[str, str, list[str]]]:
    """Each noun of salt-run, what it is about, its verbs."""
    known = list(documented.commands())
    for noun in (each for each in known if each.kind == topics.NOUN):
        names = [each.name for each in known if each.kind == topics.COMMAND]
        own = [name.partition(".")[2] for name in names if name.startswith(f"{noun.name}.")]
        if own:
            yield noun.name, noun.about.replace("``", ""), own


def _examples() -> list[str]:
    """The planner's own, as one types them where the command is installed."""
    return [f"halocline {text.removeprefix(planner.PROG).strip()}" for text in planner.EXAMPLE.values()]


def _version() -> str:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    return setup["metadata"]["version"]


def _roff(text: str) -> str:
    """Text as troff prints it: no word of it is a command."""
    for char, shown in {"\\": "\\e", "-": "\\-", '"': "\\(dq", "'": "\\(aq", "``": "", "\n": " "}.items():
        text = text.replace(char, shown)
    return f"\\&{text}" if text.startswith(".") else text


def _quoted(text: str) -> str:
    """A summary as it may stand between single quotes of a shell; zsh parts word and meaning at a colon."""
    return text.replace("``", "").replace("'", "").replace(":", "\\:")


def _typed(function: Function) -> list[str]:
    """Every argument of a function, as far as it is typed."""
    words = []
    for name in sorted(function.keywords):
        own = function.signature.parameters.get(name)
        truth = own is not None and isinstance(own.default, bool)
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
    return Verb(path, parser.description or "", places, [*pairs, *words])


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
