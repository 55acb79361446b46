"""Daemons that were started: whether they came up, by a process of their own."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace

import pytest
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

GATEWAY = {"name": "rgw.a", "port": 1}


@pytest.fixture
def unit(python_module: Callable, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """A function: the module, where systemd tells one state of a unit after the other, each its main process."""
    module, slept = python_module("daemons_started"), []
    monkeypatch.setattr(module.halocline, "time", SimpleNamespace(sleep=slept.append, monotonic=lambda: sum(slept)))

    def played(*states: tuple[str, int]) -> ModuleType:
        left = list(states)

        def shown(properties: str, units: list[str]) -> list[dict[str, str]]:
            told = zip(("ActiveState", "MainPID"), map(str, left.pop(0) if len(left) > 1 else left[0]), strict=True)
            every = {"Id": f"{units[0]}.service", **dict(told)}
            return [{key: every[key] for key in properties.split(",")}]

        monkeypatch.setattr(module, "_shown", shown)
        return module

    pillar = {"ceph": {"services": {"rgw": {"gateways": [GATEWAY]}}}}
    with LoaderModuleMock({module: {"__pillar__": pillar}}):
        yield played


@pytest.mark.slow
def test_a_gateway_serves_when_its_own_process_listens(unit: Callable) -> None:
    program = "import socket; s = socket.create_server(('127.0.0.1', 0)); print('up', flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as up, subprocess.Popen(["sleep", "60"]) as other:
        assert up.stdout.readline() == "up\n"
        assert unit(("active", up.pid)).serving(["client.rgw.a"], 0) is True
        for state in (("active", other.pid), ("failed", 0)):  # though another gateway of its host does
            with pytest.raises(CommandExecutionError, match=r"ceph-radosgw@rgw\.a listens on no TCP port: see 'journ"):
                unit(state).serving(["client.rgw.a"], 0)
        up.communicate("\n")
        other.kill()


def test_a_gateway_of_which_no_port_is_known_runs_by_one_process(unit: Callable) -> None:
    assert unit(("active", 71)).serving(["client.rgw.hand-made"], 30) is True
    with pytest.raises(CommandExecutionError, match="ceph-radosgw@rgw.hand-made.service: ended, or began anew"):
        unit(*[("active", 71), ("active", 95)] * 4).serving(["client.rgw.hand-made"], 30)


@pytest.mark.parametrize(
    ("states", "fails"),
    [
        ([("active", 71)], False),
        ([("active", 71), ("activating", 0)], True),
        ([("failed", 0)], True),
        ([("active", number) for number in range(9)], True),
        ([("active", 71), ("activating", 0), ("active", 72)], False),  # the second start is well
    ],
)
def test_a_unit_that_dies_a_moment_after_its_start_does_not_run(unit: Callable, states: list, fails: bool) -> None:
    module = unit(*states)
    if fails:
        with pytest.raises(CommandExecutionError, match="x.service: ended, or began anew: see 'systemctl status'"):
            module.steady(["x"], 60)
    else:
        assert module.steady(["x"], 60) is True


def test_each_manager_is_told_with_its_process_and_nothing_else(python_module: Callable) -> None:
    """A manager map has all modules of each manager with their options: far too much for an answer each second."""
    module = python_module("daemons_started")
    dump = {"active_gid": 7, "active_name": "a", "available_modules": [1], "standbys": [{"gid": 9, "name": "b"}]}
    asks = {"cluster_cli.ask": lambda words: dump if words == ["mgr", "dump"] else None}
    with LoaderModuleMock({module: {"__salt__": asks}}):
        assert module.managers() == {"a": 7, "b": 9}
        dump |= {"active_gid": 0, "active_name": ""}
        assert module.managers() == {"b": 9}
