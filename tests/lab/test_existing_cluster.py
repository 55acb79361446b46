"""A cluster that somebody made by hand, on a lab of its own: discovery takes it as it is, and guesses nothing."""

import json
import shlex
from collections.abc import Callable

import handmade
import pytest
import yaml
from bus import cost
from busy import until_seen
from product import PILLAR, Product, cluster_file, until
from saltcli import salt_run

from lab.session import Session

pytestmark = pytest.mark.big
FSID = "0b5d3b9e-2a55-4c5e-9d3f-5c8a5d6a7b01"
KEPT = f"{PILLAR}/proposals/config/stack/default/ceph/cluster.yml"
TAKEN = f"{PILLAR}/proposals/profile-taken/stack/default/ceph/minions/node1.yml"
DISCOVERY = "salt-run discovery.collect"
POPULATE = ["proposal.peek", "target=node*", "ratio=2", "db=180-200", "wal=180-200", "data=900-"]
POPULATE += ["db-size=30g", "wal-size=3g"]
# The steps of docs.ceph.com, install/manual-deployment: one monitor, one OSD with its DB and WAL on the SSD. The
# cluster knows one network, though the hosts have two.
BY_HAND = (
    r"""
set -e
name=node1
address=$(hostname -I | tr ' ' '\n' | grep '^{public}')
cat >/etc/ceph/ceph.conf <<EOF
[global]
fsid = {fsid}
mon host = $address
public network = {public}.0/24
[osd]
bluestore fsck on mkfs = false
EOF
"""
    + handmade.MONITOR.replace("{add}", "--add $name $address")
    + r"""
systemctl start ceph-mon@$name
ceph --connect-timeout 30 -s
ssd=/dev/$(lsblk -dno NAME,ROTA | awk '$2 == 0 {{print $1; exit}}')
hdd=/dev/$(lsblk -dno NAME,ROTA | awk '$2 == 1 {{print $1; exit}}')
sgdisk --new=1:0:+30G --new=2:0:+3G $ssd >/dev/null
for part in 1 2; do until [ -b ${{ssd}}p$part ]; do sleep 0.1; done; done
ceph-volume raw prepare --bluestore --data $hdd --block.db ${{ssd}}p1 --block.wal ${{ssd}}p2 2>&1 | tail -3
rm mon.keyring monmap
"""
)
# The same page's long form: a manager, and an OSD of one copy of everything, which clients can use.
IN_USE = r"""
set -e
ceph config set global mon_allow_pool_size_one true
ceph config set global osd_pool_default_size 1
folder=/var/lib/ceph/mgr/ceph-node1
mkdir -p $folder
ceph auth get-or-create mgr.node1 mon 'allow profile mgr' osd 'allow *' mds 'allow *' >$folder/keyring
chown -R ceph:ceph $folder
systemctl start ceph-mgr@node1
disk=/dev/$(lsblk -dno NAME,ROTA | awk '$2 == 1 && ++found == 2 {print $1}')
sgdisk --new=1:0:0 $disk >/dev/null
until [ -b ${disk}p1 ]; do sleep 0.1; done
fsid=$(cat /proc/sys/kernel/random/uuid) key=$(ceph-authtool --gen-print-key)
id=$(echo "{\"cephx_secret\": \"$key\"}" | ceph osd new $fsid -i -)
folder=/var/lib/ceph/osd/ceph-$id
umount $folder 2>/dev/null || true  # where ceph-volume prepared the one that is forgotten by now
rm -rf $folder
mkdir -p $folder
ceph-authtool --create-keyring $folder/keyring --name osd.$id --add-key $key
ln -s ${disk}p1 $folder/block
chown -R ceph:ceph $folder
chown ceph:ceph ${disk}p1
ceph-osd --id $id --mkfs --osd-uuid $fsid --osd-objectstore bluestore --setuser ceph --setgroup ceph
systemctl start ceph-osd@$id
"""
FILES = ("/etc/ceph/ceph.conf", "/etc/ceph/ceph.client.admin.keyring")


@pytest.fixture(scope="module")
def byhand(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A lab with that cluster on node1, its master prepared, nothing looked at yet."""
    made = Product(own_lab(cluster_file(tmp_path_factory.mktemp("byhand"), "byhand", 172)))
    made.run("saltmaster", "salt-run state.orch ceph.stage.prep")
    made.run("node1", BY_HAND.format(fsid=FSID, public="192.168.172"))
    return made


def test_a_minion_outside_gets_no_job(byhand: Product) -> None:
    """Before discovery knows anyone: prep, discovery, peek and validation leave node3 alone."""
    byhand.run("saltmaster", f"mkdir -p {PILLAR}; echo \"ceph_minions: 'not node3'\" >{PILLAR}/minions.sls")
    try:
        assert cost(byhand.session, "salt node3 test.ping; salt node1 test.ping").minions == {"node1", "node3"}
        ours = {"node1", "node2", "saltmaster"}
        for stage in ("ceph.stage.0", "ceph.stage.1"):
            assert cost(byhand.session, f"salt-run state.orch {stage}").minions == ours, stage
        assert cost(byhand.session, shlex.join(["salt-run", *POPULATE])).minions == set()
        assert byhand.run("saltmaster", f"ls {PILLAR}/inventory").out.split() == [
            "node1.json",
            "node2.json",
            "saltmaster.json",
        ]
    finally:
        byhand.run("saltmaster", f"rm -rf {PILLAR}/minions.sls {PILLAR}/inventory {PILLAR}/proposals")


def test_two_clusters_are_not_chosen_from(byhand: Product) -> None:
    """A second cluster's label on a disk: nothing is written, both are named with their places."""
    disk = byhand.run("node2", "lsblk -dno NAME,ROTA | awk '$2 == 1 {print $1; exit}'").out.strip()
    byhand.session.verb("dirty", "node2", disk, "ceph")
    before = byhand.written()
    done = byhand.run("saltmaster", DISCOVERY, check=False)
    stage = byhand.stage("ceph.stage.discovery", check=False)
    assert (done.code, stage.code) == (2, 1)
    assert "2 clusters are found" in done.out and f"{FSID} (node1 " in done.out and "(node2 /dev/" in done.out
    assert "Traceback" not in done.out + done.err + stage.out + stage.err
    assert byhand.written() == before
    byhand.notes["spoiled"] = disk
    byhand.run("node2", f"wipefs -aq /dev/{disk}; dd if=/dev/zero of=/dev/{disk} bs=1M count=4 2>/dev/null")


def test_its_fsid_networks_and_osd_are_taken(byhand: Product) -> None:
    told = byhand.run("saltmaster", DISCOVERY).out
    kept = yaml.safe_load(byhand.run("saltmaster", f"cat {KEPT}").out)
    one = "192.168.172.0/24"
    assert kept == {"fsid": FSID, "public_network": one, "cluster_network": one}
    assert f"fsid {FSID}, public_network {one}, cluster_network {one}" in told
    (osd,) = _osds(byhand, "node1")
    (known,) = json.loads(byhand.run("node1", "ceph --format json osd dump").out)["osds"]
    assert osd["uuid"] == known["uuid"]
    assert (osd["db_size"], osd["wal_size"]) == (30 << 30, 3 << 30)


def test_beside_ours_another_clusters_disk_is_unused(byhand: Product) -> None:
    """By now it is known which cluster is ours: the other is named and left alone."""
    disk = byhand.notes["spoiled"]
    byhand.session.verb("dirty", "node2", disk, "ceph")
    told = byhand.run("saltmaster", DISCOVERY).out
    assert "another cluster's: " in told and "(node2 /dev/" in told
    shown = salt_run(byhand.session, *POPULATE).data["hosts"]["node2"]
    reasons = [one["reason"] for one in shown["disks"] if one["reason"]]
    assert len(reasons) == 1 and reasons[0].startswith("another cluster's OSD")


def test_an_osd_that_the_cluster_does_not_know_is_an_orphan(byhand: Product) -> None:
    """Forgotten by the cluster, its disk is not given away: unused, with the way to free it."""
    byhand.run("node1", "ceph osd purge-new 0 --yes-i-really-mean-it")
    byhand.run("saltmaster", DISCOVERY)
    shown = salt_run(byhand.session, *POPULATE).data
    assert not [osd for osd in shown["hosts"]["node1"]["osds"] if osd["existing"]]
    reasons = " ".join(one["reason"] or "" for one in shown["hosts"]["node1"]["disks"])
    assert "which is orphan: free it with disk.wipe" in reasons


# One that would take node1 over: all its roles, its own disks.
POLICY = """\
cluster-ceph/cluster/*.sls
role-master/cluster/salt*.sls
role-admin/cluster/*.sls
role-mon/cluster/node*.sls
role-mgr/cluster/node*.sls
config/stack/default/global.yml
config/stack/default/ceph/cluster.yml
profile-taken/cluster/*.sls
profile-taken/stack/default/ceph/minions/*.yml
"""


@pytest.fixture
def used(byhand: Product) -> Product:
    """That cluster with an OSD and a manager that run, and its admin's files on the master, where its clients work."""
    byhand.run("node1", IN_USE)
    for path in FILES:
        byhand.write(path, byhand.run("node1", f"cat {path}").out)

    def serves() -> bool:
        status = byhand.ceph("status")
        return bool(status["mgrmap"]["available"]) and status["osdmap"]["num_up_osds"] == 1

    until(serves, 120, "its manager and its OSD run")
    return byhand


def test_it_is_not_taken_over_while_its_clients_work(used: Product, load: Callable) -> None:
    """Its monitor, its admin's client and its disks in policy.cfg: refused before the first change, all as before."""
    used.run("saltmaster", DISCOVERY)
    used.run("saltmaster", " ".join(["salt-run proposal.populate name=taken", *POPULATE[1:]]), check=False)
    (running,) = used.ceph("osd dump")["osds"]
    assert running["uuid"] in used.run("saltmaster", f"cat {TAKEN}").out
    used.write(f"{PILLAR}/proposals/policy.cfg", POLICY)
    with load(used, until_seen(used), least=80, errors=0) as busy:
        assert busy.clients == ("rados", "rbd")
        before = _its(used)
        with busy.fault():
            done = used.stage("ceph.stage.configure", check=False)
            deployed = used.stage("ceph.stage.deploy", check=False)
        assert _its(used) == before
    assert done.code == 1 and "Traceback" not in done.out + done.err
    for entity in ("mon.", "client.admin", "client.bootstrap-osd"):
        assert f"{entity} is the key of a cluster that exists, and the master has none: node1 " in done.out, done.out
    assert used.run("saltmaster", f"ls {PILLAR}/keys/keys.json", check=False).code != 0
    assert deployed.code == 1 and "nothing is configured yet" in deployed.out


def _its(byhand: Product) -> tuple:
    """Keys, monitors, configuration of that cluster; what lies on every host and runs there."""
    told = [byhand.run("node1", f"ceph --format json {words}").out for words in ("auth ls", "mon dump", "config dump")]
    return *told, *(byhand.run(host, handmade.HASHES).out for host in ("node1", "saltmaster")), byhand.traces()


def _osds(byhand: Product, host: str) -> list[dict]:
    shown = salt_run(byhand.session, *POPULATE).data
    return [osd for osd in shown["hosts"][host]["osds"] if osd["existing"]]
