"""Lists of exports that change, read by a server that does with them what NFS-Ganesha 4.3 does."""

import importlib.util
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import jinja2
import pytest
from saltfactories.utils.loader import LoaderModuleMock

SALT = Path(__file__).parents[2] / "salt"
TEMPLATE = SALT / "ceph/service/ganesha/files/exports.conf.j2"
HOME = {"id": 7, "path": "/home", "access": "RW", "fsal": {"Name": "CEPH", "User_Id": "ganesha.node1"}}
PHOTOS = {"id": 8, "path": "photos", "access": "RW", "fsal": {"Name": "RGW", "User_Id": "alice"}}
DEFAULT = {"pseudo": "/x", "squash": "root_squash", "secrets": {}}
IDS = {"/home": 7, "/photos": 8}


def text(*exports: dict) -> str:
    clients = "10.0.0.0/8"
    told = [{**DEFAULT, **each, "clients": [{"clients": clients, "access": each["access"]}]} for each in exports]
    pillar = {"ceph": {"services": {"ganesha": {"exports": told}}}}
    return jinja2.Template(TEMPLATE.read_text(), keep_trailing_newline=True).render(pillar=pillar)


class Server:
    """What it serves, by id; ``times`` it was told to read; ``newer``: whether its file is, as systemd says."""

    def __init__(self, conf: Path) -> None:
        self.conf, self.serves, self.times, self.newer = conf, {}, 0, False
        self.hangs = False
        self.begin()

    def read(self) -> dict[int, dict[str, str]]:
        blocks = self.conf.read_text().split("\nEXPORT {")[1:] if self.conf.exists() else []
        values = [dict(re.findall(r"^ +(\w+) = \"?(.*?)\"?;$", block, re.M)) for block in blocks]
        return {int(each["Export_Id"]): each for each in values}

    def begin(self) -> None:
        self.serves, self.newer = self.read(), False

    def reload(self, name: str) -> None:
        assert name == "nfs-ganesha"
        self.times, self.newer = self.times + 1, False
        if self.hangs:
            return
        found, had = self.read(), self.serves
        self.serves = {}
        for export, new in found.items():
            old = had.get(export, new)
            if new["Path"] == old["Path"]:  # else it is refused, and dropped as one that is not in the file
                self.serves[export] = {**new, "User_Id": old["User_Id"]}

    def run(self, words: list[str], limit: float) -> str:
        assert words[-1] == "ShowExports"
        return json.dumps({"data": [[0, 0], [[export] for export in self.serves]]})

    def as_written(self) -> bool:
        return self.serves == self.read()


class Host:
    """A host with that server; ``stage`` is what the part's SLS does, and may end right before one of its states."""

    def __init__(self, module: ModuleType, state: ModuleType, server: Server) -> None:
        self.module, self.state, self.server, self.opts = module, state, server, state.__opts__

    def stage(self, *exports: dict, ends: str = "", restarts: bool = False, test: bool = False) -> list[dict]:
        self.opts["test"] = test
        said = [self.state.kept("read")]
        changes = self.module.EXPORTS.read_text() != text(*exports)
        if changes and not test:
            self.module.EXPORTS.write_text(text(*exports))
            self.server.newer = True
        if ends == "exporting":
            return said
        if restarts:
            self.server.begin()
        ids = {path: export for path, export in IDS.items() if export in [each["id"] for each in exports]}
        said.append(self.state.exporting("exports", ids))
        if changes and not said[-1]["changes"]:
            said.append(self.state.mod_watch("exports", ids, sfun="exporting"))
        return said


@pytest.fixture
def host(python_module: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    module = python_module("ganesha")
    monkeypatch.setattr(module, "EXPORTS", tmp_path / "exports.conf")
    monkeypatch.setattr(module, "READ", tmp_path / "exports.read")
    monkeypatch.setattr(module, "REREAD", 0)
    spec = importlib.util.spec_from_file_location("ganesha_state", SALT / "_states/ganesha.py")
    assert spec and spec.loader
    state = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(state)
    module.EXPORTS.write_text(text(HOME, PHOTOS))
    server = Server(module.EXPORTS)
    monkeypatch.setattr(module.halocline, "run", server.run)
    seen = {"service.reload": server.reload, "daemons.seen": lambda unit, files, reloads: {"newer": server.newer}}
    asked = {f"ganesha.{name}": getattr(module, name) for name in ("missing", "reload", "unread", "unkept", "keep")}
    with LoaderModuleMock({module: {"__salt__": seen}, state: {"__salt__": asked, "__opts__": {"test": False}}}):
        yield Host(module, state, server)


OTHERS = [
    pytest.param([{**HOME, "path": "/other"}, PHOTOS], id="path"),
    pytest.param([HOME, {**PHOTOS, "fsal": {"Name": "RGW", "User_Id": "bob"}}], id="user"),
    pytest.param([{**HOME, "path": "/other"}, {**PHOTOS, "path": "more"}], id="all"),
    pytest.param([{**HOME, "access": "RO"}, PHOTOS], id="access"),
    pytest.param([PHOTOS], id="one less"),
]


@pytest.mark.slow
@pytest.mark.parametrize("exports", OTHERS)
def test_a_server_takes_what_changed_and_keeps_the_others(host: Host, exports: list[dict]) -> None:
    host.stage(HOME, PHOTOS)
    again = host.stage(*exports)
    assert host.server.as_written() and again[-1]["result"] is True and again[-1]["changes"], again
    assert host.module.EXPORTS.read_text() == text(*exports)
    times = host.server.times
    for test in (True, False):
        done = host.stage(*exports, test=test)
        assert [(each["result"], each["changes"]) for each in done] == [(True, {})] * 2
    assert host.server.times == times


@pytest.mark.slow
@pytest.mark.parametrize("exports", OTHERS)
def test_what_an_interrupted_run_has_written_is_read_by_the_next(host: Host, exports: list[dict]) -> None:
    host.stage(*exports, ends="exporting")
    assert not host.server.as_written()
    looked = host.stage(*exports, test=True)
    assert looked[-1]["result"] is None and host.server.times == 0
    assert host.stage(*exports)[-1]["changes"] and host.server.as_written()


@pytest.mark.slow
@pytest.mark.parametrize("exports", OTHERS)
def test_a_server_that_was_restarted_has_read_them(host: Host, exports: list[dict]) -> None:
    host.stage(*exports, restarts=True)
    assert host.server.as_written()
    assert host.stage(HOME, PHOTOS)[-1]["changes"] and host.server.as_written()


def test_only_what_is_mounted_otherwise_is_left_out_for_a_moment(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    files, reload = [], host.server.reload
    monkeypatch.setitem(
        host.module.__salt__, "service.reload", lambda name: files.append(sorted(host.server.read())) or reload(name)
    )
    host.stage({**HOME, "path": "/other"}, {**PHOTOS, "access": "RO"})
    assert files == [[8], [7, 8]]


@pytest.mark.slow
def test_a_server_that_does_not_let_go_of_an_export_is_named_and_told_again(host: Host) -> None:
    host.server.hangs = True
    other = {**HOME, "path": "/other"}
    failed = host.stage(other, PHOTOS)[1]
    assert failed["result"] is False and "ganesha.log" in failed["comment"]
    assert host.module.EXPORTS.read_text() == text(other, PHOTOS)
    host.server.hangs, host.server.newer = False, True  # it was written after the server was told
    host.stage(other, PHOTOS)
    assert host.server.as_written()
