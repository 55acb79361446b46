"""The master's keys on disk, changed by name: who may know a key is told its successor, and nothing else changes."""

import json
import stat

import pytest
import yaml

from proposals.files.site import Site
from proposals.pillar import key_store, secrets
from proposals.text.errors import ArgumentError

CAPS = {"client.a": {"mon": "allow r"}, "client.a2": {"mon": "allow r"}, "mgr.node1": {"mon": "allow profile mgr"}}
KEYS = {name: secrets.new_key() for name in CAPS}
OTHER = secrets.new_key()
RING = f'[client.b]\n\tkey = {OTHER}\n\tcaps mon = "allow r"\n[client.a]\n    key={OTHER}\n\tcaps osd = "allow *"\n'


@pytest.fixture
def site(tmp_path):
    """A master with three keys, of which the host c1 knows two, and by themselves too."""
    site = Site(tmp_path / "ceph", tmp_path)
    for folder in (site.keys.parent, site.secrets, site.given):
        folder.mkdir(parents=True, exist_ok=True)
    site.keys.write_text(json.dumps(KEYS))
    told = {"keyring/client.a": ["client.a"], "both": ["client.a2", "client.a"]}
    uses = {use: secrets.keyring(KEYS, CAPS, names) for use, names in told.items()}
    tell(site, "c1", uses | {"alone": KEYS["client.a"]})
    tell(site, "c2", {"mgr": secrets.keyring(KEYS, CAPS, ["mgr.node1"])})
    return site


def tell(site, minion, uses):
    (site.secrets / f"{minion}.yml").write_text(yaml.safe_dump({"ceph_secrets": uses, "more": 1}))


def told(site, minion):
    return yaml.load((site.secrets / f"{minion}.yml").read_text(), yaml.CSafeLoader)


def kept(site):
    return json.loads(site.keys.read_text())


def test_a_revoked_key_is_nowhere_any_more_and_its_hosts_are_told_another(site):
    before = told(site, "c2")
    assert key_store.revoke(site, "client.a") is True
    fresh, known = kept(site)["client.a"], told(site, "c1")
    assert fresh != KEYS["client.a"] and {**kept(site), "client.a": KEYS["client.a"]} == KEYS
    assert known["more"] == 1 and known["ceph_secrets"]["alone"] == fresh
    keys = {**KEYS, "client.a": fresh}
    assert known["ceph_secrets"]["both"] == secrets.keyring(keys, CAPS, ["client.a2", "client.a"])
    assert KEYS["client.a"] not in "".join(path.read_text() for path in site.root.rglob("*") if path.is_file())
    assert told(site, "c2") == before
    assert stat.S_IMODE((site.secrets / "c1.yml").stat().st_mode) == 0o600
    assert json.loads(site.earlier.read_text()) == {"client.a": [secrets.digest(KEYS["client.a"])]}


def test_one_that_nobody_is_told_is_forgotten(site):
    (site.secrets / "c1.yml").unlink()
    assert key_store.revoke(site, "client.a") is False
    assert set(kept(site)) == {"client.a2", "mgr.node1"}
    assert key_store.revoke(site, "client.a") is False  # again


def test_one_that_was_interrupted_ends_with_one_key_everywhere(site, monkeypatch):
    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(key_store, "dump_secrets", killed)
        with pytest.raises(KeyboardInterrupt):
            key_store.revoke(site, "client.a")
    assert told(site, "c1")["ceph_secrets"]["alone"] == KEYS["client.a"] != kept(site)["client.a"]
    assert key_store.revoke(site, "client.a") is True
    ring = told(site, "c1")["ceph_secrets"]["keyring/client.a"]
    assert secrets.of_keyring(ring, "client.a") == kept(site)["client.a"] == told(site, "c1")["ceph_secrets"]["alone"]
    assert secrets.digest(KEYS["client.a"]) in json.loads(site.earlier.read_text())["client.a"]


def test_a_rotated_secret_of_a_gateways_user_is_known_by_its_hash(site):
    """Gateways have it until the stage brings the fresh one."""
    site.keys.write_text(json.dumps({**KEYS, "rgw_users.alice": "S", "dashboard.admin": "D"}))
    for name in ("rgw_users.alice", "dashboard.admin"):
        key_store.rotate(site, name)
    assert json.loads(site.earlier.read_text()) == {"rgw_users.alice": [secrets.digest("S")]}


def test_a_key_made_by_hand_is_taken_in(site):
    assert key_store.take(site, "client.b", RING) and key_store.take(site, "client.a", RING)
    assert kept(site) == {**KEYS, "client.a": OTHER, "client.b": OTHER}
    assert key_store.take(site, "client.b", RING) is False
    assert key_store.held(site).earlier == {"client.a": [secrets.digest(KEYS["client.a"])]}


@pytest.mark.parametrize(
    ("ring", "name"),
    [
        ("", "client.a"),
        (RING, "client.c"),
        (RING, "client"),
        ("[client.a]\n\tcaps mon = x\n[client.b]\n\tkey = " + OTHER, "client.a"),
        ("[client.a]\nkey = secret\n", "client.a"),
        ("[client.a]\nkey = ../../etc/shadow {{ 1 }}\n", "client.a"),
    ],
    ids=["empty", "other", "part", "without", "secret", "path"],
)
def test_a_keyring_without_it_is_refused(site, ring, name):
    with pytest.raises(ArgumentError, match="expected a keyring as 'ceph auth get"):
        key_store.take(site, name, ring)
    assert kept(site) == KEYS


def test_what_the_site_gave_is_the_sites_to_change(site):
    (site.given / "client.a").write_text(OTHER)
    for change in (key_store.rotate, key_store.revoke, lambda *words: key_store.take(*words, RING)):
        with pytest.raises(ArgumentError, match=r"client\.a is given by the site itself: change .*/given/client\.a"):
            change(site, "client.a")
    assert kept(site) == KEYS and not site.earlier.exists()


def test_keys_that_nothing_asks_for_are_named(site):
    assert key_store.unasked(site, {"client.a"}) == ["client.a2"]


def test_a_secret_is_lent_and_taken_back(site):
    before = told(site, "c1")
    for minion in ("c1", "c3"):
        key_store.lend(site, minion, "osd.3", OTHER)
        assert told(site, minion)["ceph_secrets"]["osd.3"] == OTHER
        assert stat.S_IMODE((site.secrets / f"{minion}.yml").stat().st_mode) == 0o600
        key_store.lend(site, minion, "osd.3", None)
    assert told(site, "c1") == before and not (site.secrets / "c3.yml").exists()
    key_store.lend(site, "c3", "osd.3", None)
    assert not (site.secrets / "c3.yml").exists()
