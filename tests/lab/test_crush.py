"""Hosts with data are moved in the CRUSH map by name alone, under load, and what moves is what was said; roots."""

from collections.abc import Callable, Iterator

import pytest
from busy import until_seen
from product import DEPLOY, PILLAR, Product, reported, until
from test_growth import places
from test_pools import FILL, MADE, STILL, moved, said
from test_settings import OWN, written

from lab.containers import Done

pytestmark = pytest.mark.big
RACKS = "crush_locations: {node1: {rack: r1}, 'node[23]': {rack: r2}}\n"
ROOT = """\
crush_locations: {node1: {root: alone}}
pools: {there: {application: rados, root: alone, failure_domain: osd, size: 2}}
"""
BACK = """
for host in node1 node2 node3; do ceph osd crush move $host root=default; done
ceph osd crush rm r1; ceph osd crush rm r2
ceph osd crush rule rm replicated_alone_osd; ceph osd crush rm alone
for pool in $(ceph osd pool ls); do ceph osd pool set $pool size 3; done
"""


@pytest.fixture(scope="module")
def filled(cluster: Product) -> Iterator[Product]:
    """The cluster with a pool in which there is something."""
    until(cluster.whole, 60, "HEALTH_OK")
    cluster.run("saltmaster", STILL)
    reported()
    until(cluster.whole, 120, "HEALTH_OK without what the balancer placed")
    with written(cluster, OWN, MADE.replace(", nodelete: true", "")):
        assert cluster.stage(DEPLOY).code == 0
        cluster.run("saltmaster", FILL)
    yield cluster
    for pool in ("kept", "there"):
        cluster.run("saltmaster", f"salt-run pool.delete {pool} {pool}", check=False)
    cluster.run("saltmaster", BACK, check=False)
    cluster.run("saltmaster", "ceph balancer on")
    reported()
    until(cluster.whole, 300, "HEALTH_OK as before")


def move(product: Product, words: str) -> Done:
    done = product.run("saltmaster", f"salt-run crush.move {words}", check=False)
    assert "Traceback" not in done.out + done.err
    return done


def tree(product: Product) -> dict[str, list[str]]:
    """Which buckets stand in which."""
    nodes = product.ceph("osd tree")["nodes"]
    names = {node["id"]: node["name"] for node in nodes}
    return {node["name"]: sorted(names[child] for child in node.get("children", ())) for node in nodes}


def test_deploy_leaves_hosts_with_data_where_they_are(filled: Product) -> None:
    with written(filled, OWN, RACKS):
        before = places(filled)
        done = filled.run("saltmaster", f"salt-run state.orch {DEPLOY}", check=False, limit=900)
        assert done.code == 0 and "left where they are, as their data would move" in done.out
        assert tree(filled)["r1"] == tree(filled)["r2"] == []
        assert {group: up for group, (up, _) in places(filled).items()} == {
            group: up for group, (up, _) in before.items()
        }


def test_hosts_move_by_name_under_load_and_what_moves_was_said(filled: Product, load: Callable) -> None:
    with written(filled, OWN, RACKS), load(filled, until_seen(filled), least=20) as busy:
        before, dump = places(filled), filled.ceph("osd crush dump")
        dry = move(filled, "'node*' test=true")
        assert dry.code == 0 and filled.ceph("osd crush dump") == dump
        with busy.fault():
            assert move(filled, "'node*'").code == 0
            reported()
            until(filled.whole, 600, "HEALTH_OK in two racks")
        assert tree(filled)["r1"] == ["node1"] and tree(filled)["r2"] == ["node2", "node3"]
        told, now = said(dry.out), moved(before, places(filled))
        assert abs(told[0] - now[0]) <= max(2, 0.1 * now[0]) and abs(told[1] - now[1]) <= max(2 << 20, 0.1 * now[1])
        assert "nothing changed" in move(filled, "'node*'").out


def test_osds_are_of_the_class_that_their_profile_says(filled: Product) -> None:
    path = f"{PILLAR}/proposals/profile-tiny/stack/default/ceph/minions/node1.yml"
    known = filled.run("saltmaster", f"cat {path}").out
    edit = f"import yaml; t = yaml.safe_load(open('{path}')); "
    edit += "[osd.update({'class': 'own'}) for osd in t['ceph']['storage']['osds'].values()]; "
    filled.run("saltmaster", ["python3", "-c", f"{edit}yaml.safe_dump(t, open('{path}', 'w'))"])
    try:
        assert filled.stage("ceph.stage.configure").code == 0
        dump = filled.ceph("osd crush dump")
        dry = filled.run("saltmaster", "salt-run crush.reclass").out
        assert dry.count("set-device-class own") == 2 and filled.ceph("osd crush dump") == dump
        assert filled.run("saltmaster", "salt-run crush.reclass node1").code == 0
        inside = [osd for osd in filled.ceph("osd tree")["nodes"] if osd.get("device_class") == "own"]
        assert sorted(osd["name"] for osd in inside) == tree(filled)["node1"]
        assert "nothing changed" in filled.run("saltmaster", "salt-run crush.reclass node1").out
        filled.run("node1", "systemctl restart ceph-osd.target")
        until(filled.whole, 300, "HEALTH_OK, and OSDs that start keep their class")
        assert len(filled.ceph("osd crush class ls-osd own")) == 2
    finally:
        filled.write(path, known)
        filled.stage("ceph.stage.configure")
        names = "$(ceph osd ls-tree node1)"
        filled.run("saltmaster", f"for osd in {names}; do ceph osd crush rm-device-class osd.$osd; done")
        filled.run("saltmaster", f"for osd in {names}; do ceph osd crush set-device-class hdd osd.$osd; done")


def test_a_root_that_leaves_pools_too_few_hosts_is_refused(filled: Product) -> None:
    """Three copies of a load's pools need three hosts below the default root; in a root of its own a pool can be."""
    filled.run("saltmaster", "for pool in $(ceph osd pool ls); do ceph osd pool set $pool size 3; done")
    with written(filled, OWN, ROOT):
        before = filled.ceph("osd crush dump")
        done = move(filled, "node1")
        assert done.code == 2 and "would find too few failure domains" in done.out
        assert filled.ceph("osd crush dump") == before
        filled.run("saltmaster", "for pool in $(ceph osd pool ls); do ceph osd pool set $pool size 2; done")
        until(filled.whole, 300, "HEALTH_OK with two copies")
        assert move(filled, "node1").code == 0
        until(filled.whole, 600, "HEALTH_OK on two hosts")
        assert filled.stage(DEPLOY).code == 0
        until(filled.whole, 120, "HEALTH_OK with a pool of that root")
        inside = {int(name.removeprefix("osd.")) for name in tree(filled)["node1"]}
        groups = filled.ceph("pg ls-by-pool there")["pg_stats"]
        assert groups and all(set(group["acting"]) <= inside for group in groups)
