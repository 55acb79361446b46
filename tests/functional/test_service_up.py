"""Services brought up: one look where nothing is to be done, every part in its order where anything differs."""

import copy

import pytest
from played import Minions
from saltmaster import Master

from proposals.stages.replies import Replies
from proposals.text.errors import ProposalError
from runners.engine import stage_begin
from runners.engine.asking import minions, taking_part
from runners.engine.cluster import ceph
from runners.engine.looks import early, stage_look
from runners.engine.runs import stage_lock

TREE = [{"id": -1, "name": "default", "type": "root", "children": [-2, -3]}]
TREE += [{"id": -2 - at, "name": f"node{at + 1}", "type": "host", "children": [at]} for at in (0, 1)]
TREE += [{"id": at, "name": f"osd.{at}", "type": "osd"} for at in (0, 1)]
POOL = {"size": 2, "min_size": 1, "erasure_code_profile": "", "pg_autoscale_mode": "on", "options": {}}
POOL |= {"quota_max_bytes": 0, "quota_max_objects": 0, "crush_rule": "r", "pg_num": 8, "flags": [], "objects": None}
POOLS = {name: {"application": "cephfs", "size": 2} for name in ("cephfs_data", "cephfs_metadata")}
SYSTEM = {"name": "cephfs", "data_pools": ["cephfs_data"], "max_mds": 1, "standby_replay": False}
STEPS = {
    "cephfs": {
        "ports": {},
        "parts": {"mds": ["node1", "node2"], "client-cephfs": []},
        "pools": POOLS,
        "cluster": {"file_systems": {"cephfs": {"max_mds": 1, "standby_replay": False, "data": {}}}},
    },
    "monitoring": {
        "ports": {},
        "parts": {"node-exporter": ["node1", "node2", "salt"]},
        "pools": {},
        "cluster": {"scrape_interval": 15},
    },
}
ASKED = [
    [["ceph.cluster.keys"], ["salt"]],
    [["ceph.service.mds"], ["node1", "node2"]],
    [["ceph.service.metrics"], ["salt"]],
    [["ceph.service.node-exporter"], ["node1", "node2", "salt"]],
]
APPLIED = [(sls, host) for (sls,), hosts in ASKED for host in hosts]
WELL = {"result": True, "changes": {}, "comment": "", "__id__": "x", "__run_num__": 0}


class Cluster(Minions):
    """``differ``: what each host would say of its states; ``applied``: which were, in order."""

    def __init__(self):
        super().__init__()
        self.differ, self.applied, self.looked, self.made = {}, [], [], []
        self.together, self.jobs, self.fails = 0, [], set()
        self.pools, self.systems, self.modules = list(POOLS), [SYSTEM], ["prometheus"]

    def cluster_cli_together(self, minion, functions, asker="salt"):
        if minion != asker:
            return {}
        self.together += 1
        return super().cluster_cli_together(minion, functions)

    def saltutil_running(self, _):
        return []

    def cluster_maintenance_hosts(self, _):
        return {}

    def host_services_running(self, _):
        return {"generation": "g", "ports": [], "units": [], "keyrings": []}

    def cluster_crush_inspect(self, _):
        pools = [{**POOL, "pool_name": name, "applications": ["cephfs"]} for name in self.pools]
        rules = {"replicated_rule": {"domain": "host", "root": "default", "class": ""}}
        return {"tree": TREE, "rules": rules, "profiles": {}, "pools": pools}

    def cluster_cephfs_inspect(self, _):
        return {"file_systems": self.systems}

    def cluster_monitoring_inspect(self, _):
        return {"modules": self.modules, "scrape_interval": "15"}

    def cluster_crush_apply(self, _, commands):
        self.made += commands
        return {}

    def host_states_differing(self, minion, groups, pillar, *_):
        assert pillar == {}
        self.looked.append((minion, [list(map(list, group)) for group in groups]))
        return self.differ.get(minion, [])

    def ask(self, opts, asked, function, *words, **named):
        if function == "state.apply":
            self.jobs.append((words[0][0], list(asked)))
        return super().ask(opts, asked, function, *words, **named)

    def state_apply(self, minion, sls, told):
        self.applied.append((sls, minion))
        if minion in self.fails:
            return {"x": {**WELL, "result": False, "comment": "it hangs"}}
        return {"x": {**WELL, "result": None if told["test"] else True}}


@pytest.fixture(scope="module")
def runners(salt_factories):
    return salt_factories.salt_master_daemon("service-up", factory_class=Master).runners()


@pytest.fixture
def cluster(monkeypatch):
    made = Cluster()
    made.play(monkeypatch)
    members = {"master": ["salt"], "all": ["node1", "node2", "salt"]}
    told = {"ceph": {"members": members, "generation": "g", "services": copy.deepcopy(STEPS)}}
    monkeypatch.setattr(minions, "pillar", lambda _: told)
    monkeypatch.setattr(minions, "members", lambda _: members)
    monkeypatch.setattr(taking_part, "wanted", lambda _, hosts: list(hosts))
    return made


@pytest.mark.slow
def test_where_nothing_is_to_be_done_one_look_says_so(runners, cluster):
    done = runners["service.up"]()
    assert done["text"] == "3 hosts are as told: nothing changed" and not done.keys() & {"retcode", "changes"}
    assert cluster.looked == [(host, ASKED) for host in ("node1", "node2", "salt")]
    assert (cluster.applied, cluster.made) == ([], [])


@pytest.mark.slow
def test_a_stages_check_looks_for_the_next_step_too(runners, cluster, monkeypatch):
    """Each host is asked in one job, the cluster in one; what it lacks is given, and no host looked at, as ever."""
    monkeypatch.setattr(stage_lock, "own", lambda _: {"jid": "1", "stage": "services"})
    assert "can be brought up" in runners["service.check"]()["text"]
    assert cluster.looked == [(host, ASKED) for host in ("node1", "node2", "salt")]
    asked = cluster.together
    assert runners["service.up"]()["text"] == "3 hosts are as told: nothing changed"
    assert (len(cluster.looked), cluster.together, asked) == (3, 1, 1)
    cluster.differ = {"node1": ["x: would change"]}
    runners["service.check"]()
    assert "node1: x: would change" in runners["service.up"]()["text"] and cluster.applied == APPLIED
    cluster.looked, cluster.pools = [], []
    runners["service.check"]()
    assert cluster.looked == [] and "ceph osd pool create" in runners["service.up"]()["text"]


@pytest.fixture
def begin(cluster, monkeypatch):
    """A function: ask as the first step of the stage does; hosts that are silent or differ are said before."""
    monkeypatch.setattr(stage_lock, "own", lambda _: {"jid": "1", "stage": "services"})
    early.keep({}, None)

    def asked():
        early.keep({}, None)
        questions = stage_begin.questions({}, ["services"], True, False, None)
        early.keep({}, early.once({}, ["node1", "node2", "salt"], questions, 15, 0))
        cluster.asked_before = (len(cluster.looked), cluster.together)

    return asked


def test_a_stages_first_step_has_asked_for_both_that_follow(runners, cluster, begin):
    begin()
    assert cluster.asked_before == (3, 1) and cluster.looked == [(host, ASKED) for host in ("node1", "node2", "salt")]
    assert "can be brought up" in runners["service.check"]()["text"]
    assert runners["service.up"]()["text"] == "3 hosts are as told: nothing changed"
    cluster.differ = {"node1": ["x: would change"]}
    begin()
    runners["service.check"]()
    assert cluster.asked_before == (len(cluster.looked), cluster.together)
    assert "node1: x: would change" in runners["service.up"]()["text"] and cluster.applied == APPLIED


@pytest.mark.parametrize(
    ("lost", "says"),
    [("a pool", "ceph osd pool create"), ("a host", "node2: "), ("a moment", "3 hosts are as told: nothing changed")],
)
def test_what_the_first_step_was_not_told_is_not_taken_for_well(runners, cluster, begin, monkeypatch, lost, says):
    def hangs(*_):
        raise ProposalError("no monitor answers")

    cluster.pools = [] if lost == "a pool" else cluster.pools
    cluster.silent = {"node2"} if lost == "a host" else set()
    with monkeypatch.context() as then:
        if lost == "a moment":  # in which the cluster did not answer: asked again
            then.setattr(cluster, "cluster_crush_inspect", hangs)
        begin()
    runners["service.check"]()
    done = runners["service.up"]()
    assert says in done.get("text", done.get("error"))


@pytest.mark.parametrize("test", [True, False])
def test_of_stages_run_as_one_a_look_that_the_cluster_did_not_answer_is_not_taken_for_its_answer(
    runners, cluster, monkeypatch, test
):
    """As ``stage.plan all`` before the first deploy, and where monitors were gone for that moment alone."""

    def hangs(*_):
        raise ProposalError("no monitor answers")

    monkeypatch.setattr(stage_lock, "own", lambda _: {"jid": "1", "stage": "services"})
    seen = stage_look.Look({}, {stage_look.DIFFERING: Replies({}, [])}, ["no monitor answers"])
    stage_look.keep({}, seen)  # as the services' first step does
    assert stage_look.begun({}) == seen and stage_look.kept({}) is None
    monkeypatch.setattr(cluster, "cluster_crush_inspect", hangs)
    done = runners["service.check"](test=test)
    assert ("can be brought up" in done["text"]) if test else ("no monitor answers" in done["error"])


def test_a_service_alone_looks_at_its_own_hosts(runners, cluster):
    assert runners["service.up"]("cephfs")["text"] == "3 hosts are as told: nothing changed"
    assert cluster.looked == [(host, ASKED[:2]) for host in ("node1", "node2", "salt")]


def test_what_one_host_says_has_every_part_applied(runners, cluster):
    cluster.differ = {"node2": ["ceph-service-mds-running: Service ceph-mds@node2 is set to start"]}
    done = runners["service.up"]()
    assert cluster.applied == APPLIED
    told, *lines = done["text"].splitlines()
    assert told == "not as told, or to be applied:"
    assert lines[0] == "node2: ceph-service-mds-running: Service ceph-mds@node2 is set to start"


def test_a_host_that_does_not_answer_the_look_is_named_by_each_part(runners, cluster):
    cluster.silent = {"node2"}
    done = runners["service.up"]()
    assert done["retcode"] == 1 and "cephfs: mds: FAILED: node2: does not answer" in done["error"]
    assert cluster.applied == [each for each in APPLIED if each[1] != "node2"]


@pytest.mark.parametrize(
    ("lacks", "told"),
    [
        ({"pools": ["cephfs_data"]}, "ceph osd pool create cephfs_metadata"),
        ({"systems": []}, "ceph fs new cephfs cephfs_metadata cephfs_data"),
        ({"systems": [{**SYSTEM, "max_mds": 2}]}, "ceph fs set cephfs max_mds 1"),
        ({"modules": []}, "ceph mgr module enable prometheus"),
    ],
)
def test_what_the_cluster_lacks_is_given_and_no_host_is_looked_at_first(runners, cluster, lacks, told):
    vars(cluster).update(lacks)
    done = runners["service.up"]()
    assert told in done["text"].splitlines()[1] and done["changes"]
    assert (cluster.looked, cluster.applied) == ([], APPLIED) and cluster.made


def test_a_cluster_that_does_not_answer_is_no_reason_to_leave_a_part_out(runners, cluster):
    cluster.silent = {"salt"}
    done = runners["service.up"]()
    assert done["retcode"] == 1 and "keys: FAILED: salt: does not answer" in done["error"]


def test_in_test_mode_each_part_says_what_it_would_do(runners, cluster):
    done = runners["service.up"](test=True)
    assert cluster.looked == [] and cluster.applied == APPLIED
    assert [step["step"] for step in done["plan"]][0] == "keys"


def test_a_plan_before_the_first_deploy_says_what_is_looked_at_later(runners, cluster, monkeypatch):
    """As plans of pools and CRUSH places do: that there is no cluster yet is no failure of a service."""

    def hangs(*_):
        raise ProposalError("no monitor answers")

    for name in ("cluster_crush_inspect", "cluster_cephfs_inspect", "cluster_monitoring_inspect"):
        monkeypatch.setattr(cluster, name, hangs)
    done = runners["service.up"](test=True)
    assert "error" not in done and cluster.applied == APPLIED
    for what in ("cephfs: pools", "cephfs: cluster", "monitoring: cluster"):
        assert f"{what}: {ceph.LATER}" in done["text"].splitlines()
    assert "cephfs: pools: FAILED: no monitor answers" in runners["service.up"]()["error"]


IGW = "ceph.service.igw"
ISCSI = {"ports": {}, "parts": {"igw": ["node1", "node2"], "iscsi-targets": ["node1"]}, "pools": {}, "cluster": {}}


@pytest.mark.parametrize(
    ("silent", "fails", "turns", "told"),
    [
        ((), (), [["node1"], ["node2"]], "iscsi: igw: nothing changed"),
        ((), ("node1",), [["node1"]], "iscsi: igw: FAILED: node2: left as they are, one after the other restarts"),
        (("node1",), (), [["node1"]], "iscsi: igw: FAILED: node1: does not answer"),
        (("node1", "left out"), (), [["node1"], ["node2"]], "iscsi: igw: FAILED: node1: does not answer"),
    ],
)
def test_gateways_that_restart_are_told_one_after_the_other(runners, cluster, monkeypatch, silent, fails, turns, told):
    """Initiators go on by another one meanwhile; where one does not come back, no other is touched. One that was silent
    when the stage began holds nobody back.
    """
    if "left out" in silent:
        monkeypatch.setattr(taking_part, "among", lambda opts, hosts=None, limited=True: ["node2", "salt"])
    minions.pillar({})["ceph"]["services"] = {"iscsi": ISCSI}
    cluster.differ, cluster.silent, cluster.fails = {"node2": ["x"]}, set(silent), set(fails)
    done = runners["service.up"]("iscsi")
    assert [hosts for sls, hosts in cluster.jobs if sls == IGW] == turns
    assert told in done.get("error", done.get("text"))
    cluster.jobs.clear()
    runners["service.up"]("iscsi", test=True)
    assert [hosts for sls, hosts in cluster.jobs if sls == IGW] == [["node1", "node2"]]
