"""Guests of a real kernel for tests; lab/fixtures.py and tests/lab/clusters.py say what else there is."""

from collections.abc import Callable

import pytest
from minion import SWITCH, Host
from product import Product

from lab.guest.guests import Guest


@pytest.fixture
def host(cluster: Product, guest: Callable[..., Guest]) -> Host:
    """A guest that is a minion of the first cluster's master."""
    guest("uml1", cluster=cluster.session.name)
    minion = Host(cluster.session, "uml1")
    if minion.guest.run("ip netns exec sw true", check=False).code:
        minion.run(SWITCH)
    minion.salt("saltutil.sync_all")
    return minion
