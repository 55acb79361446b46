"""A host in maintenance on a cluster with services: its gateways leave their balancer, alerts about it are silent."""

from collections.abc import Callable
from typing import Any

import pytest
from busy import ceph_seconds, until_seen
from product import Product, until
from test_maintenance import began, running, stages, typed
from test_monitoring import api

pytestmark = pytest.mark.big


def silences(product: Product) -> set[str]:
    """The silences of ours that hold now: whom each is by."""
    found = api(product, 9093, "v2/silences")
    by = {one["createdBy"] for one in found if one["status"]["state"] == "active"}
    return {name for name in by if name.startswith("halocline/")}


def states(product: Product, host: str, gateway: str) -> list[str]:
    """A gateway's srv_op_state and srv_admin_state in a host's HAProxy."""
    table = product.run(host, "echo 'show servers state rgw' | nc -U -N /run/ceph-rgw-haproxy.sock").out
    return next(line.split()[5:7] for line in table.splitlines() if f" {gateway} " in line)


def test_gateways_leave_their_balancer_and_alerts_are_silent(served: Product, load: Callable[..., Any]) -> None:
    """S3's client goes on through the address before the gateways, which one host of two serves meanwhile."""
    until(served.healthy, 120, "HEALTH_OK")
    longest = until_seen(served) + ceph_seconds(served, "mds_beacon_grace")
    host, other = "node1", "node2"
    with load(served, longest, least=50) as busy, busy.fault():
        done = began(served, f"begin {host}")
        try:
            assert f"{host}: its gateways get no new request" in done.out
            assert "not silenced" not in done.out
            assert "HAProxy does not answer" not in done.out
            assert running(served, host) == []
            assert silences(served) == {f"halocline/{host}"}
            silent = {one["labels"]["alertname"]: one["status"]["state"] for one in api(served, 9093, "v2/alerts")}
            assert {name for name, state in silent.items() if name == "CephOSDDownHigh" and state == "active"} == set()
            refused = typed(served, f"begin {other} test=true")
            assert (refused.code, "its clients would have none" in refused.out) == (2, True)
            stages(served, host, ["ceph.stage.services"])
        finally:
            ended = typed(served, f"end {host}")
        assert ended.code == 0, ended.out
        assert silences(served) == set()
        until(
            lambda: states(served, other, f"rgw.{host}") == ["2", "0"], 30, "HAProxy has it again: up, and not drained"
        )
    until(served.healthy, 240, "HEALTH_OK as before")
