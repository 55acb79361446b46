"""What exists stays: OSDs on the disks, stored plans, slots that something occupies."""

import copy

import pytest
import yaml
from planning import FSID, GUIDE, apollo, inventory, peek

from proposals.disks import arguments, plan
from proposals.policy import fragments
from proposals.reference import machines
from proposals.text.errors import PlanError
from proposals.text.sizes import GIB

ARGS = " ".join(GUIDE)


@pytest.fixture(scope="module")
def planned():
    return peek(apollo(), ARGS)


@pytest.fixture
def deployed(planned):
    return machines.deployed(apollo(), planned, FSID)


def disks(raw, host="osdnode1"):
    return raw["hosts"][host]["ceph_disks"]


def replace_first(raw, keep_slot):
    """A new disk in place of osdnode1's first; its OSD's DB and WAL stay listed or not. Returns the OSD's fsid."""
    old = disks(raw)[0]
    fsid = old["osds"][0]["fsid"]
    wwn = "0x5000c500ffff0001"
    disks(raw)[0] = {**old, "osds": [], "wwn": wwn, "serial": "NEW", "id": f"/dev/disk/by-id/wwn-{wwn}"}
    if not keep_slot:
        for disk in disks(raw):
            disk["osds"] = [one for one in disk["osds"] if one["fsid"] != fsid]
    return fsid


def osds(answer):
    return {osd["uuid"]: osd for host in answer["hosts"].values() for osd in host["osds"]}


def placed(answer):
    return {uuid: {key: osd[key] for key in osd if key != "existing"} for uuid, osd in osds(answer).items()}


@pytest.mark.slow
def test_a_deployed_cluster_is_the_answer_whatever_is_asked(planned, deployed):
    for words in (ARGS, "", "ratio=5", "db-size=30g", "standalone=true", "data=5000-7000 db=740-770 db-size=1g"):
        answer = peek(deployed, "target=osd*" if "target" not in words else "", words)
        assert placed(answer) == placed(planned), words
        assert all(osd["existing"] for osd in osds(answer).values())
        assert {host["layout"] for host in answer["hosts"].values()} == {"ssd-spinner"}


def test_a_replaced_disk_takes_the_free_slot_of_its_ssd(planned, deployed):
    gone = replace_first(deployed, keep_slot=False)
    answer = peek(deployed, ARGS)
    kept = placed(planned)
    before = kept.pop(gone)
    new = [osd for osd in osds(answer).values() if not osd["existing"]]
    assert {uuid: osd for uuid, osd in placed(answer).items() if uuid in kept} == kept
    assert len(kept) == 215
    assert [(one["db"], one["wal"], one["db_size"], one["wal_size"]) for one in new] == [
        (before["db"], before["db"], 40 * GIB, 5 * GIB)
    ]


def test_without_destroying_the_new_disk_waits(planned, deployed):
    gone = replace_first(deployed, keep_slot=True)
    answer = peek(deployed, ARGS)
    assert len(osds(answer)) == 215
    assert gone not in osds(answer)
    reasons = [disk["reason"] for disk in answer["hosts"]["osdnode1"]["disks"] if disk["reason"]]
    assert any(
        "waits for a slot: DB or WAL of OSD 0, which has no data disk here" in reason and "osd.replace 0" in reason
        for reason in reasons
    )
    assert any("osd.replace 0" in warning for warning in answer["warnings"])


def test_another_size_beside_neighbours_is_refused_with_both_numbers(deployed):
    replace_first(deployed, keep_slot=False)
    with pytest.raises(PlanError, match="db-size=30g, but the OSDs on its DB devices have 40 GiB.*1 data disk would"):
        peek(deployed, ARGS.replace("40g", "30g"))


def test_another_size_where_nothing_new_is_placed_is_a_warning(deployed):
    answer = peek(deployed, ARGS.replace("40g", "30g"))
    assert any("db-size=30g, but" in warning and "keeps its size" in warning for warning in answer["warnings"])


def test_a_destroyed_osds_disk_is_unused_with_the_way_to_free_it(deployed):
    for disk in disks(deployed):
        for one in disk["osds"]:
            if one["id"] == 0:
                one["state"] = "destroyed"
    answer = peek(deployed, ARGS)
    assert len(osds(answer)) == 215
    reasons = [disk["reason"] or "" for disk in answer["hosts"]["osdnode1"]["disks"]]
    assert any("DB or WAL of OSD 0, which is destroyed" in text for text in answer["warnings"])
    assert any("holds the data of OSD 0, which is destroyed: free it with disk.wipe" in reason for reason in reasons)


def test_an_orphaned_db_on_its_own_ssd_is_not_given_away():
    raw = inventory(node1=[{"is": "hdd6", "count": 2}, {"is": "ssd800"}])
    disks(raw, "node1")[2]["osds"] = [{"id": 7, "fsid": FSID, "role": "db", "size": 700 * GIB, "state": "orphan"}]
    answer = peek(raw, "db=740-770 data=5000-7000")
    assert not osds(answer)
    assert "osd.replace 7" in str(answer["warnings"])


def test_a_stored_plan_stays_while_its_disks_are_there():
    raw = inventory(node1=[{"is": "hdd6", "count": 4}, {"is": "ssd800", "count": 2}])
    first = peek(raw, "ratio=9")
    more = inventory(
        node1=[{"is": "hdd6", "count": 4}, {"is": "ssd800", "count": 2}, {"is": "hdd6", "count": 3}, {"is": "ssd800"}]
    )
    disks(more, "node1")[6]["id"] = "/dev/disk/by-id/wwn-0x1"  # sorts before all others
    second = peek(more, "ratio=9", stored=first)
    assert {uuid: osds(second)[uuid] for uuid in osds(first)} == osds(first)
    assert len(osds(second)) == 7


def test_other_arguments_plan_anew_and_list_what_moved():
    raw = inventory(node1=[{"is": "hdd6", "count": 4}, {"is": "ssd800", "count": 2}])
    first = peek(raw, "ratio=9 db-size=40g")
    second = peek(raw, "ratio=9 db-size=50g", stored=first)
    assert {osd["db_size"] for osd in osds(second).values()} == {50 * GIB}
    assert any("4 OSDs that are not deployed are placed or sized otherwise" in text for text in second["warnings"])


def test_a_stored_plan_gives_way_where_its_device_is_gone():
    raw = inventory(node1=[{"is": "hdd6", "count": 4}, {"is": "ssd800", "count": 2}])
    first = peek(raw, "ratio=9")
    dead = copy.deepcopy(raw)
    disks(dead, "node1")[4]["in_use"] = ["does not answer"]
    second = peek(dead, "ratio=9", stored=first)
    assert len(osds(second)) == 4
    assert len({osd["db"] for osd in osds(second).values()}) == 1


def test_growing_onto_deployed_devices_uses_their_free_slots_and_sizes(deployed):
    grown = machines.expand(
        {
            "n": {
                "disks": [
                    {"count": 4, "size": 6001175126016, "rotational": True},
                    {"size": 800166076416, "rotational": False},
                ]
            }
        }
    )
    first = peek(grown, "ratio=4 db-size=60g")
    lying = machines.deployed(grown, first, FSID)
    lying["hosts"]["n"]["ceph_disks"].append(
        {
            "device": "/dev/sdz",
            "id": "/dev/disk/by-id/wwn-0x5000c500000100ff",
            "size": 6001175126016,
            "rotational": True,
        }
    )
    answer = peek(lying, "ratio=5")
    new = [osd for osd in osds(answer).values() if not osd["existing"]]
    assert [one["db_size"] for one in new] == [60 * GIB]


@pytest.mark.slow
def test_a_failed_db_device_names_all_osds_that_fall_with_it(planned, deployed):
    ssd = next(disk for disk in disks(deployed) if len(disk["osds"]) > 1)
    numbers = [f"OSD {one['id']}" for one in ssd["osds"] if one["role"] == "db"]
    ssd["in_use"] = ["does not answer"]
    fallen = f"osdnode1: {ssd['id']}: does not answer: with it fall {', '.join(numbers)}"
    answer = peek(deployed, ARGS)
    assert len(numbers) == 9
    assert fallen in answer["warnings"]
    assert placed(answer) == placed(planned)
    disks(deployed).remove(ssd)
    answer = peek(deployed, ARGS, stored=planned)
    assert fallen.replace("does not answer", "is not there any more") in answer["warnings"]


def test_a_db_device_that_does_not_answer_tells_no_osds_and_keeps_those_that_it_had():
    """Discovery reads no label from it: the kernel lists it, with its partitions, and nothing else is known."""
    raw = inventory(node1=[{"is": "hdd6", "count": 2}, {"is": "ssd800"}])
    first = peek(raw, "")
    lying = machines.deployed(raw, first, FSID)
    silent = disks(lying, "node1")[-1]
    silent |= {"osds": [], "in_use": ["has partitions", "does not answer"]}
    answer = peek(lying, "", stored=first)
    told = [{**osd, "missing": [silent["id"]], "existing": True} for osd in first["hosts"]["node1"]["osds"]]
    assert answer["hosts"]["node1"]["osds"] == told
    (warning,) = (line for line in answer["warnings"] if "does not answer" in line)
    assert warning == f"node1: {silent['id']}: has partitions; does not answer: with it fall OSD 0, OSD 1"


def test_the_profile_goes_on_naming_a_db_device_that_is_gone():
    """So deploy leaves out what lay there, and takes no disk that comes for it."""
    raw = inventory(node1=[{"is": "hdd6", "count": 2}, {"is": "ssd800"}])
    first = peek(raw, "")
    lying = machines.deployed(raw, first, FSID)
    gone = disks(lying, "node1").pop()
    asked = arguments.parse([])
    for stored in (first, peek(lying, "", stored=first)):
        made = plan.peek(lying, asked, stored)
        (text,) = (t for t in fragments.profile(made, made.as_dict())["node1"].values() if "storage:" in t)
        layout = yaml.load(text, yaml.CSafeLoader)["ceph"]["storage"]
        assert {osd["db"] for osd in layout["osds"].values()} == {gone["id"]}
        assert {osd["db_size"] for osd in layout["osds"].values()} == {osd["db_size"] for osd in osds(first).values()}
        assert layout["disks"][gone["id"]] == {}


def test_encryption_of_what_is_deployed_is_remembered():
    raw = inventory(node1=[{"is": "hdd6", "count": 2}, {"is": "ssd800"}])
    first = peek(raw, "encryption=dmcrypt")
    lying = machines.deployed(raw, first, FSID)
    for words in ("encryption=dmcrypt", ""):
        assert {osd["encryption"] for osd in osds(peek(lying, words, stored=first)).values()} == {"dmcrypt"}
    assert {osd["encryption"] for osd in osds(peek(lying, "")).values()} == {None}
