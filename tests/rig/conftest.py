"""Tests of the lab itself: they run where the lab changed since all of them passed, and with `--rig=always`.

All other tests on a lab stand on the same nodes, disks and faults, so an unchanged lab is proven by them each time.
"""

from collections.abc import Iterator
from pathlib import Path

import proven
import pytest

HERE = Path(__file__).parent
CHECKOUT = HERE.parent.parent
missing: set[str] = set()  # tests that must pass before the record is written; those that did are taken out
count = 0


def pytest_report_header(config: pytest.Config) -> str:
    """Say at the start whether they run and why."""
    return proven.sentence(CHECKOUT, config.getoption("rig") == "always")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Leave them out where nothing changed; else remember which of them have to pass."""
    global count
    own = [item for item in items if HERE in item.path.parents]
    if config.getoption("rig") != "always" and proven.unchanged(CHECKOUT)[0]:
        config.hook.pytest_deselected(items=own)
        items[:] = [item for item in items if item not in own]
    elif {item.path for item in own} == set(HERE.glob("test_*.py")) and not any("::" in word for word in config.args):
        missing.update(item.nodeid for item in own if not item.get_closest_marker("big"))
        count = len(missing)
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Take a test that passed out of those missing; one that failed in its end is missing again."""
    if report.when == "call" and report.passed:
        missing.discard(report.nodeid)
    elif report.failed and report.nodeid.startswith("tests/rig/"):
        missing.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the record where all of them passed, in this one run."""
    if count and not missing and not session.config.option.collectonly:
        proven.write(CHECKOUT, count)
