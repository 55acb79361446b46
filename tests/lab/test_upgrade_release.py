"""From one release to another but one, twice: Ceph 16.2 of Debian 12 to 18.2 of Debian 13, and to 20.2 of its next one.

Both have each of Debian 12's packages of Ceph by the same name; they bring their C library and Python along.
"""

import json
from collections.abc import Callable
from typing import Any

import next_debian
import pytest
from busy import until_seen
from clusters import SUBNETS
from product import PILLAR, STORAGE, Product, cluster_file, until

from lab.session import Session

pytestmark = pytest.mark.big
UPGRADE = "ceph.stage.upgrade"
SOURCE = "deb http://deb.debian.org/debian trixie main"
CANDIDATE = f"""
echo '{SOURCE}' >{next_debian.FILE}; apt-get -qq update >&2
apt-cache policy ceph-common | sed -n 's/.*Candidate: //p'
rm {next_debian.FILE}; apt-get -qq update >&2
"""


@pytest.fixture(scope="module")
def old(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A cluster of Debian 12's release, on hosts that reach Debian 13's packages."""
    folder = tmp_path_factory.mktemp("release")
    product = Product(own_lab(cluster_file(folder, "release", SUBNETS["release"], spare=True)))
    found = product.run("saltmaster", CANDIDATE, check=False).out.strip()
    assert found.startswith("18."), f"hosts of the lab see ceph-common {found or 'nowhere'} in Debian 13, not 18"
    next_debian.ready(product)
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


def upgraded(product: Product, load: Callable[..., Any], source: str) -> None:
    """The source by prep, then the stage, under load."""
    before = releases(product)
    pillar = {"ceph_repos": {"next": {"name": source, "file": next_debian.FILE}}}
    product.write(f"{PILLAR}/site.sls", f"{json.dumps(pillar)}\n")
    product.stage("ceph.stage.prep")
    assert releases(product) == before, "prep installs none of Ceph's newer packages"
    planned = product.run("saltmaster", "salt-run stage.plan upgrade").out
    assert "mon: node1 alone at first, then node2, node3: 3 daemons" in planned, planned
    with load(product, until_seen(product), least=100) as busy, busy.fault():
        done = product.run("saltmaster", f"salt-run state.orch {UPGRADE} --out json", check=False, limit=3600)
        assert done.code == 0, done.out
    assert "halocline" not in product.run("saltmaster", "ceph config-key ls").out


def test_a_cluster_comes_to_the_release_after_the_next(old: Product, load: Callable[..., Any]) -> None:
    """The OSD map requires the new release, and there is no way back."""
    assert (releases(old), old.ceph("osd dump")["require_osd_release"]) == ({"16"}, "pacific")
    upgraded(old, load, SOURCE)
    assert (releases(old), old.ceph("osd dump")["require_osd_release"]) == ({"18"}, "reef")
    until(lambda: whole(old), 300, "HEALTH_OK on the new release")
    assert "nothing changed" in old.stage(UPGRADE).out


def test_and_to_the_one_that_calls_its_keys_insecure(old: Product, load: Callable[..., Any]) -> None:
    """HEALTH_ERR for all keys that there are (CVE-2025-30156) holds nothing back; rotated, they are of AES-256."""
    upgraded(old, load, next_debian.SOURCE)
    assert (releases(old), old.ceph("osd dump")["require_osd_release"]) == ({"20"}, "tentacle")
    assert old.ceph("status")["health"]["status"] == "HEALTH_ERR"
    shown = old.run("saltmaster", "salt-run health.show", check=False)
    assert shown.code == 0 and "AUTH_INSECURE_SERVICE_KEY_TYPE" in shown.out, shown.out
    assert "nothing changed" in old.stage(UPGRADE).out
    old.stage("ceph.stage.discovery")
    for name in ("client.admin", "client.bootstrap-osd", "client.crash", *(f"mgr.{host}" for host in STORAGE)):
        old.run("saltmaster", f"salt-run secret.rotate {name}")
    for stage in ("ceph.stage.configure", "ceph.stage.deploy", "ceph.stage.restart"):
        old.stage(stage)
    rotated = old.run("saltmaster", "salt-run secret.rotate 'osd.*'", limit=1200).out
    assert "6 OSDs got a fresh key" in rotated, rotated
    left = {each["entity"] for each in old.ceph("auth ls")["auth_dump"] if not each["key"].startswith("Ag")}
    assert {entity for entity in left if not entity.startswith("client.bootstrap-")} == set()
    print(old.run("saltmaster", "ceph mon dump; ceph health detail").out)
