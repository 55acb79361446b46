"""File systems with real clients: what one writes another reads, also after the active metadata server was killed."""

from collections.abc import Callable

from busy import SLACK, ceph_seconds
from product import Product, until

FUSE = "ceph-fuse -n client.cephfs.client1"
TEXT = "written before its metadata server was killed"


def test_every_file_system_has_a_server_and_there_is_a_standby(served: Product) -> None:
    assert {one["name"] for one in served.ceph("fs ls")} == {"cephfs", "archive"}
    assert all(_active(served, name) for name in ("cephfs", "archive"))
    assert len(served.ceph("fs dump")["standbys"]) == 1


def test_what_one_client_writes_another_reads_after_the_active_server_was_killed(
    served: Product, load: Callable
) -> None:
    for name in ("one", "two"):
        served.run("client1", f"mkdir -p /mnt/{name}; {FUSE} --client_fs cephfs /mnt/{name}")
    try:
        served.run("client1", f"echo '{TEXT}' >/mnt/one/file; sync -f /mnt/one/file")
        assert served.run("client1", "cat /mnt/two/file").out.strip() == TEXT
        (active,) = _active(served, "cephfs")
        longest = ceph_seconds(served, "mds_beacon_grace", "mds_reconnect_timeout") + SLACK
        with load(served, longest, least=30) as busy, busy.fault():
            served.run(active, f"systemctl kill --signal=KILL ceph-mds@{active}; systemctl stop ceph-mds@{active}")
            until(lambda: _active(served, "cephfs") not in ([], [active]), 120, "no standby became active")
            seen = busy.operations()["cephfs"]
            until(lambda: busy.operations()["cephfs"] > seen, 120, "its clients go on")
        assert served.run("client1", "cat /mnt/two/file").out.strip() == TEXT
        served.run("client1", "echo more >>/mnt/two/file; sync -f /mnt/two/file")
        assert served.run("client1", "tail -1 /mnt/one/file").out.strip() == "more"
        # The stage again brings back what was stopped, and says so.
        done = served.stage("ceph.stage.cephfs")
        assert "ceph-service-mds-running" in done.out
        until(lambda: len(served.ceph("fs dump")["standbys"]) == 1, 60, f"{active} did not come back")
    finally:
        served.run("client1", "umount /mnt/one /mnt/two", check=False)


def test_an_erasure_coded_file_system_holds_files(served: Product) -> None:
    pools = {pool["pool_name"]: pool for pool in served.ceph("osd pool ls detail")}
    assert pools["archive_data_ec"]["erasure_code_profile"]
    layout = "import os; os.setxattr('/mnt/ec/cold', 'ceph.dir.layout.pool', b'archive_data_ec')"
    served.run("saltmaster", "mkdir -p /mnt/ec; ceph-fuse --client_fs archive /mnt/ec")
    try:
        served.run("saltmaster", f'mkdir -p /mnt/ec/cold; python3 -c "{layout}"')
        served.run("saltmaster", f"echo '{TEXT}' >/mnt/ec/cold/file; sync -f /mnt/ec/cold/file")
    finally:
        served.run("saltmaster", "umount /mnt/ec", check=False)
    assert served.run("saltmaster", "rados -p archive_data_ec ls").out.strip()
    served.run("client1", f"mkdir -p /mnt/ec; {FUSE} --client_fs archive /mnt/ec")
    try:
        assert served.run("client1", "cat /mnt/ec/cold/file").out.strip() == TEXT
    finally:
        served.run("client1", "umount /mnt/ec", check=False)


def test_a_client_reaches_file_systems_and_nothing_else(served: Product) -> None:
    key = "ceph --name client.cephfs.client1 --connect-timeout 10"
    assert served.run("client1", f"{key} fs ls", check=False).code == 0  # its key is good
    assert served.run("client1", f"{key} osd pool ls detail; {key} auth ls", check=False).code != 0
    pools = "rados --name client.cephfs.client1 -p device_health_metrics ls"
    assert served.run("client1", pools, check=False).code != 0


def _active(product: Product, name: str) -> list[str]:
    (found,) = (one["mdsmap"] for one in product.ceph("fs dump")["filesystems"] if one["mdsmap"]["fs_name"] == name)
    return [one["name"] for one in found["info"].values() if one["state"] == "up:active"]
