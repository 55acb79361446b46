"""No disk is touched that is not clean or ours: bytes are compared."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import yaml
from product import DEPLOY, PROFILE, SERVED, Product, planned, until

MODEL = "ST500NM0011"  # of the spare disks
BY_HAND = "6b0c2b1e-0000-4000-8000-0000000000%02d"  # uuids of OSDs that somebody wrote into a profile
WIPE = (
    "umount {0} 2>/dev/null; sgdisk -Z {0} >/dev/null 2>&1; wipefs -aq {0}; dd if=/dev/zero of={0} bs=1M count=4 2>&1"
)
CLEAN = '[ -z "$(wipefs -n {0})" ] && [ $(lsblk -nlo NAME {0} | wc -l) = 1 ]'
FOUND = {"filesystem": "ext4", "partitions": "gpt", "lvm": "LVM2_member", "ceph": "ceph_bluestore"}
CURE = {"ceph": "wipefs --all"}  # of other kinds: disk.wipe


def spare(cluster: Product, host: str) -> dict:
    """A node's spare disk: its stable name, the kernel's, size and serial."""
    listed = json.loads(cluster.run(host, "lsblk -J -b -d -o NAME,MODEL,SERIAL,SIZE,WWN").out)["blockdevices"]
    (disk,) = (each for each in listed if each["model"] == MODEL)
    return disk | {"id": f"/dev/disk/by-id/wwn-{disk['wwn']}", "node": f"/dev/{disk['name']}"}


@contextmanager
def spoiled(cluster: Product, host: str, kind: str) -> Iterator[dict]:
    """A node's spare disk with traces of an earlier life; clean again afterwards."""
    disk = spare(cluster, host)
    assert cluster.run(host, CLEAN.format(disk["node"]), check=False).code == 0
    try:
        cluster.session.verb("dirty", host, disk["name"], kind)
        yield disk
    finally:
        cluster.run(host, WIPE.format(disk["node"]))
        until(lambda: cluster.run(host, CLEAN.format(disk["node"]), check=False).code == 0, 10, "the disk is clean")


@contextmanager
def edited(cluster: Product, path: str, change: Callable[[dict], None]) -> Iterator[None]:
    """One of the master's storage files, changed by hand; as it was afterwards."""
    kept = cluster.run("saltmaster", f"cat {path}").out
    content = yaml.safe_load(kept)
    change(content["ceph"]["storage"])
    try:
        cluster.run("saltmaster", f"cat >{path} <<'EOF'\n{yaml.safe_dump(content)}EOF")
        yield
    finally:
        cluster.run("saltmaster", f"cat >{path} <<'EOF'\n{kept}EOF")


def added(disk: dict, number: int, **more: object) -> Callable[[dict], None]:
    """A change: one more OSD, on that disk."""

    def change(storage: dict) -> None:
        storage["osds"][disk["id"]] = {"format": "bluestore", "uuids": [BY_HAND % number], **more}
        storage["disks"][disk["id"]] = {"size": disk["size"], "serial": disk["serial"]}

    return change


@contextmanager
def bait(cluster: Product) -> Iterator[None]:
    """A clean disk in what node2 is told, served past configure: a deploy that goes on makes an OSD of it."""
    with edited(cluster, f"{SERVED}/node2.yml", added(spare(cluster, "node2"), 2)):
        yield


def refused(cluster: Product, stage: str, *told: str) -> None:
    """A stage fails, says all of these words, and touches nothing on any host."""
    before, files = cluster.traces(), cluster.written()
    done = cluster.stage(stage, check=False)
    assert done.code != 0, done.out
    for word in told:
        assert word in done.out, done.out
    assert "Traceback" not in done.out + done.err
    assert cluster.traces() == before
    assert cluster.written() == files


def test_a_disk_with_a_file_system_in_a_profile_stops_configure(cluster: Product) -> None:
    clean = cluster.traces()
    with spoiled(cluster, "node1", "filesystem") as disk:
        assert {host for host, traces in cluster.traces().items() if traces != clean[host]} == {"node1"}
        cluster.stage("ceph.stage.discovery")
        with edited(cluster, f"{PROFILE}/stack/default/ceph/minions/node1.yml", added(disk, 1)):
            refused(cluster, "ceph.stage.configure", "node1", disk["id"], "ext4")
    cluster.stage("ceph.stage.discovery")
    assert cluster.stage("ceph.stage.configure").code == 0


@pytest.mark.parametrize("kind", list(FOUND))
def test_a_disk_that_is_not_clean_stops_deploy_whatever_configure_said(cluster: Product, kind: str) -> None:
    with spoiled(cluster, "node1", kind) as disk:
        change = added(disk, 1)
        with bait(cluster), edited(cluster, f"{SERVED}/node1.yml", change):
            refused(cluster, DEPLOY, "node1", disk["id"], FOUND[kind], CURE.get(kind, "salt-run disk.wipe node1"))
    assert len(cluster.ceph("osd ls")) == 6


def test_a_mounted_disk_stops_deploy(cluster: Product) -> None:
    with spoiled(cluster, "node1", "filesystem") as disk:
        cluster.run("node1", f"mkdir -p /srv/mounted && mount -t ext4 -o ro,noload {disk['node']} /srv/mounted")
        with bait(cluster), edited(cluster, f"{SERVED}/node1.yml", added(disk, 1)):
            refused(cluster, DEPLOY, "node1", disk["id"], "mounted on /srv/mounted")


def test_a_boot_disk_stops_deploy_whoever_named_it(cluster: Product) -> None:
    """In the profile, in proposal.json and in what is served, all by hand, past configure."""
    with spoiled(cluster, "node1", "partitions") as disk:
        part = f"{disk['node']}p1"
        made = f"until [ -b {part} ]; do sleep 0.1; done; mkfs.ext4 -q {part}"
        cluster.run("node1", f"{made} && mount -t ext4 -o ro,noload {part} /boot")  # or the kernel writes by itself
        try:
            stored = f"{PROFILE}/proposal.json"
            kept = cluster.run("saltmaster", f"cat {stored}").out
            proposal = json.loads(kept)
            for each in proposal["hosts"]["node1"]["disks"]:
                if each["id"] == disk["id"]:
                    each.update(role="data", reason=None)
            cluster.run("saltmaster", f"cat >{stored} <<'EOF'\n{json.dumps(proposal)}\nEOF")
            change = added(disk, 1)
            profile = f"{PROFILE}/stack/default/ceph/minions/node1.yml"
            with bait(cluster), edited(cluster, profile, change), edited(cluster, f"{SERVED}/node1.yml", change):
                refused(cluster, DEPLOY, "node1", disk["id"], "mounted on /boot")
        finally:
            cluster.run("saltmaster", f"cat >{stored} <<'EOF'\n{kept}EOF")
            cluster.run("node1", "umount /boot")


def test_a_db_device_without_room_stops_deploy(cluster: Product) -> None:
    disk = spare(cluster, "node1")
    fast = next(iter(planned(cluster)["node1"].values()))["db"]
    free = int(
        cluster.run("node1", f"sgdisk -p {fast} | sed -n 's/^Total free space is \\([0-9]*\\) sectors.*/\\1/p'").out
    )
    more = {"db": fast, "db_size": (free * 512 // (1 << 30) + 1) << 30}
    with bait(cluster), edited(cluster, f"{SERVED}/node1.yml", added(disk, 1, **more)):
        refused(cluster, DEPLOY, "node1", fast, "has no room")


def test_a_disk_with_another_serial_than_recorded_stops_deploy(cluster: Product) -> None:
    (disk, *_) = sorted(osd["data"] for osd in planned(cluster)["node3"].values())
    serial = cluster.run("node3", f"lsblk -ndo SERIAL {disk}").out.strip()

    def change(storage: dict) -> None:
        assert storage["disks"][disk]["serial"] == serial
        storage["disks"][disk]["serial"] = "ANOTHER"

    with bait(cluster), edited(cluster, f"{SERVED}/node3.yml", change):
        refused(cluster, DEPLOY, "node3", disk, "ANOTHER", serial)


def test_an_exchanged_disk_stops_deploy(cluster: Product) -> None:
    disk = spare(cluster, "node3")
    with bait(cluster), edited(cluster, f"{SERVED}/node3.yml", added(disk, 3)):
        cluster.session.verb("pull", "node3", disk["serial"])
        cluster.session.verb("plug", "node3", disk["serial"], "--new")
        assert spare(cluster, "node3")["serial"] != disk["serial"]
        refused(cluster, DEPLOY, "node3", disk["id"], "is not on this host")
    cluster.stage("ceph.stage.discovery")
