"""OSDs that ceph-volume made on logical volumes, bare and encrypted, of a cluster made by hand, seen by discovery."""

import json
from collections.abc import Callable, Iterator

import handmade
import pytest
from saltcli import salt_run

from lab.guest.guests import Guest
from lab.session import Session

pytestmark = pytest.mark.big
FSID = "3c1f0e52-7d6b-4b0a-8a39-6f2b8f0c9d11"
CEPH = "/srv/pillar/ceph"
DB, WAL = 30 << 30, 2 << 30
# One monitor; two OSDs whose DBs and WALs lie on one flash disk, the second encrypted.
BY_HAND = (
    """
set -e
name=old
cat >/etc/ceph/ceph.conf <<EOF
[global]
fsid = {fsid}
mon host = {address}
public network = {public}
[osd]
bluestore fsck on mkfs = false
EOF
"""
    + handmade.MONITOR.replace("{add}", "--add $name {address}")
    + """
systemctl start ceph-mon@$name
ceph --connect-timeout 60 -s
modprobe dm-crypt
pvcreate -q /dev/ubdc
vgcreate -q fast /dev/ubdc
for at in 0 1; do
    lvcreate -q -L 30G -n db-$at fast
    lvcreate -q -L 2G -n wal-$at fast
done
ceph-volume lvm prepare --data /dev/ubdb --block.db fast/db-0 --block.wal fast/wal-0
ceph-volume lvm prepare --dmcrypt --data /dev/ubdd --block.db fast/db-1 --block.wal fast/wal-1
pvcreate -q /dev/ubde
vgcreate -q strange /dev/ubde
lvcreate -q -L 1G -n volume strange
"""
)


@pytest.fixture(scope="module")
def old(tiny: Session, guest: Callable[..., Guest]) -> Iterator[Guest]:
    """A guest with that cluster, a minion of `tiny`'s master and the only one that is ours."""
    made = guest("lvm1", disks=("1T", "200G", "1T", "100G"), cluster="tiny", memory=2048)
    made.run(BY_HAND.format(fsid=FSID, address=made.address, public="192.168.144.0/24"), limit=500)
    tiny.run("saltmaster", f"rm -rf {CEPH}; mkdir -p {CEPH}; echo 'ceph_minions: lvm1' >{CEPH}/minions.sls")
    tiny.run("saltmaster", "salt -t 120 lvm1 saltutil.sync_all refresh=True")
    yield made
    tiny.run("saltmaster", f"rm -rf {CEPH}")


def test_osds_on_logical_volumes_are_part_of_the_answer(tiny: Session, old: Guest) -> None:
    told = tiny.run("saltmaster", "salt-run discovery.collect").out
    assert f"fsid {FSID}, public_network 192.168.144.0/24, cluster_network 192.168.144.0/24" in told
    shown = salt_run(tiny, "proposal.peek", "db=180-190").data["hosts"]["lvm1"]
    known = {osd["uuid"]: osd["osd"] for osd in json.loads(old.run("ceph --format json osd dump").out)["osds"]}
    osds = {osd["data"]: osd for osd in shown["osds"]}
    assert {osd["uuid"] for osd in shown["osds"]} == set(known)
    assert all(osd["existing"] for osd in shown["osds"])
    assert {disk: osds[disk]["encryption"] for disk in osds} == {"/dev/ubdb": None, "/dev/ubdd": "dmcrypt"}
    for osd in shown["osds"]:
        assert (osd["db"], osd["wal"], osd["db_size"], osd["wal_size"]) == ("/dev/ubdc", "/dev/ubdc", DB, WAL)
    reasons = {disk["id"]: disk["reason"] for disk in shown["disks"]}
    assert "LVM member of strange" in reasons["/dev/ubde"]


def test_where_on_its_disk_each_part_begins(tiny: Session, old: Guest) -> None:
    """What is stored is where the volume's first byte lies: read from the disk itself."""
    stored = json.loads(tiny.run("saltmaster", f"cat {CEPH}/inventory/lvm1.json").out)
    parts = {(osd["id"], osd["role"]): (disk["device"], osd) for disk in stored["ceph_disks"] for osd in disk["osds"]}
    assert len(parts) == 6
    device, db = parts[0, "db"]
    there = old.run(f"dd if={device} bs=4096 skip={db['offset'] // 4096} count=1 2>/dev/null | sha256sum").out
    assert there == old.run("dd if=/dev/fast/db-0 bs=4096 count=1 2>/dev/null | sha256sum").out


def test_the_key_of_an_encrypted_osd_stays_on_its_host(tiny: Session, old: Guest) -> None:
    tags = old.run("lvs --noheadings -o lv_tags fast/db-1").out
    key = next(tag.split("=", 1)[1] for tag in tags.split(",") if tag.startswith("ceph.cephx_lockbox_secret="))
    assert len(key) == 40
    found = tiny.run("saltmaster", f"grep -rlF '{key}' {CEPH} /var/cache/salt/master", check=False)
    assert (found.code, found.out) == (1, "")
    tiny.run("saltmaster", f"echo '{key}' >{CEPH}/planted")
    assert tiny.run("saltmaster", f"grep -rlF '{key}' {CEPH}").out.strip() == f"{CEPH}/planted"
