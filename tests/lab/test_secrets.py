"""A hunt for the cluster's keys wherever they must not be. Each hunt first finds a planted one."""

import hashlib
import json

import hunting
import pytest
from processes import ProcessWatch
from product import PILLAR, STORAGE, Product, until

SALT = "/opt/salt/bin/python"  # the Python that Salt runs on, in a node
PLANTED = "AQBplantedplantedplantedplantedplanted=="
FORGED = {"id": "saltmaster", "host": "saltmaster", "roles": ["mon", "admin", "master"], "minion_id": "saltmaster"}
WAYS = {
    "as it is": {"pillar": None, "grains": {}, "minion": None},
    "with roles in its pillar": {"pillar": {"roles": ["mon", "admin", "master"]}, "grains": {}, "minion": None},
    "with everything in its pillar": {"pillar": {**FORGED, "stack": FORGED}, "grains": {}, "minion": None},
    "with forged grains": {"pillar": None, "grains": FORGED, "minion": None},
    "with both forged": {"pillar": FORGED, "grains": FORGED, "minion": None},
}
# What each minion may know (docs/concepts/secrets.md), as the guide's policy.cfg gives the roles.
MGRS = {f"mgr.{host}" for host in STORAGE}
MAY_KNOW = {
    "saltmaster": {"client.admin", "client.bootstrap-osd", "client.crash", *MGRS},
    **{host: {"mon.", "client.admin", "client.bootstrap-osd", "client.crash", f"mgr.{host}"} for host in STORAGE},
    "client1": set(),
}


@pytest.fixture(scope="module")
def keys(cluster: Product) -> dict[str, str]:
    """Every key by its entity: the master's own record and all that Ceph knows."""
    made = json.loads(cluster.run("saltmaster", f"cat {PILLAR}/keys/keys.json").out)
    known = {each["entity"]: each["key"] for each in cluster.ceph("auth ls")["auth_dump"]}
    assert set(made) == {"mon.", "client.admin", "client.bootstrap-osd", "client.crash", *MGRS}
    assert {f"osd.{osd_id}" for osd_id in range(6)} <= set(known)
    assert all(len(key) == 40 for key in (known | made).values())
    return known | made


@pytest.fixture(scope="module")
def since(cluster: Product) -> int:
    """When the first host of the lab was made, in seconds since 1970: no key is older."""
    return min(int(cluster.run(host, "stat -c %Z /etc/hostname").out) for host in cluster.session.hosts)


def files(cluster: Product, host: str, where: str, since: int, texts: list[str], user: str = "root") -> list[str]:
    """Files in these folders of a host that hold one of the texts, as far as that user can read them."""
    return cluster.run(host, ["python3", "-c", hunting.FILES, where, str(since), user, *texts]).out.splitlines()


def journal(cluster: Product, host: str, texts: list[str]) -> str:
    """Lines of a host's journal that hold one of the texts."""
    return cluster.run(host, ["python3", "-c", hunting.JOURNAL, *texts]).out


def known_to(cluster: Product, host: str, way: dict, keys: dict[str, str]) -> set[str]:
    """The entities whose keys stand in the pillar that a minion gets when it asks in that way."""
    words = set(json.loads(cluster.run(host, [SALT, "-W", "ignore", "-c", hunting.PILLAR, json.dumps(way)]).out))
    assert hashlib.sha256(b"ceph").hexdigest() in words or way["minion"], "that is no pillar of ours"
    return {name for name, key in keys.items() if hashlib.sha256(key.encode()).hexdigest() in words}


def test_no_process_was_started_with_a_key(cluster: Product, keys: dict[str, str]) -> None:
    """All command lines and environments from the first command of the guide to its end, of every host."""
    with ProcessWatch() as watch:
        for host in cluster.session.hosts:
            cluster.run(host, ["env", f"SECRET={PLANTED}", "sleep", "0.03"])
            cluster.run(host, ["sh", "-c", "sleep 0.03; true", f"{PLANTED}-{host}"])
    assert watch.holding([f"SECRET={PLANTED}".encode()])
    assert all(watch.holding([f"{PLANTED}-{host}".encode()]) for host in cluster.session.hosts)

    watched = cluster.notes["processes"]
    assert watched.holding([b"ceph.stage.deploy"])
    for short in (b"sgdisk", b"\0--mkfs\0", b"--connect-timeout"):
        assert watched.holding([short]), "the watch saw short commands too"
    assert watched.holding([key.encode() for key in keys.values()]) == []


# The two ends here; the master compiles every way's pillar in tests/functional/test_pillar.py.
@pytest.mark.parametrize(
    "way",
    [way if way in ("as it is", "with both forged") else pytest.param(way, marks=pytest.mark.big) for way in WAYS],
)
def test_a_minion_gets_its_own_keys_and_no_other_however_it_asks(
    cluster: Product, keys: dict[str, str], way: str
) -> None:
    found = {host: known_to(cluster, host, WAYS[way], keys) for host in MAY_KNOW}
    assert found == MAY_KNOW


def test_no_key_in_the_job_cache(cluster: Product, keys: dict[str, str], since: int) -> None:
    jobs, minion = "/var/cache/salt/master/jobs", "/var/cache/salt/minion"
    cluster.run(
        "saltmaster", f"salt client1 test.echo {PLANTED}; salt client1 file.write /var/cache/salt/minion/p {PLANTED}"
    )
    assert files(cluster, "saltmaster", jobs, since, [PLANTED])
    assert files(cluster, "client1", minion, since, [PLANTED]) == [f"{minion}/p"]
    cluster.run("client1", f"rm {minion}/p")
    assert files(cluster, "saltmaster", jobs, since, list(keys.values())) == []
    for host in cluster.session.hosts:
        assert files(cluster, host, minion, since, list(keys.values())) == [], host


def test_no_key_in_a_file_that_anyone_can_read(cluster: Product, keys: dict[str, str], since: int) -> None:
    """As nobody, over the whole file system of every host; the keyrings are there for root."""
    planted = PLANTED.replace("planted", "opened")  # the job cache's stays there, for all to read
    for host in cluster.session.hosts:
        cluster.run(host, f"echo {planted} | tee /opt/open >/opt/closed; chmod 644 /opt/open; chmod 600 /opt/closed")
        try:
            assert files(cluster, host, "/", since, [planted], "nobody") == ["/opt/open"]
            assert sorted(files(cluster, host, "/opt", since, [planted])) == ["/opt/closed", "/opt/open"]
        finally:
            cluster.run(host, "rm -f /opt/open /opt/closed")
        assert files(cluster, host, "/", since, list(keys.values()), "nobody") == [], host
    assert "/etc/ceph/ceph.client.admin.keyring" in files(cluster, "saltmaster", "/etc", since, [keys["client.admin"]])


def test_no_key_in_a_log(cluster: Product, keys: dict[str, str], since: int) -> None:
    for host in cluster.session.hosts:
        cluster.run(host, f"logger -t planted {PLANTED}; journalctl --sync; echo {PLANTED} >/var/log/planted")
        try:
            assert PLANTED in journal(cluster, host, [PLANTED])
            assert "/var/log/planted" in files(cluster, host, "/var/log", since, [PLANTED])
        finally:
            cluster.run(host, "rm /var/log/planted")
        assert journal(cluster, host, list(keys.values())) == "", host
        assert files(cluster, host, "/var/log", since, list(keys.values())) == [], host


def rotatable(cluster: Product) -> list[str]:
    return sorted(set(json.loads(cluster.run("saltmaster", f"cat {PILLAR}/keys/keys.json").out)) - {"mon."})


@pytest.mark.big
def test_keys_are_nowhere_else_after_each_was_rotated_and_a_run_failed(
    cluster: Product, keys: dict[str, str], since: int
) -> None:
    """With all logs at debug level; old and new keys. The failing run is a deploy whose disk was exchanged."""
    for host in cluster.session.hosts:
        debug = "printf 'log_level_logfile: debug\\n' | tee /etc/salt/{0}.d/zz-debug.conf; systemctl restart salt-{0}"
        for daemon in ("minion", "master") if host == "saltmaster" else ("minion",):
            cluster.run(host, debug.format(daemon))
    answering = f"[ $(salt '*' test.ping --out txt | grep -c True) = {len(cluster.session.hosts)} ]"
    until(lambda: cluster.run("saltmaster", answering, check=False).code == 0, 90, "all minions answer again")
    with ProcessWatch() as watch:
        for name in rotatable(cluster):
            cluster.run("saltmaster", f"salt-run secret.rotate {name}")
        for stage in ("configure", "deploy", "restart"):
            assert cluster.stage(f"ceph.stage.{stage}").code == 0, stage
        served = f"{PILLAR}/current/stack/default/ceph/minions/node1.yml"
        cluster.run("saltmaster", f"cp {served} /srv/served; sed -i 's/serial: .*/serial: ANOTHER}}/' {served}")
        failed = cluster.stage("ceph.stage.deploy", check=False)
        cluster.run("saltmaster", f"cp /srv/served {served}; salt 'node1' saltutil.refresh_pillar wait=True")
    assert failed.code != 0
    until(cluster.whole, 60, "HEALTH_OK with fresh keys")

    fresh = json.loads(cluster.run("saltmaster", f"cat {PILLAR}/keys/keys.json").out)
    assert all(fresh[name] != keys[name] for name in rotatable(cluster))
    known = {each["entity"]: each["key"] for each in cluster.ceph("auth ls")["auth_dump"]}
    assert {name: known[name] for name in rotatable(cluster)} == {name: fresh[name] for name in rotatable(cluster)}
    texts = sorted({*keys.values(), *fresh.values(), *known.values()})
    assert watch.holding([b"ceph.stage.deploy"])
    assert watch.holding([text.encode() for text in texts]) == []
    minion = "/var/cache/salt/minion"
    assert files(cluster, "saltmaster", "/var/cache/salt/master/jobs", since, texts) == []
    for host in cluster.session.hosts:
        assert "DEBUG" in cluster.run(host, "tail -c 100000 /var/log/salt/minion").out, "the log is at debug level"
        assert files(cluster, host, minion, since, texts) == [], host
        assert files(cluster, host, "/", since, texts, "nobody") == [], host
        assert files(cluster, host, "/var/log", since, texts) == [], host
        assert journal(cluster, host, texts) == "", host
