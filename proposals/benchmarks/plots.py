"""Plots of a suite's results, as SVG and PNG, by matplotlib: what was measured, and beside it what the document prints.

The master may lack matplotlib (the extra ``plots``): results and tables need it not, and the page says what to install.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any

from proposals.benchmarks import results
from proposals.benchmarks.suites import Suite

MISSING = "no plots: matplotlib is not installed for the Salt master's Python (salt-pip install matplotlib)"
WIDE, HIGH = 11.0, 4.2  # inches
Series = dict[str, list[float | None]]  # by curve: a value a row


def available() -> bool:
    """Return whether plots can be drawn here."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return False
    return True


def series(
    suite: Suite, told: Sequence[Mapping[str, Any]], plot: Mapping[str, Any]
) -> tuple[list[str], Series, Series]:
    """Return what stands below a plot, and the values of each curve, measured and printed.

    Below it stand the table's rows, and each run and target is a curve; ``across``: the other way round, to see how a
    row grows from run to run.
    """
    rows = [row for row in suite.rows if row.startswith(plot["rows"])]
    measured: Series = {}
    printed: Series = {}
    for result in told:
        cells = {(line.target, line.row): line.cells[plot["column"]] for line in results.table(suite, result)}
        for target in result["targets"]:
            name = " ".join(filter(None, (result.get("label") or (result["id"] if len(told) > 1 else ""), target)))
            measured[name] = [cells[target, row][0] for row in rows]
            beside = [cells[target, row][1] for row in rows]
            if any(value is not None for value in beside):
                printed[name] = beside
    if "across" not in plot:
        return rows, measured, printed
    filled = {name: printed.get(name, [None] * len(rows)) for name in measured} if printed else {}
    return list(measured), _turned(rows, measured), _turned(rows, filled)


def _turned(rows: Sequence[str], curves: Series) -> Series:
    """A curve for each row, with a value of each curve."""
    return {row: [values[at] for values in curves.values()] for at, row in enumerate(rows)} if curves else {}


def draw(suite: Suite, told: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """Return the plots of a suite's runs by file name, ``1.svg`` and ``1.png``; none where matplotlib is missing."""
    if not available():
        return {}
    return {
        f"{at}.{kind}": data
        for at, plot in enumerate(suite.plots, 1)
        for kind, data in _drawn(suite, told, plot).items()
    }


def _drawn(suite: Suite, told: Sequence[Mapping[str, Any]], plot: Mapping[str, Any]) -> dict[str, bytes]:
    import matplotlib
    from matplotlib.figure import Figure

    rows, measured, printed = series(suite, told, plot)
    panels = {"measured": measured, **({"in the document": printed} if printed else {})}
    figure = Figure(figsize=(WIDE, HIGH), layout="constrained")
    figure.suptitle(plot["title"])
    for axes, (title, curves) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        _bars(axes, rows, curves)
        axes.set_title(title, fontsize="medium")
        axes.set_ylabel(results.COLUMNS[plot["column"]][0])
    files = {}
    with matplotlib.rc_context({"svg.hashsalt": suite.name, "svg.fonttype": "none"}):  # the same bytes each time
        for kind, about in (("svg", {"Date": None}), ("png", {"Software": None})):
            out = io.BytesIO()
            figure.savefig(out, format=kind, metadata=about)
            files[kind] = out.getvalue()
    return files


def _bars(axes: Any, rows: Sequence[str], curves: Series) -> None:
    """Bars of each row beside each other, a colour a curve."""
    width = 0.8 / max(len(curves), 1)
    for at, (name, values) in enumerate(curves.items()):
        places = [place + (at - (len(curves) - 1) / 2) * width for place in range(len(rows))]
        axes.bar(places, [value or 0 for value in values], width, label=name)
    axes.set_xticks(range(len(rows)), rows, rotation=30, ha="right", fontsize="small")
    axes.margins(y=0.3)  # room for the legend above the highest bar
    axes.set_ylim(bottom=0)
    if curves:
        axes.legend(fontsize="small", loc="upper left", ncols=2)
