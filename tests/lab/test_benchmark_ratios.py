"""The ratios of the documents, by throttled disks and shaped ports, on a cluster with one load generator or several.

Disks are set so low that they are the limit, not processors; the throttle is proven by fio first. A run that processors
held up is printed as such and shows no ratio.
"""

import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from clusters import SUBNETS
from product import STORAGE, Product, cluster_file, until
from saltcli import salt_run
from throttle import proven, throttled

from lab.session import Session

pytestmark = pytest.mark.big
SPEEDS = {"1gbe": "25mbit", "10gbe": "250mbit", "40gbe": "1gbit"}  # 1 : 10 : 40
PUBLIC = f"ip -o -4 addr show to 192.168.{SUBNETS['ratios']}.0/24 | awk '{{print $2; exit}}'"
SLOW = 40  # writes a second of a throttled disk
HARD = "lsblk -J -d -o PATH,SERIAL,ROTA"


@pytest.fixture(scope="module")
def ratios(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """Three storage hosts, a client that makes load, and the storage hosts too: four begin in step."""
    folder = tmp_path_factory.mktemp("ratios")
    product = Product(own_lab(cluster_file(folder, "ratios", SUBNETS["ratios"], spare=True)))
    lines = f"{product.way.policy}role-benchmark/cluster/*.sls\n"
    product.way = dataclasses.replace(product.way, policy=lines)
    disk = rotating(product, "node1")[-1]  # before any OSD lies on it
    throttled(product, "node1", disk, SLOW)
    print(f"{disk}: set to {SLOW}, fio writes {proven(product, 'node1', disk, SLOW):.0f} a second")
    throttled(product, "node1", disk, 0)
    product.guide()
    product.stage("ceph.stage.services")
    until(product.whole, 180, "HEALTH_OK")
    return product


def rotating(product: Product, host: str) -> list[str]:
    """A host's hard disks of 1 TB: those that OSDs get."""
    listed = json.loads(product.run(host, f"{HARD},SIZE -b").out)["blockdevices"]
    return sorted(disk["path"] for disk in listed if disk["rota"] and int(disk["size"]) > 900 << 30)


def result(product: Product, *words: str) -> dict:
    """A run's result."""
    told = salt_run(product.session, "benchmark.run", *words, limit=3600).data
    read: dict = json.loads(product.run("saltmaster", f"cat {told['folder']}/result.json").out)
    return read


def figure(told: dict, target: str, row: str, key: str = "mib_s") -> float:
    value: float = told["cells"][target][row][0][key]
    return value


@contextmanager
def shaped(product: Product, rate: str) -> Iterator[None]:
    """The storage hosts' public ports send so much and no more."""
    try:
        for host in STORAGE:
            product.run(host, f"tc qdisc replace dev $({PUBLIC}) root tbf rate {rate} burst 64k latency 50ms")
        yield
    finally:
        for host in STORAGE:
            product.run(host, f"tc qdisc del dev $({PUBLIC}) root", check=False)


@contextmanager
def paced(product: Product, host: str, iops: int) -> Iterator[None]:
    """A host's hard disks write so many blocks a second."""
    try:
        for disk in rotating(product, host):
            throttled(product, host, disk, iops)
        yield
    finally:
        for disk in rotating(product, host):
            throttled(product, host, disk, 0)


def test_hosts_begin_within_a_second_and_the_pools_counters_agree(ratios: Product) -> None:
    told = result(ratios, "moc")
    assert sorted(told["targets"]) == list(STORAGE) and len(told["generators"]) >= 4
    for run in told["runs"]:
        assert run["apart"] <= 1, run
        assert run["overlap"] >= 0.9 or "sequential reads" in run["job"], run  # those end when all is read
    for run in told["runs"]:
        if run["job"] == "4M writes":
            (cell,) = told["cells"][run["target"]]["4M writes"]
            written = cell["operations"] * (4 << 20)
            assert abs(run["counted"]["write"] - written) <= 0.1 * written, run


def test_a_throttled_host_is_slower_than_the_others(ratios: Product) -> None:
    """As moc's host without an SSD beside those with one: the pools lie on one host's OSDs each."""
    with paced(ratios, "node2", SLOW):
        told = result(ratios, "moc", "label=throttled")
    rates = {host: figure(told, host, "4k writes", "iops") for host in STORAGE}
    print(f"4 KB writes a second by host: {rates}")
    assert rates["node2"] == min(rates.values())


def test_reads_of_large_blocks_grow_with_the_network(ratios: Product) -> None:
    reads, small, runs = [], [], []
    for label, rate in SPEEDS.items():
        with shaped(ratios, rate):
            told = result(ratios, "mellanox", f"label={label}")
        reads.append(figure(told, "rbd", "sequential read 8M"))
        small.append(figure(told, "rbd", "random write 4k"))
        runs.append(told["id"])
    print(f"sequential reads of 8 MiB at 1 : 10 : 40: {reads} MiB/s; random writes of 4 KiB: {small}")
    assert reads[0] < reads[1] and reads[1] <= reads[2] * 1.1
    assert reads[1] / reads[0] > small[1] / small[0], "small writes depend on the network less than large reads"
    page = ratios.run("saltmaster", f"salt-run benchmark.show {','.join(runs)}").out
    assert all(label in page for label in SPEEDS)


def test_a_slow_disk_and_a_slow_link_that_were_planted_are_named(ratios: Product) -> None:
    group = "$(sed -n 's/^[0-9]*:blkio://p' /proc/self/cgroup)"
    (*_, disk) = rotating(ratios, "node3")
    limit = "/sys/fs/cgroup/blkio{}/blkio.throttle.read_bps_device"
    number = f"$(cat /sys/class/block/$(basename $(readlink -f {disk}))/dev)"
    ratios.run("node3", f'echo "{number} 5242880" >{limit.format(group)}')
    try:
        told = salt_run(ratios.session, "benchmark.baseline", "parts=disks", check=False, limit=1800)
    finally:
        ratios.run("node3", f'echo "{number} 0" >{limit.format(group)}')
    assert told.returncode == 1 and any("node3" in line for line in told.data["slow"]), told
    ratios.run("node1", f"tc qdisc replace dev $({PUBLIC}) root tbf rate 50mbit burst 64k latency 50ms")
    try:
        told = salt_run(ratios.session, "benchmark.baseline", "parts=links", check=False, limit=1800)
    finally:
        ratios.run("node1", f"tc qdisc del dev $({PUBLIC}) root", check=False)
    assert told.returncode == 1 and any("node1" in line for line in told.data["slow"]), told
