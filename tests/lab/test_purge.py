"""A cluster taken apart beside disks, keyrings and folders of others; then the guide again, to HEALTH_OK."""

from collections.abc import Callable

import pytest
from clusters import SUBNETS
from product import PILLAR, STORAGE, Product, cluster_file, until
from spares import spare, spoiled

from lab.containers import Done
from lab.session import Session

pytestmark = pytest.mark.big
OTHER = "0b5d3b9e-2a55-4c5e-9d3f-5c8a5d6a7b02"
# An OSD of another cluster, made as ceph-osd(8) has it: nobody has to run for that.
THEIRS = r"""
set -e
mkdir -p /root/theirs
ln -sfn {node} /root/theirs/block
printf '[global]\nfsid = {fsid}\n[osd]\nbluestore fsck on mkfs = false\n' >/root/theirs/other.conf
ceph-osd --id 9 --mkfs --no-mon-config --conf /root/theirs/other.conf --fsid {fsid} --osd-data /root/theirs \
    --osd-uuid 6b0c2b1e-0000-4000-8000-000000000099 --osd-objectstore bluestore
"""
# Files of others at the places of this cluster's.
FILES = r"""
set -e
ceph-authtool -C /etc/ceph/ceph.client.theirs.keyring --gen-key -n client.theirs
mkdir -p /var/lib/ceph/mds/ceph-theirs /var/lib/ceph/{fsid}/osd.9
ceph-authtool -C /var/lib/ceph/mds/ceph-theirs/keyring --gen-key -n mds.theirs
echo theirs >/var/lib/ceph/{fsid}/osd.9/config
cp /root/theirs/other.conf /etc/ceph/other.conf
"""
SUMS = "head -c 64M {0} | sha256sum; tail -c 1M {0} | sha256sum"
KEPT = "sha256sum /etc/ceph/ceph.client.theirs.keyring /etc/ceph/other.conf /var/lib/ceph/mds/ceph-theirs/keyring"
KEPT += f" /var/lib/ceph/{OTHER}/osd.9/config"
LEFT = "ls /etc/ceph/ceph.conf /etc/ceph/ceph.client.admin.keyring /etc/ceph/osd-devices/* /var/lib/ceph/osd/ceph-* "
LEFT += "/var/lib/ceph/mon/* /var/lib/ceph/mgr/* 2>/dev/null"
DATA = "ceph osd pool create kept 8 && rados --pool kept put one /etc/hostname"


@pytest.fixture(scope="module")
def apart(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A cluster of its own, with spare disks."""
    file = cluster_file(tmp_path_factory.mktemp("apart"), "apart", SUBNETS["apart"], spare=True)
    product = Product(own_lab(file))
    product.guide()
    return product


def purge(product: Product, fsid: str, words: str = "", safety: bool = True, seconds: int = 0) -> Done:
    """Type it, with the safety disengaged; killed after so many seconds."""
    if safety:
        product.run("saltmaster", "salt-run ceph.disengage")
    before = f"timeout -s KILL {seconds} " if seconds else ""
    return product.run(
        "saltmaster", f"{before}salt-run ceph.purge fsid={fsid} {words}".rstrip(), check=False, limit=3000
    )


def refused(product: Product, done: Done, *words: str) -> None:
    """It said all of these and changed nothing."""
    assert done.code == 2, done.out
    assert [word for word in words if word not in done.out] == [], done.out
    assert "Traceback" not in done.out + done.err
    assert product.run("saltmaster", f"test -e {PILLAR}/purge.json", check=False).code == 1


def test_it_is_refused_until_all_is_said(apart: Product) -> None:
    """The safety, the fsid, data, a client that is connected, a silent host; the daemons run on as they were."""
    until(lambda: apart.whole(6), 120, "HEALTH_OK")
    fsid, before = apart.ceph("fsid")["fsid"], apart.daemons()
    refused(apart, purge(apart, fsid, safety=False), "the safety is engaged")
    refused(apart, purge(apart, OTHER), f"has fsid {fsid}, typed was {OTHER}")
    apart.run("saltmaster", DATA)
    dry = f"salt-run ceph.purge fsid={fsid} test=true"
    until(
        lambda: "pool kept" in apart.run("saltmaster", dry, check=False).out,
        60,
        "the managers tell of the pool's object",
    )
    watching = "systemd-run --quiet --unit watching ceph -w"
    apart.run("saltmaster", watching)
    try:
        until(lambda: "client.admin at" in apart.run("saltmaster", dry, check=False).out, 60, "the client is seen")
        refused(apart, purge(apart, fsid, "despite=data"), "add despite=clients")
    finally:
        apart.run("saltmaster", "systemctl stop watching")
    apart.run("node3", "systemctl stop salt-minion")
    try:
        refused(apart, purge(apart, fsid, "despite=data"), "node3 does not answer", "add left=node3")
    finally:
        apart.run("node3", "systemctl start salt-minion")
        until(lambda: "node3" in apart.run("saltmaster", "salt-run manage.up").out, 120, "node3 answers")
    assert apart.daemons() == before


def test_it_goes_with_all_that_is_its_own_and_a_new_one_is_made(apart: Product) -> None:
    """Killed several times on its way. Bytes of other disks are compared; afterwards the guide is typed again."""
    fsid = apart.ceph("fsid")["fsid"]
    foreign = spare(apart, "node1")
    apart.run("node1", THEIRS.format(node=foreign["node"], fsid=OTHER))
    apart.run("node1", FILES.format(fsid=OTHER))
    with spoiled(apart, "node2", "filesystem") as disk:
        places = [("node1", SUMS.format(foreign["node"])), ("node2", SUMS.format(disk["node"])), ("node1", KEPT)]
        before = [apart.run(host, command).out for host, command in places]
        traces = apart.traces()
        dry = purge(apart, fsid, "wipe=true despite=data test=true", safety=False)
        assert dry.code == 0 and apart.traces() == traces, dry.out
        for words in (f"{foreign['id']}", disk["id"]):
            assert f"{words} serial" not in dry.out, dry.out
        for words in ("osd.", "ceph-mon@node1", "/etc/ceph/ceph.client.theirs.keyring", f"/var/lib/ceph/{OTHER}"):
            assert words in dry.out, dry.out
        for seconds in (12, 25, 40):
            killed = purge(apart, fsid, "wipe=true despite=data", seconds=seconds)
            if killed.code == 0:
                break
            stage = apart.run("saltmaster", "salt-run stage.run deploy", check=False, limit=900)
            begun = apart.run("saltmaster", f"test -e {PILLAR}/purge.json", check=False).code == 0
            assert not begun or (stage.code != 0 and "is being taken apart" in stage.out), stage.out
        else:
            done = purge(apart, fsid, "wipe=true despite=data")
            assert done.code == 0, done.out + done.err
        assert [apart.run(host, command).out for host, command in places] == before
        for host, daemons in apart.daemons((*STORAGE, "saltmaster")).items():
            assert daemons == [], host
        for host in (*STORAGE, "saltmaster"):
            assert apart.run(host, LEFT, check=False).out == "", host
        assert apart.run("saltmaster", f"ls {PILLAR}/purged/{fsid}/generations").out.split() != []
        assert "taken apart already" in apart.run("saltmaster", f"salt-run ceph.purge fsid={fsid}").out
        apart.guide(begin="ceph.stage.prep")
        until(lambda: apart.whole(6), 240, "HEALTH_OK again")
        assert apart.ceph("fsid")["fsid"] not in (fsid, OTHER)
        assert [apart.run(host, command).out for host, command in places] == before
