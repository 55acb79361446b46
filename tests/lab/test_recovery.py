"""Recovery measured as InfiniFlash's was: an OSD and a host go out and come back under load, under two profiles.

Disks are throttled so low that they are the limit, not processors; the throttle is proven first. A run that processors
held up is printed as such and shows no ratio.
"""

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from clusters import SUBNETS
from product import Product, cluster_file, until
from saltcli import salt_run
from throttle import BUSY, proven, throttled

from lab.session import Session

pytestmark = pytest.mark.big
NODES = ("node1", "node2", "node3", "node4")
SLOW = 40  # writes a second of a throttled disk
HARD = "lsblk -J -d -b -o PATH,ROTA,SIZE"
UNIT = "halocline-benchmark.service"
RUN = "nohup salt-run recovery.measure load=60 profiles=least >/tmp/measure.out 2>&1 & echo $!"
SCENARIOS = ("osd-out", "osd-in", "host-out", "host-in")


def hard(product: Product, host: str) -> list[str]:
    """A host's hard disks of 1 TB: those that OSDs get."""
    listed = json.loads(product.run(host, HARD).out)["blockdevices"]
    return sorted(disk["path"] for disk in listed if disk["rota"] and int(disk["size"]) > 900 << 30)


def whole(product: Product) -> bool:
    return product.whole(8, NODES)


def state(product: Product) -> dict:
    """All that a measurement may change: OSDs, flags, configuration, units that start at boot, what it makes."""
    dump = product.ceph("osd dump")
    units = {
        host: product.run(host, "ls /etc/systemd/system/*.wants /run/systemd/system/*.wants", check=False).out
        for host in NODES
    }
    return {
        "osds": [[osd[key] for key in ("osd", "up", "in", "weight")] for osd in dump["osds"]],
        "flags": sorted(dump["flags_set"]),
        "pools": product.ceph("osd pool ls"),
        "config": [[row["section"], row["name"], row["value"]] for row in product.ceph("config dump")],
        "kept": [key for key in product.ceph("config-key ls") if key.endswith(("recovery-measure", "benchmark"))],
        "users": sorted(user["entity"] for user in product.ceph("auth ls")["auth_dump"]),
        "units": units,
        "load": product.run("client1", f"systemctl is-active {UNIT}", check=False).out.strip() == "active",
    }


@pytest.fixture(scope="module")
def slow(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """Four storage hosts, so that three copies find a host each with one of them out; a client that makes load."""
    path = Path(cluster_file(tmp_path_factory.mktemp("recovery"), "recovery", SUBNETS["recovery"], spare=True))
    path.write_text(path.read_text().replace("node2, node3]", "node2, node3, node4]"))
    product = Product(own_lab(str(path)))
    lines = f"{product.way.policy}role-benchmark/cluster/client*.sls\n"
    product.way = dataclasses.replace(product.way, policy=lines)
    disk = hard(product, "node1")[0]  # before any OSD lies on it
    throttled(product, "node1", disk, SLOW)
    print(f"{disk}: set to {SLOW}, fio writes {proven(product, 'node1', disk, SLOW):.0f} a second")
    throttled(product, "node1", disk, 0)
    product.guide()
    product.stage("ceph.stage.services")
    until(lambda: whole(product), 180, "HEALTH_OK")
    for host in NODES:
        for disk in hard(product, host):
            throttled(product, host, disk, SLOW)
    yield product
    for host in NODES:
        for disk in hard(product, host):
            throttled(product, host, disk, 0)


def begun(product: Product) -> str:
    """Begin a measurement in a shell of its own and wait until an OSD is out; return the shell's process id."""
    pid = product.run("saltmaster", RUN).out.split()[-1]
    until(lambda: product.ceph("status")["osdmap"]["num_in_osds"] < 8, 1800, "no OSD went out")
    return pid


def test_bad_input_and_a_dry_run_change_nothing(slow: Product) -> None:
    before = state(slow)
    for words, says in (
        (["what=rack"], "expected some of osd, host"),
        (["osd=99"], "no osd with running OSDs"),
        (["profiles=slow"], "expected some of default, least, fast"),
        (["size=huge"], "expected quick or paper"),
    ):
        done = salt_run(slow.session, "recovery.measure", *words, check=False)
        assert done.returncode == 2 and says in str(done.data), done
    assert "would give out" in slow.run("saltmaster", "salt-run recovery.measure test=true").out
    assert state(slow) == before


def test_a_cluster_that_is_not_sound_is_refused(slow: Product) -> None:
    unit = slow.run("node4", "systemctl list-units --plain --no-legend 'ceph-osd@*.service'").out.split()[0]
    slow.run("node4", f"systemctl stop {unit}")
    try:
        until(lambda: not slow.healthy(), 60, "an OSD is down and the cluster is healthy")
        done = salt_run(slow.session, "recovery.measure", check=False)
        assert done.returncode == 2 and "not sound" in str(done.data), done
    finally:
        slow.run("node4", f"systemctl start {unit}")
    until(lambda: whole(slow), 300, "HEALTH_OK with the OSD back")


def test_killed_with_an_osd_out_all_is_put_back(slow: Product) -> None:
    before = state(slow)
    pid = begun(slow)
    slow.run("saltmaster", f"kill -9 {pid} $(pgrep -P {pid})", check=False)
    assert "would first put back" in slow.run("saltmaster", "salt-run recovery.measure test=true").out
    assert slow.ceph("status")["osdmap"]["num_in_osds"] < 8
    slow.run("saltmaster", "salt-run recovery.stop", limit=900)
    until(lambda: whole(slow), 900, "HEALTH_OK after recovery.stop")
    assert state(slow) == before


def test_stopped_from_another_shell_the_cluster_is_as_it_was(slow: Product) -> None:
    before = state(slow)
    pid = begun(slow)
    assert "is stopped" in slow.run("saltmaster", "salt-run recovery.stop").out
    until(lambda: slow.run("saltmaster", f"kill -0 {pid} 2>/dev/null", check=False).code != 0, 600, "it goes on")
    assert "was stopped" in slow.run("saltmaster", "cat /tmp/measure.out").out
    until(lambda: whole(slow), 900, "HEALTH_OK after the measurement was stopped")
    assert state(slow) == before


def test_four_scenarios_under_two_profiles(slow: Product) -> None:
    """Fast ends earlier, least dips less; table, eight curves, and the cluster as it was."""
    before = state(slow)
    told = salt_run(slow.session, "recovery.measure", "load=60", limit=4 * 3600).data
    print(slow.run("saltmaster", f"cat {told['folder']}/table.txt").out)
    until(lambda: whole(slow), 900, "HEALTH_OK after the measurement")
    assert state(slow) == before
    assert {"report.html", "result.json", "table.txt"} <= set(
        slow.run("saltmaster", f"ls {told['folder']}").out.split()
    )
    curves = json.loads(slow.run("saltmaster", f"cat {told['folder']}/result.json").out)["curves"]
    assert [(each["profile"], each["scenario"]) for each in curves] == [
        (profile, scenario) for profile in ("fast", "least") for scenario in SCENARIOS
    ]
    assert all(each["clean"] is not None and each["moved"] > 0 for each in curves if each["scenario"].endswith("out"))
    if max(each["busy"] for each in curves) >= BUSY:
        print("processors held it up: no ratio is judged")
        return
    times = {
        profile: sum(each["clean"] for each in curves if each["profile"] == profile) for profile in ("fast", "least")
    }
    lost = {
        profile: sum(each["before"] - each["curve"][at] for each in curves if each["profile"] == profile
                     for at in range(each["lead"], min(each["lead"] + 30, len(each["curve"]))))
        for profile in ("fast", "least")
    }  # fmt: skip
    print(f"seconds until all is clean: {times}; operations lost in the first 30 s: {lost}")
    assert times["fast"] < times["least"] and lost["least"] < lost["fast"]
