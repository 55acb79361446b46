"""An NFS server whose host gets another role of NFS servers: nobody of its former ones waits for it."""

import importlib.util
from pathlib import Path

import jinja2
import pytest
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

SALT = Path(__file__).parents[2] / "salt"
CONF = SALT / "ceph/service/ganesha/files/ganesha.conf.j2"
PLACE = {"pool": ".nfs", "namespace": "ganesha", "user": "ganesha.node2"}
SILVER = {"pool": ".nfs", "namespace": "silver", "user": "silver.node2"}
# The grace databases are files; who is told what stands in the log, in its order.
PROGRAMS = {
    "systemctl": 'echo "$@" >>{top}/log',
    "rados": '[ "$7" = listomapkeys ] && cat {top}/$6 || exit 1',
    "ganesha-rados-grace": 'echo "$@" >>{top}/log; [ "$7" = remove ] && sed -i "/^$8$/d" {top}/$6; kill -SEGV $$',
}


def conf(place, name="node2"):
    told = {**place, "name": name, "blocks": {"MDCACHE": {"Dir_Chunk": 0}}}
    env = jinja2.Environment(keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
    return env.from_string(CONF.read_text()).render(pillar={"ceph": {"services": {"ganesha": told}}})


@pytest.fixture
def host(python_module, tmp_path, monkeypatch):
    """A folder with the configuration of a host's NFS server, of the role ganesha beside node1."""
    for name, script in PROGRAMS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script.format(top=tmp_path)}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for name, text in {"ganesha": "node1\nnode2\n", "silver": "node3\n", "conf": conf(PLACE), "log": ""}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(python_module("ganesha_grace"), "CONF", tmp_path / "conf")
    return tmp_path


@pytest.fixture
def moved(python_module, host):
    """A function: the answer of the state, for a host of such a name and place."""
    module = python_module("ganesha_grace")
    spec = importlib.util.spec_from_file_location("ganesha_grace_state", SALT / "_states/ganesha_grace.py")
    state = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(state)
    asked = {f"ganesha_grace.{name}": getattr(module, name) for name in ("former", "depart")}

    def run(test=False, name="node2", **place):
        with LoaderModuleMock({state: {"__salt__": asked, "__opts__": {"test": test}}}):
            return state.moved(name, **place)

    return run


@pytest.mark.slow
def test_it_stops_and_leaves_the_grace_database_of_its_former_role(moved, host):
    would = moved(test=True, **SILVER)
    assert would["result"] is None and would["changes"] and (host / "log").read_text() == ""
    done = moved(**SILVER)
    assert done["result"] is True and "ganesha" in done["comment"], done
    stop, leave = (host / "log").read_text().splitlines()
    assert stop == "stop nfs-ganesha"
    assert leave == "--userid ganesha.node2 --pool .nfs --ns ganesha remove node2"
    assert [(host / role).read_text() for role in ("ganesha", "silver")] == ["node1\n", "node3\n"]
    assert moved(**SILVER)["result"] is True  # ended before its configuration was written
    (host / "conf").write_text(conf(SILVER))
    assert moved(**SILVER)["changes"] == {}


def test_a_host_of_another_name_leaves_its_former_one(moved, host):
    assert moved(name="node7", **PLACE)["changes"]
    assert (host / "ganesha").read_text() == "node1\n"


@pytest.mark.parametrize("text", [conf(PLACE), None, "NFSv4 {\n    RecoveryBackend = fs;\n}\n", ""])
def test_a_server_that_keeps_its_role_or_is_new_is_not_stopped(moved, host, text):
    (host / "conf").unlink()
    if text is not None:
        (host / "conf").write_text(text)
    answer = moved(**PLACE)
    assert (answer["result"], answer["changes"]) == (True, {}) and (host / "log").read_text() == ""


SAYS = "error getting omap key set .nfs/grace: ({}) {}"


def test_a_database_that_is_not_there_has_nobody(modules, host):
    (host / "rados").write_text(f"#!/bin/sh\necho '{SAYS.format(2, 'No such file or directory')}' >&2; exit 1\n")
    assert modules["ganesha_grace.members"](**PLACE) == []
    modules["ganesha_grace.leave"]("node2", **PLACE)


@pytest.mark.parametrize("function", ["leave", "lift"])
def test_where_nobody_may_read_it_no_server_has_left(modules, host, function):
    """As where the key of the server that is asked was rotated and has not reached it yet: others wait all the same."""
    (host / "rados").write_text(f"#!/bin/sh\necho '{SAYS.format(1, 'Operation not permitted')}' >&2; exit 1\n")
    with pytest.raises(CommandExecutionError, match="Operation not permitted"):
        modules[f"ganesha_grace.{function}"]("node2", **PLACE, limit=0)


def test_it_leaves_before_its_configuration_says_otherwise(show_sls):
    order = [chunk["__id__"] for chunk in show_sls("ceph.service.ganesha")]
    parts = [f"ceph-service-ganesha-{part}" for part in ("packages", "conf-moved", "conf", "conf-exports", "running")]
    assert sorted(parts, key=order.index) == parts
