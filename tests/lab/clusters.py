"""Clusters on which the guide was typed, as fixtures: each is made once a session, whichever test asks first."""

import secrets
from collections.abc import Callable

import pytest
from processes import ProcessWatch
from product import PILLAR, Product, cluster_file

from lab.session import Session
from lab.store import CHECKOUT

SERVICES = CHECKOUT / "tests/fixtures/services"

# Third octet of the public network; the next one is the cluster network.
SUBNETS = {"first": 176, "torn": 178, "growing": 182, "served": 184, "block": 186}


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


@pytest.fixture(scope="session")
def served(lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A cluster like `tiny` with `client1` beside it, on which every service came up: who runs what, and with which
    settings, stands in tests/fixtures/services/.
    """
    path = cluster_file(tmp_path_factory.mktemp("served"), "served", SUBNETS["served"], spare=True)
    product = Product(lab(path))
    product.guide()
    product.write(f"{PILLAR}/stack/ceph/cluster.yml", (SERVICES / "cluster.yml").read_text())
    given = f"mkdir -p {PILLAR}/keys/given; cd {PILLAR}/keys/given\n"
    product.run("saltmaster", given + (SERVICES / "given").read_text())
    product.run(
        "saltmaster", f"cat >>{PILLAR}/proposals/policy.cfg <<'EOF'\n{(SERVICES / 'policy.cfg').read_text()}EOF"
    )
    product.notes["hook"] = secrets.token_hex(8)
    product.write(f"{PILLAR}/keys/given/hook", f"{product.notes['hook']}\n")
    product.run("saltmaster", f"chmod -R go= {PILLAR}/keys/given")
    product.stage("ceph.stage.configure")
    product.answers["services"] = product.stage("ceph.stage.services", check=False)
    return product
