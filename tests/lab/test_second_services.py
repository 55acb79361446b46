"""A second run of services is one look where nothing is to be done; each kind of drift is found by it, and mended."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from product import Product, until

pytestmark = pytest.mark.big
SERVICES, AS_TOLD = "ceph.stage.services", "hosts are as told: nothing changed"
HAPROXY, GANESHA = "/etc/ceph/rgw-frontend/haproxy.cfg", "/etc/ganesha/ganesha.conf"
MODULES = "ceph mgr module ls --format json"


class Drift(NamedTuple):
    """What somebody did on a host, what shows that it is mended, and the part that mends it."""

    host: str
    spoil: str
    mended: str
    part: str


def stopped(host: str, unit: str, part: str) -> Drift:
    return Drift(host, f"systemctl stop {unit}", f"systemctl is-active {unit}", part)


DRIFTS: Mapping[str, Drift] = {
    "a stopped gateway": stopped("node1", "ceph-radosgw@rgw.node1", "radosgw: rgw"),
    "a stopped NFS server": stopped("node2", "nfs-ganesha", "ganesha: ganesha"),
    "a stopped metadata server": stopped("node3", "ceph-mds@node3", "cephfs: mds"),
    "a stopped exporter": stopped("node3", "prometheus-node-exporter", "monitoring: node-exporter"),
    "a stopped timer": stopped("saltmaster", "halocline-metrics.timer", "monitoring"),
    "an edited file with a secret": Drift(
        "node1", f"echo '# mine' >>{GANESHA}", f"! grep mine {GANESHA}", "ganesha: ganesha"
    ),
    "an edited file": Drift("node1", f"echo '# mine' >>{HAPROXY}", f"! grep mine {HAPROXY}", "radosgw: rgw-frontend"),
    "an edited file of data": Drift(
        "client1",
        "echo '# mine' >>/etc/prometheus/prometheus.yml",
        "! grep mine /etc/prometheus/prometheus.yml",
        "monitoring: prometheus",
    ),
    "a removed unit": Drift(
        "node2",
        "rm /etc/systemd/system/ceph-rgw-haproxy.service",
        "test -s /etc/systemd/system/ceph-rgw-haproxy.service && systemctl is-active ceph-rgw-haproxy",
        "radosgw: rgw-frontend",
    ),
    "a daemon that would not start": Drift(
        "node2",
        "systemctl disable ceph-rgw-keepalived",
        "systemctl is-enabled ceph-rgw-keepalived",
        "radosgw: rgw-frontend",
    ),
    "a removed keyring": Drift(
        "client1",
        "rm /etc/ceph/ceph.client.cephfs.client1.keyring",
        "test -s /etc/ceph/ceph.client.cephfs.client1.keyring",
        "cephfs: client-cephfs",
    ),
    "what a user of the gateways may": Drift(
        "saltmaster",
        "radosgw-admin caps rm --uid backup --caps usage=read",
        "radosgw-admin user info --uid backup | grep usage",
        "radosgw",
    ),
    "a module of the managers": Drift(
        "saltmaster",
        "ceph mgr module disable prometheus",
        f"{MODULES} | tr -d '\\n ' | grep '\"enabled_modules\":[^]]*\"prometheus\"'",
        "monitoring: cluster",
    ),
}


def served_again(product: Product) -> dict[str, Any]:
    """Run the stage to a good end: what its one step that changes something said."""
    (steps,) = json.loads(product.stage(SERVICES).out)["data"].values()
    assert all(step["result"] is True for step in steps.values()), steps
    return next(step for step in steps.values() if step["name"] == "service.up")


def test_nothing_to_do_is_seen_in_one_look(served: Product) -> None:
    until(lambda: served.ceph("status")["health"]["status"] == "HEALTH_OK", 120, "HEALTH_OK with every service")
    served_again(served)  # what tests before have left
    said = served_again(served)
    assert said["comment"].endswith(AS_TOLD) and said["changes"] == {}, said


@pytest.mark.parametrize("kind", DRIFTS)
def test_what_drifted_is_found_by_the_next_run(served: Product, kind: str) -> None:
    drift = DRIFTS[kind]
    served.run(drift.host, drift.spoil)
    said = served_again(served)
    told = said["comment"].splitlines()
    assert told[0] == "not as told, or to be applied:", said
    assert told[1].startswith((f"{drift.host}: ", "ceph mgr module enable")), said
    assert set(said["changes"]) == {drift.part}, said
    assert served.run(drift.host, drift.mended, check=False).code == 0
    assert served_again(served)["changes"] == {}
