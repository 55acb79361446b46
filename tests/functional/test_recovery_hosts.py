"""What hosts do for a measurement of recovery, through Salt's loader: a load that tells each second, OSDs out and back.

``ceph``, ``systemd-run`` and ``systemctl`` are played; fio's lines are recorded (3.33, 200 writes of 4 KiB a second).
"""

import copy
from pathlib import Path

import pytest
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

from proposals.benchmarks import dips, scenarios

TOLD = (Path(__file__).parents[1] / "fixtures/benchmarks/status.terse").read_text()
PLACE = {"kind": "rbd", "pool": "halocline-bench-rbd", "images": {"node1": ["rbd-node1-0"]}}
JOB = scenarios.load(PLACE, 64 << 20, 600, 200)
NOT_OURS = [
    ({"place": {**PLACE, "pool": "images"}}, "not a benchmark's own"),
    ({"options": {**JOB["options"], "rate_iops": "1 --filename=/dev/sda"}}, "nothing that a benchmark's job may hold"),
    ({"options": {**JOB["options"], "rw": "randread"}}, "is one of writes by fio"),
    ({"tool": "rados"}, "is one of writes by fio"),
]


@pytest.fixture
def sample(python_module, tmp_path, monkeypatch):
    """The module with its files in ``tmp_path``; ``ran`` are the programs that it ran."""
    made, words = python_module("benchmark_sample"), python_module("benchmark_words")
    monkeypatch.setattr(made, "FOLDER", tmp_path / "run")
    made.ran, made.active = [], 0
    monkeypatch.setattr(made.halocline, "run", lambda words, **_: made.ran.append(words))
    monkeypatch.setattr(made.halocline, "status", lambda words, **_: made.active)
    known = {"benchmark_words.command": words.command}
    with LoaderModuleMock({made: {"__salt__": known, "__grains__": {"id": "node1"}}}):
        yield made


def test_a_load_is_a_unit_with_a_limit_that_is_not_waited_for(sample):
    assert sample.start(JOB, 900) is True
    (words,) = sample.ran
    assert words[:2] == ["systemd-run", "--unit=halocline-benchmark.service"] and "--wait" not in words
    assert "--property=RuntimeMaxSec=900" in words
    tool = words[words.index("fio") :]
    assert tool[1:4] == sample.TERSE and not any("json" in word for word in tool)
    assert {"--rw=randwrite", "--rate_iops=200", "--rbdname=rbd-node1-0", "--runtime=600"} <= set(tool)


@pytest.mark.parametrize(("more", "says"), NOT_OURS, ids=["pool", "option", "reads", "tool"])
def test_nothing_of_anybody_else_is_loaded(sample, more, says):
    with pytest.raises(CommandExecutionError, match=says):
        sample.start({**JOB, **more}, 900)
    assert sample.ran == []


def test_each_second_is_told_once_and_a_half_written_line_not_at_all(sample, tmp_path):
    (tmp_path / "run").mkdir()
    out = tmp_path / "run/out"
    out.write_text(f"fio: a note\n{TOLD[:-100]}")
    first = sample.since(0)
    assert first["at"] == out.stat().st_mtime
    out.write_text(f"fio: a note\n{TOLD}")
    every = sample.since(0)["samples"]
    assert len(every) == len(first["samples"]) + 1 and sample.since(len(every) - 1)["samples"] == every[-1:]
    curve = dips.each_second([(ms / 1000, kib / scenarios.BLOCK) for ms, kib in every], 1, 3)
    assert curve == pytest.approx([200] * 3, rel=0.1)


def test_a_load_that_does_not_run_is_told_with_its_own_words(sample, tmp_path):
    assert sample.since(0) == {"at": None, "samples": []}, "it runs and has told nothing yet"
    (tmp_path / "run").mkdir()
    (tmp_path / "run/err").write_text("no such image")
    sample.active = 3
    with pytest.raises(CommandExecutionError, match="it said: no such image"):
        sample.since(0)


def test_another_form_of_fios_lines_is_one_message(sample, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/out").write_text("3;fio-9;odd\n")
    with pytest.raises(CommandExecutionError, match="another form than its terse version 3"):
        sample.since(0)


def test_processors(sample, tmp_path, monkeypatch):
    free, total = sample.processors()
    assert 0 <= free <= total
    stat = tmp_path / "stat"
    stat.write_text("cpu  50 300 20 600 25 0 5 0 0 0\n")
    monkeypatch.setattr(sample, "STAT", stat)
    assert sample.processors() == [925, 1000], "what runs at a lower priority gives way"


@pytest.fixture
def ceph(python_module):
    """The module; ``told`` are the commands that change something."""
    made = python_module("cluster_recovery_measure")
    osds = [
        {"osd": at, "up": at != 2, "in": 1, "weight": weight, "state": ["exists"]}
        for at, weight in enumerate((1.0, 0.799988, 1.0))
    ]
    answers = {
        "osd dump": {"osds": osds, "flags_set": ["sortbitwise"]},
        "status": {"pgmap": {"num_pgs": 9, "pgs_by_state": [{"state_name": "active+clean", "count": 9}]}},
        "pg dump sum": {"pg_stats_sum": {"stat_sum": {"num_bytes_recovered": 77}}},
    }
    made.answers, made.told, made.kept = answers, [], {}

    def tell(words, stdin=None):
        made.told.append(" ".join(words))
        if words[:2] == ["config-key", "set"]:
            made.kept[words[2]] = stdin
        if words[:2] == ["config-key", "rm"]:
            del made.kept[words[2]]
        return ""

    known = {
        "cluster_cli.ask": lambda words: copy.deepcopy(answers[" ".join(words)]),
        "cluster_cli.tell": tell,
        "cluster_cli.kept": made.kept.get,
        "cluster_cli.refused": lambda words: " ".join(words),
    }
    with LoaderModuleMock({made: {"__salt__": known}}):
        yield made


def test_no_osd_goes_out_whose_weight_nobody_kept(ceph):
    with pytest.raises(CommandExecutionError, match="nobody kept the weight of osd.0, osd.1"):
        ceph.out([0, 1])
    ceph.note({"weights": {"1": 0.799988}})
    with pytest.raises(CommandExecutionError, match=r"weight of osd.0: nothing"):
        ceph.out([0, 1])
    assert [line for line in ceph.told if line.startswith("osd")] == []


def test_osds_go_out_together_and_come_back_with_the_weights_they_had(ceph):
    ceph.note({"weights": {"0": 1.0, "1": 0.799988}})
    assert ceph.out([0, 1]) is True and ceph.told[-1] == "osd out 0 1"
    for osd in ceph.answers["osd dump"]["osds"][:2]:
        osd["weight"] = 0
    assert ceph.back() == [0, 1] and ceph.told[-2:] == ["osd reweight 0 1.0", "osd reweight 1 0.799988"]
    ceph.answers["osd dump"]["osds"][0]["weight"] = 1.0
    ceph.answers["osd dump"]["osds"][1]["weight"] = 0.79997
    ceph.told.clear()
    assert ceph.back() == [] and ceph.told == [], "what is so stays so"
    assert ceph.forget() and ceph.record() == {} and ceph.forget()


def test_what_is_known_before(ceph):
    assert ceph.facts() == {"flags": [], "weights": {"0": 1.0, "1": 0.799988}}, "osd.2 is down"
    dump = ceph.answers["osd dump"]
    dump["flags_set"], dump["crush_node_flags"] = ["noout", "sortbitwise"], {"node1": ["noin"]}
    dump["osds"][0]["state"] = ["exists", "noup", "up"]
    assert ceph.facts()["flags"] == ["noin", "noout", "noup"]
    assert ceph.refused([0, 1]) == "osd ok-to-stop 0 1"


@pytest.mark.parametrize(
    ("states", "clean"),
    [
        ({"active+clean": 8, "active+clean+scrubbing+deep": 1}, True),
        ({"active+clean": 8, "active+clean+remapped": 1}, False),
        ({"active+clean": 8, "active+undersized+degraded": 1}, False),
        ({"active+clean": 8}, False),
        ({}, False),
    ],
)
def test_all_is_clean_only_where_every_group_is(ceph, states, clean):
    told = [{"state_name": name, "count": count} for name, count in states.items()]
    ceph.answers["status"]["pgmap"]["pgs_by_state"] = told
    assert ceph.state() == {"clean": clean, "recovered": 77}
    ceph.answers["pg dump sum"] = {"pg_ready": True, "pg_map": ceph.answers["pg dump sum"]}
    assert ceph.state()["recovered"] == 77
