"""Places in the CRUSH map and pools: cases as data."""

from pathlib import Path

import pytest
import yaml

from proposals.cluster import crush, pools
from proposals.text.errors import PolicyError

CASES = yaml.safe_load((Path(__file__).parent.parent / "fixtures" / "crush.yaml").read_text())
HOSTS = ("node1", "node2", "node3", "node4")


def tree(racks, hosts):
    """The nodes of `ceph osd tree`: two hard disks a host."""
    ids = {name: -2 - at for at, name in enumerate((*HOSTS, *racks))}
    inside = {host for members in racks.values() for host in members}
    top = [ids[name] for name in (*racks, *(host for host in hosts if host not in inside))]
    nodes = [{"id": -1, "name": "default", "type": "root", "children": top}]
    nodes += [
        {"id": ids[name], "name": name, "type": "rack", "children": [ids[host] for host in members]}
        for name, members in racks.items()
    ]
    for at, host in enumerate(hosts):
        nodes.append({"id": ids[host], "name": host, "type": "host", "children": [2 * at, 2 * at + 1]})
        nodes += [
            {"id": osd, "name": f"osd.{osd}", "type": "osd", "device_class": "hdd"} for osd in (2 * at, 2 * at + 1)
        ]
    return nodes


def judged(case, run):
    if "says" in case:
        with pytest.raises(PolicyError) as caught:
            run()
        assert case["says"] in str(caught.value)
        return
    todo, told = run()
    assert [" ".join(words) for words in todo] == case["commands"].splitlines()
    assert case.get("told", "") in "\n".join(told)


@pytest.mark.parametrize("case", CASES["places"], ids=lambda case: case["about"])
def test_places(case):
    nodes = tree(case.get("racks", {}), HOSTS[:3] if "racks" not in case else HOSTS)
    judged(case, lambda: (crush.commands(crush.locations(case["said"], {host: host for host in HOSTS}), nodes), []))


@pytest.mark.parametrize("case", CASES["pools"], ids=lambda case: case["about"])
def test_pools(case):
    found = {"tree": tree(case.get("racks", {}), HOSTS), "rules": ["replicated_rule"], "profiles": ["default"]}
    there = {"size": 3, "erasure_code_profile": ""}
    found["pools"] = [{"pool_name": "there", **there, "applications": ["rbd"]}, {"pool_name": "half", **there}]
    found["pools"][1]["applications"] = []
    judged(case, lambda: pools.plan(case["said"], found))
