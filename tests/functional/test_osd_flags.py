"""Flags that somebody left set, by which an OSD that stops hurts: Ceph's ok-to-stop looks at none of them."""

from pathlib import Path

import pytest
import yaml
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

CASES = yaml.load((Path(__file__).parent.parent / "fixtures/health/flags.yaml").read_text(), yaml.CSafeLoader)


@pytest.fixture
def health(python_module):
    """A function: ``cluster_health`` on a cluster that has these flags and calls all ok-to-stop."""

    def having(case):
        told = {"osd tree": {"nodes": CASES["tree"]}, "osd dump": {**CASES["dump"], **case.get("dump", {})}}
        told["osd dump"]["osds"] = [
            {"osd": osd, "state": ["exists", "up", *case.get("states", {}).get(osd, ())]} for osd in range(3)
        ]
        module = python_module("cluster_health")
        asks = {
            "cluster_cli.ask_all": lambda questions: [told[" ".join(words)] for words in questions],
            "cluster_cli.tell": lambda words: "",
        }
        return LoaderModuleMock({module: {"__salt__": asks}}), module

    return having


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["name"])
def test_osds_are_not_stopped_while_a_flag_would_make_it_worse(health, case):
    mock, module = health(case)
    with mock:
        assert module.held(["0", "1"]) == case.get("held", [])
        assert module.held([0, 1], back=False) == [line for line in case.get("held", []) if "nodown" in line]
        if case.get("held"):
            with pytest.raises(CommandExecutionError) as caught:
                module.stoppable("osd", ["0", "1"])
            assert str(caught.value) == "; ".join(case["held"])
        else:
            assert module.stoppable("osd", ["0", "1"]) == {"ok": ["0", "1"]}
        assert module.stoppable("mon", ["node1"]) == {"ok": ["node1"]}
