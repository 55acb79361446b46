"""The report on a load that still runs: a client that works no more is said, with where to look."""

from types import SimpleNamespace
from typing import Any

import pytest

from lab.cli import main
from lab.load import stop
from lab.load.judge import Demand
from lab.load.node.ledger import parse
from lab.load.place import Load

WORKS = '{"at": 0, "what": "begin"}\n{"at": 1, "what": "written", "object": 0, "version": 1}\n'


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What systemd says of each client of a load that runs on client1."""
    said = {"rados": "active", "rbd": "active"}

    def place(_: Any) -> Any:
        load = Load("client1", list(said), {})
        ledgers = {name: parse(WORKS) for name in said}
        return SimpleNamespace(known=lambda: load, ledgers=lambda _: ledgers, state=lambda _, name: said[name])

    monkeypatch.setattr(stop, "Place", place)
    return said


def test_of_clients_that_all_work_nothing_is_said(states: dict[str, str]) -> None:
    assert stop.report(None, Demand(least=1000)).problems == ()  # which holds at the end


@pytest.mark.parametrize("state", ["failed", "inactive"])
def test_a_client_that_ended_by_itself_fails_the_report(
    states: dict[str, str], state: str, capsys: pytest.CaptureFixture
) -> None:
    states["rbd"] = state
    (said,) = stop.report(None).problems
    assert said.startswith(f"rbd stopped: its unit is {state}") and "lab-load-rbd` on client1" in said
    assert main(["load", "report"]) == 1 and f"rbd stopped: its unit is {state}" in capsys.readouterr().out
