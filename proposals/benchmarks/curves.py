"""Recovery's curves, operations of clients a second, as SVG and PNG by matplotlib; one HTML page of a measurement."""

import html
import io
from collections.abc import Mapping, Sequence
from typing import Any

from proposals.benchmarks import plots, report, scenarios

BEFORE = "the dashed line is the load before, 0 s the moment of the change"


def draw(curves: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """Return a plot for each scenario, a curve for each profile: ``osd-out.svg``; none where matplotlib is missing."""
    if not plots.available():
        return {}
    return {
        f"{scenario}.{kind}": data
        for scenario in dict.fromkeys(each["scenario"] for each in curves)
        for kind, data in _drawn(scenario, [each for each in curves if each["scenario"] == scenario]).items()
    }


def files(title: str, result: Mapping[str, Any]) -> dict[str, bytes]:
    """Return what is written beside a result, by name: the page, its plots, the table as text."""
    drawn = draw(result["curves"])
    text = "\n".join([scenarios.plain(result["curves"]), *result["notes"]]) + "\n"
    return {**drawn, "table.txt": text.encode(), "report.html": page(title, result, drawn).encode()}


def page(title: str, result: Mapping[str, Any], drawn: Mapping[str, bytes]) -> str:
    """Return the page, which asks for no other file. What hosts said is text in it and never markup."""
    head, *rows = scenarios.table(result["curves"])
    images = [image.decode() for name, image in drawn.items() if name.endswith(".svg")]
    asked = {key: result.get(key) for key in ("id", "size", "load", "chosen", "generators", "image", "versions")}
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>',
        f"<style>{report.STYLE}</style></head><body><h1>{html.escape(title)}</h1>",
        "<p>The document's times are those of 8 servers with 64 cards of 1.7 TB; its default is our profile fast, its "
        "minimum impact our profile least. What compares is how many times as long one profile took as the other.</p>",
        f"<table><tr>{_row('th', head)}</tr>",
        *(f"<tr>{_row('td', row)}</tr>" for row in rows),
        "</table>",
        *(f'<p class="note">{html.escape(note)}</p>' for note in result["notes"]),
        f"<p>{BEFORE}.</p>" if images else f'<p class="note">{html.escape(plots.MISSING)}</p>',
        *(f"<figure>{image[image.index('<svg') :]}</figure>" for image in images),
        "<h2>To repeat it</h2><table>",
        *(f"<tr>{_row('th', [key])}{_row('td', [str(value)])}</tr>" for key, value in asked.items()),
        "</table></body></html>\n",
    ]
    return "\n".join(parts)


def _drawn(scenario: str, curves: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plots.WIDE, plots.HIGH), layout="constrained")
    axes = figure.subplots()
    axes.set_title(scenarios.TITLES[scenario])
    for at, each in enumerate(curves):
        axes.plot(
            range(-each["lead"], len(each["curve"]) - each["lead"]), each["curve"], f"C{at}", label=each["profile"]
        )
        axes.axhline(each["before"], color=f"C{at}", linestyle="--", linewidth=0.8)
    axes.set_xlabel("seconds since the change")
    axes.set_ylabel("client operations a second")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")
    made = {}
    with matplotlib.rc_context({"svg.hashsalt": scenario, "svg.fonttype": "none"}):  # the same bytes each time
        for kind, about in (("svg", {"Date": None}), ("png", {"Software": None})):
            out = io.BytesIO()
            figure.savefig(out, format=kind, metadata=about)
            made[kind] = out.getvalue()
    return made


def _row(tag: str, cells: Sequence[str]) -> str:
    return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)
