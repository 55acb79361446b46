"""Authorities that a host trusts: those that the site's settings name no more are trusted no more."""

import importlib.util
import os
from pathlib import Path

import pytest
from saltfactories.utils.loader import LoaderModuleMock

STATE = Path(__file__).parents[2] / "salt/_states/host_trust.py"


@pytest.fixture
def only(tmp_path):
    """A function: the state's answer on a host that trusts what lies in a folder of this test."""
    spec = importlib.util.spec_from_file_location("trust_state", STATE)
    state = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(state)
    state.RECORD = tmp_path / "halocline/trusted"
    (tmp_path / "update").write_text(f"#!/bin/sh\nls {tmp_path}/*.crt >{tmp_path}/known\n[ ! -e {tmp_path}/fails ]\n")
    (tmp_path / "update").chmod(0o755)

    def run(*wanted, test=False):
        for path in [] if test else [tmp_path / f"{name}.crt" for name in wanted]:
            if not path.exists():
                path.touch()
        with LoaderModuleMock({state: {"__opts__": {"test": test}}}):
            return state.only(str(tmp_path), list(wanted), f"{tmp_path}/update")

    return run


def trusted(folder):
    return sorted(path.stem for path in folder.glob("*.crt"))


def test_what_settings_name_no_more_is_trusted_no_more(only, tmp_path):
    (tmp_path / "sites-own.crt").touch()
    assert only("old.pem", "other.pem")["result"] is True
    assert only("old.pem", "other.pem")["changes"] == {}
    told = only("new.pem", "other.pem", test=True)
    assert told["result"] is None and told["changes"]["old.pem"] == "is trusted no more"
    assert trusted(tmp_path) == ["old.pem", "other.pem", "sites-own"]
    assert only("new.pem", "other.pem")["result"] is True
    assert trusted(tmp_path) == ["new.pem", "other.pem", "sites-own"]
    assert "old.pem" not in (tmp_path / "known").read_text()
    assert only()["result"] is True and trusted(tmp_path) == ["sites-own"]
    assert only()["changes"] == {}


def test_interrupted_before_the_host_knows_it_is_done_again(only, tmp_path):
    only("old.pem")
    (tmp_path / "fails").touch()
    assert only()["result"] is False
    (tmp_path / "fails").unlink()
    assert only()["changes"] == {"old.pem": "is trusted no more"}


def test_a_certificate_that_is_new_or_another_is_known_though_a_run_ended_before(only, tmp_path):
    """It lies there then, and no state that writes it sees a change any more."""
    (tmp_path / "halocline").mkdir()
    (tmp_path / "halocline/trusted").write_text("ca.pem\n")  # as an earlier version wrote it
    for text in ("first", "second"):
        (tmp_path / "known").unlink(missing_ok=True)
        (tmp_path / "ca.pem.crt").write_text(text)
        assert only("ca.pem", test=True)["changes"] == {"ca.pem": "noted"}
        assert only("ca.pem", test=True)["result"] is None and not (tmp_path / "known").exists()
        (tmp_path / "fails").touch()
        assert only("ca.pem")["result"] is False
        (tmp_path / "fails").unlink()
        assert only("ca.pem")["changes"] == {"ca.pem": "noted"} and "ca.pem" in (tmp_path / "known").read_text()
        assert only("ca.pem", test=True)["changes"] == {}


def test_a_certificate_that_was_taken_away_by_hand_and_lies_there_again_is_known_again(only, tmp_path):
    """By somebody who cleared the folder: it is written with the same text, and the host knows it no more."""
    only("ca.pem")
    (tmp_path / "ca.pem.crt").unlink()
    (tmp_path / "known").write_text("")
    (tmp_path / "ca.pem.crt").touch()
    os.utime(tmp_path / "ca.pem.crt", (2e9, 2e9))  # later, whatever the clock's steps are
    assert only("ca.pem", test=True)["changes"] == {"ca.pem": "noted"}
    assert only("ca.pem")["result"] is True and "ca.pem" in (tmp_path / "known").read_text()
    assert only("ca.pem", test=True)["changes"] == {}


@pytest.mark.slow
@pytest.mark.parametrize(("family", "command"), [("Debian", "update-ca-certificates"), ("RedHat", "update-ca-trust")])
def test_each_gateways_host_is_told_all_that_it_trusts(show_sls, family, command):
    (found,) = [
        low for low in show_sls("ceph.service.rgw", family) if (low["state"], low["fun"]) == ("host_trust", "only")
    ]
    assert found["wanted"] == ["keystone-ca.pem"] and found["command"].startswith(command)
