"""The end of a demo: a load's figures, and its exit status; what fails there hides nothing of the cluster."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from docker.models.containers import Container
from rich.console import Console

from lab import demo, first
from lab.errors import LabError
from lab.load.judge import Demand, Report, judge
from lab.load.node.ledger import parse

GOOD = '{"at": 0, "what": "begin"}\n{"at": 1, "what": "written", "object": 0, "version": 1}\n{"at": 2, "what": "end"}\n'
LOST = GOOD + '{"at": 3, "what": "checked", "object": 0}\n'


def said(text: str) -> Callable[..., Report]:
    return lambda *_: judge({"rados": parse(text)}, 2, Demand())


def refuses(*_: object) -> None:
    raise LabError("the client rados does not begin [within] 90 s")


def nothing(*_: object) -> None:
    """A step that goes well."""


@pytest.mark.parametrize(
    ("start", "stop", "report", "well", "text"),
    [
        (nothing, nothing, said(GOOD), True, "longest stall"),
        (nothing, nothing, said(LOST), False, "object-0 is lost"),
        (refuses, nothing, said(GOOD), False, "does not begin [within] 90 s"),
        (nothing, refuses, said(GOOD), False, "no load could be put on it"),
    ],
)
def test_a_demos_load_is_shown_and_decides_its_end(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    start: Callable,
    stop: Callable,
    report: Callable,
    well: bool,
    text: str,
) -> None:
    for name, does in (("start", start), ("stop", stop), ("report", report)):
        monkeypatch.setattr(demo, name, does)
    monkeypatch.setattr(demo, "LOAD", 0)
    assert demo.loaded("mini") is well
    out = capsys.readouterr().out
    assert text in out and ("the cluster is as proposed, but" in out) is not well


def test_a_demo_that_is_interrupted_stops_its_load(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    ended: list[str] = []
    monkeypatch.setattr(demo, "start", nothing)
    monkeypatch.setattr(demo, "stop", ended.append)
    monkeypatch.setattr(demo.time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        demo.loaded("mini")
    assert ended == ["mini"]


@pytest.mark.parametrize(("run", "stamp"), [(nothing, "100.5"), (nothing, None), (refuses, "100.5")])
def test_a_demo_tells_when_it_was_healthy_and_the_share_of_each_step(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Callable, stamp: str | None
) -> None:
    """make's part counts; a cluster that does not get healthy is told of and ends nothing."""
    monkeypatch.setattr(first.containers, "run", run)
    monkeypatch.setattr(first, "KEPT", tmp_path / "build/demo.json")
    monkeypatch.setattr(first, "time", SimpleNamespace(time=lambda: 300.5))
    monkeypatch.delenv(first.STAMP, raising=False)
    if stamp:
        monkeypatch.setenv(first.STAMP, stamp)
    shown = Console(file=StringIO(), width=160)
    shares = [("make", 20.0), ("lab up", 100.0), ("salt-run state.orch ceph.stage.deploy", 80.0)]
    began = first.began()
    assert began == (100.5 if stamp else 300.5)
    told = first.reached(cast(Container, None), 100.5, shares, [("boot 8 nodes", 9.0)], shown)
    text = shown.file.getvalue()
    if run is refuses:
        assert not told and "no HEALTH_OK within" in text and not first.KEPT.exists()
        return
    assert told.startswith("HEALTH_OK after deploy: 200 s from ") and ("`make demo`" in told) is bool(stamp)
    lines = text.splitlines()
    assert "  100.0 s   50%  lab up" in lines and lines[lines.index("  100.0 s   50%  lab up") + 1].split()[0] == "9.0"
    assert json.loads(first.KEPT.read_text())["seconds"] == 200
