"""Ceph's daemons on a host: systemd is made to forget how often it started one before it starts it again."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from saltfactories.utils.loader import LoaderModuleMock

STATE = Path(__file__).parents[2] / "salt/_states/host_daemon.py"
RUNNING = {"osd.3": {"unit": "ceph-osd@3"}, "osd.4": {"unit": "ceph-osd@4"}}


def test_a_restart_never_stops_what_systemd_would_start_no_more(
    python_module: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, commands = python_module("daemons"), []
    monkeypatch.setattr(module, "running", lambda: RUNNING)
    monkeypatch.setattr(module.halocline, "run", lambda words, **_: commands.append(words))
    assert module.restart(["osd.4", "osd.3"]) == {"restarted": ["osd.3", "osd.4"]}
    assert commands == [["systemctl", verb, "ceph-osd@4", "ceph-osd@3"] for verb in ("reset-failed", "restart")]


@pytest.mark.parametrize("test", [False, True])
def test_a_daemon_that_systemd_gave_up_on_is_started(python_module: Callable, test: bool) -> None:
    python_module("daemons")  # and with it halocline, which the state imports
    spec = importlib.util.spec_from_file_location("host_daemon", STATE)
    state, order = importlib.util.module_from_spec(spec), []
    spec.loader.exec_module(state)
    told = {"__opts__": {"test": test}, "__salt__": {"daemons.forgive": order.append}}
    started = SimpleNamespace(running=lambda name, enable: order.append((name, enable)) or {"result": True})
    with LoaderModuleMock({state: {**told, "__states__": {"service.running": started.running}}}):
        assert state.running("ceph-mon@mon1") == {"result": True}
    assert order == [["ceph-mon@mon1"]] * (not test) + [("ceph-mon@mon1", True)]
