"""Running labs for tests; lab/fixtures.py and clusters.py say what there is."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What asks for services comes last, whole files: they stand on the first cluster, and stay there."""
    served = {item.path for item in items if "served" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: item.path in served)
