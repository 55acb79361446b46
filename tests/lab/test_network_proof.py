"""The network's proof on a running lab: the matrix is right, and the host or port that is out of order is named."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import comb

import pytest
from product import STORAGE, Product, until
from saltcli import salt, salt_run

from lab.session import Session


def proved(session: Session, words: str) -> tuple[int, dict]:
    """The exit status of a proof, and what it found on each network; the former stands among the latter if not 0."""
    done = salt_run(session, *f"networks.{words}".split(), check=False)
    assert "error" not in done.data, done.data
    return done.returncode, {kind: found for kind, found in done.data.items() if kind != "retcode"}


@pytest.fixture
def looked(cluster: Product) -> Iterator[Session]:
    """The first cluster, whole before and after: its OSDs speak on the ports that are cut and narrowed.

    Ceph keeps the slowest of its heartbeats in mind for a quarter of an hour (mon_warn_on_slow_ping_time): those of a
    cut would be a warning in all tests that come after.
    """
    cluster.run("saltmaster", "ceph config set global mon_warn_on_slow_ping_time 60000")  # ms
    until(cluster.whole, 60, "HEALTH_OK")
    yield cluster.session
    until(cluster.whole, 90, "HEALTH_OK with all ports as they were")


@contextmanager
def port(session: Session, host: str, broken: str, mended: str) -> Iterator[None]:
    """One of a host's ports as `broken` sets it; as `mended` afterwards."""
    session.run(host, f"ip link set {broken}")
    try:
        yield
    finally:
        session.run(host, f"ip link set {mended}")


def matrices(found: dict) -> dict[str, int]:
    """Hosts by network."""
    return {kind: len(network["matrix"]) for kind, network in found.items()}


def test_everyone_reaches_everyone(looked: Session) -> None:
    """All hosts on the public network, the storage nodes on the cluster network too."""
    for words in ("ping", "jumbo"):
        code, found = proved(looked, words)
        assert code == 0, found
        assert matrices(found) == {"public": len(looked.hosts), "cluster": len(STORAGE)}
        assert all(all(row.values()) for network in found.values() for row in network["matrix"].values())
    assert "salt-run" not in looked.run("saltmaster", "salt-run networks.ping").out


def test_a_host_that_is_cut_off_is_named(looked: Session) -> None:
    with port(looked, "node2", "eth1 down", "eth1 up"):
        code, found = proved(looked, "ping")
    assert code == 1
    assert found["public"]["problems"] == []
    assert found["cluster"]["problems"] == ["node2: reaches and is reached by nobody: is it cut off?"]


def test_a_port_with_a_smaller_mtu_is_named(looked: Session) -> None:
    with port(looked, "node3", "eth1 mtu 1400", "eth1 mtu 1500"):
        code, found = proved(looked, "jumbo")
    assert code == 1
    assert "node3: its eth1 has MTU 1400, and not 1500" in found["cluster"]["problems"]
    assert not any("node1" in line and "node2" in line for line in found["cluster"]["problems"])


def test_every_pair_is_measured_and_nothing_is_left_running(looked: Session) -> None:
    """A pair much slower than the others is a problem too, and on one machine a pair may be: named as that alone."""
    code, networks = proved(looked, "iperf seconds=1 streams=4")
    pairs = {"public": comb(len(looked.hosts), 2), "cluster": comb(len(STORAGE), 2)}
    assert {kind: len(network["rates"]) for kind, network in networks.items()} == pairs
    assert all(rate > 10 for network in networks.values() for rate in network["rates"].values())
    problems = [line for network in networks.values() for line in network["problems"]]
    assert code == (1 if problems else 0), networks
    for host in looked.hosts:
        assert looked.run(host, "pgrep iperf3", check=False).code == 1, host


@pytest.mark.big
def test_the_guides_eight_hosts(own_lab: Callable[[str], Session]) -> None:
    session = own_lab("apollo-slice")
    for stage in ("prep", "discovery"):
        session.run("saltmaster", f"salt-run state.orch ceph.stage.{stage}")
    for words in ("ping", "jumbo"):
        code, networks = proved(session, words)
        assert code == 0, networks
        assert {kind: len(one["matrix"]) for kind, one in networks.items()} == {"public": 8, "cluster": 4}
    session.run("osdnode4", "ip link set eth1 down")
    code, networks = proved(session, "ping")
    session.run("osdnode4", "ip link set eth1 up")
    assert code == 1 and networks["cluster"]["problems"] == [
        "osdnode4: reaches and is reached by nobody: is it cut off?"
    ]
    session.run("osdnode2", "ip link set eth0 mtu 1400")
    code, networks = proved(session, "jumbo")
    session.run("osdnode2", "ip link set eth0 mtu 1500")
    assert code == 1 and "osdnode2: its eth0 has MTU 1400, and not 1500" in networks["public"]["problems"]
    code, networks = proved(session, "iperf seconds=1 streams=4")
    assert {kind: len(one["rates"]) for kind, one in networks.items()} == {"public": 28, "cluster": 6}


def test_a_host_knows_whether_a_cluster_runs_on_it(cluster: Product) -> None:
    """What decides whether networks change host by host: asked of real daemons, and of a host without any."""
    said = salt(cluster.session, "*", "links.report").data
    assert {host: one["daemons"] for host, one in said.items()} == {
        "saltmaster": False,
        "client1": False,
        **dict.fromkeys(("node1", "node2", "node3"), True),
    }
