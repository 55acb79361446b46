"""Which volume group goes with a disk that is wiped: one of OSDs alone, on no other disk, that nothing has open."""

import fcntl
import os
import subprocess
import sys

import pytest
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

DISK, GROUP = "/dev/sdz", "ceph-sdz"
KNOWN = {"group": GROUP, "alone": True, "volumes": [{"open": False}]}
CONTENT = {"groups": [GROUP], "volumes": [], "osds": [{"fsid": "a"}]}


@pytest.mark.parametrize(
    ("known", "content", "goes"),
    [
        ({}, {}, GROUP),
        ({"volumes": [{"open": False}, {"open": True}]}, {}, None),  # a daemon runs, or it is encrypted and open
        ({"alone": False}, {}, None),  # other disks are in it
        ({}, {"volumes": [f"{GROUP}/home"]}, None),  # somebody's volume, or an OSD's that another did not finish
        ({}, {"groups": [], "volumes": []}, None),
        ({"group": ""}, {"groups": []}, None),  # a physical volume in no group
    ],
)
def test_a_group_goes_only_where_nobody_misses_it(python_module, known, content, goes):
    wipe = python_module("disks_wipe")
    assert wipe._group({**KNOWN, **known}, {**CONTENT, **content}) == goes
    assert wipe._group(None, CONTENT) is None


@pytest.mark.parametrize("whose", ["its folder", "the adoption"])
def test_the_osds_whose_journals_lie_on_a_disk_are_those_that_it_may_belong_to(python_module, tmp_path, whose):
    """They have no label, and those of ceph-disk no name in the table: the cluster would not even be asked."""
    wipe, part = python_module("disks_wipe"), tmp_path / "sdz1"
    part.touch()
    told = {"osd-3": {"id": 3, "devices": {"data": "/dev/sda1", "journal": str(part)}}}
    asks = {
        "disks.inspect": lambda: {
            "ceph_disks": [{"device": DISK, "size": 9, "in_use": ["has partitions"]}],
            "inspected": {},
        },
        "disks.partitions": lambda node: {"partitions": [{"name": "ceph journal"}]},
        "disks_kernel.held": lambda node: None,
        "disks_kernel.holder": lambda path: DISK if path == str(part) else "/dev/sda",
        "disks_kernel.identity": lambda node: {"serial": "S"},
        "disks_kernel.partition_nodes": lambda node: [],
        "disks_lvm.groups": dict,
        "host_adopt.osds": lambda: told if whose == "its folder" else {},
    }
    pillar = {"ceph": {"adopted": {"osds": told}}} if whose == "the adoption" else {}
    with LoaderModuleMock({wipe: {"__salt__": asks, "__pillar__": pillar, "_locked": lambda node: None}}):
        assert wipe.inspect(DISK)["fsids"] == ["osd-3"]


def test_an_osd_whose_folder_leads_to_a_closed_device_lies_where_the_adoption_found_it(python_module):
    wipe = python_module("disks_wipe")
    pillar = {"ceph": {"adopted": {"osds": {"osd-3": {"devices": {"data": DISK}}}}}}
    for leads, fsids in (("/dev/mapper/closed", ["osd-3"]), ("/dev/null", [])):  # an open one is no device of this disk
        asks = {"host_adopt.osds": lambda leads=leads: {"osd-3": {"devices": {"data": leads}}}}
        asks["disks_kernel.holder"] = lambda path: path
        with LoaderModuleMock({wipe: {"__salt__": asks, "__pillar__": pillar}}):
            assert wipe._adopted(DISK) == fsids


@pytest.mark.parametrize("record", [None, {"osds": None}, {"osds": {"osd-3": None}}])
def test_a_record_of_which_lines_were_taken_out_tells_of_no_device(python_module, record):
    """As the guide says to, before an adopted OSD leaves: YAML has a key with nothing behind it as null."""
    wipe = python_module("disks_wipe")
    with LoaderModuleMock({wipe: {"__salt__": {"host_adopt.osds": dict}, "__pillar__": {"ceph": {"adopted": record}}}}):
        assert wipe._adopted(DISK) == []


@pytest.fixture
def inspected(python_module):
    """A function: what is told of a disk, with what was read of it and of others."""
    wipe = python_module("disks_wipe")

    def told(contents, each=None, **asks):
        disks = [{"device": node, "size": 9, "in_use": [], **(each or {}).get(node, {})} for node in contents]
        asks = {
            "disks.inspect": lambda: {"ceph_disks": disks, "inspected": contents},
            "disks.partitions": lambda node: None,
            "disks_kernel.held": lambda node: None,
            "disks_kernel.identity": lambda node: {"serial": "S"},
            "disks_kernel.partition_nodes": lambda node: [],
            "disks_lvm.groups": dict,
            "host_adopt.osds": dict,
            **asks,
        }
        with LoaderModuleMock({wipe: {"__salt__": asks, "__pillar__": {}, "_locked": lambda node: None}}):
            return wipe.inspect(DISK)

    return told


@pytest.mark.parametrize("data", ["/dev/sda", "/dev/sdzz"])
def test_a_db_is_of_the_cluster_that_its_data_names_wherever_that_lies(inspected, data):
    """Labels of DBs name none: that of another cluster would be wiped, as ours does not know its OSD."""
    db, main = {"fsid": "a", "role": "db"}, {"fsid": "a", "role": "data", "cluster": "theirs"}
    contents = {DISK: {"osds": [db]}, data: {"osds": [main]}}
    assert inspected(dict(sorted(contents.items())))["osds"] == [{**db, "cluster": "theirs"}]


def test_what_lies_in_its_partitions_is_told(inspected):
    """Whoever has partitioned it anew since; a part of an OSD is told by its label, a volume by LVM."""
    inside = {f"{DISK}1": ["ext4"], f"{DISK}2": ["ceph_bluestore"], f"{DISK}3": ["LVM2_member"]}
    asks = {"disks_kernel.partition_nodes": lambda node: list(inside), "disks.signatures": inside.get}
    assert inspected({DISK: {"osds": []}}, **asks)["contents"] == ["ext4"]
    dying = inspected({DISK: {"osds": [], "error": "does not answer"}}, **asks)
    assert dying["contents"] == [] and "does not answer" in dying["in_use"]


@pytest.mark.parametrize("same", ["id", "wwn"])
def test_a_disk_that_is_in_use_by_another_path_is_not_wiped(inspected, same):
    """Who has it by one path is not seen on the other: without multipathd they are two disks to the kernel."""
    other, known = "/dev/sdy", {same: "0x1"}
    taken = {"disks_kernel.held": lambda node: "cannot be opened alone" if node == other else None}
    by_two = {DISK: {"osds": []}, other: {"osds": []}}
    assert inspected(by_two, each={DISK: known, other: {same: "0x2"}}, **taken)["in_use"] == []
    assert inspected(by_two, each={DISK: known, other: known})["in_use"] == []
    used = inspected(by_two, each={DISK: known, other: known}, **taken)["in_use"]
    assert used == ["/dev/sdy, another path to it, cannot be opened alone"]


@pytest.mark.parametrize("where", [DISK, f"{DISK}1"])
def test_what_lvm_does_not_tell_of_is_not_wiped(inspected, where):
    """An OSD that the cluster knows may lie there: its fsid stands in LVM's tags alone."""
    inside = {f"{DISK}1": []} | {where: ["LVM2_member"]}
    asks = {"disks_kernel.partition_nodes": lambda node: [f"{DISK}1"], "disks.signatures": inside.get}
    content = {"osds": [], "signatures": inside.get(DISK, [])}
    (why,) = inspected({DISK: content}, **asks)["in_use"]
    assert "LVM does not say" in why
    listed = {**content, "volumes": [], "groups": []}
    assert inspected({DISK: listed}, **asks)["in_use"] == []


def test_a_group_that_has_other_disks_is_told(inspected):
    """Its volumes are lost on these, too, wherever they lie."""
    groups = {DISK: {**KNOWN, "alone": False}}
    content = {"osds": [], "groups": [GROUP], "volumes": []}
    assert inspected({DISK: content}, **{"disks_lvm.groups": lambda: groups})["spans"] == GROUP
    groups[f"{DISK}1"] = groups.pop(DISK)
    parted = {"disks_kernel.partition_nodes": lambda node: [f"{DISK}1"], "disks.signatures": lambda part: []}
    assert inspected({DISK: content}, **{"disks_lvm.groups": lambda: groups}, **parted)["spans"] == GROUP
    groups = {DISK: KNOWN}
    assert inspected({DISK: content}, **{"disks_lvm.groups": lambda: groups})["spans"] is None
    assert inspected({DISK: content})["spans"] is None


def test_a_disk_that_does_not_answer_is_named(inspected):
    dead = {"device": DISK, "in_use": ["does not answer"], "error": "Input/output error"}
    with pytest.raises(CommandExecutionError, match="does not answer: Input/output error"):
        inspected({DISK: {}}, each={DISK: dead}, **{"disks.inspect": lambda: {"ceph_disks": [dead], "inspected": {}}})


def test_a_disk_that_cannot_be_opened_is_not_free(python_module, tmp_path):
    """It died since it was looked at, or another path to it did."""
    wipe, gone = python_module("disks_wipe"), str(tmp_path / "sdz")
    with LoaderModuleMock({wipe: {"__salt__": {"disks_kernel.partition_nodes": lambda node: []}}}):
        assert wipe._locked(gone) == f"{gone} cannot be opened: No such file or directory"


def test_a_group_stays_where_lvm_did_not_answer(python_module):
    wipe = python_module("disks_wipe")
    assert wipe._group(KNOWN, {"signatures": ["LVM2_member"]}) is None


def test_the_copies_of_a_label_that_newer_releases_keep_go_too(python_module):
    """They hold the OSD's key, and a release that has them reads them where the first is gone: Ceph's issue 68035."""
    wipe, gib, mib = python_module("disks_wipe"), 1 << 30, 1 << 20
    starts, sizes = {DISK: 0, f"{DISK}1": mib}, {DISK: 12 * gib, f"{DISK}1": 1 * gib}
    asks = {"disks_kernel.offset": starts.get, "disks_kernel.size": sizes.get}
    asks["disks_label.places"] = python_module("disks_label").places
    with LoaderModuleMock({wipe: {"__salt__": asks}}):
        edges = wipe._edges(DISK, [f"{DISK}1"], [3 * gib])
    assert edges == sorted(set(edges)) and all(start + length <= 12 * gib for start, length in edges)
    copies = {start for start, length in edges if length == wipe.LABEL}
    assert copies == {0, gib, 10 * gib, mib, gib + mib, 10 * gib + mib, 3 * gib, 4 * gib}
    assert {(0, mib), (12 * gib - mib, mib), (mib, mib), (gib, mib), (3 * gib, mib)} <= set(edges)


def test_a_disk_that_somebody_locks_is_waited_for_then_named(python_module, monkeypatch, tmp_path):
    """As udev does, for a moment, when volumes on it have just gone."""
    wipe, disk = python_module("disks_wipe"), tmp_path / "disk"
    disk.write_bytes(b"")
    monkeypatch.setattr(wipe, "UDEV", 0)
    holder = os.open(disk, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_SH)
    with pytest.raises(CommandExecutionError, match="a process holds a lock on it; it is not wiped yet"):
        wipe._alone(str(disk)).__enter__()
    monkeypatch.setattr(wipe, "UDEV", 30)
    monkeypatch.setattr(wipe.halocline.time, "sleep", lambda _: fcntl.flock(holder, fcntl.LOCK_UN))
    with wipe._alone(str(disk)) as descriptor:
        assert os.pwrite(descriptor, b"x", 0) == 1
    os.close(holder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "taken", ["lockf(f, fcntl.LOCK_EX)", "flock(f, fcntl.LOCK_EX)", "lockf(f, fcntl.LOCK_SH, 1, 201)"]
)
def test_what_a_program_uses_is_locked_in_either_way(python_module, tmp_path, taken):
    """Ceph 16 locks by F_OFD_SETLK, which meets fcntl's locks; earlier and later ones by flock. QEMU takes locks for
    reading alone, on single bytes (raw_apply_lock_bytes in block/file-posix.c).
    """
    wipe, disk, part = python_module("disks_wipe"), tmp_path / "disk", tmp_path / "disk1"
    for path in (disk, part):
        path.write_bytes(b"")
    asks = {"disks_kernel.partition_nodes": lambda node: [str(part)]}
    holds = f"f = open(sys.argv[1], 'r+b'); fcntl.{taken}; print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", f"import fcntl, sys; {holds}", str(part)]
    with LoaderModuleMock({wipe: {"__salt__": asks}}):
        assert wipe._locked(str(disk)) is None
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as osd:
            osd.stdout.readline()
            assert wipe._locked(str(disk)) == f"a process holds a lock on {part}"
            osd.stdin.close()


def test_a_disk_that_is_gone_is_named(python_module, monkeypatch):
    wipe = python_module("disks_wipe")
    monkeypatch.setattr(wipe, "UDEV", 0)
    with pytest.raises(CommandExecutionError, match="/dev/sdzz: No such file"):
        wipe._alone("/dev/sdzz").__enter__()
