"""Estimates of what a plan does at most: cases, and what must hold of any plan and any speeds."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from proposals.benchmarks import estimate, rates
from proposals.benchmarks.baseline import Speed
from proposals.text.errors import ArgumentError

CASES = yaml.load((Path(__file__).parents[1] / "fixtures/benchmarks/estimates.yaml").read_text(), yaml.CSafeLoader)
TB = 10**12


def plan(hosts, disks, devices=("ssd", 0, 0, 0)):
    """A stored proposal's hosts, all alike: disks for data, and the devices of their DBs, taken in turn."""
    made = {}
    for number in range(hosts):
        listed = [
            {"id": f"/dev/{cls}{at}", "class": cls, "size": int(size * TB)}
            for cls, count, size, _ in (disks, devices)
            for at in range(count)
        ]
        data, behind = listed[: disks[1]], listed[disks[1] :]
        osds = [
            {"data": disk["id"], "db": behind[at % len(behind)]["id"] if behind else None, "wal": None}
            for at, disk in enumerate(data)
        ]
        made[f"node{number}"] = {"osds": osds, "disks": listed}
    return made


def speeds(case):
    hosts = [f"node{number}" for number in range(case["hosts"])]
    for cls, count, _, value in (case["disks"], case.get("devices", ("ssd", 0, 0, 0))):
        yield from (Speed(f"{host} /dev/{cls}{at}", "X", value, "MiB/s") for host in hosts for at in range(count))
    for network, value in case["links"].items():
        yield from (Speed(f"{host}'s link", f"the {network} network", 1000.0 * value, "Mb/s") for host in hosts)
    yield from (Speed("osd.0", f"OSDs of class {cls}", value, "MiB/s") for cls, value in case.get("osds", {}).items())


@pytest.mark.parametrize("name", CASES)
def test_the_part_that_is_slowest_for_its_share_holds_all_back(name):
    case = CASES[name]
    hosts = plan(case["hosts"], case["disks"], case.get("devices", ("ssd", 0, 0, 0)))
    copies = rates.redundancy(case["redundancy"])
    clients = 1000.0 * case["clients"] if "clients" in case else None
    told = estimate.limits(hosts, rates.known(speeds(case), {}), copies, clients)
    (ways,) = told.values()
    wanted = {way: case[way] for way in (estimate.READ, estimate.WRITE, estimate.SMALL) if way in case}
    assert {way: [round(each[0].mib_s), each[0].kind] for way, each in ways.items()} == wanted
    lines = estimate.lines(told, hosts, copies)
    first, kind = wanted[estimate.READ]
    assert lines[1].startswith(f"  large reads: {first:,} MiB/s at most: {kind} (") and copies.text in lines[0]


def test_what_is_typed_stands_for_what_was_not_measured():
    hosts = plan(2, ("hdd", 2, 1, 0), ("nvme", 1, 1, 0))
    with pytest.raises(
        ArgumentError, match=r"\(hdd=MIB_S\); .*\(nvme=MIB_S\); .*\(public=GBIT_S\): run .salt-run benchmark.baseline"
    ) as no:
        estimate.limits(hosts, rates.known([], {}), rates.redundancy(3))
    assert "node0 /dev/hdd0" in str(no.value)
    typed = rates.usual({"hdd": 100, "nvme": 1000, "public": 10, "cluster": None})
    assert typed == {"hdd": 100.0, "nvme": 1000.0, "public": 10_000.0}
    known = rates.known([Speed("node0 /dev/hdd0", "X", 50.0, "MiB/s")], typed)
    told = estimate.limits(hosts, known, rates.redundancy("1"))["hdd"]
    assert (told[estimate.READ][0].mib_s, told[estimate.READ][0].part) == (200.0, "node0 /dev/hdd0")


@pytest.mark.parametrize("typed", ["0", "4+", "+2", "4+2+1", "three", "99", True, ""])
def test_a_redundancy_that_is_none_is_refused(typed):
    with pytest.raises(ArgumentError, match="expected replicas such as 3, or parts such as 4"):
        rates.redundancy(typed)


@pytest.mark.parametrize(("name", "value"), [("hdd", 0), ("ssd", "fast"), ("public", -1), ("clients", True)])
def test_a_speed_that_is_none_is_refused(name, value):
    with pytest.raises(ArgumentError, match=f"{name}=.*a number above 0"):
        rates.usual({name: value})


def test_a_plan_without_osds_is_refused():
    with pytest.raises(ArgumentError, match="no OSDs"):
        estimate.limits({"node0": {"osds": [], "disks": []}}, rates.known([], {}), rates.redundancy(3))


def test_the_papers_rules_on_networks_are_named():
    flash, slow = plan(1, ("nvme", 1, 1, 0)), rates.known([], {"public": 10_000.0, "cluster": 10_000.0})
    first, second = estimate.advice(flash, slow)
    assert first.startswith("node0: the cluster network carries less than 2 times") and "40 Gb/s" in second
    assert estimate.advice(flash, rates.known([], {"public": 50_000.0, "cluster": 100_000.0})) == []


numbers = st.floats(1, 10_000)
COPIES = st.sampled_from(["1", "2", "3", "2+2", "4+2"])


@pytest.mark.slow
@given(
    st.integers(1, 4), st.integers(1, 4), st.integers(0, 2), st.lists(numbers, min_size=8, max_size=8), numbers,
    numbers, COPIES, st.integers(0, 11), st.floats(1, 10),
)  # fmt: skip
def test_of_any_plan(hosts, disks, devices, measured, public, cluster, copies, faster, times):
    """No more than all parts together; a faster part never lowers it, all of them faster raise it as much; reads are
    at least writes, and hosts' order does not count.
    """
    made = plan(hosts, ("hdd", disks, 1, 0), ("ssd", devices, 1, 0))
    parts = [
        (f"node{host} /dev/{cls}{at}", "X")
        for host in range(hosts)
        for cls, count in (("hdd", disks), ("ssd", devices))
        for at in range(count)
    ]
    links = [(f"node{host}'s link", f"the {kind} network") for host in range(hosts) for kind in ("public", "cluster")]
    found = [Speed(part, kind, measured[at % 8], "MiB/s") for at, (part, kind) in enumerate(parts)]
    found += [Speed(part, kind, public if "public" in kind else cluster, "Mb/s") for part, kind in links]
    stored = rates.redundancy(copies)

    def first(speeds, plan=made):
        told = estimate.limits(plan, rates.known(speeds, {}), stored)["hdd"]
        return {way: each[0].mib_s for way, each in told.items()}

    once = first(found)
    data = [one.value for one in found if "/dev/hdd" in one.part]
    assert once[estimate.READ] <= sum(data) * 1.001 and once[estimate.READ] >= once[estimate.WRITE] * 0.999
    assert once[estimate.WRITE] <= sum(data) / stored.stored * 1.001
    assert once.get(estimate.SMALL, 0) <= once[estimate.WRITE]
    more = [one._replace(value=one.value * (times if at == faster % len(found) else 1)) for at, one in enumerate(found)]
    assert all(after >= once[way] for way, after in first(more).items())
    all_faster = first([one._replace(value=one.value * times) for one in found])
    assert all_faster == {way: pytest.approx(value * times) for way, value in once.items()}
    assert first(found[::-1], dict(reversed(made.items()))) == {
        way: pytest.approx(value) for way, value in once.items()
    }
