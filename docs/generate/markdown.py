"""Data as Markdown: rows of tables, and what one function or one verb of a command line is."""

import argparse
import itertools
import re
from collections.abc import Mapping

import yaml

from docs.generate import messages
from docs.generate.functions import Function
from proposals.settings.kinds import Setting
from proposals.validation.check import LOOKS, Check


def row(*values: object) -> str:
    """One row of a table."""
    return f"| {' | '.join(map(cell, values))} |"


def cell(value: object) -> str:
    """Text for a cell: on one line, with docstrings' literals as Markdown has them."""
    return re.sub(r"(?<!\\)\|", r"\\|", inline(" ".join(str(value).split())))


def inline(text: str) -> str:
    """A docstring's text as Markdown."""
    return text.replace("``", "`").replace("<", "&lt;") if "`" not in text else text.replace("``", "`")


def check(each: Check) -> str:
    """The row of one validation check."""
    where = LOOKS[each.looks_at]
    source = f" ({each.source})" if each.source else ""
    allowed = " *" if each.size else ""
    return row(f"`{each.id}`", f"{each.severity}{allowed}", where, f"{each.about}{source}", each.fix)


def check_message(each: Check) -> tuple[str, str, str, str]:
    """What the page of messages has of a check: its name, what it says, what is right, what to do."""
    texts = (messages.of_check(each), each.about, messages.filled(each.fix))
    return each.id, *(inline(text.replace("<", "&lt;")) for text in texts)


def site_setting(each: Setting) -> tuple[str, str, list[str]]:
    """One site setting: its key, a paragraph about it, and the table of what stands within."""
    parts = [f"{each.meaning[0].upper()}{each.meaning[1:]}.", f"Expected: {inline(each.kind.expected)}."]
    parts += [f"Default: `{_yaml(each.default)}`."] * (each.default is not None)
    parts += [f"Source: {each.source}."] * bool(each.source)
    rows = [
        row(f"`{path}`{' *' * inner.required}", inner.kind.expected, _default(inner), inner.meaning, inner.source)
        for path, inner in each.kind.inner()
    ]
    head = [row("within", "expected", "default", "meaning", "source"), "|---|---|---|---|---|"]
    return each.key, inline(" ".join(parts)), [*head, *rows] if rows else []


def _default(each: Setting) -> str:
    return "" if each.default is None else f"`{_yaml(each.default)}`"


def _yaml(value: object) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=1000).removesuffix("\n").removesuffix("\n...")


def setting(each: Mapping) -> str:
    """The row of one kernel setting."""
    for kind in ("sysctl", "sysfs", "disk", "port", "cmdline"):
        if kind in each:
            what = "kernel command line" if kind == "cmdline" else f"{kind} `{each[kind]}`"
            value = f"`{each.get('value', each['cmdline'] if kind == 'cmdline' else '')}`"
    least = ", more is kept" if each.get("least") else ""
    least += f", on {', '.join(f'`{device}`' for device in each['devices'])}" if "devices" in each else ""
    return row(f"`{each['id']}`", what, value + least, each["meaning"], each["source"], each.get("price", ""))


def function(each: Function) -> str:
    """What one function does, its arguments, an example."""
    parts = [inline(each.summary), inline(each.about)]
    told = itertools.groupby(each.arguments.items(), key=lambda item: item[1])  # some have one text together
    parts.append("\n".join(f"- {_named(each, [name for name, _ in some])}: {inline(text)}" for text, some in told))
    if each.takes:
        parts.append(f"It takes the arguments of the plan: {', '.join(f'`{name}`' for name in each.takes)}.")
    if each.examples:
        parts.append("\n".join(["```", *each.examples, "```"]))
    return "\n\n".join(filter(None, parts))


def _named(of: Function, arguments: list[str]) -> str:
    defaults = {name: f" (default `{_yaml(value)}`)" for name, value in of.defaults.items()}
    return ", ".join(f"`{name}`{defaults.get(name, '')}" for name in arguments)


def verb(parser: argparse.ArgumentParser) -> str:
    """What one verb of a command line does, with its words and options; ``key=value`` stand on pages of their own."""
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split()).replace(" [-h]", "")
    words = [_word(action) for action in parser._actions if action.dest != "help" and action.help]
    return "\n\n".join(filter(None, [f"```text\n{usage}\n```", _sentence(parser.description), "\n".join(words)]))


def _word(action: argparse.Action) -> str:
    name = ", ".join(action.option_strings) or action.metavar or action.dest
    choices = f" ({', '.join(map(str, action.choices))})" if action.choices and action.option_strings else ""
    return f"- `{name}`: {action.help}{choices}"


def _sentence(text: str | None) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""
