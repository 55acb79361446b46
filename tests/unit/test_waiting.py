"""OSDs whose DB or WAL device died keep their places: nobody else gets them, and another device brings them back."""

import copy

import losing
import pytest
from planning import FSID, inventory, peek

from proposals.disks import arguments, explain, plan
from proposals.policy import fragments
from proposals.reference import machines
from proposals.text.errors import ProposalError
from proposals.text.sizes import GIB

ASKED = "ratio=4 db-size=100g"
DISKS = [{"is": "hdd6", "count": 10}, {"is": "ssd800", "count": 2}]  # two more hard disks than slots
PLACE = ("data", "db", "wal", "db_size", "wal_size")


@pytest.fixture(scope="module")
def planned():
    return peek(inventory(node1=DISKS), ASKED)


@pytest.fixture(scope="module")
def deployed(planned):
    return machines.deployed(inventory(node1=DISKS), planned, FSID)


@pytest.fixture
def lost(deployed):
    """The SSD that dies, and its entry."""
    return next(disk for disk in deployed["hosts"]["node1"]["ceph_disks"] if len(disk["osds"]) > 1)


def places(answer):
    return {osd["uuid"]: tuple(osd[key] for key in PLACE) for osd in answer["hosts"]["node1"]["osds"]}


def moved(planned, old, new):
    """The places of a plan with one device in place of another."""
    other = {old: new}
    return {fsid: tuple(other.get(each, each) for each in place) for fsid, place in places(planned).items()}


def reasons(answer):
    return {disk["id"]: disk["reason"] for disk in answer["hosts"]["node1"]["disks"] if disk["reason"]}


@pytest.mark.parametrize("stored", [True, False], ids=["planned once", "populated after deploy"])
@pytest.mark.parametrize("words", [ASKED, "ratio=4", "", "leftovers=true", "ratio=2", "standalone=true"])
def test_the_new_device_brings_the_same_osds_back(planned, deployed, lost, words, stored):
    raw = losing.given_up(deployed, "node1", lost["id"], {lost["id"]: "ssd"})
    raw, new = losing.plugged(raw, "node1", lost)
    answer = peek(raw, words, stored=planned if stored else peek(deployed, ASKED, stored=planned))
    wanted = moved(planned, lost["id"], new)
    assert {fsid: place for fsid, place in places(answer).items() if fsid in wanted} == wanted
    assert answer["hosts"]["node1"]["in_place_of"] == {lost["id"]: new}
    assert any(f"{new} takes the place of {lost['id']}" in hint for hint in answer["hints"])
    assert not any("stored proposal" in warning for warning in answer["warnings"])


def test_until_there_is_one_the_data_disks_wait_and_nobody_gets_them(planned, deployed, lost):
    """Also in layouts that could use them: alone, or on the other SSD."""
    raw = losing.given_up(deployed, "node1", lost["id"], {lost["id"]: "ssd"})
    mine = losing.behind(deployed, "node1", lost["id"])
    for words in (ASKED, "", "ratio=9", "standalone=true", "leftovers=true"):
        answer = peek(raw, words, stored=planned)
        data = {place[0] for fsid, place in places(planned).items() if fsid in mine}
        assert not data & {osd["data"] for osd in answer["hosts"]["node1"]["osds"]}, words
        assert {reasons(answer)[one] for one in data} == {f"waits for a device in place of {lost['id']}, which is gone"}
        text = next(each for each in answer["warnings"] if "wait for a device" in each)
        assert text.startswith("node1: 4 data disks of OSD 0, OSD 2, OSD 4, OSD 6 wait for a device in place of")
        made = plan.peek(raw, arguments.parse(words.split()), planned)
        assert f"not free: waits for a device in place of {lost['id']}" in str(explain.disk(made, "node1", min(data)))
        assert "a free ssd with room for 400 GiB takes it; 'salt-run osd.replace 0' gives" in text


def test_a_populate_in_between_forgets_nothing(planned, deployed, lost):
    raw = losing.given_up(deployed, "node1", lost["id"], {lost["id"]: "ssd"})
    between = peek(raw, ASKED, stored=planned)
    raw, new = losing.plugged(raw, "node1", lost)
    answer = peek(raw, ASKED, stored=between)
    assert moved(planned, lost["id"], new).items() <= places(answer).items()


def test_slots_of_a_disk_that_is_not_wiped_are_kept(planned, deployed, lost):
    """Two hard disks wait for any slot: they do not get those of two that are still to be wiped."""
    mine = losing.behind(deployed, "node1", lost["id"])
    data = sorted(place[0] for fsid, place in places(planned).items() if fsid in mine)
    raw = losing.given_up(deployed, "node1", lost["id"], {lost["id"]: "ssd"}, wiped=data[:2])
    raw, new = losing.plugged(raw, "node1", lost)
    first = peek(raw, ASKED, stored=planned)
    wanted = moved(planned, lost["id"], new)
    there = {fsid: place for fsid, place in wanted.items() if place[0] not in data[2:]}
    assert places(first) == there
    assert all("free it with disk.wipe" in reasons(first)[disk] for disk in data[2:])
    assert any("which is destroyed and keeps its place until its data disk is wiped" in w for w in first["warnings"])
    # Those two are deployed, the others wiped then: the same device, which carries some by now.
    made = machines.deployed(raw, first, FSID)
    made["hosts"]["node1"]["waiting"] = {
        fsid: place for fsid, place in raw["hosts"]["node1"]["waiting"].items() if place["data"] in data[2:]
    }
    made, other = losing.plugged(made, "node1", lost, 2)
    for disk in made["hosts"]["node1"]["ceph_disks"]:
        disk["osds"] = [osd for osd in disk["osds"] if osd["state"] == "in-use"]
    second = peek(made, ASKED, stored=first)
    assert {fsid: place for fsid, place in places(second).items() if fsid in wanted} == wanted
    assert {place[1] for fsid, place in places(second).items() if fsid not in wanted} == {other}


def test_a_device_that_is_back_is_its_own_successor(planned, deployed, lost):
    raw = losing.given_up(deployed, "node1", lost["id"], {lost["id"]: "ssd"})
    raw["hosts"]["node1"]["ceph_disks"].append({**lost, "osds": []})
    answer = peek(raw, ASKED, stored=planned)
    assert places(answer) == places(planned)
    assert "in_place_of" not in answer["hosts"]["node1"]


@pytest.mark.parametrize(
    ("change", "takes"),
    [
        ({}, True),
        ({"size": 960197124096}, True),
        ({"size": 400088457216}, False),
        ({"transport": "nvme"}, False),
        ({"rotational": True}, False),
        ({"in_use": ["mounted on /srv"]}, False),
    ],
    ids=["alike", "larger", "too small", "another class", "a hard disk", "in use"],
)
def test_what_may_take_the_place(planned, deployed, lost, change, takes):
    raw = losing.given_up(deployed, "node1", lost["id"], {lost["id"]: "ssd"})
    raw, _ = losing.plugged(raw, "node1", {**lost, **change})
    answer = peek(raw, ASKED, stored=planned)
    mine = losing.behind(deployed, "node1", lost["id"])
    assert bool(mine & places(answer).keys()) is takes
    assert any("wait for a device" in text for text in answer["warnings"]) is not takes


def test_filters_hold_for_what_takes_the_place(planned, deployed, lost):
    raw = losing.given_up(deployed, "node1", lost["id"], {lost["id"]: "ssd"})
    raw, new = losing.plugged(raw, "node1", {**lost, "size": 960197124096})
    assert any("wait for a device" in text for text in peek(raw, ASKED, "db=740-810")["warnings"])
    assert any("wait for a device" in text for text in peek(raw, ASKED, "exclude=890-1000")["warnings"])
    assert new in str(peek(raw, ASKED, "db=740-970")["hints"])


def test_a_wal_device_that_died_leaves_the_dbs_where_they_were():
    disks = [{"is": "hdd6", "count": 8}, {"is": "ssd800", "count": 2}, {"is": "nvme400", "count": 2}]
    words = "ratio=4 db-ratio=1 nvme-ssd-spinner=true db-size=100g wal-size=5g"
    planned = peek(inventory(node1=disks), words)
    deployed = machines.deployed(inventory(node1=disks), planned, FSID)
    wal = next(osd["wal"] for osd in planned["hosts"]["node1"]["osds"])
    like = next(disk for disk in deployed["hosts"]["node1"]["ceph_disks"] if disk["id"] == wal)
    raw, new = losing.plugged(losing.given_up(deployed, "node1", wal, {wal: "nvme"}), "node1", like)
    assert places(peek(raw, words, stored=planned)) == moved(planned, wal, new)


def test_two_devices_that_died_get_one_each(planned, deployed):
    gone = [device for _, device in losing.carriers(deployed)]
    raw, kept, news = deployed, {}, []
    for device in gone:
        like = next(disk for disk in deployed["hosts"]["node1"]["ceph_disks"] if disk["id"] == device)
        raw = losing.given_up(raw, "node1", device, dict.fromkeys(gone, "ssd"))
        kept |= raw["hosts"]["node1"]["waiting"]
    for number in (1, 2):
        raw, new = losing.plugged(raw, "node1", like, number)
        news.append(new)
    raw["hosts"]["node1"]["waiting"] = kept
    answer = peek(raw, ASKED, stored=planned)
    stands = answer["hosts"]["node1"]["in_place_of"]
    assert sorted(stands) == sorted(gone) and sorted(stands.values()) == sorted(news)
    assert places(answer) == {
        fsid: tuple(stands.get(each, each) for each in place) for fsid, place in places(planned).items()
    }


def test_what_was_made_again_waits_no_more(planned, deployed, lost):
    """A host that lost its memory of that says so still: what lies there counts."""
    raw = losing.given_up(deployed, "node1", lost["id"], {lost["id"]: "ssd"})
    raw, new = losing.plugged(raw, "node1", lost)
    first = peek(raw, ASKED, stored=planned)
    again = machines.deployed(raw, first, FSID)
    answer = peek(again, ASKED, stored=first)
    assert places(answer) == places(first)
    assert not any("take" in hint and "the place of" in hint for hint in answer["hints"])


def test_a_data_disk_that_died_too_gives_its_place_up(planned, deployed, lost):
    raw = losing.given_up(deployed, "node1", lost["id"], {lost["id"]: "ssd"})
    mine = losing.behind(deployed, "node1", lost["id"])
    data = sorted(place[0] for fsid, place in places(planned).items() if fsid in mine)
    raw["hosts"]["node1"]["ceph_disks"] = [
        disk for disk in raw["hosts"]["node1"]["ceph_disks"] if disk["id"] != data[0]
    ]
    raw, new = losing.plugged(raw, "node1", lost)
    answer = peek(raw, ASKED, stored=planned)
    assert [place[1] for place in places(answer).values()].count(new) == 4


def test_the_same_input_gives_the_same_bytes(planned, deployed, lost):
    raw, _ = losing.plugged(losing.given_up(deployed, "node1", lost["id"], {lost["id"]: "ssd"}), "node1", lost)
    other = copy.deepcopy(raw)
    other["hosts"]["node1"]["ceph_disks"].reverse()
    other["hosts"]["node1"]["waiting"] = dict(reversed(other["hosts"]["node1"]["waiting"].items()))
    made = [plan.peek(each, arguments.parse(ASKED.split()), planned) for each in (raw, other)]
    assert len({fragments.stored(one, one.as_dict(), {}, {}) for one in made}) == 1


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "{{ 7 }}"},
        {"id": True},
        {"data": "/dev/../etc"},
        {"db": 5},
        {"db": None},
        {"db_size": -1},
        {"class": "tape"},
        None,
    ],
)
def test_what_a_host_says_of_them_is_checked(planned, deployed, lost, entry):
    raw = losing.given_up(deployed, "node1", lost["id"], {})
    fsid, place = next(iter(raw["hosts"]["node1"]["waiting"].items()))
    raw["hosts"]["node1"]["waiting"][fsid] = {**place, **entry} if entry else entry
    with pytest.raises(ProposalError, match="node1: an OSD that waits for a device is not understood"):
        peek(raw, ASKED)


def test_sizes_are_those_that_they_had(planned, deployed, lost):
    raw, new = losing.plugged(
        losing.given_up(deployed, "node1", lost["id"], {}), "node1", {**lost, "size": 1600321314816}
    )
    answer = peek(raw, "ratio=4", stored=planned)
    assert {place[3] for place in places(answer).values() if place[1] == new} == {100 * GIB}


def test_osds_that_move_do_not_take_the_places(deployed, planned, lost):
    """Two hard disks run without a DB; the new SSD has slots for those that wait alone."""
    raw = losing.given_up(deployed, "node1", lost["id"], {lost["id"]: "ssd"})
    raw, new = losing.plugged(raw, "node1", {**lost, "size": 430 * GIB})
    bare = peek(raw, "standalone=true leftovers=true")
    alone = [osd for osd in bare["hosts"]["node1"]["osds"] if osd["db"] is None]
    assert len(alone) == 2
    for osd in alone:
        (disk,) = (disk for disk in raw["hosts"]["node1"]["ceph_disks"] if disk["id"] == osd["data"])
        part = {"id": 90 + alone.index(osd), "fsid": osd["uuid"], "role": "data", "size": disk["size"], "offset": 0}
        disk["osds"] = [{**part, "cluster": FSID, "state": "in-use"}]
    for words in (f"{ASKED} migrate=true", "db-size=100g ratio=9 migrate=true"):
        answer = peek(raw, words, stored=planned)
        assert moved(planned, lost["id"], new).items() <= places(answer).items(), words
        moves = [osd["moves"]["db"]["to"] for osd in answer["hosts"]["node1"]["osds"] if osd.get("moves")]
        assert new not in moves
    assert len(moves) == 2  # beside those that wait there is room for them, on the other SSD
