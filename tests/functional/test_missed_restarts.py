"""Files that a daemon reads at its start: a restart that an interrupted run missed is made up by the next one."""

import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from saltfactories.utils.loader import LoaderModuleMock
from test_sls import SLS

STATE = Path(__file__).parents[2] / "salt/_states/host_daemon.py"
UNIT = "rbd-target-api"


class Systemd:
    """One unit, as systemd tells of it; its times are those since boot."""

    def __init__(self) -> None:
        self.active, self.began, self.changed, self.did = "active", 0.0, 0.0, []
        self.asked = 0
        self.start(ago=60)

    def start(self, ago: float = 0) -> None:
        self.began = self.changed = time.monotonic() - ago

    def run(self, words: list[str], **_: object) -> str:
        assert words[:3] == ["systemctl", "show", "--property"] and words[4:] == [UNIT]
        self.asked += 1
        told = {"ActiveState": self.active, "UnitFileState": "enabled"}
        told["InactiveExitTimestampMonotonic"] = str(int(self.began * 1e6))
        told["StateChangeTimestampMonotonic"] = str(int(self.changed * 1e6))
        return "".join(f"{key}={told[key]}\n" for key in words[3].split(","))

    def restart(self, name: str) -> None:
        self.did.append(("restart", name))
        self.start()

    def reread(self) -> None:
        self.did.append(("daemon-reload", ""))

    def reload(self, name: str) -> None:
        self.did.append(("reload", name))
        self.changed = time.monotonic()


@pytest.fixture
def systemd() -> Systemd:
    return Systemd()


@pytest.fixture
def running(
    python_module: Callable, monkeypatch: pytest.MonkeyPatch, systemd: Systemd, tmp_path: Path
) -> Iterator[Callable[..., dict]]:
    """The state, in this process."""
    daemons = python_module("daemons")
    monkeypatch.setattr(daemons.halocline, "run", systemd.run)
    spec = importlib.util.spec_from_file_location("host_daemon", STATE)
    assert spec and spec.loader
    state = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(state)

    def started(name: str, enable: bool) -> dict:
        systemd.active = "active"
        systemd.start()
        return {"name": name, "result": True, "changes": {name: enable}, "comment": "started"}

    modules = {"daemons.forgive": lambda names: None, "daemons.seen": daemons.seen}
    modules |= {"service.restart": systemd.restart, "service.reload": systemd.reload}
    modules["service.systemctl_reload"] = systemd.reread
    told = {"__opts__": {"test": False}, "__salt__": modules, "__states__": {"service.running": started}}
    told["UNITS"] = f"{tmp_path}/units/"

    def run(files: list[Path], test: bool = False, **options: bool) -> dict:
        told["__opts__"]["test"] = test
        return state.running(UNIT, [str(file) for file in files], **options)

    with LoaderModuleMock({state: told}):
        yield run


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """A function: a file that was written so many seconds ago."""

    def make(ago: float) -> Path:
        path = tmp_path / f"{ago}.cfg"
        path.touch()
        os.utime(path, (time.time() - ago,) * 2)
        return path

    return make


@pytest.mark.parametrize("verb", ["restart", "reload"])
def test_what_an_earlier_run_has_written_and_not_told_is_told_once(
    running: Callable, systemd: Systemd, written: Callable, verb: str
) -> None:
    old, new = written(90), written(30)
    options = {"reload": verb == "reload"}
    assert (running([old], **options)["changes"], systemd.did, systemd.asked) == ({}, [], 1)
    would = running([old, new], test=True, **options)
    assert (would["result"], would["changes"], systemd.did) == (None, {UNIT: verb}, [])
    assert str(new) in would["comment"] and str(old) not in would["comment"]
    done = running([old, new], **options)
    assert (done["result"], done["changes"], systemd.did) == (True, {UNIT: verb}, [(verb, UNIT)])
    for test in (True, False):
        again = running([old, new], test=test, **options)
        assert (again["result"], again["changes"], systemd.did) == (True, {}, [(verb, UNIT)])


def test_a_unit_that_was_written_anew_is_read_before_what_it_belongs_to_restarts(
    running: Callable, systemd: Systemd, tmp_path: Path
) -> None:
    """Salt's restart has systemd read the file of the named unit alone: of a timer not that of its service."""
    (tmp_path / "units").mkdir()
    service = tmp_path / "units/halocline-metrics.service"
    service.touch()
    os.utime(service, (time.time() - 30,) * 2)
    assert (running([service], test=True)["result"], systemd.did) == (None, [])
    running([service])
    assert systemd.did == [("daemon-reload", ""), ("restart", UNIT)]


def test_a_reload_is_no_restart(running: Callable, systemd: Systemd, written: Callable) -> None:
    systemd.reload(UNIT)
    systemd.did.clear()
    assert running([written(30)], reload=True)["changes"] == {}
    assert running([written(30)])["changes"] == {UNIT: "restart"}


def test_what_the_same_run_has_started_has_read_what_it_wrote(
    running: Callable, systemd: Systemd, written: Callable
) -> None:
    systemd.active, file = "inactive", written(0)
    assert running([file])["comment"] == "started"
    assert (running([file])["changes"], systemd.did) == ({}, [])


def test_a_file_that_is_missing_or_of_the_future_restarts_nothing(
    running: Callable, systemd: Systemd, written: Callable, tmp_path: Path
) -> None:
    assert running([tmp_path / "none", written(-3600)])["changes"] == {}


@pytest.mark.slow
def test_all_that_a_service_is_restarted_for_is_compared_with_its_start(show_sls: Callable) -> None:
    """``watch`` alone misses what an interrupted run wrote."""

    def bare(chunk: dict) -> bool:
        return "watch" in chunk and not (chunk["state"] == "host_daemon" and chunk["files"])

    assert bare({"state": "service", "fun": "running", "name": "a", "watch": [{"file": "b"}]})  # it can find one
    parts = [sls for sls in SLS if sls.startswith(("ceph.service.", "ceph.host."))]
    watching = [chunk for sls in parts for chunk in show_sls(sls) if "watch" in chunk]
    assert {chunk["name"] for chunk in watching} >= {UNIT, "nfs-ganesha", "chrony"}
    assert [chunk["__id__"] for chunk in watching if bare(chunk)] == ["ceph-service-ganesha-exports"]
