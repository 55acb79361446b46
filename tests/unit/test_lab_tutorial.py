"""The tutorial's blocks as they are typed on a lab, and what they show held against what was printed."""

import shlex

import pytest

from lab import identity
from lab.cluster import ClusterFile, parse, read
from lab.guide import guide
from lab.tutorial import Step, steps
from proposals.disks import arguments, plan
from proposals.text import tables

PAGE = """
```
make lab
```

## 1. Begin

```
salt-run a.b
```

```output
b … MB/s
the  end
```

```text
role-mon/cluster/*.sls
```
"""


def test_blocks_become_steps() -> None:
    first, policy = steps(PAGE)
    assert first == Step("salt-run a.b", ("b … MB/s", "the  end"))
    assert policy.typed.endswith("policy.cfg <<'EOF'\nrole-mon/cluster/*.sls\nEOF")


@pytest.mark.parametrize(
    ("printed", "lacking"),
    [
        ("a\n  b 3.0 MB/s\nc\n the end  \n", []),
        ("the end\nb 3.0 MB/s\n", ["the  end"]),
        ("b 3.0 MB/s more\nthe end\n", ["b … MB/s", "the  end"]),
        ("b 3.0 MB/s\nthe.end\n", ["the  end"]),
        ("", ["b … MB/s", "the  end"]),
    ],
)
def test_what_is_shown_has_to_be_printed_in_order(printed: str, lacking: list[str]) -> None:
    assert steps(PAGE)[0].lacking(printed) == lacking


def discovered(cluster: ClusterFile) -> dict:
    """The hosts as discovery would see them."""
    found = {}
    for host in cluster.hosts:
        disks = []
        for slot, model in enumerate(host.slots):
            wwn = identity.describe(cluster.name, host.name, slot, 0, model)["properties"]["ID_WWN"]
            about = {"device": f"/dev/loop{slot}", "id": f"/dev/disk/by-id/wwn-{wwn}", "in_use": [], "osds": []}
            disks.append({**about, "size": model.size, "rotational": model.rotational})
        found[host.name] = {"ceph_disks": disks}
    return {"hosts": found}


PLANNED = [step for step in steps() if step.typed.startswith("salt-run proposal.")]


@pytest.mark.parametrize("step", PLANNED, ids=lambda step: step.typed)
def test_the_planner_prints_what_the_tutorial_shows(step: Step) -> None:
    planned = plan.peek(discovered(parse("tiny", read("tiny")[1])), arguments.parse(shlex.split(step.typed)[2:]))
    assert step.shown and step.lacking(tables.printed(tables.proposal, planned.as_dict())) == []


def test_it_is_the_guide_of_tiny_with_looks_between() -> None:
    typed = [step.typed for step in steps()]
    way = guide("tiny")
    wanted = [way.write_policy if command == "policy.cfg" else command for command in way.commands]
    places = [typed.index(command) for command in wanted]
    assert places == sorted(places)
