"""Rounds of chaos on a cluster of its own, with a file system: whatever breaks in a stage, all is whole again."""

from collections.abc import Callable

import pytest
from clusters import SUBNETS
from product import PILLAR, Product, cluster_file, until

from lab.fixtures import lab_command
from lab.session import Session

pytestmark = pytest.mark.big
SEED, ROUNDS = "1", "10"


@pytest.fixture(scope="module")
def shaken(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A cluster like `tiny` with metadata servers on its three nodes, and `client1`, on which the load runs."""
    file = cluster_file(tmp_path_factory.mktemp("chaos"), "chaos", SUBNETS["chaos"], spare=True)
    product = Product(own_lab(file))
    product.guide()
    product.run("saltmaster", f"echo 'role-mds/cluster/node*.sls' >>{PILLAR}/proposals/policy.cfg")
    for stage in ("configure", "services"):
        product.stage(f"ceph.stage.{stage}")
    until(product.healthy, 120, "HEALTH_OK with a file system")
    return product


def test_whatever_breaks_while_a_stage_runs_all_is_whole_again(shaken: Product) -> None:
    name = shaken.session.name
    done = lab_command("chaos", "--cluster", name, "--seed", SEED, "--rounds", ROUNDS)
    print(done.stderr, done.stdout)
    assert done.returncode == 0, done.stdout
