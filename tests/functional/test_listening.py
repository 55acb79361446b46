"""Who listens on a port of a host: a unit has come up where its own process does, not another of that name."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from salt.exceptions import CommandExecutionError

SLICE = "/system.slice/system-ceph\\x2dradosgw.slice"
SS = 'LISTEN 0 4096 0.0.0.0:80 0.0.0.0:* users:(("radosgw",pid=77,fd=40))'


@pytest.fixture
def module(python_module: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, where ``radosgw`` of process 77 listens on port 80."""
    made: ModuleType = python_module("host_services")
    for name, says in {"ss": SS, "systemctl": "active", "journalctl": "unable to bind"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{says}'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(made, "PROC", tmp_path, raising=False)
    (tmp_path / "77").mkdir()
    return made


def listening(module: ModuleType, unit: str) -> bool:
    done: bool = module.listening("radosgw", 80, unit, limit=0)
    return done


@pytest.mark.parametrize("group", ["0::{}", "3:cpu:/\n1:name=systemd:/docker/1a{}", "0::/system.slice/lab.service{}"])
def test_a_gateway_of_a_new_name_does_not_listen_where_its_former_one_does(module, tmp_path, group):
    (tmp_path / "77/cgroup").write_text(group.replace("{}", f"{SLICE}/ceph-radosgw@rgw.node1.service") + "\n")
    held = "ceph-radosgw@gold.node1 does not listen on port 80: .*held by ceph-radosgw@rgw.node1.service"
    with pytest.raises(CommandExecutionError, match=held):
        listening(module, "ceph-radosgw@gold.node1")
    assert listening(module, "ceph-radosgw@rgw.node1")


@pytest.mark.parametrize("group", ["0::/\n", "0::/user.slice/session-1.scope\n", None])
def test_a_process_of_no_unit_is_known_by_its_name(module, tmp_path, group):
    if group:
        (tmp_path / "77/cgroup").write_text(group)
    assert listening(module, "ceph-radosgw@gold.node1")


def test_another_program_is_named(module, tmp_path):
    (tmp_path / "ss").write_text("#!/bin/sh\necho '" + SS.replace("radosgw", "apache2") + "'\n")
    with pytest.raises(CommandExecutionError, match="held by apache2"):
        listening(module, "ceph-radosgw@gold.node1")
    assert module._ports() == {80: "apache2"}
