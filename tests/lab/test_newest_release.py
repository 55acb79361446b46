"""A new cluster of the newest release that a distribution has: Ceph 20.2 of Debian's next one.

Its monitors take no keys but those of AES-256 (CVE-2025-30156), and form no quorum with those of Ceph 16.
"""

from collections.abc import Callable

import next_debian
import pytest
from clusters import SUBNETS
from product import PILLAR, STORAGE, Product, cluster_file, nothing_changed, until
from saltcli import salt_run

from lab.session import Session

pytestmark = pytest.mark.big
POLICY = """role-mds/cluster/node*.sls
role-client-cephfs/cluster/client1.sls
role-rgw/cluster/node[12].sls
role-ganesha/cluster/node[12].sls
"""
SITE = """small_site: true
cephfs: {cephfs: {}}
nfs_exports: {/cephfs: {file_system: cephfs}, /alice: {user: alice}}
rgw_users: {alice: {}}
"""
# What the image has of Ceph, by newer packages of the same names.
CEPH = rf"""
set -e
echo '{next_debian.SOURCE}' >{next_debian.FILE}
apt-get -qq update
kept=$(dpkg-query --show --showformat '${{Package}} ${{source:Package}}\n' | awk '$2 == "ceph" {{print $1}}')
DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends --only-upgrade $kept >/dev/null
systemctl daemon-reload
"""


@pytest.fixture(scope="module")
def newest(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """Hosts with that release, the guide typed on their master."""
    product = Product(own_lab(cluster_file(tmp_path_factory.mktemp("newest"), "newest", SUBNETS["newest"], spare=True)))
    next_debian.ready(product)
    next_debian.on_all(product, CEPH)
    product.guide()
    return product


def test_the_cluster_is_whole_and_of_that_release(newest: Product) -> None:
    until(newest.whole, 120, "HEALTH_OK, 3 monitors, 6 OSDs up and in, PGs active+clean")
    assert {text.split()[2].partition(".")[0] for text in newest.ceph("versions")["overall"]} == {"20"}
    assert newest.ceph("mon dump")["min_mon_release_name"] == "tentacle"


def test_every_key_is_of_aes_256_and_no_other_is_let_in(newest: Product) -> None:
    assert [each["name"] for each in newest.ceph("mon dump")["auth_allowed_ciphers"]] == ["aes256k"]
    keys = {each["entity"]: each["key"] for each in newest.ceph("auth ls")["auth_dump"]}
    assert len([entity for entity in keys if entity.startswith("osd.")]) == 6
    assert [entity for entity, key in keys.items() if not key.startswith("Ag")] == []


@pytest.mark.parametrize(
    "stage", ["ceph.stage.prep", "ceph.stage.discovery", "ceph.stage.configure", "ceph.stage.deploy"]
)
def test_a_second_run_changes_nothing(newest: Product, stage: str) -> None:
    if stage == "ceph.stage.discovery":
        newest.stage(stage)  # it sees the OSDs on the disks
    nothing_changed(newest, stage)


def test_keys_are_rotated_and_data_is_written_and_read(newest: Product) -> None:
    for name in ("client.admin", f"mgr.{STORAGE[0]}", "osd.0"):
        newest.run("saltmaster", f"salt-run secret.rotate {name}")
        newest.stage("ceph.stage.configure")
        newest.stage("ceph.stage.deploy")
    until(newest.whole, 120, "HEALTH_OK with fresh keys")
    assert all(each["key"].startswith("Ag") for each in newest.ceph("auth ls")["auth_dump"])
    told = salt_run(newest.session, "pool.quick_test", "seconds=5").data
    assert int(told["write"]["total_writes_made"]) > 0 and int(told["seq"]["total_reads_made"]) > 0


def test_file_systems_gateways_and_nfs_serve_by_such_keys(newest: Product) -> None:
    """Debian's unit of gateways names an alias that no instance may have: it is enabled, and systemctl says no once."""
    newest.write(f"{PILLAR}/stack/ceph/cluster.yml", SITE)
    newest.run("saltmaster", f"cat >>{PILLAR}/proposals/policy.cfg <<'EOF'\n{POLICY}EOF")
    newest.run("saltmaster", "ceph config set global mon_max_pg_per_osd 500")
    newest.stage("ceph.stage.configure")
    newest.stage("ceph.stage.services", check=False)
    newest.stage("ceph.stage.services")
    nothing_changed(newest, "ceph.stage.services")
    done = newest.run("saltmaster", "salt-run smoke.test cephfs s3 nfs", check=False)
    assert done.code == 0 and "passed: cephfs, s3, nfs" in done.out, done.out
