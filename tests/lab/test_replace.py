"""Disks that are wiped, pulled, replaced and added: what is given up, what stays, and that nothing else notices."""

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from busy import until_seen
from clusters import SUBNETS
from product import DEPLOY, STORAGE, Product, cluster_file, planned, until
from spares import CLEAN, spares, spoiled

from lab.session import Session

GROW = ("ceph.stage.discovery", "populate", "ceph.stage.configure", DEPLOY)
BYTES = "for at in 0 {tail}; do dd if={node} bs=1M skip=$at count=1 status=none | sha256sum; done"
SLOTS = "partx --bytes --noheadings --raw --output START,SIZE,NAME {}"
OSDS = {"data": "bluestore_bdev", "db": "bluefs_db", "wal": "bluefs_wal"}
OBJECTS = 5000
FILLED = f"""
ceph osd pool create much 32 32 replicated --autoscale-mode=off
ceph osd pool application enable much rados
rados -p much bench 300 write -b 4096 -t 16 --max-objects {OBJECTS} --no-cleanup >/dev/null
ceph config set osd osd_recovery_sleep 1
ceph config set osd osd_max_backfills 1
"""
QUICK = "ceph config rm osd osd_recovery_sleep; ceph config rm osd osd_max_backfills"
GONE = f"""
{QUICK}
ceph config set mon mon_allow_pool_delete true
ceph osd pool rm much much --yes-i-really-really-mean-it
ceph config rm mon mon_allow_pool_delete
"""


def bytes_of(product: Product, host: str, disk: dict) -> str:
    """Both ends of a disk, as hashes."""
    return product.run(host, BYTES.format(node=disk["node"], tail=int(disk["size"]) // 2**20 - 1)).out


def wipe(product: Product, host: str, disk: str, serial: str, more: str = "") -> tuple[int, str]:
    done = product.run("saltmaster", f"salt-run disk.wipe {host} {disk} serial={serial} {more}", check=False)
    assert "Traceback" not in done.out + done.err
    return done.code, done.out


def disks_of(product: Product, host: str, osd_id: int) -> dict[str, dict]:
    """Where an OSD lies by `ceph osd metadata`: the disk of each part, with its serial and the part's place."""
    (entry,) = (one for one in product.ceph("osd metadata") if one["id"] == osd_id)
    found = {}
    for role, label in OSDS.items():
        part = entry[f"{label}_partition_path"]
        disk = f"/dev/{product.run(host, f'lsblk -ndo PKNAME {part}').out.strip()}"
        number = part.removeprefix(disk).lstrip("p")
        start, size, _ = product.run(host, SLOTS.format(f"--nr {number} {disk}")).out.split()
        serial = product.run(host, f"lsblk -ndo SERIAL {disk}").out.strip()
        found[role] = {"disk": disk, "serial": serial, "start": int(start), "size": int(size)}
    return found


def grow(product: Product) -> None:
    """The way of every change of disks: look, propose, configure, deploy."""
    (populate,) = (command for command in product.way.commands if "proposal.populate" in command)
    for step in GROW:
        product.type(populate if step == "populate" else f"salt-run state.orch {step}")


def pull(product: Product, host: str, osd_id: int, serial: str) -> None:
    """Pull an OSD's disk out, and let the OSD write something: idle, it would not notice for a while."""
    product.session.verb("pull", host, serial)
    product.run("saltmaster", f"timeout 20 ceph tell osd.{osd_id} bench 4096 4096", check=False)
    until(lambda: not _up(product, osd_id), 120, f"osd.{osd_id} is seen down")


def safe(product: Product, osd_id: int) -> bool:
    return product.run("saltmaster", f"ceph osd safe-to-destroy {osd_id}", check=False).code == 0


# One kind here, the one that lies on both ends of a disk; each is planned in tests/fixtures/wiping.yaml.
@pytest.mark.parametrize(
    "kind", ["partitions", *(pytest.param(kind, marks=pytest.mark.big) for kind in ("filesystem", "lvm"))]
)
def test_a_spoiled_disk_is_wiped_only_as_it_was_named(cluster: Product, kind: str) -> None:
    with spoiled(cluster, "node1", kind) as disk:
        before = bytes_of(cluster, "node1", disk)
        code, told = wipe(cluster, "node1", disk["id"], disk["serial"])
        assert (code, "yes=true" in told, disk["serial"] in told) == (0, True, True)
        code, told = wipe(cluster, "node1", disk["id"], "ANOTHER", "yes=true")
        assert (code, disk["serial"] in told) == (2, True)
        assert bytes_of(cluster, "node1", disk) == before
        assert wipe(cluster, "node1", disk["id"], disk["serial"], "yes=true")[0] == 0
        assert bytes_of(cluster, "node1", disk) != before
        assert cluster.run("node1", CLEAN.format(disk["node"]), check=False).code == 0
    log = cluster.run("saltmaster", "tail -2 /var/log/halocline/disk.wipe.jsonl").out.splitlines()
    assert [json.loads(line)["event"] for line in log] == ["wipe", "wiped"]


def test_the_logs_of_commands_are_rotated_and_the_next_is_written_anew(cluster: Product) -> None:
    """By logrotate itself, with the file that the installer puts to /etc/logrotate.d; runs' logs stay."""
    rotate = "logrotate --force --state /run/rotated /srv/halocline/srv/logrotate.d/halocline"
    logs = "/var/log/halocline"
    runs = cluster.run("saltmaster", f"ls {logs}/*-*.jsonl").out
    with spoiled(cluster, "node1", "partitions") as disk:
        assert wipe(cluster, "node1", disk["id"], disk["serial"], "yes=true")[0] == 0
        before = cluster.run("saltmaster", f"cat {logs}/disk.wipe.jsonl").out
        cluster.run("saltmaster", rotate)
        assert cluster.run("saltmaster", f"zcat {logs}/disk.wipe.jsonl.1.gz").out == before != ""
    with spoiled(cluster, "node1", "partitions") as disk:
        assert wipe(cluster, "node1", disk["id"], disk["serial"], "yes=true")[0] == 0
    assert len(cluster.run("saltmaster", f"cat {logs}/disk.wipe.jsonl").out.splitlines()) == 2
    assert cluster.run("saltmaster", f"ls {logs}/*-*.jsonl").out == runs


def test_what_somebody_needs_is_not_wiped(cluster: Product) -> None:
    """A mounted disk, another cluster's OSD, a running OSD's data and DB: both ends stay as they were."""
    until(cluster.whole, 60, "HEALTH_OK")
    with spoiled(cluster, "node1", "filesystem") as disk:
        cluster.run("node1", f"mkdir -p /srv/mounted && mount -t ext4 -o ro,noload {disk['node']} /srv/mounted")
        refused(cluster, "node1", disk, "mounted on /srv/mounted")
    with spoiled(cluster, "node1", "ceph") as disk:
        refused(cluster, "node1", disk, "another cluster")
    listed = json.loads(cluster.run("node1", "lsblk -J -b -d -o NAME,SERIAL,SIZE,ROTA").out)["blockdevices"]
    unused = {disk["serial"] for disk in spares(cluster, "node1")}
    used = [disk | {"node": f"/dev/{disk['name']}"} for disk in listed if disk["serial"] not in unused]
    assert len(used) == 3
    running = cluster.daemons()
    for disk in used:
        refused(cluster, "node1", disk, "osd.")
    cluster.run("node1", "systemctl stop ceph-osd.target")
    try:  # nobody holds them now: that the cluster knows them is enough
        for disk in used:
            refused(cluster, "node1", disk, "osd.replace")
    finally:
        cluster.run("node1", "systemctl start ceph-osd.target")
    until(cluster.whole, 60, "HEALTH_OK with all OSDs up again")
    assert {host for host, lines in cluster.daemons().items() if lines != running[host]} == {"node1"}


def refused(product: Product, host: str, disk: dict, why: str) -> None:
    """`disk.wipe` says no and why, and changes nothing at both ends of the disk (a running OSD writes between)."""
    before = bytes_of(product, host, disk)
    code, told = wipe(product, host, disk["node"], disk["serial"], "yes=true")
    assert code == 2
    assert why in told, told
    assert bytes_of(product, host, disk) == before


def test_an_osd_with_data_on_it_is_not_given_up(cluster: Product) -> None:
    """An OSD that placement groups are mapped to: refused in Ceph's words, its process goes on."""
    until(cluster.whole, 60, "HEALTH_OK")
    before, running = cluster.ceph("osd dump")["epoch"], cluster.daemons()
    mapped = cluster.ceph("pg dump pgs_brief")["pg_stats"][0]["acting"][0]
    done = cluster.run("saltmaster", f"salt-run osd.replace {mapped}", check=False)
    assert done.code == 2
    assert f"ceph osd out {mapped}" in done.out
    assert "Traceback" not in done.out + done.err
    assert cluster.daemons() == running
    assert cluster.ceph("osd dump")["epoch"] == before
    for typed, said in (("99", "no osd.99"), ("osd.1", "not an OSD's number")):
        done = cluster.run("saltmaster", f"salt-run osd.replace {typed}", check=False)
        assert (done.code, said in done.out) == (2, True)


def test_a_replaced_disks_osd_has_the_same_id_and_slot(cluster: Product, load: Callable) -> None:
    """A disk pulled, `osd.replace`, another serial plugged in: all else runs on as it did."""
    until(cluster.whole, 60, "HEALTH_OK")
    osd_id = next(osd["osd"] for osd in cluster.ceph("osd dump")["osds"] if osd["uuid"] in planned(cluster)["node2"])
    before, running = disks_of(cluster, "node2", osd_id), cluster.daemons()
    (mine,) = (line for line in running["node2"] if f"--id {osd_id} " in line)
    old = before["data"]["serial"]
    with load(cluster, until_seen(cluster), least=100) as busy, busy.fault():
        pull(cluster, "node2", osd_id, old)
        cluster.run("saltmaster", f"ceph osd out {osd_id}")
        until(lambda: safe(cluster, osd_id), 120, f"osd.{osd_id} is safe to destroy")
        told = cluster.run("saltmaster", f"salt-run osd.replace {osd_id}").out
        assert f"osd.{osd_id} of node2 is destroyed" in told
        assert cluster.run("saltmaster", f"salt-run osd.replace {osd_id}").code == 0  # again, as after an interruption
        cluster.session.verb("plug", "node2", old, "--new")
        grow(cluster)
        until(cluster.whole, 90, "HEALTH_OK with the new disk")
    after = disks_of(cluster, "node2", osd_id)
    assert after["data"]["serial"] != old
    for role in ("db", "wal"):
        assert after[role] == before[role], role
    assert after["data"]["size"] == before["data"]["size"]
    others = {host: [line for line in lines if line != mine] for host, lines in running.items()}
    assert all(set(lines) <= set(cluster.daemons()[host]) for host, lines in others.items())
    assert cluster.ceph("osd ls") == list(range(6))


def _up(product: Product, osd_id: int) -> bool:
    return any(osd["osd"] == osd_id and osd["up"] for osd in product.ceph("osd dump")["osds"])


@pytest.mark.big
def test_an_unplugged_disk_loses_nothing(cluster: Product, load: Callable) -> None:
    """Pulled, looked at, proposed anew, plugged in again: the same OSD in the same place, nobody else in its slot."""
    until(cluster.whole, 60, "HEALTH_OK")
    osd_id = next(osd["osd"] for osd in cluster.ceph("osd dump")["osds"] if osd["uuid"] in planned(cluster)["node3"])
    before, known = disks_of(cluster, "node3", osd_id), planned(cluster)
    with load(cluster, until_seen(cluster), least=100) as busy, busy.fault():
        pull(cluster, "node3", osd_id, before["data"]["serial"])
        cluster.stage("ceph.stage.discovery")
        (populate,) = (command for command in cluster.way.commands if "proposal.populate" in command)
        told = cluster.type(populate).out
        assert f"osd.replace {osd_id}" in told
        assert len(planned(cluster)["node3"]) == 1
        slots = cluster.run("node3", SLOTS.format(before["db"]["disk"])).out
        assert len(slots.splitlines()) == 4, slots
        cluster.session.verb("plug", "node3", before["data"]["serial"])
        grow(cluster)
        until(cluster.whole, 90, "HEALTH_OK with the disk back")
    assert planned(cluster)["node3"].keys() == known["node3"].keys()
    assert cluster.run("node3", SLOTS.format(before["db"]["disk"])).out == slots
    after = disks_of(cluster, "node3", osd_id)
    assert {role: after[role]["serial"] for role in after} == {role: before[role]["serial"] for role in before}


@pytest.fixture(scope="module")
def growing(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A cluster like `tiny`, made while one of node2's hard disks was pulled; only the first three are monitors."""
    product = Product(own_lab(cluster_file(tmp_path_factory.mktemp("growing"), "growing", SUBNETS["growing"])))
    product.session.verb("pull", "node2", "1")
    only = product.way.policy.replace("mon/cluster/node*", "mon/cluster/node[123]")
    product.way = dataclasses.replace(product.way, policy=only.replace("mgr/cluster/node*", "mgr/cluster/node[123]"))
    product.guide()
    return product


@pytest.mark.big
def test_a_new_disk_is_one_osd_more_in_the_free_place(growing: Product, load: Callable) -> None:
    before, known = growing.daemons(), planned(growing)
    assert growing.ceph("osd ls") == list(range(5))
    with load(growing, until_seen(growing), least=50) as busy, busy.fault():
        growing.session.verb("plug", "node2", "1", "--new")
        grow(growing)
        until(lambda: _whole(growing, 6), 90, "HEALTH_OK with one OSD more")
    now = planned(growing)
    (new,) = now["node2"].keys() - known["node2"].keys()
    assert {host: osds.keys() for host, osds in now.items() if host != "node2"} == {
        host: osds.keys() for host, osds in known.items() if host != "node2"
    }
    assert now["node2"][new]["db"] == next(iter(known["node2"].values()))["db"]
    running = growing.daemons()
    assert all(set(before[host]) <= set(running[host]) for host in STORAGE)
    assert [len(running[host]) - len(before[host]) for host in STORAGE] == [0, 1, 0]


@contextmanager
def filled(product: Product) -> Iterator[None]:
    """A pool with 5,000 objects, which move slowly; gone afterwards."""
    product.run("saltmaster", FILLED)
    try:
        until(lambda: _objects(product, "much") >= OBJECTS, 60, f"Ceph counts {OBJECTS} objects")
        yield
    finally:
        product.run("saltmaster", GONE)


def _objects(product: Product, pool: str) -> int:
    return next(each["stats"]["objects"] for each in product.ceph("df")["pools"] if each["name"] == pool)


@pytest.mark.big
def test_a_new_node_brings_its_osds_and_nothing_else_changes(growing: Product, load: Callable) -> None:
    """Deploy ends while data moves, and says how much."""
    before, known, osds = growing.daemons(), planned(growing), len(growing.ceph("osd ls"))
    with load(growing, until_seen(growing), least=100) as busy, filled(growing):
        with busy.fault():
            growing.session.verb("add", "node4", "--like", "node1")
            growing.type("salt-run state.orch ceph.stage.prep")
            grow(growing)
        deployed = growing.answers[f"salt-run state.orch {DEPLOY}"].out
        assert re.search(r"data moves: .*; of \d+ copies of objects \d+ misplaced", deployed), deployed
        assert not _whole(growing, osds + 2)
        growing.run("saltmaster", QUICK)
        until(lambda: _whole(growing, osds + 2), 240, "HEALTH_OK with two OSDs more")
    now = planned(growing)
    assert len(now.pop("node4")) == 2
    assert {host: each.keys() for host, each in now.items()} == {host: each.keys() for host, each in known.items()}
    assert growing.daemons() == before
    assert growing.run("node4", "pgrep -x -a 'ceph-(mon|mgr)'", check=False).out == ""


def _whole(product: Product, osds: int) -> bool:
    status = product.status()
    osdmap = status["osdmap"]
    return status["health"]["status"] == "HEALTH_OK" and osds == osdmap["num_up_osds"] == osdmap["num_in_osds"]
