"""The package on a lab's master: installed, the guide typed with it, upgraded by a newer commit, taken away again.

The lab's own checkout is taken off the master before. Its minions keep what they have of it: they need no package.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from clusters import SUBNETS
from product import Product, cluster_file, until
from test_install import WHAT_IS_THERE
from test_packages import LIST, SOURCE, UPDATE, packages

from lab.session import Session

__all__ = ["packages"]  # a fixture
pytestmark = pytest.mark.big
STAGES = ("prep", "discovery", "configure", "deploy")
BARE = r"""
set -e
umount /srv/halocline && rmdir /srv/halocline
find /etc/salt /opt/salt/lib/python3.11/site-packages -lname '/srv/halocline/*' -delete
systemctl restart salt-master
"""
# The site's own folder is no package's: it stays.
LOOK = WHAT_IS_THERE.replace('apart="', 'apart="! -path /srv/pillar/ceph* ')
APT = "DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends"


@pytest.fixture(scope="module")
def product(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A lab whose master has Salt and nothing of Halocline."""
    made = Product(own_lab(cluster_file(tmp_path_factory.mktemp("packed"), "packed", SUBNETS["packed"])))
    made.run("saltmaster", BARE)
    made.run("saltmaster", "apt-get update -qq")
    made.run("saltmaster", f"{APT} -qq install dpkg-dev >/dev/null 2>&1")
    return made


def offered(product: Product, folder: Path) -> None:
    """A local source with these packages."""
    product.run("saltmaster", "rm -rf /pk; mkdir /pk")
    # `docker cp` would make the folder of the checkout's mount anew.
    put = f"docker exec -i halocline-{product.session.name}-saltmaster tar -C /pk -x"
    subprocess.run(f"tar -C '{folder}' -c . | {put}", shell=True, check=True)
    product.run("saltmaster", SOURCE.format(list=LIST, u=UPDATE.format(list=LIST)))


def restarted(product: Product) -> None:
    product.run("saltmaster", "systemctl restart salt-master")
    every = f"salt --static --out txt -t 10 '*' test.ping | grep -c True | grep -qx {len(product.session.hosts)}"
    until(lambda: product.run("saltmaster", every, check=False).code == 0, 180, "every minion answers")


def test_the_guide_with_the_package_which_is_upgraded_and_taken_away(
    product: Product, packages: tuple[Path, Path]
) -> None:
    look = product.run("saltmaster", LOOK).out
    assert "/etc/salt/master.d" in look and "/srv/halocline/" not in look
    offered(product, packages[0])
    assert "installed: /srv/halocline" in product.run("saltmaster", f"{APT} install halocline").out
    restarted(product)
    product.guide()
    until(product.healthy, 180, "HEALTH_OK")
    for stage in STAGES:  # discovery sees the OSDs that the guide made
        product.stage(f"ceph.stage.{stage}")
    offered(product, packages[1])
    product.run("saltmaster", f"{APT} upgrade halocline")
    assert product.run("saltmaster", "cat /srv/halocline/docs/new.txt").out == "new\n"
    restarted(product)
    for stage in STAGES:
        again = product.run("saltmaster", f"salt-run stage.run {stage}", limit=900)
        assert f"stage {stage}: done, nothing changed" in again.out, again
    product.run("saltmaster", f"{APT} remove halocline")
    assert product.run("saltmaster", LOOK).out == look
    assert product.healthy()
