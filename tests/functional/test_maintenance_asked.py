"""A host taken into maintenance and out of it: a site that is served, a cluster that is played, every moment an end."""

import copy
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from played import BUSY, Killed, Minions, another_stops_daemons
from saltmaster import Master, lay_out, policy_cfg, serve
from test_pillar import host

from proposals.files.site import site
from proposals.pillar import named, served
from proposals.stages.replies import Problem, Replies
from proposals.text.errors import ProposalError
from runners.engine import waiting
from runners.engine.asking import minions, taking_part
from runners.engine.cluster import health, maintained, spared
from runners.engine.looks import early, stage_jobs
from runners.engine.runs import stage_lock

WHOLE = json.loads((Path(__file__).parent.parent / "fixtures/health/whole.json").read_text())
NODES = ("node1", "node2", "node3")
FSID = "11111111-1111-4111-8111-111111111111"
POLICY = policy_cfg(
    mon="node*", mgr="node[12]", mds="node[12]", rgw="node[12]", prometheus="node3", alertmanager="node[13]"
)
SETTINGS = "rgw_frontend: {address: 10.0.0.100, port: 443}\n"
NO = "Error EBUSY: unsafe to stop osd(s) at this time (3 PGs are or would become offline)"


def connected(hosts):
    """What discovery stores of hosts, each with a port of its own in the cluster's network."""
    ports = {name: {"name": "eth0", "addresses": [f"10.0.0.{at}/24"]} for at, name in enumerate(hosts, start=1)}
    return {name: {**host(at, name), "ceph_nics": [ports[name]]} for at, name in enumerate(hosts, start=1)}


def units(node):
    """What a node runs, in the order in which it stops."""
    number = NODES.index(node)
    gateways = ("ceph-rgw-haproxy", f"ceph-radosgw@rgw.{node}", f"ceph-mds@{node}") if node != "node3" else ()
    osds = [f"ceph-osd@{osd}" for osd in (2 * number, 2 * number + 1)]
    names = [*gateways, *osds, *([f"ceph-mgr@{node}"] if node != "node3" else []), f"ceph-mon@{node}"]
    return {f"{name}.service": "enabled" for name in names}


class Cluster(Minions):
    """What minions answer. What must not be is asserted where it would happen."""

    CHANGES = ("note", "claim", "forget", "silence", "unsilence", "drain", "ready", "apply", "stop", "start")

    def __init__(self):
        super().__init__()
        self.runs = {node: units(node) for node in NODES}
        self.records, self.noout, self.silences, self.drained = {}, set(), {}, set()
        self.active, self.refused, self.dead = "node1", {}, set()
        self.epoch = dict.fromkeys(range(6), 10)

    def left(self):
        """All that maintenance changes, but for the minute in which it did."""
        records = {host: {**record, "since": ""} for host, record in self.records.items()}
        now = (self.runs, records, self.noout, self.silences, self.drained, self.active)
        return copy.deepcopy(now)

    def up(self, kind):
        found = [unit.removesuffix(".service") for running in self.runs.values() for unit in running]
        return sorted(unit.partition("@")[2] for unit in found if unit.startswith(f"ceph-{kind}@"))

    def seen(self):
        whole = copy.deepcopy(WHOLE)
        whole["status"]["quorum_names"] = self.up("mon")
        whole["mgr"], whole["mds"] = self.up("mgr"), self.up("mds")
        for osd in whole["osd_dump"]["osds"]:
            osd |= {"up": int(str(osd["osd"]) in self.up("osd")), "up_from": self.epoch[osd["osd"]]}
        return whole

    # What is asked.

    def cluster_health_inspect(self, _):
        return self.seen()

    def cluster_maintenance_hosts(self, minion, asker=None):
        return copy.deepcopy(self.records) if asker in (None, minion) else {}

    def cluster_maintenance_hosts_by_monitor(self, minion):
        raise ProposalError(f"'ceph' on {minion}: no monitor answered")

    def cluster_maintenance_needed(self, _, hostname):
        return [self.refused[hostname]] if hostname in self.refused else []

    def cluster_health_stoppable(self, _, kind, names):
        if refused := self.refused.get(f"{kind}.{names[0]}"):
            raise ProposalError(refused)
        return {"ok": names}

    def test_ping(self, _):
        return True

    def saltutil_running(self, _):
        return []

    def cluster_maintenance_managers(self, _):
        return {"running": self.up("mgr"), "active": self.active, "available": True}

    def host_services_running(self, minion):
        return {"units": list(self.runs[minion])}

    def daemons_maintenance_units(self, minion):
        return dict(self.runs[minion])

    def daemons_running(self, minion):
        short = [unit.removesuffix(".service").removeprefix("ceph-") for unit in self.runs[minion]]
        names = [name.replace("radosgw@", "client.").replace("@", ".") for name in short if "@" in name]
        return dict.fromkeys(set(names) - self.dead, {})

    # What is changed.

    def cluster_maintenance_note(self, _, hostname, record):
        self.records[hostname] = json.loads(json.dumps(record))
        return True

    def cluster_maintenance_claim(self, _, hostname):
        self.records[hostname]["noout"] = [hostname]
        self.noout.add(hostname)
        return [hostname]

    def cluster_maintenance_forget(self, _, hostname):
        self.noout -= set(self.records.pop(hostname)["noout"])
        return True

    def host_alerts_silence(self, minion, hostname, hours):
        self.silences[hostname] = (minion, hours)
        return ["id"]

    def host_alerts_unsilence(self, _, hostname):
        return [self.silences.pop(hostname)] if hostname in self.silences else []

    def host_haproxy_drain(self, minion, names):
        self.drained |= {(minion, name) for name in names}
        return dict.fromkeys(names, 0)

    def host_haproxy_ready(self, minion, names):
        self.drained -= {(minion, name) for name in names}
        return names

    def cluster_crush_apply(self, _, commands):
        assert commands == [["mgr", "fail", self.active]]
        self.active = next(name for name in self.up("mgr") if name != self.active)

    def daemons_maintenance_stop(self, minion, names):
        assert minion in self.records and minion in self.noout and self.active != minion and minion not in self.refused
        self.runs[minion] = {unit: word for unit, word in self.runs[minion].items() if unit not in names}
        return names

    def daemons_maintenance_start(self, minion, again):
        self.runs[minion] |= {unit: word for unit, word in again.items() if unit not in self.dead}
        for unit in again:
            if unit.startswith("ceph-osd@") and unit not in self.dead:
                self.epoch[int(unit[9:-8])] = 20
        return list(again)


@pytest.fixture(scope="module")
def master(salt_factories):
    """A master whose site has every fragment, with a generation that is served."""
    made = salt_factories.salt_master_daemon("maintenance", factory_class=Master)
    lay_out(made, connected((*NODES, "salt")), FSID, POLICY, SETTINGS)
    serve(made.opts())
    return made


@pytest.fixture
def cluster(monkeypatch):
    """A cluster that runs and healthily waits."""
    made = Cluster()
    made.play(monkeypatch, health, waiting)
    monkeypatch.setattr(minions, "ours", lambda opts: [*NODES, "salt"])
    return made


@pytest.mark.slow
def test_a_host_goes_into_maintenance_and_comes_back(runners, cluster, capsys):
    before = cluster.left()
    done = runners["maintenance.begin"]("node1")
    assert done.get("retcode", 0) == 0, done
    assert done["text"] == "node1 is in maintenance: 'salt-run maintenance.end node1' ends it"
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "node1: noout for node1 alone",
        "node1: alerts about it are silenced",
        "node1: its gateways get no new request",
        "node1: another manager is active",
        "node1: 7 daemons stop",
    ]
    assert (cluster.runs["node1"], cluster.noout, cluster.active) == ({}, {"node1"}, "node2")
    assert cluster.silences == {"node1": ("node3", 4)} and cluster.drained == {("node2", "rgw.node1")}
    record = cluster.records["node1"]
    assert (record["state"], record["units"]) == ("down", units("node1"))
    assert record["daemons"] == ["client.rgw.node1", "mds.node1", "mgr.node1", "mon.node1", "osd.0", "osd.1"]
    shown = runners["maintenance.show"]()
    assert shown["text"].startswith("node1: in maintenance since ") and "its daemons are stopped" in shown["text"]
    assert "nothing changed" in runners["maintenance.begin"]("node1")["text"]
    assert runners["maintenance.end"]("node1")["text"] == "node1 is in maintenance no more"
    assert cluster.left() == (*before[:5], "node2")
    assert runners["maintenance.show"]()["text"] == "no host is in maintenance"
    assert "not in maintenance: nothing changed" in runners["maintenance.end"]("node1")["text"]


@pytest.mark.slow
def test_a_dry_run_changes_nothing(runners, cluster):
    before = cluster.left()
    told = runners["maintenance.begin"]("node1", test=True)["text"]
    assert "would be in maintenance: Ceph allows it; would stop ceph-rgw-haproxy.service, ceph-radosgw@" in told
    assert cluster.left() == before and cluster.log == []
    runners["maintenance.begin"]("node3")
    before, cluster.log = cluster.left(), []
    assert "would start ceph-osd@4" in runners["maintenance.end"]("node3", test=True)["text"]
    assert "node3: in maintenance since" in runners["maintenance.begin"]("node1", test=True)["text"]
    assert cluster.left() == before and cluster.log == []


@pytest.mark.slow
def test_a_no_that_says_that_ceph_does_not_know_yet_is_waited_out(cluster, runners, monkeypatch):
    """As just after a pool was made, or another manager became active."""
    asked = []

    def refused(opts, host, asker):
        asked.append(host)
        return ["Error EAGAIN: 4 pgs have unknown state; cannot draw any conclusions"] if len(asked) < 3 else []

    monkeypatch.setattr(spared, "refused", refused)
    monkeypatch.setattr(maintained, "PAUSE", 0.01)
    assert "Ceph allows it" in runners["maintenance.begin"]("node1", test=True)["text"]
    assert asked == ["node1"] * 3


def other_server(cluster):
    """The host's metadata server is not called as the host, and Ceph needs it."""
    del cluster.runs["node1"]["ceph-mds@node1.service"]
    cluster.runs["node1"]["ceph-mds@a.service"] = "enabled"
    cluster.refused["mds.a"] = "insufficient standby"


REFUSED = {
    "an OSD that Ceph needs": (lambda cluster: cluster.refused.update(node1=NO), {}, f"needs it now:\n{NO}"),
    "a metadata server that Ceph needs": (
        lambda cluster: cluster.refused.update({"mds.node1": "insufficient standby"}),
        {},
        "insufficient standby",
    ),
    "a metadata server of another name": (other_server, {}, "needs it now:\ninsufficient standby"),
    "the last manager": (
        lambda cluster: cluster.runs["node2"].pop("ceph-mgr@node2.service"),
        {},
        "mgr.node1: no other manager runs: start one first",
    ),
    "the last gateway": (
        lambda cluster: cluster.runs["node2"].pop("ceph-radosgw@rgw.node2.service"),
        {},
        "rgw rgw: no other object gateway like it runs: its clients would have none; where they can do without, add "
        "without=rgw",
    ),
    "the last address": (
        lambda cluster: cluster.runs["node2"].pop("ceph-rgw-haproxy.service"),
        {"without": "rgw,igw"},
        "rgw-frontend: no other address before the gateways like it runs",
    ),
    "a silent host": (lambda cluster: cluster.silent.add("node1"), {"test": True}, "node1: does not answer"),
    "another host of that name": (None, {"host": "node9"}, "'node9' is no host of the generation that is served: did"),
    "no name": (None, {"host": 7}, "host: the command line was read as YAML and gave 7 (int)"),
    "the host of the master": (None, {"host": "salt"}, "salt asks the cluster for all stages (role master)"),
    "a part that is none": (None, {"without": "osd"}, "without=osd: expected some of rgw, rgw-frontend"),
    "a switch that is none": (None, {"test": "perhaps"}, "test=perhaps: expected true or false"),
    "too many hours": (None, {"hours": 1000}, "hours=1000: expected a whole number from 1 to 168"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_stands_against_it_is_named_and_nothing_is_changed(runners, cluster, case):
    make, typed, words = REFUSED[case]
    if make:
        make(cluster)
    before = cluster.left()
    done = runners["maintenance.begin"](**{"host": "node1", **typed})
    assert done["retcode"] == 2 and words in done["error"], done
    assert cluster.left() == before and cluster.log == []


def test_what_clients_can_do_without_is_typed(runners, cluster):
    cluster.runs["node2"].pop("ceph-radosgw@rgw.node2.service")
    cluster.refused["mds.node1"] = "insufficient standby"
    assert runners["maintenance.begin"]("node1", without="rgw,mds").get("retcode", 0) == 0
    assert cluster.runs["node1"] == {}


@pytest.mark.slow
def test_of_a_second_host_ceph_decides(runners, cluster):
    runners["maintenance.begin"]("node3")
    cluster.refused["node1"] = NO
    assert NO in runners["maintenance.begin"]("node1")["error"] and set(cluster.records) == {"node3"}
    cluster.refused.clear()
    assert runners["maintenance.begin"]("node1").get("retcode", 0) == 0
    assert set(cluster.records) == cluster.noout == {"node1", "node3"}
    assert cluster.silences["node1"] == ("node1", 4)  # the other Alertmanager's host is away
    runners["maintenance.end"]("node3")
    assert set(cluster.records) == cluster.noout == set(cluster.silences) == {"node1"}


@pytest.mark.slow
def test_ceph_may_say_no_at_the_last_moment(runners, cluster):
    """An OSD elsewhere dies meanwhile: nothing is stopped, and the host's way out is named."""
    silence = cluster.host_alerts_silence

    def dies(*words):
        cluster.refused["node1"] = NO
        return silence(*words)

    cluster.host_alerts_silence = dies
    done = runners["maintenance.begin"]("node1")
    assert done["retcode"] == 2 and f"node1: {NO}; nothing else was stopped" in done["error"]
    assert (
        cluster.runs["node1"] == units("node1")
        and "run maintenance.begin again" in runners["maintenance.show"]()["text"]
    )
    assert runners["maintenance.end"]("node1")["text"] == "node1 is in maintenance no more"
    assert (cluster.records, cluster.noout, cluster.silences, cluster.drained) == ({}, set(), {}, set())


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_killed_at_any_moment_the_same_command_goes_on(runners, cluster, before):
    fresh = copy.deepcopy(cluster.__dict__)
    runners["maintenance.begin"]("node1")
    begun, ways = cluster.changes, cluster.left()
    runners["maintenance.end"]("node1")
    whole, changes = cluster.left(), cluster.changes
    assert begun > 5 and changes > begun + 4

    def timeless(state):
        return json.loads(json.dumps([*state[:1], *state[3:4], *state[5:]])), {**state[1]}.keys(), state[2], state[4]

    for moment in range(1, changes + 1):
        cluster.__dict__.update(copy.deepcopy(fresh))
        cluster.kill = (moment, before)
        verbs = ["maintenance.begin"] if moment <= begun else ["maintenance.begin", "maintenance.end"]
        with pytest.raises(Killed):
            for verb in verbs:
                runners[verb]("node1")
        cluster.kill = (None, False)
        done = runners[verbs[-1]]("node1")
        assert done.get("retcode", 0) == 0, (moment, done)
        assert timeless(cluster.left()) == timeless(ways if moment <= begun else whole), moment
        if moment <= begun:
            assert cluster.records["node1"]["units"] == units("node1"), "all that ran is remembered"
            runners["maintenance.end"]("node1")
            assert cluster.left() == whole, moment


@pytest.mark.slow
def test_a_host_whose_osd_does_not_come_back_stays_in_maintenance(runners, cluster):
    runners["maintenance.begin"]("node1")
    cluster.dead = {"ceph-osd@1.service"}
    done = runners["maintenance.end"]("node1")
    assert done["retcode"] == 2 and "osd.1: is not back; its noout is kept: mend that" in done["error"]
    assert cluster.noout == set(cluster.records) == {"node1"} and cluster.silences
    assert "run maintenance.end again" in runners["maintenance.show"]()["text"]
    cluster.dead = set()
    assert runners["maintenance.end"]("node1")["text"] == "node1 is in maintenance no more"
    assert (cluster.noout, cluster.records, cluster.silences) == (set(), {}, {})


@pytest.mark.slow
def test_an_osd_that_was_given_up_in_maintenance_is_not_waited_for(runners, cluster):
    """Its disk died meanwhile, and osd.replace destroyed it: it is never back, and the host is."""
    runners["maintenance.begin"]("node1")
    cluster.dead = {"ceph-osd@1.service", "osd.1"}
    assert "osd.1: is not back" in runners["maintenance.end"]("node1")["error"]
    inspect = cluster.cluster_health_inspect

    def destroyed(salt):
        told = inspect(salt)
        told["osd_dump"]["osds"][1]["state"] = ["destroyed", "exists"]
        return told

    cluster.cluster_health_inspect, cluster.dead = destroyed, {"osd.1"}
    assert runners["maintenance.end"]("node1").get("text") == "node1 is in maintenance no more"
    assert "ceph-osd@1.service" not in cluster.runs["node1"]  # enabled, it would fail at each boot
    assert (cluster.noout, cluster.records) == (set(), {})


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "types"), [("begin", "end"), ("end", "begin"), ("begin", "begin")])
def test_a_host_goes_one_way_at_a_time(runners, cluster, runs, types):
    """Who calls off what another admin's command waits for still would leave a host that is stopped without noout."""
    if runs == "end":
        runners["maintenance.begin"]("node1")
    said = []

    def meanwhile(kept):
        def does(*words):
            if not said:
                said.append(runners[f"maintenance.{types}"]("node1"))
            return kept(*words)

        return does

    name = {"begin": "host_alerts_silence", "end": "daemons_maintenance_start"}[runs]
    setattr(cluster, name, meanwhile(getattr(cluster, name)))
    done = runners[f"maintenance.{runs}"]("node1")
    assert done.get("retcode", 0) == 0, done
    assert f"maintenance.{runs} is running on this master: wait for its end" in said[0]["error"]
    away = {"node1"} if runs == "begin" else set()
    assert set(cluster.records) == cluster.noout == away
    assert bool(cluster.runs["node1"]) is (runs == "end")


@pytest.mark.slow
def test_a_host_that_does_not_come_back_is_let_go_of(runners, cluster):
    runners["maintenance.begin"]("node1")
    before, cluster.log = cluster.left(), []
    assert "gone=true: node1 answers, so it is not gone" in runners["maintenance.end"]("node1", gone=True)["error"]
    assert "gone=node1: expected true or false" in runners["maintenance.end"]("node1", gone="node1")["error"]
    assert cluster.left() == before and cluster.log == []
    cluster.silent.add("node1")
    assert "node1: does not answer" in runners["maintenance.end"]("node1")["error"]
    assert runners["maintenance.end"]("node1", gone=True)["text"] == "node1 is in maintenance no more"
    assert (cluster.noout, cluster.records, cluster.silences) == (set(), {}, {}) and cluster.runs["node1"] == {}


@pytest.fixture
def taken_out(master):
    """policy.cfg without node3, as configure serves it: the host that died is to leave."""
    opts = master.opts()
    policy, nodes = site(opts).proposals / "policy.cfg", "cluster-ceph/cluster/*.sls\n"
    without = POLICY.replace("node*", "node[12]").replace("node3", "node1").replace("[13]", "1")
    without = without.replace("profile-default/cluster/*", "profile-default/cluster/node[12]*")
    without = without.replace("minions/*.yml", "minions/node[12]*.yml")
    policy.write_text(without.replace(nodes, "cluster-ceph/cluster/node[12].sls\ncluster-ceph/cluster/salt.sls\n"))
    named.note(site(opts), named.hosts(served.contents(site(opts)), named.hostnames(site(opts))))
    serve(opts)
    yield
    policy.write_text(POLICY)
    serve(opts)


@pytest.mark.slow
@pytest.mark.parametrize("gone", [True, False])
def test_a_host_that_was_taken_out_of_policy_cfg_meanwhile_ends_its_maintenance(runners, cluster, request, gone):
    """It was refused as no host that is served, and the stage removal until its maintenance had ended."""
    runners["maintenance.begin"]("node3")
    request.getfixturevalue("taken_out")
    if gone:
        cluster.silent.add("node3")
    done = runners["maintenance.end"]("node3", gone=gone)
    assert done.get("text") == "node3 is in maintenance no more", done
    assert (cluster.noout, cluster.records, cluster.silences) == (set(), {}, {})
    assert "'node3' is no host of the generation that is served" in runners["maintenance.begin"]("node3")["error"]


@pytest.mark.slow
def test_maintenance_that_an_older_version_began_ends_with_its_noout(runners, cluster):
    runners["maintenance.begin"]("node1")
    del cluster.records["node1"]["noout"]
    assert runners["maintenance.end"]("node1").get("retcode", 0) == 0 and cluster.noout == set()


def test_what_is_beside_its_daemons_does_not_hold_it_back_and_is_said(runners, cluster):
    """No Alertmanager, no HAProxy that answers: the rest goes on."""

    def fails(*_):
        raise ProposalError("node3: connection refused")

    cluster.host_alerts_silence = fails
    done = runners["maintenance.begin"]("node1")
    assert (
        done.get("retcode", 0) == 0 and "alerts about node1 are not silenced: node3: connection refused" in done["text"]
    )
    assert cluster.runs["node1"] == {}


def test_while_a_stage_runs_nothing_is_begun(runners, cluster, monkeypatch):
    def running(opts):
        raise ProposalError("stage deploy is running")

    monkeypatch.setattr(stage_lock, "free", running)
    for verb in ("maintenance.begin", "maintenance.end"):
        assert runners[verb]("node1")["error"] == "stage deploy is running"
    assert cluster.log == []


def test_a_record_that_is_none_is_named(runners, cluster):
    cluster.records["node2"] = {"minion": "node2"}
    for done in (runners["maintenance.show"](), runners["maintenance.begin"]("node1"), runners["stage.begin"]("own")):
        assert done["retcode"] == 2 and "the monitors keep of node2 what is no record" in done["error"]
    assert cluster.log == []


@pytest.fixture
def noted(monkeypatch):
    """What a stage that begins notes of its run; minions that are silent are said."""
    notes = {}
    monkeypatch.setattr(stage_lock, "take", lambda opts, stage: {"stage": stage, "jid": "1"})
    monkeypatch.setattr(stage_lock, "note", lambda opts, job: notes.update(job) or job)
    monkeypatch.setattr(stage_lock, "own", lambda opts: notes)
    away = set()
    ask = early.ask
    monkeypatch.setattr(early, "ask", lambda opts, asked, *more: ask(opts, set(asked) - away, *more))
    early.keep({}, None)  # what another test's stage was told
    return SimpleNamespace(job=notes, away=away)


@pytest.mark.slow
@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("needs", ["all", "answering"])
def test_a_stage_leaves_a_host_in_maintenance_alone_and_says_so(runners, cluster, noted, needs, silent, older):
    """Also where hosts have their modules from before an upgrade: the first prep after it brings them others."""
    runners["maintenance.begin"]("node1")
    if older:

        def hosts(minion, *arguments):
            if arguments:
                raise ProposalError("TypeError: hosts() takes 0 positional arguments but 1 was given")
            return copy.deepcopy(cluster.records)

        cluster.cluster_maintenance_hosts = hosts
    noted.away |= {"node1"} if silent else set()
    said = runners["stage.begin"]("own", needs=needs, must=["salt"], test=True)
    assert said.get("retcode", 0) == 0, said
    assert "node1: in maintenance since" in said["text"] and "the stage goes on without it" in said["text"]
    assert runners["targets.hosts"]() == ["node2", "node3", "salt"]
    assert {"mon.node1", "osd.0", "rgw.node1"} <= set(taking_part.excused({}))
    left = runners["targets.left"]()
    assert (
        left.get("retcode", 0) == 0
        and "'salt-run maintenance.end node1' ends it, then run the stage again" in left["text"]
    )
    only = runners["stage.begin"]("own", only="node1", test=True)
    assert "stage own: all of its hosts are in maintenance" in only["error"]


def test_who_is_in_maintenance_is_asked_once_where_there_is_no_cluster_yet(runners, cluster, noted):
    asked = []

    def hosts(minion, *_):
        asked.append(minion)
        raise ProposalError("'ceph' on salt: [errno 2] RADOS object not found (error calling conf_read_file)")

    cluster.cluster_maintenance_hosts = hosts
    assert runners["stage.begin"]("own", test=True).get("retcode", 0) == 0
    assert asked.count("salt") == 1


@pytest.mark.slow
def test_a_silent_host_beside_one_in_maintenance_is_named_alone(runners, cluster, noted):
    runners["maintenance.begin"]("node1")
    noted.away |= {"node1", "node2"}
    said = runners["stage.begin"]("own", test=True)["error"]
    assert "1 of 4 minions do not answer: node2;" in said
    # prep asks every minion that is accepted, whatever policy.cfg says: taken out of that alone it was refused for ever
    assert "gone for good, once it is out of policy.cfg, delete the key ('salt-key --delete=ID')" in said
    noted.away |= {"node3", "salt"}
    assert "no minion answers" in runners["stage.begin"]("own", test=True)["error"]


def test_a_host_that_answers_with_an_error_is_told_with_its_words(runners, cluster, noted, monkeypatch):
    """A minion in blackout, or one with a function disabled, was called silent, as if its service were dead."""
    ask, words = early.ask, "saltutil.running: SaltInvocationError: Minion in blackout mode"

    def asked(opts, minions, *more):
        told = ask(opts, set(minions) - {"node2"}, *more)
        function = stage_jobs.RUNNING.function
        answers, problems = told.replies[function]
        failed = Replies(answers, [*problems, Problem("node2", words)])
        return told._replace(replies={**told.replies, function: failed})

    monkeypatch.setattr(early, "ask", asked)
    refused = runners["stage.begin"]("own", test=True)["error"]
    assert refused.startswith("stage own: 1 of 4 minions cannot say what runs on them") and f"node2: {words}" in refused
    begun = runners["stage.begin"]("own", needs="answering", must=["salt"], test=True)
    assert f"node2: {words}; the stage goes on without it" in begun["text"]
    assert noted.job["silent"] == ["node2"]  # and is asked nothing more


def test_a_cluster_that_does_not_say_who_is_in_maintenance_holds_no_stage_back(runners, cluster, noted):
    def hangs(minion, asker):
        if minion == asker:
            raise ProposalError("'ceph' on salt: did not end within 60 s; no monitor answered: look at …")
        return {}

    cluster.cluster_maintenance_hosts = hangs
    said = runners["stage.begin"]("own", test=True)
    assert said.get("retcode", 0) == 0 and "which hosts are in maintenance is not known: salt: 'ceph'" in said["text"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "why",
    [
        "'ceph' on salt: did not end within 60 s; no monitor answered: look at …",  # deploy starts them
        "'ceph' on salt: [errno 2] RADOS object not found (error calling conf_read_file)",  # and writes ceph.conf
        "'ceph' on salt: [errno 13] RADOS permission denied (error connecting to the cluster)",  # and the admin's key
    ],
)
def test_who_is_in_maintenance_is_asked_again_before_anything_is_started(runners, cluster, noted, monkeypatch, why):
    runners["maintenance.begin"]("node1")
    answers = cluster.cluster_maintenance_hosts

    def fails(minion, asker=None):
        if asker in (None, minion):
            raise ProposalError(why)
        return {}

    cluster.cluster_maintenance_hosts = fails
    assert runners["stage.begin"]("own", test=True).get("retcode", 0) == 0
    assert "node1" in runners["targets.hosts"]()
    later = runners["targets.away"](must=False)
    assert later.get("retcode", 0) == 0 and "is not known yet" in later["text"] and noted.job["unasked"]
    refused = runners["targets.away"]()
    assert refused["retcode"] == 2 and why.partition(":")[0] in refused["error"]
    cluster.cluster_maintenance_hosts = answers
    assert "node1: in maintenance since" in runners["targets.away"]()["text"]
    assert runners["targets.hosts"]() == ["node2", "node3", "salt"]
    cluster.cluster_maintenance_hosts = fails
    assert "known" in runners["targets.away"]()["text"]  # nobody is asked a third time
    noted.job["unasked"] = True
    monkeypatch.setattr(stage_lock, "kept", lambda opts, key: False if key == health.MADE else None)
    assert "known" in runners["targets.away"]()["text"]  # nor where the stage makes the cluster


@pytest.mark.slow
def test_a_monitor_says_who_is_in_maintenance_where_the_admins_key_is_lost(runners, cluster, noted):
    """Before monitors are started, and so is one that is in maintenance."""
    runners["maintenance.begin"]("node1")

    def denied(minion, asker=None):
        if asker in (None, minion):
            raise ProposalError("'ceph' on salt: [errno 13] RADOS permission denied (error connecting to the cluster)")
        return {}

    cluster.cluster_maintenance_hosts = denied
    assert runners["stage.begin"]("own", test=True).get("retcode", 0) == 0
    monitors, asks = [], cluster.cluster_maintenance_hosts_by_monitor

    def of(minion):
        monitors.append(minion)
        return copy.deepcopy(cluster.records) if minion != monitors[0] else asks(minion)

    cluster.cluster_maintenance_hosts_by_monitor = of
    assert "node1: in maintenance since" in runners["targets.away"](must=False)["text"]
    assert runners["targets.hosts"]() == ["node2", "node3", "salt"] and len(monitors) == 3


def test_what_hosts_said_before_an_interrupted_runs_job_ended_is_asked_anew(runners, cluster, noted, monkeypatch):
    kept = []
    monkeypatch.setattr(early, "keep", lambda opts, told: kept.append(told))
    runs = [[{"jid": "7", "fun": "state.apply", "arg": ["own"]}], []]
    cluster.saltutil_running = lambda minion: runs.pop(0) if minion == "node2" and runs else []
    assert runners["stage.begin"]("own", test=True).get("retcode", 0) == 0 and kept == [None]
    assert runners["stage.begin"]("own", test=True).get("retcode", 0) == 0 and kept[1] is not None


@pytest.mark.slow
def test_the_daemons_of_a_host_in_maintenance_are_known_to_be_down(runners, cluster):
    runners["maintenance.begin"]("node1")
    shown = runners["health.show"]()
    known = shown["text"]
    assert "mon.node1" in known and "osd.0" in known and "wrong  mon.node1" not in known, shown
    cluster.runs["node2"].pop("ceph-osd@2.service")
    assert "osd.2" in "".join(line for line in runners["health.show"]()["text"].splitlines() if "wrong" in line)


def test_nothing_is_stopped_while_another_command_stops_daemons(runners, cluster):
    before = cluster.left()
    with another_stops_daemons(runners.opts):
        assert BUSY in runners["maintenance.begin"]("node1")["error"]
    assert cluster.left() == before
