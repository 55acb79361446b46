"""Keys are made once and told by role."""

import base64

import pytest

from proposals.pillar import secrets
from proposals.text.errors import ArgumentError

CAPS = secrets.entities(["a"], {})
KEYS = secrets.keys({}, CAPS)


def test_a_key_has_cephx_form():
    raw = base64.b64decode(secrets.new_key())
    assert (len(raw), raw[:2], raw[10:12]) == (28, b"\x01\x00", b"\x10\x00")

    raw = base64.b64decode(secrets.new_key("aes256k"))
    assert (len(raw), raw[:2], raw[10:12]) == (44, b"\x02\x00", b"\x20\x00")
    assert secrets.CEPHX.fullmatch(secrets.new_key("aes256k"))


@pytest.mark.parametrize(
    ("ciphers", "fresh"),
    [
        (["aes256k", "aes256k", None], "aes256k"),  # one host has no Ceph yet
        (["aes256k", "aes"], "aes"),  # while an upgrade is under way
        (["aes256k", "unasked"], "aes"),  # it was silent since the update that brought ciphers: its Ceph may be older
        ([None], "aes"),
        (["aes512", "aes256k"], "aes"),  # what a minion says may be anything
    ],
)
def test_fresh_keys_are_of_the_cipher_that_every_host_knows(ciphers, fresh):
    assert secrets.cipher([{} if each == "unasked" else {"ceph_cipher": each} for each in ciphers]) == fresh
    known = secrets.keys({"client.admin": "old"}, ["client.admin", "mgr.a"], cipher=fresh)
    assert known["client.admin"] == "old" and known["mgr.a"].startswith({"aes": "AQ", "aes256k": "Ag"}[fresh])


def test_known_keys_stay():
    known = secrets.keys({}, secrets.entities(["a"], {}), ["password.x"])
    more = secrets.keys(known, secrets.entities(["a", "b"], {}), ["password.x", "password.y"])
    assert {name: more[name] for name in known} == known
    assert set(more) - set(known) == {"mgr.b", "password.y"}


@pytest.mark.parametrize(
    ("roles", "uses"),
    [
        (["mon"], {"mon", "crash"}),
        (["storage"], {"bootstrap-osd", "crash"}),
        (["mgr"], {"mgr", "crash"}),
        (["admin"], {"admin"}),
        (["master"], {"admin", "register"}),
        (["client-cephfs"], set()),
    ],
)
def test_a_minion_is_told_what_its_roles_need(roles, uses):
    assert set(secrets.minion(KEYS, CAPS, roles, "a")) == uses


def test_an_osd_node_is_told_no_admin_key_and_a_monitor_no_osd_key():
    keys = KEYS
    told = {role: "".join(secrets.minion(keys, CAPS, [role], "a").values()) for role in ("storage", "mon", "mgr")}
    assert keys["client.admin"] in told["mon"]  # the search finds what is there
    assert keys["client.admin"] not in told["storage"] + told["mgr"]
    assert keys["client.bootstrap-osd"] not in told["mon"] + told["mgr"]


def test_one_key_is_rotated_and_no_other():
    known = secrets.keys({}, secrets.entities(["mon1"], {}))
    fresh = secrets.rotated(known, "client.admin")
    assert {name for name in known if fresh[name] != known[name]} == {"client.admin"}
    for name, said in (("mon.", "while monitors run"), ("client.admn", "did you mean 'client.admin'")):
        with pytest.raises(ArgumentError, match=said):
            secrets.rotated(known, name)
