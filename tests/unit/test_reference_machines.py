"""The reference inventories hold what the documents say of each host: tests/fixtures/machines/references.yaml."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

from proposals.reference import machines

SAID = yaml.load((Path(__file__).parents[1] / "fixtures/machines/references.yaml").read_text(), yaml.CSafeLoader)
ROWS = [(site, hosts.split(), row) for site, rows in SAID.items() for hosts, row in rows.items()]
UNITS = {"GB": 10**9, "TB": 10**12}


def kind(disk: dict) -> str:
    """boot, hdd or ssd."""
    return "boot" if disk["in_use"] else "hdd" if disk["rotational"] else "ssd"


def labelled(disk: dict, sizes: dict[int, str]) -> str:
    """A disk's label by what is nearest: a disk holds at most 1 % more than its label says."""
    (label,) = (label for size, label in sizes.items() if size <= disk["size"] < 1.01 * size)
    return f"{label} {kind(disk)}"


@pytest.mark.parametrize(("site", "hosts", "row"), ROWS, ids=[f"{site}-{hosts[0]}" for site, hosts, _ in ROWS])
def test_a_host_is_as_its_document_says(site: str, hosts: list[str], row: dict) -> None:
    seen = machines.inventory(site)["hosts"]
    assert len(seen) == row.get("hosts", len(seen))
    wanted = {label: int(count) for count, label in (disks.split(" x ") for disks in row["disks"])}
    sizes = {round(float(number) * UNITS[unit]): f"{number} {unit}" for number, unit, _ in map(str.split, wanted)}
    for host in (seen[name] for name in hosts):
        assert Counter(labelled(disk, sizes) for disk in host["ceph_disks"]) == wanted
        assert host["memory"] == row["memory"] << 30
        speeds = [port["speed"] // 1000 for port in host["ceph_nics"]]
        assert f"{len(speeds)} x {speeds[0]}" == row["ports"] and len(set(speeds)) == 1
        if "controller" in row:
            (model,) = {disk["model"] for disk in host["ceph_disks"] if kind(disk) == "hdd"}
            assert model == (row["controller"] or "ST4000NM0033")


def test_every_reference_deployment_has_its_rows() -> None:
    assert SAID.keys() == machines.CATALOGUE.keys()
