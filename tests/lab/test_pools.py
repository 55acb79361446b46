"""Pools with everything that the settings know; changed by name under load, and deleted by a name typed twice."""

import re
from collections.abc import Callable, Iterator

import pytest
from busy import until_seen
from product import DEPLOY, Product, reported, until
from test_settings import OWN, settings, written

from lab.containers import Done

pytestmark = pytest.mark.big
OBJECTS = 2000
MADE = """\
pools:
  kept: {application: rbd, size: 2, min_size: 1, pg_num: 32, autoscale: "off", nodelete: true,
         quota: {bytes: 10G, objects: 100000}, compression: {mode: aggressive, algorithm: zstd}}
"""
MORE = MADE.replace("size: 2, min_size: 1", "size: 3, min_size: 2").replace("objects: 100000", "objects: 0")
WIDER = MADE.replace("size: 2", "failure_domain: osd, size: 2").replace("nodelete: true", "nodelete: false")
# The balancer would move groups by itself, and what it placed moves once more than an estimate knows.
STILL = """
ceph balancer off
for group in $(ceph osd dump | awk '$1 == "pg_upmap_items" {print $2}'); do ceph osd rm-pg-upmap-items $group; done
"""
FILL = f"rados -p kept bench 300 write -b 65536 -t 16 --max-objects {OBJECTS} --no-cleanup >/dev/null"


@pytest.fixture(scope="module")
def filled(cluster: Product) -> Iterator[Product]:
    """The cluster with a pool in which there is something."""
    until(cluster.whole, 60, "HEALTH_OK")
    cluster.run("saltmaster", STILL)
    reported()
    until(cluster.whole, 120, "HEALTH_OK without what the balancer placed")
    with written(cluster, OWN, MADE):
        assert cluster.stage(DEPLOY).code == 0
        cluster.run("saltmaster", FILL)
    yield cluster
    cluster.run("saltmaster", "ceph osd pool set kept nodelete false", check=False)
    cluster.run("saltmaster", "salt-run pool.delete kept kept; ceph osd crush rule rm replicated_osd", check=False)
    cluster.run("saltmaster", "ceph balancer on")
    until(cluster.whole, 120, "HEALTH_OK without the pool")


def change(product: Product, words: str) -> Done:
    done = product.run("saltmaster", f"salt-run pool.{words}", check=False)
    assert "Traceback" not in done.out + done.err
    return done


def pool(product: Product) -> dict:
    return next(each for each in product.ceph("osd pool ls detail") if each["pool_name"] == "kept")


def places(product: Product) -> dict[str, tuple[set[int], int]]:
    """Where each of its groups' copies lie, and what it holds."""
    groups = product.ceph("pg ls-by-pool kept")["pg_stats"]
    return {group["pgid"]: (set(group["up"]), group["stat_sum"]["num_bytes"]) for group in groups}


def settled(product: Product) -> bool:
    groups = product.ceph("pg ls-by-pool kept")["pg_stats"]
    return all(group["up"] == group["acting"] and group["state"].startswith("active+clean") for group in groups)


def moved(before: dict, after: dict) -> tuple[int, int]:
    """Copies and bytes that lie elsewhere."""
    copies = {group: len(after[group][0] - before[group][0]) for group in after}
    return sum(copies.values()), sum(count * after[group][1] for group, count in copies.items())


def said(dry: str) -> tuple[int, int]:
    """Copies and bytes of a dry run's text."""
    found = re.search(r"about ([\d.]+) ([MG])iB of data move, in (\d+) copies", dry)
    assert found, dry
    return int(found[3]), int(float(found[1]) * {"M": 1 << 20, "G": 1 << 30}[found[2]])


def test_a_pool_is_made_with_all_that_the_settings_say(filled: Product) -> None:
    there = pool(filled)
    assert (there["size"], there["min_size"], there["pg_num"], there["pg_autoscale_mode"]) == (2, 1, 32, "off")
    assert (there["quota_max_bytes"], there["quota_max_objects"]) == (10 << 30, 100000)
    assert there["options"]["compression_mode"] == "aggressive" and "nodelete" in there["flags_names"]
    assert filled.run("saltmaster", "rbd create --size 8M kept/proof && rbd rm --no-progress kept/proof").code == 0
    with written(filled, OWN, MADE):
        assert "nothing changed" in filled.run("saltmaster", "salt-run pool.make").out
        assert "nothing changed" in change(filled, "change kept").out


def test_copies_are_added_under_load_and_what_moves_was_said(filled: Product, load: Callable) -> None:
    before, was = places(filled), pool(filled)
    with written(filled, OWN, MORE), load(filled, until_seen(filled), least=20) as busy:
        named = filled.run("saltmaster", "salt-run pool.make").out
        assert "pool kept: size is 2, not 3" in named and "pool.change kept" in named
        dry = change(filled, "change kept test=true")
        assert dry.code == 0 and "ceph osd pool set kept size 3" in dry.out and pool(filled) == was
        with busy.fault():
            assert change(filled, "change kept").code == 0
            reported()
            until(lambda: settled(filled), 600, "three copies of all")
        copies, data = moved(before, places(filled))
        told, size = said(dry.out)
        assert told == copies == 32 and abs(size - data) <= 0.1 * data
        there = pool(filled)
        assert (there["size"], there["min_size"], there["quota_max_objects"]) == (3, 2, 0)
        assert "nothing changed" in change(filled, "change kept").out


def test_another_rule_moves_what_was_said(filled: Product) -> None:
    with written(filled, OWN, WIDER):
        before = places(filled)
        dry = change(filled, "change kept test=true")
        assert "osd crush rule create-replicated replicated_osd default osd" in dry.out
        assert change(filled, "change kept").code == 0
        reported()
        until(lambda: settled(filled), 600, "the rule's places")
        assert said(dry.out)[0] == moved(before, places(filled))[0]
        assert "nothing changed" in change(filled, "change kept").out


def test_a_pool_that_is_needed_stays_and_another_is_deleted_by_its_name_twice(filled: Product) -> None:
    before = settings(filled)
    with written(filled, OWN, MADE):
        done = change(filled, "delete kept kept")
        assert (done.code, "the settings, or a service, name it" in done.out) == (2, True)
    filled.run("saltmaster", "ceph osd pool set kept nodelete true")
    assert "it is nodelete" in change(filled, "delete kept kept").out
    filled.run("saltmaster", "ceph osd pool set kept nodelete false")
    dry = change(filled, "delete kept test=true")
    assert dry.code == 0 and "would delete pool kept (rbd)" in dry.out
    assert change(filled, "delete kept").code == change(filled, "delete kept kep").code == 2
    assert "kept" in filled.ceph("osd pool ls")
    assert change(filled, "delete kept kept").code == 0
    assert "kept" not in filled.ceph("osd pool ls") and settings(filled) == before
