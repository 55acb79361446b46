"""An NFS server that stopped and is not awaited: nobody waits for it, and no other client loses anything."""

import copy
import json

import pytest
from played import end_at_each_change
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock
from saltmaster import Master, lay_out, serve
from test_maintenance_asked import FSID, NODES, POLICY, SETTINGS, Cluster, connected

from proposals.cluster.maintained import Record
from proposals.cluster.removal.items import Item
from proposals.text.errors import ProposalError
from runners.engine import waiting
from runners.engine.asking import jobs, minions
from runners.engine.cluster import health, nfs_ended
from runners.engine.cluster.maintained import Look
from runners.engine.hosts import maintaining
from runners.engine.removal import departure

UUID = "ganesha-node1-71de"
OWN = {"entity_id": "ganesha.node1", "hostname": "node1", "uuid": UUID, "timeout": "300"}
# Clients that look like it, each in another way: what is evicted of them is another one's.
OTHERS = [
    {**OWN, "hostname": "node2"},
    {**OWN, "hostname": "node11"},
    {**OWN, "entity_id": "ganesha.node11"},
    {**OWN, "entity_id": "admin"},
    {**OWN, "uuid": "ganesha-node11-71de"},
    {**OWN, "uuid": f"{UUID}0"},
    {**OWN, "uuid": f"x{UUID}"},
    {**OWN, "uuid": ""},
    {"entity_id": "ganesha.node1", "hostname": "node1"},  # ceph-fuse by the server's key, on its host
    {"entity_id": "cephfs.node1", "hostname": "node1"},
    {},
]


def session(number, told):
    return {"id": number, "entity": {"name": {"type": "client", "num": number}}, "client_metadata": told}


class Servers:
    """Metadata servers that are played, with their clients' sessions."""

    def __init__(self, sessions, states=("up:active",)):
        self.sessions = {name: list(each) for name, each in sessions.items()}
        self.states, self.told = list(states), []

    def ask(self, words):
        if words == ["fs", "dump"]:
            state = self.states[0] if len(self.states) == 1 else self.states.pop(0)
            info = {f"gid_{at}": {"name": name, "state": state} for at, name in enumerate(self.sessions)}
            info["gid_99"] = {"name": "spare", "state": "up:standby-replay"}
            return {
                "filesystems": [{"mdsmap": {"fs_name": "cephfs", "in": [*range(len(self.sessions))], "info": info}}]
            }
        what, daemon, *rest = words
        assert what == "tell" and rest == ["client", "ls"]
        return copy.deepcopy(self.sessions[daemon.removeprefix("mds.")])

    def tell(self, words):
        what, daemon, *verb, found = words
        assert what == "tell" and verb == ["client", "evict"]
        key, _, number = found.partition("=")
        assert key == "id" and number.isdigit(), "without a filter Ceph evicts all of them"
        name = daemon.removeprefix("mds.")
        self.sessions[name] = [each for each in self.sessions[name] if each["id"] != int(number)]
        self.told.append(words)


@pytest.fixture
def evict(python_module):
    """A function: evict the server of node1 on such metadata servers."""
    module = python_module("cluster_cephfs")

    def on(servers, **more):
        salt = {"cluster_cli.ask": servers.ask, "cluster_cli.tell": servers.tell}
        with LoaderModuleMock({module: {"__salt__": salt, "TAKEOVER": 0, **more}}):
            return module.evict("ganesha.node1", "node1", "node1")

    return on


def test_its_sessions_go_at_every_metadata_server_and_no_other_clients(evict):
    others = [session(number, told) for number, told in enumerate(OTHERS, start=1)]
    mine = [session(4305, OWN), session(4306, {**OWN, "hostname": "node1.lab.x", "uuid": "ganesha-node1-0002"})]
    servers = Servers({"a": [*others, *mine], "b": [mine[0], *others]})
    assert evict(servers) == ["client.4305 of mds.a", "client.4306 of mds.a", "client.4305 of mds.b"]
    assert servers.sessions == {"a": others, "b": others}
    assert evict(servers) == [] and len(servers.told) == 3


@pytest.mark.parametrize("told", OTHERS)
def test_one_that_only_looks_like_it_stays(evict, told):
    servers = Servers({"a": [session(7, told)]})
    assert evict(servers) == [] and servers.told == []


def test_a_name_is_no_pattern(python_module):
    module, servers = (
        python_module("cluster_cephfs"),
        Servers({"a": [session(7, {**OWN, "uuid": "ganesha-nodeX1-71de"})]}),
    )
    salt = {"cluster_cli.ask": servers.ask, "cluster_cli.tell": servers.tell}
    with LoaderModuleMock({module: {"__salt__": salt}}):
        assert module.evict("ganesha.node1", "node1", "node.1") == [] and servers.told == []


@pytest.mark.slow
def test_a_metadata_server_that_takes_over_is_waited_for(evict):
    servers = Servers({"a": [session(4305, OWN)]}, ["up:replay", "up:active"])
    assert evict(servers, TAKEOVER=5) == ["client.4305 of mds.a"]
    servers = Servers({"a": [session(4305, OWN)]}, ["up:replay"])
    with pytest.raises(CommandExecutionError, match="file system cephfs: a metadata server does not serve yet"):
        evict(servers)
    assert servers.told == []


@pytest.mark.slow
def test_its_grace_ends_though_the_tool_crashes(modules, tmp_path, monkeypatch):
    flags = tmp_path / "flags"
    flags.write_text("03")
    line = 'printf "value (1 bytes) :\\n00000000  %s   |.|\\n00000001\\n" "$(cat flags)"'
    programs = {
        "rados": f'cd {tmp_path}; [ "$7" = listomapkeys ] && echo node1 && exit; [ "$9" = node1 ] && {line}',
        "ganesha-rados-grace": f'[ "$7 $8" = "lift node1" ] && printf 02 >{flags}; kill -SEGV $$',
    }
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    where = {"user": "ganesha.node1", "pool": ".nfs", "namespace": "ganesha"}
    assert modules["ganesha_grace.lift"]("node1", **where) is True and flags.read_text() == "02"
    assert modules["ganesha_grace.lift"]("node1", **where) is False
    assert modules["ganesha_grace.lift"]("node9", **where) is False  # no member
    flags.write_text("03")
    (tmp_path / "ganesha-rados-grace").write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(CommandExecutionError, match="node1 needs grace yet"):
        modules["ganesha_grace.lift"]("node1", **where, limit=0)
    flags.write_text("no byte")
    with pytest.raises(CommandExecutionError, match="says nothing of node1"):
        modules["ganesha_grace.lift"]("node1", **where, limit=0)


@pytest.mark.parametrize(
    ("unit", "process", "ended"), [(3, 1, True), (0, 1, False), (3, 0, False), (0, 0, False), (3, 2, False)]
)
def test_a_server_has_ended_when_neither_its_unit_nor_a_process_runs(python_module, monkeypatch, unit, process, ended):
    module = python_module("ganesha")
    monkeypatch.setattr(module.halocline, "status", lambda words, limit: unit if words[0] == "systemctl" else process)
    assert module.ended() is ended


class Sites(Cluster):
    """A cluster with an NFS server on some of its hosts."""

    CHANGES = (*Cluster.CHANGES, "lift", "evict")

    def __init__(self, servers):
        super().__init__()
        for node in servers:
            self.runs[node] = {"nfs-ganesha.service": "enabled", **self.runs[node]}
        self.sessions, self.grace, self.trouble, self.asked = set(servers), set(), "", []

    def left(self):
        return (*super().left(), self.sessions, self.grace)

    def runs_nfs(self, minion):
        return "nfs-ganesha.service" in self.runs[minion]

    def daemons_maintenance_stop(self, minion, names):
        self.grace |= {minion} if self.runs_nfs(minion) and minion in self.sessions else set()
        return super().daemons_maintenance_stop(minion, names)

    def ganesha_ended(self, minion):
        return not self.runs_nfs(minion)

    def ganesha_grace_lift(self, minion, server, user, pool, namespace):
        assert not self.runs_nfs(minion) and (server, user) == (minion, f"ganesha.{minion}")
        self.asked.append(("lift", namespace))
        self.grace.discard(minion)
        return True

    def cluster_cephfs_evict(self, _, user, host, server):
        assert user == f"ganesha.{host}" and server == host and not self.runs_nfs(host)
        self.asked.append(("evict", host))
        if self.trouble:
            raise ProposalError(self.trouble)
        self.sessions.discard(host)
        return ["client.1 of mds.node2"]


EXPORTS = "nfs_exports: {/cephfs: {file_system: cephfs}}\n"


@pytest.fixture(scope="module")
def master(salt_factories):
    """A master whose site has NFS servers on two hosts."""
    made = salt_factories.salt_master_daemon("nfs", factory_class=Master)
    policy = f"{POLICY}role-ganesha/cluster/node[12].sls\n"
    lay_out(made, connected((*NODES, "salt")), FSID, policy, SETTINGS + EXPORTS)
    serve(made.opts())
    return made


@pytest.fixture
def cluster(monkeypatch):
    """A cluster with these servers that runs, played."""
    made = Sites(("node1", "node2"))
    made.play(monkeypatch, health, waiting)
    monkeypatch.setattr(minions, "ours", lambda opts: [*NODES, "salt"])
    return made


@pytest.mark.slow
def test_in_maintenance_nobody_waits_for_the_server_that_stopped(runners, cluster):
    done = runners["maintenance.begin"]("node1")
    assert done.get("retcode", 0) == 0 and "wait" not in done["text"], done
    assert (cluster.sessions, cluster.grace) == ({"node2"}, set())
    assert cluster.asked == [("lift", "ganesha"), ("evict", "node1")]
    assert "nothing changed" in runners["maintenance.begin"]("node1")["text"] and len(cluster.asked) == 2
    assert runners["maintenance.end"]("node1").get("retcode", 0) == 0 and len(cluster.asked) == 2


@pytest.mark.slow
def test_a_dry_run_and_a_host_without_a_server_end_no_session(runners, cluster):
    assert "would stop nfs-ganesha.service" in runners["maintenance.begin"]("node1", test=True)["text"]
    assert runners["maintenance.begin"]("node3").get("retcode", 0) == 0
    assert cluster.asked == [] and cluster.sessions == {"node1", "node2"}


@pytest.mark.slow
def test_metadata_servers_that_do_not_answer_hold_no_maintenance_back(runners, cluster):
    cluster.trouble = "file system cephfs: a metadata server does not serve yet"
    done = runners["maintenance.begin"]("node1")
    assert done.get("retcode", 0) == 0 and "may wait for 5 minutes: file system cephfs" in done["text"]
    assert json.loads(json.dumps(cluster.records))["node1"]["state"] == "down"


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_killed_at_any_moment_the_same_command_goes_on(runners, cluster, before):
    end_at_each_change(cluster, before, lambda: runners["maintenance.begin"]("node1"), least=8)


TOLD = {"daemons": ["node1"], "keys": ["client.ganesha.node1"]}
TOLD |= {"grace": {"user": "ganesha.node1", "pool": ".nfs", "namespace": "ganesha"}}


@pytest.fixture
def asked(monkeypatch):
    """What is asked of minions, which all answer so."""
    found, answers = [], {"ganesha.ended": True}

    def one(opts, minion, function, words=(), kind=None, timeout=0):
        found.append((minion, function, *words))
        return answers.get(function)

    monkeypatch.setattr(jobs, "one", one)
    monkeypatch.setattr(jobs, "cluster", lambda opts, function, words, kind: one(opts, "salt", function, words))
    return found, answers


class Leaving:
    """What a removal looks at, as far as NFS servers go."""

    before = {"node1": {"hostname": "node1", "parts": {"ganesha": TOLD}}}

    class wanted:  # noqa: N801
        hosts = {"node2": {"parts": {"ganesha": {**TOLD, "daemons": ["node2"]}}}}


@pytest.mark.parametrize(
    ("namespace", "state", "lifted"), [("ganesha", "", True), ("silver", "", False), ("ganesha", "down", False)]
)
def test_a_lone_server_keeps_its_grace(asked, namespace, state, lifted):
    """Another cluster's server, or one in maintenance too, gives nobody what its clients had."""
    found, _ = asked
    other = {**TOLD, "grace": {**TOLD["grace"], "namespace": namespace}}
    hosts = {name: {"hostname": name, "parts": {"ganesha": told}} for name, told in (("node1", TOLD), ("node2", other))}
    away = {"node2": Record("node2", state, "", "", {}, ())} if state else {}
    assert maintaining._nfs({}, Look("node1", hosts, away)) == []
    functions = [function for _, function, *_ in found]
    assert functions == ["ganesha.ended", *(["ganesha_grace.lift"] if lifted else []), "cluster_cephfs.evict"]


def test_a_server_that_leaves_ends_its_sessions_when_it_has_stopped(asked):
    found, _ = asked
    assert departure._ganesha({}, Leaving, [Item("ganesha", "ganesha.node1", "node1")]) == []
    assert found == [
        ("node1", "daemons_retire.retire", "ganesha", TOLD),  # which takes it out of the grace database
        ("node1", "ganesha.ended"),
        ("salt", "cluster_cephfs.evict", "ganesha.node1", "node1", "node1"),
    ]


def test_a_server_on_a_host_that_is_gone_may_run_yet_and_keeps_its_sessions(asked):
    found, _ = asked
    departure._ganesha({}, Leaving, [Item("ganesha", "ganesha.node1", "node1", given_up=True)])
    assert [function for _, function, *_ in found] == ["ganesha_grace.leave"]


def test_of_the_servers_that_stay_any_that_answers_lets_the_others_wait_no_more(asked, monkeypatch):
    """The first is in maintenance, and switched off: until then the last one would open no file anew."""
    found, told = asked[0], jobs.one

    def one(opts, minion, *words):
        if minion in silent:
            raise ProposalError(f"{minion}: does not answer")
        return told(opts, minion, *words)

    class Three(Leaving):
        class wanted:  # noqa: N801
            hosts = {name: {"parts": {"ganesha": {**TOLD, "daemons": [name]}}} for name in ("node2", "node3")}

    monkeypatch.setattr(jobs, "one", one)
    gone = [Item("ganesha", "ganesha.node1", "node1", given_up=True)]
    silent = {"node2"}
    departure._ganesha({}, Three, gone)
    assert [(minion, function) for minion, function, *_ in found] == [("node3", "ganesha_grace.leave")]
    silent = {"node2", "node3"}
    with pytest.raises(ProposalError, match="node2: does not answer"):
        departure._ganesha({}, Three, gone)


def test_a_server_that_still_runs_keeps_its_sessions(asked):
    found, answers = asked
    answers["ganesha.ended"] = False
    assert "still runs" in nfs_ended.release({}, "node1", "node1", TOLD, others=True)[0]
    assert found == [("node1", "ganesha.ended")]
