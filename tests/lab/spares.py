"""The two spare disks of each node of the first cluster: what the tests of safety may spoil."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from product import SPARE_MODEL, Product, until

WIPE = (
    "umount {0} 2>/dev/null; sgdisk -Z {0} >/dev/null 2>&1; wipefs -aq {0}; dd if=/dev/zero of={0} bs=1M count=4 2>&1"
)
CLEAN = '[ -z "$(wipefs -n {0})" ] && [ $(lsblk -nlo NAME {0} | wc -l) = 1 ]'


def spares(cluster: Product, host: str) -> list[dict]:
    """A node's spare disks by serial: each one's stable name, the kernel's, size and serial."""
    listed = json.loads(cluster.run(host, "lsblk -J -b -d -o NAME,MODEL,SERIAL,SIZE,WWN").out)["blockdevices"]
    disks = sorted((disk for disk in listed if disk["model"] == SPARE_MODEL), key=lambda disk: disk["serial"])
    assert len(disks) == 2, listed
    return [disk | {"id": f"/dev/disk/by-id/wwn-{disk['wwn']}", "node": f"/dev/{disk['name']}"} for disk in disks]


def spare(cluster: Product, host: str, which: int = 0) -> dict:
    """One of a node's spare disks."""
    return spares(cluster, host)[which]


@contextmanager
def spoiled(cluster: Product, host: str, kind: str, which: int = 0) -> Iterator[dict]:
    """A node's spare disk with traces of an earlier life; clean again afterwards."""
    disk = spare(cluster, host, which)
    assert cluster.run(host, CLEAN.format(disk["node"]), check=False).code == 0
    try:
        cluster.session.verb("dirty", host, disk["name"], kind)
        yield disk
    finally:
        cluster.run(host, WIPE.format(disk["node"]))
        until(lambda: cluster.run(host, CLEAN.format(disk["node"]), check=False).code == 0, 10, "the disk is clean")
