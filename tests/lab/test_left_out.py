"""A pulled disk and a stopped host hold back only themselves; a run for some hosts changes only these."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from busy import until_seen
from product import DEPLOY, PILLAR, SERVED, STORAGE, Product, planned, until
from spares import spare, spares
from test_replace import BYTES, disks_of, pull
from test_safety import added, edited
from test_settings import OWN, written

from lab.containers import Done

pytestmark = pytest.mark.big
POLICY = f"{PILLAR}/proposals/policy.cfg"
LINE = "rbd_cache = false"  # of ceph.conf's [client]: no daemon waits for a restart
CACHE = "ceph_health: {client: {rbd_cache: {value: 'false'}}}\n"
ADMIN = "role-admin/cluster/client1.sls\n"
KEYRING = "/etc/ceph/ceph.client.admin.keyring"
STAGES = ("discovery", "configure", "deploy", "services")
# What services have to make, on every host of these.
GIVEN = ("client1", *STORAGE)
KEY = "ceph_keys: {client.left: {caps: {mon: allow r}, hosts: [client1, 'node*']}}\n"
MADE = "/etc/ceph/ceph.client.left.keyring"


def stage(cluster: Product, name: str, only: str = "") -> Done:
    """Run a stage as an admin types it."""
    words = f"salt-run stage.run {name}" + (f" only='{only}'" if only else "")
    return cluster.run("saltmaster", words, check=False, limit=900)


def has(cluster: Product, host: str) -> bool:
    """Whether a host's ceph.conf has the site's line."""
    return cluster.run(host, f"grep -qx '{LINE}' /etc/ceph/ceph.conf", check=False).code == 0


def given(cluster: Product, hosts: Sequence[str]) -> list[str]:
    """Those of some hosts that have the keyring."""
    return [host for host in hosts if cluster.run(host, f"test -s {MADE}", check=False).code == 0]


@contextmanager
def stopped(cluster: Product, host: str) -> Iterator[None]:
    """A host that is down; back, and answering, afterwards."""
    cluster.session.verb("stop", host)
    try:
        yield
    finally:
        cluster.session.verb("start", host)
        until(lambda: host in cluster.run("saltmaster", "salt-run manage.up").out, 120, f"{host} answers again")


@contextmanager
def pulled(cluster: Product, host: str) -> Iterator[int]:
    """An OSD of a host whose disk is pulled, and its data copied elsewhere; plugged in again afterwards."""
    fsids = planned(cluster)[host]
    osd_id = next(osd["osd"] for osd in cluster.ceph("osd dump")["osds"] if osd["uuid"] in fsids)
    serial = disks_of(cluster, host, osd_id)["data"]["serial"]
    pull(cluster, host, osd_id, serial)
    cluster.run("saltmaster", f"ceph osd out {osd_id}")
    until(lambda: clean(cluster), 120, "its data is elsewhere")
    try:
        yield osd_id
    finally:
        cluster.session.verb("plug", host, serial)
        cluster.run("saltmaster", f"ceph osd in {osd_id}")


def clean(cluster: Product) -> bool:
    """Whether every placement group is active and clean."""
    states = cluster.ceph("status")["pgmap"]["pgs_by_state"]
    return [state["state_name"] for state in states] == ["active+clean"]


def test_a_pulled_disk_and_a_stopped_host_hold_back_nobody_else(cluster: Product, load: Callable) -> None:
    """Both are known to the cluster: every stage reaches the others, names both, and ends well. Then all is whole.

    Of services one is asked for that the stopped host does not have yet: it could not be made there, status 1.
    """
    until(cluster.whole, 60, "HEALTH_OK")
    with (
        written(cluster, OWN, CACHE + KEY),
        written(cluster, POLICY, ADMIN),
        load(cluster, until_seen(cluster), least=100) as busy,
    ):
        with busy.fault(), pulled(cluster, "node2") as osd_id, stopped(cluster, "node3"):
            running = cluster.daemons(("node1", "node2"))
            told = {name: stage(cluster, name) for name in STAGES}
            for name, done in told.items():
                assert (done.code, done.err) == (int(name == "services"), ""), (name, done.out)
                assert "Traceback" not in done.out
            for name in ("configure", "deploy"):
                assert "node3: left out: does not answer" in told[name].out, told[name].out
            assert "client-keys: FAILED: node3: does not answer" in told["services"].out, told["services"].out
            assert given(cluster, ("client1", "node1", "node2")) == ["client1", "node1", "node2"]
            assert "node2: /dev/disk/by-id/" in told["configure"].out
            assert f"node2: left out: osd.{osd_id}: /dev/disk/by-id/" in told["deploy"].out
            assert f"salt-run osd.replace {osd_id}" in told["deploy"].out
            assert "the cluster knows its mon.node3, osd." in told["deploy"].out
            assert [has(cluster, host) for host in ("node1", "node2", "client1", "saltmaster")] == [True] * 4
            assert cluster.run("client1", f"test -s {KEYRING}", check=False).code == 0
            assert cluster.daemons(list(running)) == running
        with busy.fault():
            assert not has(cluster, "node3")
            for name in STAGES:
                done = stage(cluster, name)
                assert done.code == 0 and "left out" not in done.out, done.out
            assert has(cluster, "node3") and given(cluster, GIVEN) == list(GIVEN)
            until(cluster.whole, 120, "HEALTH_OK with the disk and the host back")
    cluster.run("client1", f"rm {KEYRING}")
    for host in GIVEN:
        cluster.run(host, f"rm {MADE}")
    for name in ("configure", "deploy"):
        assert stage(cluster, name).code == 0
    cluster.run("saltmaster", "salt-run secret.revoke client.left")
    assert not any(has(cluster, host) for host in STORAGE)


def test_a_disk_that_was_exchanged_before_its_osd_was_made_is_left_alone(cluster: Product) -> None:
    """The planned one is gone, another is in its place: status 1, nothing is written to it, the others are served."""
    until(cluster.whole, 60, "HEALTH_OK")
    disk, known = spare(cluster, "node3"), [one["serial"] for one in spares(cluster, "node3")]
    with edited(cluster, f"{SERVED}/node3.yml", added(disk, 9)):
        cluster.session.verb("pull", "node3", disk["serial"])
        cluster.session.verb("plug", "node3", disk["serial"], "--new")
        (new,) = (one for one in spares(cluster, "node3") if one["serial"] not in known)
        ends = BYTES.format(node=new["node"], tail=int(new["size"]) // 2**20 - 1)
        before = cluster.run("node3", ends).out
        cluster.run("saltmaster", "salt node3 saltutil.refresh_pillar wait=True")  # as configure does
        done = stage(cluster, "deploy")
        assert done.code == 1 and "Traceback" not in done.out
        assert f"node3: left out: an OSD that is not made yet: {disk['id']} is not on this host" in done.out
        assert cluster.run("node3", ends).out == before
    cluster.run("saltmaster", "salt node3 saltutil.refresh_pillar wait=True")
    assert len(cluster.ceph("osd ls")) == 6
    cluster.stage("ceph.stage.discovery")
    assert cluster.stage(DEPLOY).code == 0


def test_only_limits_configure_and_deploy_to_some_hosts(cluster: Product) -> None:
    until(cluster.whole, 60, "HEALTH_OK")
    running = cluster.daemons()
    with written(cluster, OWN, CACHE), written(cluster, POLICY, ADMIN):
        plan = cluster.run("saltmaster", "salt-run stage.plan deploy only='node[1]'").out
        assert "only=node[1]: 1 of 5 hosts: node1" in plan
        assert "node1: ceph-configuration" in plan and "node2: ceph-configuration" not in plan
        assert stage(cluster, "configure", "node[1-3]").code == 0
        assert stage(cluster, "deploy", "node[1]").code == 0
        assert [host for host in cluster.session.hosts if has(cluster, host)] == ["node1"]
        assert cluster.run("client1", f"test -e {KEYRING}", check=False).code != 0
        assert "admin" not in cluster.run("saltmaster", f"cat {PILLAR}/current/cluster/client1.sls").out
        refused = stage(cluster, "deploy", "nod[4-9]")
        assert refused.code == 2 and "only=nod[4-9]: no minion is called so: did you mean node1" in refused.out
        assert [stage(cluster, name).code for name in ("configure", "deploy")] == [0, 0]
        assert all(has(cluster, host) for host in STORAGE)
        assert cluster.run("client1", f"rm {KEYRING}").code == 0
    assert [stage(cluster, name).code for name in ("configure", "deploy")] == [0, 0]
    assert cluster.daemons() == running
    until(cluster.whole, 60, "HEALTH_OK")
