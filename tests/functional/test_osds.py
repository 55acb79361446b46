"""What a host plans for its OSDs, and whether it finds room."""

import errno
import fcntl
import importlib.util
import os
import subprocess
import threading
from pathlib import Path

import pytest
import salt.exceptions
from hypothesis import given
from hypothesis import strategies as st
from saltfactories.utils.loader import LoaderModuleMock

from proposals.text.sizes import EXTENT

MIB, GIB = 1 << 20, 1 << 30
STATE = Path(__file__).parents[2] / "salt/_states/osd.py"
FSID = "5bd9f8f0-5f5e-4a0e-9a5e-000000000001"
UUIDS = [f"6b0c2b1e-0000-4000-8000-00000000000{number}" for number in range(4)]
DATA, FAST = "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4", "/dev/disk/by-id/wwn-0x500a0751e1b2c3d4"
HEAD = 16 * MIB  # what the planner keeps free of a device: tables, alignment, LVM's header


@pytest.fixture
def storage(with_pillar):
    """A function: the modules of a minion whose pillar has this storage."""
    return lambda **plan: with_pillar(fsid=FSID, ceph={"storage": plan})


def test_the_plan_of_several_osds_a_device(storage):
    osd = {"uuids": UUIDS[:2], "db": FAST, "db_size": 40 * GIB, "class": "nvme"}
    planned = storage(osds={DATA: osd}, disks={DATA: {"size": 1000204886016}}, method="raw")["osd.plan"]()
    assert [osd["fsid"] for osd in planned] == UUIDS[:2]
    assert {one["parts"]["data"]["size"] for one in planned} == {(1000204886016 - HEAD) // 2 // EXTENT * EXTENT}
    assert len({part["partuuid"] for one in planned for part in one["parts"].values()}) == 4
    assert [(one["method"], one["class"], one["parts"]["db"]["size"]) for one in planned] == [
        ("raw", "nvme", 40 * GIB)
    ] * 2


def test_one_osd_takes_its_whole_disk(storage):
    (osd,) = storage(osds={DATA: {"uuids": UUIDS[:1]}}, disks={DATA: {"size": 10**12}}, method="lvm")["osd.plan"]()
    assert osd["parts"] == {"data": {"disk": DATA, "size": None, "partuuid": osd["parts"]["data"]["partuuid"]}}
    assert osd["method"] == "lvm"


@pytest.mark.parametrize(
    "osd",
    [
        {"uuids": UUIDS[0]},
        {"uuids": ["../x"]},
        {"uuids": 5},
        {"uuids": UUIDS[:1], "db": FAST, "db_size": "40g"},
        {"uuids": UUIDS[:1], "db": FAST},
        {"uuids": UUIDS[:1], "wal": FAST, "wal_size": -5},
        None,
        "text",
    ],
)
def test_a_layout_that_is_none_is_one_message(storage, osd):
    with pytest.raises(salt.exceptions.CommandExecutionError, match=f"{DATA}: its OSDs are planned as .*policy.check"):
        storage(osds={DATA: osd}, disks={}, method="raw")["osd.plan"]()


@pytest.mark.parametrize(
    ("osd", "method", "words"),
    [
        ({"format": "filestore", "journal": FAST}, "raw", "only bluestore is made"),
        ({"encryption": "luks"}, "lvm", "expected dmcrypt or none"),
        ({"encryption": "dmcrypt"}, "raw", "dmcrypt, which needs LVM"),
    ],
)
def test_what_cannot_be_made_is_refused(storage, osd, method, words):
    modules = storage(osds={DATA: {"uuids": UUIDS[:1], **osd}}, disks={}, method=method)
    assert words in modules["osd_plan.problems"]()[DATA]
    assert words in modules["osd.check"]()[DATA]


def test_too_few_slots_for_the_kernels_aio_are_told(modules):
    osd = {"parts": {"data": {}, "db": {}, "wal": {}}}
    needs = modules["osd_plan.needs_aio"]
    needs([])
    limit = int(Path("/proc/sys/fs/aio-max-nr").read_text())
    with pytest.raises(salt.exceptions.CommandExecutionError, match=f"fs.aio-max-nr is {limit}, .*sysctl -w"):
        needs([osd] * (limit // 3072 + 1))


def test_an_unknown_way_is_refused(storage):
    with pytest.raises(salt.exceptions.CommandExecutionError, match="expected one of lvm, raw"):
        storage(osds={DATA: {"uuids": UUIDS[:1]}}, method="zfs")["osd.plan"]()


def test_the_planner_and_its_hosts_count_in_the_same_extents(python_module):
    assert {python_module(name).EXTENT for name in ("osd_plan", "osd_space")} == {EXTENT}


def test_names_tell_whose_they_are(storage):
    modules = storage()
    assert modules["osd_names.path"](FAST, UUIDS[0], "db") == f"/dev/ceph-wwn-0x500a0751e1b2c3d4/osd-db-{UUIDS[0]}"
    long = "/dev/disk/by-id/nvme-SAMSUNG_MZQL21T9HCJR-00A07_S64GNE0R123456:with=more than LVM takes_and-longer"
    mapped = modules["osd_names.path"](long, UUIDS[0], "data").removeprefix("/dev/").replace("-", "--")
    assert len(mapped) < 127  # device-mapper's limit
    assert modules["osd_names.group"](long) != modules["osd_names.group"](f"{long}2")
    cuts = [len(part) for part in modules["osd_names.pv_uuid"](DATA).split("-")]
    assert cuts == [6, 4, 4, 4, 4, 4, 6]


def parts(*sizes):
    return [("raw", {"size": size, "partuuid": str(number)}) for number, size in enumerate(sizes)]


@pytest.fixture(scope="module")
def room(modules):
    """What counts room, apart: Hypothesis asks arguments whether they are mocks; a loader would load all of Salt."""
    return {name: modules[name] for name in ("osd_guard.room", "osd_space.between_partitions", "osd_space.in_group")}


@pytest.mark.slow
@given(
    extents=st.lists(st.integers(1, 2000), min_size=1, max_size=20),
    more=st.integers(0, 3 * EXTENT).map(lambda n: n & -512),
)
def test_what_the_planner_fits_finds_room(room, extents, more):
    """Slots of whole extents that leave 16 MiB free fit, on partitions and on volumes."""
    sizes = [extent * EXTENT for extent in extents]
    device = sum(sizes) + HEAD + more
    for space in ("osd_space.between_partitions", "osd_space.in_group"):
        blocks = room[space](device, None)
        assert room["osd_guard.room"](blocks, parts(*sizes)) is None
        assert "has no room" in room["osd_guard.room"](blocks, parts(*sizes, HEAD + more))


def test_room_is_counted_between_partitions(modules):
    table = {"partitions": [{"start": MIB, "size": GIB}, {"start": 3 * GIB, "size": GIB}]}
    blocks = modules["osd_space.between_partitions"](6 * GIB, table)
    assert [round(length / GIB, 2) for _, length in blocks] == [0, 2, 2]
    assert modules["osd_guard.room"](blocks, parts(900 * MIB, 900 * MIB, 900 * MIB)) is None
    assert modules["osd_guard.room"](blocks, parts(3 * GIB)).startswith("has no room: 2.0 GiB in one piece")
    assert modules["osd_guard.room"](blocks, parts(3 * GIB), there={"0"}) is None


def test_a_part_gets_the_smallest_room_that_holds_it(modules):
    place = modules["osd_space.place"]
    free = [[MIB, 8 * GIB], [20 * GIB, 2 * GIB], [40 * GIB, 4 * GIB]]
    assert [place(free, 2 * GIB), place(free, 3 * GIB), place(free, None), place(free, None)] == [
        20 * GIB,
        40 * GIB,
        MIB,
        41 * GIB + 2 * GIB,
    ]
    assert place(free, MIB) is None


@pytest.fixture
def disk(tmp_path):
    """A function: a file that stands for a disk, of so many bytes."""

    def make(name, size=MIB):
        (tmp_path / name).write_bytes(bytes(size))
        return str(tmp_path / name)

    return make


@pytest.mark.slow
def test_a_disk_that_is_gone_takes_its_osds_along_and_no_others(storage, disk, tmp_path, monkeypatch):
    """Data or DB: the OSDs on it are left out, and it stands against nothing."""
    here, away = disk("here"), str(tmp_path / "away")
    osds = {
        here: {"uuids": UUIDS[:1]},
        away: {"uuids": UUIDS[1:2]},
        disk("third"): {"uuids": UUIDS[2:3], "db": away, "db_size": 40 * GIB},
    }
    modules = storage(osds=osds, disks={}, method="raw")
    monkeypatch.setitem(modules, "daemons.units", lambda _: {})  # this machine may have no systemd
    assert modules["osd.absent"]() == dict.fromkeys(UUIDS[1:3], f"{away} is not on this host")
    assert away not in modules["osd.check"]() and here in modules["osd.check"]()  # which has no size on record here
    assert list(modules["osd.dry_run"]()) == UUIDS[:1] and set(modules["osd.missing"]()) == set(UUIDS[:3])


def test_a_disk_whose_ends_cannot_be_read_is_gone_too(modules, disk, python_module, monkeypatch):
    gone = modules["osd_guard.gone"]
    path = disk("dying")
    assert gone(path) is None
    read, asked = os.preadv, []

    def dying(node, buffers, offset):
        asked.append(offset)
        if offset:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return read(node, buffers, offset)

    monkeypatch.setattr(python_module("osd_guard").os, "preadv", dying)
    assert gone(path) == f"{path} cannot be read (Input/output error)"
    assert MIB - 4096 in asked


@pytest.mark.slow
def test_a_disk_that_hangs_is_gone_too_and_holds_nobody_up(modules, python_module, monkeypatch, tmp_path):
    """A stage's look asks it of every host: over a device that queues for ever it never ended."""
    monkeypatch.setattr(python_module("osd_guard"), "LIMIT", 0.3)
    os.mkfifo(path := tmp_path / "hangs")  # whose opening waits for who writes
    asked = threading.Thread(target=lambda: told.append(modules["osd_guard.gone"](str(path))), daemon=True)
    told: list[str] = []
    asked.start()
    asked.join(10)
    os.close(os.open(path, os.O_RDWR))
    assert told == [f"{path} cannot be read (no answer within 0.3 s)"]


def test_a_dead_disk_that_the_kernel_lists_with_no_size_is_gone_too(modules, disk):
    path = disk("dead")
    os.truncate(path, 0)
    assert modules["osd_guard.gone"](path) == f"{path} cannot be read (it has no size)"


@pytest.mark.parametrize("method", ["raw", "lvm"])
def test_an_osd_whose_label_cannot_be_read_holds_back_no_other(python_module, monkeypatch, tmp_path, method):
    """Its disk dies, though its ends are read still: looks at the host broke off with a traceback."""
    osd, guard, begun = python_module("osd"), python_module("osd_guard"), []
    for name in "ab":
        (tmp_path / name).touch()
    todo = [{"fsid": name, "method": method, "parts": {"data": {"disk": name, "partuuid": name}}} for name in "ab"]

    def read(node):
        if node.endswith("a"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    asked = {
        "osd_plan.osds": lambda: [{**each, "moves": {}} for each in todo],
        "osd_guard.gone": lambda disk: None,
        "osd_guard.unread": guard.unread,
        "osd_names.path": lambda disk, *_: tmp_path / disk,
        "disks_label.read": read,
        "disks_lvm.groups": dict,
        "daemons.units": lambda _: {},
        f"osd_{method}.whole": lambda one, *_: begun.append(one["fsid"]) or True,
        f"osd_{method}.made": lambda one, *_: read(one["fsid"]) or 4,
        f"osd_{method}.parts": lambda *_: {},
    }
    monkeypatch.setattr(guard, "SLOTS", tmp_path)
    for module in (osd, guard):
        monkeypatch.setattr(module, "__salt__", asked)
    assert osd.absent() == {"a": "a cannot be read (Input/output error)"} and osd.missing() == ["a"]
    assert osd.deploy() == {"made": {}, "started": {}, "failed": {}} and set(begun) == {"b"}
    told = osd.report()["osds"]
    assert (told["a"]["id"], told["a"]["unread"]) == (None, "a cannot be read (Input/output error)")
    assert (told["b"]["id"], told["b"]["unread"]) == (4, None)
    asked |= {"osd_guard.gone": lambda disk: f"{disk} hangs" if disk == "a" else None}
    asked |= {"osd_guard.unread": lambda one: {"b": None}[one["fsid"]], f"osd_{method}.made": lambda one, *_: 4}
    assert osd.absent() == {"a": "a hangs"} and osd.report()["osds"]["a"]["unread"] == "a hangs"


def test_where_an_osd_lies_that_has_moved_is_planned_though_its_label_cannot_be_read(python_module, monkeypatch):
    module, record = python_module("osd_plan"), {"slots": {"data": "slot", "db": "second"}}

    def read(node):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(module, "__salt__", {"disks_label.read": read})
    monkeypatch.setattr(module, "BY_PARTUUID", Path("/dev"))
    parts = {"data": {"disk": DATA, "partuuid": "null"}, "db": {"disk": FAST, "partuuid": "first"}}
    osd = {"fsid": UUIDS[0], "parts": {role: dict(part) for role, part in parts.items()}, "moves": {}}
    module._as_it_lies(osd, record)
    assert osd["parts"] == parts


@pytest.mark.slow
def test_a_foreign_disk_stops_although_another_is_gone(storage, loaders, disk, tmp_path):
    """The state's word: what is gone is told and no failure; what is there and not as recorded is one."""
    here, away = disk("here"), str(tmp_path / "away")

    def usable(**osds):
        storage(osds=osds, disks={}, method="raw")
        return loaders.states["osd.usable"](name="disks")

    good = usable(**{away: {"uuids": UUIDS[:1]}})
    assert (good.result, good.changes) == (True, {})
    assert f"left out: OSD {UUIDS[0]}: {away} is not on this host" in good.comment
    bad = usable(**{away: {"uuids": UUIDS[:1]}, here: {"uuids": UUIDS[1:2]}})
    assert bad.result is False and here in bad.comment and away not in bad.comment


def test_an_osd_that_is_left_out_needs_no_room_beside_its_slot(python_module, monkeypatch, room):
    """Its DB has moved, so its slot there has its second name, and its data disk, which alone says so, is gone."""
    osd, guard, names = python_module("osd"), python_module("osd_guard"), ["second", "other"]
    table = {"guid": "ours", "partitions": [{"start": MIB, "size": 40 * GIB, "uuid": name} for name in names]}
    table["partitions"][1]["start"] += 40 * GIB
    size = 80 * GIB + 2 * MIB
    todo = [
        {"fsid": fsid, "method": "raw", "parts": {"data": {"disk": data}, "db": {"disk": "fast", "partuuid": slot}}}
        for fsid, data, slot in (("a", "gone", "first"), ("b", "here", "other"))
    ]
    for each in todo:
        each["parts"]["db"]["size"], each["parts"]["data"]["size"] = 40 * GIB, None
        each["parts"]["data"]["partuuid"] = each["fsid"]
    asked = {
        **room,
        "osd_plan.problems": dict,
        "osd_guard.problem": guard.problem,
        "disks_kernel.in_use": dict,
        "disks_kernel.identity": lambda disk: {"size": size, "serial": "S"},
        "disks.partitions": lambda disk: {**table, "partitions": []} if disk == "here" else table,
        "osd_names.table_guid": lambda disk: "ours",
        "osd_names.ours": lambda part: True,
        "osd_space.place": python_module("osd_space").place,
    }
    for module in (osd, guard):
        monkeypatch.setattr(module, "__salt__", asked)
    recorded = dict.fromkeys(("here", "fast"), {"size": size, "serial": "S"})
    monkeypatch.setattr(osd, "__pillar__", {"ceph": {"storage": {"disks": recorded}}})
    monkeypatch.setattr(guard.Path, "exists", lambda path: True)
    assert osd._problems(todo, {"gone": "gone is not on this host"}) == {}
    assert "has no room: 0.0 GiB" in osd._problems(todo, {})["fast"]


def test_a_disk_that_comes_and_goes_is_never_used_without_the_guard(storage, disk, monkeypatch, python_module):
    """It is there when deploy begins, cannot be read when the guards look, and is there again: nothing is written."""
    here, looked, written = disk("here"), [], []
    modules = storage(osds={here: {"uuids": UUIDS[:1]}}, disks={}, method="raw")
    monkeypatch.setitem(modules, "daemons.units", lambda _: {})  # this machine may have no systemd
    answers = iter([None, f"{here} cannot be read (Input/output error)", None])
    osd = python_module("osd")
    asked = {name: modules[name] for name in ("osd_plan.osds", "osd_plan.problems", "osd_raw.whole", "daemons.units")}
    asked |= {
        "osd_guard.gone": lambda _: next(answers),
        "osd_guard.unread": lambda _: None,
        "osd_guard.problem": lambda disk, *_: looked.append(disk) or "holds ext4",
        "disks_kernel.in_use": dict,
        "osd_raw_parts.make": lambda osds: written.append(osds) or [],
    }
    mocked = LoaderModuleMock({osd: {"__salt__": asked, "__pillar__": {"ceph": {"storage": {}}}}})
    with mocked, pytest.raises(salt.exceptions.CommandExecutionError, match="holds ext4"):
        osd.deploy()
    assert (looked, written) == ([here], [])


@pytest.mark.parametrize(
    "nodes, begin", [(["/dev/sda1"], b""), ([], bytes(512) + b"EFI PART"), ([], bytes(4096) + b"EFI PART")]
)
def test_a_table_that_could_not_be_read_is_not_cleared(python_module, monkeypatch, disk, nodes, begin):
    """blkid ends alike for no table and for a failed read: the kernel's partitions, or the header, say otherwise."""
    module, written, path = python_module("osd_raw_parts"), [], disk("shared")
    Path(path).write_bytes(begin + bytes(MIB))
    monkeypatch.setattr(
        module,
        "__salt__",
        {
            "disks.partitions": lambda _: None,
            "disks_kernel.partition_nodes": lambda _: nodes,
            "osd_names.table_guid": lambda _: "guid",
        },
    )
    monkeypatch.setattr(module, "_alone", lambda *_: None)
    monkeypatch.setattr(module, "_run", lambda command, **_: written.append(command))
    osd = {"fsid": UUIDS[0], "parts": {"db": {"disk": path, "partuuid": "1", "size": MIB}}}
    with pytest.raises(salt.exceptions.CommandExecutionError, match="has partitions, and its table could not be read"):
        module.make([osd])
    Path(path).unlink()
    with pytest.raises(salt.exceptions.CommandExecutionError, match="cannot be read"):
        module.make([osd])
    assert written == []


@pytest.mark.parametrize("held, holds", [("cannot be opened alone: busy", []), (None, ["xfs"])])
def test_a_disk_that_was_taken_since_the_guard_looked_is_not_cleared(python_module, monkeypatch, disk, held, holds):
    """Deploy looks, then asks the monitors, for two minutes where they are slow, then writes the table."""
    module, written, path = python_module("osd_raw_parts"), [], disk("taken")
    asked = {
        "disks.partitions": lambda _: None,
        "disks.signatures": lambda _: holds,
        "disks_kernel.held": lambda _: held,
        "disks_kernel.partition_nodes": lambda _: [],
        "disks_kernel.identity": lambda _: {"size": 100 * MIB},
        "osd_names.partition_type": lambda role: role,
        "osd_names.table_guid": lambda _: "guid",
        "osd_space.between_partitions": python_module("osd_space").between_partitions,
        "osd_space.place": python_module("osd_space").place,
    }
    monkeypatch.setattr(module, "__salt__", asked)
    monkeypatch.setattr(module, "_run", lambda command, **_: written.append(command))
    part = {"disk": path, "partuuid": "1", "size": MIB}
    with pytest.raises(salt.exceptions.CommandExecutionError, match="nothing was written to it"):
        module._add(path, {"guid": None, "partitions": []}, [(UUIDS[0], "db", part)])
    assert written == []


@pytest.fixture
def added(python_module, monkeypatch, disk):
    """A function: the words that sgdisk gets for DBs of a size on a device of a size with these partitions."""
    module, space, path = python_module("osd_raw_parts"), python_module("osd_space"), disk("shared")

    def words(whole, table, size, osds):
        asked = {f"osd_space.{name}": getattr(space, name) for name in ("between_partitions", "place")}
        asked |= {"disks_kernel.identity": lambda _: {"size": whole}, "osd_names.partition_type": lambda role: role}
        written, part = [], {"disk": path, "partuuid": "2", "size": size}
        monkeypatch.setattr(module, "__salt__", asked)
        monkeypatch.setattr(module, "_run", lambda command, **_: written.extend(command))
        module._add(path, {"guid": "g", "partitions": table}, [(osd, "db", part) for osd in osds])
        return [word for word in written if word.startswith("--new")]

    return words


def test_slots_are_told_to_sgdisk_in_bytes(added):
    """Its sectors are those of the device: of 4 KiB each a slot lies eight times as far, and the second nowhere."""
    table = [{"number": 1, "start": MIB, "size": 30 * MIB}]
    assert added(100 * MIB, table, 40 * MIB, UUIDS[:1]) == [f"--new=2:{31 * 1024}K:+{40 * 1024}K"]


def test_numbers_of_partitions_that_went_are_given_again(added):
    """A table has 128: a DB device whose OSDs were replaced a hundred times took no more, with room on it."""
    table = [{"number": number, "start": number * 10 * MIB, "size": 10 * MIB} for number in (1, 3, 128)]
    new = added(10_000 * MIB, table, 10 * MIB, UUIDS[:2])
    assert [word.partition(":")[0] for word in new] == ["--new=2", "--new=4"]


@pytest.mark.parametrize("table", [None, {"guid": "g", "partitions": []}])
def test_nothing_is_taken_from_a_table_that_cannot_be_read(python_module, monkeypatch, disk, table):
    module, path = python_module("osd_raw_parts"), disk("db")
    Path(path).write_bytes(b"x" * MIB)
    monkeypatch.setattr(module, "__salt__", {"disks.partitions": lambda _: table})
    monkeypatch.setattr(module, "_run", lambda *words, **_: pytest.fail(f"ran {words}"))
    with pytest.raises(salt.exceptions.CommandExecutionError, match="nothing was taken away"):
        module.remove(path, [3])
    assert Path(path).read_bytes() == b"x" * MIB


def test_the_master_is_told_of_each_osd_that_is_through(python_module, monkeypatch):
    """In any order, made or failed: how many of how many, from none on."""
    osd, answers, told = python_module("osd"), {"a": 3, "b": "no space", "c": 4}, []
    asked = {
        "event.send": lambda tag, data: told.append((tag, data)),
        "osd_plan.needs_aio": lambda osds: None,
        "osd_register.waiting": lambda osds: {},
        "osd_register.new": lambda osds: {one["fsid"]: (5, "key") for one in osds},
        "osd_lvm_parts.make": lambda osds: [],
        "osd_lvm.made": lambda one, groups: None,
    }
    todo = [{"fsid": fsid, "method": "lvm", "parts": {}} for fsid in answers]
    found = {"plan": todo, "_problems": {}, "_gone": {}, "_groups": {}, "_todo": todo, "_left": {}}
    for name, answer in found.items():
        monkeypatch.setattr(osd, name, lambda *_, answer=answer: answer)
    monkeypatch.setattr(osd, "__salt__", asked)
    monkeypatch.setattr(osd, "_made_or_failed", lambda one: answers[one["fsid"]])
    assert osd.deploy() == {"made": {"a": 3, "c": 4}, "started": {}, "failed": {"b": "no space"}}
    assert {tag for tag, _ in told} == {"halocline/osd"} and told[0][1] == {"made": 0, "failed": 0, "of": 3}
    assert [data["made"] + data["failed"] for _, data in told] == [0, 1, 2, 3]
    assert told[-1][1] == {"made": 2, "failed": 1, "of": 3}


@pytest.mark.parametrize(
    ("made", "started", "would", "says"),
    [
        ({"a": 3}, {}, "1 OSD would be made", "1 OSD made"),
        ({}, {"b": 4}, "osd.4 would be started", "osd.4 started"),
        (
            {"a": 3, "c": 5},
            {"b": 4, "d": 6},
            "2 OSDs would be made; osd.4, osd.6 would be started",
            "2 OSDs made; osd.4, osd.6 started",
        ),
        (
            {},
            {str(number): number for number in range(9)},
            "9 OSDs would be started",
            "9 OSDs started",
        ),
    ],
)
def test_an_osd_that_is_started_is_not_called_made(python_module, made, started, would, says):
    python_module("osd")  # and with it halocline, which the state imports
    spec = importlib.util.spec_from_file_location("state", STATE)
    state = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(state)
    lines = dict.fromkeys(made, "make: data on /dev/sda (raw)")
    lines |= {fsid: f"start osd.{number}: data on /dev/sdb (raw)" for fsid, number in started.items()}
    done = {"made": made, "started": started, "failed": {}}
    asked = {"osd.dry_run": lambda: lines, "osd.deploy": lambda: done}
    for test, result, comment in ((True, None, would), (False, True, says)):
        with LoaderModuleMock({state: {"__salt__": asked, "__opts__": {"test": test}}}):
            answer = state.deployed("osds")
        assert (answer["result"], answer["comment"], len(answer["changes"])) == (result, comment, len(lines))


def test_an_osd_that_left_the_cluster_is_named_and_not_started(python_module, monkeypatch):
    """Its disk was not wiped, and policy.cfg names it again; one that is down is started, one without data made."""
    osd, begun = python_module("osd"), []
    todo = [{"fsid": fsid, "method": "raw", "parts": {"data": {"disk": f"/dev/{fsid}"}}} for fsid in "abc"]
    asked = {
        "event.send": lambda tag, data: None,
        "osd_plan.needs_aio": lambda osds: None,
        "osd_register.waiting": lambda osds: {},
        "osd_register.new": lambda osds: {one["fsid"]: (5, "key") for one in osds},
        "osd_register.unknown": lambda fsids: [fsid for fsid in fsids if fsid == "a"],
        "osd_raw_parts.make": lambda osds: begun.extend(one["fsid"] for one in osds) or [],
        "osd_raw.made": lambda one, groups: {"a": 3, "b": 4}.get(one["fsid"]),
        "osd_raw.lacks": lambda one, groups: [],
        "osd_raw.make": lambda one: one["new"][0] if one["new"] else {"b": 4}[one["fsid"]],
    }
    for name, answer in {"plan": todo, "_problems": {}, "_gone": {}, "_todo": todo}.items():
        monkeypatch.setattr(osd, name, lambda *_, answer=answer: answer)
    monkeypatch.setattr(osd, "__salt__", asked)
    monkeypatch.setattr(osd.halocline, "run", lambda words: None)
    done = osd.deploy()
    assert (done["made"], done["started"]) == ({"c": 5}, {"b": 4}) and begun == ["b", "c"]
    assert done["failed"].keys() == {"a"} and "osd.3 has left the cluster, and /dev/a holds it" in done["failed"]["a"]


def test_a_volume_that_another_disk_carries_is_not_made_once_more(python_module, monkeypatch):
    """The DB's device that died is back, when its OSD is made anew with another one."""
    module, ran, groups = python_module("osd_lvm_parts"), [], {"/dev/back": {"volumes": [{"slot": "s"}]}}
    names = {"osd_names.group": lambda disk: "g", "osd_names.pv_uuid": lambda disk: "u"}
    names["osd_names.volume"] = lambda *_: "v"
    monkeypatch.setattr(module, "__salt__", {**names, "disks_lvm.groups": lambda: groups})
    monkeypatch.setattr(module, "_forget_labels", lambda volume: ran.append(str(volume)))
    monkeypatch.setattr(module, "_run", lambda words: ran.append(words[0]))
    todo = [{"fsid": "a", "parts": {"db": {"disk": "/dev/new", "partuuid": "s", "size": 1}}}]
    with pytest.raises(salt.exceptions.CommandExecutionError, match="lies on /dev/back already: take /dev/back out"):
        module.make(todo)
    assert ran == []
    groups.clear()
    assert module.make(todo) == [] and ran == ["pvcreate", "vgcreate", "lvcreate", "/dev/g/v"]


def test_a_new_volume_has_no_copies_of_an_earlier_label(python_module, monkeypatch, tmp_path):
    """It lies where the last one lay, and LVM clears its beginning alone."""
    module, volume = python_module("osd_lvm_parts"), tmp_path / "g/v"
    names = {"osd_names.volume": lambda *_: "v", "disks_label.places": python_module("disks_label").places}
    monkeypatch.setattr(module, "__salt__", names)
    monkeypatch.setattr(module, "DEV", tmp_path)
    monkeypatch.setattr(module, "_run", lambda words: None)
    add = ("g", UUIDS[0], "data", {"partuuid": "s", "size": None})
    with pytest.raises(salt.exceptions.CommandExecutionError, match="g/v is new, and cannot be written to: No such"):
        module._add(*add)
    volume.parent.mkdir()
    with volume.open("wb") as node:
        for place in (0, GIB, 10 * GIB):
            node.seek(place)
            node.write(b"x" * 4096)
    module._add(*add)
    with volume.open("rb") as node:
        for place in (0, GIB, 10 * GIB):
            node.seek(place)
            assert node.read(4096) == bytes(4096)
    assert volume.stat().st_size == 10 * GIB + 4096


@pytest.mark.parametrize("method", ["raw", "lvm"])
def test_an_osd_that_is_made_gets_no_empty_db(python_module, monkeypatch, tmp_path, method):
    """Its DB's device is away, and another one is planned: it would not start, and two slots would have one name."""
    osd, way, begun, table = python_module("osd"), python_module(f"osd_{method}"), [], []
    parts = {role: {"disk": f"/dev/{role}", "partuuid": role} for role in ("data", "db")}
    todo = [{"fsid": "a", "method": method, "parts": parts}]
    (tmp_path / "data").touch()
    groups = {"/dev/data": {"volumes": [{"slot": "data"}]}}
    asked = {
        "disks.partitions": lambda disk: {"partitions": table} if disk == "/dev/db" else None,
        "event.send": lambda tag, data: None,
        "osd_plan.needs_aio": lambda osds: None,
        "osd_register.waiting": lambda osds: {},
        "osd_register.new": lambda osds: {},
        "osd_register.unknown": lambda fsids: [],
        f"osd_{method}_parts.make": lambda osds: begun.extend(one["fsid"] for one in osds) or [],
        f"osd_{method}.made": lambda one, groups: 3,
        f"osd_{method}.lacks": way.lacks,
        f"osd_{method}.make": lambda one: 3,
    }
    for name, answer in {"plan": todo, "_problems": {}, "_gone": {}, "_todo": todo, "_groups": groups}.items():
        monkeypatch.setattr(osd, name, lambda *_, answer=answer: answer)
    monkeypatch.setattr(way, "_node", lambda part: tmp_path / part["partuuid"], raising=False)
    monkeypatch.setattr(osd.halocline, "run", lambda words: None)
    for module in (osd, way):
        monkeypatch.setattr(module, "__salt__", asked)
    done = osd.deploy()
    assert done["started"] == {} and begun == []
    assert "osd.3 is made, and its db lies on no disk of this host where it is planned" in done["failed"]["a"]
    table.append({"uuid": "db"})  # in the table, and the kernel or udev is late
    groups["/dev/db"] = {"volumes": [{"slot": "db"}]}
    assert osd.deploy() == {"made": {}, "started": {"a": 3}, "failed": {}} and begun == ["a"]


@pytest.mark.parametrize("encrypted", ["0", "1"])
@pytest.mark.parametrize(
    ("marked", "known", "says"),
    [(False, False, "osd.3 has left the cluster with its key"), (False, True, "ran already"), (True, False, None)],
)
def test_a_closed_osd_that_left_the_cluster_keeps_its_volumes(
    python_module, monkeypatch, marked, known, says, encrypted
):
    """Encrypted, or not active. Only what an interrupted run began, and no cluster knows, is taken back."""
    module, ran = python_module("osd_lvm"), []
    tags = {"ceph.osd_fsid": "a", "ceph.osd_id": "3", "ceph.encrypted": encrypted}
    volume = {"slot": "s", "tags": tags, "uuid": "u", "path": "/dev/vg/lv", "size": 1}

    def forget(fsid):
        if known:
            raise salt.exceptions.CommandExecutionError("osd.3 ran already")

    asked = {
        "osd_record.settled": lambda fsid: None,
        "disks_lvm.groups": lambda: {"/dev/sdx": {"volumes": [volume]}},
        "osd_register.marked": lambda fsid: marked,
        "osd_register.begin": lambda fsid: None,
        "osd_register.known": lambda fsid: known,
        "osd_register.forget": forget,
        "osd_lvm_parts.close": lambda volume: None,
        "osd_lvm_parts.make": lambda osds: [],
        "osd_names.path": lambda *_: "/dev/vg/lv",
        "disks_label.read": lambda node: None,
    }

    def run(words, **_):
        ran.append(words)
        if "activate" in words:
            raise salt.exceptions.CommandExecutionError("no key")

    monkeypatch.setattr(module, "__salt__", asked)
    monkeypatch.setattr(module.halocline, "run", run)
    osd = {"fsid": "a", "parts": {"data": {"partuuid": "s", "disk": "/dev/sdx"}}, "dmcrypt": True, "class": None}
    with pytest.raises(salt.exceptions.CommandExecutionError, match=says or "has no whole label"):
        module.make(osd)
    assert any("lvremove" in words for words in ran) is (says is None)
    # By a number that it lost: ceph-volume takes the links out of the folder of the OSD that has it by now.
    assert any("activate" in words for words in ran) is (known and encrypted == "1")


@pytest.mark.parametrize("killed", [False, True], ids=["never marked", "killed once it ran"])
def test_a_closed_osd_that_ran_keeps_its_volumes_when_it_is_purged_after_the_refusal(
    python_module, monkeypatch, tmp_path, killed
):
    """The refusal itself says how to purge it: what was tried before is no sign that it was never whole."""
    module, register, cluster = python_module("osd_lvm"), python_module("osd_register"), []
    tags = {"ceph.osd_fsid": "a", "ceph.osd_id": "3"}
    volume = {"slot": "s", "tags": tags, "uuid": "u", "path": "/dev/vg/lv", "size": 1}
    monkeypatch.setattr(register, "KEYS", tmp_path / "new")
    monkeypatch.setattr(register, "_dump", lambda: cluster)
    asked = {f"osd_register.{name}": getattr(register, name) for name in ("marked", "known", "begin", "forget")}
    asked |= {"osd_record.settled": lambda fsid: None, "disks_label.read": lambda node: None}
    monkeypatch.setattr(module, "__salt__", {**asked, "disks_lvm.groups": lambda: {"/dev/sdx": {"volumes": [volume]}}})
    monkeypatch.setattr(module.halocline, "run", lambda words, **_: pytest.fail(f"{words} ran"))
    osd = {"fsid": "a", "parts": {"data": {"partuuid": "s", "disk": "/dev/sdx"}}, "dmcrypt": False, "class": None}
    if killed:
        register.begin("a")
    for state, says in (([{"osd": 3, "uuid": "a", "state": ["exists"]}], "osd.3 ran already"), ([], "has left the")):
        cluster[:] = state
        with pytest.raises(salt.exceptions.CommandExecutionError, match=says):
            module.make(osd)


@pytest.mark.parametrize("known", [True, False], ids=["registered", "forgotten when it was killed"])
def test_a_number_is_given_up_only_when_its_folder_is_free(python_module, monkeypatch, tmp_path, known):
    """OSDs are made side by side: one of them may have the number at once, and its folder, too."""
    module, register, record = (python_module(f"osd_{name}") for name in ("lvm", "register", "record"))
    cluster, ran, mounted = [{"osd": 3, "uuid": "a", "state": ["exists", "new"]}] * known, [], ["mount"]
    (tmp_path / "ceph-3").mkdir()
    volume = {"slot": "s", "tags": {"ceph.osd_fsid": "a", "ceph.osd_id": "3"}, "uuid": "u", "path": "/dev/vg/lv"}
    monkeypatch.setattr(register, "DATA_DIR", tmp_path)
    monkeypatch.setattr(register, "KEYS", tmp_path / "new")
    monkeypatch.setattr(register, "_dump", lambda: cluster)
    monkeypatch.setattr(Path, "is_mount", lambda path: path == tmp_path / "ceph-3" and bool(mounted))

    def run(words, **_):
        ran.append(next(word for word in words if word in ("umount", "purge-new", "lvremove", "prepare")))
        if "umount" in words:
            mounted.pop()
        if "prepare" in words:
            raise InterruptedError

    asked = {f"osd_register.{name}": getattr(register, name) for name in ("marked", "known", "begin", "forget")}
    asked |= {
        "osd_record.settled": lambda fsid: None,
        "osd_record.vacate": record.vacate,
        "disks_label.read": lambda node: None,
        "disks_lvm.groups": lambda: {"/dev/sdx": {"volumes": [volume]}},
        "osd_lvm_parts.close": lambda volume: None,
        "osd_lvm_parts.make": lambda osds: [],
        "osd_names.path": lambda *_: "/dev/vg/lv",
    }
    for each in (module, register):
        monkeypatch.setattr(each, "__salt__", asked)
    for each in (module, register, record):
        monkeypatch.setattr(each.halocline, "run", run)
    osd = {"fsid": "a", "parts": {"data": {"partuuid": "s", "disk": "/dev/sdx"}}, "dmcrypt": False, "class": None}
    register.begin("a")
    with pytest.raises(InterruptedError):
        module.make(osd)
    assert ran == [*["umount", "purge-new"] * known, "lvremove", "prepare"]


@pytest.fixture
def moved(storage, python_module, monkeypatch, tmp_path):
    """A function: the plan of an OSD whose DB is planned on ``old``, to move to ``new``, and whose record says so."""
    plan, names = python_module("osd_plan"), storage()
    (tmp_path / "by").mkdir()
    monkeypatch.setattr(plan, "BY_PARTUUID", tmp_path / "by")
    for name in ("old", "new"):
        (tmp_path / name).touch()

    def make(slots, holder=None, ready=True, moves=True):
        osd = {"uuids": UUIDS[:1], "db": str(tmp_path / "old"), "db_size": 2 * GIB}
        osd |= {"moves": {"db": {"to": str(tmp_path / "new"), "size": 4 * GIB}}} if moves else {}
        lies = {role: names["osd_names.slots"](UUIDS[0], role)[which] for role, which in slots.items()}
        data = names["osd_names.partuuid"](UUIDS[0], "data")
        for name in [data, *(lies.values() if holder else ())]:
            (tmp_path / "by" / name).touch()
        asks = {
            **{name: names[name] for name in ("osd_names.partuuid", "osd_names.slots", "osd_names.path")},
            "osd_record.read": lambda: {UUIDS[0]: {"id": 3, "slots": {"data": data, **lies}, "moving": None}},
            "disks_label.read": lambda node: {"fsid": UUIDS[0], "role": "data", "id": 3, "ready": ready},
            "disks_kernel.holder": lambda node: str(tmp_path / holder),
        }
        pillar = {"ceph": {"storage": {"osds": {DATA: osd}, "method": "raw"}}}
        with LoaderModuleMock({plan: {"__salt__": asks, "__pillar__": pillar}}):
            (planned,) = plan.osds()
        return planned, lies

    return make


def test_an_osd_lies_where_its_record_says_whatever_is_planned(moved, tmp_path):
    old, new = {"disk": str(tmp_path / "old"), "size": 2 * GIB}, {"disk": str(tmp_path / "new"), "size": 4 * GIB}
    planned, names = moved({"db": 0}, "old")
    assert planned["parts"]["db"] == {**old, "partuuid": names["db"]} and planned["moves"] == {"db": new}
    planned, names = moved({"db": 1}, "new")
    assert planned["parts"]["db"] == {**new, "partuuid": names["db"]}
    planned, names = moved({"db": 0}, "new")  # moved twice: the first name again, on the other disk
    assert planned["parts"]["db"] == {**new, "partuuid": names["db"]}
    planned, _ = moved({})  # back on the data disk
    assert planned["parts"].keys() == {"data"}
    planned, names = moved({"db": 1}, "third", moves=False)  # the profile knows neither
    assert planned["parts"]["db"] == {"disk": str(tmp_path / "third"), "size": None, "partuuid": names["db"]}


@pytest.mark.parametrize(("which", "disk"), [(0, "old"), (1, "new"), (1, "old")])
def test_an_osd_on_logical_volumes_lies_where_their_tags_say(
    storage, python_module, monkeypatch, tmp_path, which, disk
):
    """Its DB is planned on ``old``, to move to ``new``; LVM is asked for the volumes of both."""
    plan, record, names, fsid = python_module("osd_plan"), python_module("osd_record"), storage(), UUIDS[0]
    monkeypatch.setattr(record, "RECORDS", tmp_path / "none")
    data, slots = names["osd_names.partuuid"](fsid, "data"), names["osd_names.slots"](fsid, "db")
    tags = {"ceph.osd_fsid": fsid, "ceph.osd_id": "3", "ceph.encrypted": "0"}
    groups = {str(tmp_path / each): {"volumes": []} for each in ("data", "old", "new")}

    def volume(on, role, slot, own):
        path = tmp_path / f"{on}-{names['osd_names.volume'](fsid, role, slot)}"
        path.touch()
        name = path.name.removeprefix(f"{on}-")
        groups[str(tmp_path / on)]["volumes"].append(
            {"name": name, "slot": slot, "path": str(path), "tags": tags if own else {}}
        )

    volume("data", "data", data, True)
    volume("old", "db", slots[0], (which, disk) == (0, "old"))
    if which:
        volume(disk, "db", slots[1], True)
    osd = {"uuids": [fsid], "db": str(tmp_path / "old"), "db_size": 2 * GIB}
    osd["moves"] = {"db": {"to": str(tmp_path / "new"), "size": 4 * GIB}}
    naming = {f"osd_names.{name}": names[f"osd_names.{name}"] for name in ("partuuid", "slots", "owner")}
    path = lambda on, *words: str(tmp_path / f"{Path(on).name}-{names['osd_names.volume'](*words)}")  # noqa: E731
    asks = {
        **naming,
        "osd_names.path": path,
        "osd_record.lies": record.lies,
        "disks_lvm.groups": lambda: groups,
        "disks_label.read": lambda node: {"fsid": fsid, "ready": True},
    }
    pillar = {"ceph": {"storage": {"osds": {str(tmp_path / "data"): osd}}}}
    mocks = {plan: {"__salt__": asks, "__pillar__": pillar}, record: {"__salt__": asks}}
    for each in ("data", "old", "new"):
        (tmp_path / each).touch()
    with LoaderModuleMock(mocks):
        (planned,) = plan.osds()
    assert planned["method"] == "lvm"
    assert (planned["parts"]["db"]["disk"], planned["parts"]["db"]["partuuid"]) == (str(tmp_path / disk), slots[which])


def test_an_osd_in_the_making_lies_where_it_is_planned(moved, tmp_path):
    planned, names = moved({}, ready=False)
    assert planned["parts"]["db"]["disk"] == str(tmp_path / "old")


def test_the_disk_that_went_with_a_db_that_has_moved_is_the_one_that_is_named(moved, tmp_path):
    (tmp_path / "new").unlink()
    planned, _ = moved({"db": 1})
    assert planned["parts"]["db"]["disk"] == str(tmp_path / "new")


def test_deploy_starts_no_osd_whose_db_is_between_two_places(storage, python_module, monkeypatch, tmp_path):
    monkeypatch.setattr(python_module("osd_record"), "RECORDS", tmp_path)
    modules = storage(osds={DATA: {"uuids": UUIDS[:1]}}, disks={}, method="raw")
    modules["osd_record.write"](3, UUIDS[0], {"data": "x", "db": "y"}, "db")
    assert modules["osd_record.read"]() == {UUIDS[0]: {"id": 3, "slots": {"data": "x", "db": "y"}, "moving": "db"}}
    assert modules["osd_retire.recorded"](4)["fsid"] is None
    (tmp_path / "3.bak").write_text((tmp_path / "3").read_text())  # somebody's copy
    assert [osd["fsid"] for osd in modules["osd_plan.osds"]()] == UUIDS[:1]
    with pytest.raises(salt.exceptions.CommandExecutionError, match=r"osd.3: its db is being moved: 'salt-run osd.mi"):
        modules["osd_raw.make"](modules["osd_plan.osds"]()[0])


def test_both_volumes_of_a_part_are_ours_and_no_other(storage):
    names = storage()
    first, second = names["osd_names.slots"](UUIDS[0], "db")
    usual, other = (names["osd_names.volume"](UUIDS[0], "db", slot) for slot in (first, second))
    assert usual == names["osd_names.volume"](UUIDS[0], "db") and other == f"{usual}-2"
    owners = [names["osd_names.owner"](name, slot) for name in (usual, other) for slot in (first, second)]
    assert owners == [("db", UUIDS[0]), None, None, ("db", UUIDS[0])]


def test_no_slot_is_cleared_or_taken_away_that_one_of_cephs_programs_has(python_module, monkeypatch, tmp_path):
    """Whatever a record or a label says of it."""
    disk, slot = tmp_path / "sdc", tmp_path / "by-partuuid" / UUIDS[0]
    slot.parent.mkdir()
    for path in (disk, slot):
        path.write_bytes(b"bluestore block device\n" * 1000)
    before = disk.read_bytes(), slot.read_bytes()
    part = {"number": 1, "uuid": UUIDS[0], "start": 0}
    raw, parts = python_module("osd_raw"), python_module("osd_raw_parts")
    monkeypatch.setattr(parts, "__salt__", {"disks.partitions": lambda disk: {"partitions": [part]}})
    monkeypatch.setattr(parts, "SLOTS", slot.parent)
    monkeypatch.setattr(parts, "_run", lambda *words, **named: pytest.fail(f"ran {words}"))
    monkeypatch.setattr(raw, "__salt__", {"disks_label.places": python_module("disks_label").places})
    with slot.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for touch in (lambda: raw._forget_label(slot), lambda: parts.remove(str(disk), [1])):
            with pytest.raises(salt.exceptions.CommandExecutionError, match="is in use"):
                touch()
        assert (disk.read_bytes(), slot.read_bytes()) == before
    raw._forget_label(slot)
    assert slot.read_bytes()[:4096] == bytes(4096) and len(slot.read_bytes()) == len(before[1])


def test_a_label_of_an_earlier_life_goes_with_its_copies(python_module, monkeypatch, tmp_path):
    """Newer releases read them where the first is gone."""
    raw, slot = python_module("osd_raw"), tmp_path / "slot"
    monkeypatch.setattr(raw, "__salt__", {"disks_label.places": python_module("disks_label").places})
    with slot.open("wb") as node:
        for place in (0, GIB, 10 * GIB):
            node.seek(place)
            node.write(b"x" * 4096)
    raw._forget_label(slot)
    with slot.open("rb") as node:
        for place in (0, GIB, 10 * GIB):
            node.seek(place)
            assert node.read(4096) == bytes(4096)
    assert slot.stat().st_size == 10 * GIB + 4096


@pytest.mark.parametrize("folder, refused", [(None, True), (UUIDS[1], True), ("", False), (UUIDS[0], False)])
def test_what_an_osd_that_had_the_number_before_left_is_not_written_over(
    python_module, monkeypatch, tmp_path, folder, refused
):
    """Its record alone says which slots of a shared device were its own."""
    raw, record = python_module("osd_raw"), python_module("osd_record")
    monkeypatch.setattr(record, "RECORDS", tmp_path)
    monkeypatch.setattr(raw, "DATA_DIR", tmp_path)
    asked = {f"osd_record.{name}": getattr(record, name) for name in ("read", "write", "settled")}
    monkeypatch.setattr(raw, "__salt__", asked)
    monkeypatch.setattr(raw, "_format", lambda *_: (_ for _ in ()).throw(InterruptedError))
    if folder is None:
        record.write(3, UUIDS[1], {"data": "x", "db": "y"})
    else:
        (tmp_path / "ceph-3").mkdir()
        (tmp_path / "ceph-3/fsid").write_text(folder)
    before = record.read()
    osd = {"fsid": UUIDS[0], "new": (3, "key"), "parts": {"data": {"partuuid": UUIDS[0], "disk": "/dev/sdb"}}}
    said = pytest.raises(salt.exceptions.CommandExecutionError, match=f"osd.3 was OSD {UUIDS[1]} here, whose place is")
    with said if refused else pytest.raises(InterruptedError):
        raw.make(osd)
    assert (record.read() == before) is refused


@pytest.mark.parametrize("taken, tries", [(0, 1), (1, 2), (9, 3)])
def test_a_part_that_udev_gives_back_to_root_is_formatted_once_more(python_module, monkeypatch, tmp_path, taken, tries):
    """It does so at each event of a device: on a busy host one from before may come last. Other failures stay one."""
    raw, owners, ran = python_module("osd_raw"), {}, []
    monkeypatch.setattr(raw, "DATA_DIR", tmp_path)
    monkeypatch.setattr(raw, "_node", lambda part: tmp_path / part["partuuid"])
    monkeypatch.setattr(raw.shutil, "chown", lambda path, user, group: owners.update({path: user}))
    monkeypatch.setattr(Path, "owner", lambda self: owners.get(self, "root"))
    monkeypatch.setattr(raw, "__salt__", {"disks_label.places": python_module("disks_label").places})
    osd = {"fsid": UUIDS[0], "parts": {role: {"partuuid": role} for role in ("data", "wal")}}
    for role in osd["parts"]:
        (tmp_path / role).write_bytes(b"")

    def mkfs(command):
        ran.append(command)
        (tmp_path / "ceph-3/fsid").write_text(UUIDS[0])
        if len(ran) <= taken:
            owners[tmp_path / "wal"] = "root"
        if taken == 0 or owners[tmp_path / "wal"] == "root":
            raise salt.exceptions.CommandExecutionError("mkfs failed, (13) Permission denied")

    monkeypatch.setattr(raw.halocline, "run", mkfs)
    if taken == 1:
        raw._format(3, osd, "key")
    else:
        with pytest.raises(salt.exceptions.CommandExecutionError, match="Permission denied"):
            raw._format(3, osd, "key")
    assert len(ran) == tries


def test_both_names_of_a_slot_are_ours_and_no_other(storage):
    names = storage()
    first, second = names["osd_names.slots"](UUIDS[0], "db")
    assert first == names["osd_names.partuuid"](UUIDS[0], "db") != second
    part = {"name": UUIDS[0], "type": names["osd_names.partition_type"]("db")}
    assert [names["osd_names.ours"]({**part, "uuid": uuid}) for uuid in (first, second, UUIDS[1])] == [
        True,
        True,
        False,
    ]


def test_nothing_starts_at_boot_that_is_between_two_places(tmp_path, checkout):
    """The script that a unit runs before its OSD, with its folders below another root."""
    text = (checkout / "salt/ceph/cluster/osd/files/osd-devices").read_text()
    script = tmp_path / "osd-devices"
    script.write_text(text.replace("/etc/ceph/osd-devices", str(tmp_path / "records")))
    (tmp_path / "records").mkdir()
    (tmp_path / "records/3").write_text(f"fsid {UUIDS[0]}\nmoving db\nblock x\nblock.db y\n")
    done = subprocess.run(["/bin/sh", str(script), "3"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr == "osd.3: its db is being moved: 'salt-run osd.migrate 3' on the master goes on\n"


@pytest.mark.parametrize(
    ("there", "serials", "says"),
    [
        (
            ["8:1", "8:17"],
            ["OLD", "NEW"],
            "several disks carry block.db (slot): NEW OLD. Take the one",
        ),
        (["8:1", "8:17"], ["ONE", "ONE"], None),  # two ways to one disk
        (["8:17"], ["OLD", "NEW"], None),  # pulled, and udev is late
    ],
)
def test_nothing_starts_at_boot_where_two_disks_carry_a_part(tmp_path, checkout, there, serials, says):
    """The device that died is back in the host: either would be taken for its DB, and both name the same OSD."""
    text, script = (checkout / "salt/ceph/cluster/osd/files/osd-devices").read_text(), tmp_path / "osd-devices"
    folders = {"/etc/ceph/osd-devices": "records", "/run/udev/data": "udev", "/sys/dev/block": "sys"}
    for path, name in {**folders, "/dev/disk/by-partuuid": "by", "/var/lib/ceph/osd": "osd"}.items():
        text = text.replace(path, str(tmp_path / name))
        (tmp_path / name).mkdir()
    script.write_text(text.replace("[ -b ", "[ -e "))
    (tmp_path / "osd/ceph-3").mkdir()
    (tmp_path / "records/3").write_text(f"fsid {UUIDS[0]}\nblock.db slot\n")
    (tmp_path / "by/slot").write_text(f"bluestore block device\n{UUIDS[1]}\n")
    for number, serial in zip(("8:1", "8:17"), serials, strict=True):
        (tmp_path / f"udev/b{number}").write_text(f"E:ID_SERIAL={serial}\nE:ID_PART_ENTRY_UUID=slot\n")
    for number in there:
        (tmp_path / "sys" / number).mkdir()
    done = subprocess.run(["/bin/sh", str(script), "3"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1  # else by the label, which is looked at next
    assert (says or f"carries the label of OSD {UUIDS[1]}") in done.stderr


def test_disks_get_their_partitions_side_by_side_and_one_that_fails_stops_no_other(python_module, monkeypatch):
    module, together, written = python_module("osd_raw_parts"), threading.Barrier(2), []

    def add(disk, table, new):
        together.wait(60)
        if disk == "/dev/a":
            raise salt.exceptions.CommandExecutionError("no room")
        written.append((disk, table, [role for _, role, _ in new]))

    for name, played in {"_add": add, "_alone": lambda *_: None, "_wait": list}.items():
        monkeypatch.setattr(module, name, played)
    monkeypatch.setattr(module, "__salt__", {"disks.partitions": lambda disk: None})
    osd = {"fsid": UUIDS[0], "parts": {"data": {"disk": "/dev/a", "partuuid": "1"}}}
    osd["parts"]["db"] = {"disk": "/dev/b", "partuuid": "2"}
    with pytest.raises(salt.exceptions.CommandExecutionError, match="no room"):
        module.make([osd])
    assert written == [("/dev/b", {"guid": None, "partitions": []}, ["db"])]


RECORD = f"fsid {UUIDS[0]}\nblock slot-data\nblock.db slot-db\n"
SPOILT = {
    "its own": (RECORD, True),
    "gone": (None, False),
    "empty": ("", False),
    "another OSD's": (RECORD.replace(UUIDS[0], UUIDS[1]), False),
    "of another slot": (RECORD.replace("slot-data", "slot-old"), False),
    "no text": (b"\xff\xfe", False),
}


@pytest.mark.parametrize("record", SPOILT)
def test_an_osd_by_whose_record_it_would_not_start_again_is_not_whole(python_module, tmp_path, monkeypatch, record):
    """``osd-devices@ID`` reads the record at each start; what runs now goes on without it."""
    module, (content, whole) = python_module("osd_raw"), SPOILT[record]
    monkeypatch.setattr(module, "RECORDS", tmp_path)
    monkeypatch.setattr(module, "_node", lambda part: tmp_path)
    monkeypatch.setattr(module, "made", lambda osd: 3)
    if content is not None:
        (tmp_path / "3").write_bytes(content if isinstance(content, bytes) else content.encode())
    osd = {"fsid": UUIDS[0], "parts": {role: {"partuuid": f"slot-{role}"} for role in ("data", "db")}}
    assert module.whole(osd, None, {"ceph-osd@3.service": "enabled"}) is whole


@pytest.mark.parametrize("where", ["as planned", "moved", "a DB that is not planned"])
def test_a_record_that_was_lost_is_written_again_where_the_last_start_found_the_same(
    python_module, tmp_path, monkeypatch, where
):
    module, part = python_module("osd_raw"), {"partuuid": "slot-data", "disk": DATA}
    monkeypatch.setattr(module, "RECORDS", tmp_path)
    monkeypatch.setattr(module, "DATA_DIR", tmp_path)
    monkeypatch.setattr(module, "made", lambda osd: 3)
    monkeypatch.setattr(module.halocline, "run", lambda command: "")
    (tmp_path / "ceph-3").mkdir()
    (tmp_path / "ceph-3/block").symlink_to(module._node(part))
    planned = {"data": part} | ({} if where == "a DB that is not planned" else {"db": {"partuuid": "slot-db"}})
    lies = "slot-db" if where == "as planned" else "slot-db-2"
    (tmp_path / "ceph-3/block.db").symlink_to(module._node({"partuuid": lies}))
    (tmp_path / "3").write_text("")
    told, quiet = [], ("osd_record.settled", "daemons.forgive", "osd_register.made")
    mocks = {**dict.fromkeys(quiet, lambda *_: None), "osd_record.write": lambda *words: told.append(words)}
    osd = {"fsid": UUIDS[0], "parts": planned}
    with LoaderModuleMock({module: {"__salt__": mocks}}):
        if where == "as planned":
            assert module.make(osd) == 3 and told == [(3, UUIDS[0], {"data": "slot-data", "db": "slot-db"})]
            return
        with pytest.raises(salt.exceptions.CommandExecutionError, match="does not name its slots, and .*slot-db-2"):
            module.make(osd)
    assert told == []


def test_a_record_that_is_no_text_is_none(modules, python_module, tmp_path, monkeypatch):
    monkeypatch.setattr(python_module("osd_record"), "RECORDS", tmp_path)
    (tmp_path / "3").write_bytes(b"\xff\xfe fsid \n")
    (tmp_path / "4").write_text("fsid \n")
    (tmp_path / "5").write_text(RECORD)
    assert [each["id"] for each in modules["osd_record.read"]().values()] == [5]


@pytest.mark.parametrize(("said", "whole"), [("enabled-runtime", True), ("disabled", True), ("masked", False)])
def test_an_osd_on_volumes_whose_unit_is_masked_is_not_whole(python_module, monkeypatch, said, whole):
    """``ceph-volume@`` starts it at boot, disabled or not, and cannot start one that is masked."""
    module = python_module("osd_lvm")
    monkeypatch.setattr(module, "made", lambda osd, groups: 3)
    with LoaderModuleMock({module: {"__salt__": {"service.enabled": lambda name: True}}}):
        assert module.whole({"fsid": UUIDS[0]}, {}, {"ceph-osd@3.service": said}) is whole
        assert module.whole({"fsid": UUIDS[0]}, {}, {}) is False
