"""pytest plugin of `make test-all`: runs one part of the tests, without what passed before, and records each result.

--record=FILE    results, a line of JSON each, written as they come: an interrupted run loses none
--part=2/4       the second of four shares of the files
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.suite import parts

Result = dict  # test: its node id; outcome: passed, failed or skipped; seconds; why: an error's first line


def read(*paths: Path) -> dict[str, Result]:
    """The newest result of each test in these files; a line that was cut off by a kill counts for nothing."""
    results: dict[str, Result] = {}
    for line in (line for path in paths if path.exists() for line in path.read_text().splitlines()):
        try:
            result = json.loads(line)
        except json.JSONDecodeError:
            continue
        results[result["test"]] = result
    return results


def append(path: Path, result: Result) -> None:
    """Add a result."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(f"\n{json.dumps(result)}")  # on a line of its own also where a kill cut the last one off


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options."""
    parser.addoption("--record", type=Path, metavar="FILE", help="where results are added, and which tests passed")
    parser.addoption("--part", type=parts.parse, default=(1, 1), metavar="I/N", help="a share of the files")


def pytest_configure(config: pytest.Config) -> None:
    """Record where a file is named."""
    if config.getoption("record"):
        config.pluginmanager.register(Recorder(config))


class Recorder:
    """What this run leaves out, and what it finds."""

    def __init__(self, config: pytest.Config) -> None:
        self.path: Path = config.getoption("record")
        self.part: tuple[int, int] = config.getoption("part")
        self.root = config.rootpath
        self.reports: list[pytest.TestReport] = []  # of the test that runs

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep what is in this part and has not passed."""
        files = {str(item.path.relative_to(self.root)) for item in items}
        mine = parts.share(files, parts.seconds(self.root), *self.part)
        before = read(*self.path.parent.glob(f"{self.path.name.partition('.')[0]}*.jsonl"))
        passed = {name for name, result in before.items() if result["outcome"] == "passed"}

        def wanted(item: pytest.Item) -> bool:
            return str(item.path.relative_to(self.root)) in mine and item.nodeid not in passed

        config.hook.pytest_deselected(items=[item for item in items if not wanted(item)])
        items[:] = [item for item in items if wanted(item)]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a test's result when its teardown is over."""
        self.reports.append(report)
        if report.when == "teardown":
            append(self.path, result(self.reports))
            self.reports = []

    @pytest.hookimpl(wrapper=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> Iterator[None]:
        """A file that cannot be read is a failure too."""
        if report.failed:
            why = str(report.longrepr).strip().splitlines()[-1]
            append(self.path, {"test": report.nodeid, "outcome": "failed", "seconds": 0.0, "why": why})
        return (yield)


def result(reports: list[pytest.TestReport]) -> Result:
    """One test's result of the reports on its setup, call and teardown."""
    worst = max(reports, key=lambda report: ("passed", "skipped", "failed").index(report.outcome))
    crash = getattr(worst.longrepr, "reprcrash", None)
    why = (crash.message if crash else str(worst.longrepr or "")).strip().partition("\n")[0]
    seconds = round(sum(report.duration for report in reports), 1)
    return {"test": worst.nodeid, "outcome": worst.outcome, "seconds": seconds, "why": why}
