"""One HTML page of a suite's runs: tables, plots, and all that is needed to repeat them. It asks for no other file."""

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proposals.benchmarks import plots, results
from proposals.benchmarks.suites import Suite

REPEAT = (
    "id",
    "cluster",
    "size",
    "label",
    "generators",
    "options",
    "images",
    "image",
    "seed",
    "tools",
    "versions",
    "generation",
)
LONG = ("proposals", "policy", "suite_file", "conf", "config", "commands", "tree")
STYLE = (
    "body{font:15px/1.5 sans-serif;margin:2em auto;max-width:70em;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #ccc;padding:.2em .6em;text-align:left}"
    "th{background:#eee}svg{max-width:100%;height:auto}pre{background:#f6f6f6;padding:1em;overflow:auto}.note{color:#a40}"
)


def files(suite: Suite, told: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """Return what is written beside a result, by name: the page, its plots as SVG and PNG, the tables as text."""
    drawn = plots.draw(suite, told)
    text = "\n\n".join(results.plain(suite, result) for result in told) + "\n"
    return {**drawn, "table.txt": text.encode(), "report.html": page(suite, told, drawn).encode()}


def page(suite: Suite, told: Sequence[Mapping[str, Any]], drawn: Mapping[str, bytes]) -> str:
    """Return the page. What hosts said is text in it and never markup."""
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_text(suite.title)}</title>',
        f"<style>{STYLE}</style></head><body><h1>{_text(suite.title)}</h1>",
        f"<p>Beside what was measured stands what the document prints ({_text(suite.source)}), and the ratio.</p>",
        f"<p>{_text(suite.note)}</p>" if suite.note else "",
        *(part for result in told for part in _tables(suite, result)),
        "" if drawn else f'<p class="note">{_text(plots.MISSING)}</p>',
        *(_svg(drawn[f"{at}.svg"]) for at in range(1, len(suite.plots) + 1) if f"{at}.svg" in drawn),
        *(part for result in told for part in _repeat(result)),
        "</body></html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _tables(suite: Suite, result: Mapping[str, Any]) -> Iterator[str]:
    head, *rows = results.texts(suite, result)
    yield f"<h2>{_text(results.named(result))}</h2>"
    yield f"<table><tr>{''.join(f'<th>{_text(cell)}</th>' for cell in head)}</tr>"
    yield from (f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    yield "</table>"
    yield from (f"<p>{_text(line)}</p>" for line in results.below(suite, result))
    yield from (f'<p class="note">{_text(note)}</p>' for note in result.get("notes", ()))


def _repeat(result: Mapping[str, Any]) -> Iterator[str]:
    """What a run is repeated with."""
    yield f"<h2>To repeat {_text(result['id'])}</h2><table>"
    for key in REPEAT:
        value = result.get(key)
        shown = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        yield f"<tr><th>{key}</th><td>{_text(shown)}</td></tr>"
    yield "</table>"
    for key in LONG:
        value = result.get(key) or ""
        lines = value if isinstance(value, str) else json.dumps(value, indent=1, sort_keys=True)
        if isinstance(value, list):
            lines = "\n".join(" ".join(each) if isinstance(each, list) else str(each) for each in value)
        yield f"<details><summary>{key}</summary><pre>{_text(lines)}</pre></details>"


def _svg(drawn: bytes) -> str:
    """A plot as a part of the page: without the XML declaration and document type, which name other files."""
    text = drawn.decode()
    return f"<figure>{text[text.index('<svg') :]}</figure>"


def _text(value: object) -> str:
    return html.escape(str(value))
