"""The page is let in by ``page.enable``: what that writes, its certificate, what it refuses; and it goes again."""

import getpass
import re
import stat
import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from saltmaster import Master

from runners.engine.page import page_config

REFUSED = {
    "nobody is named": ({}, "name who may look"),
    "everybody": ({"readers": "*"}, "'*' is no user's name"),
    "what Salt takes for a setting": ({"readers": "^filename"}, "is no user's name"),
    "what would be another line": ({"operators": "bob\nroot"}, "is no user's name"),
    "no port": ({"readers": "alice", "port": 0}, "port=0"),
    "a port in words": ({"readers": "alice", "port": "x"}, "port=x"),
    "no authentication": ({"readers": "alice", "by": "pam: {}"}, "by: one of Salt's authentications"),
    "an authentication that asks for nothing": ({"readers": "alice", "by": "auto"}, "that ask for a password"),
    "an authentication that Salt has not": ({"readers": "alice", "by": "pma"}, "by=pma is none of Salt's auth"),
    "no address": ({"readers": "alice", "host": "999.1.1.1"}, "host=999.1.1.1: an address of this host was expected"),
    "an address of nothing": ({"readers": "alice", "host": ""}, "host=: an address of this host was expected"),
    "an address in two lines": ({"readers": "alice", "host": "a\nb"}, "an address of this host was expected"),
    "no certificate in it": (
        {"readers": "alice", "certificate": "/etc/passwd", "key": "/etc/passwd"},
        "certificate=/etc/passwd holds no certificate",
    ),
    "half a certificate": ({"readers": "alice", "certificate": "/etc/hosts"}, "belong together"),
    "a certificate that is not there": ({"readers": "alice", "certificate": "/x.crt", "key": "/x.key"}, "no such file"),
    "an unknown argument": ({"reader": "alice"}, "'reader' is not an argument"),
}


@pytest.fixture
def master(salt_factories, tmp_path_factory):
    return salt_factories.salt_master_daemon(tmp_path_factory.mktemp("page").name, factory_class=Master)


@pytest.fixture
def runners(master):
    return master.runners()


def drop_in(master):
    return master.root / "conf/master.d/halocline-page.conf"


@pytest.mark.slow
def test_it_is_off_unless_asked_and_goes_again(master, runners, monkeypatch):
    assert "halocline_page" not in master.opts() and "not enabled" in runners["page.show"]()["text"]
    before = {path.name for path in (master.root / "conf").rglob("*")}
    told = runners["page.enable"](readers="alice", operators="bob", test=True)["text"]
    assert "would write" in told and "alice" in told and "would make a certificate" in told
    assert {path.name for path in (master.root / "conf").rglob("*")} == before
    runners["page.enable"](readers="alice,ceph%", operators="bob")
    opts = master.opts()
    assert opts["halocline_page"]["port"] == 9443 and opts["external_auth"]["pam"].keys() == {"alice", "bob", "ceph%"}
    shown = master.runners()["page.show"]()["text"]
    assert "alice: may look" in shown and "bob: may change" in shown
    with monkeypatch.context() as refused:  # as a master that runs as another user is, and root never
        refused.setattr(Path, "unlink", Mock(side_effect=PermissionError(13, "Permission denied")))
        done = runners["page.disable"]()
    assert done["retcode"] == 2 and f"cannot remove {drop_in(master)}: Permission denied" in done["error"]
    assert "took" in runners["page.disable"]()["text"]
    assert "halocline_page" not in master.opts() and "external_auth" not in yaml.load(
        master_text(master), yaml.CSafeLoader
    )


def master_text(master):
    return (master.root / "conf/master").read_text() or "{}"


@pytest.mark.slow
def test_its_certificate_is_this_hosts_and_its_key_is_roots(master, runners):
    runners["page.enable"](readers="alice")
    section = master.opts()["halocline_page"]
    certificate = x509.load_pem_x509_certificate(Path(section["certificate"]).read_bytes())
    key = serialization.load_pem_private_key(Path(section["key"]).read_bytes(), None)
    assert certificate.public_key() == key.public_key()
    assert stat.S_IMODE(Path(section["key"]).stat().st_mode) == 0o600
    runners["page.enable"](readers="alice,bob")
    assert x509.load_pem_x509_certificate(Path(section["certificate"]).read_bytes()) == certificate  # not anew


@pytest.mark.slow
def test_a_certificate_that_has_ended_is_said_and_made_anew_where_it_is_ours(master, runners, monkeypatch):
    monkeypatch.setattr(page_config, "DAYS", 0)
    runners["page.enable"](readers="alice")
    section = master.opts()["halocline_page"]
    crt, key = Path(section["certificate"]), Path(section["key"])
    ended = crt.read_bytes()
    shown = master.runners()["page.show"]()["text"]
    assert re.search(r"page\.crt ended on \d{4}-\d\d-\d\d: type page\.enable again", shown)
    monkeypatch.undo()
    given = {"certificate": str(crt), "key": str(key)}
    assert "page.crt ended on" in runners["page.enable"](readers="alice", **given)["text"]
    assert crt.read_bytes() == ended  # what is given is never written
    assert "would make a certificate" in runners["page.enable"](readers="alice", test=True)["text"]
    assert "ended" not in runners["page.enable"](readers="alice")["text"] and crt.read_bytes() != ended
    assert x509.load_pem_x509_certificate(crt.read_bytes()).public_key() == public(key)
    assert re.search(r"page\.crt until \d{4}-\d\d-\d\d", master.runners()["page.show"]()["text"])


def public(key):
    return serialization.load_pem_private_key(key.read_bytes(), None).public_key()


@pytest.mark.slow
def test_pam_is_asked_by_a_python_that_has_salt(master, runners):
    """Salt follows the links of what ``auth.pam.python`` names, and so leaves the virtual environment it lies in."""
    runners["page.enable"](readers="alice")
    named = Path(master.opts()["auth.pam.python"])
    assert str(named) == str(named.resolve()) and not stat.S_IMODE(named.stat().st_mode) & 0o022
    done = subprocess.run([named, "-c", "import salt; print('salt')"], capture_output=True, text=True, check=False)
    assert done.stdout == "salt\n", done.stderr
    master.runners()["page.enable"](readers="alice", by="ldap")
    assert "auth.pam.python" not in yaml.load(drop_in(master).read_text(), yaml.CSafeLoader)


@pytest.mark.slow
def test_a_python_that_the_site_named_for_pam_stays(master):
    path = master.root / "conf/master"
    path.write_text(path.read_text() + "\nauth.pam.python: /opt/own/python\n")
    master.runners()["page.enable"](readers="alice")
    assert "auth.pam.python" not in yaml.load(drop_in(master).read_text(), yaml.CSafeLoader)


@pytest.mark.slow
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_refused_and_nothing_written(master, runners, case):
    words, message = REFUSED[case]
    said = runners["page.enable"](**words)
    assert message in said["error"] and said["retcode"] == 2
    assert not drop_in(master).exists() and not (master.root / "conf/pki").exists()


@pytest.mark.slow
def test_a_key_has_to_be_that_of_the_certificate(master, runners, tmp_path):
    for name in ("one", "two"):
        page_config.make_certificate(str(tmp_path / f"{name}.crt"), str(tmp_path / f"{name}.key"), getpass.getuser())
    crt = str(tmp_path / "one.crt")
    for key, says in (("two.key", "is not that of certificate="), ("two.crt", "holds no key"), ("one.key", None)):
        done = runners["page.enable"](readers="alice", certificate=crt, key=str(tmp_path / key), host="localhost")
        assert says in done["error"] if says else drop_in(master).exists()
        assert bool(says) != drop_in(master).exists()


@pytest.mark.slow
def test_a_sites_own_rights_are_never_hidden(master):
    path = master.root / "conf/master"
    path.write_text(path.read_text() + "\nexternal_auth: {pam: {carol: [test.ping]}}\n")
    said = master.runners()["page.enable"](readers="alice")
    assert "external_auth, which a file of master.d would hide" in said["error"] and not drop_in(master).exists()


@pytest.mark.slow
def test_a_file_of_somebody_else_stays(master, runners):
    drop_in(master).write_text("their: own\n")
    for function, words in (("page.enable", {"readers": "alice"}), ("page.disable", {})):
        assert "was not made by page.enable" in runners[function](**words)["error"]
    assert drop_in(master).read_text() == "their: own\n"
