"""Clusters on which the guide was typed, as fixtures: each is made once a session, whichever test asks first."""

import secrets
from collections.abc import Callable

import pytest
from interruption import FIRST, interrupted, replanned
from processes import ProcessWatch
from product import DEPLOY, PILLAR, Product, cluster_file

from lab.session import Session
from lab.store import CHECKOUT

SERVICES = CHECKOUT / "tests/fixtures/services"

# Third octet of the public network; the next one is the cluster network.
SUBNETS = {
    "first": 176,
    "torn": 178,
    "growing": 182,
    "leaving": 184,
    "block": 186,
    "held": 188,
    "spared": 190,
    "chaos": 194,
    "moving": 196,
    "moc": 198,
    "lost": 200,
    "apart": 202,
    "ratios": 204,
    "release": 206,
    "adopted": 208,
    "recovery": 212,
    "tutorial": 214,
    "paged": 216,
    "packed": 218,
    "six": 220,
    "newest": 222,
}


@pytest.fixture(scope="session")
def cluster(lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A deployed cluster: `tiny` with spare disks and a host without a role, the guide typed on its master.

    Its deploy was killed on every node (`notes["interrupted"]`) and typed again, so all tests stand on a cluster that
    went through that. What processes were started with was watched for the whole time (`notes["processes"]`).
    """
    path = cluster_file(tmp_path_factory.mktemp("first"), "first", SUBNETS["first"], spare=True)
    product = Product(lab(path))
    if product.run("saltmaster", f"test -e {PILLAR}/current", check=False).code == 0:
        return product  # kept from an earlier session, which typed the guide
    with ProcessWatch() as watch:
        product.guide(end=DEPLOY)
        product.notes["interrupted"] = interrupted(product, FIRST)
        replanned(product)
        product.guide(begin=DEPLOY)
    product.notes["processes"] = watch
    return product


@pytest.fixture(scope="session")
def served(cluster: Product) -> Product:
    """The same cluster with every service: who runs what, and with which settings, stands in tests/fixtures/services/.

    Tests that ask for it run after all others (conftest.py): no other meets a service.
    """
    if cluster.run("saltmaster", f"test -e {PILLAR}/keys/given/hook", check=False).code == 0:
        return cluster  # kept, with its services
    cluster.write(f"{PILLAR}/stack/ceph/cluster.yml", (SERVICES / "cluster.yml").read_text())
    given = f"mkdir -p {PILLAR}/keys/given; cd {PILLAR}/keys/given\n"
    cluster.run("saltmaster", given + (SERVICES / "given").read_text())
    cluster.run(
        "saltmaster", f"cat >>{PILLAR}/proposals/policy.cfg <<'EOF'\n{(SERVICES / 'policy.cfg').read_text()}EOF"
    )
    cluster.write(f"{PILLAR}/keys/given/hook", f"{secrets.token_hex(8)}\n")
    cluster.run("saltmaster", f"chmod -R go= {PILLAR}/keys/given")
    # All their pools of three copies are more than six OSDs may have by default, with those of a load.
    cluster.run("saltmaster", "ceph config set global mon_max_pg_per_osd 500")
    cluster.stage("ceph.stage.configure")
    cluster.answers["services"] = cluster.stage("ceph.stage.services", check=False)
    return cluster


@pytest.fixture(scope="module")
def apollo(own_lab: Callable[[str], Session]) -> Product:
    """The reference cluster's smaller sister, the guide typed to its end; gone after the file that asks for it."""
    product = Product(own_lab("apollo-slice"), "apollo-slice")
    product.guide()
    return product
