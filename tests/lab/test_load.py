"""Load with every client there is: what is lost or altered behind its back is named, and an OSD's end costs nothing."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from busy import until_seen
from product import Product, until

from lab.load.node.clients import NAME
from lab.load.node.content import SIZE
from lab.load.stop import report

pytestmark = pytest.mark.big
CLIENTS = ("rados", "rbd", "cephfs", "s3")
MOUNT = "/mnt/behind"


@pytest.fixture(autouse=True)
def whole(served: Product) -> Iterator[None]:
    until(served.healthy, 120, "HEALTH_OK before")
    yield
    until(served.healthy, 120, "HEALTH_OK after")


def ended(cluster: Product, client: str) -> bool:
    """Whether the report on the load that runs says that a client's process ended."""
    said = report(cluster.session.name).problems
    return any(line.startswith(f"{client} stopped: its unit is failed") for line in said)


@contextmanager
def frozen(cluster: Product, host: str, osd: int) -> Iterator[None]:
    """An OSD that is there and says nothing.

    The monitors take it to be slow for an hour afterwards (mon_osd_laggy_halflife), and a metadata server names idle
    clients as laggy meanwhile.
    """
    cluster.run("saltmaster", "ceph health mute MDS_CLIENTS_LAGGY 2h --sticky")
    cluster.run(host, f"systemctl kill --signal=STOP ceph-osd@{osd}")
    try:
        yield
    finally:
        cluster.run(host, f"systemctl kill --signal=CONT ceph-osd@{osd}")


@contextmanager
def killed(cluster: Product, host: str, osd: int) -> Iterator[None]:
    """An OSD that is killed, and stays away."""
    cluster.run(host, f"systemctl kill --signal=KILL ceph-osd@{osd}; systemctl stop ceph-osd@{osd}")
    try:
        yield
    finally:
        cluster.run(host, f"systemctl reset-failed ceph-osd@{osd}; systemctl start ceph-osd@{osd}")


def up(cluster: Product, osd: int) -> bool:
    """Whether the monitors take an OSD to be up."""
    return next(each["up"] for each in cluster.ceph("osd dump")["osds"] if each["osd"] == osd) == 1


def first_osd(cluster: Product, host: str) -> int:
    """The lowest number of a host's OSDs."""
    return min(next(node["children"] for node in cluster.ceph("osd tree")["nodes"] if node["name"] == host))


def spoil(cluster: Product, pool: str, deleted: str, altered: str) -> None:
    """Delete one object of RADOS and alter another."""
    other = f"head -c {SIZE} /dev/urandom | rados -p {pool} put {altered} -"
    cluster.run("saltmaster", f"rados -p {pool} rm {deleted} && {other}")


def behind_rados(cluster: Product) -> None:
    spoil(cluster, NAME, "object-0", "object-1")


def behind_rbd(cluster: Product) -> None:
    image = json.loads(cluster.run("saltmaster", f"rbd info {NAME}/{NAME} --format json").out)
    spoil(cluster, NAME, *(f"{image['block_name_prefix']}.{number:016x}" for number in (0, 1)))


def behind_s3(cluster: Product) -> None:
    bucket = json.loads(cluster.run("saltmaster", f"radosgw-admin bucket stats --bucket={NAME}").out)
    spoil(cluster, "default.rgw.buckets.data", *(f"{bucket['marker']}_object-{number}" for number in (0, 1)))


def behind_cephfs(cluster: Product) -> None:
    folder = f"{MOUNT}/{NAME}"
    cluster.run("saltmaster", f"mkdir -p {MOUNT}; ceph-fuse --client_fs cephfs {MOUNT}")
    try:
        cluster.run("saltmaster", f"rm {folder}/object-0; echo other >{folder}/object-1; sync -f {folder}/object-1")
    finally:
        cluster.run("saltmaster", f"umount {MOUNT}; rmdir {MOUNT}")


BEHIND = {"rados": behind_rados, "rbd": behind_rbd, "cephfs": behind_cephfs, "s3": behind_s3}


@pytest.mark.parametrize("ended", [killed, frozen], ids=lambda ended: ended.__name__)
def test_an_osd_ends_under_load_and_nothing_is_lost(served: Product, load: Callable, ended: Callable) -> None:
    longest = until_seen(served)
    with load(served, longest, least=60) as busy:  # a frozen OSD holds all up for some 25 s
        assert busy.clients == CLIENTS
        with busy.fault():
            with ended(served, "node1", osd := first_osd(served, "node1")):
                until(lambda: not up(served, osd), longest, "the OSD is down")
                busy.goes_on(5)
            until(lambda: up(served, osd), 60, "the OSD is up again")
    if ended is frozen:  # a load that saw nothing of it would prove nothing
        assert max(each.stall for each in busy.report.clients.values()) > 1


def test_what_is_deleted_or_altered_behind_its_back_is_named(served: Product, load: Callable) -> None:
    """Objects that are written once: 0 of each client is deleted, 1 altered."""
    with pytest.raises(AssertionError, match="is lost"), load(served, longest=60, least=1) as busy:
        for client in CLIENTS:
            BEHIND[client](served)
    assert busy.report
    said = busy.report.problems
    for client in CLIENTS:
        mine = [line for line in said if line.startswith(f"{client} ")]
        lost = f"{client} object-0 is lost: version 1 was acknowledged, nothing is there"
        assert len(mine) == 2 and any(line.startswith(lost) for line in mine), said
        assert any(line.startswith(f"{client} object-1 is altered: version 1 was acknowledged") for line in mine), said
    assert len(said) == 2 * len(CLIENTS), said


def test_a_client_that_is_killed_fails_the_load(served: Product, load: Callable) -> None:
    stopped = pytest.raises(AssertionError, match="^rbd stopped: it did not work until its end")
    with stopped, load(served, longest=60, least=1, clients=["rados", "rbd"]) as busy:
        before = busy.operations()
        served.run("client1", "systemctl kill --signal=KILL lab-load-rbd")
        until(lambda: ended(served, "rbd") and not ended(served, "rados"), 30, "the report says so")
    assert before["rbd"] >= 32 and not busy.report.clients["rbd"].findings


def test_nothing_of_a_load_is_left(served: Product, load: Callable) -> None:
    def there() -> tuple[Any, ...]:
        users = served.run("saltmaster", "radosgw-admin user list").out
        files = served.run("client1", "ls -d /var/lib/lab-load /run/systemd/transient/lab-load* 2>&1", check=False).out
        keys = sorted(each["entity"] for each in served.ceph("auth ls")["auth_dump"])
        return served.ceph("osd pool ls"), keys, json.loads(users), files, served.ceph("config dump")

    before = there()
    with load(served, longest=60, least=1):
        ends = served.run("client1", "systemctl show --value --property=RuntimeMaxUSec lab-load-rados").out.strip()
        assert ends == "4h"  # nobody stops that of a killed test
        assert [one == two for one, two in zip(there(), before, strict=True)] == [False, False, False, False, True]
    assert there() == before
