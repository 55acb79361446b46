"""No disk is touched that is not clean or ours, and what was interrupted is made whole by the same command."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import yaml
from product import DEPLOY, PROFILE, SERVED, STORAGE, Product, planned, until

MODEL = "ST500NM0011"  # of the spare disks
BY_HAND = "6b0c2b1e-0000-4000-8000-0000000000%02d"  # uuids of OSDs that somebody wrote into a profile
WIPE = (
    "umount {0} 2>/dev/null; sgdisk -Z {0} >/dev/null 2>&1; wipefs -aq {0}; dd if=/dev/zero of={0} bs=1M count=4 2>&1"
)
CLEAN = '[ -z "$(wipefs -n {0})" ] && [ $(lsblk -nlo NAME {0} | wc -l) = 1 ]'
FOUND = {"filesystem": "ext4", "partitions": "gpt", "lvm": "LVM2_member", "ceph": "ceph_bluestore"}
CURE = {"ceph": "wipefs --all"}  # of other kinds: disk.wipe
# The first ceph-osd on a node without OSDs is one that makes an OSD: half a second later it, or all of Salt, is dead.
WAIT = (
    'until pid=$(pgrep -x ceph-osd | head -1); [ -n "$pid" ]; do sleep 0.02; done; '
    "sleep 0.5; tr '\\0' ' ' </proc/$pid/cmdline; "
)
KILL_MKFS = f"{WAIT} kill -9 $pid && echo killed"
KILL_MINION = f"{WAIT} systemctl kill --kill-whom=all --signal=KILL salt-minion && echo killed"


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


def added(disk: dict, number: int) -> Callable[[dict], None]:
    """A change: one more OSD, on that disk."""

    def change(storage: dict) -> None:
        storage["osds"][disk["id"]] = {"format": "bluestore", "uuids": [BY_HAND % number]}
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


def test_an_interrupted_deploy_is_made_whole_by_the_same_command(torn: Product) -> None:
    """A killed `ceph-osd --mkfs` on one node, a killed minion on another, both while they make OSDs."""
    for host, script in (("node1", KILL_MKFS), ("node2", KILL_MINION)):
        torn.run(host, ["sh", "-c", 'setsid sh -c "$0" >/run/killer.log 2>&1 &', script])
    first = torn.stage(DEPLOY, check=False)
    for host in ("node1", "node2"):
        log = torn.run(host, "cat /run/killer.log").out
        assert "--mkfs" in log
        assert log.endswith("killed\n")
    assert first.code != 0
    assert "run the stage again" in first.out
    assert "node2" in first.out
    assert not torn.whole()
    assert torn.run("node1", "ls /var/lib/ceph/bootstrap-osd/new").out, "the killed OSD's key waits for the next run"
    torn.session.verb("mend", "node2")
    torn.type(f"salt-run state.orch {DEPLOY}")
    until(torn.whole, 60, "HEALTH_OK after the second run")
    ids = torn.ceph("osd ls")
    assert ids == list(range(6))
    assert {each["entity"] for each in torn.ceph("auth ls")["auth_dump"] if each["entity"].startswith("osd.")} == {
        f"osd.{osd_id}" for osd_id in ids
    }
    found = {osd["uuid"] for osd in torn.ceph("osd dump")["osds"]}
    assert found == {uuid for osds in planned(torn).values() for uuid in osds}
    for host in STORAGE:
        assert torn.run(host, "ls -A /var/lib/ceph/bootstrap-osd/new", check=False).out == ""
    assert torn.run("saltmaster", "salt-run osd.report").code == 0
