"""Clusters on which the guide was typed, as fixtures: each is made once a session, whichever test asks first."""

from collections.abc import Callable

import pytest
from processes import ProcessWatch
from product import Product, cluster_file

from lab.session import Session

# Third octet of the public network; the next one is the cluster network.
SUBNETS = {"first": 176, "torn": 178, "growing": 182}


@pytest.fixture(scope="session")
def cluster(lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A deployed cluster: `tiny` with a spare disk a node and a host without a role, the guide typed on its master.

    What its processes were started with was watched for the whole time (`notes["processes"]`).
    """
    path = cluster_file(tmp_path_factory.mktemp("first"), "first", SUBNETS["first"], spare=True)
    product = Product(lab(path))
    with ProcessWatch() as watch:
        product.guide()
    product.notes["processes"] = watch
    return product


@pytest.fixture(scope="session")
def torn(lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A cluster like `tiny`, the guide typed up to deploy."""
    product = Product(lab(cluster_file(tmp_path_factory.mktemp("torn"), "torn", SUBNETS["torn"])))
    product.guide(until="deploy")
    return product
