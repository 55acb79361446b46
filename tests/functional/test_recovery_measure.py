"""Recovery measured as it is typed, on a cluster that is played: each change as the end, what is refused, what is left.

The runner's clock is the played cluster's own: a second passes where it waits for one.
"""

import copy
import json
import re
from contextlib import contextmanager
from pathlib import Path

import pytest
from played import BUSY, Killed, Minions, another_stops_daemons, shown_in
from saltmaster import Master

from proposals.benchmarks import curves
from proposals.cluster.health.findings import WRONG, Complaint
from proposals.cluster.health.judge import Verdict
from runners.engine.asking import lent, minions
from runners.engine.benchmarks import bench_recovery, bench_scenarios, benching
from runners.engine.cluster import health
from runners.engine.runs import one_at_a_time, stage_lock, stage_log

HOSTS = {"osdnode1": (0, 1), "osdnode2": (2, 3), "osdnode3": (4, 5), "osdnode4": (6, 7)}
FACTS = {
    "osds": 8, "per_osd": 250, "used": 3, "size": 3, "hosts": dict.fromkeys(HOSTS, 2), "free": 10**12,
    "host_free": dict.fromkeys(HOSTS, 10**12 // 4), "standby_mds": 0, "pools": ["images"],
}  # fmt: skip
LEAST = {"osd_max_backfills": 1}
KB = 10**9  # of each OSD
POOL = {"pool_name": "images", "size": 3, "crush_rule": 0, "pg_num": 64, "bytes_used": 10**11}
RULE = {"rule_id": 0, "rule_name": "replicated_rule", "steps": [
    {"op": "take", "item": -1}, {"op": "chooseleaf_firstn", "num": 0, "type": "host"}, {"op": "emit"},
]}  # fmt: skip


def crush():
    """A root with hosts of two OSDs each."""
    hosts = [
        {"id": -2 - at, "name": name, "type_name": "host", "items": [{"id": osd, "weight": 65536} for osd in osds]}
        for at, (name, osds) in enumerate(HOSTS.items())
    ]
    items = [{"id": host["id"], "weight": 2 * 65536} for host in hosts]
    return {"buckets": [{"id": -1, "name": "default", "type_name": "root", "items": items}, *hosts], "rules": [RULE]}


class Cluster(Minions):
    """``weights`` of OSDs that are in, units that are ``stopped``, the ``profile``, ``pools`` and ``records``."""

    CHANGES = ("note", "make", "prepare", "run", "tidy", "stop", "start", "out", "back", "apply", "forget")

    def __init__(self):
        super().__init__()
        self.clock, self.event, self.slow = 1000.0, None, 20  # seconds that a recovery takes
        self.weights = {str(osd): 1.0 for osds in HOSTS.values() for osd in osds} | {"1": 0.8}
        self.stopped, self.pools, self.records, self.profile = {}, {"images"}, {"bench": {}, "own": {}}, {"osd": LEAST}
        self.loads, self.tries, self.busy, self.flags = {}, [], 0.1, []
        self.says_no, self.at_each_look, self.away = "", None, {}
        self.rate = 400  # KiB a second of each load
        self.groups = []  # of each pool that was made

    def whole(self):
        """All that a measurement may change."""
        state = (self.weights, self.stopped, self.pools, self.records, self.profile, self.loads)
        return copy.deepcopy(state)

    def moves(self):
        return self.event is not None and self.clock < self.event + self.slow

    def changed(self):
        self.event = self.clock

    def cluster_benchmark_facts(self, _):
        return {**FACTS, "pools": sorted(self.pools)}

    def cluster_benchmark_record(self, _):
        return copy.deepcopy(self.records["bench"])

    def cluster_benchmark_note(self, _, told):
        self.records["bench"] = told
        return True

    def cluster_benchmark_make(self, _, commands, caps):
        self.pools |= set(self.records["bench"]["pools"])
        self.groups = [int(words[4]) for words in commands if words[:3] == ["osd", "pool", "create"]]
        return True

    def cluster_benchmark_about(self, _):
        return {"versions": {"ceph version 16.2.15": 9}, "config": [], "tree": []}

    def cluster_benchmark_tidy(self, _):
        self.pools -= set(self.records["bench"].get("pools", ()))
        self.records["bench"] = {}
        return {"removed": []}

    def cluster_recovery_measure_facts(self, _):
        running = {str(osd) for osds in self.running().values() for osd in osds}
        return {"flags": self.flags, "weights": {osd: w for osd, w in self.weights.items() if w and osd in running}}

    def cluster_recovery_measure_state(self, _):
        return {"clean": not self.moves(), "recovered": int(self.clock)}

    def cluster_recovery_measure_refused(self, _, osds):
        return self.says_no

    def cluster_recovery_measure_record(self, _):
        return copy.deepcopy(self.records["own"])

    def cluster_recovery_measure_note(self, _, told):
        self.records["own"] = told
        return True

    def cluster_recovery_measure_forget(self, _):
        self.records["own"] = {}
        return True

    def cluster_recovery_measure_out(self, _, osds):
        assert {str(osd) for osd in osds} <= self.records["own"]["weights"].keys()
        assert not {osd for each in self.running().values() for osd in each} & set(osds), "stopped first"
        assert sum(not weight for weight in self.weights.values()) == 0, "one scenario at a time"
        self.weights |= dict.fromkeys(map(str, osds), 0.0)
        self.tries.append(("out", tuple(osds), copy.deepcopy(self.profile)))
        self.changed()
        return True

    def cluster_recovery_measure_back(self, _):
        self.weights |= self.records["own"].get("weights", {})
        self.changed()
        return []

    def cluster_recovery_inspect(self, _):
        return {"queue": "wpq", "ours": self.profile.get("osd", {}), "others": []}

    def cluster_config_changes(self, _, options, kept):
        return {"set": [], "remove": []}

    def cluster_config_apply(self, _, options, kept):
        assert kept == bench_recovery.KEPT
        self.profile = options
        return {"set": [], "remove": []}

    def cluster_maintenance_hosts(self, _):
        return self.away

    def cluster_removal_inspect(self, _):
        usage = [
            {"id": int(osd), "kb": KB, "kb_used": KB // 10, "kb_used_data": KB // 10, "pgs": 9} for osd in self.weights
        ]
        limits = {"backfillfull": 0.9, "full": 0.95, "max_pgs": 250}
        inside = {osd: float(bool(weight)) for osd, weight in self.weights.items()}
        return {"crush": crush(), "inside": inside, "pools": [POOL], "usage": usage, "limits": limits, "record": None}

    def running(self):
        gone = {unit for units in self.stopped.values() for unit in units}
        return {host: [osd for osd in osds if unit(osd) not in gone] for host, osds in HOSTS.items()}

    def daemons_running(self, minion):
        return {f"osd.{osd}": {"type": "osd", "id": str(osd)} for osd in self.running()[minion]}

    def daemons_maintenance_units(self, minion):
        return {"ceph-mon@a.service": "enabled", **{unit(osd): "enabled" for osd in HOSTS[minion]}}

    def daemons_maintenance_stop(self, minion, units):
        assert self.records["own"], "nobody recorded it"
        self.stopped.setdefault(minion, []).extend(units)
        self.changed()
        return units

    def daemons_maintenance_start(self, minion, units):
        left = [each for each in self.stopped.pop(minion, []) if each not in units]
        self.stopped |= {minion: left} if left else {}
        return list(units)

    def benchmark_load_prepare(self, minion, place):
        return True

    def benchmark_load_run(self, minion, job, start, limit):
        return {}

    def benchmark_load_tidy(self, minion):
        self.loads.pop(minion, None)
        return True

    benchmark_load_stop = benchmark_load_tidy

    def benchmark_sample_start(self, minion, job, limit):
        assert job["options"]["rw"] == "randwrite" and job["place"]["pool"] == "halocline-bench-rbd"
        self.loads[minion] = {"at": self.clock, "told": [[0, 0]]}
        return True

    def benchmark_sample_since(self, minion, count):
        if self.at_each_look:
            self.at_each_look(self)
        load = self.loads[minion]
        while load["at"] + load["told"][-1][0] / 1000 < self.clock:
            ms, kib = load["told"][-1]
            load["told"].append([ms + 1000, kib + (self.rate // 4 if self.moves() else self.rate)])
        return {"at": load["at"] + load["told"][-1][0] / 1000, "samples": load["told"][count:]}

    def benchmark_sample_processors(self, minion):
        return [int(100 * self.clock * (1 - self.busy)), int(100 * self.clock)]


def unit(osd):
    return f"ceph-osd@{osd}.service"


@pytest.fixture(scope="module")
def runners(salt_factories):
    return salt_factories.salt_master_daemon("recovering", factory_class=Master).runners()


@pytest.fixture
def cluster(monkeypatch):
    made = Cluster()
    made.play(monkeypatch)
    monkeypatch.setattr(minions, "members", lambda opts: {"master": ["salt"], "storage": list(HOSTS)})
    monkeypatch.setattr(minions, "pillar", lambda opts: {})
    monkeypatch.setattr(benching, "hosts", lambda opts: ["client1", "client2"])
    monkeypatch.setattr(benching, "alive", lambda record: False)
    monkeypatch.setattr(health, "judged", lambda opts: Verdict())
    monkeypatch.setattr(stage_log, "note", lambda *_, **__: None)
    monkeypatch.setattr(bench_scenarios, "now", lambda: made.clock)

    def pause():
        made.clock += 2

    monkeypatch.setattr(bench_scenarios, "pause", pause)

    @contextmanager
    def lends(opts, hosts, use, text):
        yield

    monkeypatch.setattr(lent, "lent", lends)
    return made


@pytest.fixture(scope="module", autouse=True)
def drawn():
    """A plot is drawn once, of the same curves once more it is the same bytes (``tests/unit/test_recovery_dips.py``):
    drawing takes nearly all of a measurement that is played."""
    real, known = curves._drawn, {}

    def draw(scenario, told):
        key = json.dumps([scenario, [[each[part] for part in ("profile", "lead", "curve", "before")] for each in told]])
        if key not in known:
            known[key] = real(scenario, told)
        return known[key]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(curves, "_drawn", draw)
        yield known


@pytest.mark.slow
def test_four_scenarios_under_two_profiles_and_all_is_as_it_was(runners, cluster):
    before = cluster.whole()
    done = runners["recovery.measure"]()
    assert "retcode" not in done, done
    assert cluster.whole() == before
    assert [(osds, len(profile["osd"])) for _, osds, profile in cluster.tries] == [
        ((0,), 6), ((0, 1), 6), ((0,), 3), ((0, 1), 3),
    ]  # fmt: skip
    folder = Path(re.search(r"kept in (\S+);", done["text"])[1])
    result = json.loads((folder / "result.json").read_text())
    assert [(each["scenario"], each["profile"]) for each in result["curves"]] == [
        (scenario, profile)
        for profile in ("fast", "least")
        for scenario in ("osd-out", "osd-in", "host-out", "host-in")
    ]
    for each in result["curves"]:
        assert each["before"] == pytest.approx(200) and each["depth"] == pytest.approx(0.75)
        assert 18 <= each["clean"] <= 24 and each["clean"] <= each["best"] < 40 and each["moved"] > 0
    assert "document" in done["text"] and "45 min" in done["text"]
    assert {"report.html", "table.txt", "result.json"} <= {path.name for path in folder.iterdir()}
    (folder / "report.html").unlink()
    again = runners["benchmark.show"](folder.name)
    assert "osd-out   fast" in again["text"] and "45 min" in again["text"] and (folder / "report.html").exists()
    assert "show one" in runners["benchmark.show"](f"{folder.name},{folder.name}")["error"]
    assert "no cell in common" in runners["benchmark.compare"](folder.name, folder.name)["error"]


@pytest.mark.slow
@pytest.mark.parametrize(("what", "groups"), [("osd", 512), ("host", 256)])
def test_placement_groups_fit_the_osds_that_stay(runners, cluster, what, groups):
    """512 of three copies are 192 an OSD of eight and 256 of six, where 250 are allowed."""
    assert "retcode" not in runners["recovery.measure"](what=what, profiles="least")
    assert cluster.groups == [groups]


@pytest.mark.slow
def test_a_dry_run_changes_nothing(runners, cluster):
    before = cluster.whole()
    done = runners["recovery.measure"](host="osdnode3", osd=7, test=True)
    assert "osd.7 of osdnode4: about" in done["text"] and "osd.4, osd.5 of osdnode3" in done["text"]
    assert cluster.log == [] and cluster.whole() == before


@pytest.mark.slow
def test_every_command_of_the_page_is_taken_as_it_is_shown(runners, cluster):
    shown = [each for each in shown_in("docs/howto/recovery.md", "recovery") if each[0] != "recovery.profile"]
    assert {name for name, *_ in shown} == {"recovery.measure", "recovery.stop"}
    for name, words, named in shown:
        done = runners[name](*words, **named)
        assert "retcode" not in done, (name, words, named, done)


BAD = [
    ({"what": "rack"}, "what=rack: expected some of osd, host"),
    ({"profiles": "fast,slow"}, "profiles=slow: expected some of default, least, fast"),
    ({"what": "osd", "host": "osdnode4"}, "host=osdnode4: what=osd measures no host"),
    ({"what": "host", "osd": 7}, "osd=7: what=host measures no osd"),
    ({"osd": 99}, "osd=99: no osd with running OSDs that are in"),
    ({"host": "../x"}, "no host with running OSDs"),
    ({"load": 0}, "load=0: expected percent"),
    ({"size": "big"}, "expected quick or paper"),
    ({"test": "perhaps"}, "expected true or false"),
]


@pytest.mark.parametrize(("typed", "says"), BAD, ids=[case[1] for case in BAD])
def test_bad_input_is_one_message(runners, cluster, typed, says):
    done = runners["recovery.measure"](**typed)
    assert done["retcode"] == 2 and says in done["error"] and "Traceback" not in done["error"]
    assert cluster.log == []


def no_domains(cluster, monkeypatch):
    monkeypatch.setitem(POOL, "size", 4)


def full(cluster, monkeypatch):
    monkeypatch.setattr(cluster, "cluster_removal_inspect", filled(cluster))


def filled(cluster):
    real = cluster.cluster_removal_inspect

    def inspect(minion):
        seen = real(minion)
        for osd in seen["usage"]:
            osd |= {"kb_used": int(KB * 0.85), "kb_used_data": int(KB * 0.85)}
        return seen

    return inspect


def unsound(cluster, monkeypatch):
    monkeypatch.setattr(health, "judged", lambda opts: Verdict(wrong=(Complaint("osd 1", WRONG, "", "osd.1 is down"),)))


def moving(cluster, monkeypatch):
    monkeypatch.setattr(health, "judged", lambda opts: Verdict(moves=(Complaint("pg", "moves", "", "3 groups"),)))


REFUSED = {
    "failure domains": (no_domains, "needs 4 of type host: 3 would be left"),
    "no room": (full, "backfillfull_ratio"),
    "not sound": (unsound, "the cluster is not sound"),
    "data moves": (moving, "the cluster is busy"),
    "ok-to-stop": (lambda cluster, _: setattr(cluster, "says_no", "would become inactive"), "would become inactive"),
    "flags": (lambda cluster, _: setattr(cluster, "flags", ["norecover"]), "flags hold recovery back: norecover"),
    "maintenance": (lambda cluster, _: setattr(cluster, "away", {"osdnode2": {}}), "osdnode2: in maintenance"),
    "silent": (lambda cluster, _: cluster.silent.add("osdnode4"), "osdnode4"),
    "a pool of that name": (lambda cluster, _: cluster.pools.add("halocline-bench-rbd"), "no run of ours made them"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_nothing_changed(runners, cluster, monkeypatch, name):
    spoil, says = REFUSED[name]
    spoil(cluster, monkeypatch)
    done = runners["recovery.measure"]()
    assert done["retcode"] == 2 and says in done["error"], done
    assert cluster.log == []


def test_no_load_generator_and_a_stage_hold_it_back(runners, cluster, monkeypatch):
    monkeypatch.setattr(benching, "hosts", lambda opts: [])
    assert "give a host the role benchmark" in runners["recovery.measure"]()["error"]
    monkeypatch.setattr(stage_lock, "holder", lambda opts: {"stage": "deploy"})
    assert "stage deploy is running" in runners["recovery.measure"]()["error"] and cluster.log == []


def test_nothing_goes_out_while_another_command_stops_daemons(runners, cluster):
    with another_stops_daemons(runners.opts):
        done = runners["recovery.measure"]()
    assert BUSY in done.get("error", "") and cluster.log == [] and cluster.tries == []


@pytest.mark.slow
def test_no_other_command_stops_daemons_while_it_measures(runners, cluster):
    tried = []

    def types(made):
        if made.tries and not tried:
            with pytest.raises(one_at_a_time.Busy, match="recovery.measure is running on this master"):
                another_stops_daemons(runners.opts).__enter__()
            tried.append(True)

    cluster.at_each_look = types
    assert "retcode" not in runners["recovery.measure"](what="osd", profiles="least")
    assert tried


@pytest.mark.slow
def test_ceph_that_says_no_in_the_middle_ends_it_and_all_is_put_back(runners, cluster):
    before = cluster.whole()

    def spoil(made):
        made.says_no = "osd.0 is needed now" if made.tries else ""

    cluster.at_each_look = spoil
    done = runners["recovery.measure"]()
    assert done["retcode"] == 1 and len(cluster.tries) == 1 and cluster.whole() == before
    why = "partial: it ended at fast: figure 22: host down and out: osd.0, osd.1 of osdnode1: "
    assert why in done["text"] and "osd.0 is needed now" in done["text"] and "osd-out   fast" in done["text"]
    run = re.search(r"recovery-\w+", done["text"])[0]
    again = runners["benchmark.show"](run)["text"]
    assert again.startswith(f"{run} (partial)") and why in again and "osd-in " in again and "host-out" not in again
    assert "and no baseline" in runners["benchmark.keep"](run)["error"]


def killed(runners, cluster, at, before):
    cluster.kill = (at, before)
    try:
        runners["recovery.measure"](what="host", profiles="fast")
    except Killed:
        return True
    finally:
        cluster.kill, cluster.ended = (None, False), False
    return False


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False])
def test_killed_at_any_change_the_same_command_or_stop_puts_all_back(runners, cluster, before):
    first, at = cluster.whole(), 1
    while killed(runners, cluster, cluster.changes + at, before):
        if at % 8 == 0:
            assert "retcode" not in runners["recovery.measure"](what="osd", profiles="least"), at
        else:
            left = cluster.whole()
            if cluster.records["own"]:
                assert "would first put back" in runners["recovery.measure"](test=True)["text"]
                assert cluster.whole() == left
            assert "retcode" not in runners["recovery.stop"](), at
        assert cluster.whole() == first, at
        at += 1
    assert at > 20


def test_a_host_that_is_silent_when_all_is_put_back_is_named_and_the_record_stays(runners, cluster):
    first = cluster.whole()

    def dies(made):
        if made.tries:
            made.silent.add("osdnode1")
            made.kill, made.ended = (0, False), True  # nothing comes after it

    cluster.at_each_look = dies
    with pytest.raises(Killed):
        runners["recovery.measure"](what="osd", profiles="fast")
    cluster.at_each_look, cluster.kill, cluster.ended = None, (None, False), False
    done = runners["recovery.stop"]()
    assert done["retcode"] == 2 and "osdnode1" in done["error"] and cluster.records["own"]
    assert all(cluster.weights.values()), "the other parts were put back"
    cluster.silent.clear()
    assert "is put back" in runners["recovery.stop"]()["text"] and cluster.whole() == first


def test_it_is_stopped_from_another_shell(runners, cluster, monkeypatch):
    first = cluster.whole()
    monkeypatch.setattr(benching, "alive", lambda record: True)

    def stops(made):
        if made.tries:
            made.at_each_look = None
            assert "its own process puts all back" in runners["recovery.stop"]()["text"]
            assert "recovery.measure is running: wait" in runners["recovery.measure"]()["error"]
            assert "recovery.measure is running: wait" in runners["recovery.profile"]("default")["error"]
            made.benchmark_sample_start("client1", made.load, 1)
            made.benchmark_sample_start("client2", made.load, 1)

    cluster.load = {"options": {"rw": "randwrite"}, "place": {"pool": "halocline-bench-rbd"}}
    cluster.at_each_look = stops
    done = runners["recovery.measure"]()
    assert done["retcode"] == 2 and "was stopped" in done["error"]
    assert cluster.whole() == first
    assert "no recovery is being measured" in runners["recovery.stop"]()["text"]


def test_a_load_that_writes_nothing_ends_it_before_anything_stops(runners, cluster):
    first, cluster.rate = cluster.whole(), 0
    done = runners["recovery.measure"]()
    assert done["retcode"] == 2 and "the load generators wrote nothing" in done["error"]
    assert cluster.whole() == first and cluster.tries == []


def test_stopped_before_its_pool_is_made_it_says_to_type_it_again(runners, cluster, monkeypatch):
    monkeypatch.setattr(benching, "alive", lambda record: True)
    cluster.records["own"] = {"pid": 1, "born": 1}
    done = runners["recovery.stop"]()
    assert done["retcode"] == 2 and "type it again" in done["error"] and cluster.log == []


@pytest.mark.slow
def test_processors_that_hold_it_up_are_told_without_a_ratio(runners, cluster):
    cluster.busy = 0.95
    done = runners["recovery.measure"](what="osd")
    assert "processors were 95% busy" in done["text"]
    assert re.search(r"osd-out +least .* - +3\.5$", done["text"], re.M)


@pytest.mark.slow
def test_a_recovery_that_does_not_end_is_said(runners, cluster, monkeypatch):
    before = cluster.whole()
    cluster.slow = 10**6
    done = runners["recovery.measure"](what="osd", profiles="fast")
    assert "not all clean when its time was over" in done["text"] and "not reached" in done["text"]
    assert cluster.whole() == before
