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


def test_a_host_without_ceph(module):
    assert module.inspect() == {"conf": {}, "monitors": {}, "admin": False}


def test_conf_stores_and_key(module):
    module.CONF.write_text(CONF)
    module.ADMIN.write_text("[client.admin]")
    for store in ("mon/ceph-a/store.db", f"{FSID}/mon.b/store.db", "not-a-uuid/mon.c/store.db"):
        (module.LIB / store).mkdir(parents=True)
    (module.LIB / "mon/ceph-empty").mkdir()
    assert module.inspect() == {
        "conf": {"fsid": FSID, "public_network": "10.0.0.0/16", "cluster_network": "10.1.0.0/16"},
        "monitors": {f"{module.LIB}/mon/ceph-a": None, f"{module.LIB}/{FSID}/mon.b": FSID},
        "admin": True,
    }


def test_a_fsid_in_capitals_is_the_same(module):
    module.CONF.write_text("fsid = AAAAAAAA-2222-4222-8222-222222222222\n")
    assert module.inspect()["conf"] == {"fsid": "aaaaaaaa-2222-4222-8222-222222222222"}


@pytest.mark.parametrize("text", ["", "[global", "fsid", "= =\n[]", "\x00\xff"])
def test_what_is_no_configuration_says_nothing(module, text):
    module.CONF.write_text(text)
    assert module.inspect()["conf"] == {}
