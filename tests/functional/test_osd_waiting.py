"""What a host keeps of OSDs whose DB or WAL device died, who gets it, and what the cluster says is at risk."""

import pytest
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

from proposals.inventory import inventory_join

FSIDS = [f"6b0c8f3e-0000-4000-8000-00000000000{number}" for number in range(4)]
DISKS = [f"/dev/disk/by-id/wwn-0x{number}" for number in range(4)]
DB = "/dev/disk/by-id/wwn-0xf"


def place(osd_id, data=DISKS[0]):
    return {"id": osd_id, "data": data, "db": DB, "db_size": 1 << 30, "wal": None, "wal_size": None, "class": "ssd"}


@pytest.fixture
def kept(python_module, tmp_path):
    """The module that keeps places, in a folder of its own."""
    module = python_module("osd_waiting")
    with LoaderModuleMock({module: {"FOLDER": tmp_path / "waiting"}}):
        yield module


def test_what_is_kept_is_told_until_it_is_released(kept):
    assert kept.kept() == {}
    for number in (0, 1, 10):
        kept.keep(FSIDS[number % 4], place(number))
    assert kept.kept() == {FSIDS[0]: place(0), FSIDS[1]: place(1), FSIDS[2]: place(10)}
    kept.keep(FSIDS[1], place(7))
    kept.release(1)
    kept.release(0)
    assert kept.kept() == {FSIDS[1]: place(7), FSIDS[2]: place(10)}


def test_an_osd_that_came_back_under_another_number_waits_no_more(kept):
    """Somebody purged its number meanwhile."""
    kept.keep(FSIDS[0], place(12))
    kept.release(3, FSIDS[0])
    assert kept.kept() == {}


def test_an_osd_that_got_a_purged_number_leaves_the_place_to_who_waits(kept):
    kept.keep(FSIDS[0], place(3, DISKS[0]))
    kept.release(3, FSIDS[1], DISKS[1])
    assert FSIDS[0] in kept.kept()
    kept.release(3, FSIDS[1], DISKS[0])  # the same disk's, planned anew
    assert kept.kept() == {}


def test_a_file_that_is_none_of_ours_is_named(kept):
    kept.keep(FSIDS[0], place(0))
    (kept.FOLDER / FSIDS[0]).write_text("{")
    with pytest.raises(CommandExecutionError, match=f"{FSIDS[0]} is not JSON .*: move it away"):
        kept.kept()


@pytest.fixture
def register(python_module, kept):
    """A function: which OSD of these takes which number, on a host with these destroyed ones."""
    module = python_module("osd_register")

    def waiting(destroyed, *osds, used=()):
        nodes = [{"id": number, "type": "osd", "device_class": cls} for number, cls in destroyed.items()]
        tree = {"nodes": [{"id": -1, "type": "host", "name": "node1", "children": list(destroyed)}, *nodes]}
        answers = {"tree": tree, "dump": {"osds": [{"uuid": fsid} for fsid in used]}}
        asks = {"osd_waiting.kept": kept.kept}
        mocks = {"_asked": lambda words: answers[words[1]], "__salt__": asks}
        with LoaderModuleMock({module: {**mocks, "__grains__": {"host": "node1"}}}):
            todo = [{"fsid": FSIDS[at], "class": cls, "parts": {"data": {"disk": DISKS[at]}}} for at, cls in osds]
            return {FSIDS.index(fsid): number for fsid, number in module.waiting(todo).items()}

    return waiting


HDDS = [(at, "hdd") for at in range(4)]


def test_without_any_that_waits_the_lowest_number_of_the_class_is_taken(register):
    assert register({5: "hdd", 3: "ssd", 4: "hdd"}, *HDDS) == {0: 4, 1: 5}
    assert register({5: "hdd"}, *HDDS, used=FSIDS[:1]) == {1: 5}


def test_each_gets_the_number_that_it_had(register, kept):
    for at, number in ((2, 4), (0, 9), (1, 6)):
        kept.keep(FSIDS[at], place(number, DISKS[at]))
    destroyed = dict.fromkeys((4, 6, 9), "hdd")
    assert register(destroyed, *HDDS[:3]) == {0: 9, 1: 6, 2: 4}
    assert register(destroyed, *HDDS[2:]) == {2: 4}  # the fourth disk is new: it takes nobody's number
    assert register({**destroyed, 7: "hdd"}, *HDDS[2:]) == {2: 4, 3: 7}


def test_an_osd_of_another_fsid_on_the_same_disk_gets_it_too(register, kept):
    """As of one that others made: the planner gives it an fsid of its own."""
    kept.keep("aaaaaaaa-0000-4000-8000-000000000000", place(8, DISKS[1]))
    assert register({8: "hdd", 2: "hdd"}, *HDDS[:2]) == {1: 8, 0: 2}


def test_a_number_that_the_cluster_has_no_more_is_not_waited_for(register, kept):
    kept.keep(FSIDS[0], place(8))
    assert register({2: "hdd"}, *HDDS[:1]) == {0: 2}


@pytest.mark.parametrize(("turns", "cls"), [("1", "hdd"), ("0", "ssd")])
def test_a_disk_whose_name_has_a_slash_is_of_a_class(python_module, tmp_path, turns, cls):
    """The kernel writes it with an exclamation mark in sysfs."""
    (tmp_path / "etherd!e0.0/queue").mkdir(parents=True)
    (tmp_path / "etherd!e0.0/queue/rotational").write_text(turns)
    module = python_module("osd_register")
    with LoaderModuleMock({module: {"BLOCK": tmp_path}}):
        assert module._class({"parts": {"data": {"disk": "/dev/etherd/e0.0"}}}) == cls


@pytest.fixture
def retire(python_module, kept, tmp_path):
    """The module that frees slots, on a host with OSD 3, a disk that cannot be read and one that can."""
    module = python_module("osd_retire")
    (tmp_path / "records").mkdir()
    (tmp_path / "records/3").write_text(f"fsid {FSIDS[3]}\nblock x\n")
    part = {"name": FSIDS[3], "number": 2}
    read, removed = [], []
    asks = {
        "disks_lvm.groups": dict,
        "osd_record.read": lambda: {FSIDS[3]: {"id": 3}} if (tmp_path / "records/3").exists() else {},
        "osd_record.vacate": python_module("osd_record").vacate,
        "osd_register.known": lambda fsid: False,
        "disks_kernel.in_use": lambda: {"/dev/sda": [], "/dev/sdb": []},
        "osd_guard.gone": lambda disk: "cannot be read" if disk == "/dev/sda" else None,
        "disks.partitions": lambda disk: read.append(disk) or {"partitions": [part]},
        "osd_names.ours": lambda part: True,
        "osd_names.role": lambda part: "db",
        "osd_raw_parts.remove": lambda disk, numbers: removed.append((disk, numbers)),
        "osd_lvm_parts.remove": lambda fsid: [],
        **{f"osd_waiting.{name}": getattr(kept, name) for name in ("keep", "kept", "release")},
    }
    mocks = {"__salt__": asks, "RECORDS": tmp_path / "records", "DATA_DIR": tmp_path, "_run": lambda command: None}
    with LoaderModuleMock({module: mocks}):
        yield module, asks, read, removed


def test_a_place_is_kept_and_the_slots_of_what_can_be_read_are_freed(retire, kept):
    module, _, read, removed = retire
    assert module.numbers(FSIDS) == {FSIDS[3]: 3}
    assert module.free(3, place(3)) == {"freed": ["partition 2 of /dev/sdb"]}
    assert (read, removed) == (["/dev/sdb"], [("/dev/sdb", [2])])
    assert kept.kept() == {FSIDS[3]: place(3)} and module.numbers(FSIDS) == {FSIDS[3]: 3}
    assert module.free(3, {**place(3), "db": "/dev/other"}) == {"freed": []}  # again: what was kept stays
    assert kept.kept() == {FSIDS[3]: place(3)}
    assert module.free(3) == {"freed": []} and kept.kept() == {}  # osd.replace 3 gives it up


def test_a_place_is_not_kept_while_the_cluster_has_the_osd(retire, kept):
    module, asks, _, _ = retire
    asks["osd_register.known"] = lambda fsid: True
    with pytest.raises(CommandExecutionError, match="the cluster still has osd.3"):
        module.free(3, place(3))
    assert kept.kept() == {}


def test_volumes_of_a_disk_that_cannot_be_read_stay(python_module):
    module = python_module("osd_lvm_parts")
    volumes = [{"slot": "db", "uuid": "u", "path": "/dev/vg/db", "name": "db"}]
    groups = {disk: {"group": f"vg-{disk}", "volumes": volumes} for disk in ("/dev/sda", "/dev/sdb")}
    asks = {
        "osd_names.slots": lambda fsid, role: [role, f"{role} of another place"],
        "disks_lvm.groups": lambda: groups,
        "osd_guard.gone": lambda disk: "cannot be read" if disk == "/dev/sda" else None,
    }
    with LoaderModuleMock({module: {"__salt__": asks, "_run": lambda command: None}}):
        assert module.remove(FSIDS[0]) == ["volume vg-/dev/sdb/db"]


def test_no_slot_is_made_twice(python_module, tmp_path):
    """The device that died is still in the host: the kernel would find the wrong one of two equal names."""
    module = python_module("osd_raw_parts")
    (tmp_path / "slot").touch()
    slot, ran = (FSIDS[0], "db", {"partuuid": "slot", "size": 1 << 30, "disk": "/dev/sdy"}), []
    asks = {"disks.partitions": lambda disk: None, "disks_kernel.holder": lambda slot: "/dev/sdx"}
    with LoaderModuleMock({module: {"__salt__": asks, "SLOTS": tmp_path, "_run": ran.append}}):
        osd = {"fsid": FSIDS[0], "parts": {"db": slot[2]}}
        with pytest.raises(CommandExecutionError, match="lies on /dev/sdx already: take /dev/sdx out of this host"):
            module.make([osd])
        assert ran == []
        module._alone("/dev/sdx", [slot])
        module._alone("/dev/sdy", [(*slot[:2], {"partuuid": "none"})])


def test_a_slot_that_goes_waits_until_the_disks_others_are_there_again(python_module, tmp_path, monkeypatch):
    """The kernel reads the table anew: what asked next found no other slot of the disk."""
    module, looks = python_module("osd_raw_parts"), []
    (tmp_path / "sdx").write_bytes(b"x" * 8192)
    disk = str(tmp_path / "sdx")
    parts = [{"number": number, "uuid": f"slot{number}", "start": 0} for number in (1, 2)]
    asks = {"disks.partitions": lambda disk: {"partitions": parts}}
    monkeypatch.setattr(module, "_hold", lambda name, held: looks.append(name) or len(looks) > 2)
    with LoaderModuleMock({module: {"__salt__": asks, "_run": lambda command, ok=(): None, "PAUSE": 0}}):
        assert module.remove(disk, [1]) is True
    assert set(looks) == {"slot2"} and len(looks) > 2
    assert (tmp_path / "sdx").read_bytes() == bytes(8192)


BRIEF = [
    {"pgid": "7.0", "state": "stale+active+clean", "up": [3], "acting": [3]},
    {"pgid": "7.1", "state": "down", "up": [0], "acting": [0]},
    {"pgid": "7.2", "state": "active+clean", "up": [0, 1], "acting": [0, 1]},
    {"pgid": "8.f", "state": "active+undersized", "up": [3, 0x7FFFFFFF, 1], "acting": [1, 0x7FFFFFFF]},
]


def test_the_groups_that_lie_on_osds_or_wait_for_them_are_told(python_module):
    answers = {
        "osd dump": {"pools": [{"pool": 7, "pool_name": "alone"}, {"pool": 8, "pool_name": "p"}]},
        "pg ls": {"pg_stats": [{"pgid": "7.1", "blocked_by": [3]}]},
        "pg dump": {"pg_stats": BRIEF},
    }
    module = python_module("cluster_osds")
    with LoaderModuleMock({module: {"__salt__": {"cluster_cli.ask": lambda words: answers[" ".join(words[:2])]}}}):
        assert module.at_risk([3, 4]) == [
            {"group": "7.0", "pool": "alone", "state": "stale+active+clean", "osds": [3], "waits_for": []},
            {"group": "7.1", "pool": "alone", "state": "down", "osds": [0], "waits_for": [3]},
            {"group": "8.f", "pool": "p", "state": "active+undersized", "osds": [1], "waits_for": []},
        ]
        assert module.at_risk([9]) == []


def test_discovery_hands_over_what_waits():
    looked = {"ceph_disks": [], "inspected": {}}
    assert "waiting" not in inventory_join.host({**looked, "waiting": {}}, [], "node1")
    assert "waiting" not in inventory_join.host(looked, [], "node1")
    told = {FSIDS[0]: place(3)}
    assert inventory_join.host({**looked, "waiting": told}, [], "node1")["waiting"] == told
