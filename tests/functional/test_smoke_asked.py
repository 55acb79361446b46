"""A smoke test of services that are played: Salt's own runner loader; every change of it may be the last."""

import json

import pytest
from played import Killed, Minions
from saltmaster import Master

from proposals.services.smoke import Served
from proposals.text.errors import ProposalError
from runners.engine.cluster import smoking
from runners.engine.runs import one_at_a_time, stage_lock

TOLD = {
    "node1": {"mds": {"name": "node1"}, "rgw": {"gateways": [{"name": "rgw.node1", "files": [], "port": 80}]}},
    "salt": {"dashboard": {}},
}
MADE = ("rbd", "cephfs", "s3", "dashboard")


class Cluster(Minions):
    """What minions answer: ``broken`` has what an attempt answers, or what it raises, by service."""

    CHANGES = ("begin", "end", "attempt", "clean")

    def __init__(self):
        super().__init__()
        self.record, self.made, self.broken, self.stuck, self.why, self.asked = None, set(), {}, {}, [], []
        self.kept = {}

    def cluster_maintenance_hosts(self, _):
        return self.kept

    def smoke_standing(self, _):
        return self.why

    def smoke_left(self, _):
        return self.record or []

    def smoke_begin(self, _, services):
        self.record = sorted({*services, *(self.record or ())})
        return True

    def smoke_end(self, _):
        assert not self.made, "what was made is forgotten"
        self.record = None
        return True

    def smoke_iscsi_gateway(self, _):
        return {"passed": ["x"]}

    def attempt(self, name, *words):
        assert name in self.record, "nothing is made that no record names"
        self.made.add(name)
        self.asked.append(name)
        answer = self.broken.get(name, {"passed": ["all"], "failed": []})
        if isinstance(answer, str):
            raise ProposalError(answer)
        return answer

    def clean(self, name):
        if name in self.stuck:
            raise ProposalError(self.stuck[name])
        found = [f"what {name} made"] if name in self.made else []
        self.made.discard(name)
        return found

    def __getattr__(self, function):
        prefix, name, verb = function.split("_")
        assert prefix == "smoke" and verb in ("attempt", "clean"), function
        return lambda _, *words: getattr(self, verb)(name, *words)


@pytest.fixture(scope="module")
def runners(salt_factories):
    return salt_factories.salt_master_daemon("smoke", factory_class=Master).runners()


@pytest.fixture
def cluster(monkeypatch):
    made = Cluster()
    made.play(monkeypatch)
    monkeypatch.setattr(stage_lock, "free", lambda opts: None)
    monkeypatch.setattr(smoking, "served", lambda opts: Served(TOLD, {}, {}, "salt"))
    return made


@pytest.mark.slow
def test_every_service_passes_and_nothing_stays(runners, cluster, capsys):
    done = runners["smoke.test"]()
    assert done["text"] == "passed: rbd, cephfs, s3, dashboard" and "retcode" not in done
    assert "s3: passed: all" in capsys.readouterr().out
    assert (cluster.record, cluster.made, tuple(cluster.asked)) == (None, set(), MADE)


@pytest.mark.parametrize("service", MADE)
@pytest.mark.parametrize("answer", [{"passed": ["x"], "failed": ["refused"]}, "node1: no answer", {}])
def test_the_service_that_is_broken_is_the_one_named(runners, cluster, capsys, service, answer):
    cluster.broken[service] = answer
    done = runners["smoke.test"]()
    good = ", ".join(name for name in MADE if name != service)
    assert (done["retcode"], done["text"]) == (1, f"passed: {good}; FAILED: {service}")
    assert capsys.readouterr().out.count("FAILED") == 1
    assert (cluster.record, cluster.made, tuple(cluster.asked)) == (None, set(), MADE)


def test_what_cannot_be_taken_away_is_that_services_failure_and_stays_recorded(runners, cluster):
    cluster.stuck["cephfs"] = "no metadata server"
    done = runners["smoke.test"]()
    assert (done["retcode"], done["text"]) == (1, "passed: rbd, s3, dashboard; FAILED: cephfs")
    assert cluster.record == sorted(MADE) and cluster.made == {"cephfs"}
    cluster.stuck.clear()
    assert runners["smoke.clean"]()["text"] == "removed: what cephfs made"
    assert (cluster.record, cluster.made) == (None, set())
    assert "nothing changed" in runners["smoke.clean"]()["text"]


@pytest.mark.parametrize("next_run", ["smoke.test", "smoke.clean"])
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("moment", range(1, 11))
def test_what_a_killed_test_left_the_next_run_takes_away(runners, cluster, moment, before, next_run):
    cluster.kill = (moment, before)
    with pytest.raises(Killed):
        runners["smoke.test"]()
    assert not cluster.made or cluster.record
    cluster.kill = (None, False)
    assert "retcode" not in runners[next_run]()
    assert (cluster.record, cluster.made) == (None, set())


@pytest.mark.parametrize("service", ["nfs", "iscsi"])
def test_what_nobody_can_take_away_as_no_host_runs_the_service_any_more_is_named(runners, cluster, service):
    cluster.record, cluster.made = [service], {service}
    for verb in ("smoke.clean", "smoke.test"):
        done = runners[verb]()
        assert done["retcode"] == 1 and service in str(done), done
        assert cluster.record and cluster.made == {service}
    assert "no host runs it any more" in runners["smoke.clean"]()["error"]


def test_a_cluster_whose_clients_wait_is_named_and_all_else_is_tried(runners, cluster, capsys):
    cluster.why = ["the flag pausewr is set: writes wait ('ceph osd dump')"]
    done = runners["smoke.test"]()
    assert (done["retcode"], done["text"]) == (1, "passed: rbd, cephfs, s3, dashboard; FAILED: cluster")
    assert "cluster: FAILED: the flag pausewr" in capsys.readouterr().out


def test_a_host_in_maintenance_is_told_of(runners, cluster, capsys):
    record = {"minion": "node1", "state": "down", "since": "2026-11-23T12:00:00+00:00", "user": "root"}
    cluster.kept = {"node1": {**record, "units": {}, "daemons": []}}
    assert "retcode" not in runners["smoke.test"]()
    assert "node1 is in maintenance" in capsys.readouterr().out


def test_where_no_monitor_answers_nothing_is_tried(runners, cluster):
    cluster.silent.add("salt")
    done = runners["smoke.test"]()
    assert done["retcode"] and "salt" in done["error"] and cluster.log == []


def test_test_mode_says_what_would_be_tried_and_asks_nobody(runners, cluster):
    cluster.silent.add("salt")
    assert runners["smoke.test"]("s3", test=True)["text"].splitlines() == [
        "would try:",
        "s3: an object put and got through rgw.node1 (S3, Signature Version 4)",
    ]
    assert "rbd, cephfs, s3, dashboard" in runners["smoke.clean"](test=True)["text"]


def test_a_service_that_is_none_changes_nothing(runners, cluster):
    assert "did you mean 'cephfs'" in runners["smoke.test"]("cephf")["error"]
    assert "nfs: no host runs it" in runners["smoke.test"]("nfs")["error"]
    assert cluster.log == []


def test_two_at_once_and_one_beside_a_stage_are_refused(runners, cluster, monkeypatch):
    with one_at_a_time.alone(runners.opts, "smoke.test"):
        assert "smoke.test is running" in runners["smoke.test"]()["error"]

    def held(opts):
        raise ProposalError("stage deploy is running")

    monkeypatch.setattr(stage_lock, "free", held)
    assert "stage deploy" in runners["smoke.test"]()["error"]
    assert cluster.log == []


def test_what_makes_nothing_leaves_no_record(runners, cluster, monkeypatch):
    told = {"igw1": {"igw": {}}}
    monkeypatch.setattr(smoking, "served", lambda opts: Served(told, {}, {}, "salt"))
    assert runners["smoke.test"]("iscsi")["text"] == "passed: iscsi"
    assert cluster.record is None and cluster.log == []


def test_a_program_gets_data(runners, cluster, monkeypatch):
    monkeypatch.setitem(runners.opts, "output", "json")
    assert json.dumps(runners["smoke.test"]("rbd"))
