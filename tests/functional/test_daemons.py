"""Ceph's daemons on a host: systemd is made to forget how often it started one before it starts it again."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

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
    assert limits[1] > 120, "a gateway may take that long to end (rgw_exit_timeout_secs)"


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


# Options that are read at a start alone, as the monitors tell them: for all, for OSDs, for one, for one class.
CENTRAL = [
    {"section": "global", "mask": "", "name": "ms_type", "value": "async"},
    {"section": "osd", "mask": "", "name": "ms_type", "value": "async+posix"},
    {"section": "osd", "mask": "", "name": "osd_op_num_shards", "value": "4"},
    {"section": "osd.3", "mask": "", "name": "osd_op_num_shards", "value": "8"},
    {"section": "osd", "mask": "", "name": "bluestore_cache_size", "value": "1"},
    {"section": "osd", "mask": "class:ssd", "name": "bluestore_cache_size", "value": "2"},
    {"section": "client.rgw", "mask": "", "name": "rgw_thread_pool_size", "value": "9"},
]


@pytest.mark.parametrize(
    ("name", "has", "pending"),
    [
        ("osd.3", {"ms_type": "async+posix", "osd_op_num_shards": "8", "bluestore_cache_size": "2"}, []),
        ("osd.4", {"ms_type": "async+posix", "osd_op_num_shards": "4", "bluestore_cache_size": "1"}, []),
        ("osd.3", {"ms_type": "async", "osd_op_num_shards": "4"}, ["ms_type", "osd_op_num_shards"]),
        ("client.rgw.a", {"ms_type": "async"}, ["rgw_thread_pool_size"]),
        ("client.rgw.a", {"ms_type": "async", "rgw_thread_pool_size": "9"}, []),
    ],
)
def test_of_options_that_are_set_twice_the_nearest_to_the_daemon_counts(
    python_module: Callable, monkeypatch: pytest.MonkeyPatch, name: str, has: dict, pending: list
) -> None:
    """As ``ConfigMap::generate_entity_map`` of Ceph has it; which daemons a mask is for, nobody says: not judged."""
    assert (
        sorted(waits(python_module("daemons"), monkeypatch, name, {key: {"mon": has[key]} for key in has})) == pending
    )


def waits(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, name: str, diff: dict, conf: dict | None = None
) -> dict[str, list]:
    """What a daemon waits for that answers so, where ceph.conf's [global] would now be read so."""
    daemon = {"type": name.partition(".")[0], "id": name.partition(".")[2], "unit": "x", "socket": "x"}
    monkeypatch.setattr(module, "running", lambda: {name: daemon})
    monkeypatch.setattr(module, "_asked", lambda path, command: {"diff": diff})
    for other in ("_newer_files", "_newer_program"):
        monkeypatch.setattr(module, other, lambda daemon: {})
    read = conf or {}
    asks = {"host_ceph_conf.sections": lambda: {"global": set(read)}, "host_ceph_conf.options": lambda *_: read}
    with LoaderModuleMock({module: {"__salt__": asks}}):
        return module.pending(CENTRAL if conf is None else []).get(name, {})


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
