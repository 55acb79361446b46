"""A cluster whose storage hosts have a kernel of their own, by the whole guide: bonds with a VLAN, OSDs on logical
volumes, encrypted on stor2, two on one device on stor3, whose network is NetworkManager's. Frames of 1500 bytes: what
lies between guests takes no larger ones; those of 9000 go as far as the switch.
"""

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Callable

import pytest
import yaml
from busy import until_seen
from interruption import trap, untrap
from minion import UNDO, Host
from product import DEPLOY, PILLAR, Product, until
from saltcli import salt_run

from lab.fixtures import lab_command
from lab.guest import guests, hosts, process
from lab.session import Session
from lab.store import find

pytestmark = pytest.mark.big
STORAGE, MONITORS = ("stor1", "stor2", "stor3"), ("mon1", "mon2", "mon3")
OSDS = {"stor1": 3, "stor2": 2, "stor3": 2}
SLOW = 300  # seconds in which a host that was changed or restarted has all its OSDs up and whole again
PEERING = 60  # seconds beyond Ceph's own limits: a guest is about seven times slower than a host
AGAIN = "ceph.stage.discovery"  # where the guide is begun again after a change
# As an admin would have installed it: an address on p1, and nothing of systemd-networkd.
NETWORKMANAGER = """
set -e
cat >/etc/NetworkManager/conf.d/ports.conf <<END
[main]
no-auto-default=*
[device-ports]
match-device=interface-name:p*
managed=1
END
install -m 600 /dev/stdin /etc/NetworkManager/system-connections/p1.nmconnection <<END
[connection]
id=p1
type=ethernet
interface-name=p1
[ipv4]
method=manual
address1={}/24
END
rm /etc/systemd/network/10-p1.network
systemctl disable --now systemd-networkd.socket systemd-networkd.service
systemctl enable --now NetworkManager
nmcli --wait 30 connection up p1
"""
FOREIGN = """
set -e
pvcreate -q /dev/{disk}
vgcreate -q ceph-old /dev/{disk}
lvcreate -q -l 100%FREE -n osd-block-{osd} ceph-old
lvchange -q --addtag ceph.cluster_fsid={fsid} --addtag ceph.osd_fsid={osd} --addtag ceph.osd_id=99 \
    --addtag ceph.type=block --addtag ceph.encrypted=0 ceph-old/osd-block-{osd}
mkdir /tmp/old
ln -s /dev/ceph-old/osd-block-{osd} /tmp/old/block
ceph-osd --mkfs -i 99 --osd-uuid {osd} --fsid {fsid} --osd-data /tmp/old --no-mon-config --bluestore-fsck-on-mkfs=false
rm -r /tmp/old
"""
OLD = {"fsid": "3c1f0e52-7d6b-4b0a-8a39-6f2b8f0c9d11", "osd": "6b0c2b1e-0000-4000-8000-000000000099"}
DEPLOYS = "/var/log/halocline/deploy-*.jsonl"
AUDIT = "cat /var/log/ceph/ceph.audit.log"  # every command that the monitors and managers were given
UNUSED = "for disk in ubdb ubdc ubdd; do [ $(lsblk -no NAME /dev/$disk | wc -l) -gt 1 ] || echo $disk; done"
PLAIN = "salt-run proposal.populate name=plain target=stor1 data=890- migrate=true"  # as the guide has it, and moving
TOOL = "/usr/local/bin/ceph-bluestore-tool"  # before /usr/bin in the path
BROKEN = """\
#!/bin/sh
case "$*" in *bluefs-bdev-migrate*) rm "$0"; /usr/bin/ceph-bluestore-tool "$@"; exit 5;; esac
exec /usr/bin/ceph-bluestore-tool "$@"
"""
JUMBO = """
set -e
trap 'ip link del jumbo; ip link set bond0 mtu 1500' EXIT
ip link set bond0 mtu 9000
ip link add link bond0 name jumbo mtu 9000 type vlan id 3001
ip address add 10.30.1.1/24 dev jumbo
ip link set jumbo up
ping -c 3 -W 2 -M do -s 8972 10.30.1.254
! ping -c 1 -W 2 -M do -s 8973 10.30.1.254
"""


@pytest.fixture(scope="module")
def cluster(own_lab: Callable[[str], Session]) -> Product:
    """That cluster; its first deploy was cut on stor1, in the middle of an OSD."""
    product = Product(own_lab("guests"), "guests")
    if product.run("saltmaster", f"test -e {PILLAR}/current", check=False).code == 0:
        return product  # kept from an earlier session, which typed the guide
    product.run("stor3", NETWORKMANAGER.format(guests.find("stor3").address))
    product.write(f"{PILLAR}/stack/ceph/cluster.yml", "ceph: {network: {seconds: 90}}\n")
    product.guide(end=DEPLOY)
    trap(product, "stor1", "during mkfs")
    product.stage(DEPLOY, check=False)
    product.run("stor1", "ls -d /run/trapped")
    untrap(product, "stor1")
    product.guide(begin=DEPLOY)
    # Ceph keeps the longest heartbeat of a quarter of an hour in its health; guests that start are slow with them.
    product.run("saltmaster", "ceph config set global mon_warn_on_slow_ping_time 20000")
    return product


def whole(cluster: Product) -> bool:
    return cluster.whole(sum(OSDS.values()), MONITORS)


def again(cluster: Product) -> None:
    """Type the guide again from discovery on."""
    cluster.guide(begin=AGAIN)
    until(lambda: whole(cluster), SLOW, "HEALTH_OK, all OSDs up and in")


def test_a_deploy_that_was_cut_names_the_host_and_the_next_one_ends_well(cluster: Product) -> None:
    """By the log of the first deploy, which is there also where the cluster was kept from an earlier session."""
    records = list(map(json.loads, cluster.run("saltmaster", f"cat $(ls {DEPLOYS} | head -1)").out.splitlines()))
    assert (records[-1]["event"], records[-1]["result"]) == ("end", "failed")
    left = [line.partition(": ")[0] for line in records[-1]["summary"] if "left out: failed in" in line]
    assert left == ["stor1"]
    until(lambda: whole(cluster), SLOW, "HEALTH_OK, all OSDs up and in")


def test_each_osd_lies_on_logical_volumes_as_proposed(cluster: Product) -> None:
    lines = salt_run(cluster.session, "osd.report").data["osds"]
    assert [line["problems"] for line in lines] == [[]] * sum(OSDS.values())
    assert Counter(line["host"] for line in lines) == OSDS
    disks = {host: {line["data"] for line in lines if line["host"] == host} for host in STORAGE}
    assert {host: len(each) for host, each in disks.items()} == {"stor1": 3, "stor2": 2, "stor3": 1}
    assert all(disk.startswith("/dev/disk/by-id/wwn-") for each in disks.values() for disk in each)
    for host, count in OSDS.items():
        kinds = Counter(cluster.run(host, "lsblk -rno TYPE,NAME | sort -u | cut -d' ' -f1").out.split())
        assert (kinds["lvm"], kinds["crypt"]) == (2 * count, 2 * count if host == "stor2" else 0)  # data and DB


def test_all_that_hosts_say_to_each_other_crosses_their_bonds(cluster: Product) -> None:
    """Salt's, Ceph's and the clients' traffic: no other port has an address, and both networks answer."""
    bonds = salt_run(cluster.session, "networks.bonds").data
    for host in STORAGE:
        assert {port: state["lacp"] for port, state in bonds[host]["bond0"]["ports"].items()} == {
            "p1": "63/63",
            "p2": "63/63",
        }
        _, links = Host(cluster.session, host).network()
        number = guests.find(host).address.rpartition(".")[2]
        assert links == {
            "p1": ("bond0",),
            "p2": ("bond0",),
            "bond0": (None, f"192.168.152.{number}"),
            "bond0.3002": (None, f"192.168.153.{number}"),
        }
    for osd in cluster.ceph("osd dump")["osds"]:
        assert osd["public_addr"].startswith("192.168.152.") and osd["cluster_addr"].startswith("192.168.153.")
    pings = salt_run(cluster.session, "networks.ping").data
    assert set(pings["cluster"]["matrix"]) == set(STORAGE) < set(pings["public"]["matrix"])


def test_jumbo_frames_go_as_far_as_the_switch(cluster: Product) -> None:
    cluster.run("stor1", JUMBO)


def test_another_clusters_osd_on_logical_volumes_is_left_alone(cluster: Product) -> None:
    disk = cluster.run("stor3", UNUSED).out.split()[0]
    cluster.run("stor3", FOREIGN.format(disk=disk, **OLD))
    look = f"for part in 'head -c 16M' 'tail -c 32k'; do $part /dev/{disk} | sha256sum; done; lvs -o lv_tags ceph-old"
    before, osds = cluster.run("stor3", look).out, cluster.ceph("osd ls")
    again(cluster)
    assert "another cluster's: " in cluster.answers[f"salt-run state.orch {AGAIN}"].out
    shown = salt_run(cluster.session, "proposal.peek", "target=stor3", "data=890-", "db=180-200").data
    reasons = sorted(one["reason"] for one in shown["hosts"]["stor3"]["disks"] if one["reason"])
    assert [reason.split(" (")[0] for reason in reasons] == ["another cluster's OSD", "mounted on /; holds ext4"]
    assert (cluster.run("stor3", look).out, cluster.ceph("osd ls")) == (before, osds)


def test_restarted_hosts_have_all_again_by_themselves(cluster: Product) -> None:
    until(lambda: whole(cluster), SLOW, "HEALTH_OK")
    before = cluster.ceph("osd dump")["epoch"]
    for verb in ("stop", "start"):
        for host in STORAGE:
            done = lab_command("kernel", verb, host)
            assert done.returncode == 0, done.stderr

    def back() -> bool:  # what the monitors say first is the map from before
        return all(osd["up"] and osd["up_from"] > before for osd in cluster.ceph("osd dump")["osds"])

    until(back, 2 * SLOW, "all OSDs up in a newer epoch")
    until(lambda: whole(cluster), SLOW, "HEALTH_OK with all hosts back")
    assert [line["problems"] for line in salt_run(cluster.session, "osd.report").data["osds"]] == [[]] * 7
    salt_run(cluster.session, "networks.bonds")


def test_a_replaced_disks_osd_has_its_number_again(cluster: Product, load: Callable) -> None:
    until(lambda: whole(cluster), SLOW, "HEALTH_OK")
    old = next(line for line in salt_run(cluster.session, "osd.report").data["osds"] if line["host"] == "stor1")
    lab, number = find("guests"), old["id"]
    host = lab.cluster.host("stor1")
    with load(cluster, until_seen(cluster) + PEERING, least=100) as busy, busy.fault():
        cluster.run("saltmaster", f"ceph osd out {number}")
        safe = f"ceph osd safe-to-destroy {number}"
        until(lambda: cluster.run("saltmaster", safe, check=False).code == 0, SLOW, f"osd.{number} is safe to destroy")
        cluster.run("saltmaster", f"salt-run osd.replace {number}")
        hosts.plug(lab, host, host.slots[0])
        again(cluster)
    (new,) = (line for line in salt_run(cluster.session, "osd.report").data["osds"] if line["id"] == number)
    assert (new["host"], new["db"], new["problems"]) == ("stor1", old["db"], [])
    assert new["uuid"] != old["uuid"] and new["data"] != old["data"]


def test_links_of_a_running_cluster_change_host_by_host(cluster: Product, load: Callable) -> None:
    """Bonds are made again with another rate of LACP: each when Ceph says ``ok-to-stop``, with ``noout`` meanwhile."""
    until(lambda: whole(cluster), SLOW, "HEALTH_OK")
    slow = tuple(command.replace("mtu=1500", "mtu=1500 lacp-rate=slow") for command in cluster.way.commands)
    cluster.way = dataclasses.replace(cluster.way, commands=slow)
    audited = len(cluster.run("mon1", AUDIT).out)
    with load(cluster, until_seen(cluster) + PEERING, least=100, errors=0) as busy, busy.fault():
        again(cluster)
    for host in STORAGE:
        bonding = cluster.run(host, "cat /proc/net/bonding/bond0").out
        assert "LACP rate: slow" in bonding and "Number of ports: 2" in bonding, host
    salt_run(cluster.session, "networks.bonds")
    audit = cluster.run("mon1", AUDIT).out[audited:]
    assert "osd ok-to-stop" in audit
    asked = re.findall(r'"osd (set|unset)-group".*?"(stor\d)".*?finished', audit)
    assert asked == [(what, host) for host in STORAGE for what in ("set", "unset")]
    assert cluster.ceph("osd dump")["crush_node_flags"] == {}


@pytest.mark.parametrize("by", ["the minion", "the timer", "the boot"])
def test_networkmanagers_change_that_loses_the_master_is_undone(cluster: Product, by: str) -> None:
    """As systemd-networkd's in test_networks: by the minion itself, where it is killed, and after a power failure."""
    host = Host(cluster.session, "stor3")
    assert host.run("systemctl is-active NetworkManager; systemctl is-active systemd-networkd || true").split() == [
        "active",
        "inactive",
    ]
    stored = f"{PILLAR}/proposals/network-guests/stack/default/ceph/minions/stor3.yml"
    links = yaml.safe_load(cluster.run("saltmaster", f"cat {stored}").out)["ceph"]["network"]["links"]
    links["bond0"]["addresses"] = ["10.66.0.1/24"]
    before = host.network()
    host.begin("ip -br address show bond0 | grep -q 10.66.0.1", **links)
    if by == "the timer":
        host.kill_minion()
        host.until(f"test -e {UNDO}/undone/reason", limit=150)
        host.run("systemctl start --no-block salt-minion")
    elif by == "the boot":
        process.kill(host.guest.folder)  # as a power failure does
        guests.boot(host.guest, find("guests"))
    host.undone(before)
    why = {
        "the minion": "does not answer over",
        "the timer": "not confirmed within",
        "the boot": "before the host went",
    }
    assert why[by] in host.salt("links_undo.undone")
    until(lambda: whole(cluster), 2 * SLOW, "HEALTH_OK with its network back")


@pytest.mark.parametrize(("words", "dedicated"), [("standalone=true", "0"), ("db=180-200 db-size=20g", "1")])
def test_dbs_on_logical_volumes_go_to_their_data_disks_and_come_again(
    cluster: Product, words: str, dedicated: str
) -> None:
    """Ceph's tool fails when all is written: the OSD runs where it lay, by its tags, and the same command goes on."""
    until(lambda: whole(cluster), SLOW, "HEALTH_OK")
    cluster.stage(AGAIN)
    cluster.run("saltmaster", f"{PLAIN} {words}")
    cluster.stage("ceph.stage.configure")
    cluster.run("stor1", f"cat >{TOOL} <<'END'\n{BROKEN}END\nchmod +x {TOOL}")
    failed = cluster.run("saltmaster", "salt-run osd.migrate", check=False, limit=1800)
    assert failed.code == 1 and "runs where it lay, its db was not moved" in failed.out + failed.err
    cluster.run("stor1", f"! test -e {TOOL}")
    cluster.run("saltmaster", "salt-run osd.migrate", limit=3600)
    until(lambda: whole(cluster), SLOW, "HEALTH_OK")
    lines = salt_run(cluster.session, "osd.report").data["osds"]
    assert [line["problems"] for line in lines] == [[]] * sum(OSDS.values())
    here = {line["id"] for line in lines if line["host"] == "stor1"}
    told = {osd["bluefs_dedicated_db"] for osd in cluster.ceph("osd metadata") if osd["id"] in here}
    assert len(here) == OSDS["stor1"] and told == {dedicated}
    volumes = cluster.run("stor1", "lvs --noheadings -o lv_name").out.split()
    assert sum(name.startswith("osd-db-") for name in volumes) == OSDS["stor1"] * int(dedicated)
    assert "nothing changed" in cluster.run("saltmaster", "salt-run osd.migrate").out
