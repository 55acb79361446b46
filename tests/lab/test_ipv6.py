"""A site without any IPv4: what Salt and Ceph speak on the hosts' networks is IPv6, from discovery's guess on."""

from collections.abc import Callable

import pytest
from clusters import SUBNETS
from product import STORAGE, Product, cluster_file, nothing_changed, until
from saltcli import salt_run

from lab.session import Session

pytestmark = pytest.mark.big
PLACES = {"saltmaster": 20, "node1": 31, "node2": 32, "node3": 33}
PUBLIC, CLUSTER = "fd00:c0de:1", "fd00:c0de:2"
NAMES = "".join(f"{PUBLIC}::{place} {name}.six.lab {name}\n" for name, place in PLACES.items())
# Addresses of IPv6 alone, and Salt by them; the lab itself goes by none.
SWITCHED = r"""
sysctl -qw net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.disable_ipv6=0
for port in $(ls /sys/class/net); do sysctl -qw net.ipv6.conf.$port.disable_ipv6=0; done
ip -6 addr add {public}::{place}/64 dev eth0 nodad
[ ! -e /sys/class/net/eth1 ] || ip -6 addr add {cluster}::{place}/64 dev eth1 nodad
for port in eth0 eth1; do [ ! -e /sys/class/net/$port ] || ip -4 addr flush dev $port; done
printf '127.0.0.1 localhost\n::1 localhost\n{names}' >/etc/hosts
for kind in master minion; do
    [ ! -d /etc/salt/$kind.d ] || printf 'ipv6: true\n' >/etc/salt/$kind.d/ipv6.conf
done
[ ! -d /etc/salt/master.d ] || printf "interface: '::'\n" >>/etc/salt/master.d/ipv6.conf
"""
RESTARTED = "systemctl is-active -q salt-master && systemctl restart salt-master; systemctl restart salt-minion"


@pytest.fixture(scope="module")
def six(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """Three hosts that have no address of IPv4 but 127.0.0.1, the guide typed on their master."""
    product = Product(own_lab(cluster_file(tmp_path_factory.mktemp("six"), "six", SUBNETS["six"])))
    for name, place in PLACES.items():
        said = SWITCHED.format(public=PUBLIC, cluster=CLUSTER, place=place, names=NAMES.replace("\n", "\\n"))
        product.run(name, said)
    for name in PLACES:
        product.run(name, RESTARTED)
    until(lambda: len(salt_run(product.session, "manage.up").data) == len(PLACES), 120, "all minions answer")
    product.guide()
    return product


def test_discovery_takes_the_hosts_networks(six: Product) -> None:
    told = six.answers["salt-run state.orch ceph.stage.discovery"].out
    assert f"public_network {PUBLIC}::/64, cluster_network {CLUSTER}::/64" in told


def test_the_cluster_is_whole_and_every_daemon_listens_there(six: Product) -> None:
    until(six.whole, 90, "HEALTH_OK, 3 monitors, 6 OSDs up and in, PGs active+clean")
    for mon in six.ceph("mon dump")["mons"]:
        place = PLACES[mon["name"]]
        told = [(each["type"], each["addr"]) for each in mon["public_addrs"]["addrvec"]]
        assert told == [("v2", f"[{PUBLIC}::{place}]:3300"), ("v1", f"[{PUBLIC}::{place}]:6789")]
    for osd in six.ceph("osd dump")["osds"]:
        for kind, network in (("public", PUBLIC), ("cluster", CLUSTER)):
            assert all(each["addr"].startswith(f"[{network}::") for each in osd[f"{kind}_addrs"]["addrvec"]), osd


def test_the_clocks_follow_the_masters_host(six: Product) -> None:
    for name in STORAGE:
        assert "saltmaster" in six.run(name, "chronyc -N sources").out


@pytest.mark.parametrize(
    "stage", ["ceph.stage.prep", "ceph.stage.discovery", "ceph.stage.configure", "ceph.stage.deploy"]
)
def test_a_second_run_changes_nothing(six: Product, stage: str) -> None:
    if stage == "ceph.stage.discovery":
        six.stage(stage)  # it sees the OSDs on the disks
    nothing_changed(six, stage)


def test_a_daemon_that_is_lost_comes_back_and_data_is_read(six: Product) -> None:
    six.run("node2", "systemctl stop ceph-mon@node2")
    six.stage("ceph.stage.deploy")
    until(six.whole, 90, "HEALTH_OK again")
    told = salt_run(six.session, "pool.quick_test", "seconds=5").data
    assert int(told["write"]["total_writes_made"]) > 0 and int(told["seq"]["total_reads_made"]) > 0
