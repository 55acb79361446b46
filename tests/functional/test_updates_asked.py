"""Updates and reboots of a cluster that is played: Salt's own runner loader, no second passes, every moment an end."""

import copy
import json
from pathlib import Path

import pytest
from played import BUSY, Minions, another_stops_daemons, end_at_each_change
from saltmaster import Master

from proposals.text.errors import PolicyError, ProposalError
from runners.engine import waiting
from runners.engine.asking import jobs, minions, taking_part
from runners.engine.cluster import gateways, health

WHOLE = json.loads((Path(__file__).parent.parent / "fixtures/health/whole.json").read_text())
NODES = ("node1", "node2", "node3", "node4", "node5")
NO = "Error EBUSY: unsafe to stop osd(s) at this time (3 PGs are or would become offline)"
ASKED = {"stage_prep_minion": "default-update-reboot", "stage_prep_master": "default-update-reboot"}
DAEMONS = {  # node1 has more than OSDs; nothing but OSDs runs on 2 to 4; node5 is an NFS server alone
    "node1": (["mds.node1", "mon.node1"], ["ceph-mon@node1", "ceph-mds@node1"]),
    **{f"node{n}": ([f"osd.{2 * n - 4}", f"osd.{2 * n - 3}"], [f"ceph-osd@{2 * n - 4}", f"ceph-osd@{2 * n - 3}"])
       for n in (2, 3, 4)},
    "node5": ([], ["nfs-ganesha"]),
    "salt": ([], []),
}  # fmt: skip
ORDER = [["node1"], ["node5"], ["node2"], ["node3", "node4"], ["salt"]]
CANARY_AGAIN = [*ORDER[:3], ["node3"], ["node4"], ["salt"]]  # of a run that goes on after a stop


def osds(minion):
    """The OSDs of a host."""
    return [int(name.removeprefix("osd.")) for name in DAEMONS[minion][0] if name.startswith("osd.")]


class Cluster(Minions):
    """What minions answer. What must not be is asserted where it would happen."""

    CHANGES = ("begin", "end", "sls", "reboot", "pause")

    def __init__(self):
        super().__init__()
        self.pending, self.reboots = dict.fromkeys(DAEMONS, True), {"node1", "node3", "node4", "salt"}
        self.ceph, self.foreign, self.admin = {}, {}, {"salt"}
        self.noout, self.paused, self.boots = set(), {}, dict.fromkeys(DAEMONS, 1)
        self.broken, self.gone, self.refused, self.apart = set(), set(), {}, set()
        self.turns, self.down, self.turn = [], set(), []

    def left(self):
        return copy.deepcopy((self.pending, self.reboots, self.noout, self.paused))

    def cluster_health_inspect(self, _):
        whole = copy.deepcopy(WHOLE)
        for osd in whole["osd_dump"]["osds"]:
            osd["up"] = int(osd["osd"] not in self.down)
        return whole

    def host_updates_inspect(self, minion, refresh):
        daemons, units = DAEMONS[minion]
        return {
            "pending": ["vim"] * self.pending[minion] + self.ceph.get(minion, []),
            "ceph": self.ceph.get(minion, []),
            "reboot": "a new kernel" if minion in self.reboots else "",
            "host": minion,
            "daemons": daemons,
            "units": [f"{unit}.service" for unit in units],
            "foreign": self.foreign.get(minion, []),
            "asks": minion in self.admin,
        }

    def host_updates_boot(self, minion):
        return None if minion in self.gone else str(self.boots[minion])

    def cluster_maintenance_needed(self, _, host):
        return [self.refused[host]] if host in self.refused else []

    def cluster_maintenance_drained(self, _):
        return []

    def cluster_upgrade_paused(self, _, what):
        return self.paused.get(what)

    def cluster_health_together(self, _, ids, most):
        return [*ids, *(str(osd) for osd in range(6) if osd not in self.apart)]

    def cluster_health_stoppable(self, _, kind, ids):
        if why := next((self.refused[f"{kind}.{one}"] for one in ids if f"{kind}.{one}" in self.refused), None):
            raise ProposalError(why)
        return {"ok": ids}

    # What is changed.

    def cluster_maintenance_begin(self, _, host):
        self.noout.add(host)
        return osds(host)

    def cluster_maintenance_end(self, _):
        self.noout = set()
        return []

    def cluster_upgrade_pause(self, _, why, what):
        self.paused[what] = why
        return True

    def state_sls(self, minion, sls):
        assert sls == "ceph.host.updates" and self.noout in (set(), self.noout | {minion})
        if sorted(self.noout) not in self.turns[-1:]:
            self.turns.append(sorted(self.noout))
        if minion in self.broken:
            return {"pkg_|-x": {"result": False, "comment": "dpkg: error processing"}}
        self.pending[minion] = False
        return {"pkg_|-x": {"result": True, "comment": "", "changes": {}}}

    def host_updates_reboot(self, minion):
        assert minion != "salt", "it would end the stage"
        before = str(self.boots[minion])
        self.boots[minion] += 1
        self.reboots.discard(minion)
        return before


@pytest.fixture(scope="module")
def runners(salt_factories):
    return salt_factories.salt_master_daemon("updates", factory_class=Master).runners()


@pytest.fixture
def cluster(monkeypatch):
    made = Cluster()
    made.play(monkeypatch, health, waiting)
    monkeypatch.setattr(minions, "ours", lambda opts: [*NODES, "salt"])
    monkeypatch.setattr(minions, "master", lambda opts: "salt")
    monkeypatch.setattr(minions, "pillar", lambda opts: {**ASKED, "ready_timeout": 600})
    monkeypatch.setattr(minions, "members", lambda opts: {"all": [*NODES], "master": ["salt"]})
    return made


def meanwhile(cluster, minion, happens):
    """Let something happen while a minion is updated."""

    def updates(updated, name, sls=cluster.state_sls):
        if updated == minion:
            happens()
        return sls(updated, name)

    cluster.state_sls = updates


@pytest.mark.slow
def test_hosts_go_in_turns_the_masters_at_last(runners, cluster):
    done = runners["updates.apply"]()
    assert done.get("retcode", 0) == 0, done
    assert cluster.turns == ORDER
    assert cluster.left() == (dict.fromkeys(DAEMONS, False), {"salt"}, set(), {})
    assert "salt: needs a reboot (a new kernel): reboot it when no stage is running" in done["text"]
    again = runners["updates.apply"]()
    assert "nothing changed" in again["text"] and "changes" not in again and cluster.turns == ORDER


@pytest.mark.parametrize("said", [{"ready_timeout": None}, {}])
def test_a_time_to_wait_that_is_emptied_is_the_default(runners, cluster, monkeypatch, said):
    """It is asked for when the first host is updated already."""
    monkeypatch.setattr(minions, "pillar", lambda opts: {**ASKED, **said})
    assert runners["updates.apply"]().get("retcode", 0) == 0
    assert cluster.turns == ORDER


def test_packages_of_ceph_that_come_meanwhile_are_left_to_the_upgrade(runners, cluster):
    """A run of many turns takes hours: what sources had at its beginning is not what a later host would get."""
    meanwhile(cluster, "node2", lambda: cluster.ceph.update(node4=["ceph-osd"]))
    done = runners["updates.apply"]()
    assert done["retcode"] == 2 and "node4: updates hold ceph-osd of Ceph, which come in Ceph's order" in done["error"]
    assert cluster.turns == ORDER[:3] and cluster.pending["node3"] and cluster.pending["node4"]
    assert (cluster.boots["node3"], cluster.noout) == (1, set())


@pytest.mark.parametrize("on_master", ["default-no-update-no-reboot", "default-update-no-reboot"])
def test_sources_of_hosts_that_are_only_rebooted_are_not_asked(runners, cluster, monkeypatch, on_master):
    """Hosts without any way to a mirror: nothing that it has newer would come."""
    asked = {"stage_prep_minion": "default-no-update-reboot", "stage_prep_master": on_master}
    monkeypatch.setattr(minions, "pillar", lambda opts: asked)
    inspect = cluster.host_updates_inspect

    def without_mirror(minion, refresh):
        if refresh and minion != "salt":
            raise ProposalError("a package source of this host did not answer")
        return inspect(minion, refresh)

    cluster.host_updates_inspect = without_mirror
    done = runners["updates.apply"]()
    assert done.get("retcode", 0) == 0, done
    assert (cluster.reboots, cluster.boots["node3"]) == ({"salt"}, 2)
    assert cluster.pending["node3"] and cluster.pending["salt"] == (on_master == "default-no-update-no-reboot")


def test_a_dry_run_changes_nothing(runners, cluster):
    before = cluster.left()
    cluster.ceph = {"node2": ["ceph-osd"]}
    answer = runners["updates.apply"](test=True)
    told = answer["text"]
    assert answer["changes"].keys() >= {"node1"}  # a plan does not end with "would change nothing" then
    assert "node1: update 1 packages, reboot (a new kernel)" in told and "nothing done in test mode" in told
    assert "node2: updates hold ceph-osd of Ceph" in told
    assert cluster.left() == before and cluster.log == []


def test_hosts_that_ceph_does_not_allow_together_go_apart(runners, cluster):
    cluster.apart = {4}
    assert runners["updates.apply"]().get("retcode", 0) == 0
    assert cluster.turns == [["node1"], ["node5"], ["node2"], ["node3"], ["node4"], ["salt"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "turns", "who"),
    [("node1", 0, "node1"), ("mds.node1", 0, "node1"), ("osd.0", 2, "node2"), ("osd.5", 3, "node3, node4")],
)
def test_without_cephs_leave_right_before_it_no_turn_begins(runners, cluster, one, turns, who):
    cluster.refused, cluster.reboots = {one: NO}, cluster.reboots | {"node2"}
    done = runners["updates.apply"]()
    assert done["retcode"] == 2 and f"{who}: {NO}; nothing else is touched" in done["error"], done
    assert {cluster.boots[name] for name in who.split(", ")} == {1}
    assert cluster.turns == ORDER[:turns] and cluster.noout == set()


def test_a_monitor_that_is_not_called_as_its_host_is_asked_of_too(runners, cluster, monkeypatch):
    """Of a cluster that others made: of one or two monitors Ceph lets none stop."""
    monkeypatch.setitem(DAEMONS, "node1", (["mon.a"], ["ceph-mon@a"]))
    cluster.refused = {"mon.a": "Error EBUSY: not enough monitors would be available () after stopping mons [a]"}
    done = runners["updates.apply"]()
    assert "node1: Error EBUSY: not enough monitors" in done.get("error", ""), done
    assert cluster.turns == [] and cluster.boots["node1"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("minion", "needed", "held"),
    [("node1", "node1", ["node1"]), ("node3", "osd.5", ["node3", "node4"]), ("node2", "node2", [])],
)
def test_what_happens_during_an_update_holds_a_reboot_back(runners, cluster, minion, needed, held):
    meanwhile(cluster, minion, lambda: cluster.refused.update({needed: NO}))
    done = runners["updates.apply"]()
    assert f"{', '.join(held)}: not rebooted: {NO}; nothing" in done["error"] if held else "error" not in done
    assert [cluster.boots[name] for name in held] == [1] * len(held) and cluster.noout == set()
    assert cluster.turns[-1] == (held or ["salt"]) and not cluster.pending[minion]
    del cluster.state_sls, cluster.refused[needed]
    assert runners["updates.apply"]().get("retcode", 0) == 0
    assert cluster.left() == (dict.fromkeys(DAEMONS, False), {"salt"}, set(), {})


def test_a_canary_that_does_not_come_back_stops_everything(runners, cluster):
    cluster.gone.add("node1")
    done = runners["updates.apply"]()
    assert done["retcode"] == 2 and "node1: rebooted, and not back after 600 s" in done["error"], done
    assert cluster.turns == ORDER[:1] and cluster.noout == set()


@pytest.fixture
def rebooting(cluster, monkeypatch):
    """The cluster, whose OSDs start a while after their minion is back from a reboot: when ``noout`` went, what was
    down then."""
    cluster.ends, cluster.takes = [], {}
    reboot, end, sleep = cluster.host_updates_reboot, cluster.cluster_maintenance_end, cluster.sleep

    def reboots(minion):
        cluster.down |= set(osds(minion))
        cluster.takes[minion] = cluster.seconds + 60
        return reboot(minion)

    def ends(salt):
        cluster.ends += [(sorted(cluster.noout), sorted(cluster.down))] if cluster.noout else []
        return end(salt)

    def sleeps(seconds):
        sleep(seconds)
        for minion in [each for each, until in cluster.takes.items() if until <= cluster.seconds]:
            cluster.down -= set(osds(minion))

    cluster.host_updates_reboot, cluster.cluster_maintenance_end, cluster.sleep = reboots, ends, sleeps
    cluster.play(monkeypatch, health, waiting)
    return cluster


def test_noout_is_there_until_the_osds_of_rebooted_hosts_run_again(runners, rebooting):
    done = runners["updates.apply"]()
    assert done.get("retcode", 0) == 0 and rebooting.turns == ORDER, done
    assert rebooting.ends and not any(down for _, down in rebooting.ends)


def test_an_osd_that_was_given_up_long_ago_is_not_waited_for(runners, rebooting, monkeypatch):
    """Its disk died, it is out, and the cluster is whole without it: noout holds nothing of it."""
    inspect = rebooting.cluster_health_inspect

    def seen(salt):
        told = inspect(salt)
        told["osd_dump"]["osds"][2] |= {"up": 0, "in": 0}
        return told

    rebooting.cluster_health_inspect = seen
    done = runners["updates.apply"]()
    assert done.get("retcode", 0) == 0 and rebooting.turns == ORDER, done
    rebooting.pending["node3"], rebooting.broken = True, {"node3"}
    assert "noout stays" not in runners["updates.apply"]()["error"] and rebooting.noout == set()


def test_noout_stays_where_a_host_does_not_come_back_until_the_next_run(runners, rebooting):
    reboots = rebooting.host_updates_reboot

    def dies(minion):
        rebooting.gone |= {minion} & {"node3"}
        answer = reboots(minion)
        rebooting.takes.pop(minion) if minion == "node3" else None
        return answer

    rebooting.host_updates_reboot = dies
    done = runners["updates.apply"]()
    assert "node3: rebooted, and not back after 600 s" in done["error"]
    assert "noout stays set for node3, node4 (osd.2, osd.3 down): the next run takes it away" in done["error"]
    assert rebooting.noout == {"node3", "node4"} and not any(down for _, down in rebooting.ends)
    rebooting.gone, rebooting.down = set(), set()
    assert runners["updates.apply"]().get("retcode", 0) == 0 and rebooting.noout == set()


def test_hosts_that_reboot_are_waited_for_where_another_does_not_say_that_it_will(runners, rebooting):
    reboots = rebooting.host_updates_reboot

    def asked(minion):
        if minion == "node4":
            raise ProposalError("the minion does not answer")
        return reboots(minion)

    rebooting.host_updates_reboot = asked
    assert "node4" in runners["updates.apply"]()["error"]
    assert rebooting.boots["node3"] == 2 and rebooting.noout == {"node3", "node4"}  # its OSDs are not up yet


@pytest.mark.slow
def test_what_is_newly_wrong_stops_it_and_it_goes_on_when_mended(runners, cluster):
    meanwhile(cluster, "node2", lambda: cluster.down.add(0))
    done = runners["updates.apply"]()
    assert done["retcode"] == 2 and "osd.0 down" in done["error"] and cluster.turns == ORDER[:3], done
    assert "osd.0: down" in runners["updates.apply"]()["error"] and cluster.turns == ORDER[:3]
    del cluster.state_sls
    cluster.down = set()
    assert runners["updates.apply"]().get("retcode", 0) == 0 and cluster.turns == CANARY_AGAIN


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["mgr", "mds"])
def test_a_daemon_that_ran_and_is_not_back_holds_back_the_next_hosts(runners, cluster, lost):
    """A standby that is gone is nothing to Ceph, and the next host may have the last one."""
    inspect = cluster.cluster_health_inspect
    cluster.cluster_health_inspect = lambda salt: {**inspect(salt), lost: ["node1", "node5"]}

    def dies():
        cluster.cluster_health_inspect = lambda salt: {**inspect(salt), lost: ["node5"]}

    meanwhile(cluster, "node1", dies)
    cluster.reboots.discard("node1")
    done = runners["updates.apply"]()
    assert done["retcode"] == 2 and f"{lost}.node1: ran before, and does not now; nothing else" in done["error"], done
    assert cluster.turns == ORDER[:1] and cluster.noout == set()


def test_an_update_that_fails_stops_by_name_and_nothing_of_the_turn_is_rebooted(runners, cluster):
    cluster.broken.add("node4")
    done = runners["updates.apply"]()
    assert done["retcode"] == 2 and "node4: its update failed: dpkg: error processing" in done["error"]
    assert cluster.turns == ORDER[:4] and cluster.boots["node3"] == 1 and cluster.noout == set()
    cluster.broken = set()
    assert runners["updates.apply"]().get("retcode", 0) == 0
    assert cluster.left() == (dict.fromkeys(DAEMONS, False), {"salt"}, set(), {})


def test_older_modules_are_named(runners, cluster):
    told = cluster.host_updates_inspect
    cluster.host_updates_inspect = lambda *words: {k: v for k, v in told(*words).items() if k != "units"}
    assert (
        "node1, node2, node3, node4, node5, salt: older modules: run ceph.stage.prep"
        in (runners["updates.apply"]()["error"])
    )


def test_cephs_own_packages_are_the_upgrades(runners, cluster):
    cluster.ceph = {"node2": ["ceph-common", "ceph-osd"]}
    done = runners["updates.apply"]()
    assert done["retcode"] == 2 and cluster.log == []
    assert (
        "node2: updates hold ceph-common, ceph-osd of Ceph, which come in Ceph's order: run ceph.stage.upgrade"
        in (done["error"])
    )


def test_they_pause_before_the_next_hosts_and_go_on(runners, cluster):
    said = []
    meanwhile(cluster, "node2", lambda: said.append(runners["updates.pause"]()["text"]))
    done = runners["updates.apply"]()
    assert "pause before the next hosts" in said[0]
    assert done["retcode"] == 2 and "paused by" in done["error"] and cluster.turns == ORDER[:3], done
    assert "before node3, node4: 'salt-run updates.resume' lets it go on" in done["error"]
    assert "nothing changed" in runners["updates.pause"]()["text"]
    shown = runners["updates.status"]()["text"]
    assert "node3: update 1 packages, reboot (a new kernel)" in shown and "node2:" not in shown and "paused by" in shown
    del cluster.state_sls
    assert "they may go on: 'salt-run stage.run prep'; with only=, where" in runners["updates.resume"]()["text"]
    assert "nothing changed" in runners["updates.resume"]()["text"]
    assert runners["updates.apply"]().get("retcode", 0) == 0 and cluster.turns == CANARY_AGAIN


def test_a_silent_host_hides_nothing_of_the_others_and_is_not_waited_for_long(runners, cluster, monkeypatch):
    """Salt's client asks whether a silent minion works at all once its timeout is over, and not before."""
    ask, waits = cluster.ask, []

    def asked(opts, hosts, function, words=(), kind=dict, timeout=60):
        waits.append(timeout)
        return ask(opts, hosts, function, words)

    cluster.silent, cluster.paused = {"node4"}, {"updates": "by admin"}
    monkeypatch.setattr(jobs, "ask", asked)
    shown = runners["updates.status"]()
    assert "retcode" not in shown and max(waits) <= 60, (shown, waits)
    for words in ("node3: update 1 packages", "node4: does not answer", "paused by admin"):
        assert words in shown["text"]
    cluster.pending, cluster.reboots = dict.fromkeys(DAEMONS, False), set()
    assert "no host that answers is due any" in runners["updates.status"]()["text"]


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_killed_at_any_moment_the_same_command_goes_on(runners, cluster, before):
    end_at_each_change(cluster, before, runners["updates.apply"], least=20)


def test_a_cluster_that_others_made_is_kept_well_too(runners, cluster, monkeypatch):
    """Nothing of ours is configured, and a minion that is not the master's has the admin's key."""

    def none(opts):
        raise PolicyError("nothing is configured yet")

    monkeypatch.setattr(minions, "members", none)
    cluster.admin, cluster.foreign = {"node5"}, {"node3": ["1-2-3-4-5"]}
    assert runners["updates.apply"]().get("retcode", 0) == 0
    assert cluster.turns == [["node1"], ["node3"], ["node5"], ["node2"], ["node4"], ["salt"]]
    assert {minion for minion, function in cluster.log if function == "cluster_maintenance.begin"} == {"node5"}


def test_without_a_key_to_ask_by_nothing_is_updated(runners, cluster):
    cluster.admin = set()
    assert "no minion of ours has the admin key" in runners["updates.apply"]()["error"] and cluster.log == []


def test_where_no_cluster_runs_all_go_at_once(runners, cluster, monkeypatch):
    monkeypatch.setitem(globals(), "DAEMONS", dict.fromkeys(DAEMONS, ([], [])))
    cluster.ceph = {"node2": ["ceph-common"]}
    assert runners["updates.apply"]().get("retcode", 0) == 0
    assert cluster.turns == [[]] and not {function for _, function in cluster.log} & {"cluster_maintenance.begin"}


def test_only_those_that_the_run_names_are_touched(runners, cluster, monkeypatch):
    def among(opts, hosts=None, limited=True):
        return sorted({"node2"} & set(hosts or NODES)) if limited else [*NODES, "salt"]

    monkeypatch.setattr(taking_part, "among", among)
    assert runners["updates.apply"]().get("retcode", 0) == 0 and cluster.turns == [["node2"]]


def test_gateways_alone_go_in_turns_too(runners, cluster, monkeypatch):
    """They run no daemon of Ceph's own; all of them at once would leave clients none."""
    served = {**DAEMONS, "node4": ([], ["rbd-target-api"]), "node5": ([], ["rbd-target-api"])}
    monkeypatch.setitem(globals(), "DAEMONS", served)

    def among(opts, hosts=None, limited=True):
        return sorted({"node4", "node5"} & set(hosts or NODES)) if limited else [*NODES, "salt"]

    monkeypatch.setattr(taking_part, "among", among)
    cluster.reboots = {"node4", "node5"}
    assert runners["updates.apply"]().get("retcode", 0) == 0 and cluster.turns == [["node4"], ["node5"]]


def test_gateways_of_a_turn_are_drained_meanwhile(runners, cluster, monkeypatch):
    seen = []
    drained = gateways.drained
    monkeypatch.setitem(globals(), "DAEMONS", {**DAEMONS, "node5": (["radosgw.rgw.node5"], ["ceph-radosgw@rgw.node5"])})
    monkeypatch.setattr(gateways, "drained", lambda *words: seen.append(words[1:]) or drained(*words))
    assert runners["updates.apply"]().get("retcode", 0) == 0
    assert (["client.rgw.node5"], ["node5"]) in seen


def test_nothing_is_updated_while_another_command_stops_daemons(runners, cluster):
    cluster.noout = {"node3"}
    before = cluster.left()
    with another_stops_daemons(runners.opts):
        assert BUSY in runners["updates.apply"]()["error"]
        cluster.pending, cluster.reboots = dict.fromkeys(DAEMONS, False), set()
        done = runners["updates.apply"]()  # nothing is due; what an interrupted run left stays, as the noout is in use
        assert BUSY in done["text"] and "retcode" not in done
    assert cluster.noout == before[2] == {"node3"}
