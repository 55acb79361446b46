"""A smoke test of iSCSI, with gateways and a library that are played: also one that is killed at any moment."""

import contextlib
import json
import socket
import sys
from types import SimpleNamespace

import pytest
from iscsi_played import CLIENT, LIBRARY, NAME, OWN, PORTALS, SITE, SITES, Gateways
from played import Killed
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock


@pytest.fixture
def played(tmp_path, monkeypatch, python_module):
    """Two gateways, a library, and the module that tries them."""
    (tmp_path / "sitecustomize.py").write_text(LIBRARY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("TOP", str(tmp_path))
    module, api = python_module("smoke_iscsi"), python_module("iscsi")
    gateways = Gateways(tmp_path)
    monkeypatch.setattr(api, "_call", gateways.call)
    monkeypatch.setattr(api, "_size", lambda image: 64 << 20)
    monkeypatch.setattr(module, "gateway", lambda: {"passed": ["gateway"], "failed": []})
    salt = {"iscsi.config": api.config, "iscsi.bring": api.bring, "iscsi.tell": api.tell}
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.create_server((PORTALS[0], 0)))
        port = listening.getsockname()[1]
        stack.enter_context(socket.create_server((PORTALS[1], port)))
        mocked = {"__salt__": salt, "PYTHON": sys.executable, "PORT": port, "GONE": 5, "LIMIT": 2}
        stack.enter_context(LoaderModuleMock({module: mocked}))
        tell(tmp_path)
        yield module, gateways


def tell(top, **more):
    told = {"installed": True, "names": [SITES, "iqn.x:other"], "refuses": {}, "busy": 0, "spoils": 0}
    (top / "told").write_text(json.dumps({**told, **more}))


@pytest.fixture
def at_once(played, monkeypatch):
    """The same with a client that is well, and takes no time."""
    module, _ = played
    monkeypatch.setattr(module, "_run", lambda asked: [SITES] if asked.keys() == {"portal"} else True)
    return played


def attempted(module, gateways):
    return module.attempt("rbd", PORTALS, [SITES])


@pytest.mark.slow
def test_a_disk_is_written_through_the_gateway_that_has_it_and_a_client_logs_in_at_the_others(played):
    module, gateways = played
    told = attempted(module, gateways)
    assert told == {
        "passed": [
            "portal 127.0.0.1: names 1 targets, an initiator logged in",
            "portal 127.0.0.2: names 1 targets, a disk written and read",
        ],
        "failed": [],
        "skipped": [],
    }
    asked = (gateways.top / "asked").read_text().splitlines()
    assert asked == [f"in {each} 1" if each != "out" else each for each in (PORTALS[0], "out", PORTALS[1], "out")] + [
        *(f"in {PORTALS[0]} 2", "out"),
        *(f"in {PORTALS[1]} 2", "out") * 2,
    ]
    assert gateways.record()["targets"][SITES] == SITE["targets"][SITES]
    assert module.clean() == [f"iSCSI target {OWN}", f"image rbd/{NAME}"]
    assert gateways.record() == SITE and module.clean() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("told", "kind", "words"),
    [
        ({"installed": False}, "skipped", "libiscsi7"),
        ({"names": ["iqn.x:other"]}, "failed", f"portal 127.0.0.1: does not name {SITES}"),
        ({"names": []}, "failed", f"portal 127.0.0.1: does not name {SITES}"),
        ({"refuses": {"127.0.0.2": "Target moved(257)"}}, "failed", "Target moved(257)"),
    ],
)
def test_where_no_disk_can_be_tried_none_is_made_and_why_is_told(played, told, kind, words):
    module, gateways = played
    tell(gateways.top, **told)
    said = attempted(module, gateways)
    assert words in said[kind][0] and "import ctypes" not in str(said) and gateways.calls == []
    assert not any("disk" in line for line in said["passed"])


@pytest.mark.slow
def test_on_a_gateway_that_does_not_serve_nothing_is_made(played, monkeypatch):
    module, gateways = played
    monkeypatch.setattr(module, "gateway", lambda: {"passed": [], "failed": ["tcmu-runner does not run"]})
    told = attempted(module, gateways)
    assert told == {"passed": [], "failed": [], "skipped": ["no disk: this gateway does not serve"]}
    assert gateways.calls == []


@pytest.mark.slow
def test_a_portal_at_which_nobody_listens_is_named(played):
    module, gateways = played
    told = module.attempt("rbd", [*PORTALS, "127.0.0.3"], [SITES])
    assert "portal 127.0.0.3: " in told["failed"][0] and "refused" in told["failed"][0] and gateways.calls == []


@pytest.mark.slow
def test_a_sites_password_for_discovery_is_no_failure(played):
    module, gateways = played
    tell(gateways.top, refuses=dict.fromkeys(PORTALS, "Authentication failure(513)"))
    told = attempted(module, gateways)  # nobody names a target then, and the logins of the test's own fail here too
    assert gateways.calls and len(told["failed"]) == 2 and "Authentication failure" in told["failed"][0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("told", "words"),
    [({"spoils": 1}, "what was read is not what was written"), ({"busy": 2}, "NOT_READY"), ({"busy": 1}, "")],
)
def test_a_disk_that_does_not_serve_is_named(played, told, words):
    module, gateways = played
    tell(gateways.top, **told)
    said = attempted(module, gateways)
    assert len(said["failed"]) == bool(words) and words in "".join(said["failed"])
    password = gateways.record()["targets"][OWN]["clients"][CLIENT]["auth"]["password"]
    assert len(password) == 16 and password not in str(said)


@pytest.mark.parametrize("wrong", ["target/", "gateway/", "disk/", "clientauth/"])
def test_an_api_that_refuses_is_told_and_what_was_made_goes(at_once, wrong):
    module, gateways = at_once
    gateways.wrong = wrong
    with pytest.raises(CommandExecutionError, match="says 400"):
        attempted(module, gateways)
    gateways.wrong = ""
    module.clean()
    assert gateways.record() == SITE


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("moment", range(1, 13))
def test_whenever_it_is_killed_the_next_clean_leaves_the_sites_alone(at_once, moment, before):
    module, gateways = at_once
    gateways.kill = (moment, before)
    with pytest.raises(Killed):
        attempted(module, gateways)
        module.clean()
    gateways.kill = (None, False)
    module.clean()
    assert gateways.record() == SITE
    theirs = [path for _, path in gateways.calls if SITES in path or "backup" in path or "iqn.x:" in path]
    assert theirs == []


@pytest.mark.slow
def test_a_session_that_a_killed_client_left_is_waited_for(at_once, monkeypatch):
    module, gateways = at_once
    attempted(module, gateways)
    gateways.logged_in = 2
    assert len(module.clean()) == 2 and gateways.record() == SITE
    attempted(module, gateways)
    gateways.logged_in = 99
    monkeypatch.setattr(module, "GONE", 0)
    with pytest.raises(CommandExecutionError, match="is logged in"):
        module.clean()
    assert OWN in gateways.record()["targets"]


@pytest.mark.parametrize("stopped", [None, "tcmu-runner"])
def test_a_gateway_whose_daemon_does_not_run_is_named(python_module, stopped):
    module = python_module("smoke_iscsi")
    own = SimpleNamespace(status=lambda words: 3 if words[-1] == stopped else 0)
    with LoaderModuleMock({module: {"halocline": own, "__salt__": {"iscsi.config": lambda: {"disks": {"a": 1}}}}}):
        told = module.gateway()
    assert told["failed"] == ([f"{stopped} does not run"] if stopped else [])
    assert told["passed"] == ([] if stopped else ["gateway: 1 disks"])


def test_a_gateway_that_takes_connections_and_never_answers_is_asked_once(with_pillar, python_module, monkeypatch):
    """As where its pool's placement groups serve nobody; 300 s were given to that, as to what makes an image."""
    with socket.create_server(("127.0.0.1", 0)) as api:
        told = {"igw": {"port": api.getsockname()[1]}}
        modules = with_pillar(ceph={"services": told}, ceph_secrets={"iscsi-api": "secret"})
        monkeypatch.setattr(python_module("iscsi"), "READ", 0.2)
        with pytest.raises(
            CommandExecutionError, match=r"gateway 127\.0\.0\.1 has not answered within 0\.2 s: look at"
        ):
            modules["iscsi.config"]("127.0.0.1")
        api.settimeout(0)
        api.accept()
        with pytest.raises(BlockingIOError):
            api.accept()
