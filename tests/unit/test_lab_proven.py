"""The lab's own tests: they run again where one byte of the lab changed, and only a whole good run is remembered."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RECORD = "tests/rig/proven.json"
PASSING, FAILING = "def test_it(): assert 1\n", "def test_it(): assert 0\n"


@pytest.fixture
def copy(checkout: Path, tmp_path: Path) -> Path:
    """A checkout whose lab has two tests of its own, which pass."""
    for folder in ("lab", "tests/lab", "tests/rig"):
        shutil.copytree(checkout / folder, tmp_path / folder)  # compiled files too: pytest starts sooner
    for name in ("setup.cfg", "tests/conftest.py"):
        shutil.copy(checkout / name, tmp_path / name)
    for path in (*(tmp_path / "tests/rig").glob("test_*.py"), tmp_path / RECORD):
        path.unlink(missing_ok=True)
    for name in ("test_one.py", "test_two.py"):
        (tmp_path / "tests/rig" / name).write_text(PASSING)
    return tmp_path


def answer(copy: Path, *words: str) -> str:
    """What pytest says of the lab's own tests."""
    argv = [sys.executable, "-m", "pytest", "-p", "xdist.plugin", "-p", "no:cacheprovider", *(words or ["tests/rig"])]
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # quicker: only what the checkout names itself
    return subprocess.run(argv, cwd=copy, env=alone, capture_output=True, text=True, check=False).stdout


@pytest.mark.slow
def test_one_byte_more_in_the_lab_and_its_tests_run_again(copy: Path) -> None:
    first = answer(copy)
    assert "the lab's own tests run: they have never passed here" in first and "2 passed" in first
    assert json.loads((copy / RECORD).read_text())["tests"] == 2
    same = answer(copy)
    assert "the lab's own tests do not run: the lab, its tests and the pins are as they were" in same
    assert "2 deselected" in same and "passed in" not in same
    record = (copy / RECORD).read_text()
    with (copy / "lab/image/Dockerfile").open("a") as file:
        file.write("\n")
    part = answer(copy, "tests/rig", "-k", "one")
    assert "the lab's own tests run: the lab, its tests or the pins changed since 2 of them passed on" in part
    assert "1 passed, 1 deselected" in part
    (copy / "tests/rig/test_two.py").write_text(FAILING)
    assert "1 failed, 1 passed" in answer(copy)
    assert (copy / RECORD).read_text() == record, "only a whole good run is remembered"
