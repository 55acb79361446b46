"""The reference pages: rendered from the data that the code itself reads, so that they say what the code does."""

import argparse
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

import jinja2
import yaml

from docs.generate import markdown, messages, shells
from docs.generate.functions import ROOT, Function, runners
from lab import cli as lab
from proposals import cli as planner
from proposals.disks import arguments as disks
from proposals.disks import filters
from proposals.networking import arguments as networks
from proposals.policy import policy, roles
from proposals.settings import table as settings
from proposals.text.argument_readers import Argument
from proposals.validation import table

FOLDER = ROOT / "docs" / "reference"
TEMPLATES = Path(__file__).parent / "templates"


def rendered() -> dict[Path, str]:
    """The text of every generated page, by path."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    facts = dict(_facts())
    texts = {
        FOLDER / name.removesuffix(".j2"): f"{made.get_template(name).render(facts)}\n"
        for name in made.list_templates()
    }
    return texts | shells.rendered()


def differing() -> list[Path]:
    """The pages that are not what the code says."""
    return [path for path, text in rendered().items() if not path.exists() or path.read_text() != text]


def _spaced(text: str) -> str:
    """Text with single blank lines, and a line end."""
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def _facts() -> Iterator[tuple[str, object]]:
    """What templates name: values, and lists of finished rows."""
    yield "filters", filters
    yield "policy", policy
    yield "disk_arguments", _arguments(disks.ARGUMENTS)
    yield "network_arguments", _arguments(networks.ARGUMENTS)
    yield "filter_keys", [markdown.row(f"`{name}`", key.meaning) for name, key in filters.KEYS.items()]
    yield "roles", [markdown.row(f"`{name}`", meaning) for name, meaning in roles.ROLES.items()]
    yield "checks", list(map(markdown.check, table.CHECKS))
    yield "check_messages", list(map(markdown.check_message, table.CHECKS))
    yield "kinds", messages.kinds()
    yield "commands", _functions({name: each for name, each in runners().items() if each.examples})
    yield "planner", _verbs(planner.parser())
    yield "lab", _verbs(lab.parser())
    yield "profiles", [(name, each, list(map(markdown.setting, each["settings"]))) for name, each in _tunings()]
    yield "health", _health()
    yield "settings", list(map(markdown.site_setting, settings.SETTINGS))
    yield "places", list(_places())


def _arguments(arguments: Mapping[str, Argument]) -> list[str]:
    return [markdown.row(f"`{name}`", each.default, each.meaning) for name, each in arguments.items()]


def _functions(functions: Mapping[str, Function]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Functions by noun, each with its name and text; those without an example are called by others alone."""
    groups = groupby(functions.values(), lambda each: each.name.partition(".")[0])
    return [(noun, [(each.name, markdown.function(each)) for each in group]) for noun, group in groups]


def _verbs(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    """Every verb of a command line, those of its verbs too: how it is typed, and its text."""
    inner = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    found = []
    for each in dict.fromkeys(each for action in inner for each in action.choices.values()):
        found += _verbs(each) or [(each.prog, markdown.verb(each))]
    return found


def _places() -> Iterator[tuple[str, str]]:
    """The files in which a site writes, and the settings of each."""
    for place in dict.fromkeys(each.place for each in settings.SETTINGS):
        yield place, ", ".join(f"`{each.key}`" for each in settings.SETTINGS if each.place == place)


def _tunings() -> Iterator[tuple[str, dict]]:
    for name, profile in _pillar("tunings")["ceph_tunings"].items():
        included = f" It includes TuneD's `{profile['include']}`." if profile["include"] else ""
        yield name, {**profile, "about": f"For {profile['summary']}.{included}"}


def _health() -> list[str]:
    return [
        markdown.row(section, f"`{option}`", f"`{each['value']}`", each["warning"], each["cause"], each["source"])
        for section, options in _pillar("health")["ceph_health"].items()
        for option, each in options.items()
    ]


def _pillar(name: str) -> dict:
    return yaml.safe_load((ROOT / "pillar" / "ceph" / f"{name}.sls").read_text())
