"""The end of a demo: a load's figures, and its exit status; what fails there hides nothing of the cluster."""

from collections.abc import Callable

import pytest

from lab import demo
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
