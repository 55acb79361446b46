"""From one release to another but one: Ceph 16.2 of Debian 12 to 18.2 of Debian 13, under load.

Debian 13 has each of Debian 12's packages of Ceph by the same name; they bring its C library and Python along. Salt
runs from a folder of its own here, by Debian 12's Python, which stays installed and is named to it before.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from busy import until_seen
from clusters import SUBNETS
from product import PILLAR, STORAGE, Product, cluster_file, until

from lab.session import Session

pytestmark = pytest.mark.big
UPGRADE = "ceph.stage.upgrade"
SOURCE = "deb http://deb.debian.org/debian trixie main"
FILE = "/etc/apt/sources.list.d/next.list"
CANDIDATE = f"""
echo '{SOURCE}' >{FILE} && apt-get -qq update >&2; apt-cache policy ceph-common | sed -n 's/.*Candidate: //p'
rm {FILE}; apt-get -qq update >&2
"""
PYTHON = "ln -sf /usr/bin/python3.11 /opt/salt/bin/python3 && /opt/salt/bin/python3 -c 'import salt'"


@pytest.fixture(scope="module")
def old(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A cluster of Debian 12's release, on hosts that reach Debian 13's packages."""
    folder = tmp_path_factory.mktemp("release")
    product = Product(own_lab(cluster_file(folder, "release", SUBNETS["release"], spare=True)))
    found = product.run("saltmaster", CANDIDATE, check=False).out.strip()
    assert found.startswith("18."), f"hosts of the lab see ceph-common {found or 'nowhere'} in Debian 13, not 18"
    for host in product.session.hosts:
        product.run(host, PYTHON)
    product.guide()
    until(product.whole, 240, "HEALTH_OK")
    return product


def releases(product: Product) -> set[str]:
    """What runs, by Ceph's own word: each version's first number."""
    return {text.split()[2].partition(".")[0] for text in product.ceph("versions")["overall"]}


def whole(product: Product) -> bool:
    """Managers of 18.2 report a crash of each module that they cannot load as a base class at their start; those of
    16.2 only logged it (`NOTIFY_TYPES`).
    """
    product.run("saltmaster", "ceph crash archive-all")
    return product.whole(monitors=STORAGE)


def test_a_cluster_comes_to_the_release_after_the_next(old: Product, load: Callable[..., Any]) -> None:
    """Sources by prep, then the stage; the OSD map requires the new release, and there is no way back."""
    assert (releases(old), old.ceph("osd dump")["require_osd_release"]) == ({"16"}, "pacific")
    pillar = {"ceph_repos": {"next": {"name": SOURCE, "file": FILE}}}
    old.write(f"{PILLAR}/site.sls", f"{json.dumps(pillar)}\n")
    old.stage("ceph.stage.prep")
    assert releases(old) == {"16"}, "prep installs none of Ceph's newer packages"
    planned = old.run("saltmaster", "salt-run stage.plan upgrade").out
    assert "mon: node1 alone at first, then node2, node3: 3 daemons" in planned, planned
    with load(old, until_seen(old), least=100) as busy, busy.fault():
        done = old.run("saltmaster", f"salt-run state.orch {UPGRADE} --out json", check=False, limit=3600)
        assert done.code == 0, done.out
    assert releases(old) == {"18"}
    assert old.ceph("osd dump")["require_osd_release"] == "reef"
    assert "halocline" not in old.run("saltmaster", "ceph config-key ls").out
    until(lambda: whole(old), 300, "HEALTH_OK on the new release")
    assert "nothing changed" in old.stage(UPGRADE).out
