"""Clients' keys on a cluster: given, changed and rotated while a client works, revoked so that it is refused soon."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from busy import until_seen
from processes import ProcessWatch
from product import DEPLOY, PILLAR, STORAGE, Product, nothing_changed, until

OWN, KEYS = f"{PILLAR}/stack/ceph/cluster.yml", f"{PILLAR}/keys/keys.json"
CONFIGURE, CLIENTS = "ceph.stage.configure", "ceph.stage.clients"
POOL, NARROW, WIDE = "keys", "allow rw pool=keys object_prefix work.", "allow rw pool=keys"
KEY = "  client.{name}: {{caps: {{mon: allow r, osd: '{osd}'}}, hosts: ['client1*']}}\n"
KEYRING = "/etc/ceph/ceph.client.{}.keyring"
SOON = 30  # seconds: a new OSD map reaches OSDs and clients within a few, on two busy cores
# Writes an object five times a second by one connection, as a program does that was started long ago.
WORKER = """\
import rados, sys, time
name = sys.argv[1]
with rados.Rados(name=name, conffile="/etc/ceph/ceph.conf") as cluster, cluster.open_ioctx("keys") as pool:
    while True:
        try:
            pool.write_full("work." + name, b"x")
            print("ok", flush=True)
        except rados.Error as err:
            print("error", err.errno, flush=True)
        time.sleep(0.2)
"""

pytestmark = pytest.mark.big


class Worker:
    """A program on client1 that uses the cluster by a key."""

    def __init__(self, cluster: Product, name: str) -> None:
        self.cluster, self.log = cluster, f"/run/{name}.log"
        command = f"exec setsid python3 /srv/worker.py client.{name} >{self.log} 2>&1 </dev/null & echo $!"
        self.pid = cluster.run("client1", command).out.strip()
        until(lambda: self.done() > 0, 60, f"client.{name} writes")

    def lines(self) -> list[str]:
        return self.cluster.run("client1", f"cat {self.log}").out.splitlines()

    def done(self) -> int:
        return self.lines().count("ok")

    def failed(self) -> list[str]:
        return [line for line in self.lines() if line != "ok"]

    def goes_on(self) -> None:
        """It works still, and never failed."""
        before = self.done()
        until(lambda: self.done() > before + 2, SOON, f"{self.log}: {self.lines()[-3:]}")
        assert self.failed() == []

    def end(self) -> None:
        self.cluster.run("client1", f"kill {self.pid}", check=False)


@pytest.fixture(scope="module")
def pool(cluster: Product) -> Iterator[Product]:
    """A cluster with a pool for this; afterwards as it was, without a key of ours."""
    until(cluster.whole, 60, "HEALTH_OK")
    before, held = cluster.run("saltmaster", f"cat {KEYS}").out, sorted(known(cluster))
    cluster.run("saltmaster", f"ceph osd pool create {POOL} 8; ceph osd pool application enable {POOL} test")
    cluster.write("/srv/kept-cluster.yml", "")
    cluster.run("saltmaster", f"cp -a {OWN} /srv/kept-cluster.yml", check=False)
    cluster.run("client1", f"cat >/srv/worker.py <<'EOF'\n{WORKER}EOF")
    try:
        yield cluster
    finally:
        cluster.run("client1", "rm -f /etc/ceph/ceph.client.*.keyring /srv/worker.py")
        cluster.run("saltmaster", f"cp -a /srv/kept-cluster.yml {OWN}")
        cluster.stage(CONFIGURE)
        made = json.loads(cluster.run("saltmaster", f"cat {KEYS}").out)
        for name in sorted({*known(cluster), *made} - {*held, *json.loads(before)}):
            cluster.run("saltmaster", f"salt-run secret.revoke {name}")
        allow = "ceph config {} mon mon_allow_pool_delete"
        delete = f"ceph osd pool rm {POOL} {POOL} --yes-i-really-really-mean-it"
        cluster.run(
            "saltmaster", f"{allow.format('set')} true; {delete}; {allow.format('rm')}; ceph osd blocklist clear"
        )
    assert (cluster.run("saltmaster", f"cat {KEYS}").out, sorted(known(cluster))) == (before, held)
    nothing_changed(cluster, DEPLOY)
    until(cluster.whole, 60, "HEALTH_OK")


def known(cluster: Product) -> dict[str, tuple]:
    """Each entity of the cluster: its key as a hash, what it may do."""
    entries = cluster.ceph("auth ls")["auth_dump"]
    return {each["entity"]: (hashlib.sha256(each["key"].encode()).hexdigest(), each["caps"]) for each in entries}


def blocked(cluster: Product) -> dict[str, str]:
    return dict(cluster.ceph("osd dump")["blocklist"])


def configured(cluster: Product, keys: dict[str, str], stages: Sequence[str] = (CLIENTS,)) -> str:
    """The site names these keys, by what they may do on OSDs, and stages carry it out; what configure said."""
    lines = "".join(KEY.format(name=name, osd=osd) for name, osd in keys.items())
    kept = cluster.run("saltmaster", "cat /srv/kept-cluster.yml").out
    cluster.write(OWN, kept + (f"ceph_keys:\n{lines}" if keys else ""))
    told = cluster.stage(CONFIGURE).out
    for stage in stages:
        assert cluster.stage(stage).code == 0
    return told


def may(cluster: Product, name: str, thing: str, keyring: str = "") -> bool:
    """Whether a program that is started now on client1 may write an object of that name."""
    keyring = keyring or KEYRING.format(name)
    command = f"timeout 40 rados --name client.{name} --keyring {keyring} -p {POOL} put {thing} /etc/hostname"
    return cluster.run("client1", command, check=False).code == 0


@contextmanager
def working(cluster: Product, *names: str) -> Iterator[list[Worker]]:
    workers = [Worker(cluster, name) for name in names]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.end()


def test_a_key_is_made_for_its_host_alone(pool: Product) -> None:
    told = configured(pool, {"app": NARROW, "other": WIDE})
    assert "nothing asks for this key" not in told
    assert known(pool)["client.app"][1] == {"mon": "allow r", "osd": NARROW}
    shown = pool.run("client1", f"stat -c '%a %U %G' {KEYRING.format('app')}").out
    assert shown.split() == ["600", "root", "root"]
    for host in ("saltmaster", *STORAGE):
        assert pool.run(host, f"test -e {KEYRING.format('app')}", check=False).code == 1, host
    assert may(pool, "app", "work.1") and not may(pool, "app", "elsewhere")
    for stage in (CONFIGURE, CLIENTS, DEPLOY):
        nothing_changed(pool, stage)


def test_a_key_changes_what_it_may_while_its_client_works(pool: Product) -> None:
    configured(pool, {"app": NARROW, "other": WIDE})
    key = known(pool)["client.app"][0]
    with working(pool, "app") as (worker,):
        configured(pool, {"app": WIDE, "other": WIDE})
        assert known(pool)["client.app"] == (key, {"mon": "allow r", "osd": WIDE})
        assert may(pool, "app", "elsewhere")
        worker.goes_on()


def test_capabilities_that_ceph_does_not_understand_change_nothing(pool: Product) -> None:
    configured(pool, {"app": WIDE, "other": WIDE})
    before = known(pool)
    for keys in ({"app": "allow everything", "other": WIDE}, {"app": WIDE, "other": WIDE, "third": "allow everything"}):
        configured(pool, keys, stages=())
        done = pool.stage(CLIENTS, check=False)
        assert done.code == 1 and "everything" in done.out and "Traceback" not in done.out + done.err
        assert known(pool) == before
    configured(pool, {"app": WIDE, "other": WIDE})


def test_a_key_is_rotated_while_its_client_works(pool: Product) -> None:
    configured(pool, {"app": WIDE, "other": WIDE})
    before, ring = known(pool), KEYRING.format("app")
    old = json.loads(pool.run("saltmaster", f"cat {KEYS}").out)["client.app"]
    pool.run("client1", f"cp -a {ring} /run/old.keyring")
    with working(pool, "app", "other") as workers, ProcessWatch() as watch:
        assert "would get a fresh key" in pool.run("saltmaster", "salt-run secret.rotate client.app test=true").out
        assert json.loads(pool.run("saltmaster", f"cat {KEYS}").out)["client.app"] == old
        told = pool.run("saltmaster", "salt-run secret.rotate client.app").out
        done = "".join(pool.stage(stage).out for stage in (CONFIGURE, CLIENTS))
        fresh = json.loads(pool.run("saltmaster", f"cat {KEYS}").out)["client.app"]
        assert old != fresh and known(pool)["client.app"][0] == hashlib.sha256(fresh.encode()).hexdigest()
        assert not [key for key in (old, fresh) if key in told + done]
        assert may(pool, "app", "work.2") and not may(pool, "app", "work.3", "/run/old.keyring")
        for worker in workers:
            worker.goes_on()
    pool.run("client1", "rm /run/old.keyring")
    assert watch.holding([b"ceph.stage.clients"]) and watch.holding([old.encode(), fresh.encode()]) == []
    assert {name: held for name, held in known(pool).items() if name != "client.app"} == {
        name: held for name, held in before.items() if name != "client.app"
    }
    for stage in (CONFIGURE, CLIENTS, DEPLOY):
        nothing_changed(pool, stage)


def test_a_revoked_client_is_refused_at_once_and_no_other(pool: Product) -> None:
    """Taken out of the settings it is named, and goes on; revoked, its program and its key are of no use any more."""
    configured(pool, {"app": WIDE, "other": WIDE})
    with working(pool, "app", "other") as (app, other):
        told = configured(pool, {"other": WIDE}, stages=(CLIENTS, DEPLOY))
        assert "client.app: nothing asks for this key any more: left alone" in told
        app.goes_on()
        state = known(pool), blocked(pool), pool.written()
        would = pool.run("saltmaster", "salt-run secret.revoke client.app test=true").out
        assert "would block" in would and state == (known(pool), blocked(pool), pool.written())

        told = pool.run("saltmaster", "salt-run secret.revoke client.app").out
        until(lambda: app.failed() != [], SOON, "it is refused")
        assert "client.app is revoked" in told and "client.app" not in known(pool)
        (fresh,) = set(blocked(pool).items()) - set(state[1].items())
        assert f"blocked until {fresh[1]}: {fresh[0]}" in told
        done = app.done()
        other.goes_on()
        assert app.done() == done, "not one operation more"
        assert not may(pool, "app", "work.4") and may(pool, "other", "work.5")
        state = known(pool)
        assert "client.app is revoked" in pool.run("saltmaster", "salt-run secret.revoke client.app").out
        assert known(pool) == state, "and a second run takes nothing more"
    assert "secrets" in pool.stage(CONFIGURE).out, "it goes from what is served to minions, too"
    for stage in (CONFIGURE, CLIENTS, DEPLOY):
        nothing_changed(pool, stage)
    assert "client.app" not in known(pool)


def test_a_revoked_client_that_is_named_still_gets_another_key(pool: Product) -> None:
    configured(pool, {"app": WIDE, "other": WIDE})
    with working(pool, "app") as (app,):
        told = pool.run("saltmaster", "salt-run secret.revoke client.app").out
        assert "has a fresh key for those that are told it still" in told
        until(lambda: app.failed() != [], SOON, "it is refused")
        assert not may(pool, "app", "work.6")
    assert pool.stage(CLIENTS).code == 0
    assert may(pool, "app", "work.7"), "on the same host, by its fresh key"


def test_a_key_made_by_hand_is_not_replaced_and_can_be_taken_in(pool: Product) -> None:
    pool.run("saltmaster", "ceph auth get-or-create client.hand mon 'allow r' -o /etc/ceph/hand.keyring")
    before = known(pool)
    configured(pool, {"other": WIDE, "hand": WIDE}, stages=())
    for stage in (DEPLOY, CLIENTS):
        done = pool.stage(stage, check=False)
        assert done.code == 1 and "client.hand" in done.out and "secret.take" in done.out
        assert known(pool) == before
    pool.run("saltmaster", "salt-run secret.take client.hand /etc/ceph/hand.keyring && rm /etc/ceph/hand.keyring")
    assert configured(pool, {"other": WIDE, "hand": WIDE})
    assert known(pool)["client.hand"] == (before["client.hand"][0], {"mon": "allow r", "osd": WIDE})
    assert may(pool, "hand", "work.8")


def test_an_osds_key_is_rotated_under_load(cluster: Product, load: Callable) -> None:
    """The cluster's and the host's are one again, nobody else's changed, and the OSD starts with it once more."""
    until(cluster.whole, 60, "HEALTH_OK")
    before = known(cluster)
    assert "would get a fresh key" in cluster.run("saltmaster", "salt-run secret.rotate osd.0 test=true").out
    assert known(cluster) == before
    with load(cluster, until_seen(cluster), least=100) as busy, busy.fault():
        told = cluster.run("saltmaster", "salt-run secret.rotate osd.0").out
        until(cluster.whole, 90, "HEALTH_OK with the fresh key")
    after = known(cluster)
    assert "has a fresh key and was restarted with it" in told
    assert {name for name in after if after[name] != before.get(name)} == {"osd.0"} and before.keys() == after.keys()
    assert after["osd.0"][1] == before["osd.0"][1]
    (host,) = (host for host in STORAGE if cluster.run(host, "test -e /etc/ceph/osd-devices/0", check=False).code == 0)
    ring = cluster.run(host, "cat /var/lib/ceph/osd/ceph-0/keyring").out
    assert hashlib.sha256(ring.split("key = ")[1].split()[0].encode()).hexdigest() == after["osd.0"][0]
    cluster.run(host, "systemctl reset-failed ceph-osd@0; systemctl restart ceph-osd@0")
    until(cluster.whole, 90, "HEALTH_OK after another start")
    for stage in (CONFIGURE, DEPLOY):
        nothing_changed(cluster, stage)
