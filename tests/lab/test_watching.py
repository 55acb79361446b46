"""What the product tells of machines and of itself, on the first cluster.

No host of a lab has a RAID controller or a switch that speaks LLDP: their tools are programs of this test, which print
what the vendors' documents show.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from product import Product
from saltcli import salt_run

pytestmark = pytest.mark.big
TOOLS = Path(__file__).parents[1] / "fixtures" / "hardware" / "tools.yaml"
TOOL = "/usr/local/bin/storcli64"
LLDP = "/usr/local/bin/lldpcli"


@pytest.fixture
def machines(cluster: Product) -> Iterator[Product]:
    """The first cluster: node1 has a RAID controller with a volume that lacks a disk, and cables to a switch."""
    case = {case["name"]: case["calls"] for case in yaml.safe_load(TOOLS.read_text())}
    raid = next(iter(case["storcli, with a boot pair that lacks a disk and a capacitor"].values()))
    lldp = next(iter(case["lldpcli, with a switch that says all and one that has no name"].values()))
    for path, printed in ((TOOL, raid), (LLDP, lldp)):
        program = f"#!/bin/sh\ncat <<'END'\n{printed.strip()}\nEND\n"
        cluster.run("node1", f"printf %s {shlex.quote(program)} >{path}; chmod 755 {path}")
    yield cluster
    cluster.run("node1", f"rm -f {TOOL} {LLDP}")


def test_a_raid_volume_that_lacks_a_disk_is_named_and_holds_no_stage_back(machines: Product) -> None:
    found = salt_run(machines.session, "validate.all", check=False).data["findings"]
    (raid,) = [one for one in found if one["check"] == "raid_volume"]
    assert (raid["hosts"], raid["severity"]) == (["node1"], "warning") and "volume 0/0 is Dgrd" in raid["message"]
    assert [one for one in found if one["severity"] == "error"] == []
    assert salt_run(machines.session, "validate.deploy", check=False).returncode == 0


def test_cables_are_a_port_map_and_comments(machines: Product) -> None:
    printed = machines.run("saltmaster", "salt-run networks.cables", check=False)
    assert printed.code == 1  # the other hosts' switches tell nothing
    assert yaml.safe_load(printed.out) == {"node1": {"p1": "leaf1 1/7"}}
    assert "# node2: no switch told it anything (LLDP)" in printed.out
