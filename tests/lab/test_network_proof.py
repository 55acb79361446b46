"""The network's proof on a running lab: the matrix is right, and the host or port that is out of order is named."""

import json
from math import comb

import pytest

from lab.session import Session


def proved(session: Session, words: str) -> tuple[int, dict]:
    done = session.run("saltmaster", f"salt-run network.{words} --out json", check=False)
    return done.code, json.loads(done.out)


@pytest.fixture(scope="module")
def looked(tiny: Session) -> Session:
    """The lab `tiny` after discovery: every host on the public, all but the master on the cluster network."""
    for stage in ("prep", "discovery"):
        tiny.run("saltmaster", f"salt-run state.orch ceph.stage.{stage}")
    return tiny


def test_everyone_reaches_everyone(looked: Session) -> None:
    for words in ("ping", "jumbo"):
        code, found = proved(looked, words)
        assert code == 0, found
        hosts = len(looked.hosts)
        assert {kind: len(one["matrix"]) for kind, one in found.items()} == {"public": hosts, "cluster": hosts - 1}
        assert all(all(row.values()) for one in found.values() for row in one["matrix"].values())
    assert "salt-run" not in looked.run("saltmaster", "salt-run networks.ping").out


def test_a_host_that_is_cut_off_is_named(looked: Session) -> None:
    looked.run("node2", "ip link set eth1 down")
    code, found = proved(looked, "ping")
    looked.run("node2", "ip link set eth1 up")
    assert code == 1
    assert found["public"]["problems"] == []
    assert found["cluster"]["problems"] == ["node2: reaches and is reached by nobody: is it cut off?"]


def test_a_port_with_a_smaller_mtu_is_named(looked: Session) -> None:
    looked.run("node3", "ip link set eth1 mtu 1400")
    code, found = proved(looked, "jumbo")
    looked.run("node3", "ip link set eth1 mtu 1500")
    assert code == 1
    assert "node3: its eth1 has MTU 1400, and not 1500" in found["cluster"]["problems"]
    assert not any("node1" in line and "node2" in line for line in found["cluster"]["problems"])


def test_every_pair_is_measured_and_nothing_is_left_running(looked: Session) -> None:
    code, found = proved(looked, "iperf seconds=1 streams=4")
    assert code == 0 or found["public"]["problems"] == [], found
    hosts = len(looked.hosts)
    pairs = {"public": comb(hosts, 2), "cluster": comb(hosts - 1, 2)}
    assert {kind: len(one["rates"]) for kind, one in found.items()} == pairs
    assert all(rate > 10 for one in found.values() for rate in one["rates"].values())
    for host in looked.hosts:
        assert looked.run(host, "pgrep iperf3", check=False).code == 1, host


@pytest.mark.big
def test_the_guides_eight_hosts(lab) -> None:
    session = lab("apollo-slice")
    for stage in ("prep", "discovery"):
        session.run("saltmaster", f"salt-run state.orch ceph.stage.{stage}")
    for words in ("ping", "jumbo"):
        code, found = proved(session, words)
        assert code == 0, found
        assert {kind: len(one["matrix"]) for kind, one in found.items()} == {"public": 8, "cluster": 4}
    session.run("osdnode4", "ip link set eth1 down")
    code, found = proved(session, "ping")
    session.run("osdnode4", "ip link set eth1 up")
    assert code == 1 and found["cluster"]["problems"] == ["osdnode4: reaches and is reached by nobody: is it cut off?"]
    session.run("osdnode2", "ip link set eth0 mtu 1400")
    code, found = proved(session, "jumbo")
    session.run("osdnode2", "ip link set eth0 mtu 1500")
    assert code == 1 and "osdnode2: its eth0 has MTU 1400, and not 1500" in found["public"]["problems"]
    code, found = proved(session, "iperf seconds=1 streams=4")
    assert {kind: len(one["rates"]) for kind, one in found.items()} == {"public": 28, "cluster": 6}


def test_a_host_knows_whether_a_cluster_runs_on_it(cluster) -> None:
    """What decides whether networks change host by host: asked of real daemons, and of a host without any."""
    said = json.loads(cluster.run("saltmaster", "salt --static --out json '*' links.report").out)
    assert {host: one["daemons"] for host, one in said.items()} == {
        "saltmaster": False,
        "client1": False,
        **dict.fromkeys(("node1", "node2", "node3"), True),
    }
