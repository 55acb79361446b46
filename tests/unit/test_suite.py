"""`make test-all`: shares of the tests, results that outlive a run, and the report."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suite import parts, record, report

FILES = [f"tests/lab/test_{letter}.py" for letter in "abcdefghij"]
TESTS = """
import pytest
def test_good(): pass
def test_bad(): assert {bad}, "of the test's own"
@pytest.mark.skip(reason="not here")
def test_left_out(): pass
"""


@pytest.mark.parametrize("count", [1, 3, 4, 12])
def test_every_file_is_in_one_part_and_the_long_ones_are_apart(count: int) -> None:
    known = {FILES[0]: 600.0, FILES[1]: 500.0, FILES[2]: 400.0}
    shares = [parts.share(FILES, known, part, count) for part in range(1, count + 1)]
    assert sorted(file for mine in shares for file in mine) == FILES
    if count >= len(known):
        assert max(len(mine & known.keys()) for mine in shares) == 1
    assert shares == [parts.share(FILES[::-1], known, part, count) for part in range(1, count + 1)]


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "a/b", "1/0"])
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="2/4, the second of four"):
        parts.parse(text)


def run(folder: Path, checkout: Path, *words: str) -> dict[str, record.Result]:
    """The results after one more run of the tests in a folder."""
    path = folder / "build/abc.1-of-1.jsonl"
    options = ["-c", os.devnull, "--rootdir", str(folder), "-p", "tests.suite.record", f"--record={path}", *words]
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(checkout)}
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(folder)]
    subprocess.run(argv, cwd=folder, env=alone, capture_output=True, check=False)
    return record.read(path)


@pytest.mark.slow
def test_a_run_goes_on_and_the_next_runs_what_has_not_passed(tmp_path: Path, checkout: Path) -> None:
    (tmp_path / "test_first.py").write_text(TESTS.format(bad=0))
    (tmp_path / "test_torn.py").write_text("import nothing_of_that_name\n")
    results = run(tmp_path, checkout, "--continue-on-collection-errors")
    assert {name: result["outcome"] for name, result in results.items()} == {
        "test_torn.py": "failed",
        "test_first.py::test_good": "passed",
        "test_first.py::test_bad": "failed",
        "test_first.py::test_left_out": "skipped",
    }
    assert results["test_first.py::test_bad"]["why"] == "AssertionError: of the test's own"
    assert "nothing_of_that_name" in results["test_torn.py"]["why"]
    shown = report.text("abc", results)
    assert shown.startswith("commit abc: 1 passed, 2 failed, 1 skipped")
    assert "FAILED test_first.py::test_bad\n       AssertionError: of the test's own" in shown

    with (tmp_path / "build/abc.1-of-1.jsonl").open("a") as file:
        file.write('\n{"test": "cut off by a ki')
    (tmp_path / "test_first.py").write_text(TESTS.format(bad=1))
    (tmp_path / "test_torn.py").unlink()
    again = run(tmp_path, checkout)
    assert again["test_first.py::test_bad"]["outcome"] == "passed"
    lines = (tmp_path / "build/abc.1-of-1.jsonl").read_text().splitlines()
    assert sum("test_good" in line for line in lines) == 1, "what passed did not run again"


def test_the_report_is_for_programs_too(tmp_path: Path) -> None:
    result = {"test": "a.py::test", "outcome": "passed", "seconds": 90.0, "why": ""}
    report.write(tmp_path, "abc", {result["test"]: result})
    assert json.loads((tmp_path / "report.json").read_text())["files"] == {
        "a.py": {"passed": 1, "failed": 0, "skipped": 0, "seconds": 90.0}
    }
    assert (tmp_path / "report.txt").read_text() == "commit abc: 1 passed, 1.5 min\n\na.py  1 passed, 1.5 min\n"
