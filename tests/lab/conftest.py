"""Running labs for tests, one for each cluster file, kept for the whole session.

HALOCLINE_LAB_KEEP=1 uses a lab that this checkout already runs and leaves it running: quicker while one works.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.session import Session
from lab.store import CHECKOUT

KEEP = os.environ.get("HALOCLINE_LAB_KEEP") == "1"
STARTED: dict[str, Session] = {}


def lab_command(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m lab` as a user would."""
    argv = [sys.executable, "-m", "lab", *words]
    return subprocess.run(argv, cwd=CHECKOUT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def lab() -> Iterator[Callable[[str], Session]]:
    """A function that brings up the lab of a cluster file (shipped name or path), once, and returns its Session."""

    def bring(which: str) -> Session:
        name = Path(which).stem
        if name not in STARTED:
            if not KEEP:
                lab_command("down", name)
            done = lab_command("up", which)
            assert done.returncode == 0, done.stderr
            STARTED[name] = Session(name)
        return STARTED[name]

    yield bring
    for name in [] if KEEP else list(STARTED):
        lab_command("down", name)


@pytest.fixture(scope="session")
def tiny(lab: Callable[[str], Session]) -> Session:
    """The lab `tiny`: saltmaster and node1 to node3, two hard disks and an SSD each."""
    return lab("tiny")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Where a test failed, put what the labs know beside the report and say where it is."""
    report = (yield).get_result()
    if not report.failed or not STARTED:
        return
    chosen = item.config.getoption("xmlpath", None)
    beside = Path(chosen).parent if chosen else item.config.rootpath / "build"
    folder = beside / "lab-failures" / item.name.replace("/", "_") / report.when
    for name, session in STARTED.items():
        session.collect(folder / name)
    report.sections.append(("lab", f"logs of every host: {folder}"))
