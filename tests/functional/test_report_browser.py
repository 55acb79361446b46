"""A benchmark's page and recovery's in a real browser: every table and plot is seen, nothing else is asked for."""

import pytest
from browser import browser
from pageserver import free
from saltmaster import CHECKOUT

from proposals.benchmarks import curves, report, scenarios, suites

pytestmark = [pytest.mark.processes, pytest.mark.big]
KEPT = CHECKOUT / "build/reports"
NASTY = "<script>document.title='owned'</script><img src=//evil.example/x>"
SEEN = """
const boxes = [...document.querySelectorAll("svg")].map((each) => each.getBoundingClientRect());
return {rows: document.querySelectorAll("tr").length,
        plots: boxes.filter((box) => box.width > 300 && box.height > 100).length,
        over: boxes.filter((box) => box.right > innerWidth).length,
        title: document.title}
"""


def measured() -> dict[str, bytes]:
    """Appendix E with a figure in every cell, each the document's or 1."""
    suite = suites.read("apollo")
    cells: dict = {target: {} for target in suite.targets}
    for target in suite.targets:
        for row in suite.rows:
            printed = (*suite.printed[target].get(row, ()), 1, 1, 1, 1)
            cells[target][row] = [dict(zip(("mib_s", "iops", "mean_ms", "max_ms"), printed, strict=False))]
    told = {"id": "apollo-20260101T120000", "targets": suite.targets, "cells": cells, "notes": [NASTY], "conf": NASTY}
    return report.files(suite, [told])


def recovered() -> dict[str, bytes]:
    """Four scenarios under two profiles."""
    told = {"before": 200.0, "depth": 0.5, "length": 30, "best": 40, "clean": 30, "moved": 1 << 30, "busy": 0.2}
    told |= {"lead": 10, "curve": [200.0] * 10 + [100.0] * 30 + [200.0] * 20}
    each = [
        {**told, "scenario": name, "profile": profile} for name in scenarios.TITLES for profile in ("fast", "least")
    ]
    return curves.files(scenarios.TITLE, {"curves": each, "notes": [NASTY], "id": "recovery-20260101T120000"})


@pytest.mark.parametrize(
    ("name", "made", "plots", "rows"), [("apollo", measured, 7, 80), ("recovery", recovered, 4, 8)], ids=lambda one: one
)
def test_a_report_is_seen_whole_without_another_file(name, made, plots, rows, tmp_path):
    page = tmp_path / "report.html"  # alone: none of the plots' own files lies beside it
    page.write_bytes(made()["report.html"])
    with browser(free) as window:
        window.open(page.as_uri(), "document.querySelector('tr') && document.readyState === 'complete'")
        seen = window.run(SEEN)
        assert (seen["plots"], seen["over"]) == (plots, 0) and seen["rows"] > rows
        assert "owned" not in seen["title"] and NASTY in window.text()
        assert {url for url in window.asked_for() if not url.startswith("data:")} == {page.as_uri()}
        assert window.console() == []
        window.size(1400, 3600)
        window.picture(KEPT / f"{name}.png")
