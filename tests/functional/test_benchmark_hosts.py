"""What minions do for a benchmark, through Salt's loader: words of tools, a load that stops, what is made and gone.

``ceph``, ``systemd-run`` and the tools are played by scripts on the path.
"""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from salt.exceptions import CommandExecutionError

from proposals.benchmarks import loads, places, suites

ROOMS = yaml.load((Path(__file__).parents[1] / "fixtures/benchmarks/rooms.yaml").read_text(), yaml.CSafeLoader)

RBD = {"kind": "rbd", "pool": "halocline-bench-rbd", "images": {"node1": ["rbd-node1-0", "rbd-node1-1"]}}
FS = {"kind": "fs", "fs": "halocline-bench", "folder": "cephfs", "pool": ""}
POOL = {"kind": "pool", "pool": "halocline-bench-node1", "room": 1 << 30}
CEPH = r"""#!/bin/sh
[ "$1" = --connect-timeout ] && shift 2
echo "$*" >>{0}/asked
case "$*" in
    "config-key dump"*)
        [ -e {0}/record ] || exec echo '{{}}'
        python3 -c 'import json; print(json.dumps({{"halocline/benchmark": open("{0}/record").read()}}))' ;;
    "config-key set halocline/benchmark -i -"*) cat >{0}/record ;;
    "config-key rm halocline/benchmark"*) rm {0}/record ;;
    "osd pool ls"*) cat {0}/pools ;;
    "fs ls"*) echo '[{{"name": "cephfs"}}, {{"name": "halocline-bench"}}]' ;;
    "osd crush rule ls"*) echo '["replicated_rule", "halocline-bench-rbd-ec"]' ;;
    "config dump"*) echo '[]' ;;
    "auth import"*) cat >{0}/imported ;;
esac
"""


def job(name, row, place, size="quick"):
    suite = suites.read(name)
    (one,) = (each for each in suite.jobs if each.name == row)
    return loads.job(suite, suite.sizes[size], one, place, 256 << 20)


@pytest.fixture
def words(modules):
    return lambda one: modules["benchmark_words.command"]("node1", one)


def test_images_are_shared_by_the_jobs_of_fio(words):
    told = words(job("apollo", "seq write 4k", RBD))
    assert told[:2] == ["fio", "--output-format=json+"] and "--latency_target=10ms" in told
    assert {"--rw=rw", "--rwmixread=0", "--bs=4k", "--iodepth=4", "--runtime=20", "--ramp_time=5"} <= set(told)
    assert [word for word in told if word.startswith("--rbdname")] == [
        f"--rbdname=rbd-node1-{at % 2}" for at in range(4)
    ]
    assert {"--ioengine=rbd", "--clientname=halocline-bench", "--pool=halocline-bench-rbd"} <= set(told)


def test_each_job_has_its_own_part_of_an_image(words):
    told = words(job("mellanox", "random read 8M", {**RBD, "images": {"node1": ["a"]}}))
    assert [word for word in told if word.startswith("--offset")] == [f"--offset={at * (32 << 20)}" for at in range(8)]
    assert f"--size={32 << 20}" in told


def test_files_lie_in_the_hosts_own_folder(words):
    shared, own = words(job("apollo", "backup 64M", FS)), words(job("tigershark", "ior-easy-write", FS))
    for told in (shared, own):
        assert "--directory=/run/halocline-benchmark/fs/cephfs/node1" in told
    assert "--filename=0.fil" in shared and "--name=own" in own
    assert "--direct=0" in words(job("tigershark", "ior-hard-write", FS)), "47,008 bytes are no whole blocks"


def test_metadata_and_rados(words):
    told = words(job("tigershark", "mdtest-hard-stat", FS))
    assert {"--ioengine=filestat", "--filesize=3901", "--bs=3901", "--nrfiles=200"} <= set(told)
    assert "--name=easy" in words(job("tigershark", "mdtest-easy-stat", FS))
    names = {"--name=hard", "--directory=/run/halocline-benchmark/fs/cephfs/node1"}
    for phase, rw in (("write", "write"), ("read", "read")):
        told = words(job("tigershark", f"mdtest-hard-{phase}", FS))
        assert {"--ioengine=psync", f"--rw={rw}", "--nrfiles=200", *names} <= set(told) and "--time_based=1" not in told
    assert names <= set(words(job("tigershark", "mdtest-hard-delete", FS)))
    told = words(job("moc", "4k writes", POOL))
    assert " ".join(told) == (
        "rados --id halocline-bench --pool halocline-bench-node1 --format json bench 20 write -t 16 "
        "--run-name node1-4k -b 4096 --no-cleanup --max-objects 131072"
    )
    assert "-b" not in words(job("moc", "4k random reads", POOL))
    assert words(job("moc", "4k writes", {**POOL, "room": 1 << 60}))[-1] == "1000000000", "more than rados counts"


def test_find_looks_at_all_files_of_the_host_and_tells_those_that_io500_asks_for(words, python_module, tmp_path):
    """By GNU find itself, over files as fio names them."""
    told = words(job("tigershark", "find", FS))
    folder = "/run/halocline-benchmark/fs/cephfs/node1"
    assert (told[:2], told[4:]) == (["sh", "-c"], [folder, f"{folder}/easy.0.0", "3901"])
    here = tmp_path / "files"
    (here / "hard.0.201").mkdir(parents=True)
    sizes = {"hard.3.101": 3901, "easy.0.0": 0, "easy.0.101": 0, "0.fil": 9, "hard.0.101": 3901, "hard.0.1": 3901}
    for at, (name, size) in enumerate({**sizes, "hard.2.101": 3900}.items()):
        (here / name).write_bytes(b"x" * size)
        os.utime(here / name, (at, at))
    typed = [word.replace(folder, str(here)) for word in told]
    (tmp_path / "out").write_text(subprocess.run(typed, check=True, capture_output=True, text=True).stdout)
    found = python_module("benchmark_load")._found(tmp_path / "out")
    assert (found["files"], found["matched"]) == (7, 1) and found["seconds"] > 0, "hard.0.101 alone"
    (here / "easy.0.0").unlink()
    assert subprocess.run(typed, check=False, capture_output=True).returncode, "no easy phase was before it"


def test_a_job_of_find_is_told_by_its_own_form(load, program, tmp_path):
    program("find", "echo 'find (GNU findutils) 4.9.0'")
    (tmp_path / "printed").write_text("cut")
    with pytest.raises(CommandExecutionError, match="find told not when"):
        load["benchmark_load.run"](job("tigershark", "find", FS), 0, 77)
    program("systemd-run", f"printf '1000000000\\n..m.\\n3500000000\\n' >{tmp_path}/run/out")
    told = load["benchmark_load.run"](job("tigershark", "find", FS), 0, 77)
    assert told["printed"] == {"files": 4, "matched": 1, "seconds": 2.5}
    assert told["version"] == "find (GNU findutils) 4.9.0"


ODD = {
    "another pool": ({"place": {**RBD, "pool": "images"}}, "not a benchmark's own"),
    "another pool of rados": (
        {"tool": "rados", "place": {"kind": "pool", "pool": "images"}, "options": {"rw": "write", "bs": "4k"}},
        "not a benchmark's own",
    ),
    "another folder": ({"place": {**FS, "folder": "etc"}}, "no folder of a benchmark"),
    "a way out": ({"place": {**FS, "folder": "../.."}}, "nothing that a benchmark's job may hold"),
    "an option in a value": ({"options": {"rw": "write --filename=/dev/sda", "bs": "4k"}}, "nothing that"),
    "a device": ({"place": {**RBD, "images": {"node1": ["/dev/sda"]}}}, "nothing that"),
    "another tool": ({"tool": "dd"}, "no tool of a benchmark: expected fio, rados, find"),
    "another kind of bench": (
        {"tool": "rados", "place": POOL, "options": {"rw": "rm", "bs": "4k"}},
        "no kind of rados",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_nothing_of_anybody_else_can_be_named(words, name):
    more, says = ODD[name]
    with pytest.raises(CommandExecutionError, match=says):
        words({**job("apollo", "seq write 4k", RBD), **more})


def test_options_that_are_not_known_never_reach_fio(words):
    one = job("apollo", "seq write 4k", RBD)
    one["options"]["exec_prerun"] = "reboot"
    assert not any("exec_prerun" in word for word in words(one))


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A function: put a script on the path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def put(name, text):
        (folder / name).write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)

    return put


@pytest.fixture
def load(with_pillar, python_module, program, tmp_path, monkeypatch):
    """A load generator whose files lie in ``tmp_path``."""
    made = with_pillar(ceph_secrets={"benchmark": "AQsecret"})
    module = python_module("benchmark_load")
    monkeypatch.setattr(module, "FOLDER", tmp_path / "run")
    monkeypatch.setattr(module, "KEYRING", tmp_path / "keyring")
    unit = "for word; do case $word in --property=StandardOutput=file:*) out=${word##*:};; fio) break;; esac; done\n"
    program(
        "systemd-run", unit + f"echo \"$@\" >{tmp_path}/unit; echo 'hints = 1' >$out; cat {tmp_path}/printed >>$out"
    )
    program("fio", "echo fio-3.33")
    program("systemctl", f'echo "$@" >>{tmp_path}/systemctl')
    program("mountpoint", f"test -e {tmp_path}/mounted")
    program("umount", f'echo "$@" >{tmp_path}/umount; rm {tmp_path}/mounted')
    program("ceph-fuse", f'echo "$@" >{tmp_path}/fuse; touch {tmp_path}/mounted')
    (tmp_path / "printed").write_text(json.dumps({"jobs": [], "disk_util": [1]}))
    return made


def test_a_job_begins_at_its_time_as_a_unit_with_a_limit(load, tmp_path):
    start = time.time() + 0.2
    told = load["benchmark_load.run"](job("apollo", "seq write 4k", RBD), start, 77)
    assert told["began"] >= start and told["ended"] >= told["began"]
    assert (told["printed"], told["version"]) == ({"jobs": []}, "fio-3.33")
    unit = (tmp_path / "unit").read_text()
    assert "--unit=halocline-benchmark.service" in unit and "RuntimeMaxSec=77" in unit and "--wait" in unit


def test_a_tool_that_prints_no_json_is_one_message(load, tmp_path):
    (tmp_path / "printed").write_text("killed")
    with pytest.raises(CommandExecutionError, match="printed no JSON.*was it stopped"):
        load["benchmark_load.run"](job("apollo", "seq write 4k", RBD), 0, 77)


def test_a_tool_that_fails_is_told_with_its_own_words(load, program, tmp_path):
    program("systemd-run", f"echo 'no such image' >{tmp_path}/run/err; exit 1")
    with pytest.raises(CommandExecutionError, match="it said: no such image"):
        load["benchmark_load.run"](job("apollo", "seq write 4k", RBD), 0, 77)


def test_a_key_and_a_mount_come_and_go(load, tmp_path):
    assert load["benchmark_load.prepare"](FS) is True
    keyring = tmp_path / "keyring"
    assert keyring.stat().st_mode & 0o777 == 0o600 and "AQsecret" in keyring.read_text()
    assert "--client_fs halocline-bench" in (tmp_path / "fuse").read_text()
    for folder in (tmp_path / "run/fs/cephfs/node1", tmp_path / "run/fs/cephfs"):
        folder.rmdir()  # what was mounted there is gone with the mount
    assert load["benchmark_load.tidy"]() is True
    assert "stop halocline-benchmark.service" in (tmp_path / "systemctl").read_text()
    assert (tmp_path / "umount").exists() and not keyring.exists() and not (tmp_path / "run").exists()
    assert load["benchmark_load.tidy"]() is True


def test_tidying_never_removes_what_a_mount_still_shows(load, program, tmp_path):
    load["benchmark_load.prepare"](FS)
    program("umount", "exit 0")
    with pytest.raises(CommandExecutionError, match="not empty.*run it again"):
        load["benchmark_load.tidy"]()
    assert (tmp_path / "run/fs/cephfs/node1").is_dir()


def test_without_a_key_nothing_is_prepared(load, with_pillar):
    with pytest.raises(CommandExecutionError, match="holds no key"):
        with_pillar(ceph_secrets={})["benchmark_load.prepare"](RBD)


@pytest.fixture
def caches(load, python_module, program, tmp_path, monkeypatch):
    """The kernel's file by which caches are dropped, on a host that is no container."""
    path = tmp_path / "drop_caches"
    path.write_text("0\n")
    monkeypatch.setattr(python_module("benchmark_load"), "CACHES", path)
    program("systemd-detect-virt", f'echo "$@" >{tmp_path}/virt; exit 1')
    program("sync", f"cat {path} >{tmp_path}/synced")
    return path


def test_caches_are_dropped_after_all_is_written(load, caches, tmp_path):
    assert load["benchmark_load.drop_caches"]() is True
    assert caches.read_text() == "3\n" and (tmp_path / "synced").read_text() == "0\n"
    assert (tmp_path / "virt").read_text() == "--container --quiet\n"


def test_in_a_container_the_whole_machines_caches_stay(load, caches, program, tmp_path):
    program("systemd-detect-virt", "exit 0")
    assert load["benchmark_load.drop_caches"]() is False
    assert caches.read_text() == "0\n" and not (tmp_path / "synced").exists()


def test_caches_that_the_kernel_keeps_are_one_message(load, caches, program):
    program("sync", "exit 0")
    caches.unlink()
    caches.mkdir()
    with pytest.raises(CommandExecutionError, match="drop_caches cannot be written: .*; nothing was dropped"):
        load["benchmark_load.drop_caches"]()
    program("sync", "exit 1")
    with pytest.raises(CommandExecutionError, match="sync"):
        load["benchmark_load.drop_caches"]()


@pytest.fixture
def cluster(with_pillar, program, tmp_path):
    program("ceph", CEPH.format(tmp_path))
    program("rbd", f'echo "rbd $@" >>{tmp_path}/asked')
    (tmp_path / "pools").write_text('["images", "halocline-bench-rbd", "halocline-bench-rbd-ec"]')
    return with_pillar(ceph_secrets={"benchmark": "AQsecret"})


def osd_tree(case):
    """The answers of ``ceph osd tree`` and ``ceph osd df`` for a case's OSDs."""
    nodes, rows = [], []
    for at, (root, hosts) in enumerate((("default", case["osds"]), ("other", case.get("elsewhere", {})))):
        nodes.append(
            {"id": -1 - at, "name": root, "type": "root", "children": [-10 * at - 3 - h for h in range(len(hosts))]}
        )
        for host, osds in zip(nodes[-1]["children"], hosts.items(), strict=True):
            ids = list(range(len(rows), len(rows) + len(osds[1])))
            nodes.append({"id": host, "name": osds[0], "type": "host", "children": ids})
            for id_, osd in zip(ids, osds[1], strict=True):
                status, reweight = osd.get("status", "up"), osd.get("reweight", 1)
                nodes.append({"id": id_, "name": f"osd.{id_}", "type": "osd", "status": status, "reweight": reweight})
                kb = {"kb": osd["size"] << 20, "kb_avail": osd["avail"] << 20}
                rows.append({"id": id_, "crush_weight": osd["weight"], "reweight": reweight, **kb})
    return {"nodes": nodes}, {"nodes": rows}


@pytest.mark.parametrize("case", ROOMS, ids=lambda case: case["about"])
def test_what_fits_until_the_first_osd_is_full(cluster, program, tmp_path, case):
    """The mean says nothing: what a benchmark may write would fill the fullest."""
    tree, df = osd_tree(case)
    for name, told in (("tree", tree), ("df", df)):
        (tmp_path / name).write_text(json.dumps(told))
    program(
        "ceph",
        f"""shift 2
case "$*" in
    "osd tree"*) cat {tmp_path}/tree ;;
    "osd df"*) cat {tmp_path}/df ;;
    "osd dump"*) echo '{{"full_ratio": 0.95}}' ;;
    "osd stat"*) echo '{{"num_in_osds": 4}}' ;;
    "fs dump"*) echo '{{"standbys": []}}' ;;
    "osd pool ls"*) echo '[]' ;;
    "config get mon "*) echo 3 ;;
esac""",
    )
    facts = cluster["cluster_benchmark.facts"]()
    assert [
        round(facts["free"] / (1 << 30)),
        {host: round(free / (1 << 30)) for host, free in facts["host_free"].items()},
    ] == [case["free"], case["host_free"]]
    assert facts["size"] == 3 and facts["osds"] == 4


def test_a_quick_test_writes_so_many_objects_at_most(cluster, program, tmp_path):
    program("rados", f"""echo "$*" >>{tmp_path}/benches; echo '{{"bandwidth": 1, "datas": []}}'""")
    assert cluster["cluster_pool_benchmark.run"](10, 256) == {"write": {"bandwidth": 1}, "seq": {"bandwidth": 1}}
    told = [line.partition(" bench ")[2] for line in (tmp_path / "benches").read_text().splitlines()]
    assert told == ["10 write --no-cleanup --max-objects 256", "10 seq"]


def changes(tmp_path):
    asked = [line.split(" --format")[0] for line in (tmp_path / "asked").read_text().splitlines()]
    return [line for line in asked if {"set", "rm", "create", "fail", "new", "import"} & set(line.split())]


@pytest.mark.slow
def test_what_is_made_is_recorded_first_and_taken_away_by_the_record(cluster, tmp_path):
    facts = {"osds": 8, "per_osd": 250, "used": 3, "size": 3, "hosts": dict.fromkeys("abcd", 2), "standby_mds": 1}
    made = places.plan(
        ("rbd-ec",), {**facts, "free": 1 << 40}, ["node1"], suites.read("apollo").sizes["quick"], 1 << 28
    )
    with pytest.raises(CommandExecutionError, match="nobody would take away"):
        cluster["cluster_benchmark.make"](made.commands, made.caps)
    assert changes(tmp_path) == []
    assert cluster["cluster_benchmark.note"]({"id": "apollo-1", **made.record}) is True
    assert cluster["cluster_benchmark.make"](made.commands, made.caps) is True
    told = (tmp_path / "imported").read_text()
    assert "[client.halocline-bench]" in told and "AQsecret" in told and 'caps mon = "profile rbd, allow r"' in told
    assert "AQsecret" not in (tmp_path / "asked").read_text()
    assert cluster["cluster_benchmark.record"]()["id"] == "apollo-1"
    (tmp_path / "asked").write_text("")
    cluster["cluster_benchmark.tidy"]()
    gone = [line for line in changes(tmp_path) if "mon_allow_pool_delete" not in line]
    assert gone == [
        "osd pool rm halocline-bench-rbd halocline-bench-rbd --yes-i-really-really-mean-it",
        "osd pool rm halocline-bench-rbd-ec halocline-bench-rbd-ec --yes-i-really-really-mean-it",
        "osd crush rule rm halocline-bench-rbd-ec",
        "osd erasure-code-profile rm halocline-bench",
        "auth rm client.halocline-bench",
        "config-key rm halocline/benchmark",
    ]
    assert cluster["cluster_benchmark.tidy"]() == {"removed": []}


@pytest.mark.slow
def test_its_file_system_is_the_only_one_that_goes(cluster, tmp_path):
    record = {"id": "a", "pools": [], "rules": [], "profiles": [], "fs": "halocline-bench"}
    cluster["cluster_benchmark.note"](record)
    cluster["cluster_benchmark.tidy"]()
    assert [line for line in changes(tmp_path) if line.startswith("fs")] == [
        "fs fail halocline-bench", "fs rm halocline-bench --yes-i-really-mean-it",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "more", [{"pools": ["images"]}, {"fs": "cephfs"}, {"rules": ["replicated_rule"]}, {"profiles": ["default"]}]
)
def test_a_record_that_names_anything_else_deletes_nothing(cluster, tmp_path, more):
    record = {"id": "a", "pools": [], "rules": [], "profiles": [], "fs": "", **more}
    with pytest.raises(CommandExecutionError, match="not a benchmark's own"):
        cluster["cluster_benchmark.note"](record)
    (tmp_path / "record").write_text(json.dumps(record))  # by whatever way it came there
    (tmp_path / "asked").write_text("")
    with pytest.raises(CommandExecutionError, match="not a benchmark's own"):
        cluster["cluster_benchmark.tidy"]()
    assert changes(tmp_path) == []


@pytest.mark.slow
def test_a_command_that_names_nothing_of_its_own_is_not_run(cluster, tmp_path):
    cluster["cluster_benchmark.note"]({"id": "a", "pools": [], "rules": [], "profiles": [], "fs": ""})
    (tmp_path / "asked").write_text("")
    with pytest.raises(CommandExecutionError, match="names nothing of the benchmark's own"):
        cluster["cluster_benchmark.make"]([["osd", "pool", "set", "images", "size", "1"]], {})
    assert changes(tmp_path) == []


def test_disks_are_read_and_never_written(python_module, program, tmp_path, monkeypatch):
    disk = {"id": "/dev/disk/by-id/a", "device": "/dev/sdz", "size": 10**12, "model": "X"}
    module = python_module("benchmark_disks")
    found = {"ceph_disks": [disk, {**disk, "id": "b", "size": 0}]}
    monkeypatch.setattr(module, "__salt__", {"disks.inspect": lambda: found})
    program("fio", f'echo "$@" >>{tmp_path}/fio; echo \'{{"jobs": [{{"read": {{"bw_bytes": 2097152}}}}]}}\'')
    assert module.read(3) == {disk["id"]: {"mib_s": 2.0, "model": "X", "size": 10**12}}
    (words,) = (tmp_path / "fio").read_text().splitlines()
    assert "--readonly" in words and "--rw=read" in words and "--filename=/dev/sdz" in words and "write" not in words
