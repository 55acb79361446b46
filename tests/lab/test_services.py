"""The stage of all services: nothing to do the second time; a host that is down is named, and the others come up."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from busy import until_seen
from product import Product, until

SERVICES = "ceph.stage.services"


def steps(product: Product, check: bool = True) -> tuple[int, dict[str, dict[str, Any]]]:
    """Run the stage: its exit status, and what each of its steps said."""
    done = product.stage(SERVICES, check=check)
    states = next(iter(json.loads(done.out)["data"].values()))
    return done.code, {state["name"]: state for state in states.values()}


def test_every_service_comes_up(served: Product) -> None:
    done = served.answers["services"]
    assert done.code == 0, done.out + done.err


def test_the_stage_again_changes_nothing(served: Product) -> None:
    code, said = steps(served)
    assert code == 0
    assert said["service.up"]["changes"] == {}
    assert "FAILED" not in said["service.up"]["comment"]


def test_the_cluster_is_well_with_every_service(served: Product) -> None:
    until(lambda: served.ceph("status")["health"]["status"] == "HEALTH_OK", 120, "HEALTH_OK with every service")


@pytest.mark.big
def test_a_host_that_is_down_is_named_and_the_others_come_up(served: Product, load: Callable) -> None:
    """Of its clients those of RADOS and RBD go on meanwhile; one metadata server is too few for two file systems."""
    with load(served, until_seen(served), least=100, clients=("rados", "rbd")) as busy, busy.fault():
        _host_down(served)
    # The host was metadata server and NFS server: who takes over waits for the 300 s of the NFS server's sessions.
    until(lambda: steps(served, check=False)[0] == 0, 480, "the stage again is good")


def _host_down(served: Product) -> None:
    served.run("node1", "systemctl stop ceph-mds@node1")
    served.session.verb("stop", "node2")
    try:
        code, said = steps(served, check=False)
        words = said["service.up"]["comment"]
        assert code == 1
        assert "mds: FAILED: node2: does not answer" in words
        assert "ceph-service-mds-running" in said["service.up"]["changes"]["cephfs: mds"]["node1"]
        assert served.run("node1", "systemctl is-active ceph-mds@node1").out.strip() == "active"
    finally:
        served.session.verb("start", "node2")
    until(lambda: "node2" in served.run("saltmaster", "salt-run manage.up").out, 120, "node2 answers again")


@pytest.mark.big
def test_a_role_that_went_is_named_and_its_daemon_left_alone(served: Product) -> None:
    policy = "/srv/pillar/ceph/proposals/policy.cfg"
    served.run(
        "saltmaster",
        f"cp {policy} /srv/kept-policy; sed -i 's#role-mds/cluster/node.*#role-mds/cluster/node[12].sls#' {policy}",
    )
    try:
        served.stage("ceph.stage.configure")
        _, said = steps(served)
        assert "node3: ceph-mds@node3.service runs" in said["service.check"]["comment"]
        assert served.run("node3", "systemctl is-active ceph-mds@node3").out.strip() == "active"
    finally:
        served.run("saltmaster", f"cp /srv/kept-policy {policy}")
        served.stage("ceph.stage.configure")
