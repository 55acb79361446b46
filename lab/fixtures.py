"""pytest fixtures of the lab, a plugin: `pytest_plugins = ["lab.fixtures"]` in a conftest.py takes them.

lab(CLUSTER)   a running lab, brought up once a session, one for each cluster file
own_lab(...)   the same for a lab that one module alone uses: down again after its last test
tiny           lab("tiny")
guest(NAME)    a guest of a real kernel, with disks and, where asked, as a minion of a lab, down again after the module
HALOCLINE_LAB_KEEP=1 uses labs and guests that run already and leaves them running: quicker while one works.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.guest import guests
from lab.guest.guests import Guest
from lab.session import Session
from lab.store import CHECKOUT, labs

KEEP = os.environ.get("HALOCLINE_LAB_KEEP") == "1"
STARTED: dict[str, Session] = {}  # of the whole session, whichever folders' tests ask
BOOTED: dict[str, Guest] = {}
SAME_NETWORKS = {"apollo", "apollo-slice"}  # both have the reference's addresses: one of them at a time


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
            for other in SAME_NETWORKS & STARTED.keys() if name in SAME_NETWORKS else ():
                down(other)
            if not KEEP and ours(name):
                lab_command("down", name)
            done = lab_command("up", which)
            assert done.returncode == 0, done.stderr
            STARTED[name] = Session(name)
        return STARTED[name]

    yield bring
    for name in list(STARTED):
        down(name)


def ours(name: str) -> bool:
    """Whether a lab may be made anew: `up` refuses that of another checkout, which somebody may work with."""
    return all(each.ours or not Path(each.checkout).is_dir() for each in labs() if each.name == name)


def down(name: str) -> None:
    """Take down a lab that was brought up for tests."""
    if STARTED.pop(name, None) and not KEEP:
        lab_command("down", name)


@pytest.fixture(scope="module")
def own_lab(lab: Callable[[str], Session]) -> Iterator[Callable[[str], Session]]:
    """As `lab`. What idles beside other tests costs them processors and memory: 1 % of one and 70 MiB a minion."""
    used: list[Session] = []

    def bring(which: str) -> Session:
        used.append(lab(which))
        return used[-1]

    yield bring
    for session in used:
        down(session.name)


@pytest.fixture(scope="session")
def tiny(lab: Callable[[str], Session]) -> Session:
    """The lab `tiny`: saltmaster and node1 to node3, two hard disks and an SSD each."""
    return lab("tiny")


@pytest.fixture(scope="module")
def guest() -> Iterator[Callable[..., Guest]]:
    """A function that boots a guest, once: guest(NAME, disks=("1T",), cluster=None, memory=1024) -> Guest."""

    def bring(name: str, disks: tuple[str, ...] = (), cluster: str | None = None, memory: int = 1024) -> Guest:
        if name not in BOOTED:
            words = [*(["--cluster", cluster] if cluster else []), "--memory", str(memory)]
            words += [word for disk in disks for word in ("--disk", disk)]
            if not KEEP:
                lab_command("kernel", "down", name)
            done = lab_command("kernel", "up", name, *words)
            assert done.returncode == 0, done.stderr
            BOOTED[name] = guests.find(name)
        return BOOTED[name]

    yield bring
    while BOOTED:
        name, _ = BOOTED.popitem()
        if not KEEP:
            lab_command("kernel", "down", name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where a test failed, put what labs and guests know beside the report and say where it is."""
    report = yield
    if report.failed and (STARTED or BOOTED):
        collect(item, report)
    return report


def collect(item: pytest.Item, report: pytest.TestReport) -> None:
    """Write the logs of every lab and guest into a folder of this test's own."""
    chosen = item.config.getoption("xmlpath", None)
    beside = Path(chosen).parent if chosen else item.config.rootpath / "build"
    folder = beside / "lab-failures" / item.name.replace("/", "_") / report.when
    for name, session in STARTED.items():
        try:
            session.collect(folder / name)
        except LabError as err:  # a host is down, or the lab was taken away meanwhile
            report.sections.append(("lab", f"{name}: not all logs: {err}"))
    for name, booted in BOOTED.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "console.txt").write_text(booted.console())
        if booted.alive:
            said = booted.run("journalctl -b --no-pager -n 1000; systemctl --failed", check=False).out
            (folder / name / "journal.txt").write_text(said)
    report.sections.append(("lab", f"logs of every host: {folder}"))
