"""What is asked of a cluster before it is judged, on a cluster that is played."""

from collections.abc import Callable
from typing import Any

import pytest
from saltfactories.utils.loader import LoaderModuleMock

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("up", "inside", "since"),
    [
        ("2027-01-15T08:00:00.000000+0000", "2027-01-15T07:59:55.500000+0000", 0.0),  # the newer one counts
        ("2027-01-15T07:59:30.000000+0000", "0.000000", 30.0),
        ("0.000000", "0.000000", None),  # a cluster without an OSD
    ],
)
def test_when_an_osd_came_or_went_last(
    python_module: Callable, monkeypatch: pytest.MonkeyPatch, up: str, inside: str, since: float | None
) -> None:
    dump = {"flags": "sortbitwise", "osds": [], "last_up_change": up, "last_in_change": inside}
    answers: dict[str, Any] = {"status": {}, "osd": dump, "mgr": [], "mds": []}
    module = python_module("cluster_health")
    monkeypatch.setattr(module.time, "time", lambda: NOW)
    asks = {"cluster_cli.ask_all": lambda questions: [answers[words[0]] for words in questions]}
    with LoaderModuleMock({module: {"__salt__": asks}}):
        assert module.inspect()["osd_dump"]["changed"] == since
