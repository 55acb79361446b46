"""What falls with a shelf that hosts share is told: in the answer, in a warning, with what its servers need."""

import copy

import pytest
from planning import inventory

from proposals.disks import arguments, plan
from proposals.reference import machines

TB8 = 8001563222016


def peeked(raw: dict, words: str = "name=flash standalone=true") -> dict:
    return plan.peek(raw, arguments.parse(words.split())).as_dict()


@pytest.mark.parametrize(
    ("site", "shelves", "hosts", "osds", "good"),
    [
        ("infiniflash-1xa4", 1, 4, 32, "8 a server, good for small random I/O, mixed loads, throughput"),
        ("infiniflash-2xa4", 2, 4, 32, "8 a server"),
        ("infiniflash-1xa4-full", 1, 4, 64, "16 a server, good for mixed loads, throughput"),
        ("infiniflash-2xa8", 2, 8, 32, "4 a server"),
    ],
)
def test_a_shelf_of_the_reference_is_one_place_where_copies_fall_together(site, shelves, hosts, osds, good):
    answer = peeked(machines.inventory(site))
    assert len(answer["shelves"]) == shelves
    for shelf in answer["shelves"]:
        assert len(shelf["hosts"]) == hosts and shelf["osds"] == osds and shelf["raw_bytes"] == osds * TB8
        assert shelf["cluster_share"] == round(1 / shelves, 4)
    told = [line for line in answer["warnings"] if "fall with the shelf 5001173100000" in line]
    assert len(told) == shelves and all("'crush_locations', by-enclosure" in line for line in told)
    (hint,) = (line for line in answer["hints"] if line.startswith("flash cards of shared shelves"))
    assert good in hint and "at least 200 placement groups an OSD" in hint
    assert f"5 cores a card, {5 * osds // hosts} a server" in hint


def test_a_hosts_own_backplane_is_no_shared_shelf():
    raw = machines.inventory("infiniflash-1xa4")
    for number, host in enumerate(raw["hosts"].values()):
        for disk in host["ceph_disks"]:
            disk.pop("enclosure", None)
            disk["enclosure"] = f"0x50011731000000{number:02}"
    assert "shelves" not in peeked(raw)


def test_a_db_in_the_shelf_takes_its_osd_along():
    raw = inventory(a=[{"is": "hdd6", "count": 4}, {"is": "ssd800"}], b=[{"is": "hdd6", "count": 4}, {"is": "ssd800"}])
    for host in raw["hosts"].values():
        host["ceph_disks"][-1]["path"] = "pci-0000:5c:00.0-sas-exp0x500056b3abcdefff-phy12-lun-0"
    (shelf,) = peeked(raw, "name=x ratio=4")["shelves"]
    assert shelf["expander"] == "500056b3abcdefff" and shelf["hosts"] == {"a": 4, "b": 4}
    assert not any("flash cards" in line for line in peeked(raw, "name=x ratio=4")["hints"])


def test_small_servers_of_cards_are_named():
    raw = machines.inventory("infiniflash-1xa4")
    raw["hosts"]["ifnode02"]["memory"] = 64 << 30
    hints = peeked(raw)["hints"]
    assert any("ifnode02: a server of such cards should have 128 GiB of memory" in line for line in hints)


@pytest.mark.parametrize("odd", [7, "a b", "../x", ["y"], "<b>", "", None, "x" * 5000])
def test_an_identity_that_is_no_word_is_none(odd):
    raw = copy.deepcopy(machines.inventory("infiniflash-1xa4"))
    for host in raw["hosts"].values():
        for disk in host["ceph_disks"]:
            disk["enclosure"] = odd
    answer = peeked(raw)
    assert all(shelf["enclosure"] == "7" for shelf in answer.get("shelves", ()))
