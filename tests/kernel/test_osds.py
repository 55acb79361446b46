"""OSDs on logical volumes, with dmcrypt, and on partitions, where the kernel has device-mapper and udev: made by the
product's own states, found again after a restart, made once whatever was killed.
"""

import json
import shlex
from collections.abc import Callable

import pytest
from alone import Cluster, until

from lab.guest.guests import Guest

pytestmark = pytest.mark.big
GIB = 1 << 30
UUIDS = {
    name: f"6b0c2b1e-0000-4000-8000-0000000000{number}"
    for name, number in (("bare", 11), ("crypt", 12), ("raw", 13), ("next", 14))
}
FAST = "/dev/ubde"  # 200 GB: DB and WAL of the LVM OSDs; the raw OSD has its own
# Once, when `ceph-osd --mkfs` begins, the maker, Salt's process, and `ceph-volume` are gone: devices are encrypted
# and open, number and keys registered, no label is written.
TRAP = r"""
cat >/usr/local/bin/ceph-osd <<'END'
#!/bin/sh
case " $* " in *" --mkfs "*) ;; *) exec /usr/bin/ceph-osd "$@" ;; esac
mkdir /run/trapped; rm "$0"
pkill -9 -f 'salt-call.*ceph.cluster.osd'; kill -9 $PPID
END
chmod 755 /usr/local/bin/ceph-osd
"""
SIZES = {"db": 30 * GIB, "wal": 2 * GIB}


@pytest.fixture(scope="module")
def cluster(guest: Callable[..., Guest]) -> Cluster:
    """A guest with three hard disks and an SSD of a kind, and a monitor."""
    made = Cluster(guest("osds", disks=("1T", "1T", "1T", "200G", "100G"), memory=2048))
    made.begin()
    return made


def profile(data: str, name: str, fast: str | None = FAST, **more: object) -> dict[str, dict]:
    """An OSD as a profile has it."""
    parts = {"db": fast, "db_size": SIZES["db"], "wal": fast, "wal_size": SIZES["wal"]} if fast else {}
    return {f"/dev/{data}": {"format": "bluestore", "uuids": [UUIDS[name]], **parts, **more}}


def as_planned(cluster: Cluster, name: str) -> dict:
    """Where an OSD lies by the host's word, which must be the cluster's too."""
    report = cluster.call("osd.report")
    osd = report["osds"][UUIDS[name]]
    metadata = next(one for one in cluster.ceph("osd metadata") if one["id"] == osd["id"])
    labels = {"data": "bluestore_bdev", "db": "bluefs_db", "wal": "bluefs_wal"}
    for role, part in osd["parts"].items():
        assert metadata[f"{labels[role]}_partition_path"] == part["node"]
        assert part["size"] == SIZES.get(role, part["size"])
    assert sorted(osd["parts"]) == sorted(labels)
    return osd


def test_a_disk_with_one_sector_that_cannot_be_read_is_not_called_clean(cluster: Cluster) -> None:
    """The kernel's target `error` lies 4 MiB from the beginning: wipefs and blkid find no file system, and end well."""
    rest = int(cluster.run("blockdev --getsz /dev/ubdf").out) - 8200
    table = f"0 8192 linear /dev/ubdf 0\n8192 8 error\n8200 {rest} linear /dev/ubdf 8200\n"
    cluster.run(f"mkfs.ext4 -q /dev/ubdf 1G; dmsetup create failing <<'END'\n{table}END")
    try:
        assert cluster.call("disks.signatures", "/dev/ubdf") == ["ext4"]
        assert cluster.run("wipefs --no-act /dev/mapper/failing; blkid -p /dev/mapper/failing", check=False).out == ""
        asked = cluster.run("salt-call --config-dir=/host disks.signatures /dev/mapper/failing", check=False)
        assert "Input/output error" in asked.out + asked.err
    finally:
        cluster.run("dmsetup remove failing; wipefs --all --quiet /dev/ubdf")
    assert cluster.call("disks.signatures", "/dev/ubdf") == []


def test_the_way_is_lvm_where_the_kernel_has_device_mapper(cluster: Cluster) -> None:
    disks = {**cluster.disk("ubdb"), **cluster.disk("ubde")}
    cluster.tell(osds=profile("ubdb", "bare", **{"class": "nvme"}), disks=disks)
    assert [osd["method"] for osd in cluster.call("osd.plan")] == ["lvm"]
    (would,) = (
        state["changes"]
        for state in cluster.apply("ceph.cluster.osd", test=True).values()
        if "OSD would" in state["comment"]
    )
    assert would == {
        UUIDS["bare"]: "make: data on /dev/ubdb, db on /dev/ubde (30.0 GiB), wal on /dev/ubde (2.0 GiB) (lvm)"
    }
    assert cluster.run("wipefs -n /dev/ubdb /dev/ubde").out == ""


def test_an_osd_on_logical_volumes(cluster: Cluster) -> None:
    cluster.apply("ceph.cluster.osd")
    found = as_planned(cluster, "bare")
    assert {role: part["disk"] for role, part in found["parts"].items()} == {
        "data": "/dev/ubdb",
        "db": FAST,
        "wal": FAST,
    }
    volumes = json.loads(cluster.run("lvs --reportformat json -o vg_name,lv_name").out)["report"][0]["lv"]
    assert sorted((each["vg_name"], each["lv_name"]) for each in volumes) == [
        ("ceph-ubdb", f"osd-block-{UUIDS['bare']}"),
        ("ceph-ubde", f"osd-db-{UUIDS['bare']}"),
        ("ceph-ubde", f"osd-wal-{UUIDS['bare']}"),
    ]
    assert cluster.ceph("osd crush get-device-class osd.0")[0]["device_class"] == "nvme"


def test_an_encrypted_osd_killed_half_way_is_made_once(cluster: Cluster) -> None:
    """The maker dies with `ceph-volume`; the next run takes back what it did, and makes it under the same number."""
    cluster.tell(osds=profile("ubdc", "crypt", encryption="dmcrypt"), disks=cluster.disk("ubdc"))
    cluster.run(TRAP)
    assert cluster.run("salt-call --config-dir=/host state.apply ceph.cluster.osd", check=False).code != 0
    assert cluster.run("ls -d /run/trapped").out
    half = next(osd for osd in cluster.ceph("osd dump")["osds"] if osd["uuid"] == UUIDS["crypt"])
    assert (half["osd"], "new" in half["state"]) == (1, True)
    seen = cluster.call("disks.inspect")["inspected"].values()  # a populate that runs first leaves its places alone
    begun = {osd["role"] for disk in seen for osd in disk["osds"] if osd["fsid"] == UUIDS["crypt"]}
    assert begun == {"data", "db", "wal"}
    cluster.apply("ceph.cluster.osd")
    found = as_planned(cluster, "crypt")
    assert found["id"] == 1
    assert cluster.ceph("osd ls") == [0, 1]
    keys = [each["entity"] for each in cluster.ceph("auth ls")["auth_dump"]]
    assert [key for key in keys if key.startswith(("osd.", "client.osd-lockbox"))] == [
        "osd.0",
        "osd.1",
        f"client.osd-lockbox.{UUIDS['crypt']}",
    ]
    assert [each for each in cluster.ceph("config-key ls") if "luks" in each] == [f"dm-crypt/osd/{UUIDS['crypt']}/luks"]
    assert cluster.run("lsblk -rno TYPE | grep -c crypt").out.strip() == "3"
    assert cluster.run("ls -A /var/lib/ceph/bootstrap-osd/new").out == ""


def test_an_osd_on_partitions_where_the_site_says_so(cluster: Cluster) -> None:
    disks = {**cluster.disk("ubdd"), **cluster.disk("ubdf")}
    cluster.tell(osds=profile("ubdd", "raw", fast="/dev/ubdf"), disks=disks, method="raw")
    assert [osd["method"] for osd in cluster.call("osd.plan")] == ["lvm", "lvm", "raw"]
    cluster.apply("ceph.cluster.osd")
    found = as_planned(cluster, "raw")
    assert {part["node"] for part in found["parts"].values()} == {"/dev/ubdd1", "/dev/ubdf1", "/dev/ubdf2"}


def test_discovery_sees_whose_volumes_they_are(cluster: Cluster) -> None:
    seen = cluster.call("disks.inspect")["inspected"]
    osds = sorted((device, osd["role"], osd["fsid"]) for device, disk in seen.items() for osd in disk["osds"])
    lvm = [("/dev/ubdb", "data", UUIDS["bare"]), ("/dev/ubdc", "data", UUIDS["crypt"])]
    lvm += [(FAST, role, UUIDS[name]) for name in ("bare", "crypt") for role in ("db", "wal")]
    raw = [("/dev/ubdd", "data"), ("/dev/ubdf", "db"), ("/dev/ubdf", "wal")]
    assert osds == sorted([*lvm, *((device, role, UUIDS["raw"]) for device, role in raw)])
    assert "lockbox" not in json.dumps(seen)


def test_a_second_run_changes_nothing(cluster: Cluster) -> None:
    states = cluster.apply("ceph.cluster.osd")
    assert [state["changes"] for state in states.values() if state["changes"]] == []


def test_a_restarted_host_has_all_of_them_up_again_by_itself(cluster: Cluster) -> None:
    before = cluster.ceph("osd dump")
    cluster.restart()
    # What the monitor says first is the map from before: only a newer epoch tells of daemons that came up.
    made = {UUIDS[name] for name in ("bare", "crypt", "raw")}
    until(lambda: _up_since(cluster, before["epoch"]) == made, 400, "all OSDs up in a newer epoch")
    for name in ("bare", "crypt", "raw"):
        as_planned(cluster, name)
    assert cluster.run("lsblk -rno TYPE | grep -c crypt").out.strip() == "3"


def test_an_osd_given_up_leaves_its_slot_and_number_to_the_next_disk(cluster: Cluster) -> None:
    fast = f"ceph-ubde/osd-{{}}-{UUIDS['bare']}"
    cluster.call("osd_retire.stop", "0", UUIDS["bare"])
    # What a manager, of which there is none here, tells the monitors to do when it is asked to destroy an OSD.
    cluster.run("ceph osd destroy-actual 0 --yes-i-really-mean-it")
    freed = cluster.call("osd_retire.free", "0")["freed"]
    assert sorted(freed) == [f"volume {fast.format('db')}", f"volume {fast.format('wal')}"]
    assert cluster.call("osd_retire.free", "0")["freed"] == []
    name = cluster.plug(10**12)
    del cluster.told["osds"]["/dev/ubdb"], cluster.told["disks"]["/dev/ubdb"]
    cluster.tell(osds=profile(name, "next", **{"class": "nvme"}), disks=cluster.disk(name), method="lvm")
    cluster.apply("ceph.cluster.osd")
    assert as_planned(cluster, "next")["id"] == 0
    assert cluster.ceph("osd ls") == [0, 1, 2]


def test_a_disk_whose_volumes_are_used_is_not_wiped(cluster: Cluster) -> None:
    for disk, group in (("ubdc", "of an encrypted OSD"), ("ubde", "of DBs and WALs")):
        seen = cluster.call("disks_wipe.inspect", f"/dev/{disk}")
        assert f"LVM member of ceph-{disk}" in seen["in_use"], group
        assert seen["group"] is None
        before = cluster.run(f"head -c 8M /dev/{disk} | sha256sum").out
        for claimed in (seen, {**seen, "in_use": [], "group": f"ceph-{disk}"}):
            assert "nothing is done" in cluster.run(_wiping(disk, claimed), check=False).err
        assert cluster.run(f"head -c 8M /dev/{disk} | sha256sum").out == before


def test_a_disk_of_an_osd_that_was_given_up_is_wiped_of_its_volumes(cluster: Cluster) -> None:
    seen = cluster.call("disks_wipe.inspect", "/dev/ubdb")
    assert (seen["in_use"], seen["group"], seen["fsids"]) == ([], "ceph-ubdb", [UUIDS["bare"]])
    (label,) = (osd["offset"] for osd in seen["osds"])
    assert "bluestore block device" in cluster.run(f"dd if=/dev/ubdb bs=1M skip={label >> 20} count=1 | strings").out
    cluster.run(_wiping("ubdb", seen))
    assert "bluestore" not in cluster.run(f"dd if=/dev/ubdb bs=1M skip={label >> 20} count=1 | strings").out
    after = cluster.call("disks_wipe.inspect", "/dev/ubdb")
    assert (after["signatures"], after["osds"], after["group"], after["fsids"]) == ([], [], None, [])
    assert cluster.run("vgs --noheadings --options vg_name").out.split().count("ceph-ubdb") == 0
    assert cluster.ceph("osd ls") == [0, 1, 2]


def _wiping(disk: str, seen: dict) -> str:
    """What the master calls once it has judged what was seen."""
    words = shlex.join([f"device=/dev/{disk}", f"seen={json.dumps(seen)}"])
    return f"salt-call --config-dir=/host --log-level=error disks_wipe.wipe {words}"


def _up_since(cluster: Cluster, epoch: int) -> set[str]:
    dump = cluster.ceph("osd dump")
    return {osd["uuid"] for osd in dump["osds"] if osd["up"] and osd["up_from"] > epoch}
