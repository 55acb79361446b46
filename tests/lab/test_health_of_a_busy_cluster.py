"""A cluster that is used: scrubbed, flagged, with a crash reported, its data on the move, an OSD down.

Deploy and restart end well and say what they saw; only what is really wrong holds back, and only itself.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from busy import until_seen
from product import DEPLOY, PILLAR, STORAGE, Product, until
from saltcli import salt_run

pytestmark = pytest.mark.big
OWN = f"{PILLAR}/stack/ceph/cluster.yml"
LINE = "ceph_health: {{osd: {{osd_max_scrubs: {{value: '{}'}}}}}}\n"  # a line of ceph.conf's [osd]
POOL = "busy"
CRASH = {
    "crash_id": "2026-01-02T03:04:05.000000Z_00000000-0000-4000-8000-000000000001",
    "timestamp": "2026-01-02T03:04:05.000000Z",
    "entity_name": "osd.0",
    "ceph_version": "16.2.15",
    "process_name": "ceph-osd",
}
FILLED = f"""
ceph osd pool create {POOL} 16 16 replicated --autoscale-mode=off
ceph osd pool application enable {POOL} rados
rados -p {POOL} bench 120 write -b 4096 -t 16 --max-objects 2000 --no-cleanup >/dev/null
"""
GONE = f"""
ceph config set mon mon_allow_pool_delete true
ceph osd pool rm {POOL} {POOL} --yes-i-really-really-mean-it
ceph config rm mon mon_allow_pool_delete
"""
# What makes backfill slow, and its end.
SLOW = "ceph config set osd osd_recovery_sleep 1; ceph config set osd osd_max_backfills 1"
QUICK = "ceph config rm osd osd_recovery_sleep; ceph config rm osd osd_max_backfills"
NOW = "date -u +%Y-%m-%dT%H:%M:%S.000000Z"


@pytest.fixture
def busy(cluster: Product) -> Iterator[Product]:
    """The first cluster with a pool of 2,000 objects, and all of its OSDs due a restart."""
    until(cluster.whole, 60, "HEALTH_OK")
    cluster.run("saltmaster", FILLED)
    kept = cluster.run("saltmaster", f"cat {OWN}", check=False).out
    cluster.write(OWN, kept + LINE.format(2))
    try:
        yield cluster
    finally:
        cluster.write(OWN, kept)
        cluster.run("saltmaster", GONE)
        cluster.run("saltmaster", "salt '*' saltutil.refresh_pillar wait=True")
        assert cluster.stage(DEPLOY, check=False).code == 0
        until(cluster.whole, 120, "HEALTH_OK as before")
        assert cluster.stage("ceph.stage.restart", check=False).code == 0
        until(cluster.whole, 120, "HEALTH_OK with the old configuration")


@contextmanager
def scrubbed(cluster: Product) -> Iterator[None]:
    """A deep scrub of every group that takes its time."""
    cluster.run("saltmaster", "ceph config set osd osd_scrub_sleep 5; ceph config set osd osd_scrub_chunk_max 1")
    cluster.run("saltmaster", "ceph config set osd osd_scrub_chunk_min 1; ceph osd pool deep-scrub busy")
    try:
        until(lambda: "scrubbing" in states(cluster), 120, "a scrub goes on")
        yield
    finally:
        for option in ("osd_scrub_sleep", "osd_scrub_chunk_max", "osd_scrub_chunk_min"):
            cluster.run("saltmaster", f"ceph config rm osd {option}")
        until(lambda: "scrubbing" not in states(cluster), 240, "the scrubs end")


@contextmanager
def flagged(cluster: Product) -> Iterator[None]:
    cluster.run("saltmaster", "ceph osd set noout")
    try:
        yield
    finally:
        cluster.run("saltmaster", "ceph osd unset noout")


@contextmanager
def crashed(cluster: Product) -> Iterator[None]:
    stamp = cluster.run("saltmaster", NOW).out.strip()
    report = {**CRASH, "timestamp": stamp, "crash_id": CRASH["crash_id"].replace(CRASH["timestamp"], stamp)}
    cluster.run("saltmaster", f"echo '{json.dumps(report)}' | ceph crash post -i -")
    try:
        until(lambda: "RECENT_CRASH" in cluster.ceph("health")["checks"], 90, "Ceph tells of the crash")
        yield
    finally:
        cluster.run("saltmaster", f"ceph crash rm {report['crash_id']}")


@contextmanager
def moving(cluster: Product) -> Iterator[None]:
    """An OSD that the admin takes out: its groups go elsewhere, slowly, and come back."""
    cluster.run("saltmaster", f"{SLOW}; ceph osd reweight 0 0.1")
    try:
        until(lambda: moves(cluster), 60, "data moves")
        yield
    finally:
        cluster.run("saltmaster", f"{QUICK}; ceph osd reweight 0 1")
        until(lambda: not moves(cluster), 240, "data has moved")


BUSY = {"scrubbed": scrubbed, "noout": flagged, "crash": crashed, "moving": moving}
SAID = {
    "scrubbed": "placement groups are scrubbed",
    "noout": "OSDMAP_FLAGS",
    "crash": "RECENT_CRASH",
    "moving": "data moves",
}


def states(cluster: Product) -> str:
    return " ".join(state["state_name"] for state in cluster.ceph("status")["pgmap"]["pgs_by_state"])


def moves(cluster: Product) -> bool:
    """Whether copies are made elsewhere: a group whose log is whole is recovered, and not backfilled."""
    return any(word in states(cluster) for word in ("backfill", "recover"))


def waiting(cluster: Product) -> set[str]:
    return {
        name for daemons in salt_run(cluster.session, "daemon.pending").data["daemons"].values() for name in daemons
    }


@pytest.mark.parametrize("how", BUSY)
def test_a_busy_cluster_is_deployed_and_restarted_and_told_of(busy: Product, load: Callable, how: str) -> None:
    with load(busy, until_seen(busy), least=100) as used, used.fault(), BUSY[how](busy):
        deployed = busy.stage(DEPLOY, check=False)
        assert deployed.code == 0, deployed.out
        assert SAID[how] in deployed.out
        assert len(waiting(busy)) == 6
        if how != "moving":
            restarted = busy.stage("ceph.stage.restart", check=False)
            assert restarted.code == 0, restarted.out
            assert how == "scrubbed" or SAID[how] in restarted.out  # a scrub of an OSD that is restarted ends
            assert waiting(busy) == set()
        else:  # Ceph may keep a host until its data has come, which is waited for: let it come in time
            busy.run("saltmaster", QUICK)
            assert moves(busy)
            assert busy.stage("ceph.stage.restart", check=False).code == 0


def test_an_osd_that_is_down_holds_back_the_hosts_that_ceph_needs(busy: Product, load: Callable) -> None:
    """Groups may lose no more: the other hosts are named and left alone; the OSD's own host is restarted."""
    busy.run("saltmaster", f"ceph osd pool set {POOL} size 3; ceph osd pool set {POOL} min_size 2; ceph osd set noout")
    until(lambda: "degraded" not in states(busy), 120, "three copies")
    assert busy.stage(DEPLOY, check=False).code == 0
    before = busy.daemons()
    down = busy.run("node1", "ls /etc/ceph/osd-devices | head -1").out.strip()
    with load(busy, until_seen(busy), least=100) as used, used.fault():
        busy.run("node1", f"systemctl stop ceph-osd@{down}")
        try:
            until(lambda: "undersized" in states(busy), 60, f"osd.{down} is seen down")
            done = busy.stage("ceph.stage.restart", check=False)
            shown = busy.run("saltmaster", "salt-run health.show", check=False)
            deployed = busy.stage(DEPLOY, check=False)
        finally:
            busy.run("node1", f"systemctl start ceph-osd@{down}")
            busy.run("saltmaster", "ceph osd unset noout")
    assert done.code == 1
    assert "Traceback" not in done.out + done.err
    for host in STORAGE[1:]:
        assert f"{host}: not restarted osd." in done.out, done.out
        assert busy.daemons()[host] == before[host]
    assert (shown.code, f"osd.{down} of node1: down" in shown.out) == (1, True)
    assert deployed.code == 0, "deploy starts it, or says that it was down before"
    until(busy.whole, 120, "HEALTH_OK with the OSD up")
    assert busy.stage("ceph.stage.restart", check=False).code == 0


def managers(cluster: Product) -> set[str]:
    """Those that the monitors know, the active one and those that stand by."""
    known = cluster.ceph("mgr dump")
    return {known["active_name"], *(each["name"] for each in known["standbys"])}


def test_a_manager_that_fell_out_is_named_by_deploys_end(cluster: Product) -> None:
    """Its unit runs, and is no manager: nobody but the cluster itself knows."""
    until(cluster.whole, 60, "HEALTH_OK")
    unit, drop = "ceph-mgr@node3", "/etc/systemd/system/ceph-mgr@node3.service.d"
    sleeps = "[Service]\\nExecStart=\\nExecStart=/bin/sleep infinity\\n"
    cluster.run("node3", f"mkdir -p {drop}; printf '{sleeps}' >{drop}/own.conf; systemctl daemon-reload")
    cluster.run("node3", f"systemctl restart {unit}")
    try:
        until(lambda: "node3" not in managers(cluster), 90, "the monitors give it up")  # mon_mgr_beacon_grace
        done = cluster.stage(DEPLOY, check=False)
    finally:
        cluster.run("node3", f"rm -r {drop}; systemctl daemon-reload; systemctl restart {unit}")
    assert done.code == 1, done.out
    assert "mgr.node3: does not run, neither active nor standby" in done.out
    assert "Traceback" not in done.out + done.err
    until(cluster.whole, 90, "HEALTH_OK with the manager back")
