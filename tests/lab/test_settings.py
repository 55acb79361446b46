"""What a site sets beside its disks: ceph.conf, central configuration, places, pools; and the quick test."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from busy import SLACK, until_seen
from product import DEPLOY, PILLAR, STORAGE, Product, nothing_changed, until
from saltcli import salt_run

OWN = f"{PILLAR}/stack/ceph/cluster.yml"
# Lines of ceph.conf's [osd], in one of which Ceph puts in something itself.
SCRUBS = "ceph_health: {osd: {osd_max_scrubs: {value: '2'}, log_file: {value: /var/log/ceph/$cluster-$name.log}}}\n"
ALLOW = "mon_allow_pool_delete"


@contextmanager
def written(cluster: Product, path: str, text: str) -> Iterator[None]:
    """A file of the site's own with this text more at its end; as it was afterwards."""
    kept = f"/srv/kept{path}"
    cluster.run("saltmaster", f"mkdir -p $(dirname {path} {kept}); touch {path}; cp -a {path} {kept}")
    try:
        cluster.run("saltmaster", f"cat >>{path} <<'EOF'\n{text}EOF")
        cluster.run("saltmaster", "salt '*' saltutil.refresh_pillar wait=True")
        yield
    finally:
        cluster.run("saltmaster", f"cp -a {kept} {path}; salt '*' saltutil.refresh_pillar wait=True")


def settings(cluster: Product) -> list[tuple[str, str, str]]:
    return sorted((row["section"], row["name"], row["value"]) for row in cluster.ceph("config dump"))


def restarts(cluster: Product) -> dict[str, dict]:
    """Which daemons wait for a restart, by minion."""
    return salt_run(cluster.session, "daemon.pending").data["daemons"]


def test_the_quick_test_measures_and_leaves_nothing(cluster: Product) -> None:
    """Also where deleting pools was allowed before, and where the benchmark is killed on its way."""
    until(cluster.whole, 60, "HEALTH_OK")
    before, pools = settings(cluster), cluster.ceph("osd pool ls")
    told = salt_run(cluster.session, "pool.quick_test", "seconds=2", "pg_num=64").data
    assert told["pg_num"] == 64
    for way, made in (("write", "total_writes_made"), ("seq", "total_reads_made")):
        assert float(told[way]["bandwidth"]) > 0
        assert int(told[way][made]) > 0
    assert (settings(cluster), cluster.ceph("osd pool ls")) == (before, pools)

    cluster.run("saltmaster", f"ceph config set mon {ALLOW} true")
    allowed = settings(cluster)
    assert allowed != before
    try:
        cluster.run("saltmaster", "setsid sh -c 'until pkill -9 -x rados; do sleep 0.1; done' >/dev/null 2>&1 &")
        done = cluster.run("saltmaster", "salt-run pool.quick_test seconds=60 pg_num=8", check=False)
        assert (done.code, "rados" in done.out, "Traceback" in done.out + done.err) == (2, True, False)
        assert (settings(cluster), cluster.ceph("osd pool ls")) == (allowed, pools)
    finally:
        cluster.run("saltmaster", f"ceph config rm mon {ALLOW}")
    until(cluster.whole, 60, "HEALTH_OK after the test")


@pytest.mark.big
def test_a_changed_configuration_waits_for_a_restart_host_by_host(cluster: Product, load: Callable) -> None:
    until(cluster.whole, 60, "HEALTH_OK")
    assert restarts(cluster) == {}
    running = cluster.daemons()
    with written(cluster, OWN, SCRUBS):
        assert cluster.stage(DEPLOY).code == 0
        assert cluster.daemons() == running, "deploy restarts nothing"
        waiting = restarts(cluster)
        assert sorted(waiting) == list(STORAGE)
        assert all(name.startswith("osd.") for daemons in waiting.values() for name in daemons)
        assert sum(len(daemons) for daemons in waiting.values()) == 6
        with load(cluster, until_seen(cluster), least=100) as busy, busy.fault():
            assert cluster.stage("ceph.stage.restart").code == 0
        assert restarts(cluster) == {}
        assert int(cluster.ceph("config show osd.0 osd_max_scrubs")) == 2
        until(cluster.whole, 60, "HEALTH_OK after the restart")
        now = cluster.daemons()
        kept = {host: [line for line in lines if "ceph-osd" not in line] for host, lines in running.items()}
        assert all(set(lines) <= set(now[host]) for host, lines in kept.items())
        assert "nothing changed" in cluster.stage("ceph.stage.restart").out
        assert cluster.daemons() == now
    assert cluster.stage(DEPLOY).code == 0
    assert cluster.stage("ceph.stage.restart").code == 0
    until(cluster.whole, 60, "HEALTH_OK with the old configuration")


@pytest.mark.big
def test_a_daemon_of_an_updated_program_waits_for_a_restart(cluster: Product, load: Callable) -> None:
    until(cluster.whole, 60, "HEALTH_OK")
    program = "/usr/bin/ceph-mgr"
    cluster.run("node3", f"cp -a {program} {program}.new && mv {program}.new {program}")  # as dpkg and rpm do
    assert restarts(cluster) == {"node3": {"mgr.node3": {"program": ["the one of its start", "a newer one"]}}}
    with load(cluster, SLACK, least=50) as busy, busy.fault():  # no client waits for a manager
        assert cluster.stage("ceph.stage.restart").code == 0
    assert restarts(cluster) == {}
    until(cluster.whole, 60, "HEALTH_OK after the restart")


@pytest.mark.big
def test_restarts_wait_while_the_cluster_is_not_steady(cluster: Product) -> None:
    """With an OSD down no other daemon is stopped: Ceph says no."""
    until(cluster.whole, 60, "HEALTH_OK")
    cluster.run("saltmaster", "ceph osd pool create proof 32; ceph osd pool set proof min_size 3")
    ask = "ceph osd ok-to-stop 0 1"  # its groups are unknown at first, which is another answer
    until(lambda: cluster.run("saltmaster", ask, check=False).code == errno.EBUSY, 60, "osd.0 and osd.1 are needed")
    try:
        done = cluster.run(
            "saltmaster", 'salt saltmaster cluster_health.stoppable osd \'["0", "1"]\' --out json', check=False
        )
        assert "unsafe to stop" in done.out + done.err
    finally:
        cluster.run("saltmaster", f"ceph config set mon {ALLOW} true")
        cluster.run("saltmaster", "ceph osd pool rm proof proof --yes-i-really-really-mean-it")
        cluster.run("saltmaster", f"ceph config rm mon {ALLOW}")
    until(cluster.whole, 60, "HEALTH_OK without the pool")


@pytest.mark.big
def test_central_configuration_places_and_pools(cluster: Product) -> None:
    """Set once, steady in a second run, and gone again where it can go: places and pools stay."""
    until(cluster.whole, 60, "HEALTH_OK")
    before, running = settings(cluster), cluster.daemons()
    own = """\
ceph_config: {osd: {osd_memory_target: 1G}, 'osd/class:hdd': {osd_max_backfills: 3}}
crush_locations: {node1: {rack: r1}, 'node[23]': {rack: r2}}
pools:
  backup: {application: rbd, erasure: 2+1}
  slow: {application: rbd, device_class: hdd, failure_domain: rack}
"""
    with written(cluster, OWN, own):
        assert cluster.stage(DEPLOY).code == 0
        assert set(settings(cluster)) - set(before) == {
            ("osd", "osd_max_backfills", "3"),
            ("osd", "osd_memory_target", "1073741824"),
        }
        tree = {node["name"]: node for node in cluster.ceph("osd tree")["nodes"]}
        for rack, hosts in (("r1", ["node1"]), ("r2", ["node2", "node3"])):
            assert sorted(tree[rack]["children"]) == sorted(tree[host]["id"] for host in hosts)
        pools = {pool["pool_name"]: pool for pool in cluster.ceph("osd pool ls detail")}
        assert (pools["backup"]["size"], pools["backup"]["erasure_code_profile"]) == (3, "isa_2_1_host")
        assert pools["slow"]["size"] == 2
        assert pools["slow"]["pg_autoscale_mode"] == "on"
        until(cluster.whole, 120, "HEALTH_OK with racks and pools")
        nothing_changed(cluster, DEPLOY)
        assert cluster.daemons() == running
    cluster.stage(DEPLOY)
    assert settings(cluster) == before
    cluster.run("saltmaster", f"ceph config set mon {ALLOW} true")
    for pool in ("backup", "slow"):
        cluster.run("saltmaster", f"ceph osd pool rm {pool} {pool} --yes-i-really-really-mean-it")
    cluster.run("saltmaster", f"ceph config rm mon {ALLOW}")
    cluster.run("saltmaster", "for host in node1 node2 node3; do ceph osd crush move $host root=default; done")
    cluster.run("saltmaster", "ceph osd crush rm r1; ceph osd crush rm r2")
    until(cluster.whole, 120, "HEALTH_OK as before")


@pytest.mark.big
def test_a_monitor_more_and_one_less(cluster: Product) -> None:
    """One added by policy.cfg joins the others, which run on; it goes again by `mon.remove`, once nobody plans it."""
    until(cluster.whole, 60, "HEALTH_OK")
    running, more = cluster.daemons(), "role-mon/cluster/client1.sls\n"
    with written(cluster, f"{PILLAR}/proposals/policy.cfg", more):
        assert cluster.stage("ceph.stage.configure").code == 0
        assert cluster.stage(DEPLOY).code == 0
        assert sorted(cluster.ceph("quorum_status")["quorum_names"]) == ["client1", *STORAGE]
        assert cluster.daemons() == running
        done = cluster.run("saltmaster", "salt-run mon.remove client1", check=False)
        assert (done.code, "has the role mon" in done.out) == (2, True)
        assert len(cluster.ceph("quorum_status")["quorum_names"]) == 4
    assert cluster.stage("ceph.stage.configure").code == 0
    told = cluster.run("saltmaster", "salt-run mon.remove client1").out
    assert "mon.client1 is out of the map" in told
    assert cluster.run("client1", "ls /var/lib/ceph/mon/.ceph-client1.removed-*/store.db").code == 0
    until(cluster.whole, 60, "HEALTH_OK with three monitors")
    assert cluster.run("saltmaster", "salt-run mon.remove client1", check=False).code == 2
    assert cluster.stage(DEPLOY).code == 0
    assert cluster.daemons() == running
