"""What every tier of tests shares."""

from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The checkout under test."""
    return CHECKOUT


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "processes: starts real salt-run processes; part of `make test`, not of each run"
    )
    config.addinivalue_line("markers", "big: long, or on a larger cluster than `tiny`; in `make test-all` alone")
