"""Ceph's daemons on a host: systemd is made to forget how often it started one before it starts it again."""

import importlib.util
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace

import halocline_socket
import pytest
from saltfactories.utils.loader import LoaderModuleMock

STATE = Path(__file__).parents[2] / "salt/_states/host_daemon.py"
RUNNING = {"osd.3": {"unit": "ceph-osd@3"}, "osd.4": {"unit": "ceph-osd@4"}}


def test_a_restart_never_stops_what_systemd_would_start_no_more(
    python_module: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, commands = python_module("daemons"), []
    monkeypatch.setattr(module, "running", lambda: RUNNING)
    limits = []
    monkeypatch.setattr(
        module.halocline, "run", lambda words, limit, **_: commands.append(words) or limits.append(limit)
    )
    assert module.restart(["osd.4", "osd.3"]) == {"restarted": ["osd.3", "osd.4"]}
    assert commands == [["systemctl", verb, "ceph-osd@4", "ceph-osd@3"] for verb in ("reset-failed", "restart")]
    module.__opts__ = {"id": "node1"}
    assert module.restart_own({"node1": ["osd.3"], "node2": ["osd.9"]}) == {"restarted": ["osd.3"]}
    assert limits[1] > 120, "a gateway may take that long to end (rgw_exit_timeout_secs)"


@pytest.mark.parametrize("test", [False, True])
def test_a_daemon_that_systemd_gave_up_on_is_started(python_module: Callable, test: bool) -> None:
    python_module("daemons")  # and with it halocline, which the state imports
    spec = importlib.util.spec_from_file_location("host_daemon", STATE)
    state, order = importlib.util.module_from_spec(spec), []
    spec.loader.exec_module(state)
    unit = {"runs": False, "boots": "enabled", "newer": []}
    modules = {"daemons.forgive": order.append, "daemons.seen": lambda *_: unit}
    told = {"__opts__": {"test": test}, "__salt__": modules}
    answer = {"result": True, "changes": {"ceph-mon@mon1": True}}
    started = SimpleNamespace(running=lambda name, enable: order.append((name, enable)) or answer)
    with LoaderModuleMock({state: {**told, "__states__": {"service.running": started.running}}}):
        assert state.running("ceph-mon@mon1") == answer
        assert order == [["ceph-mon@mon1"]] * (not test) + [("ceph-mon@mon1", True)]
        for boots in ("disabled", "enabled-runtime", "enabled"):  # those that run, some of which no boot starts
            order.clear()
            unit |= {"runs": True, "boots": boots}
            assert state.running("ceph-mon@mon1")["result"] is True
            assert (order == []) is (boots == "enabled")


def waits(
    module: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    diff: dict,
    conf: dict,
    written: str = "as ceph-conf reads it alone",
) -> dict[str, list]:
    """What a daemon waits for that answers so, where ceph.conf's [global] is written and would now be read so."""
    daemon = {"type": name.partition(".")[0], "id": name.partition(".")[2], "unit": "x", "socket": "x"}
    monkeypatch.setattr(module, "running", lambda: {name: daemon})
    monkeypatch.setattr(module.halocline_socket, "ask", lambda *_: {"diff": diff})
    for other in ("_newer_files", "_newer_program"):
        monkeypatch.setattr(module, other, lambda _: {})
    monkeypatch.setattr(module, "_shown", lambda *_: [])
    asks = {
        "host_ceph_conf.sections": lambda: {"global": dict.fromkeys(conf, written)},
        "host_ceph_conf.options": lambda *_: conf,
    }
    with LoaderModuleMock({module: {"__salt__": asks}}):
        return module.pending().get(name, {})


LOGS = "/var/log/ceph/$cluster-$name.log"


@pytest.mark.parametrize(
    ("levels", "then", "pending"),
    [
        ({"file": LOGS, "final": "/var/log/ceph/ceph-osd.3.log"}, "/var/log/ceph/ceph-osd.3.log", False),
        ({"file": LOGS, "final": "/var/log/ceph/ceph-osd.3.log"}, "/srv/ceph-osd.3.log", True),
        ({"file": LOGS, "cmdline": "/tmp/x", "final": "/tmp/x"}, "/var/log/ceph/ceph-osd.3.log", False),
        ({"file": "/tmp/$pid", "final": "/tmp/71"}, "/tmp/95", False),
        ({"file": "/tmp/a", "final": "/tmp/a"}, "/tmp/b", True),
    ],
)
def test_what_ceph_puts_into_a_line_of_ceph_conf_is_no_change(
    python_module: Callable, monkeypatch: pytest.MonkeyPatch, levels: dict, then: str, pending: bool
) -> None:
    found = waits(python_module("daemons"), monkeypatch, "osd.3", {"log_file": levels}, {"log_file": then})
    assert bool(found) is pending


@pytest.mark.parametrize(("now", "then"), [(LOGS, LOGS), (True, "true"), (2, "2"), ("/tmp/$pid", "/tmp/$pid")])
def test_what_stands_in_ceph_conf_as_the_daemon_read_it_is_not_asked_of_ceph_conf(
    python_module: Callable, monkeypatch: pytest.MonkeyPatch, now: object, then: str
) -> None:
    never = {"log_file": "of ceph-conf, which would be a change"}
    assert not waits(python_module("daemons"), monkeypatch, "osd.3", {"log_file": {"file": now}}, never, then)


def test_a_program_that_was_replaced_is_told_of_all_daemons_by_one_start_of_systemctl(
    python_module: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "sleep"
    shutil.copy("/bin/sleep", program)
    daemons = {f"osd.{at}": {"type": "osd", "id": str(at), "unit": f"ceph-osd@{at}", "socket": "x"} for at in (3, 4)}
    with subprocess.Popen([program, "60"]) as old, subprocess.Popen(["/bin/sleep", "60"]) as new:
        program.unlink()
        shown = "\n\n".join(f"Id=ceph-osd@{at}.service\nMainPID={each.pid}" for at, each in ((3, old), (4, new)))
        module, asked = python_module("daemons"), []
        monkeypatch.setattr(module, "running", lambda: daemons)
        monkeypatch.setattr(module, "_newer_files", lambda _: {})
        monkeypatch.setattr(module.halocline_socket, "ask", lambda *_: None)
        monkeypatch.setattr(module.halocline, "run", lambda words, **_: asked.append(words) or shown)
        with LoaderModuleMock({module: {"__salt__": {"host_ceph_conf.sections": dict}}}):
            found = module.settings()
        assert found["osd.3"] == {**NO_ANSWER, "differs": {"program": ["the one of its start", "a newer one"]}}
        assert found["osd.4"] == {**NO_ANSWER, "differs": {}}
        assert asked == [["systemctl", "show", "--property", "Id,MainPID", "ceph-osd@3.service", "ceph-osd@4.service"]]
        for each in (old, new):
            each.kill()


NO_ANSWER = {"told": {}, "answers": False}  # at its admin socket

SHOWN = """\
Id=ceph-osd@3.service
ActiveState=active
UnitFileState=enabled

Id=ceph-osd@4.service
ActiveState=active
UnitFileState=disabled

Id=ceph-osd@5.service
ActiveState=activating
UnitFileState=enabled
"""


@pytest.mark.parametrize(
    ("shown", "units"),
    [(SHOWN, {"ceph-osd@3.service": "enabled", "ceph-osd@4.service": "disabled"}), ("", {}), ("\n", {})],
)
def test_units_that_run_are_told_by_one_start_of_systemctl(
    python_module: Callable, monkeypatch: pytest.MonkeyPatch, shown: str, units: dict
) -> None:
    module, asked = python_module("daemons"), []
    monkeypatch.setattr(module.halocline, "run", lambda words, **_: asked.append(words) or shown)
    assert module.units("ceph-osd@*") == units
    assert asked == [["systemctl", "show", "--property", "Id,ActiveState,UnitFileState", "ceph-osd@*"]]


@pytest.mark.parametrize(
    ("answer", "read"),
    [(b'{"state": "peon"}', {"state": "peon"}), (b"no JSON", None), (b"", None), (None, None)],
    ids=["an answer", "another", "an empty one", "none"],
)
def test_a_daemon_is_asked_by_its_admin_socket(answer: bytes | None, read: dict | None) -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        path = Path(folder, "a.asok")
        server.bind(str(path))
        server.listen()

        def serve() -> None:
            with server.accept()[0] as line:
                assert line.recv(99) == b'{"prefix": "mon_status"}\0'
                if answer is not None:
                    line.sendall(struct.pack(">I", len(answer)) + answer)

        with ThreadPoolExecutor() as pool:
            pool.submit(serve)
            assert halocline_socket.ask(path, "mon_status", 60) == read
        assert halocline_socket.ask(path.with_name("none"), "mon_status", 60) is None


def test_daemons_that_hang_are_waited_for_together(
    python_module: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """60 s each, one after the other, of a host with a dozen OSDs that are stopped in the kernel."""
    module, together = python_module("daemons"), threading.Barrier(12)

    def ask(path: Path, *_: object) -> dict | None:
        together.wait(5)
        return {} if path.name == "ceph-osd.3.asok" else None

    for number in range(12):
        (tmp_path / f"ceph-osd.{number}.asok").touch()
    monkeypatch.setattr(module, "RUN", tmp_path)
    monkeypatch.setattr(module.halocline_socket, "ask", ask)
    assert list(module.running()) == ["osd.3"]
