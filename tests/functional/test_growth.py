"""New OSDs that wait for data: what is said of them, and what gives it to them; every moment an interruption."""

import copy
import itertools
from types import SimpleNamespace

import pytest
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock
from saltmaster import Master

from proposals.cluster import growth
from proposals.inventory import kept
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs, minions, planned, taking_part
from runners.engine.cluster import health
from runners.engine.looks import stage_look
from runners.engine.runs import stage_lock

OSDS = {
    "salt-1": {"/dev/a": {"uuids": ["f0"]}, "/dev/b": {"uuids": ["f1"], "db": "/dev/n", "db_size": 1 << 39}},
    "salt-2": {"/dev/a": {"uuids": ["f2", "f3"], "class": "nvme"}},
}
DISK = {"id": "/dev/a", "device": "/dev/sda", "size": 1 << 40, "rotational": True}
HOSTS = {
    "salt-1": {"hostname": "node1", "ceph_disks": [DISK, {**DISK, "id": "/dev/b", "device": "/dev/sdb"}]},
    "salt-2": {"hostname": "node2", "ceph_disks": [DISK]},
}


def state(number, fsid, **more):
    return {
        "id": number,
        "fsid": fsid,
        "host": "node1",
        "state": "in-use",
        "up": True,
        "in": True,
        "weight": 1.0,
    } | more


def test_osds_to_be_weigh_their_data_and_their_db():
    new = growth.coming(OSDS, HOSTS, [state(0, "f0")])
    assert new == [("node1", 1.5, "hdd"), ("node2", 0.5, "nvme"), ("node2", 0.5, "nvme")]
    assert growth.coming(OSDS, HOSTS, [state(number, f"f{number}") for number in range(4)]) == []


def test_a_destroyed_osds_successor_is_no_growth():
    """Its number kept its weight: its data comes back as a repair."""
    destroyed = state(1, None, state="destroyed", up=False)
    assert growth.coming(OSDS, HOSTS, [state(0, "f0"), destroyed])[0].host == "node2"


def test_osds_to_be_take_free_numbers_and_their_hosts_places():
    new = growth.coming(OSDS, HOSTS, [state(0, "f0"), state(2, "x")])
    words, devices = growth.edits(new, [state(0, "f0"), state(2, "x")], {"node2": {"row": "a", "rack": "r1"}})
    assert [" ".join(each) for each in words] == [
        "--add-item 1 1.5 osd.1 --loc host node1 --loc root default",
        "--add-item 3 0.5 osd.3 --loc host node2 --loc rack r1 --loc row a --loc root default",
        "--add-item 4 0.5 osd.4 --loc host node2 --loc rack r1 --loc row a --loc root default",
    ]
    assert devices == {"1": "hdd", "3": "nvme", "4": "nvme"}


@pytest.mark.parametrize(
    ("more", "waits"),
    [
        ({}, True),
        ({"weight": 0.1}, False),
        ({"weight": None}, False),
        ({"up": False}, False),
        ({"in": False}, False),
        ({"fsid": "foreign"}, False),
        ({"fsid": None, "state": "destroyed"}, False),
    ],
)
def test_who_waits(more, waits):
    items = growth.waiting(growth.minions(OSDS), [{**state(7, "f3", weight=0), **more}])
    assert [(item.name, item.minion) for item in items] == ([("osd.7", "salt-2")] if waits else [])


MOVED = {"pools": {"p": {"bytes": 3 << 30, "groups": 9, "lacking": 0}}, "osds": {}, "busy": 0, "limit": 0.9}
MOVERS = {"balancer": {"active": True, "mode": "upmap"}, "autoscaler": [{"name": "p", "now": 8, "then": 32}]}
MOVERS |= {"backfills": "1", "active": "0"}


class Killed(BaseException):
    """The host that asks the cluster goes down at this moment."""


class Cluster:
    """Four OSDs, two of which wait; what ``ceph`` is told changes it. ``kill`` ends it before its nth change."""

    def __init__(self):
        self.weights = {0: 1.0, 1: 1.0, 2: 0, 3: 0}
        self.ran = set()  # those that were up once
        self.up, self.flags, self.kept, self.told = {0, 1, 2, 3}, {"sortbitwise"}, {}, []
        self.unsized: set[int] = set()  # that run, and of which the managers have not heard yet
        self.kill, self.moved, self.held, self.asked = None, copy.deepcopy(MOVED), True, []
        self.refused = ""  # a command's beginning

    def ask(self, words):
        if words == ["osd", "df"]:
            known = self.up - self.unsized
            return {"nodes": [{"id": number, "kb": 1 << 30 if number in known else 0} for number in self.weights]}
        if words == ["osd", "tree"]:
            return {"nodes": [{"id": n, "type": "osd", "crush_weight": w} for n, w in self.weights.items()]}
        assert words == ["osd", "dump"]
        return {"flags_set": sorted(self.flags)}

    def tell(self, words):
        if self.kill is not None and len(self.told) >= self.kill:
            raise Killed
        if self.refused and " ".join(words).startswith(self.refused):
            raise CommandExecutionError(f"'ceph' on salt: {words[-1]} was refused")
        self.told.append(words)
        match words:
            case ["config-key", "set", key, value]:
                self.kept[key] = value
            case ["config-key", "rm", key]:
                del self.kept[key]
            case ["osd", "set", flag]:
                self.flags.add(flag)
            case ["osd", "unset", flag]:
                self.flags.discard(flag)
            case ["osd", "crush", "reweight", name, weight]:
                assert "norebalance" in self.flags and "halocline/fill" in self.kept
                self.weights[int(name.removeprefix("osd."))] = float(weight)
            case _:
                raise AssertionError(words)
        return ""

    def tell_all(self, commands):
        for words in commands:
            self.tell(words)

    def states(self):
        new = set(self.weights) - self.up - self.ran
        return [state(n, f"f{n}", weight=w, up=n in self.up, new=n in new) for n, w in self.weights.items()]


@pytest.fixture(scope="module")
def runners(salt_factories):
    return salt_factories.salt_master_daemon("growth", factory_class=Master).runners()


@pytest.fixture
def cluster(python_module, monkeypatch):
    """The runners' cluster, with the module that really fills it."""
    made, module = Cluster(), python_module("cluster_fill")

    def asked(opts, function, words=(), kind=None, timeout=0):
        made.asked.append((function, copy.deepcopy(list(words))))
        answers = {"cluster_osds.states": made.states, "cluster_moves.estimate": lambda *_: made.moved}
        answers |= {"cluster_fill.movers": lambda: MOVERS}
        answers |= {"cluster_fill.inspect": module.inspect, "cluster_fill.fill": module.fill}
        answers["cluster_cli.together"] = lambda each: {name: answers[name](*said) for name, said in each.items()}
        return answers[function](*words)

    monkeypatch.setattr(jobs, "cluster", asked)
    monkeypatch.setattr(planned, "osds", lambda paths: OSDS)
    monkeypatch.setattr(kept, "load_inventory", lambda folder: {"hosts": HOSTS})
    monkeypatch.setattr(minions, "pillar", lambda opts: {"hold_new_osds": made.held})
    asks = {
        "cluster_cli.ask": lambda words: made.ask(words),
        "cluster_cli.tell": made.tell,
        "cluster_cli.tell_all": made.tell_all,
        "cluster_cli.kept": made.kept.get,
        "cluster_cli.kept_pieces": made.kept.get,
        "cluster_cli.keep": lambda key, text: made.tell(["config-key", "set", key, text]),
        "cluster_cli.forget": lambda key: made.tell(["config-key", "rm", key]),
    }
    with LoaderModuleMock({module: {"__salt__": asks}}):
        yield made


def hash_of(runners):
    text = runners["osd.fill"](test=True)["text"]
    return text.partition("(hash ")[2].partition(")")[0]


@pytest.mark.slow
def test_a_fill_is_printed_then_confirmed_and_a_second_one_changes_nothing(runners, cluster):
    text = runners["osd.fill"](test=True)["text"]
    assert "  salt-2: 2 OSDs: osd.2, osd.3" in text and "about 3 GiB of data move" in text
    assert "balancer: on (upmap): it moves more afterwards" in text and "would change p 8 -> 32" in text
    for confirm in (None, "bbbbbbbb"):
        done = runners["osd.fill"](confirm=confirm)
        assert done["retcode"] == 2 and "nothing was changed" in done["error"]
        assert "drained by hand ('ceph osd crush reweight') looks like a new one: 'ceph osd out'" in done["error"]
    assert cluster.told == []
    edits = [["--reweight-item", "osd.2", "1.0"], ["--reweight-item", "osd.3", "1.0"]]
    assert ("cluster_moves.estimate", [edits]) in cluster.asked
    assert "2 OSDs: weights given" in runners["osd.fill"](confirm=hash_of(runners))["text"]
    assert cluster.weights == {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}
    assert cluster.flags == {"sortbitwise"} and cluster.kept == {}
    did = [" ".join(words[:2]) for words in cluster.told]
    reweighted = ["osd crush", "osd crush"]
    assert did == ["config-key set", "osd set", *reweighted, "osd unset", "config-key rm"]
    before = list(cluster.told)
    assert "nothing changed" in runners["osd.fill"]()["text"] and cluster.told == before


@pytest.mark.parametrize("moment", range(6))
def test_killed_at_any_moment_the_same_command_goes_on(runners, cluster, moment):
    confirm = hash_of(runners)
    cluster.kill = moment
    with pytest.raises(Killed):
        runners["osd.fill"](confirm=confirm)
    cluster.kill = None
    done = runners["osd.fill"](confirm=confirm)
    assert done.get("retcode", 0) == 0, done
    assert set(cluster.weights.values()) == {1.0} and cluster.flags == {"sortbitwise"} and cluster.kept == {}
    assert "nothing changed" in runners["osd.fill"]()["text"]


def test_what_was_interrupted_is_confirmed_for_its_own_osds_alone(runners, cluster):
    cluster.up.discard(3)
    confirm, cluster.kill = hash_of(runners), 2
    with pytest.raises(Killed):
        runners["osd.fill"](confirm=confirm)
    cluster.kill = None
    cluster.up.add(3)
    assert f"interrupted, goes on by: salt-run osd.fill confirm={confirm}" in runners["osd.fill"](test=True)["text"]
    assert "1 OSD: weights given" in runners["osd.fill"](confirm=confirm)["text"]
    assert (cluster.weights[2], cluster.weights[3], cluster.kept) == (1.0, 0, {})


def test_a_weight_that_ceph_refuses_is_told_with_the_flag_that_is_set(runners, cluster):
    confirm, cluster.refused = hash_of(runners), "osd crush reweight osd.3"
    with pytest.raises(CommandExecutionError, match=r"was refused; norebalance is set since, and data waits: "):
        runners["osd.fill"](confirm=confirm)
    assert "norebalance" in cluster.flags and "halocline/fill" in cluster.kept
    cluster.refused = ""
    said = runners["osd.fill"](confirm=confirm)["text"]
    assert "weights given" in said and "norebalance" not in said and cluster.flags == {"sortbitwise"}


def test_a_flag_that_was_set_before_stays(runners, cluster):
    cluster.flags.add("norebalance")
    said = runners["osd.fill"](confirm=hash_of(runners))["text"]
    assert said.endswith("norebalance was set before, and stays: data waits until 'ceph osd unset norebalance'")
    assert "norebalance" in cluster.flags and cluster.kept == {}


def test_what_would_be_too_full_is_refused(runners, cluster):
    cluster.moved["osds"] = {"2": {"gets": 1 << 20, "loses": 0, "kb": 1000, "kb_used": 500}}
    confirm = runners["osd.fill"](test=True)["error"].rpartition("confirm=")[2].split()[0]
    done = runners["osd.fill"](confirm=confirm)
    assert done["retcode"] == 2 and "osd.2 would be 152% full" in done["error"] and cluster.told == []


def test_an_osd_that_is_missing_is_named_and_one_that_leaves_does_not_wait(runners, cluster):
    cluster.up.discard(3)
    text = runners["osd.fill"](test=True)["text"]
    assert "salt-2: 1 OSD: osd.2\n" in text and "OSDs of salt-2 do not run" in text
    cluster.kept["halocline/removal"] = '["h", [["osd", "osd.2", "salt-2", "f2", false]], {"2": 1.0}, []]'
    assert "nothing changed" in runners["osd.fill"]()["text"]


def test_deploy_gives_weights_only_where_nothing_moves_and_the_site_holds(runners, cluster):
    assert "wait for data:\n  salt-2: 2 OSDs: osd.2, osd.3" in runners["osd.growth"]()["text"]
    cluster.moved["pools"]["p"] |= {"bytes": 0, "groups": 0}
    cluster.held = False  # somebody else's zero
    assert "wait for data" in runners["osd.growth"]()["text"] and cluster.told == []
    cluster.held = True
    assert "no data moves" in runners["osd.growth"]()["text"]
    assert set(cluster.weights.values()) == {1.0} and cluster.flags == {"sortbitwise"}
    assert "nothing changed" in runners["osd.growth"]()["text"]


def test_deploy_gives_no_weights_where_nobody_knows_what_moves(runners, cluster, monkeypatch):
    def unknown(_, function, *rest, **more):
        if function == "cluster_moves.estimate":
            raise ProposalError("pool p: the active manager does not know yet")
        return asked(_, function, *rest, **more)

    asked, cluster.held = jobs.cluster, True
    monkeypatch.setattr(jobs, "cluster", unknown)
    told = runners["osd.growth"]()
    assert "retcode" not in told and "wait for data" in told["text"]
    assert "not known yet: pool p: the active manager" in told["text"] and cluster.told == []
    cluster.refused = "osd crush reweight osd.3"
    monkeypatch.setattr(jobs, "cluster", asked)
    cluster.moved["pools"]["p"] |= {"bytes": 0, "groups": 0}
    with pytest.raises(CommandExecutionError, match="was refused"):
        runners["osd.growth"]()


def timed(monkeypatch, sleep):
    """Looks are 20 seconds apart on a clock that only they have: other threads of this process wait by the real one."""
    clock = SimpleNamespace(sleep=sleep, monotonic=itertools.count(0, 20).__next__)
    monkeypatch.setattr(health, "time", clock)


def test_deploy_waits_for_the_osds_that_it_made(runners, cluster, monkeypatch):
    """OSDs come up some seconds after they were made: asked at once, a new cluster would stay without weights."""
    cluster.moved["pools"]["p"] |= {"bytes": 0, "groups": 0}
    cluster.up -= {2, 3}
    later = iter([{2}, set(), {3}])
    timed(monkeypatch, lambda seconds: cluster.up.update(next(later)))
    assert "2 OSDs: weights given" in runners["osd.growth"]()["text"]


def test_deploy_waits_until_managers_know_what_its_osds_would_weigh(runners, cluster, monkeypatch):
    """They hear of it some seconds after an OSD came up: one of many would stay without a weight."""
    cluster.moved["pools"]["p"] |= {"bytes": 0, "groups": 0}
    cluster.unsized = {3}
    timed(monkeypatch, lambda seconds: cluster.unsized.clear())
    assert "2 OSDs: weights given" in runners["osd.growth"]()["text"]


def test_deploy_waits_for_the_osds_that_an_interrupted_run_made(runners, cluster, monkeypatch):
    """What the stage saw of them before does not hold any more."""
    cluster.moved["pools"]["p"] |= {"bytes": 0, "groups": 0}
    cluster.up -= {2, 3}
    monkeypatch.setattr(stage_lock, "own", lambda opts: {"jid": "1"})
    seen = {name: jobs.cluster({}, name, stage_look.CLUSTER[name]) for name in (stage_look.STATES, stage_look.FILL)}
    stage_look.keep({}, stage_look.Look(seen, {}))
    timed(monkeypatch, lambda seconds: cluster.up.update({2, 3}))
    assert "2 OSDs: weights given" in runners["osd.growth"]()["text"]


def test_deploy_waits_for_no_osd_that_stays_down(runners, cluster, monkeypatch):
    """One that ran once, or whose host is left out, is not about to start; one that never comes has its time."""
    cluster.up -= {2, 3}
    timed(monkeypatch, lambda seconds: pytest.fail("it waits"))
    cluster.ran |= {2, 3}
    assert "no OSD waits" in runners["osd.growth"]()["text"]
    cluster.ran -= {2, 3}
    monkeypatch.setattr(taking_part, "among", lambda opts, hosts: set(hosts) - {"salt-2"})
    assert "no OSD waits" in runners["osd.growth"]()["text"]


def test_an_osd_that_never_comes_has_its_time(runners, cluster, monkeypatch):
    cluster.up.discard(3)
    timed(monkeypatch, lambda seconds: None)
    assert "wait for data:\n  salt-2: 1 OSD: osd.2" in runners["osd.growth"]()["text"]


def test_where_none_waits_deploy_asks_no_manager(runners, cluster):
    """``ceph osd df`` is a manager's answer: without a manager the stage would end here."""
    cluster.weights |= {2: 1.0, 3: 1.0}
    cluster.ask = None
    assert runners["osd.growth"]()["text"] == "no OSD waits for data: nothing changed"


def test_deploy_names_a_fill_that_ended_before_its_flag_was_taken_back(runners, cluster):
    confirm, cluster.kill = hash_of(runners), 4
    with pytest.raises(Killed):
        runners["osd.fill"](confirm=confirm)
    cluster.kill = None
    assert set(cluster.weights.values()) == {1.0} and "norebalance" in cluster.flags
    assert f"interrupted, goes on by: salt-run osd.fill confirm={confirm}" in runners["osd.growth"]()["text"]
    assert "norebalance" in cluster.flags
    runners["osd.fill"](confirm=confirm)
    assert runners["osd.growth"]()["text"] == "no OSD waits for data: nothing changed"
    assert cluster.flags == {"sortbitwise"}


def test_the_plan_says_what_new_osds_move(runners, cluster):
    cluster.weights.popitem()
    text = runners["osd.growth"](test=True)["text"]
    assert "1 new OSD: they come without data (hold_new_osds)" in text and "about 3 GiB of data move" in text
    cluster.held = False
    assert "1 new OSD: with them" in runners["osd.growth"](test=True)["text"]
    assert cluster.told == []
    cluster.weights[3] = 1.0
    assert "no OSD is new" in runners["osd.growth"](test=True)["text"]


def test_a_cluster_that_does_not_answer_is_no_error_of_a_plan(runners, cluster, monkeypatch):
    def silent(*_, **__):
        raise ProposalError("no monitor answered")

    monkeypatch.setattr(jobs, "cluster", silent)
    assert "is not known yet: no monitor answered" in runners["osd.growth"](test=True)["text"]
    assert runners["osd.growth"]()["retcode"] == 2


def test_a_stage_that_runs_holds_it_back(runners, cluster, monkeypatch):
    monkeypatch.setattr(stage_lock, "holder", lambda opts: {"stage": "deploy"})
    assert "stage deploy is running" in runners["osd.fill"]()["error"] and cluster.told == []


def test_who_else_moves_data_is_asked_of_managers_that_may_not_answer(python_module):
    module = python_module("cluster_fill")
    told = {"osd_max_backfills": "1\n", "osd_recovery_max_active": "0\n"}
    scaled = {"pool_name": "p", "pg_num_target": 8, "pg_num_final": 32, "would_adjust": True, "pg_autoscale_mode": "on"}
    still = {**scaled, "pool_name": "q", "pg_autoscale_mode": "warn"}
    answers = {"balancer": {"active": True, "mode": "upmap"}, "osd": [scaled, still]}
    asks = {
        "cluster_cli.ask": lambda words: answers[words[0]],
        "cluster_cli.tell": lambda words: told[words[-1]],
    }
    with LoaderModuleMock({module: {"__salt__": asks}}):
        assert module.movers() == MOVERS

        def off(words):
            raise module.CommandExecutionError("no such module")

        asks["cluster_cli.ask"] = off
        assert module.movers()["balancer"] == {"active": False, "mode": "none"}


def test_an_osd_that_the_cluster_does_not_have_gets_no_weight(cluster, python_module):
    module = python_module("cluster_fill")
    with pytest.raises(module.CommandExecutionError, match="the cluster has no osd.9"):
        module.fill({"2": 1.0, "9": 1.0}, "h")
    assert cluster.told == [] and cluster.kept == {}
