"""``python -m proposals`` in a process of its own: output, errors and exit codes as promised."""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest
import yaml
from planning import FSID, GUIDE

from proposals import cli
from proposals.reference import machines


def run(*words):
    """The command line in this process: its status and what it printed."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = cli.main(list(map(str, words)))
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


def process(*words, **more):
    """The same in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "proposals", *map(str, words)], check=False, text=True, stderr=subprocess.PIPE, **more
    )


@pytest.fixture(scope="module")
def apollo(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "apollo.yaml"
    path.write_text(run("reference", "apollo").stdout)
    return path


@pytest.fixture(scope="module")
def root(apollo):
    folder = apollo.parent / "proposals"
    done = run("populate", apollo, "--root", folder, *GUIDE)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_the_guides_command_as_it_stands(apollo):
    done = process("peek", apollo, *GUIDE, "--format", "json", stdout=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1, "compact"
    answer = json.loads(done.stdout)
    assert [len(host["osds"]) for host in answer["hosts"].values()] == [54] * 4
    fallen = [device for host in answer["hosts"].values() for device in host["devices"]]
    assert [device["osds"] for device in fallen] == [9] * 24
    assert {device["cluster_share"] for device in fallen} == {0.0417}
    osds = answer["hosts"]["osdnode1"]["osds"]
    for key in ("db", "wal"):
        assert {sum(osd[key] == device["id"] for osd in osds) for device in answer["hosts"]["osdnode1"]["devices"]} == {
            9
        }
    boot = [disk for disk in answer["hosts"]["osdnode1"]["disks"] if disk["role"] == "unused"]
    assert [disk["reason"] for disk in boot] == ["mounted on /boot/efi; has partitions"] * 2
    assert answer["summary"] == {
        "hosts": 4,
        "osds": 216,
        "raw_bytes": 1296253827219456,
        "usable_bytes": {
            "3 replicas": 432084609073152,
            "2 replicas": 648126913609728,
            "EC 2+2": 648126913609728,
        },
        "needs_hosts": {"EC 4+2": 6},
    }


@pytest.mark.slow
def test_the_other_formats_say_the_same(apollo):
    as_json = json.loads(run("peek", "--format", "json", apollo, *GUIDE).stdout)
    assert yaml.load(run("peek", apollo, *GUIDE, "--format=yaml").stdout, yaml.CSafeLoader) == as_json
    assert yaml.load(run("peek", apollo, *GUIDE, "--out", "yaml").stdout, yaml.CSafeLoader) == as_json, (
        "as salt-run has it"
    )
    text = run("peek", apollo, *GUIDE).stdout
    assert "osdnode1" in text
    assert "9 x 40 GiB" in text
    assert "4 hosts, 216 OSDs, 1.30 PB raw" in text


@pytest.mark.slow
def test_reference_inventories_need_no_file():
    assert run("peek", "reference:apollo", *GUIDE).returncode == 0
    assert "did you mean 'apollo'" in run("peek", "reference:apolo").stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["peek", "APOLLO", "db=750-850"], "did you mean db=740-770?"),
        (["peek", "APOLLO", "jurnal_size=5g"], "did you mean 'journal-size'?"),
        (["peek", "APOLLO", "data=vendor=SEAGATE"], "vendor there is"),
        (["peek", "APOLLO", "data=5TB-7TBgarbage"], "is not understood"),
        (["peek", "APOLLO", "ratio"], "key=value was expected"),
        (["peek", "APOLLO", "--colour"], "not understood: --colour"),
        (["peek", "nowhere.yaml"], "there is no nowhere.yaml: a file, YAML or JSON"),
        (["peek", "ratio=9"], "there is no ratio=9: a file, YAML or JSON"),
        (["populate", "APOLLO", "--root", "/proc/nowhere"], "cannot write /proc/nowhere/profile-default: No such file"),
        (["populate", "APOLLO", "--root", "/dev/null"], "a part of the path is a file where a folder was expected"),
        (["diff", "APOLLO", "nowhere"], "there is no nowhere"),
        (["peek"], "required: inventory (usage:"),
        (["explain", "APOLLO", "osdnode1"], "required: disk (usage:"),
        ([], "required: VERB"),
        (["pek", "APOLLO"], "'pek' is not a verb: did you mean 'peek'?"),
        (["networks", "swich", "ROOT"], "'swich' is not a verb: did you mean 'switch'?"),
        (["peek", "APOLLO", "--formt", "json"], "not understood: --formt: did you mean '--format'?"),
        (["peek", "APOLLO", "--format", "jsn"], "'jsn'"),
        (["show", "ROOT", "nothing"], "stored are apollo"),
        (["policy", "/nonexistent"], "policy.cfg does not exist"),
        (["explain", "APOLLO", "osdnode1", "sdzz"], "osdnode1 has no disk 'sdzz'"),
        (["explain", "APOLLO", "osdnode9", "sda"], "did you mean 'osdnode"),
        (["export", "ROOT", "apollo", "--as", "rook"], "--as rook is not known"),
        (["diff", "APOLLO", "ROOT/policy.cfg"], "is not"),
    ],
)
def test_bad_input_is_one_message_and_status_2(apollo, root, words, message):
    words = [word.replace("APOLLO", str(apollo)).replace("ROOT", str(root)) for word in words]
    done = run(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "text",
    ["", "[]", "x", "hosts: 5", "hosts: {}", "hosts: {a: 1}", "hosts: {a: {ceph_disks: {}}}", "{", "{]", "a: [", "\x00"]
    + [
        "hosts: {a: {ceph_disks: [], ceph_disks_format: 2}}",
        "hosts: {'../x': {ceph_disks: []}}",
        "!!python/name:os.system",
    ]
    + ["cluster: x\nhosts: {a: {ceph_disks: []}}", "[" * 5000],
)
def test_what_is_no_inventory_is_told(tmp_path, text):
    for name in ("x.yaml", "x.json"):
        (tmp_path / name).write_text(text)
        done = run("peek", tmp_path / name)
        assert done.returncode == 2, done.stdout
        assert done.stderr.count("\n") == 1
        assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_folder_of_inventories_is_one(tmp_path):
    folder = tmp_path / "inventory"
    folder.mkdir()
    for name, host in machines.inventory("apollo")["hosts"].items():
        (folder / f"{name}.json").write_text(json.dumps({**host, "time": 1, "boot_id": "x"}))
    answer = json.loads(run("peek", folder, *GUIDE, "--format", "json").stdout)
    assert answer["summary"]["osds"] == 216
    cluster = tmp_path / "proposals/config/stack/default/ceph/cluster.yml"
    cluster.parent.mkdir(parents=True)
    cluster.write_text(f"fsid: {FSID}\n")
    assert run("peek", folder, *GUIDE, "--format", "json").returncode == 0


def test_invalid_utf8_spoils_one_disk_only(tmp_path):
    path = tmp_path / "x.json"
    disk = b'{"device": "/dev/sd%s", "size": 6001175126016, "rotational": true, "model": "%s"}'
    path.write_bytes(b'{"hosts": {"a": {"ceph_disks": [%s, %s]}}}' % (disk % (b"a", b"\xff\xfe"), disk % (b"b", b"ok")))
    answer = json.loads(run("peek", path, "--format", "json").stdout)
    assert [disk["role"] for disk in answer["hosts"]["a"]["disks"]] == ["unused", "data"]
    assert "\\udcff" in answer["hosts"]["a"]["disks"][0]["reason"]


@pytest.mark.slow
def test_show_policy_explain_export(root, apollo):
    assert "osdnode1" in run("show", root, "apollo").stdout
    assert json.loads(run("policy", root, "--format", "json").stdout)["lines"][0]["matches"] == 8
    steps = json.loads(run("explain", apollo, "osdnode1", "S00050000", *GUIDE, "--format", "json").stdout)["steps"]
    assert "class hdd: it rotates" in steps
    assert any("data: size is 5589 GiB = 6.00 TB: matches 5000-7000" in step for step in steps)
    specs = list(yaml.safe_load_all(run("export", root, "apollo", "--as", "cephadm").stdout))
    assert len(specs) == 24
    assert sum(len(spec["spec"]["data_devices"]["paths"]) for spec in specs) == 216
    commands = run("export", root, "apollo", "--as", "ceph-volume").stdout
    assert commands.count("ceph-volume lvm prepare --bluestore --osd-fsid") == 216


@pytest.mark.slow
def test_diff_tells_added_removed_replaced_moved(tmp_path, root):
    raw = machines.inventory("apollo")
    disks = raw["hosts"]["osdnode1"]["ceph_disks"]
    disks[0] = {
        **disks[0],
        "serial": "NEW",
        "wwn": "0x5000c500ffff0001",
        "id": "/dev/disk/by-id/wwn-0x5000c500ffff0001",
    }
    disks[1]["device"] = "/dev/sdzz"
    gone = disks.pop(2)
    disks.append(
        {**gone, "serial": "X", "wwn": "0x1", "id": "/dev/disk/by-id/wwn-0x1", "device": "/dev/sdyy", "path": "p"}
    )
    (tmp_path / "new.json").write_text(json.dumps(raw))
    done = run("diff", root / "profile-apollo/proposal.json", tmp_path / "new.json", "--format", "json")
    assert done.returncode == 1
    told = json.loads(done.stdout)["hosts"]
    assert set(told) == {"osdnode1"}
    assert {kind: len(lines) for kind, lines in told["osdnode1"].items()} == {
        "added": 1,
        "removed": 1,
        "replaced": 1,
        "moved": 1,
    }
    same = run("diff", root / "profile-apollo/proposal.json", "reference:apollo")
    assert (same.returncode, same.stdout) == (0, "no difference\n")


@pytest.mark.slow
def test_edited_files_and_status_1(tmp_path, apollo):
    root = tmp_path / "proposals"
    run("populate", apollo, "--root", root, *GUIDE)
    path = root / "profile-apollo/stack/default/ceph/minions/osdnode1.yml"
    path.write_text(path.read_text() + "# mine\n")
    done = run("populate", apollo, f"--root={root}", *GUIDE, "encryption=dmcrypt")
    assert done.returncode == 1
    assert "was edited and the plan has changed" in done.stdout


@pytest.mark.slow
def test_bad_input_in_a_process(apollo):
    done = process("peek", apollo, "db=750-850", stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error(apollo):
    reader, writer = os.pipe()
    os.close(reader)
    done = process("peek", apollo, stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_no_salt_is_imported():
    code = (
        "import pkgutil, importlib, sys, proposals\n"
        "for module in pkgutil.walk_packages(proposals.__path__, 'proposals.'):\n"
        "    if not module.name.endswith('__main__'): importlib.import_module(module.name)\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] == 'salt'))\n"
        "import salt.version\n"
        "print('salt.version' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "True"]
