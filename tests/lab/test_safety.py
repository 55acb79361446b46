"""No disk is touched that is not clean or ours: bytes are compared."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import pytest
import yaml
from product import DEPLOY, PILLAR, PROFILE, SERVED, Product, planned, until
from spares import spare, spoiled

BY_HAND = "6b0c2b1e-0000-4000-8000-0000000000%02d"  # uuids of OSDs that somebody wrote into a profile
FOUND = {"filesystem": "ext4", "partitions": "gpt", "lvm": "LVM2_member", "ceph": "ceph_bluestore"}
CURE = {"ceph": "wipefs --all"}  # of other kinds: disk.wipe
Words = Iterator[tuple[str, ...]]


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
    with edited(cluster, f"{SERVED}/node2.yml", added(spare(cluster, "node2", 1), 1)):
        yield


def refused(cluster: Product, stage: str, *words: str) -> None:
    """A stage fails, says all of these words, and touches nothing on any host."""
    before, files = cluster.traces(), cluster.written()
    done = cluster.stage(stage, check=False)
    assert done.code != 0, done.out
    for word in words:
        assert word in done.out, done.out
    assert "Traceback" not in done.out + done.err
    assert cluster.traces() == before
    assert cluster.written() == files


def test_a_disk_with_a_file_system_in_a_profile_stops_configure(cluster: Product) -> None:
    clean = cluster.traces()
    with spoiled(cluster, "node1", "filesystem") as disk:
        assert {host for host, traces in cluster.traces().items() if traces != clean[host]} == {"node1"}
        cluster.stage("ceph.stage.discovery")
        with edited(cluster, f"{PROFILE}/stack/default/ceph/minions/node1.yml", added(disk, 2)):
            refused(cluster, "ceph.stage.configure", "node1", disk["id"], "ext4")
    cluster.stage("ceph.stage.discovery")
    assert cluster.stage("ceph.stage.configure").code == 0


# Each of these makes one thing wrong, past configure, and gives the words in which deploy has to name it.


@contextmanager
def unclean(cluster: Product, kind: str, host: str, which: int, number: int) -> Words:
    """A disk with an earlier life, in what its host is told."""
    with spoiled(cluster, host, kind, which) as disk, edited(cluster, f"{SERVED}/{host}.yml", added(disk, number)):
        yield host, disk["id"], FOUND[kind], CURE.get(kind, f"salt-run disk.wipe {host}")


@contextmanager
def mounted(cluster: Product) -> Words:
    with spoiled(cluster, "node1", "filesystem") as disk:
        cluster.run("node1", f"mkdir -p /srv/mounted && mount -t ext4 -o ro,noload {disk['node']} /srv/mounted")
        with edited(cluster, f"{SERVED}/node1.yml", added(disk, 6)):
            yield "node1", disk["id"], "mounted on /srv/mounted"


@contextmanager
def boot_disk(cluster: Product) -> Words:
    """A boot disk, by hand in the profile, in proposal.json and in what is served."""
    with spoiled(cluster, "node1", "partitions", 1) as disk:
        part = f"{disk['node']}p1"
        made = f"until [ -b {part} ]; do sleep 0.1; done; mkfs.ext4 -q {part}"
        cluster.run("node1", f"{made} && mount -t ext4 -o ro,noload {part} /boot")  # or the kernel writes by itself
        stored = f"{PROFILE}/proposal.json"
        kept = cluster.run("saltmaster", f"cat {stored}").out
        try:
            proposal = json.loads(kept)
            for entry in proposal["hosts"]["node1"]["disks"]:
                if entry["id"] == disk["id"]:
                    entry.update(role="data", reason=None)
            cluster.run("saltmaster", f"cat >{stored} <<'EOF'\n{json.dumps(proposal)}\nEOF")
            change = added(disk, 7)
            profile = f"{PROFILE}/stack/default/ceph/minions/node1.yml"
            with edited(cluster, profile, change), edited(cluster, f"{SERVED}/node1.yml", change):
                yield "node1", disk["id"], "mounted on /boot"
        finally:
            cluster.run("saltmaster", f"cat >{stored} <<'EOF'\n{kept}EOF")
            cluster.run("node1", "umount /boot")


@contextmanager
def no_room(cluster: Product) -> Words:
    """A clean disk whose DB is larger than what is free on its host's SSD."""
    disk = spare(cluster, "node2")
    fast = next(iter(planned(cluster)["node2"].values()))["db"]
    sectors = "sed -n 's/^Total free space is \\([0-9]*\\) sectors.*/\\1/p'"
    free, size = map(int, cluster.run("node2", f"sgdisk -p {fast} | {sectors}; blockdev --getss {fast}").out.split())
    more = {"db": fast, "db_size": (free * size // (1 << 30) + 1) << 30}
    with edited(cluster, f"{SERVED}/node2.yml", added(disk, 8, **more)):
        yield "node2", fast, "has no room"


@contextmanager
def another_serial(cluster: Product) -> Words:
    """An OSD's disk, recorded with another serial than it has."""
    (disk, *_) = sorted(osd["data"] for osd in planned(cluster)["node3"].values())
    serial = cluster.run("node3", f"lsblk -ndo SERIAL {disk}").out.strip()

    def change(storage: dict) -> None:
        assert storage["disks"][disk]["serial"] == serial
        storage["disks"][disk]["serial"] = "ANOTHER"

    with edited(cluster, f"{SERVED}/node3.yml", change):
        yield "node3", disk, "ANOTHER", serial


WRONG: dict[str, Callable[[Product], AbstractContextManager[tuple[str, ...]]]] = {
    "filesystem": lambda cluster: unclean(cluster, "filesystem", "node1", 0, 2),
    "partitions": lambda cluster: unclean(cluster, "partitions", "node1", 1, 3),
    "lvm": lambda cluster: unclean(cluster, "lvm", "node2", 0, 4),
    "ceph": lambda cluster: unclean(cluster, "ceph", "node3", 0, 5),
    "mounted": mounted,
    "boot disk": boot_disk,
    "no room": no_room,
    "another serial": another_serial,
}
ALONE = [pytest.param((wrong,), marks=pytest.mark.big) for wrong in WRONG]


@pytest.mark.parametrize("wrongs", [tuple(FOUND), tuple(WRONG)[len(FOUND) :], *ALONE], ids=", ".join)
def test_what_is_not_clean_or_not_ours_stops_deploy_whatever_configure_said(
    cluster: Product, wrongs: tuple[str, ...]
) -> None:
    """Several at once: all are named, and nothing is touched on any host. Each alone stops deploy too."""
    with ExitStack() as stack:
        stack.enter_context(bait(cluster))
        told = [word for wrong in wrongs for word in stack.enter_context(WRONG[wrong](cluster))]
        refused(cluster, DEPLOY, *told)
    assert len(cluster.ceph("osd ls")) == 6


def test_another_public_network_stops_deploy(cluster: Product) -> None:
    """Monitors keep their addresses: every ceph.conf would name places where nobody listens."""
    own, found = f"{PILLAR}/stack/ceph/cluster.yml", f"{PILLAR}/proposals/config/stack/default/ceph/cluster.yml"
    kept = cluster.run("saltmaster", f"cat {own}", check=False).out
    networks = yaml.safe_load(cluster.run("saltmaster", f"cat {found}").out)
    public, other = (networks[key].rpartition(".")[0] for key in ("public_network", "cluster_network"))
    try:
        cluster.write(own, f"{kept}public_network: {networks['cluster_network']}\n")
        cluster.stage("ceph.stage.configure")
        refused(cluster, DEPLOY, f"listens on {public}.31, and ceph.conf would say {other}.31")
    finally:
        cluster.write(own, kept)
        cluster.run("saltmaster", f"test -s {own} || rm {own}")
        cluster.stage("ceph.stage.configure")
    assert cluster.stage(DEPLOY).code == 0


@pytest.mark.big
def test_no_monitor_is_made_while_those_that_are_there_have_no_quorum(cluster: Product) -> None:
    """Two new ones of three, one after the other, would be an empty cluster with the keys of this one."""
    folder = "/var/lib/ceph/mon"
    until(cluster.whole, 120, "HEALTH_OK")
    for host in ("node1", "node2"):
        cluster.run(host, f"systemctl stop ceph-mon@{host}")
    cluster.run("node2", f"mv {folder}/ceph-node2 {folder}/.lost")
    try:
        refused(
            cluster, DEPLOY, "would get a new monitor", "none of those that are there (node1, node3) is in a quorum"
        )
        assert cluster.run("node2", f"ls {folder}").out == ""
    finally:
        cluster.run("node2", f"mv {folder}/.lost {folder}/ceph-node2")
        for host in ("node1", "node2"):
            cluster.run(host, f"systemctl start ceph-mon@{host}")
        until(cluster.whole, 180, "HEALTH_OK with all monitors")
