"""Object gateways restarted behind their balancer: a site that is served, what is played; every moment an end."""

import copy
import json
from pathlib import Path

import pytest
from played import BUSY, Minions, another_stops_daemons, end_at_each_change
from test_maintenance_asked import NODES, master  # noqa: F401  (a fixture)

from proposals.text.errors import ProposalError
from runners.engine import waiting
from runners.engine.asking import minions
from runners.engine.cluster import gateways, health
from runners.engine.runs import stage_lock

WHOLE = json.loads((Path(__file__).parent.parent / "fixtures/health/whole.json").read_text())
FRONTS = ("node1", "node2")
GATEWAYS = {f"rgw.{node}": node for node in FRONTS}


class Cluster(Minions):
    """Two HAProxys, two gateways that wait for a restart. What must not be is asserted where it would happen."""

    CHANGES = ("drains", "drain", "ready", "restart", "apply")

    def __init__(self):
        super().__init__()
        self.waits, self.noted = {f"client.{name}" for name in GATEWAYS}, []
        self.states = {front: dict.fromkeys(GATEWAYS, "up") for front in FRONTS}
        self.dead, self.drained_when, self.older = set(), [], set()  # HAProxys with gateways at former places
        self.gids, self.fails = dict.fromkeys(FRONTS, 10), set()  # managers; daemons that do not come up

    def left(self):
        return copy.deepcopy((self.waits, self.noted, self.states))

    def cluster_health_inspect(self, _):
        return copy.deepcopy(WHOLE)

    def cluster_config_startup(self, _):
        return []

    def cluster_upgrade_inspect(self, _):
        return {"manager": "node1", "systems": [{"active": ["node1"]}]}

    def cluster_health_stoppable(self, _, kind, ids):
        return {"ok": ids}

    def daemons_settings(self, minion):
        waits = {"differs": {"a": [1, 2]}, "told": {}, "answers": True}
        return {name: waits for name in self.waits if name.endswith(minion)}

    def daemons_pending(self, minion):
        return {name: told["differs"] for name, told in self.daemons_settings(minion).items()}

    def daemons_stopped(self, _):
        return []

    def daemons_running(self, minion):
        return {f"client.rgw.{minion}": {}}

    def daemons_started_managers(self, _):
        return dict(self.gids)

    def daemons_started_serving(self, minion, names, limit):
        assert limit == health.LIMIT
        if failed := self.fails & set(names):
            raise ProposalError(f"{', '.join(failed)} does not listen")
        return True

    def cluster_maintenance_hosts(self, _):
        return {}

    def cluster_maintenance_drained(self, _):
        return list(self.noted)

    def cluster_maintenance_drains(self, _, names):
        self.noted = names
        return True

    def host_haproxy_servers(self, minion):
        return {name: state == "up" for name, state in self.states[minion].items()}

    def host_haproxy_drain(self, minion, names):
        assert set(names) <= set(self.noted), "what is drained is kept before"
        self.states[minion] |= dict.fromkeys(names, "drain")
        return dict.fromkeys(names, 0)

    def host_haproxy_ready(self, minion, names):
        self.states[minion] |= {name: "down" if name in self.dead else "up" for name in names}
        return names

    def host_haproxy_outdated(self, minion):
        return minion in self.older

    def state_apply(self, minion, sls):
        assert sls == gateways.SLS and self.drained_when, "one that runs with its new settings has to be there"
        self.older -= {minion}
        self.states[minion] = {name: "down" if f"client.{name}" in self.waits else "up" for name in GATEWAYS}
        return {"a": {"result": minion not in self.fails, "comment": "no such file", "__id__": "conf", "name": "x"}}

    def daemons_restart(self, minion, names):
        self.drained_when.append((minion, [self.states[front][f"rgw.{minion}"] for front in FRONTS]))
        self.waits -= set(names)
        self.gids |= {name[4:]: self.seconds + 11 for name in names if name[:4] == "mgr." and name not in self.fails}
        return {"restarted": names}


@pytest.fixture
def cluster(monkeypatch):
    made = Cluster()
    made.play(monkeypatch, health, waiting)
    monkeypatch.setattr(minions, "ours", lambda opts: [*NODES, "salt"])
    monkeypatch.setattr(minions, "members", lambda opts: {"all": list(NODES), "master": ["salt"]})
    monkeypatch.setattr(stage_lock, "keep", lambda opts, key, value: None)
    return made


@pytest.mark.slow
def test_each_gateway_is_out_of_every_balancer_while_it_is_restarted(runners, cluster):
    before = cluster.states
    done = runners["daemon.restart"]()
    assert done.get("retcode", 0) == 0, done
    assert cluster.drained_when == [("node1", ["drain", "drain"]), ("node2", ["drain", "drain"])]
    assert cluster.left() == (set(), [], before)
    assert "nothing changed" in runners["daemon.restart"]()["text"]


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_killed_at_any_moment_no_gateway_stays_drained(runners, cluster, before):
    end_at_each_change(cluster, before, runners["daemon.restart"], least=12)


@pytest.mark.slow
def test_active_managers_and_metadata_servers_come_last(runners, cluster):
    """A standby with the new configuration takes over from them, once."""
    cluster.waits = {f"{kind}.{node}" for kind in ("mgr", "mds") for node in FRONTS}
    cluster.daemons_running = lambda minion: {f"{kind}.{minion}": {} for kind in ("mgr", "mds")}
    assert runners["daemon.restart"]().get("retcode", 0) == 0
    order = [minion for minion, function in cluster.log if function == "daemons.restart"]
    assert order == ["node2", "node1", "node2", "node1"]


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False], ids=["still known", "known no more"])
def test_a_manager_that_the_cluster_has_not_anew_holds_back_the_next_one(runners, cluster, known):
    """Its admin socket answers before it has loaded anything, and the manager map keeps a dead one for 30 s."""
    cluster.waits = {f"mgr.{node}" for node in FRONTS}
    cluster.daemons_running = lambda minion: {f"mgr.{minion}": {}}
    cluster.fails = {"mgr.node2"}
    if not known:
        del cluster.gids["node2"]
    done = runners["daemon.restart"]()
    assert done["retcode"] == 2 and "mgr.node2: has not come up again" in done["error"], done
    assert [minion for minion, _ in cluster.drained_when] == ["node2"] and 300 <= cluster.seconds < 400


def test_a_manager_that_takes_its_time_is_waited_for(runners, cluster):
    cluster.waits, cluster.fails = {f"mgr.{node}" for node in FRONTS}, {"mgr.node2"}
    cluster.daemons_running = lambda minion: {f"mgr.{minion}": {}}
    told = cluster.daemons_started_managers
    cluster.daemons_started_managers = lambda _: told(_) | ({"node2": 99} if cluster.seconds >= 20 else {})
    assert runners["daemon.restart"]().get("retcode", 0) == 0
    assert [minion for minion, _ in cluster.drained_when] == ["node2", "node1"] and 20 <= cluster.seconds < 30


@pytest.mark.parametrize("balanced", [True, False])
def test_a_gateway_that_does_not_serve_holds_back_the_next_one(runners, cluster, monkeypatch, balanced):
    if not balanced:
        monkeypatch.setattr(gateways, "_fronts", lambda opts: [])
    cluster.fails = {"client.rgw.node1"}
    done = runners["daemon.restart"]()
    assert done["retcode"] == 2 and "client.rgw.node1 does not listen" in done["error"], done
    assert [minion for minion, _ in cluster.drained_when] == ["node1"] and cluster.noted == []


def test_the_only_gateway_that_is_up_is_not_drained(runners, cluster):
    """Its clients would have none for as long as the drain takes."""
    cluster.waits = {"client.rgw.node1"}
    for front in FRONTS:
        cluster.states[front]["rgw.node2"] = "down"
    assert runners["daemon.restart"]().get("retcode", 0) == 0
    assert cluster.drained_when == [("node1", ["up", "up"])] and cluster.noted == []


def test_what_somebody_else_drained_stays_so(runners, cluster):
    cluster.waits = {"client.rgw.node1"}
    for front in FRONTS:
        cluster.states[front]["rgw.node1"] = "drain"
    assert runners["daemon.restart"]().get("retcode", 0) == 0
    assert {states["rgw.node1"] for states in cluster.states.values()} == {"drain"} and cluster.noted == []


@pytest.mark.parametrize("alone", [False, True], ids=["two", "one"])
def test_haproxy_is_told_where_a_gateway_listens_once_it_was_restarted(runners, cluster, alone):
    """Gateways with a new port: the stage services leaves HAProxy at the former ones until the first has moved."""
    cluster.older = set(FRONTS)
    if alone:
        cluster.waits = {"client.rgw.node1"}
        for front in FRONTS:
            del cluster.states[front]["rgw.node2"]
    done = runners["daemon.restart"]()
    assert done.get("retcode", 0) == 0, done
    applied = [minion for minion, function in cluster.log if function == "state.apply"]
    assert applied == list(FRONTS) and cluster.older == set()
    assert cluster.drained_when[1:] == ([] if alone else [("node2", ["down", "down"])])


def test_a_haproxy_that_cannot_be_told_stops_it_by_name(runners, cluster):
    cluster.older, cluster.fails = {"node2"}, {"node2"}
    done = runners["daemon.restart"]()
    assert done["retcode"] == 2 and "node2: " in done["error"] and "no such file" in done["error"], done
    assert [minion for minion, _ in cluster.drained_when] == ["node1"]


def test_a_gateway_that_haproxy_does_not_have_back_stops_it_by_name(runners, cluster):
    cluster.dead = {"rgw.node1"}
    done = runners["daemon.restart"]()
    assert done["retcode"] == 2 and "node1: HAProxy does not have rgw.node1 back" in done["error"], done
    assert [minion for minion, _ in cluster.drained_when] == ["node1"] and cluster.noted == []


def test_a_balancer_that_goes_along_is_not_waited_for(cluster, master):  # noqa: F811
    """A host with a gateway and a HAProxy reboots: its own HAProxy may not answer yet when it is back."""
    with gateways.drained(master.opts(), ["client.rgw.node1"], ["node1"]):
        assert cluster.states["node2"]["rgw.node1"] == "drain" and cluster.states["node1"]["rgw.node1"] == "up"
        cluster.silent = {"node1"}
    assert (cluster.noted, cluster.states["node2"]["rgw.node1"]) == ([], "up")


def test_a_balancer_that_does_not_answer_is_told_by_the_next_run(runners, cluster):
    cluster.noted = ["rgw.node1"]
    cluster.states["node2"]["rgw.node1"] = "drain"
    cluster.waits, cluster.silent = set(), {"node2"}
    runners["daemon.restart"]()
    assert cluster.noted == ["rgw.node1"]
    cluster.silent = set()
    runners["daemon.restart"]()
    assert (cluster.noted, cluster.states["node2"]["rgw.node1"]) == ([], "up")


@pytest.fixture
def left_out(cluster, master, monkeypatch):  # noqa: F811
    """node2 is in maintenance: the run leaves it out, and no job of it is sent there."""
    monkeypatch.setattr(stage_lock, "own", lambda opts: {"left": {"node2": "is in maintenance"}})
    cluster.silent = {"node2"}
    return master.opts()


def test_a_balancer_that_the_run_leaves_out_is_told_by_the_next_one(cluster, left_out, monkeypatch):
    cluster.noted = ["rgw.node1"]
    for front in FRONTS:
        cluster.states[front]["rgw.node1"] = "drain"
    gateways.back(left_out)
    assert (cluster.noted, cluster.states["node1"]["rgw.node1"]) == (["rgw.node1"], "up")
    monkeypatch.setattr(stage_lock, "own", lambda opts: {})
    cluster.silent = set()
    gateways.back(left_out)
    assert (cluster.noted, cluster.states["node2"]["rgw.node1"]) == ([], "up")


def test_what_it_was_not_told_is_kept_while_other_gateways_are_drained(cluster, left_out):
    cluster.noted = ["rgw.node2"]
    cluster.states["node2"]["rgw.node2"] = "drain"
    with gateways.drained(left_out, ["client.rgw.node1"]):
        assert cluster.states["node1"]["rgw.node1"] == "drain" and cluster.noted == ["rgw.node1", "rgw.node2"]
    assert (cluster.noted, cluster.states["node1"]) == (["rgw.node2"], dict.fromkeys(GATEWAYS, "up"))


def test_nothing_is_restarted_while_another_command_stops_daemons(runners, cluster):
    before = cluster.left()
    with another_stops_daemons(runners.opts):
        assert BUSY in runners["daemon.restart"]()["error"]
    assert cluster.left() == before and cluster.drained_when == []
