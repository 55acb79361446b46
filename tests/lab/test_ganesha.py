"""NFS with a real client, the kernel's, in a guest: files through each server, and through one that was killed."""

import json
import shlex
from collections.abc import Callable, Iterator

import pytest
from product import PILLAR, Product, until

from lab.guest.guests import Guest

pytestmark = pytest.mark.big  # a guest of its own, and grace to wait for
GRACE = "ganesha-rados-grace --userid ganesha.{} --pool .nfs --ns ganesha"
MOUNT = "mkdir -p {where}; mount -t nfs4 -o vers=4.1,proto=tcp {address}:{path} {where}"
BUCKET = MOUNT.replace("tcp", "tcp,sync")  # a bucket takes the bytes of a file in their order alone
FILE = "/mnt/node1/file"
# Appends a line each half second to a file that it has locked, until it is told to end: the lock outlives the server.
WRITER = """
import fcntl, os, time
with open("/mnt/node1/locked", "a") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    while not os.path.exists("/tmp/end"):
        print("line", file=file, flush=True)
        os.fsync(file.fileno())
        time.sleep(0.5)
"""


@pytest.fixture(scope="module")
def client(served: Product, guest: Callable[..., Guest]) -> Iterator[Guest]:
    """A guest on the cluster's public network that is none of its minions, with `/cephfs` of two servers mounted."""
    made = guest("nfs1", cluster=served.session.name)
    made.run("systemctl disable --now salt-minion")
    served.run("saltmaster", "salt-key --yes --delete nfs1")
    for name in ("node1", "node2"):
        made.run(MOUNT.format(where=f"/mnt/{name}", address=_address(served, name), path="/cephfs"))
    yield made
    made.run("umount -f -l /mnt/*", check=False)


def test_what_is_written_through_one_server_is_read_through_the_other(served: Product, client: Guest) -> None:
    client.run(f"dd if=/dev/urandom of={FILE} bs=1M count=16 conv=fsync")
    written = client.run(f"sha256sum <{FILE}").out
    assert client.run("sha256sum </mnt/node2/file").out == written
    served.run("saltmaster", "mkdir -p /mnt/nfs; ceph-fuse --client_fs cephfs /mnt/nfs")
    try:
        assert served.run("saltmaster", "sha256sum </mnt/nfs/file").out == written
    finally:
        served.run("saltmaster", "umount /mnt/nfs", check=False)


def test_a_bucket_is_a_directory_and_objects_are_files(served: Product, client: Guest) -> None:
    client.run(BUCKET.format(where="/mnt/alice", address=_address(served, "node1"), path="/alice"))
    client.run("mkdir /mnt/alice/fromnfs; dd if=/dev/urandom of=/mnt/alice/fromnfs/file bs=1M count=8 conv=fsync")
    written = client.run("md5sum </mnt/alice/fromnfs/file").out.split()[0]
    client.run(BUCKET.format(where="/mnt/again", address=_address(served, "node2"), path="/alice"))
    assert client.run("md5sum </mnt/again/fromnfs/file").out.split()[0] == written
    stat = json.loads(served.run("saltmaster", "radosgw-admin object stat --bucket=fromnfs --object=file").out)
    assert (stat["size"], stat["etag"].strip("\0")) == (8 << 20, written)


def test_an_export_for_reading_and_one_for_others(served: Product, client: Guest) -> None:
    client.run(f"echo seen >{FILE}.seen; sync -f {FILE}.seen")
    client.run(MOUNT.format(where="/mnt/read", address=_address(served, "node1"), path="/reading"))
    assert client.run("cat /mnt/read/file.seen").out == "seen\n"
    assert "Read-only" in client.run("touch /mnt/read/new", check=False).err
    done = client.run(MOUNT.format(where="/mnt/no", address=_address(served, "node1"), path="/others"), check=False)
    assert done.code != 0


def test_a_server_reaches_what_it_exports_and_nothing_else(served: Product) -> None:
    assert "node2" in served.run("node1", f"{GRACE.format('node1')} dump").out  # its key is good
    rados = "rados --name client.ganesha.node1"
    assert served.run("node1", f"{rados} -p .nfs --namespace ganesha ls").code == 0
    assert served.run("node1", f"{rados} -p .nfs --namespace other ls", check=False).code != 0
    assert served.run("node1", f"{rados} -p archive_data ls", check=False).code != 0
    assert served.run("node1", "ceph --name client.ganesha.node1 auth ls", check=False).code != 0


def test_files_and_locks_outlive_a_server_that_was_killed(served: Product, client: Guest) -> None:
    written = client.run(f"sha256sum <{FILE}").out
    client.run(f"(setsid python3 -c {shlex.quote(WRITER)} >/tmp/writer 2>&1; echo $? >/tmp/wrote) &")
    until(lambda: _lines(client) > 1, 30, "nothing is written")
    served.run("node1", "systemctl kill --signal=KILL nfs-ganesha")
    until(lambda: served.run("node1", "pgrep ganesha.nfsd", check=False).code != 0, 10, "ganesha.nfsd does not end")
    done = served.stage("ceph.stage.ganesha")
    assert "ceph-service-ganesha-running" in done.out
    before = _lines(client)  # hangs until the server answers again
    until(lambda: _lines(client) > before, 120, "the file that was open is not written on")
    client.run("touch /tmp/end; until [ -s /tmp/wrote ]; do sleep 0.5; done")
    assert (client.run("cat /tmp/wrote").out, client.run("cat /tmp/writer").out) == ("0\n", "")
    assert client.run(f"sha256sum <{FILE}").out == written
    until(lambda: "rec=0" in served.run("node2", f"{GRACE.format('node2')} dump").out, 120, "grace does not end")


def test_the_stage_again_changes_nothing(served: Product) -> None:
    done = served.stage("ceph.stage.ganesha")
    assert "hosts are as told: nothing changed" in done.out, done.out


@pytest.mark.big
def test_an_export_whose_directory_is_missing_is_named_and_comes_when_it_is_there(
    served: Product, client: Guest
) -> None:
    settings, later = f"{PILLAR}/stack/ceph/cluster.yml", "  /later: {file_system: cephfs, path: /later}"
    served.run("saltmaster", f"cp {settings} /srv/; sed -i '/^nfs_exports/a \\{later}' {settings}")
    try:
        served.stage("ceph.stage.configure")
        done = served.stage("ceph.stage.ganesha", check=False)
        assert done.code != 0
        assert "/later cannot be mounted" in done.out
        assert client.run("ls /mnt/node1; mkdir /mnt/node1/later").code == 0  # the others are served on
        assert '"ceph-service-ganesha-exports"' in served.stage("ceph.stage.ganesha").out
        client.run(MOUNT.format(where="/mnt/later", address=_address(served, "node2"), path="/later"))
    finally:
        served.run("saltmaster", f"cp /srv/cluster.yml {settings}")
        served.stage("ceph.stage.configure")
        served.stage("ceph.stage.ganesha")
    until(lambda: client.run("ls /mnt/later", check=False).code != 0, 30, "what is exported no more is served on")


def _lines(client: Guest) -> int:
    return int(client.run("wc -l </mnt/node1/locked", check=False).out or 0)


def _address(served: Product, name: str) -> str:
    return served.run("saltmaster", f"getent hosts {name}").out.split()[0]
