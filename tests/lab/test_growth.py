"""A cluster that grows by a host whose OSDs wait for data: nothing moves, then what was said, in one movement."""

import dataclasses
from collections.abc import Callable

import pytest
from busy import until_seen
from clusters import SUBNETS
from product import Product, cluster_file, reported, until
from test_pools import moved, said
from test_replace import QUICK, filled, grow
from test_settings import OWN

from lab.session import Session

pytestmark = pytest.mark.big


@pytest.fixture(scope="module")
def held(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A new cluster of a site that holds new OSDs back: its first ones wait for nobody."""
    product = Product(own_lab(cluster_file(tmp_path_factory.mktemp("held"), "held", SUBNETS["held"])))
    only = product.way.policy.replace("mon/cluster/node*", "mon/cluster/node[123]")
    product.way = dataclasses.replace(product.way, policy=only.replace("mgr/cluster/node*", "mgr/cluster/node[123]"))
    product.guide(end="salt-run state.orch ceph.stage.configure")
    product.run("saltmaster", f"mkdir -p $(dirname {OWN}); echo 'hold_new_osds: true' >>{OWN}")
    product.guide(begin="salt-run state.orch ceph.stage.configure")
    product.run("saltmaster", "ceph balancer off")  # it would move groups by itself
    return product


def weights(product: Product) -> dict[int, float]:
    return {node["id"]: node["crush_weight"] for node in product.ceph("osd tree")["nodes"] if node["type"] == "osd"}


def places(product: Product) -> dict[str, tuple[set[int], int]]:
    """Where each placement group's copies are to lie, and what it holds."""
    groups = product.ceph("pg dump pgs")["pg_stats"]
    return {group["pgid"]: (set(group["up"]), group["stat_sum"]["num_bytes"]) for group in groups}


def test_a_new_cluster_waits_for_nobody(held: Product) -> None:
    until(lambda: held.whole(6), 120, "HEALTH_OK")
    assert all(weights(held).values())
    assert "no OSD waits" in held.run("saltmaster", "salt-run osd.fill").out


def test_new_osds_wait_and_what_moves_then_was_said(held: Product, load: Callable) -> None:
    with load(held, until_seen(held), least=100) as busy, filled(held):
        before, known = places(held), set(weights(held))
        with busy.fault():
            held.session.verb("add", "node4", "--like", "node1")
            held.type("salt-run state.orch ceph.stage.prep")
            grow(held)
        new = set(weights(held)) - known
        assert len(new) == 2 and {weights(held)[osd] for osd in new} == {0}
        assert {group: up for group, (up, _) in places(held).items()} == {
            group: up for group, (up, _) in before.items()
        }
        assert "wait for data" in held.answers["salt-run state.orch ceph.stage.deploy"].out
        until(lambda: held.status()["health"]["status"] == "HEALTH_OK", 60, "HEALTH_OK while they wait")
        shown = held.run("saltmaster", "salt-run osd.fill", check=False)
        assert shown.code == 2 and "nothing was confirmed" in shown.out and "balancer:" in shown.out
        assert {weights(held)[osd] for osd in new} == {0}
        confirm = shown.out.partition("(hash ")[2].partition(")")[0]
        with busy.fault():
            done = held.run("saltmaster", f"salt-run osd.fill confirm={confirm}", check=False)
            assert done.code == 0, done.out
            held.run("saltmaster", QUICK)
            reported()
            until(lambda: held.whole(8), 600, "HEALTH_OK with two OSDs more")
        assert all(weights(held).values()) and "norebalance" not in held.ceph("osd dump")["flags_set"]
        copies, size = moved(before, places(held))
        told = said(shown.out)
        assert abs(told[0] - copies) <= max(2, 0.1 * copies) and abs(told[1] - size) <= max(2 << 20, 0.1 * size)
        assert "nothing changed" in held.run("saltmaster", "salt-run osd.fill").out


def test_the_plan_of_deploy_says_what_moves_where_nobody_waits(held: Product) -> None:
    """Without the setting new OSDs get data at once; what the plan said is what moves, however they are numbered."""
    held.run("saltmaster", f"sed -i '/hold_new_osds/d' {OWN}")
    with filled(held):
        before = places(held)
        held.session.verb("add", "node5", "--like", "node1")
        held.type("salt-run state.orch ceph.stage.prep")
        for command in ("discovery", "populate", "configure"):
            held.type(command_of(held, command))
        planned = held.run("saltmaster", "salt-run stage.plan deploy").out
        assert "2 new OSDs: with them" in planned
        held.type(command_of(held, "deploy"))
        held.run("saltmaster", QUICK)
        reported()
        until(lambda: held.whole(10), 600, "HEALTH_OK with two OSDs more")
        copies, _ = moved(before, places(held))
        assert abs(said(planned)[0] - copies) <= max(4, 0.25 * copies)


def command_of(product: Product, word: str) -> str:
    return next(command for command in product.way.commands if word in command)
