"""Gateways leave their balancer, for a host's maintenance and for a restart; alerts about the host are silent."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from busy import ceph_seconds, until_seen
from gateways import up
from product import PILLAR, Product, until
from test_maintenance import began, running, stages, typed
from test_monitoring import api

pytestmark = pytest.mark.big
FRONTS = ("node1", "node2")  # each with a gateway and a HAProxy
DRAIN = "8"  # srv_admin_state of a server that was drained by hand (SRV_ADMF_FDRAIN, include/haproxy/server-t.h)


def silences(product: Product) -> set[str]:
    """The silences of ours that hold now: whom each is by."""
    found = api(product, 9093, "v2/silences")
    by = {one["createdBy"] for one in found if one["status"]["state"] == "active"}
    return {name for name in by if name.startswith("halocline/")}


def states(product: Product, host: str, gateway: str) -> list[str]:
    """A gateway's srv_op_state and srv_admin_state in a host's HAProxy."""
    table = product.run(host, "echo 'show servers state rgw' | nc -U -N /run/ceph-rgw-haproxy.sock").out
    return next(line.split()[5:7] for line in table.splitlines() if f" {gateway} " in line)


def starts(product: Product, host: str) -> str:
    """When a host's gateway began."""
    unit = f"ceph-radosgw@rgw.{host}"
    return product.run(host, f"systemctl show --property ExecMainStartTimestampMonotonic --value {unit}").out.strip()


def nfs_servers(product: Product) -> set[str]:
    """The users of the NFS servers that have a session with a metadata server."""
    systems = [system["mdsmap"]["info"].values() for system in product.ceph("fs dump")["filesystems"]]
    active = [server["name"] for servers in systems for server in servers if server["state"] == "up:active"]
    sessions = [session for name in active for session in product.ceph(f"tell mds.{name} client ls")]
    users = {str(session["client_metadata"].get("entity_id")) for session in sessions}
    return {user for user in users if user.startswith("ganesha.")}


def drained(product: Product, running: Future) -> list[str]:
    """Which gateways had no new request one after the other while something ran, by a HAProxy's word."""
    seen: list[str] = []
    while not running.done():
        for host in FRONTS:
            if states(product, FRONTS[0], f"rgw.{host}")[1] == DRAIN and host not in seen[-1:]:
                seen.append(host)
    return seen


def test_gateways_leave_their_balancer_for_a_restart(served: Product, load: Callable[..., Any]) -> None:
    """Both begin anew, one after the other, as their keyrings are newer than they; no request of S3's client fails."""
    until(served.healthy, 120, "HEALTH_OK")
    began = {host: starts(served, host) for host in FRONTS}
    for host in FRONTS:
        served.run(host, f"touch /var/lib/ceph/radosgw/ceph-rgw.{host}/keyring")
    planned = served.run("saltmaster", "salt-run daemon.restart test=true").out
    assert all(f"would restart client.rgw.{host} of {host}" in planned for host in FRONTS), planned
    with (
        load(served, until_seen(served), least=50, clients=("s3",), errors=0) as busy,
        busy.fault(),
        ThreadPoolExecutor(1) as pool,
    ):
        running = pool.submit(served.stage, "ceph.stage.restart", check=False)
        seen = drained(served, running)
    done = running.result()
    assert done.code == 0, done.out
    assert seen == list(FRONTS)
    assert all(starts(served, host) != before for host, before in began.items())
    assert {tuple(states(served, front, f"rgw.{host}")) for front in FRONTS for host in FRONTS} == {("2", "0")}
    assert "halocline/drained" not in served.run("saltmaster", "ceph config-key ls").out


@pytest.mark.parametrize(("former", "new"), [(8400, 8410), (8410, 8400)])
def test_gateways_get_another_port_and_no_request_fails(
    served: Product, load: Callable[..., Any], former: int, new: int
) -> None:
    """HAProxy keeps the former one until the first gateway listens on the new one, as it was restarted."""
    until(served.healthy, 120, "HEALTH_OK")
    behind = [(front, f"rgw.{host}") for front in FRONTS for host in FRONTS]
    with load(served, until_seen(served), least=50, clients=("s3",), errors=0) as busy, busy.fault():
        served.run("saltmaster", f"sed -i 's/port: {former}/port: {new}/' {PILLAR}/stack/ceph/cluster.yml")
        served.stage("ceph.stage.configure")
        code, said = up(served, check=False)
        assert code == 1 and "HAProxy stays as it is, and serves" in said["comment"], said["comment"]
        assert [states(served, *each) for each in behind] == [["2", "0"]] * 4
        done = served.stage("ceph.stage.restart", check=False)
        assert done.code == 0, done.out
    assert all(f":{new} " in served.run(host, "ss -Htlnp | grep radosgw").out for host in FRONTS)
    until(lambda: [states(served, *each) for each in behind] == [["2", "0"]] * 4, 30, "both gateways are up")
    assert up(served)[1]["changes"] == {}


def test_gateways_leave_their_balancer_and_alerts_are_silent(served: Product, load: Callable[..., Any]) -> None:
    """S3's client goes on through the address before the gateways, which one host of two serves meanwhile."""
    until(served.healthy, 120, "HEALTH_OK")
    longest = until_seen(served) + ceph_seconds(served, "mds_beacon_grace")
    host, other = "node1", "node2"
    assert nfs_servers(served) == {f"ganesha.{host}", f"ganesha.{other}"}
    with load(served, longest, least=50) as busy, busy.fault():
        done = began(served, f"begin {host}")
        try:
            assert f"{host}: its gateways get no new request" in done.out
            assert "not silenced" not in done.out
            assert "HAProxy does not answer" not in done.out
            assert running(served, host) == []
            assert nfs_servers(served) == {f"ganesha.{other}"} and "may wait for 5 minutes" not in done.out
            dump = f"ganesha-rados-grace --userid ganesha.{other} --pool .nfs --ns ganesha dump"
            until(lambda: "rec=0" in served.run(other, dump, check=False).out, 30, "grace ends without it")
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
        until(lambda: f"ganesha.{host}" in nfs_servers(served), 60, "its NFS server is back")
        until(
            lambda: states(served, other, f"rgw.{host}") == ["2", "0"], 30, "HAProxy has it again: up, and not drained"
        )
    until(served.healthy, 240, "HEALTH_OK as before")
