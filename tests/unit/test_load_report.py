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
    """What systemd says of each client of a load that runs on client1; `stopped`: when it was stopped, if it was."""
    clients = ("rados", "rbd")
    said = dict.fromkeys(clients, "active")

    def place(_: Any) -> Any:
        load = Load("client1", list(clients), {}, stopped=float(at) if (at := said.get("stopped", "")) else None)
        ledgers = {name: parse(WORKS) for name in clients}
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


def test_what_is_asked_of_a_stopped_load_is_judged(states: dict[str, str], capsys: pytest.CaptureFixture) -> None:
    states |= {"rados": "inactive", "rbd": "inactive", "stopped": "100"}
    assert main(["load", "report", "--least", "2", "--longest", "98"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "rados has 1 acknowledged operations, at least 2 were" in said
    assert "rados stalled for 99.0 s from 00:00:01, 98 s are allowed" in said and "its unit is" not in said
