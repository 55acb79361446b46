"""Disks asked by the real smartctl; one that fails is played, as no disk fails here."""

import json
from collections.abc import Iterator

import pytest
import yaml
from product import DEPLOY, Product, planned

from lab.store import CHECKOUT

PLAYED = "/usr/local/sbin/smartctl"  # before the real one on a service's path (systemd.exec(5))
FAILS = "a SATA disk that fails, with the attribute that says why"
CASES = {case["name"]: case["told"] for case in yaml.safe_load((CHECKOUT / "tests/fixtures/smart.yaml").read_text())}
SCRIPT = """#!/bin/sh
for word; do [ "$word" != {device} ] || exec cat /run/failing.json; done
exec /usr/sbin/smartctl "$@"
"""


@pytest.fixture
def failing(cluster: Product) -> Iterator[tuple[str, int]]:
    """The device of an OSD's data disk on node1, whose smartctl says that it fails; and the OSD's number."""
    uuid, osd = next(iter(planned(cluster)["node1"].items()))
    device = cluster.run("node1", f"readlink -f {osd['data']}").out.strip()
    number = next(each["osd"] for each in cluster.ceph("osd dump")["osds"] if each["uuid"] == uuid)
    cluster.run("node1", f"cat >/run/failing.json <<'EOF'\n{json.dumps(CASES[FAILS])}\nEOF")
    cluster.run("node1", f"cat >{PLAYED} <<'EOF'\n{SCRIPT.format(device=device)}EOF\nchmod 755 {PLAYED}")
    yield device, number
    cluster.run("node1", f"rm {PLAYED} /run/failing.json")


def test_disks_without_smart_are_no_error(cluster: Product) -> None:
    done = cluster.run("saltmaster", "salt-run disk.health")
    assert "not told: " in done.out and ": Unable to detect device type" in done.out
    assert " fails" not in done.out


def test_a_failing_disk_is_named_with_the_line_to_type_and_deploy_warns(
    cluster: Product, failing: tuple[str, int]
) -> None:
    device, number = failing
    done = cluster.run("saltmaster", "salt-run disk.health", check=False)
    assert done.code == 1
    named, fix = (line for line in done.out.splitlines() if " fails: " in line or "osd.replace" in line)
    assert named.startswith(f"node1 {device} (") and f"data of osd.{number}" in named
    assert f"'salt-run osd.replace {number}'" in fix
    deployed = cluster.stage(DEPLOY, check=False)
    assert deployed.code == 0, deployed.out
    assert f"'salt-run osd.replace {number}'" in deployed.out
