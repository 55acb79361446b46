"""Hot spares: whatever the site names, no new OSD lies there, what is deployed stays, and no other host differs."""

import copy
import json

import pytest
from hypothesis import strategies as st
from planning import FSID
from test_planner_properties import first_words, hosts, move_words, peek, proves, words

from proposals.inventory import spares
from proposals.reference import machines
from proposals.text.errors import PolicyError

HDD = 6001175126016


def named(raw, random):
    """Some of the disks, each by one of its names, and which these are: ``(setting, {minion: ids})``."""
    chosen = {minion: random.sample(host["ceph_disks"], len(host["ceph_disks"]) // 3) for minion, host in raw.items()}
    setting = {
        minion: [disk[random.choice([key for key in ("id", "serial") if disk.get(key)])] for disk in disks]
        for minion, disks in chosen.items()
        if disks
    }
    return setting, {minion: {disk["id"] for disk in disks} for minion, disks in chosen.items()}


def parts(answer, minion):
    """Every disk that a new OSD of a host would lie on, or that a part of one would move to."""
    osds = answer["hosts"].get(minion, {}).get("osds", ())
    new = {osd[role] for osd in osds if not osd["existing"] for role in ("data", "db", "wal") if osd[role]}
    return new | {to["to"] for osd in osds for to in osd.get("moves", {}).values()}


@pytest.mark.slow
@proves(hosts, words, st.randoms(use_true_random=False))
def test_no_new_osd_lies_on_a_spare(told, asked, random):
    raw = machines.expand(told)
    setting, ids = named(raw["hosts"], random)
    kept = copy.deepcopy(raw)
    answer = peek({**raw, "hosts": spares.reserve(raw["hosts"], setting)}, asked)
    assert raw == kept, "what discovery stored is left as it is"
    for minion, taken in ids.items() if answer else ():
        assert not parts(answer, minion) & taken
        disks = {disk["id"]: disk for disk in answer["hosts"].get(minion, {}).get("disks", ())}
        assert all("reserved: hot spare" in disks[disk]["reason"] for disk in taken & disks.keys())
    return answer


@pytest.mark.slow
@proves(hosts, words, st.randoms(use_true_random=False))
def test_spares_of_one_host_change_no_other_and_the_same_words_give_the_same_plan(told, asked, random):
    raw = machines.expand(told)
    setting, _ = named(raw["hosts"], random)
    one = {minion: setting[minion] for minion in sorted(setting)[:1]}
    once = spares.reserve(raw["hosts"], one)
    assert spares.reserve(once, one) == once
    assert all(once[minion] is host for minion, host in raw["hosts"].items() if minion not in one)
    answer = peek({**raw, "hosts": once}, asked)
    again = spares.reserve(raw["hosts"], {minion: list(reversed(disks)) for minion, disks in one.items()})
    assert json.dumps(answer) == json.dumps(peek({**raw, "hosts": again}, asked))
    return answer


@pytest.mark.slow
@proves(hosts, words, st.randoms(use_true_random=False), share=0.15)
def test_what_is_deployed_stays_where_its_disk_is_named_a_spare(told, asked, random):
    raw = machines.expand(told)
    first = peek(raw, asked)
    if not first:
        return False
    lying = machines.deployed(raw, first, FSID)
    setting, _ = named(lying["hosts"], random)
    second = peek({**lying, "hosts": spares.reserve(lying["hosts"], setting)}, asked)
    if second:
        before = {osd["uuid"]: osd["data"] for host in first["hosts"].values() for osd in host["osds"]}
        after = {osd["uuid"]: osd["data"] for host in second["hosts"].values() for osd in host["osds"]}
        assert before.items() <= after.items()
    return second


@pytest.mark.slow
@proves(hosts, first_words, move_words, st.randoms(use_true_random=False), share=0.1)
def test_no_db_moves_to_a_spare(told, asked, other, random):
    raw = machines.expand(told)
    first = peek(raw, asked)
    if not first:
        return False
    lying = machines.deployed(raw, first, FSID)
    setting, ids = named(lying["hosts"], random)
    second = peek({**lying, "hosts": spares.reserve(lying["hosts"], setting)}, other)
    for minion, taken in ids.items() if second else ():
        assert not parts(second, minion) & taken
    return second


@pytest.mark.slow
@proves(hosts, words, st.randoms(use_true_random=False), share=0.15)
def test_a_stored_plan_gives_up_what_became_a_spare_before_it_was_deployed(told, asked, random):
    raw = machines.expand(told)
    first = peek(raw, asked)
    if not first:
        return False
    setting, ids = named(raw["hosts"], random)
    second = peek({**raw, "hosts": spares.reserve(raw["hosts"], setting)}, asked, first)
    for minion, taken in ids.items() if second else ():
        assert not parts(second, minion) & taken
    return second


def disk(serial, **more):
    id_ = f"/dev/disk/by-id/{serial}"
    return {"id": id_, "serial": serial, "size": HDD, "rotational": True, "in_use": [], "osds": [], **more}


HOSTS = {
    "osdnode1": {"ceph_disks": [disk("A1"), disk("A2", osds=[{}]), disk("A3", in_use=["mounted on /"])]},
    "osdnode2": {"ceph_disks": [disk("B1", wwn="0x5000c500a1b2c3d4"), "(no disk)"]},
}


def test_spares_that_are_none_are_told():
    setting = {"osdnode*": ["A1", "A2", "0x5000c500a1b2c3d4", "C9"], "gone*": ["A1"]}
    assert spares.notes(HOSTS, setting) == [
        "hot_spares: discovery saw no disk A1 (no host is called gone*)",
        "hot_spares: A2 of osdnode1 carries an OSD, which stays: it is no spare before that is gone",
        "hot_spares: discovery saw no disk C9 (osdnode1, osdnode2)",
    ]


@pytest.mark.parametrize(
    "name", ["ata-ST6000NM0115_ZAD0", "wwn-0x5000c500a1b2c3d4", "scsi-35000c500a1b2c3d4", "scsi-SATA_ST6000NM0115_ZAD0"]
)
def test_a_spare_is_one_by_any_of_its_names_that_udev_makes(name):
    """Discovery keeps one of them; ``ls /dev/disk/by-id`` shows them all."""
    serial = disk("ZAD0", id="/dev/disk/by-id/wwn-0x5000c500a1b2c3d4", wwn="0x5000c500a1b2c3d4")
    hosts_ = {"osdnode1": {"ceph_disks": [serial, disk("xZAD0"), disk("ZAD01"), {"id": "/dev/disk/by-id/x"}]}}
    setting = {"osdnode1": [f"/dev/disk/by-id/{name}"]}
    kept = spares.reserve(hosts_, setting)["osdnode1"]["ceph_disks"]
    assert [each.get("in_use") for each in kept] == [["reserved: hot spare"], [], [], None]
    assert spares.notes(hosts_, setting) == [] and len(spares.offered("osdnode1", hosts_["osdnode1"], setting)) == 1


def test_a_spare_is_one_by_the_name_that_its_namespace_has():
    nvme = disk("S1", id="/dev/disk/by-id/nvme-eui.0025", wwn="eui.0025")
    for name in ("nvme-eui.0025", "nvme-SAMSUNG_S1", "nvme-SAMSUNG_S1_1"):
        kept = spares.reserve({"a": {"ceph_disks": [nvme]}}, {"a": [f"/dev/disk/by-id/{name}"]})
        assert kept["a"]["ceph_disks"][0]["in_use"] == ["reserved: hot spare"], name


def test_a_host_is_offered_its_own_free_spares():
    setting = {"osdnode*": ["A1", "A2", "A3", "0x5000c500a1b2c3d4"]}
    assert spares.offered("osdnode1", HOSTS["osdnode1"], setting) == [
        "  /dev/disk/by-id/A1 (5589 GiB = 6.00 TB, rotating, serial A1)"
    ]
    assert len(spares.offered("osdnode2", HOSTS["osdnode2"], setting)) == 1
    assert spares.offered("osdnode2", HOSTS["osdnode2"], {"osdnode1": ["B1"]}) == []


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        (["A1"], "hot_spares is ['A1']: expected a mapping such as {'osdnode*': [ZA1B2C3D]}"),
        ({"osdnode1": ["/dev/sda"]}, "hot_spares: osdnode1 is /dev/sda: expected a disk's serial, WWN or name"),
        ({"osdnode1": [""]}, "hot_spares: osdnode1 is empty: expected a disk's serial"),
    ],
)
def test_the_kernels_names_are_no_names(said, wrong):
    with pytest.raises(PolicyError) as caught:
        spares.wanted(said)
    assert wrong in str(caught.value)


def test_one_alone_is_a_list_of_one_and_a_number_has_to_be_quoted():
    """A WWN or a serial such as 0123 is another number to YAML: the spare would be a disk like any other."""
    assert spares.wanted({"osdnode1": "12345"}) == {"osdnode1": ["12345"]} and spares.wanted(None) == {}
    with pytest.raises(PolicyError, match="osdnode1 is 83: expected a disk's serial, .* in quotes"):
        spares.wanted({"osdnode1": 0o123})
