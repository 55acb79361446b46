"""A deploy interrupted in every way: the same command again makes the cluster whole, no OSD twice, no number lost.

The first cluster was made so; all other ways have a lab of their own, on which each test begins with bare hosts.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from clusters import SUBNETS
from interruption import FIRST, Interrupted, interrupted, replanned
from product import DEPLOY, STORAGE, Product, cluster_file, planned, until
from saltcli import salt_run

from lab.bare import make_bare
from lab.containers import Done
from lab.session import Session


@pytest.fixture(scope="module")
def torn(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A cluster like `tiny`, the guide typed up to deploy."""
    product = Product(own_lab(cluster_file(tmp_path_factory.mktemp("torn"), "torn", SUBNETS["torn"])))
    product.guide(end=DEPLOY)
    return product


@pytest.fixture
def bare(torn: Product) -> Product:
    """That lab: everything is configured and nothing deployed."""
    for host in STORAGE:
        torn.session.verb("mend", host)
    make_bare(torn.session)
    torn.stage("ceph.stage.discovery")  # disks that carried a cluster's OSDs, and no monitor's store: refused
    return torn


@contextmanager
def deploying(product: Product) -> Iterator[dict[str, Done]]:
    """Deploy while something happens; its answer is there when the `with` ends."""
    answer: dict[str, Done] = {}
    thread = threading.Thread(target=lambda: answer.update(done=product.stage(DEPLOY, check=False)))
    thread.start()
    try:
        yield answer
    finally:
        thread.join()


def makes_osds(product: Product, host: str) -> bool:
    """Whether a host without OSDs formats its first one."""
    return product.run(host, "pgrep -x ceph-osd", check=False).code == 0


def named_everywhere(answer: Interrupted) -> None:
    """It failed with a fault on each node, said all of their names, and left a cluster that was not whole."""
    assert answer.done.code != 0
    assert answer.happened == STORAGE
    assert all(host in answer.done.out for host in STORAGE)
    assert not answer.whole


def completed(product: Product) -> None:
    """The same command once more, and what has to be so then."""
    until(lambda: salt_run(product.session, "manage.down").data == [], 60, "minions answer")
    again = product.stage(DEPLOY, check=False)
    assert again.code == 0, again.out
    complete(product)


def complete(product: Product) -> None:
    """Every planned OSD is there once, with dense numbers, and no other key."""
    until(product.whole, 60, "HEALTH_OK after the second run")
    ids = product.ceph("osd ls")
    assert ids == list(range(6))
    keys = {each["entity"] for each in product.ceph("auth ls")["auth_dump"] if each["entity"].startswith("osd.")}
    assert keys == {f"osd.{osd_id}" for osd_id in ids}
    wanted = {uuid for osds in planned(product).values() for uuid in osds}
    assert {osd["uuid"] for osd in product.ceph("osd dump")["osds"]} == wanted
    for host in STORAGE:
        assert product.run(host, "ls -A /var/lib/ceph/bootstrap-osd/new", check=False).out == ""
        enabled = product.run(host, "ls /etc/systemd/system/ceph-osd.target.wants").out.split()
        assert len(enabled) == 2
    assert product.run("saltmaster", "salt-run osd.report").code == 0


def test_the_first_cluster_was_killed_while_it_made_osds(cluster: Product) -> None:
    """Before every other test: on each node another fault, all in one run; then the same command again."""
    if "interrupted" not in cluster.notes:
        pytest.skip("the cluster was kept from an earlier session")
    named_everywhere(cluster.notes["interrupted"])
    complete(cluster)


@pytest.mark.big
@pytest.mark.parametrize("faults", [FIRST, ("after partitioning", "after mkfs", "before enabling")], ids=", ".join)
def test_killed_while_it_makes_osds(bare: Product, faults: tuple[str, ...]) -> None:
    """The same on hosts that are bare again, and with the other faults."""
    named_everywhere(interrupted(bare, faults))
    replanned(bare)
    completed(bare)


@pytest.mark.big
def test_a_node_stopped_half_way(bare: Product) -> None:
    with deploying(bare) as answer:
        until(lambda: makes_osds(bare, "node2"), 120, "node2 makes OSDs")
        bare.session.verb("stop", "node2")
    assert answer["done"].code != 0
    assert "node2" in answer["done"].out
    bare.session.verb("start", "node2")
    completed(bare)


@pytest.mark.big
def test_the_master_killed(bare: Product) -> None:
    with deploying(bare) as answer:
        until(lambda: makes_osds(bare, "node2"), 120, "node2 makes OSDs")
        bare.run("saltmaster", "systemctl kill --signal=KILL salt-master; sleep 3; systemctl start salt-master")
    print(f"\nthe interrupted run ended with {answer['done'].code}")
    completed(bare)


@pytest.mark.big
def test_ctrl_c(bare: Product) -> None:
    with deploying(bare) as answer:
        until(lambda: makes_osds(bare, "node2"), 120, "node2 makes OSDs")
        bare.run("saltmaster", "kill -INT $(pgrep -of 'salt-run state.orch ceph.stage.deploy')")
    assert answer["done"].code != 0
    completed(bare)


@pytest.mark.big
def test_a_monitors_node_down_at_the_start_is_refused_by_name(bare: Product) -> None:
    bare.session.verb("stop", "node2")
    before = bare.traces(down="node2")
    done = bare.stage(DEPLOY, check=False)
    assert done.code != 0
    assert "node2" in done.out
    assert "Traceback" not in done.out + done.err
    assert bare.traces(down="node2") == before
    bare.session.verb("start", "node2")
    completed(bare)


@pytest.mark.big
def test_a_full_disk_on_a_monitors_node(bare: Product) -> None:
    bare.session.verb("fill", "node2", "/var/lib/ceph")
    done = bare.stage(DEPLOY, check=False)
    assert done.code != 0
    assert "node2" in done.out
    assert "Traceback" not in done.out + done.err
    bare.session.verb("mend", "node2")
    completed(bare)
