"""What every tier of tests shares."""

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from salt._logging import shutdown_temp_handler

pytest_plugins = ["lab.fixtures", "clusters", "busy"]  # labs, guests, clusters on labs, and load on those
CHECKOUT = Path(__file__).parent.parent
QUICK = (CHECKOUT / "tests/unit", CHECKOUT / "tests/functional")
MEMORY = Path("/dev/shm")  # Linux's own tmpfs
ROOM = 2 << 30  # bytes, far more than those tests write; in a container there may be 64 MiB
# No test judges by a clock, of which a busy machine has its own.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The checkout under test."""
    return CHECKOUT


@pytest.fixture(scope="session")
def salt_factories_config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict]:
    """Where pytest-salt-factories keeps its masters and minions; their processes, and theirs, import this checkout."""
    apart = dict.fromkeys(("coverage_db_path", "coverage_rc_path"))  # else it measures coverage, of itself
    root = tmp_path_factory.mktemp("salt")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", str(CHECKOUT))
        yield {"root_dir": root, "code_dir": CHECKOUT, "inject_sitecustomize": False, **apart}


def pytest_addoption(parser: pytest.Parser) -> None:
    explained = "the lab's own tests: where it changed, or always"
    parser.addoption("--rig", choices=("changed", "always"), default="changed", help=explained)


def pytest_configure(config: pytest.Config) -> None:
    _write_to_memory(config)
    config.addinivalue_line(
        "markers", "processes: starts real salt-run processes; part of `make test`, not of each run"
    )
    config.addinivalue_line("markers", "slow: a twentieth of a processor's second, or a wait; part of `make test`")
    config.addinivalue_line("markers", "big: long, or on a larger cluster than `tiny`; in `make test-all` alone")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """How many processes: all processors for folders of quick tests, none beside pytest itself for a file or a lab."""
    asked = {Path(word.partition("::")[0]).resolve() for word in config.args}
    return (os.cpu_count() or 1) if asked <= set(QUICK) else 0


def pytest_collection_finish() -> None:
    """Look for cycles seldom, never among what is loaded by now: a sixth of the time of quick tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_unconfigure() -> None:
    """Drop what Salt keeps until its logging is set up, which it never is here: it would print it at the very end."""
    shutdown_temp_handler()


def _write_to_memory(config: pytest.Config) -> None:
    """Quick tests write into memory where there is room: interrupted at each step, they wait for a disk most of all."""
    paths = [Path(word.partition("::")[0]).resolve() for word in config.args]
    quick = all(any(path.is_relative_to(tier) for tier in QUICK) for path in paths)
    if quick and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
