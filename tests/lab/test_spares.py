"""A disk that is kept back: planned for nobody, offered when an OSD is given up, and then its OSD's."""

import json
from collections.abc import Callable

import pytest
from busy import until_seen
from clusters import SUBNETS
from product import Product, cluster_file, planned, until
from test_replace import disks_of, grow, pull, safe
from test_settings import OWN, written

from lab.session import Session

pytestmark = pytest.mark.big


@pytest.fixture(scope="module")
def spared(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A cluster like `tiny`, made while one of node2's hard disks was pulled."""
    product = Product(own_lab(cluster_file(tmp_path_factory.mktemp("spared"), "spared", SUBNETS["spared"])))
    product.session.verb("pull", "node2", "1")
    product.guide()
    return product


def serials(product: Product) -> set[str]:
    listed = json.loads(product.run("node2", "lsblk -J -d -o NAME,SERIAL").out)["blockdevices"]
    return {disk["serial"] for disk in listed if disk["serial"]}


def uuids(product: Product) -> dict[str, set[str]]:
    """The fsids of each host's planned OSDs."""
    return {host: set(osds) for host, osds in planned(product).items()}


def test_a_spare_takes_a_dead_disks_place(spared: Product, load: Callable) -> None:
    until(lambda: spared.whole(5), 120, "HEALTH_OK")
    known, before = uuids(spared), serials(spared)
    spared.session.verb("plug", "node2", "1", "--new")
    until(lambda: len(serials(spared) - before) == 1, 30, "the new disk is seen")
    (serial,) = serials(spared) - before
    (osd_id,) = next(node["children"] for node in spared.ceph("osd tree")["nodes"] if node["name"] == "node2")
    with load(spared, until_seen(spared), least=50) as busy:
        with written(spared, OWN, f"hot_spares: {{'node*': ['{serial}']}}\n"):
            grow(spared)
            assert uuids(spared) == known and len(spared.ceph("osd ls")) == 5
            told = spared.run("saltmaster", f"salt-run proposal.explain node2 {serial} name=tiny").out
            assert "reserved: hot spare" in told
            old = disks_of(spared, "node2", osd_id)
            with busy.fault():
                pull(spared, "node2", osd_id, old["data"]["serial"])
                spared.run("saltmaster", f"ceph osd out {osd_id}; ceph config set global osd_pool_default_size 2")
                spared.run("saltmaster", "for pool in $(ceph osd pool ls); do ceph osd pool set $pool size 2; done")
                until(lambda: safe(spared, osd_id), 300, f"osd.{osd_id} is safe to destroy")
                told = spared.run("saltmaster", f"salt-run osd.replace {osd_id}").out
                assert "or use a hot spare of node2: take it out of hot_spares" in told and serial in told
        grow(spared)
        spared.run("saltmaster", "for pool in $(ceph osd pool ls); do ceph osd pool set $pool size 3; done")
        until(lambda: spared.whole(5), 600, "HEALTH_OK on the spare")
    now = disks_of(spared, "node2", osd_id)
    assert now["data"]["serial"] == serial
    assert {role: now[role] for role in ("db", "wal")} == {role: old[role] for role in ("db", "wal")}
