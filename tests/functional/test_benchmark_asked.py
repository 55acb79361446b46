"""Benchmarks as they are typed, on a cluster that is played: what is refused, each moment as the end, what is kept."""

import copy
import dataclasses
import json
import re
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from played import ROOT, Killed, Minions, shown_in
from saltmaster import Master

from proposals.benchmarks import suites
from proposals.cluster.health.findings import WRONG, Complaint
from proposals.cluster.health.judge import Verdict
from proposals.stages import replies
from proposals.text.errors import ArgumentError, ProposalError
from runners.engine.asking import jobs, lent, minions
from runners.engine.benchmarks import bench_jobs, bench_store, benching
from runners.engine.cluster import health, network_proof
from runners.engine.runs import stage_lock

FIO = json.loads((ROOT / "tests/fixtures/benchmarks/randrw.json").read_text())
BENCH = {"bandwidth": "10", "average_iops": "9", "average_latency": "0.1", "max_latency": "1", "total_time_run": "5"}
FACTS = {
    "osds": 8, "per_osd": 250, "used": 3, "size": 3, "hosts": {f"osdnode{at}": 2 for at in (1, 2, 3, 4)},
    "free": 10**12, "host_free": {f"osdnode{at}": 10**12 // 4 for at in (1, 2, 3, 4)},
    "standby_mds": 2, "pools": ["images"],
}  # fmt: skip


class Cluster(Minions):
    """``pools`` that exist, the ``record`` that is kept; each change of them may be the last."""

    CHANGES = ("note", "make", "prepare", "run", "tidy", "stop")

    def __init__(self):
        super().__init__()
        self.record, self.pools, self.facts, self.fails, self.asked = {}, {"images"}, copy.deepcopy(FACTS), None, []
        self.waits = []  # seconds that passed between jobs
        self.on = set()  # load generators on which something is left
        self.counted, self.gains, self.dropped = (
            0,
            107374182,
            set(),
        )  # what rados bench says: 50 of 10 MiB/s at 10/s, twice

    def cluster_benchmark_facts(self, _):
        return {**self.facts, "pools": sorted(self.pools)}

    def cluster_benchmark_record(self, _):
        return copy.deepcopy(self.record)

    def cluster_benchmark_note(self, _, told):
        self.record = told
        return True

    def cluster_benchmark_make(self, _, commands, caps):
        self.pools |= {words[3] for words in commands if words[:3] == ["osd", "pool", "create"]}
        assert self.pools - {"images"} == set(self.record["pools"])
        return True

    def cluster_benchmark_about(self, _):
        return {"versions": {"ceph version 16.2.15": 9}, "conf": "[global]\n", "config": [], "tree": []}

    def cluster_benchmark_tidy(self, _):
        self.pools -= set(self.record.get("pools", ()))
        self.record = {}
        return {"removed": []}

    def cluster_benchmark_counters(self, _):
        self.counted += self.gains
        return {pool: {"read": 0, "write": self.counted} for pool in self.pools}

    def benchmark_load_prepare(self, minion, place):
        self.on.add(minion)
        return True

    def benchmark_load_run(self, minion, job, start, limit):
        self.asked.append((minion, job, start))
        if self.fails:
            self.fails(self)
        kind = "total_writes_made" if job["options"]["rw"] == "write" else "total_reads_made"
        printed = {**BENCH, kind: "50"} if job["tool"] == "rados" else FIO
        return {"came": start, "began": start, "ended": start + 20, "printed": printed, "version": "fio-3.33"}

    def benchmark_load_tidy(self, minion):
        self.on.discard(minion)
        return True

    def benchmark_load_stop(self, minion):
        return True

    def benchmark_load_drop_caches(self, minion):
        self.dropped.add(minion)
        return False


@pytest.fixture(scope="module")
def master(salt_factories):
    return salt_factories.salt_master_daemon("measuring", factory_class=Master)


@pytest.fixture
def cluster(monkeypatch):
    made = Cluster()
    made.play(monkeypatch)
    monkeypatch.setattr(minions, "members", lambda opts: {"master": ["salt"], "storage": ["osdnode1"]})
    monkeypatch.setattr(benching, "hosts", lambda opts: ["client1", "client2"])
    monkeypatch.setattr(health, "judged", lambda opts: Verdict())
    monkeypatch.setattr(bench_jobs, "time", SimpleNamespace(sleep=made.waits.append, time=time.time))

    @contextmanager
    def lends(opts, hosts, use, text):
        assert (use, hosts) == ("benchmark", ["client1", "client2", "salt"])
        yield

    monkeypatch.setattr(lent, "lent", lends)
    return made


def small(monkeypatch, name="apollo", jobs_kept=2):
    """A suite with its first jobs alone: each is the same to the code."""
    data = copy.deepcopy(suites.read(name))
    less = suites.Suite(**{**data.__dict__, "jobs": data.jobs[:jobs_kept], "plots": ()})
    monkeypatch.setattr(suites, "read", lambda asked: less)


@pytest.mark.slow
@pytest.mark.parametrize(("slowest", "leads"), [(0.2, [15, 3]), (4.0, [15, 8]), (60.0, [15, 15])])
def test_load_generators_are_asked_as_long_ahead_as_the_slowest_needs(runners, cluster, monkeypatch, slowest, leads):
    small(monkeypatch)
    played, ahead = cluster.benchmark_load_run, []

    def runs(minion, job, start, limit):
        now = time.time()
        ahead.append(round(start - now))
        return played(minion, job, start, limit) | {"came": now + (slowest if minion == "client2" else 0)}

    cluster.benchmark_load_run = runs
    assert "retcode" not in runners["benchmark.run"]("apollo", target="rbd")
    assert ahead[:2] == [leads[0]] * 2 and set(ahead[2:]) == {leads[1]}


@pytest.mark.slow
def test_a_suite_runs_in_step_and_leaves_nothing(runners, cluster, monkeypatch):
    small(monkeypatch)
    done = runners["benchmark.run"]("apollo", target="rbd,cephfs")
    assert "retcode" not in done, done
    assert "seq write 4k" in done["text"] and "document: 33048" in done["text"]
    assert (cluster.record, cluster.pools, cluster.on) == ({}, {"images"}, set())
    starts = {}
    for minion, _, start in cluster.asked:
        starts.setdefault(start, []).append(minion)
    assert all(hosts == ["client1", "client2"] for hosts in starts.values()) and len(starts) == 2 * 3
    assert cluster.waits == [3] * 4, "before each job, after a prefill too"
    run = re.search(r"(apollo-\w+): kept in (\S+);", done["text"])
    folder = Path(run[2])
    assert {path.name for path in folder.iterdir()} >= {"result.json", "report.html", "table.txt"}
    result = json.loads((folder / "result.json").read_text())
    assert result["cells"]["rbd"]["seq write 4k"][0]["operations"] == 2 * 14200
    kept = {"versions", "conf", "config", "policy", "proposals", "suite_file", "generation", "seed", "tools", "options"}
    assert {*kept, "cluster", "generators", "image", "commands", "facts"} <= result.keys()
    assert cluster.dropped == {"osdnode1", "client1", "client2"}
    assert run[1] in runners["benchmark.list"]()["text"]
    assert "seq write 64k" in runners["benchmark.show"](run[1])["text"]
    assert "has no baseline yet" in runners["benchmark.compare"](run[1])["error"]
    assert "is the baseline" in runners["benchmark.keep"](run[1])["text"]
    assert "within the limit" in runners["benchmark.compare"](run[1])["text"]
    (folder / "result.json").write_text(json.dumps({**result, "cluster": "another"}))
    worse = {**copy.deepcopy(result), "id": "apollo-20991231T235959"}
    (folder.parent / worse["id"]).mkdir(exist_ok=True)
    (folder.parent / worse["id"] / "result.json").write_text(json.dumps(worse))
    assert "is of another cluster" in runners["benchmark.compare"](worse["id"])["error"]
    assert "retcode" not in runners["benchmark.compare"](worse["id"], run[1]), "named, it may be of any"
    (folder / "result.json").write_text(json.dumps(result))
    worse["cells"]["rbd"]["seq write 4k"][0]["iops"] /= 2
    (folder.parent / worse["id"] / "result.json").write_text(json.dumps(worse))
    told = runners["benchmark.compare"](worse["id"])
    assert told["retcode"] == 1 and "worse by 50%: rbd, seq write 4k: IOPS" in told["text"]


@pytest.mark.slow
def test_rados_bench_has_a_pool_for_each_host_and_its_counters(runners, cluster, monkeypatch):
    small(monkeypatch, "moc", 1)
    done = runners["benchmark.run"]("moc")
    assert "osdnode4" in done["text"] and "20.0" in done["text"], done
    assert cluster.pools == {"images"} and "counters" not in done["text"]
    cluster.gains //= 2
    assert "osdnode1: 4k writes: write: its counters say 51 MiB" in runners["benchmark.run"]("moc")["text"]


@pytest.mark.slow
def test_five_runs_of_which_the_highest_and_lowest_are_dropped(runners, cluster, monkeypatch):
    """The suite's scheme, from what five runs of fio print to the figure in the table."""
    small(monkeypatch, "infiniflash", 1)
    printed = copy.deepcopy(FIO)
    del printed["jobs"][1:]
    speeds = iter([16 << 20, 1 << 20, 4 << 20, 2 << 20, 3 << 20])

    def runs(minion, job, start, limit):
        if job["seconds"] and minion == "client1":
            printed["jobs"][0]["read"]["bw_bytes"] = next(speeds)
        return {"came": start, "began": start, "ended": start + 20, "printed": printed, "version": "fio-3.33"}

    cluster.benchmark_load_run = runs
    cluster.facts["free"] = 10**15
    done = runners["benchmark.run"]("infiniflash", size="paper")
    assert "rbd     random read 4k  6.0 " in done["text"], "2, 3 and 4 MiB/s of each of two load generators"
    assert "placement groups an OSD, where the document advises 200 or more" in done["text"]
    assert cluster.waits == [30] * 5


@pytest.mark.slow
def test_find_is_one_of_the_phases_and_counts_files(runners, cluster, monkeypatch):
    """From what two load generators tell of find to its row; one that matches nothing is no figure."""
    data = suites.read("tigershark")
    less = dataclasses.replace(data, jobs=tuple(job for job in data.jobs if job.name == "find"), plots=())
    monkeypatch.setattr(suites, "read", lambda asked: less)
    found = {"files": 1605, "matched": 4, "seconds": 0.5}

    def runs(minion, job, start, limit):
        printed = found if job["tool"] == "find" else FIO
        return {"came": start, "began": start, "ended": start + 20, "printed": printed, "version": f"{job['tool']} 1"}

    cluster.benchmark_load_run = runs
    done = runners["benchmark.run"]("tigershark")
    assert "retcode" not in done and re.search(r"cephfs  find  0\.0 +6420 +0\.31$", done["text"], re.M), done
    found["matched"] = 0
    done = runners["benchmark.run"]("tigershark")
    assert done["retcode"] == 1 and "no figure: cephfs: find" in done["text"]


@pytest.mark.slow
def test_links_are_measured_where_the_document_tells_of_them(runners, cluster, monkeypatch):
    small(monkeypatch, "mellanox", 1)
    rates = {"public": {"rates": {"a b": 9600.0, "a c": 9500.0}}}
    monkeypatch.setattr(network_proof, "iperf", lambda *_: network_proof.Proof([], ["public: a to c: slow"], rates))
    done = runners["benchmark.run"]("mellanox", label="10gbe")
    assert "links of the public network: 9500 to 9600 Mb/s (document: 9480 to 9780)" in done["text"]
    assert "public: a to c: slow" in done["text"]

    def silent(*_):
        raise ArgumentError("no network is known")

    monkeypatch.setattr(network_proof, "iperf", silent)
    done = runners["benchmark.run"]("mellanox")
    assert "retcode" not in done and "links were not measured: no network is known" in done["text"]


@pytest.mark.slow
def test_a_dry_run_changes_nothing(runners, cluster):
    done = runners["benchmark.run"]("apollo", test=True)
    assert "would make pools halocline-bench-rbd" in done["text"] and "load from client1, client2" in done["text"]
    assert cluster.log == []


BAD = [
    ({}, ["apolo"], {}, "there is no such suite: did you mean 'apollo'?"),
    ({}, [], {}, "no suite is named; known are"),
    ({}, ["apollo"], {"target": "images"}, "no benchmark runs on a pool that exists"),
    ({}, ["apollo"], {"target": ","}, "target=,: expected some of rbd, "),
    ({}, ["apollo"], {"size": "large"}, "expected quick or paper"),
    ({}, ["apollo"], {"label": "a b"}, "expected at most 64 letters"),
    ({}, ["apollo"], {"test": "perhaps"}, "expected true or false"),
    ({"free": 1 << 30}, ["apollo"], {}, "no room"),
    ({"host_free": None}, ["apollo"], {}, "cluster_benchmark.facts): run ceph.stage.prep"),
    ({"standby_mds": 0}, ["apollo"], {}, "no metadata server stands by"),
    ({"hosts": {"osdnode1": 2}}, ["apollo"], {}, "needs 4 hosts"),
]


@pytest.mark.parametrize(("facts", "words", "typed", "says"), BAD, ids=[case[3] for case in BAD])
def test_bad_input_is_one_message_and_nothing_is_made(runners, cluster, facts, words, typed, says):
    cluster.facts |= facts
    done = runners["benchmark.run"](*words, **typed)
    assert done["retcode"] == 2 and says in done["error"] and "Traceback" not in done["error"]
    assert cluster.log == []


def test_no_load_generator_is_refused(runners, cluster, monkeypatch):
    monkeypatch.setattr(benching, "hosts", lambda opts: [])
    done = runners["benchmark.run"]("apollo")
    assert done["retcode"] == 2 and "give a host the role benchmark" in done["error"] and cluster.log == []


@pytest.mark.parametrize(
    ("verdict", "says"),
    [
        (Verdict(wrong=(Complaint("osd 1", WRONG, "osd.1", "down"),)), "the cluster is not sound: osd.1: down"),
        (Verdict(moves=(Complaint("pg", "moves", "", "3 placement groups backfill"),)), "the cluster is busy"),
    ],
)
def test_a_cluster_that_is_not_sound_or_recovers_is_refused(runners, cluster, monkeypatch, verdict, says):
    monkeypatch.setattr(health, "judged", lambda opts: verdict)
    done = runners["benchmark.run"]("apollo")
    assert done["retcode"] == 2 and says in done["error"] and cluster.log == []


def test_a_pool_of_that_name_that_nobody_recorded_is_left_alone(runners, cluster):
    cluster.pools.add("halocline-bench-rbd")
    done = runners["benchmark.run"]("apollo")
    assert "and no run of ours made them" in done["error"] and cluster.pools == {"images", "halocline-bench-rbd"}


def test_a_stage_holds_it_back(runners, cluster, monkeypatch):
    monkeypatch.setattr(stage_lock, "holder", lambda opts: {"stage": "deploy"})
    assert "stage deploy is running" in runners["benchmark.run"]("apollo")["error"] and cluster.log == []


def killed(runners, cluster, monkeypatch, at, before):
    """A run whose process ends at a moment: nothing of its own can clean up any more."""
    cluster.kill = (at, before)
    real = benching.tidy
    monkeypatch.setattr(benching, "tidy", lambda opts, record: [])
    try:
        runners["benchmark.run"]("apollo", target="rbd")
    except Killed:
        return True
    finally:
        cluster.kill = (None, False)
        monkeypatch.setattr(benching, "tidy", real)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False])
def test_killed_at_any_moment_the_next_run_or_clean_takes_all_away(runners, cluster, monkeypatch, before):
    small(monkeypatch, jobs_kept=1)
    at = 1
    while killed(runners, cluster, monkeypatch, cluster.changes + at, before):
        monkeypatch.setattr(benching, "alive", lambda record: False)
        if at % 2:
            told = runners["benchmark.clean"](test=True)["text"]
            assert ("would take away" in told) is bool(cluster.record)
            runners["benchmark.clean"]()
        else:
            assert "retcode" not in runners["benchmark.run"]("apollo", target="rbd")
        assert (cluster.record, cluster.pools, cluster.on) == ({}, {"images"}, set()), at
        at += 1
    assert at > 6


def test_a_second_run_beside_one_is_refused_and_cleans_nothing(runners, cluster, monkeypatch):
    cluster.record = {
        "id": "apollo-1",
        "pid": 1,
        "born": 1,
        "stop": False,
        "generators": [],
        "pools": ["halocline-bench-rbd"],
    }
    monkeypatch.setattr(benching, "alive", lambda record: True)
    for verb, words in (("run", ["apollo"]), ("clean", [])):
        done = runners[f"benchmark.{verb}"](*words)
        assert "benchmark apollo-1 is running" in done["error"] and cluster.log == []


def test_one_of_another_master_is_no_ones_to_judge_here_and_ends_where_that_is_typed(runners, cluster):
    """A standby sees no process of the first one: it took all away under a benchmark that ran."""
    own = benching.process()
    away = {**own, "pid": 1 << 30, "host": "salt1"}  # a process that is not here
    made = {"id": "apollo-1", "stop": False, "generators": [], "pools": []}
    for verb, words in (("run", ["apollo"]), ("clean", [])):
        cluster.record = {**made, **away}
        error = runners[f"benchmark.{verb}"](*words)["error"]
        assert "benchmark apollo-1 is running on salt1" in error and cluster.log == []
    assert "is stopped" in runners["benchmark.stop"]()["text"] and cluster.record == {}
    cluster.record = {**made, **own}
    assert "benchmark apollo-1 is running: wait" in runners["benchmark.clean"]()["error"]
    cluster.record = {**made, **away, "host": own["host"]}
    assert "retcode" not in runners["benchmark.clean"]() and cluster.record == {}


@pytest.mark.slow
def test_it_is_stopped_from_another_shell(runners, cluster, monkeypatch):
    monkeypatch.setattr(benching, "alive", lambda record: True)
    small(monkeypatch)

    def stops(made):
        made.fails = None
        told = runners["benchmark.stop"]()
        assert "is stopped" in told["text"]

    cluster.fails = stops
    done = runners["benchmark.run"]("apollo", target="rbd")
    assert done["retcode"] == 2 and "was stopped" in done["error"]
    assert (cluster.record, cluster.pools, cluster.on) == ({}, {"images"}, set())
    assert "no benchmark is running" in runners["benchmark.stop"]()["text"]


def kept_run(runners, done):
    """The id and the result of a run that is said to be partial, wherever it is shown."""
    run, folder = re.search(r"(\w+-\w+): kept in (\S+);", done["text"]).groups()
    result = json.loads((Path(folder) / "result.json").read_text())
    assert done["retcode"] == 1 and f"partial: {result['partial']}" in done["text"]
    assert f"{run} (partial: {result['partial']})" in runners["benchmark.list"]()["text"]
    shown = runners["benchmark.show"](run)["text"]
    assert f"{run} (partial)" in shown and f"partial: {result['partial']}" in shown
    page = (Path(folder) / "report.html").read_text()
    assert f"{run} (partial)</h2>" in page and result["partial"] in page
    said = runners["benchmark.keep"](run)
    assert said["retcode"] == 2 and "is partial" in said["error"] and "no baseline" in said["error"]
    assert f"{run} is partial: {result['partial']}" in runners["benchmark.compare"](run, run)["text"]
    return result


@pytest.mark.slow
def test_stopped_on_the_way_it_keeps_what_was_measured(runners, cluster, monkeypatch):
    monkeypatch.setattr(benching, "alive", lambda record: True)
    small(monkeypatch, jobs_kept=3)

    def stops(made):
        if len(made.asked) == 5:  # two load generators: the prefill, the first job, now the second
            assert "is stopped" in runners["benchmark.stop"]()["text"]

    cluster.fails = stops
    result = kept_run(runners, runners["benchmark.run"]("apollo", target="rbd"))
    assert result["partial"].startswith("it ended at rbd: seq write 1M: the benchmark was stopped")
    assert list(result["cells"]["rbd"]) == ["seq write 4k", "seq write 64k"]
    assert (cluster.record, cluster.pools, cluster.on) == ({}, {"images"}, set())


@pytest.mark.slow
def test_failed_in_a_cell_it_keeps_those_before(runners, cluster, monkeypatch):
    small(monkeypatch)

    def asks(opts, asked, function, words=(), kind=None, timeout=0):
        if function == "benchmark_load.run" and words[0]["options"]["bs"] == "64k":
            return replies.Replies({}, [replies.Problem(host, f"fio: error\nof {host}") for host in asked])
        return cluster.ask(opts, asked, function, words, kind, timeout)

    monkeypatch.setattr(jobs, "ask", asks)
    result = kept_run(runners, runners["benchmark.run"]("apollo", target="rbd"))
    assert result["partial"].startswith("it ended at rbd: seq write 64k: client1: fio: error; of client1")
    assert list(result["cells"]["rbd"]) == ["seq write 4k"]
    assert (cluster.record, cluster.pools, cluster.on) == ({}, {"images"}, set())


def begins_at(monkeypatch, moment):
    """Let the next run have this id: tests take less than a second each."""
    monkeypatch.setattr(benching, "time", SimpleNamespace(strftime=lambda *_: moment, gmtime=time.gmtime))
    return f"apollo-{moment}"


@pytest.mark.slow
def test_what_a_killed_run_has_measured_is_there(runners, cluster, monkeypatch):
    small(monkeypatch)
    run = begins_at(monkeypatch, "20260102T030405")

    def dies(made):
        if len(made.asked) == 5:
            raise Killed

    cluster.fails = dies
    with pytest.raises(Killed):
        runners["benchmark.run"]("apollo", target="rbd")
    why = "it still runs, or its process was ended"
    assert f"{run} (partial: {why})" in runners["benchmark.list"]()["text"]
    shown = runners["benchmark.show"](run)["text"]
    assert f"partial: {why}" in shown and re.search(r"rbd +seq write 64k +- ", shown)


@pytest.mark.slow
def test_a_result_is_kept_though_nothing_can_be_taken_away(runners, cluster, master, monkeypatch):
    small(monkeypatch, jobs_kept=1)
    run = begins_at(monkeypatch, "20260102T030406")

    def silent(_):
        raise ProposalError("no monitor answered")

    cluster.cluster_benchmark_tidy = silent
    done = runners["benchmark.run"]("apollo", target="rbd")
    assert done["retcode"] == 2 and "no monitor answered" in done["error"]
    assert not bench_store.read(master.config, run).get("partial")
    (bench_store.folder(master.config) / run / "result.json").write_text("{")
    assert f"{run} (" in runners["benchmark.list"]()["text"], "one that is broken hides no other"


@pytest.mark.slow
def test_hosts_that_drop_no_caches_are_named_once_and_hold_nothing_back(runners, cluster, monkeypatch):
    small(monkeypatch)
    cluster.silent.add("osdnode1")
    done = runners["benchmark.run"]("apollo", target="rbd")
    assert "retcode" not in done
    told = [line for line in done["text"].splitlines() if line.startswith("caches were not dropped: ")]
    silent, contained = sorted(told, key=lambda line: "container" in line)
    assert "osdnode1: does not answer" in silent and "client1, client2: it is a container" in contained
    cluster.silent.clear()
    cluster.benchmark_load_drop_caches = lambda minion: True
    assert "caches" not in runners["benchmark.run"]("apollo", target="rbd")["text"]


@pytest.mark.slow
def test_a_generator_that_fails_ends_it_with_its_words_and_all_is_taken_away(runners, cluster, monkeypatch):
    def asks(opts, asked, function, words=(), kind=None, timeout=0):
        if function == "benchmark_load.run":
            return replies.Replies({}, [replies.Problem("client2", "fio: no such engine", False)])
        return cluster.ask(opts, asked, function, words, kind, timeout)

    monkeypatch.setattr(jobs, "ask", asks)
    done = runners["benchmark.run"]("apollo", target="rbd")
    assert done["retcode"] == 2 and "client2" in done["error"] and "no such engine" in done["error"]
    assert (cluster.record, cluster.pools) == ({}, {"images"})


@pytest.mark.parametrize(
    ("verb", "words", "says"),
    [
        ("show", ["apollo-1"], "no such run of a benchmark"),
        ("compare", ["../../etc/passwd"], "no such run of a benchmark"),
        ("keep", ["x"], "no such run of a benchmark"),
        ("compare", ["x", None, "much"], "expected percent, 0 to 100"),
        ("clean", ["perhaps"], "expected true or false"),
    ],
)
def test_runs_that_nobody_made(runners, cluster, verb, words, says):
    done = runners[f"benchmark.{verb}"](*words)
    assert done["retcode"] == 2 and says in done["error"]


def test_a_slow_part_is_named_with_exit_status_1(runners, cluster, monkeypatch):
    disk = {"mib_s": 200.0, "model": "X", "size": 10**12}
    disks = {"/dev/a": disk, "/dev/b": disk, "/dev/c": {**disk, "mib_s": 40.0}}
    cluster.benchmark_disks_read = lambda minion, seconds: disks
    cluster.cluster_benchmark_osds = lambda _, size: {"osd.0": 90.0, "osd.1": 91.0, "osd.2": 89.0}
    done = runners["benchmark.baseline"]("disks,osds")
    assert done["retcode"] == 1 and "osdnode1 /dev/c is slow: 40.0 MiB/s" in done["text"]
    disks["/dev/c"] = disk
    assert "no part is slower" in runners["benchmark.baseline"]("disks,osds")["text"]
    hosts = ("a", "b", "c", "d")
    rates = {f"{one} {two}": 40.0 if "c" in (one, two) else 950.0 for one in hosts for two in hosts if one != two}
    proof = network_proof.Proof([], [], {"public": {"rates": rates}})
    monkeypatch.setattr(network_proof, "iperf", lambda *_: proof)
    done = runners["benchmark.baseline"]("links")
    assert done["retcode"] == 1 and "c's link is slow: 40.0 Mb/s, 950.0 Mb/s is usual" in done["text"]

    def measured(*_):
        raise AssertionError("it was measured before its arguments were read")

    cluster.benchmark_disks_read = cluster.cluster_benchmark_osds = measured
    monkeypatch.setattr(network_proof, "iperf", measured)
    wrong = [{"parts": "cpus"}, {"parts": ""}, {"seconds": 0}, {"margin": "few"}, {"margin": 200}, {"margin": "5%"}]
    for typed in wrong:
        assert runners["benchmark.baseline"](**typed)["retcode"] == 2


def kept(folder, words):
    """Runs of the ids that a page shows, of one suite each."""
    for run in re.findall(r"\w+-\d{8}T\d{6}", " ".join(map(str, words))):
        suite = suites.read(run.partition("-")[0])
        rows = {row: [{"mib_s": 1.0, "iops": 9.0, "mean_ms": 1.0}] for row in suite.rows}
        result = {"id": run, "suite": suite.name, "size": "quick", "label": "", "targets": ["rbd"], "notes": []}
        (folder / run).mkdir(parents=True, exist_ok=True)
        (folder / run / "result.json").write_text(json.dumps({**result, "drop": 0, "cells": {"rbd": rows}}))


@pytest.mark.slow
def test_every_command_of_the_page_is_taken_as_it_is_shown(runners, cluster, master, monkeypatch):
    """On a cluster that is large enough, after the runs that the page names: none is refused for its words."""
    read = suites.read
    monkeypatch.setattr(
        suites, "read", lambda name: dataclasses.replace(read(name), jobs=read(name).jobs[:1], plots=())
    )
    monkeypatch.setattr(network_proof, "iperf", lambda *_: network_proof.Proof([], [], {}))
    cluster.benchmark_disks_read = lambda minion, seconds: {}
    cluster.cluster_benchmark_osds = lambda _, size: {}
    shown = list(shown_in("docs/howto/measure.md", "benchmark"))
    assert {name.partition(".")[2] for name, *_ in shown} == {
        "baseline", "clean", "compare", "estimate", "keep", "list", "run", "show", "stop",
    }  # fmt: skip
    for name, words, named in shown:
        if name != "benchmark.estimate":  # of a stored proposal: test_benchmark_estimate
            kept(bench_store.folder(master.config), words)
            done = runners[name](*words, **named)
            assert done.get("retcode") in (None, 1), (name, words, named, done)


def test_a_generator_that_cannot_be_tidied_is_named(runners, cluster, monkeypatch):
    cluster.record = {
        "id": "apollo-1",
        "pid": 1,
        "born": 1,
        "generators": ["client1"],
        "pools": ["halocline-bench-rbd"],
    }
    cluster.pools.add("halocline-bench-rbd")
    cluster.silent.add("client1")
    monkeypatch.setattr(benching, "alive", lambda record: False)
    done = runners["benchmark.clean"]()
    assert done["retcode"] == 1 and "client1" in done["text"] and cluster.pools == {"images"}
