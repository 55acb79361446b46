"""Keys are never replaced unasked: the folder of keys gone from the master, another master's keys in its place."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from product import DEPLOY, PILLAR, Product, nothing_changed, until

KEYS = f"{PILLAR}/keys"
CONFIGURE = "ceph.stage.configure"


def known(cluster: Product) -> dict[str, str]:
    """Every key that the monitors hold, as hashes."""
    entries = cluster.ceph("auth ls")["auth_dump"]
    return {entry["entity"]: hashlib.sha256(entry["key"].encode()).hexdigest() for entry in entries}


def state(cluster: Product) -> tuple:
    """What a stage that refuses leaves as it is."""
    return known(cluster), cluster.ceph("mon dump")["epoch"], cluster.traces(), cluster.daemons(), cluster.written()


@contextmanager
def away(cluster: Product) -> Iterator[None]:
    """The folder of keys is gone, and comes back."""
    cluster.run("saltmaster", f"mv {KEYS} /srv/keys.away")
    try:
        yield
    finally:
        cluster.run("saltmaster", f"rm -rf {KEYS}; mv /srv/keys.away {KEYS}")


def refused(cluster: Product, stage: str, *words: str) -> None:
    """A stage says no by name, and changes nothing."""
    before, secrets = state(cluster), [each["key"] for each in cluster.ceph("auth ls")["auth_dump"]]
    done = cluster.stage(stage, check=False)
    assert done.code == 1, done.out
    for word in words:
        assert word in done.out, (word, done.out)
    assert "Traceback" not in done.out + done.err
    assert not [key for key in secrets if key in done.out + done.err]
    assert state(cluster) == before


def test_keys_that_are_gone_are_not_made_anew(cluster: Product) -> None:
    """Configure and deploy say whose keys are where, and what to put back; with it back they are as before."""
    until(cluster.whole, 60, "HEALTH_OK")
    with away(cluster):
        refused(cluster, CONFIGURE, "mon. is the key of a cluster that exists, and the master has none", "node1")
        refused(cluster, DEPLOY, "client.admin is the key of a cluster that exists", f"put {KEYS}/keys.json back")
        assert cluster.run("saltmaster", f"test -e {KEYS}/keys.json", check=False).code != 0
    for stage in (CONFIGURE, DEPLOY):
        nothing_changed(cluster, stage)
    until(cluster.whole, 60, "HEALTH_OK")


@pytest.mark.big
def test_another_clusters_keys_on_the_master_are_not_handed_out(cluster: Product) -> None:
    until(cluster.whole, 60, "HEALTH_OK")
    kept = cluster.run("saltmaster", f"cp -a {KEYS}/keys.json /srv/keys.kept; cat {KEYS}/keys.json").out
    other = {name: f"{key[:-6]}AAAA==" for name, key in json.loads(kept).items()}
    try:
        cluster.run("saltmaster", f"cat >{KEYS}/keys.json <<'EOF'\n{json.dumps(other)}\nEOF")
        refused(cluster, CONFIGURE, "client.admin is the key of a cluster that exists, and the master has another")
        refused(cluster, DEPLOY, "the monitors (node1)", "mgr.node2 is the key of a cluster that exists")
    finally:
        cluster.run("saltmaster", f"mv /srv/keys.kept {KEYS}/keys.json")
    for stage in (CONFIGURE, DEPLOY):
        nothing_changed(cluster, stage)


@pytest.mark.big
def test_a_key_changed_by_hand_in_the_cluster_stays(cluster: Product) -> None:
    """Also where no stage looked first: the state that registers keys refuses by itself."""
    until(cluster.whole, 60, "HEALTH_OK")
    before = cluster.run("saltmaster", "ceph auth export mgr.node3").out
    cluster.run(
        "saltmaster", "ceph-authtool -C /srv/own.keyring --gen-key -n mgr.node3 --cap mon 'allow profile mgr' "
        "--cap osd 'allow *' --cap mds 'allow *'; ceph auth import -i /srv/own.keyring; rm /srv/own.keyring",
    )  # fmt: skip
    try:
        changed = known(cluster)
        done = cluster.run("saltmaster", "salt saltmaster state.apply ceph.cluster.keys", check=False)
        assert done.code != 0 and "mgr.node3: the cluster has another key" in done.out
        refused(cluster, DEPLOY, "mgr.node3 is the key of a cluster that exists, and the master has another")
        assert known(cluster) == changed
    finally:
        cluster.run("saltmaster", f"ceph auth import -i - <<'EOF'\n{before}EOF")
    nothing_changed(cluster, DEPLOY)
    until(cluster.whole, 60, "HEALTH_OK")
