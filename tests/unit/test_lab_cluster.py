"""Cluster files: what is read from them, what is refused and how."""

from pathlib import Path

import pytest

from lab import identity
from lab.cluster import known, parse, read
from lab.errors import LabError
from lab.guide import guide
from proposals.cluster.crush import shelf

GOOD = """
networks: {public: 10.9.0.0/24}
disks: {hdd: {size: 1000204886016, model: M}}
hosts: [{names: [m, n], first: 5, disks: {hdd: 2}}]
""".replace("hosts: [", "hosts: [{names: [s], master: true, first: 4}, ")


def test_addresses_count_up_from_first() -> None:
    cluster = parse("c", GOOD)
    assert [host.addresses["public"] for host in cluster.hosts] == ["10.9.0.4", "10.9.0.5", "10.9.0.6"]
    assert cluster.master.name == "s"
    assert len(cluster.host("n").slots) == 2


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("networks", "netwroks", "unknown key 'netwroks': did you mean networks?"),
        ("first: 5", "frist: 5", "unknown key 'frist': did you mean first?"),
        ("{hdd: 2}", "{hddd: 2}", "no disk model 'hddd'; expected one of hdd"),
        ("{hdd: 2}", "{hdd: two}", "expected int, found 'two'"),
        ("size: 1000204886016", "size: 6T", "size: expected int, found '6T'"),
        ("size: 1000204886016", "size: 5", "expected at least 1 GiB"),
        ("model: M", "model: M, transport: scsi", "expected one of sata, sas, nvme"),
        ("model: M", "model: M, sector: 520", "sector 520; expected 512 or 4096"),
        ("model: M", "model: M, transport: sas, expander: shelf1", "expander 'shelf1'; expected 0x and 16"),
        ("model: M", 'model: M, expander: "0x50011731000001ff"', "of a disk with SAS"),
        ("10.9.0.0/24", "10.9.0.0/99", "expected a subnet like"),
        ("master: true, ", "", "exactly one host with `master: true`"),
        ("first: 5", "first: 4", "address given twice: 10.9.0.4"),
        ("[m, n]", "[m, m]", "host name given twice: m"),
        ("[m, n]", "[../m]", "name '../m'; expected lower-case letters, digits and hyphens"),
        ("[m, n]", "[5]", "name 5; expected"),
        ("first: 5", "first: 254", "first: 254 leaves no room for 2 hosts in 10.9.0.0/24"),
        ("first: 5", "first: -1", "leaves no room"),
        ("{hdd: 2}", "{hdd: -2}", "-2 disks hdd; expected 0 or more"),
        ("disks: {hdd: 2}", "networks: 5", "networks: expected list, found 5"),
        ("model: M", "model: M, serial: 5", "serial: expected str, found 5"),
        ("disks: {hdd: {", "domain: 5\ndisks: {hdd: {", "domain: expected str, found 5"),
        ("hosts: [", "hosts: [[", "not YAML"),
        ("networks: {public: 10.9.0.0/24}", "", "networks is missing"),
    ],
)
def test_a_wrong_file_is_refused_by_name(was: str, now: str, said: str) -> None:
    assert was in GOOD
    with pytest.raises(LabError, match=".") as refused:
        parse("c", GOOD.replace(was, now, 1))
    assert said in str(refused.value)
    assert "cluster c" in str(refused.value)


def test_an_unknown_cluster_names_the_known_ones() -> None:
    with pytest.raises(LabError, match="apollo-slice"):
        read("apolo")


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(LabError, match="mine.yaml cannot be read as text"):
        read(str(path))


@pytest.mark.parametrize("name", known())
def test_no_two_disks_of_a_shipped_cluster_are_alike(name: str) -> None:
    cluster = parse(*read(name))
    disks = [
        identity.describe(name, host.name, slot, 0, model)["properties"]
        for host in cluster.hosts
        for slot, model in enumerate(host.slots)
    ]
    for key in ("ID_SERIAL_SHORT", "ID_WWN"):
        assert len({disk[key] for disk in disks}) == len(disks)
    assert all(disk["ID_SERIAL_SHORT"].isalnum() for disk in disks)


def test_hosts_of_one_shelf_are_behind_one_expander() -> None:
    name = "infiniflash-slice"
    cluster = parse(name, read(name)[1])
    disks = {
        host.name: [
            {"path": identity.describe(name, host.name, slot, 0, model)["properties"]["ID_PATH"]}
            for slot, model in enumerate(host.slots)
        ]
        for host in cluster.hosts
    }
    behind = {host: {shelf(disk) for disk in each} for host, each in disks.items() if each}
    first, second = (("by-path", f"500117310000{number:02}ff") for number in (1, 2))
    assert behind == {"ifnode01": {first}, "ifnode02": {first}, "ifnode03": {second}, "ifnode04": {second}}


def test_a_disk_keeps_its_identity_and_its_replacement_has_another() -> None:
    model = parse("c", GOOD).host("m").slots[0]
    assert identity.describe("c", "m", 0, 0, model) == identity.describe("c", "m", 0, 0, model)
    old, new = (identity.describe("c", "m", 0, generation, model)["properties"] for generation in (0, 1))
    assert old["ID_PATH"] == new["ID_PATH"]
    assert old["ID_WWN"] != new["ID_WWN"]


@pytest.mark.parametrize("cluster", ["apollo", "apollo-slice", "guests", "tiny"])
def test_a_demo_has_a_guide(cluster: str) -> None:
    way = guide(cluster)
    assert cluster in known() and "policy.cfg" in way.commands
    assert f"profile-{way.profile}/cluster/*.sls" in way.policy


def test_a_demo_without_a_guide_is_told() -> None:
    with pytest.raises(LabError, match="no guide for mellanox.*guides for apollo, apollo-slice, guests, tiny"):
        guide("mellanox")
