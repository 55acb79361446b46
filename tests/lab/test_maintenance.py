"""A host in maintenance while clients write: its daemons stay down over a reboot, stages leave it, it comes back."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from busy import until_seen
from product import DEPLOY, STORAGE, Product, until

from lab.containers import Done

pytestmark = pytest.mark.big
DAEMONS = "pgrep -x -l 'ceph-(osd|mon|mgr|mds)|radosgw|haproxy|keepalived|ganesha.nfsd'"


def typed(cluster: Product, words: str) -> Done:
    """A command of maintenance, as a person types it; no traceback, whatever comes of it."""
    done = cluster.run("saltmaster", f"salt-run maintenance.{words}", check=False)
    assert "Traceback" not in done.out + done.err
    return done


def began(cluster: Product, words: str) -> Done:
    """The same, which ends well."""
    done = typed(cluster, words)
    assert done.code == 0, done.out
    return done


def running(cluster: Product, host: str) -> list[str]:
    """The daemons that run on a host."""
    return cluster.run(host, DAEMONS, check=False).out.splitlines()


def flagged(cluster: Product) -> dict[str, list[str]]:
    """The hosts with flags of their own, and no flag for all."""
    dump = cluster.ceph("osd dump")
    assert "noout" not in dump["flags"].split(",")
    flags: dict[str, list[str]] = dump["crush_node_flags"]
    return flags


def answers(cluster: Product, host: str) -> bool:
    return host in cluster.run("saltmaster", "salt-run manage.up").out


def stages(cluster: Product, host: str, names: Sequence[str]) -> None:
    """Stages end well and name the host."""
    for name in names:
        done = cluster.stage(name, check=False)
        assert done.code == 0, done.out
        assert f"{host}: left out: in maintenance since" in done.out, done.out


@pytest.fixture
def kept(cluster: Product) -> Iterator[Product]:
    """The first cluster; whatever a test did, no host stays in maintenance."""
    until(cluster.whole, 120, "HEALTH_OK")
    yield cluster
    for host in json.loads(cluster.run("saltmaster", "salt-run maintenance.show --out json").out)["hosts"]:
        began(cluster, f"end {host}")
    until(cluster.whole, 240, "HEALTH_OK as before")


def test_a_host_is_maintained_while_clients_write(kept: Product, load: Callable[..., Any]) -> None:
    """The active manager's host: begun, rebooted, left alone by stages, a second one refused, back again."""
    host = kept.ceph("mgr stat")["active_name"]
    other = next(name for name in STORAGE if name != host)
    with load(kept, until_seen(kept), least=100) as busy, busy.fault():
        dry = began(kept, f"begin {host} test=true")
        assert "Ceph allows it" in dry.out
        assert len(running(kept, host)) == 4
        assert flagged(kept) == {}
        done = began(kept, f"begin {host}")
        assert f"{host}: another manager is active" in done.out
        assert running(kept, host) == []
        assert flagged(kept) == {host: ["noout"]}
        assert "its daemons are stopped" in began(kept, "show").out
        refused = typed(kept, f"begin {other}")
        assert (refused.code, "refused, nothing was changed: Ceph needs it now" in refused.out) == (2, True)
        assert flagged(kept) == {host: ["noout"]}
        assert len(running(kept, other)) == 4
        for name in ("ceph.stage.prep", "ceph.stage.discovery", "ceph.stage.configure", DEPLOY):
            stages(kept, host, [name])
            assert running(kept, host) == [], name
        kept.session.verb("stop", host)
        try:
            stages(kept, host, ["ceph.stage.prep", DEPLOY, "ceph.stage.restart"])
        finally:
            kept.session.verb("start", host)
        until(lambda: answers(kept, host), 120, f"{host} answers again")
        assert running(kept, host) == [], "nothing starts at boot"
        assert (
            f"osd.{osds(kept, host)[0]}" in (shown := kept.run("saltmaster", "salt-run health.show", check=False)).out
        )
        assert shown.code == 0, shown.out
        assert all(kept.ceph(f"osd find {osd}") for osd in osds(kept, host))
        began(kept, f"end {host}")
        assert len(running(kept, host)) == 4
        assert flagged(kept) == {}
    until(kept.whole, 240, "HEALTH_OK, and nobody was marked out")
    done = kept.stage(DEPLOY)
    assert "left out" not in done.out


def osds(cluster: Product, host: str) -> list[int]:
    """The OSDs of a host, by CRUSH."""
    numbers: list[int] = next(node["children"] for node in cluster.ceph("osd tree")["nodes"] if node["name"] == host)
    return numbers


def test_an_admins_noout_stays(kept: Product) -> None:
    """Set by hand before; the end of maintenance leaves it."""
    kept.run("saltmaster", "ceph osd set-group noout node1")
    try:
        began(kept, "begin node1")
        began(kept, "end node1")
        assert flagged(kept) == {"node1": ["noout"]}
    finally:
        kept.run("saltmaster", "ceph osd unset-group noout node1")


@pytest.mark.parametrize("lost", ["ceph.conf", "ceph.client.admin.keyring"])
def test_a_master_that_cannot_ask_starts_nothing_in_maintenance(kept: Product, lost: str) -> None:
    """Until deploy has written again what was lost, another may say who is: monitors are started before the key."""
    began(kept, "begin node3")
    kept.run("saltmaster", f"rm /etc/ceph/{lost}")
    stages(kept, "node3", [DEPLOY])
    assert running(kept, "node3") == [] and kept.run("saltmaster", f"test -e /etc/ceph/{lost}").code == 0


def test_osds_below_a_bucket_of_another_name_are_asked_of_and_held(kept: Product) -> None:
    """As where a site has buckets for classes; the OSDs move to their host's bucket by themselves when they start."""
    numbers = osds(kept, "node2")
    kept.run("saltmaster", "ceph osd crush rename-bucket node2 node2-hdd")
    try:
        began(kept, "begin node3")
        refused = typed(kept, "begin node2")
        assert refused.code == 2 and "Ceph needs it now" in refused.out, refused.out
        assert len(running(kept, "node2")) == 4
        began(kept, "end node3")
        until(kept.whole, 240, "HEALTH_OK before the next host")
        began(kept, "begin node2")
        states = {osd["osd"]: osd["state"] for osd in kept.ceph("osd dump")["osds"]}
        assert all("noout" in states[osd] for osd in numbers) and running(kept, "node2") == []
        began(kept, "end node2")
        states = {osd["osd"]: osd["state"] for osd in kept.ceph("osd dump")["osds"]}
        assert not any("noout" in state for state in states.values())
    finally:
        kept.run("saltmaster", "ceph osd crush rm node2-hdd || ceph osd crush rename-bucket node2-hdd node2")
    assert osds(kept, "node2") == numbers


@pytest.mark.parametrize("verb", ["begin", "end"])
def test_interrupted_the_same_command_goes_on(kept: Product, load: Callable[..., Any], verb: str) -> None:
    """The master's process is killed on its way."""
    host = "node2"
    with load(kept, until_seen(kept), least=50) as busy, busy.fault():
        if verb == "end":
            began(kept, f"begin {host}")
        for seconds in (4, 8):
            kept.run("saltmaster", f"timeout -s KILL {seconds} salt-run maintenance.{verb} {host}", check=False)
        began(kept, f"{verb} {host}")
        assert bool(running(kept, host)) == (verb == "end")
        began(kept, f"end {host}")
    assert flagged(kept) == {}
    until(kept.whole, 240, "HEALTH_OK")
