"""A smoke test of the cluster with services: all pass; the service that is broken is the one named; nothing stays."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import hunting
import pytest
from processes import ProcessWatch
from product import STORAGE, Product, until
from test_monitoring import WATCHER, up

from lab.containers import Done

pytestmark = pytest.mark.big  # several minutes: each service is broken in turn
NAME = "halocline-smoke"
ALL = {"rbd", "cephfs", "s3", "nfs", "dashboard", "metrics", "alert"}
POOL = "lab-cloud-vms"  # of openstack in tests/fixtures/services
# Keeps every key of the test that it gets to see, while it is there.
SEE = f"""
while sleep 0.1; do
    cat /run/{NAME}/keyring
    radosgw-admin user info --uid={NAME}
done >>/root/smoke-seen 2>/dev/null
"""


def smoke(product: Product, *services: str) -> tuple[int, dict[str, dict[str, list[str]]]]:
    """Run the test: its exit status, and what came of it, by service."""
    done = product.run("saltmaster", f"salt-run smoke.test {' '.join(services)} --out json", check=False, limit=1800)
    return done.code, json.loads(done.out)


def failed(told: dict[str, dict[str, list[str]]]) -> dict[str, str]:
    """What failed, by service."""
    return {
        name: "\n".join(kinds["failed"])
        for name, kinds in told.items()
        if name in ALL | {"cluster"} and kinds["failed"]
    }


def left(product: Product) -> list[str]:
    """What of a smoke test is still there."""
    pools = [each["pool_name"] for each in product.ceph("osd pool ls detail") if "rbd" in each["application_metadata"]]
    asked = ["ceph auth ls", "ceph config-key ls", "radosgw-admin user list", "radosgw-admin bucket list"]
    asked += [*(f"rbd namespace ls --pool {pool}" for pool in pools), "ceph dashboard ac-user-show"]
    asked += ["ls -d /run/halocline-smoke/keyring"]
    found = [each for each in asked if NAME in product.run("saltmaster", each, check=False).out]
    for name in ("cephfs", "archive"):
        product.run("saltmaster", f"mkdir -p /mnt/smoke; ceph-fuse --client_fs {name} /mnt/smoke")
        try:
            found += [name] if NAME in product.run("saltmaster", "ls /mnt/smoke").out else []
        finally:
            product.run("saltmaster", "umount /mnt/smoke", check=False)
    record = "halocline/smoke" in product.ceph("config-key ls")
    return [*found, *(["record"] if record else [])]


def test_every_service_passes_and_nothing_stays(served: Product) -> None:
    users = served.run("saltmaster", "radosgw-admin user list").out
    code, told = smoke(served)
    assert failed(told) == {} and code == 0
    assert {name for name in ALL if told[name]["passed"]} == ALL
    assert len(told["s3"]["passed"]) == 3 and len(told["cephfs"]["passed"]) == 2
    assert {f"{host}: /cephfs written" for host in ("node1", "node2")} <= set(told["nfs"]["passed"])
    assert left(served) == [] and served.run("saltmaster", "radosgw-admin user list").out == users


def test_its_keys_are_nowhere_else(served: Product) -> None:
    since = int(served.run("saltmaster", "date +%s").out) - 1
    served.run("saltmaster", ["systemd-run", "--unit", "smoke-seen", "sh", "-c", SEE])
    try:
        with ProcessWatch() as watch:
            assert smoke(served, "rbd", "cephfs", "s3")[0] == 0
    finally:
        served.run("saltmaster", "systemctl stop smoke-seen", check=False)
    seen = served.run("saltmaster", "cat /root/smoke-seen; rm /root/smoke-seen").out
    texts = sorted({*re.findall(r"key = (\S{40})", seen), *re.findall(r'"secret_key": "(\S+)"', seen)})
    assert len(texts) >= 2, "its keys were seen while it ran"
    assert watch.holding([b"smoke.test"]) and watch.holding([text.encode() for text in texts]) == []
    for host in ("saltmaster", *STORAGE):
        hunt = ["python3", "-c", hunting.FILES, "/var", str(since), "root", *texts]
        own = ("/var/lib/ceph/mon", "/var/lib/ceph/osd")  # where Ceph keeps keys and users
        assert [path for path in served.run(host, hunt).out.splitlines() if not path.startswith(own)] == [], host
        assert served.run(host, ["python3", "-c", hunting.JOURNAL, *texts]).out == "", host


def everybody_up(product: Product) -> None:
    until(lambda: up(product).get("ceph") == set(STORAGE), 120, "the managers' exporter")
    until(lambda: up(product).get("node", set()) >= set(product.session.hosts), 60, "the node exporters")


@contextmanager
def units(product: Product, unit: str, *hosts: str) -> Iterator[None]:
    """Daemons that are stopped, and started again."""
    for host in hosts:
        product.run(host, f"systemctl stop {unit.format(host)}")
    try:
        yield
    finally:
        for host in hosts:
            product.run(host, f"systemctl reset-failed {unit.format(host)}; systemctl start {unit.format(host)}")


@contextmanager
def full_pool(product: Product) -> Iterator[None]:
    """A pool of images at its quota."""
    product.run("saltmaster", f"rados -p {POOL} put x /etc/hostname; ceph osd pool set-quota {POOL} max_objects 1")
    try:
        until(lambda: "POOL_FULL" in product.ceph("health")["checks"], 120, "the pool is full")
        yield
    finally:
        product.run("saltmaster", f"ceph osd pool set-quota {POOL} max_objects 0; rados -p {POOL} rm x --force-full")
        until(lambda: "POOL_FULL" not in product.ceph("health")["checks"], 120, "the pool has room")


@contextmanager
def no_dashboard(product: Product) -> Iterator[None]:
    """Managers that serve no dashboard."""
    product.run("saltmaster", "ceph mgr module disable dashboard")
    try:
        until(lambda: "dashboard" not in product.ceph("mgr services"), 60, "the dashboard is gone")
        everybody_up(product)
        yield
    finally:
        product.run("saltmaster", "ceph mgr module enable dashboard")
        until(lambda: "dashboard" in product.ceph("mgr services"), 120, "the dashboard is back")


# An NFS server that ends leaves its sessions to the metadata servers for what it may claim when it is back, at most
# session_autoclose (300 s): until then clients of the same folder wait (docs.ceph.com, cephfs/eviction).
BESIDE = {"nfs": {"cephfs"}}
Break = Callable[[Product], object]
# Who is broken, what is named, and in which words. Without metadata servers exports of file systems serve nobody.
BROKEN: dict[str, tuple[Break, set[str], str]] = {
    "rbd": (full_pool, {"rbd", "cluster"}, f"pool {POOL}: "),
    "cephfs": (lambda each: units(each, "ceph-mds@{}", *STORAGE), {"cephfs", "nfs"}, "file system cephfs: "),
    "s3": (lambda each: units(each, "ceph-radosgw@rgw.{}", "node2"), {"s3"}, "rgw.node2: "),
    "front": (lambda each: units(each, "ceph-rgw-haproxy", "node1", "node2"), {"s3"}, "the virtual address: "),
    "nfs": (lambda each: units(each, "nfs-ganesha", "node2"), {"nfs"}, "node2 ("),
    "dashboard": (no_dashboard, {"dashboard"}, "no manager serves it"),
    "metrics": (lambda each: units(each, "prometheus-node-exporter", "node1"), {"metrics"}, "node of node1"),
    "alert": (lambda each: units(each, "prometheus-alertmanager", WATCHER), {"alert"}, "refused"),
}


@pytest.mark.parametrize("service", BROKEN)
def test_the_service_that_is_broken_is_the_one_named(served: Product, service: str) -> None:
    everybody_up(served)
    broken, named, words = BROKEN[service]
    with broken(served):
        code, told = smoke(served)
        found = failed(told)
        assert code == 1 and named <= set(found) <= named | BESIDE.get(service, set()), found
        first = "s3" if service == "front" else service
        assert words in found[first], found
    again = sorted({first} | ALL & set(found))
    until(lambda: smoke(served, *again)[0] == 0, 300, f"{', '.join(again)} pass when it is mended")
    assert left(served) == []
    until(served.whole, 180, "HEALTH_OK after it was mended")


def test_what_a_killed_test_left_goes(served: Product) -> None:
    def begun() -> Done:
        return served.run("saltmaster", f"ceph auth get client.{NAME}", check=False)

    served.run("saltmaster", ["systemd-run", "--unit", "smoke-killed", "salt-run", "smoke.test"])
    until(lambda: begun().code == 0, 60, "it begins")
    served.run("saltmaster", "systemctl kill --signal=KILL smoke-killed")
    served.run("saltmaster", "systemctl kill --signal=KILL salt-minion; systemctl restart salt-minion")
    until(lambda: served.run("saltmaster", "salt saltmaster test.ping", check=False).code == 0, 60, "it answers")
    assert "record" in left(served)
    assert served.run("saltmaster", "salt-run smoke.clean", limit=600).code == 0
    assert left(served) == []
    assert "nothing changed" in served.run("saltmaster", "salt-run smoke.clean").out


def test_test_mode_changes_nothing(served: Product) -> None:
    before = served.ceph("config-key ls"), served.ceph("auth ls")
    told = served.run("saltmaster", "salt-run smoke.test test=true").out
    assert all(f"{name}: " in told for name in ALL)
    assert (served.ceph("config-key ls"), served.ceph("auth ls")) == before
