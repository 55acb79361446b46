"""What host_ceph.inspect sees of a cluster on a host that is on file."""

import pytest

FSID = "22222222-2222-4222-8222-222222222222"
CONF = f"""
; made by hand
[global]
fsid = {FSID}   # of the old cluster
public network = 10.0.0.0/16
cluster-network="10.1.0.0/16"
mon host = 10.0.0.1
[osd]
public_network = 10.9.0.0/16
"""


@pytest.fixture
def module(python_module):
    return python_module("host_ceph")


@pytest.fixture
def configure_loader_modules(module, tmp_path):
    """A host whose files lie in ``tmp_path``."""
    return {module: {"CONF": tmp_path / "ceph.conf", "ADMIN": tmp_path / "admin", "LIB": tmp_path / "lib"}}


@pytest.fixture
def makes_key(monkeypatch, tmp_path):
    """A function: what `ceph-authtool` prints, with this exit status; there is none before."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def says(text, status=0):
        (tmp_path / "ceph-authtool").write_text(f"#!/bin/sh\necho '{text}'\nexit {status}\n")
        (tmp_path / "ceph-authtool").chmod(0o755)

    return says


@pytest.mark.parametrize(
    ("key", "status", "cipher"),
    [
        ("AQCh4AlrAAAAABAASbG7FZgHyrfRd3ZgFUVKuA==", 0, "aes"),  # of Ceph 16.2.15
        ("AgBO4QlrqBYyHyAANN71OdEdpgERgMXtsO5y5TrSmEsJtvvfDl0a5vRNArQ=", 0, "aes256k"),  # of 20.2.4
        ("BwBO4Qlr", 0, ""),  # which counts as the older one, as none would know it
        ("cannot", 1, ""),
    ],
)
def test_the_cipher_is_that_of_keys_which_its_ceph_makes(module, makes_key, key, status, cipher):
    assert module.cipher() is None
    makes_key(key, status)
    assert module.cipher() == cipher


def test_a_host_without_ceph(module, makes_key):
    assert module.inspect() == {"conf": {}, "monitors": {}, "admin": False, "cipher": None}


def test_conf_stores_and_key(module, makes_key):
    module.CONF.write_text(CONF)
    module.ADMIN.write_text("[client.admin]")
    for store in ("mon/ceph-a/store.db", f"{FSID}/mon.b/store.db", "not-a-uuid/mon.c/store.db"):
        (module.LIB / store).mkdir(parents=True)
    (module.LIB / "mon/ceph-empty").mkdir()
    assert module.inspect() == {
        "conf": {"fsid": FSID, "public_network": "10.0.0.0/16", "cluster_network": "10.1.0.0/16"},
        "monitors": {f"{module.LIB}/mon/ceph-a": None, f"{module.LIB}/{FSID}/mon.b": FSID},
        "admin": True,
        "cipher": None,
    }


def test_a_fsid_in_capitals_is_the_same(module):
    module.CONF.write_text("fsid = AAAAAAAA-2222-4222-8222-222222222222\n")
    assert module.inspect()["conf"] == {"fsid": "aaaaaaaa-2222-4222-8222-222222222222"}


@pytest.mark.parametrize("text", ["", "[global", "fsid", "= =\n[]", "\x00\xff"])
def test_what_is_no_configuration_says_nothing(module, text):
    module.CONF.write_text(text)
    assert module.inspect()["conf"] == {}
