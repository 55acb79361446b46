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


SITES = [{"id": -1, "name": "default", "type": "root", "type_id": 11, "children": [-2, -3]}]
SITES += [{"id": -2, "name": "east", "type": "datacenter", "type_id": 8, "children": [-4, -5]}]
SITES += [{"id": -3, "name": "west", "type": "datacenter", "type_id": 8, "children": [-6, -7]}]
SITES += [{"id": -4 - n, "name": f"node{n}", "type": "host", "type_id": 1, "children": [n]} for n in range(4)]
SITES += [{"id": n, "name": f"osd.{n}", "type": "osd", "type_id": 0, "device_class": "hdd"} for n in range(4)]
GROUPS = {"1.0": [0, 2, 1, 3], "1.1": [3, 1, 0, 2], "2.0": [0]}
EAST = (
    "2 placement groups of stretched pools (rbd) would have no copy where they need one (peering_crush_bucket_count), "
    "and would not be served: stop OSDs of fewer hosts at once, or bring back what is down at the other site first"
)


@pytest.fixture
def stretched(python_module):
    """A function: ``cluster_health`` on a cluster in stretch mode, of two sites with two hosts each."""

    def having(**pool):
        rbd = {"peering_crush_bucket_count": 2, "peering_crush_bucket_barrier": 8} | pool
        rbd = {"pool": 1, "pool_name": "rbd", "peering_crush_bucket_mandatory_member": 2147483647} | rbd
        plain = {"pool": 2, "pool_name": "p", "peering_crush_bucket_count": 0}
        osds = [{"osd": n, "state": ["exists", "up"]} for n in range(4)]
        dump = {**CASES["dump"], "osds": osds, "pools": [rbd, plain]}
        groups = [{"pgid": pgid, "acting": acting} for pgid, acting in GROUPS.items()]
        told = {"osd tree": {"nodes": SITES}, "osd dump": dump, "pg dump pgs_brief": {"pg_stats": groups}}
        told["osd ok-to-stop 0 --max 4"] = {"ok_to_stop": True, "osds": [0, 1]}  # of four copies two would be left
        told["osd ok-to-stop 0 --max 1"] = {"ok_to_stop": True, "osds": [0]}
        module = python_module("cluster_health")
        asks = {
            "cluster_cli.ask": lambda words: told[" ".join(words)],
            "cluster_cli.ask_all": lambda questions: [told[" ".join(words)] for words in questions],
            "cluster_cli.tell": lambda words: "",
        }
        return LoaderModuleMock({module: {"__salt__": asks}}), module

    return having


def test_no_site_of_a_stretched_cluster_is_stopped_whole(stretched):
    """Ceph counts the copies that are left: its groups are served only with copies at both sites."""
    mock, module = stretched()
    with mock:
        assert module.held([0, 2]) == module.held([3]) == []
        assert module.held(["0", "1"]) == [EAST]
        with pytest.raises(CommandExecutionError) as caught:
            module.stoppable("osd", ["0", "1"])
        assert str(caught.value) == EAST
        assert module.together(["0"], 4) == module.together(["0"], 1) == ["0"]


@pytest.mark.parametrize(("stop", "served"), [([2, 3], True), ([0, 1], False)])
def test_at_the_last_site_of_a_stretched_cluster_a_copy_stays(stretched, stop, served):
    """In degraded stretch mode one site is enough, of which Ceph names the bucket."""
    mock, module = stretched(peering_crush_bucket_count=1, peering_crush_bucket_mandatory_member=-2)
    with mock:
        assert module.held(stop) == ([] if served else [EAST])
