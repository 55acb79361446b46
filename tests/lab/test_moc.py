"""As the hosts of `moc`, whose journals an SSD took over: OSDs on slow disks get a DB on SSDs that come later.

Disks are throttled so low that they are the limit, not processors, and the throttle is proven first; the ratio is
printed beside the paper's and says nothing of hardware.
"""

import json
from collections.abc import Callable

import pytest
from clusters import SUBNETS
from product import DEPLOY, STORAGE, Product, cluster_file, planned, until
from throttle import BUSY, benched, proven, throttled

from lab.session import Session

pytestmark = pytest.mark.big
ALONE = "salt-run proposal.populate name=tiny target='node*' data=900- standalone=true"
SSD = "salt-run proposal.populate name=tiny target='node*' data=900- ratio=2 db=180-200 db-size=20g migrate=true"
POOL = "moc"
SLOW, FAST = 40, 160  # writes a second of a hard disk and of an SSD
PAPER = {"ceph-lenovo01 (M5110)": (8.63, 14.60), "ceph-lenovo10 (N2215 HBA)": (7.26, 8.98)}  # MB/s of 4 KB writes


def disks(product: Product, host: str, rotates: bool) -> dict[str, str]:
    """Serial number and node of a host's hard disks, or of its SSDs."""
    listed = json.loads(product.run(host, "lsblk -J -d -o PATH,SERIAL,ROTA").out)["blockdevices"]
    return {disk["serial"]: disk["path"] for disk in listed if disk["serial"] and bool(disk["rota"]) is rotates}


def paced(product: Product, rotates: bool, iops: int) -> None:
    for host in STORAGE:
        for node in disks(product, host, rotates).values():
            throttled(product, host, node, iops)


def measured(product: Product) -> tuple[float, float]:
    """A bench on throttled disks; they are as fast as before afterwards."""
    paced(product, True, SLOW)
    paced(product, False, FAST)
    try:
        return benched(product, POOL)
    finally:
        paced(product, True, 0)
        paced(product, False, 0)


@pytest.fixture(scope="module")
def moc(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """Three hosts with two hard disks each, whose SSDs are not there yet; every throttle is proven on clean disks."""
    product = Product(own_lab(cluster_file(tmp_path_factory.mktemp("moc"), "moc", SUBNETS["moc"])))
    for host in STORAGE:
        for rotates, iops in ((True, SLOW), (False, FAST)):
            for node in disks(product, host, rotates).values():
                throttled(product, host, node, iops)
                print(f"{host} {node}: set to {iops}, fio writes {proven(product, host, node, iops):.0f} a second")
                throttled(product, host, node, 0)
    product.guide(end=DEPLOY)
    for host in STORAGE:
        product.notes[host] = sorted(disks(product, host, rotates=False))
        for serial in product.notes[host]:
            product.session.verb("pull", host, serial)
    product.stage("ceph.stage.discovery")
    product.run("saltmaster", ALONE)
    product.stage("ceph.stage.configure")
    product.guide(begin=DEPLOY)
    product.run("saltmaster", f"ceph osd pool create {POOL} 32 32; ceph osd pool application enable {POOL} bench")
    until(product.whole, 120, "HEALTH_OK")
    return product


def test_slow_disks_get_their_dbs_on_ssds_that_come_later(moc: Product) -> None:
    assert {osd["bluefs_dedicated_db"] for osd in moc.ceph("osd metadata")} == {"0"}
    before, busy = measured(moc)
    for host in STORAGE:
        for serial in moc.notes[host]:
            moc.session.verb("plug", host, serial)
    moc.stage("ceph.stage.discovery")
    assert "migrate=true" in moc.run("saltmaster", "salt-run proposal.peek name=tiny target='node*' data=900-").out
    moc.run("saltmaster", SSD)
    moc.stage("ceph.stage.configure")
    moves = [osd["moves"] for osds in planned(moc).values() for osd in osds.values()]
    assert [move["db"]["from"] for move in moves] == [None] * 6
    moc.run("saltmaster", "salt-run osd.migrate", limit=3000)
    until(moc.whole, 300, "HEALTH_OK")
    assert {osd["bluefs_dedicated_db"] for osd in moc.ceph("osd metadata")} == {"1"}
    assert {osd["bluefs_db_rotational"] for osd in moc.ceph("osd metadata")} == {"0"}
    after, busier = measured(moc)
    told(before, after, max(busy, busier))


def told(before: float, after: float, busy: float) -> None:
    """Print what was measured beside the paper's ratio; of a run that processors held up, no ratio."""
    print(f"4 KB writes a second: {before:.0f} without SSD, {after:.0f} with; processors at most {busy:.0%} busy")
    if busy >= BUSY:
        print("held up by processors: this says nothing of disks")
        return
    paper = ", ".join(f"{name} {fast / slow:.2f}" for name, (slow, fast) in PAPER.items())
    print(f"ratio {after / before:.2f}; in the paper {paper}")
    assert after > before
