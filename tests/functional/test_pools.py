"""Pools that are changed and deleted, and what that would move: Salt's loader, a ``ceph`` and a ``crushtool`` that are
played. Its answers are recorded from Ceph 16.2: four hosts of two OSDs each (``now``), and a fifth (``then``).
"""

import json
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from salt.exceptions import CommandExecutionError
from saltmaster import Master

from runners.engine.asking import jobs, minions
from runners.engine.cluster import ceph
from runners.engine.runs import stage_lock

RECORDED = Path(__file__).parent.parent / "fixtures/crushtool"
MIB = 1 << 20
CEPH = r"""#!/bin/sh
shift 2  # --connect-timeout 30
echo "$*" >>{0}/asked
case "$*" in
    "osd getcrushmap -o"*) cp {0}/map.txt "$4" ;;
    "osd getmap -o"*) touch "$4" ;;
    "osd dump"*) cat {0}/dump ;;
    "pg dump pgs"*) cat {0}/pgs ;;
    "pg ls-by-pool p"*) cat {0}/groups ;;
    "osd df"*) cat {0}/df ;;
    "df "*) echo '{{"pools": [{{"name": "p", "stats": {{"stored": 5, "objects": 2}}}}]}}' ;;
    "fs ls"*) echo '[{{"name": "cephfs", "metadata_pool": "m", "data_pools": ["e"]}}]' ;;
    "osd erasure-code-profile get e"*) echo '{{"k": "2", "m": "2"}}' ;;
    "osd pool ls detail"*) cat {0}/detail ;;
    "osd pool ls"*) cat {0}/names ;;
    "config-key dump"*)
        python3 -c 'import json; print(json.dumps({{"halocline/mon_allow_pool_delete": open("{0}/kept").read()}}))' \
            2>/dev/null || echo '{{}}' ;;
    "config-key set"*) echo "$4" >{0}/kept ;;
    "config-key rm"*) rm -f {0}/kept ;;
    "config dump"*)
        if [ -e {0}/slow ] && mkdir {0}/first; then for n in 1 2 3 4 5 6 7 8; do [ -e {0}/true ] || sleep 0.2; done; fi
        if [ -e {0}/true ]; then cat {0}/allowed; else cat {0}/config; fi ;;
    "config set mon mon_allow_pool_delete true"*) touch {0}/true ;;
    "config set mon mon_allow_pool_delete false"* | "config rm mon mon_allow_pool_delete"*) rm -f {0}/true ;;
    "osd pool rm p p --yes-i-really-really-mean-it"*) [ ! -e {0}/killed ] || exit 1; echo '[]' >{0}/names ;;
    *) echo "what is $*" >&2; exit 22 ;;
esac
"""
CRUSHTOOL = r"""#!/bin/sh
echo "$*" >>{0}/tested
case "$*" in
    "-d "*) cp "$2" "$4" ;;
    "-c "*) cp "$2" "$4" ;;
    *"--add-item"*) ;;
    *"--dump --format json") cat {0}/rules ;;
    *now*"--rule 0"*) cat {0}/now.0 ;;
    *then*"--rule 0"*) cat {0}/then.0 ;;
    *now*"--rule 1"*) cat {0}/now.1 ;;
    *then*"--rule 1"*) cat {0}/then.1 ;;
    *) echo "what is $*" >&2; exit 1 ;;
esac
"""
OSDMAPTOOL = r"""#!/bin/sh
echo "$2 $3 $4 $5" >>{0}/reweighted
"""


def pool(number, name, kind, groups, **more):
    return {
        "pool": number,
        "pool_name": name,
        "type": kind,
        "size": 3 if kind == 1 else 4,
        "crush_rule": number - 1,
        "pg_num": groups,
        "pg_placement_num": groups,
        "erasure_code_profile": "e" if kind == 3 else "",
        "flags_names": "hashpspool",
        "application_metadata": {"rbd": {}},
        "tiers": [],
        "tier_of": -1,
        **more,
    }


HOLDS = {"num_bytes": 4 * MIB, "num_omap_bytes": 0, "num_objects": 1}
POOLS = [pool(1, "p", 1, 16), pool(2, "e", 3, 8)]


@pytest.fixture
def played(tmp_path, monkeypatch, python_module):
    """A cluster of two pools; its files are its answers. Each group of a pool holds 4 MiB."""
    groups = [
        {"pgid": f"{one['pool']}.{seed:x}", "state": "active+clean", "stat_sum": HOLDS}
        | {"acting": [0, 1, 2], "up": [0, 1, 2]}
        for one in POOLS
        for seed in range(one["pg_num"])
    ]
    groups[3] |= {"acting": [0, 2147483647, 2], "up": [0, 5, 2]}
    osds = [{"osd": number, "weight": 0 if number == 3 else 1} for number in range(8)]
    answers = {
        "dump": {"pools": POOLS, "osds": osds, "backfillfull_ratio": 0.9, "full_ratio": 0.95},
        "pgs": {"pg_ready": True, "pg_stats": groups},
        "df": {"nodes": [{"id": n, "crush_weight": 5.5, "kb": 1 << 20, "kb_used": 1 << 19} for n in range(8)]},
        "detail": POOLS,
        "names": ["p", "e"],
        "config": [],
        "allowed": [{"section": "mon", "name": "mon_allow_pool_delete", "value": "true"}],
        "rules": {"rules": [{"rule_id": 0, "rule_name": "r"}, {"rule_id": 1, "rule_name": "ec"}]},
    }
    for name, answer in answers.items():
        (tmp_path / name).write_text(json.dumps(answer))
    for name in ("now.0", "now.1", "then.0", "then.1", "map.txt"):
        (tmp_path / name).write_text((RECORDED / name).read_text())
    for name, text in (("ceph", CEPH), ("crushtool", CRUSHTOOL), ("osdmaptool", OSDMAPTOOL)):
        (tmp_path / name).write_text(text.format(tmp_path))
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(python_module("cluster_pools"), "LOCK", tmp_path / "lock", raising=False)
    return tmp_path


ADDED = [["--add-item", str(osd), "5.5", f"osd.{osd}", "--loc", "host", "node5"] for osd in (8, 9)]


@pytest.mark.slow
def test_what_a_host_more_moves_is_what_crushtool_places_elsewhere(modules, played):
    """Counted by hand in the recorded mappings: 11 copies of p, 6 parts of e, which hold half of a group's data."""
    found = modules["cluster_moves.estimate"](ADDED, None, {"8": "hdd", "9": None})
    assert found["pools"] == {
        "p": {"bytes": 11 * 4 * MIB, "groups": 11, "lacking": 0, "acting": 2},
        "e": {"bytes": 6 * 2 * MIB, "groups": 6, "lacking": 0, "acting": 3},
    }
    assert sum(osd["gets"] for osd in found["osds"].values()) == 56 * MIB
    assert sum(osd["loses"] for osd in found["osds"].values()) == 56 * MIB
    assert found["osds"]["8"] == {"gets": (4 + 4 + 4 + 4 + 4) * MIB + 5 * 2 * MIB, "loses": 0, "kb": 0, "kb_used": 0}
    assert (found["busy"], found["limit"]) == (1, 0.9)
    tested = (played / "tested").read_text()
    assert "--rule 0 --num-rep 3 --pool-id 1 --min-x 0 --max-x 15 --weight 3 0" in tested
    asked = {line.split(" --format")[0].split(" /")[0] for line in (played / "asked").read_text().splitlines()}
    assert asked == {"osd dump", "pg dump pgs", "osd getcrushmap -o", "osd erasure-code-profile get e", "osd df"}


@pytest.mark.slow
def test_what_a_code_of_layers_moves_is_counted_by_its_mapping(modules, played):
    """LRC without k, m and l: Ceph keeps -1 of each (ErasureCodeLrc.cc), and bytes were negative."""
    layers = json.dumps({"plugin": "lrc", "k": "-1", "m": "-1", "l": "-1", "mapping": "D_D_", "layers": "[]"})
    text = (played / "ceph").read_text()
    (played / "ceph").write_text(text.replace(json.dumps({"k": "2", "m": "2"}), layers))
    found = modules["cluster_moves.estimate"](ADDED, None, {"8": "hdd", "9": None})
    assert found["pools"]["e"]["bytes"] == 6 * 2 * MIB


@pytest.mark.slow
@pytest.mark.parametrize(
    ("holds", "each"),
    [
        ({"num_bytes": 0, "num_omap_bytes": 4 * MIB}, 4 * MIB),  # a bucket's index
        ({"num_bytes": 0, "num_objects": 3}, 3 * 4096),  # before the first deep scrub
    ],
)
def test_what_lies_in_omap_moves_too(modules, played, holds, each):
    pgs = json.loads((played / "pgs").read_text())
    for row in pgs["pg_stats"]:
        row["stat_sum"] |= holds
    (played / "pgs").write_text(json.dumps(pgs))
    assert modules["cluster_moves.estimate"](ADDED, None, {"8": "hdd", "9": None})["pools"]["p"]["bytes"] == 11 * each


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["unknown", "none"])
def test_what_a_manager_that_has_just_begun_does_not_know_is_not_nothing(modules, played, rows):
    pgs = json.loads((played / "pgs").read_text())
    nothing = dict.fromkeys(HOLDS, 0)
    known = [{**row, "state": "unknown", "stat_sum": nothing} for row in pgs["pg_stats"]] if rows == "unknown" else []
    (played / "pgs").write_text(json.dumps({**pgs, "pg_stats": known}))
    with pytest.raises(CommandExecutionError, match="pool p: the active manager does not know yet what"):
        modules["cluster_moves.estimate"](ADDED, None, {"8": "hdd", "9": None})
    df = json.loads((played / "df").read_text())  # a new cluster, all of whose OSDs wait for their weights
    waiting = [{**node, "crush_weight": 0} for node in df["nodes"]]
    (played / "df").write_text(json.dumps({"nodes": waiting}))
    assert modules["cluster_moves.estimate"](ADDED, None, {"8": "hdd", "9": None})["pools"]["p"]["bytes"] == 0


def test_groups_that_lack_a_copy_already_may_not_lose_the_others(python_module):
    """Of three copies, with one that died: what finds no place then is not less than what found too few before."""
    module = python_module("cluster_moves")
    one = {**POOLS[0], "pg_num": 4, "pg_placement_num": 4}
    places = iter([[[0, 1], [0, 1], [0, 1], [0, 1]], [[], [0], [4, 5], [4, 5, 6]]])
    module._mapped, mapped = (lambda *_: next(places)), module._mapped
    held = {"bytes": dict.fromkeys(range(4), 0), "acting": 2}
    try:
        moved = module._moved(one, {}, [{"file": "", "rules": {"r": 0}}] * 2, [], held, set(), (Counter(), Counter()))
    finally:
        module._mapped = mapped
    assert moved["lacking"] == 2


@pytest.mark.slow
def test_devices_that_are_to_be_get_their_class_in_the_copy(modules, played):
    edit = (played / "crushtool").read_text().replace('"-c "*) cp', f'"-c "*) cp "$2" {played}/compiled; cp')
    (played / "crushtool").write_text(edit)
    modules["cluster_moves.estimate"](ADDED, None, {"8": "hdd", "9": None, "3": "ssd"})
    text = (played / "compiled").read_text()
    devices = [line for line in text.splitlines() if line.startswith("device ")]
    assert devices[-3:] == ["device 8 osd.8 class hdd", "device 9 osd.9", "device 3 osd.3 class ssd"]
    assert len(devices) == 10 and text.count("osd.3 class") == 1 and text.endswith("# end crush map\n")


@pytest.mark.slow
def test_thousands_of_weights_are_changed_in_a_few_runs(modules, played):
    edits = [["--reweight-item", f"osd.{osd}", "5.5"] for osd in range(5000)]
    modules["cluster_moves.estimate"](edits)
    assert "--reweight-item" not in (played / "tested").read_text()
    first, *runs = (played / "reweighted").read_text().splitlines()
    assert first.startswith("--import-crush ") and len(runs) == 3
    weights = [weight for run in runs for weight in run.split()[1].split(",")]
    assert weights == [f"{osd}:5.5" for osd in range(5000)] and max(map(len, runs)) < 128 << 10


def test_where_there_is_no_pool_no_map_is_made(modules, played):
    dump = json.loads((played / "dump").read_text())
    (played / "dump").write_text(json.dumps({**dump, "pools": []}))
    assert modules["cluster_moves.estimate"](ADDED, None, {"8": "hdd", "9": None})["pools"] == {}
    assert not (played / "tested").exists()


@pytest.mark.parametrize(("groups", "count"), [(1, 1), (12, 12), (16, 16)])
def test_groups_lie_where_ceph_looks_for_them(python_module, groups, count):
    """ceph_stable_mod: a group beyond the number of groups lies with the one it was split from."""
    stable = python_module("cluster_moves")._stable
    assert [stable(group, groups) for group in range(groups)] == list(range(count))
    assert [stable(group, 12) for group in (12, 13, 15, 28)] == [4, 5, 7, 4]


def test_more_placement_groups_share_what_their_parents_held(python_module):
    module = python_module("cluster_moves")
    one = {**POOLS[0], "pg_num": 2, "pg_placement_num": 2}
    held = {"bytes": {0: 4 * MIB, 1: 8 * MIB, 2: 0, 3: 0}, "acting": 3}
    places = {2: [[0, 1, 2], [3, 4, 5]], 4: [[0, 1, 2], [3, 4, 5], [0, 1, 6], [3, 4, 5]]}
    module._mapped, kept = (lambda one, pool, rule, size, groups, weights: places[groups]), module._mapped
    try:
        maps = [{"file": "", "rules": {"r": 0}}] * 2
        gets, loses = module.Counter(), module.Counter()
        moved = module._moved(one, {"pg_num": 4}, maps, [], held, set(), (gets, loses))
        assert (moved["bytes"], moved["groups"], dict(gets), dict(loses)) == (2 * MIB, 1, {6: 2 * MIB}, {2: 2 * MIB})
        moved = module._moved(
            {**one, "pg_num": 4, "pg_placement_num": 4}, {"pg_num": 2}, maps, [], held, set(), (gets, loses)
        )
        assert moved["groups"] == 1
    finally:
        module._mapped = kept


@pytest.mark.parametrize(
    ("states", "says"),
    [
        (["active+clean", "active+undersized+degraded"], ""),
        (["active+clean", "unknown", "creating+peering"], "not active: 1 creating\\+peering, 1 unknown"),
        (["undersized+degraded+peered"], "not active: 1 undersized"),
        ([], "not active: none is known yet"),
    ],
)
def test_images_wait_for_a_pool_only_as_long_as_it_comes_up(modules, python_module, played, monkeypatch, states, says):
    """``rbd pool init`` would hang for ever, and say nothing, where groups are inactive."""
    (played / "groups").write_text(json.dumps({"pg_stats": [{"state": state} for state in states]}))
    (played / "rbd").write_text(f"#!/bin/sh\ntouch {played}/ran\n")
    (played / "rbd").chmod(0o755)
    monkeypatch.setattr(python_module("cluster_crush"), "SERVED", 0)
    with pytest.raises(CommandExecutionError, match=says) if says else nullcontext():
        modules["cluster_crush.apply"]([["rbd", "pool", "init", "p"]])
    assert (played / "ran").exists() is not bool(says)


@pytest.mark.slow
def test_a_pool_is_deleted_by_a_permission_of_that_moment(modules, played):
    assert modules["cluster_pools.inspect"]()["p"] == {
        "bytes": 5, "objects": 2, "applications": ["rbd"], "nodelete": False, "file_systems": [], "tiers": False,
    }  # fmt: skip
    assert modules["cluster_pools.inspect"]()["e"]["file_systems"] == ["cephfs"]
    (played / "config").write_text(json.dumps([{"section": "mon", "name": "mon_allow_pool_delete", "value": "false"}]))
    assert modules["cluster_pools.delete"]("p", "p") is True
    asked = [line.split(" --format")[0] for line in (played / "asked").read_text().splitlines()]
    changes = [line for line in asked if {"set", "rm"} & set(line.split())]
    assert changes == [
        "config-key set halocline/mon_allow_pool_delete false",
        "config set mon mon_allow_pool_delete true",
        "osd pool rm p p --yes-i-really-really-mean-it",
        "config set mon mon_allow_pool_delete false",
        "config-key rm halocline/mon_allow_pool_delete",
    ]
    assert not (played / "kept").exists()


@pytest.mark.slow
def test_two_deletions_at_once_leave_no_permission(modules, played):
    """Typed in two shells: one took the permission of the other for what was before, and it stayed for good."""
    (played / "slow").touch()
    both = sys.modules["halocline"].side_by_side(modules["cluster_pools.delete"], [("p", "p")] * 2, 2)
    assert both == [True, True] and json.loads((played / "names").read_text()) == []
    assert (played / "first").exists() and not (played / "true").exists() and not (played / "kept").exists()


@pytest.mark.slow
def test_what_a_deletion_left_that_was_killed_is_put_back(modules, played):
    (played / "kept").write_text("(not set)")
    (played / "true").touch()
    assert modules["cluster_pools.allowed"]() is True
    assert modules["cluster_pools.forbid"]() == ["mon_allow_pool_delete"]
    assert not (played / "true").exists() and not (played / "kept").exists()
    assert (modules["cluster_pools.allowed"](), modules["cluster_pools.forbid"]()) == (False, [])


def test_two_names_delete_nothing(modules, played):
    with pytest.raises(CommandExecutionError, match="nothing was deleted"):
        modules["cluster_pools.delete"]("p", "e")
    assert not (played / "asked").exists()


@pytest.mark.slow
def test_the_permission_goes_back_where_deleting_fails(python_module, modules, played, monkeypatch):
    (played / "killed").touch()
    clock = SimpleNamespace(sleep=lambda _: None, monotonic=iter(range(0, 10000, 20)).__next__)
    monkeypatch.setattr(sys.modules["halocline"], "time", clock)  # never all of Python's: other threads wait by it
    with pytest.raises(CommandExecutionError):
        modules["cluster_pools.delete"]("p", "p")
    assert "config rm mon mon_allow_pool_delete" in (played / "asked").read_text()
    assert not (played / "kept").exists()


@pytest.fixture(scope="module")
def runners(salt_factories):
    return salt_factories.salt_master_daemon("pools", factory_class=Master).runners()


THERE = {
    "pool_name": "images", "size": 3, "min_size": 2, "crush_rule": "replicated_rule", "erasure_code_profile": "",
    "applications": ["rbd"], "pg_num": 32, "pg_autoscale_mode": "on", "quota_max_bytes": 0, "quota_max_objects": 0,
    "flags": [], "options": {},
}  # fmt: skip
RULES = {"replicated_rule": {"domain": "host", "root": "default", "class": ""}}
NODES = [{"id": -1, "name": "default", "type": "root", "children": [-2, -3, -4]}]
NODES += [{"id": -2 - at, "name": f"node{at}", "type": "host", "children": [at]} for at in range(3)]
NODES += [{"id": at, "name": f"osd.{at}", "type": "osd", "device_class": "hdd"} for at in range(3)]


@pytest.fixture
def cluster(monkeypatch):
    """What the site says and the cluster answers; every change is in ``log``."""
    moved = {"images": {"bytes": 3 << 30, "groups": 9, "lacking": 0, "acting": 3}}
    made = {
        "pillar": {"pools": {"images": {"application": "rbd", "size": 2}}, "ceph": {"services": {}}},
        "found": {"tree": NODES, "rules": RULES, "profiles": {}, "pools": [THERE]},
        "moves": {"pools": moved, "osds": {}, "busy": 0, "limit": 0.9},
        "pools": {"images": {"bytes": 5 << 30, "objects": 7, "applications": ["rbd"], "nodelete": False,
                             "file_systems": [], "tiers": False}},
        "log": [],
    }  # fmt: skip

    def asked(opts, function, words=(), kind=None, timeout=0):
        if function in ("cluster_crush.apply", "cluster_pools.delete"):
            made["log"].append((function, list(words)))
            return {}
        return {"cluster_moves.estimate": made["moves"], "cluster_pools.inspect": made["pools"]}[function]

    monkeypatch.setattr(jobs, "cluster", asked)
    monkeypatch.setattr(ceph, "found", lambda opts, test: made["found"])
    monkeypatch.setattr(minions, "pillar", lambda opts: made["pillar"])
    return made


@pytest.mark.slow
def test_a_pool_is_changed_by_its_name_and_a_dry_run_says_what_moves(runners, cluster):
    dry = runners["pool.change"]("images", test=True)["text"]
    assert dry.splitlines() == [
        "would run:",
        "ceph osd pool set images size 2",
        "ceph osd pool set images min_size 2",
        "about 3 GiB of data move, in 9 copies of placement groups (images 3 GiB)",
    ]
    assert cluster["log"] == []
    done = runners["pool.change"]("images")
    assert done["changes"] == {"ceph": ["ceph osd pool set images size 2", "ceph osd pool set images min_size 2"]}
    words = [["osd", "pool", "set", "images", key, "2"] for key in ("size", "min_size")]
    assert cluster["log"] == [("cluster_crush.apply", [words])]
    cluster["found"]["pools"] = [{**THERE, "size": 2}]
    assert "nothing changed" in runners["pool.change"]("images")["text"] and len(cluster["log"]) == 1


@pytest.mark.parametrize(("least", "status"), [(2, 0), (3, 2)])
def test_min_size_is_judged_by_the_copies_that_the_pool_has_where_the_site_names_none(runners, cluster, least, status):
    cluster["pillar"]["pools"]["images"] = {"application": "rbd", "min_size": least}
    cluster["found"]["pools"] = [{**THERE, "size": 2, "min_size": 1}]
    done = runners["pool.change"]("images", test=True)
    assert done.get("retcode", 0) == status, done
    assert status == 0 or "min_size is 3: expected a number from 1 to 2" in done["error"]


@pytest.mark.parametrize(
    ("site", "moves", "says"),
    [
        ({"size": 2}, {"lacking": 4}, "pool images: 4 placement groups would find too few failure domains"),
        ({"min_size": 3}, {"acting": 2}, "clients would need 3 copies (min_size)"),
        ({"size": 4}, {}, "pools: images: needs 4 hosts with OSDs, there are 3"),
        ({"erasure": "2+1"}, {}, "Ceph changes that of no pool"),
        (
            {"quota": {"bytes": "5G"}},
            {},
            "pool images: it holds 5 GiB, and its quota would be 5 GiB: clients could not",
        ),
        ({"quota": {"bytes": "9G", "objects": 6}}, {}, "it holds 7 objects, and its quota would be 6 objects: clients"),
    ],
)
def test_a_change_that_would_hurt_is_refused(runners, cluster, site, moves, says):
    cluster["pillar"]["pools"]["images"] = {"application": "rbd", **site}
    cluster["moves"]["pools"]["images"] |= moves
    for test in (True, False):
        done = runners["pool.change"]("images", test=test)
        assert done["retcode"] == 2 and says in done["error"]
    assert cluster["log"] == []


@pytest.mark.parametrize("quota", [{"bytes": "6G", "objects": 8}, {"bytes": 0}, {"objects": 6}])
def test_a_quota_that_leaves_room_is_set(runners, cluster, quota):
    """One that the pool has already is no change of ours."""
    cluster["pillar"]["pools"]["images"] = {"application": "rbd", "quota": quota}
    cluster["found"]["pools"] = [{**THERE, "quota_max_bytes": 1 << 30, "quota_max_objects": 6}]
    assert "retcode" not in runners["pool.change"]("images")
    assert len(cluster["log"]) == (quota != {"objects": 6})


def test_names_that_nobody_knows(runners, cluster):
    assert "no setting names this pool: did you mean 'images'?" in runners["pool.change"]("image")["error"]
    cluster["found"]["pools"] = []
    assert "the cluster has no pool images yet" in runners["pool.change"]("images")["error"]
    assert "the cluster has no pool image: did you mean 'images'?" in runners["pool.delete"]("image", "image")["error"]


def test_a_services_pool_is_changed_too_and_not_deleted(runners, cluster):
    cluster["pillar"] = {"ceph": {"services": {"openstack": {"pools": {"images": {"application": "rbd", "size": 2}}}}}}
    assert "size 2" in runners["pool.change"]("images", test=True)["text"]
    assert "the settings, or a service, name it" in runners["pool.delete"]("images", "images")["error"]
    assert cluster["log"] == []


def test_a_pool_is_deleted_only_by_its_name_typed_twice(runners, cluster):
    cluster["pillar"]["pools"] = {}
    assert "would delete pool images (rbd): 7 objects, 5 GiB" in runners["pool.delete"]("images", test=True)["text"]
    for again in (None, "image"):
        done = runners["pool.delete"]("images", again)
        assert done["retcode"] == 2 and "type its name twice" in done["error"]
    assert cluster["log"] == []
    assert "deleted: pool images" in runners["pool.delete"]("images", "images")["text"]
    assert cluster["log"] == [("cluster_pools.delete", ["images", "images"])]


@pytest.mark.parametrize("name", [1.1, 7, 16, True, None], ids=str)
def test_a_name_that_salt_read_as_another_value_deletes_and_changes_nothing(runners, cluster, name):
    """Typed were 1.10, 007, 0x10, yes: other pools may be called what Salt made of them."""
    cluster["pools"][str(name)] = cluster["pools"]["images"]
    cluster["pillar"]["pools"] = {}
    for done in (runners["pool.delete"](name, name), runners["pool.change"](name)):
        assert done["retcode"] == 2 and done["error"].startswith("name: the command line was read as YAML and gave"), (
            done
        )
    assert "again: the command line" in runners["pool.delete"]("images", 7)["error"]
    assert cluster["log"] == []


@pytest.mark.parametrize(("name", "typed"), [("007", "\"'007'\""), ("1.10", "\"'1.10'\""), ("a b", "'a b'")])
def test_the_printed_command_means_that_pool(runners, cluster, name, typed):
    cluster["pools"] = {name: cluster["pools"]["images"]}
    for words in ({"test": True}, {}):
        done = runners["pool.delete"](name, **words)
        assert f"salt-run pool.delete {typed} {typed}" in done.get("error", done.get("text"))


def test_a_stage_that_runs_holds_it_back(runners, cluster, monkeypatch):
    monkeypatch.setattr(stage_lock, "holder", lambda opts: {"stage": "deploy"})
    for done in (runners["pool.change"]("images"), runners["pool.delete"]("images", "images")):
        assert "stage deploy is running" in done["error"]
    assert cluster["log"] == []
