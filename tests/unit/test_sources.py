"""What other tools print is planned, or refused with one message. Cases are files of tests/fixtures/sources."""

import json
import shutil
import subprocess

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from planning import FIXTURES, peek
from test_command_line import run

from proposals.inventory import kept, sources
from proposals.text.errors import ProposalError

FOLDER = FIXTURES / "sources"
CASES = yaml.load((FOLDER / "cases.yaml").read_text(), yaml.CSafeLoader)
NODES = yaml.load((FOLDER / "nodes.yaml").read_text(), yaml.CSafeLoader)


@pytest.mark.parametrize("name", CASES["told"])
def test_what_a_tool_prints_is_planned(name):
    case = CASES["told"][name]
    answer = peek(kept.load_inventory(FOLDER / name))
    assert {host: len(told["osds"]) for host, told in answer["hosts"].items()} == case["osds"]
    osds = [osd for told in answer["hosts"].values() for osd in told["osds"]]
    assert sorted({osd["db"] for osd in osds if osd["db"]}) == case["dbs"]
    assert sorted({osd["wal"] for osd in osds if osd["wal"]} - {*case["dbs"]}) == case.get("wals", [])
    disks = [disk for told in answer["hosts"].values() for disk in told["disks"]]
    assert len(disks) == case["disks"]
    reasons = {disk["id"]: disk["reason"] for disk in disks if disk["reason"]}
    assert {disk: reasons[disk] for disk in case.get("reasons", {})} == case.get("reasons", {})
    for words in case["notes"]:
        assert [hint for hint in answer["hints"] if hint.startswith(words)], answer["hints"]


@pytest.mark.parametrize("name", NODES)
def test_what_machines_of_others_printed_is_planned_or_one_message(tmp_path, name):
    case = NODES[name]
    file = tmp_path / "node1.json"
    file.write_text(case["text"] if "text" in case else json.dumps(case["told"]))
    if "says" in case:
        with pytest.raises(ProposalError) as refused:
            kept.load_inventory(file)
        assert case["says"] in str(refused.value) and "\n" not in str(refused.value)
        return
    found = kept.load_inventory(file)
    hosts = peek(found)["hosts"].values()
    osds = [osd["existing"] for host in hosts for osd in host["osds"]]
    disks = [disk for host in hosts for disk in host["disks"]]
    expected = case["disks"], case.get("osds", 0), case.get("there", 0)
    assert (len(disks), osds.count(False), osds.count(True)) == expected
    reasons = {disk["id"]: disk["reason"] for disk in disks if disk["reason"]}
    assert {disk: reasons.get(disk) for disk in case.get("reasons", {})} == case.get("reasons", {})
    assert {disk["id"] for disk in disks} >= set(case.get("ids", []))
    serials = {disk.get("serial") for host in found["hosts"].values() for disk in host["ceph_disks"]}
    assert serials >= set(case.get("serials", []))


def test_osds_that_ceph_volume_tells_stay_where_they_lie():
    answer = peek(kept.load_inventory(FOLDER / "osdnode2.json"))
    (there,) = [osd for osd in answer["hosts"]["osdnode2"]["osds"] if osd["existing"]]
    assert (there["data"], there["db"]) == ("/dev/sdd", "/dev/sde")
    assert there["uuid"] == "bdef121a-82e5-49ab-b844-ced927017677"


@pytest.mark.skipif(not shutil.which("lsblk"), reason="no lsblk here")
def test_what_lsblk_prints_on_this_very_machine_is_planned(tmp_path):
    """Of a disk that is in use here nothing may ever be planned."""
    printed = subprocess.run(["lsblk", "-J", "-b", "-O"], check=True, capture_output=True, text=True).stdout
    (tmp_path / "here.json").write_text(printed)
    told = [one for one in json.loads(printed)["blockdevices"] if one["type"] == "disk" and one["size"]]
    if not told:
        pytest.skip("no disk here")
    (host,) = peek(kept.load_inventory(tmp_path / "here.json"))["hosts"].values()
    roles = {disk.get("device", disk["id"]): disk["role"] for disk in host["disks"]}
    assert roles.keys() >= {one["path"] for one in told}
    used = {one["path"] for one in told if one.get("children") or any(one.get("mountpoints") or [])}
    assert {roles[path] for path in used} <= {"unused"}


@pytest.mark.parametrize("name", CASES["refused"])
def test_what_is_odd_is_one_message(tmp_path, name):
    case = CASES["refused"][name]
    file = tmp_path / "node1.json"
    file.write_text(case["text"])
    done = run("peek", file)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert case["says"] in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("case", CASES["hostile"], ids=lambda case: case["reason"])
def test_a_hostile_disk_is_unused_and_the_others_are_planned(case):
    devices = json.loads((FOLDER / "osdnode1.json").read_text())["blockdevices"][:4]
    devices[0] |= {key: value for key, value in case.items() if key != "reason"}
    answer = peek(sources.inventory({"blockdevices": devices}, "node1"))
    (disk,) = [disk for disk in answer["hosts"]["node1"]["disks"] if disk["role"] == "unused"]
    assert case["reason"] in disk["reason"]
    assert len(answer["hosts"]["node1"]["osds"]) == 3


def test_a_folder_of_what_tools_print_is_one_inventory(tmp_path):
    for name in ("osdnode1.json", "osdnode2.json"):
        (tmp_path / name).write_text((FOLDER / name).read_text())
    answer = peek(kept.load_inventory(tmp_path))
    assert sorted(answer["hosts"]) == ["osdnode1", "osdnode2"]
    assert {hint.partition(" ")[0] for hint in answer["hints"]} >= {"lsblk", "ceph-volume"}


def test_a_file_whose_name_is_no_minions_tells_of_a_host(tmp_path):
    file = tmp_path / "my disks.json"
    file.write_text((FOLDER / "old.json").read_text())
    assert list(peek(kept.load_inventory(file))["hosts"]) == [kept.UNNAMED]


ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["5.5T", "1", "part"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "type", "path"]), inner),
    max_leaves=4,
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["osdnode1.json", "old.json", "osdnode2.json", "orch.json"])
@given(data=st.data())
def test_whatever_stands_in_a_field_is_planned_or_refused(name, data):
    told = json.loads((FOLDER / name).read_text())
    entries = told["blockdevices"] if isinstance(told, dict) else told
    if name == "orch.json":
        entries = entries[0]["devices"]
    entry = entries[data.draw(st.integers(0, len(entries) - 1))]
    entry = data.draw(st.sampled_from([entry, entry.get("sys_api", entry)]))
    entry[data.draw(st.sampled_from(sorted(entry)))] = data.draw(ODD)
    try:
        found = sources.inventory(told, "node1")
        assert found is None or json.dumps(peek(found))
    except ProposalError as error:
        assert "\n" not in str(error)
