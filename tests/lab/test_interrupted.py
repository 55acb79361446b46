"""A deploy interrupted in every way: the same command again makes the cluster whole, no OSD twice, no number lost.

One lab for all of it; each test begins with bare hosts.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from product import DEPLOY, STORAGE, Product, planned, until

from lab.bare import make_bare
from lab.containers import Done

# A program of the OSD maker that at its first call with these words does what it is told: `$real "$@"` is the program,
# $PPID the maker, Salt's process with all its threads.
TRAP = r"""
cat >/usr/local/sbin/PROGRAM <<'END'
#!/bin/sh
real=$(PATH=/usr/sbin:/usr/bin:/sbin:/bin command -v PROGRAM)
case " $* " in
*" WORDS"*) mkdir /run/trapped 2>/dev/null || exec $real "$@"; WHAT ;;
*) exec $real "$@" ;;
esac
END
chmod 755 /usr/local/sbin/PROGRAM
"""
KILLED = "kill -9 $PPID"
FAULTS = {
    "after partitioning": ("sgdisk", "--clear", f'$real "$@"; {KILLED}'),
    "after osd new": ("ceph", "osd new", f'$real "$@"; {KILLED}'),
    "during mkfs": ("ceph-osd", "--mkfs", f'$real "$@" & sleep 0.2; kill -9 $!; {KILLED}'),
    "after mkfs": ("ceph-osd", "--mkfs", f'$real "$@"; {KILLED}'),
    "before enabling": ("systemctl", "enable ceph-osd@", KILLED),
    "with all of Salt": ("ceph-osd", "--mkfs", "systemctl kill --kill-whom=all --signal=KILL salt-minion"),
}


@pytest.fixture
def bare(torn: Product) -> Iterator[Product]:
    """A lab on which everything is configured and nothing deployed."""
    for host in STORAGE:
        torn.session.verb("mend", host)
    make_bare(torn.session)
    yield torn
    for host in STORAGE:
        torn.run(host, f"rm -rf /run/trapped {' '.join(f'/usr/local/sbin/{each[0]}' for each in FAULTS.values())}")


def trap(product: Product, host: str, fault: str) -> None:
    program, words, what = FAULTS[fault]
    product.run(host, TRAP.replace("PROGRAM", program).replace("WORDS", words).replace("WHAT", what))


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


def completed(product: Product) -> None:
    """The same command once more; every planned OSD is there once, with dense numbers, and no other key."""
    until(lambda: "False" not in product.run("saltmaster", "salt-run manage.down --out json").out, 60, "minions answer")
    again = product.stage(DEPLOY, check=False)
    assert again.code == 0, again.out
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


@pytest.mark.parametrize(
    "faults",
    [
        ("after osd new", "during mkfs", "with all of Salt"),
        pytest.param(("after partitioning", "after mkfs", "before enabling"), marks=pytest.mark.big),
    ],
    ids=", ".join,
)
def test_killed_while_it_makes_osds(bare: Product, faults: tuple[str, ...]) -> None:
    """On each node another fault, all in one run."""
    for host, fault in zip(STORAGE, faults, strict=True):
        trap(bare, host, fault)
    first = bare.stage(DEPLOY, check=False)
    assert first.code != 0
    for host in STORAGE:
        assert bare.run(host, "ls -d /run/trapped").out, "the fault happened"
        assert host in first.out
    assert not bare.whole()
    for host in STORAGE:
        bare.session.verb("mend", host)
    replanned(bare)
    completed(bare)


def replanned(product: Product) -> None:
    """What an interrupted run left on the disks is its OSDs' own: looked at and planned again, they stay."""
    before = {host: set(osds) for host, osds in planned(product).items()}
    until(lambda: product.stage("ceph.stage.discovery", check=False).code == 0, 120, "discovery ends well")
    (populate,) = (command for command in product.way.commands if "proposal.populate" in command)
    product.type(populate)
    assert {host: set(osds) for host, osds in planned(product).items()} == before
    product.stage("ceph.stage.configure")


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
