"""An upgrade of a cluster that is played: Salt's own runner loader, no second is waited, every moment an end."""

import copy
import json
from pathlib import Path

import pytest
from played import BUSY, Minions, another_stops_daemons, end_at_each_change
from saltmaster import Master, lay_out, policy_cfg, serve
from test_maintenance_asked import FSID, connected

from proposals.files import atomic
from proposals.files.site import site
from proposals.text.errors import ProposalError
from runners.engine import waiting
from runners.engine.asking import jobs, minions, taking_part
from runners.engine.cluster import health
from runners.engine.runs import stage_lock

WHOLE = json.loads((Path(__file__).parent.parent / "fixtures/health/whole.json").read_text())
NODES = ("node1", "node2", "node3", "node4")
POLICY = policy_cfg(mon="node[123]", mgr="node[12]", mds="node[12]")
OLD, NEW = "16.2.15+ds-0", "16.2.15+ds-1"
NO = "Error EBUSY: unsafe to stop osd(s) at this time (3 PGs are or would become offline)"
TEXT = "ceph version {} (618f440892089921c3e944a991122ddc44e60516) {} (stable)"


def daemons(number):
    """What a node runs: three monitors, two managers and metadata servers, an NFS server; OSDs on 2, 3 and 4."""
    node = f"node{number}"
    kinds = ["mon"] * (number < 4) + ["mgr", "mds"] * (number < 3)
    names = {f"{kind}.{node}": kind for kind in kinds}
    names |= {f"osd.{osd}": "osd" for osd in (2 * number - 4, 2 * number - 3) if number > 1}
    return names | ({"nfs-ganesha": "gateway"} if number == 4 else {})


class Cluster(Minions):
    """What minions answer. What must not be is asserted where it would happen."""

    CHANGES = ("note", "forget", "begin", "end", "apply", "restart", "restart_own", "pause")

    def __init__(self):
        super().__init__()
        self.hosts = {"salt": {}} | {f"node{number}": daemons(number) for number in range(1, 5)}
        self.installed, self.sources = dict.fromkeys(self.hosts, OLD), dict.fromkeys(self.hosts, NEW)
        self.older = {minion: set() for minion in self.hosts}
        self.kept, self.paused, self.noout = None, None, set()
        self.systems = {"a": [2, True]}
        self.broken, self.dead, self.refused, self.down = set(), set(), [], set()
        self.order, self.required, self.release, self.epoch, self.checks = [], "pacific", {}, {}, {}
        self.stores, self.others, self.leveldb = {"bluestore": 6}, {}, {}
        self.gids, self.hangs = {"node1": 10, "node2": 10}, set()  # managers, and those that do not come up
        self.monitors = 3  # of the map

    def left(self):
        now = (self.installed, self.older, self.kept, self.noout, self.systems, self.required)
        return copy.deepcopy(now)

    def up(self, kind):
        return sorted(
            name for own in self.hosts.values() for name, has in own.items() if has == kind and name not in self.down
        )

    # What is asked.

    def cluster_health_inspect(self, _):
        whole = copy.deepcopy(WHOLE)
        whole["status"]["health"]["checks"] = copy.deepcopy(self.checks)
        whole["status"]["monmap"]["num_mons"] = self.monitors
        whole["status"]["quorum_names"] = [name[4:] for name in self.up("mon")]
        whole["mgr"], whole["mds"] = ([name[4:] for name in self.up(kind)] for kind in ("mgr", "mds"))
        for osd in whole["osd_dump"]["osds"]:
            name = f"osd.{osd['osd']}"
            osd |= {"up": int(name in self.up("osd")), "up_from": self.epoch.get(name, 10)}
        return whole

    def cluster_upgrade_inspect(self, _):
        counts = {kind: {} for kind in ("mon", "mgr", "osd", "mds")}
        for own in self.hosts.values():
            for name, kind in own.items():
                if kind in counts:
                    text = TEXT.format(*self.release.get(name, ("16.2.15", "pacific")))
                    counts[kind][text] = counts[kind].get(text, 0) + 1
        systems = [
            {"name": name, "max_mds": most, "standby_replay": replay, "active": ["node1", "node2"][:most]}
            for name, (most, replay) in self.systems.items()
        ]
        counts |= self.others
        asked = {"versions": counts, "required": self.required, "manager": "node1", "systems": systems}
        asked["stores"] = self.stores
        return {**asked, "record": self.kept, "paused": self.paused}

    def cluster_upgrade_paused(self, _):
        return self.paused

    def daemons_upgrade_inspect(self, minion, refresh):
        half = "" if minion in self.broken and self.installed[minion] != OLD else self.installed[minion]
        older = self.older[minion]
        return {
            "host": minion,
            "packages": {"ceph-common": [half, self.sources[minion]]},
            "daemons": {name: [kind, name in older] for name, kind in self.hosts[minion].items()},
            "leveldb": self.leveldb.get(minion, []),
        }

    def cluster_health_together(self, _, ids, most):
        return [] if any(number in ids for number in self.refused) else ["2", "3", "4", "5"]

    def cluster_health_stoppable(self, _, kind, ids):
        if kind == "osd" and set(ids) & set(self.refused):
            raise ProposalError(NO)
        return {"ok": ids}

    def daemons_running(self, minion):
        return set(self.hosts[minion]) - self.dead

    def daemons_pending(self, minion):
        return {name: {} for name in self.older[minion]}

    def mon_joined(self, minion, _):
        return True

    def daemons_started_managers(self, _):
        return dict(self.gids)

    # What is changed.

    def cluster_upgrade_note(self, _, record):
        self.kept = json.dumps(record)
        return True

    def cluster_upgrade_forget(self, _):
        self.kept = self.paused = None
        return True

    def cluster_upgrade_pause(self, _, why):
        self.paused = why
        return True

    def cluster_maintenance_begin(self, _, host):
        self.noout.add(host)
        return [0]

    def cluster_maintenance_end(self, _):
        self.noout = set()
        return []

    def cluster_maintenance_drained(self, _):
        return []

    def cluster_crush_apply(self, _, commands):
        assert self.kept, "what they had is kept before"
        for command in commands:
            match command:
                case ["fs", "set", name, "max_mds", most]:
                    self.systems[name][0] = int(most)
                case ["fs", "set", name, "allow_standby_replay", word]:
                    self.systems[name][1] = word == "true"
                case ["osd", "require-osd-release", name]:
                    self.required = name

    def state_apply(self, minion, sls, more):
        assert (sls, more["pillar"]["ceph_upgrade"]) == ("ceph.host.upgrade", [{"ceph-common": self.sources[minion]}])
        assert self.kept, "the record comes first"
        self.order.append(("packages", minion))
        if minion in self.broken:
            return {"pkg_|-x": {"__id__": "ceph-host-upgrade", "result": False, "comment": "dpkg: error processing"}}
        self.installed[minion] = self.sources[minion]
        self.older[minion] = set(self.hosts[minion])
        return {"pkg_|-x": {"result": True, "comment": "", "changes": {}}}

    def daemons_restart_own(self, minion, names):
        return self.daemons_restart(minion, names[minion])

    def daemons_restart(self, minion, names):
        kinds = {self.hosts[minion][name] for name in names}
        assert self.installed[minion] == NEW and len(kinds) == 1
        assert "osd" not in kinds or minion in self.noout
        assert "mds" not in kinds or self.systems["a"] == [1, False]
        assert not {name[4:] for name in names} & set(self.refused) or "osd" not in kinds
        self.order.append((kinds.pop(), minion))
        self.older[minion] -= set(names)
        self.epoch |= dict.fromkeys(set(names) - self.dead, 20)
        self.down |= set(names) & self.dead
        again = {name[4:] for name in set(names) - self.hangs if name[:4] == "mgr."}
        self.gids |= {name: gid + 1 for name, gid in self.gids.items() if name in again}
        self.release |= dict.fromkeys(names, self.release.get("then", ("16.2.15", "pacific")))
        return {"restarted": names}

    def daemons_upgrade_restart(self, minion, names):
        self.order.append(("gateway", minion))
        self.older[minion] -= set(names)
        return {"restarted": names}


@pytest.fixture(scope="module")
def runners(salt_factories):
    """Those of a master whose site has a generation that is served."""
    made = salt_factories.salt_master_daemon("upgrade", factory_class=Master)
    lay_out(made, connected((*NODES, "salt")), FSID, POLICY)
    serve(made.opts())
    return made.runners()


@pytest.fixture
def cluster(monkeypatch):
    made = Cluster()
    made.play(monkeypatch, health, waiting)
    monkeypatch.setattr(minions, "ours", lambda opts: [*NODES, "salt"])
    monkeypatch.setattr(stage_lock, "free", lambda opts: None)
    return made


WHOLE_ORDER = [
    *(("packages", "node1"), ("mon", "node1"), ("packages", "node2"), ("mon", "node2"), ("packages", "node3")),
    *(("mon", "node3"), ("mgr", "node2"), ("mgr", "node1"), ("osd", "node2"), ("packages", "node4"), ("osd", "node3")),
    *(("osd", "node4"), ("mds", "node2"), ("mds", "node1"), ("gateway", "node4"), ("packages", "salt")),
]


@pytest.mark.slow
def test_a_cluster_is_upgraded_in_cephs_order(runners, cluster):
    """node2's OSDs alone first, node3's and node4's together; the active manager and metadata server last."""
    done = runners["upgrade.carry_out"]()
    assert done.get("retcode", 0) == 0, done
    assert cluster.order == WHOLE_ORDER
    assert set(cluster.installed.values()) == {NEW} and not any(cluster.older.values())
    assert (cluster.kept, cluster.noout, cluster.systems) == (None, set(), {"a": [2, True]})
    assert f"all hosts have Ceph's packages {NEW}, and all daemons run from them" in done["text"]
    again = runners["upgrade.carry_out"]()
    assert "nothing changed" in again["text"] and "changes" not in again and cluster.order == WHOLE_ORDER


@pytest.mark.slow
def test_a_dry_run_tells_versions_and_order_and_changes_nothing(runners, cluster):
    before = cluster.left()
    told = runners["upgrade.carry_out"](test=True)["text"].splitlines()
    assert told[0] == f"{OLD} -> {NEW}: node1, node2 and 3 more hosts"
    assert told[1:] == [
        "mon: node1 alone at first, then node2, node3: 3 daemons",
        "mgr: node2 alone at first, then node1: 2 daemons",
        "osd: node2 alone at first, then node3, node4, as many at once as Ceph allows (ok-to-stop --max): 6 daemons",
        "mds: one active server alone in a, restored afterwards",
        "mds: node1 alone at first, then node2: 2 daemons",
        "gateway: node4 alone at first: 1 daemon",
        "packages alone: salt",
    ]
    assert cluster.left() == before and cluster.log == []


REFUSED = {
    "a downgrade": (lambda c: c.release.update({"osd.3": ("17.2.7", "quincy")}), "1 osd on 17.2.7, newer than 16.2.15"),
    "too old": (
        lambda c: c.release.update({"mon.node1": ("13.2.9", "mimic")}),
        "1 mon on 13.2.9: to 16.2.15 are 3 rel",
    ),
    "mixed": (
        lambda c: c.release.update({"osd.1": ("16.2.9", "pacific"), "osd.2": ("16.2.7", "pacific")}),
        "several ver",
    ),
    "other sources": (lambda c: c.sources.update(node3=OLD), f"({OLD}: node3; {NEW}: node1, node2, node4, salt)"),
    "an OSD that is down": (lambda c: c.down.add("osd.5"), "osd.5: down"),
    "no version": (lambda c: c.sources.update(dict.fromkeys(c.sources, "x")), "'x' is no version of Ceph"),
    "FileStore, which Reef ended": (
        lambda c: (c.sources.update(dict.fromkeys(c.sources, "18.2.4-1")), c.stores.update(filestore=2)),
        "2 OSDs of FileStore",
    ),
    "LevelDB, which Quincy ended": (
        lambda c: (c.sources.update(dict.fromkeys(c.sources, "17.2.7-1")), c.leveldb.update(node2=["mon.node2"])),
        "mon.node2: the store is a LevelDB",
    ),
    "a record that is none": (lambda c: setattr(c, "kept", "[]"), "what is no upgrade's record"),
    "a pause": (lambda c: setattr(c, "paused", "by root"), "paused by root: 'salt-run upgrade.resume' lets it go on"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("verb", ["check", "carry_out"])
def test_what_stands_against_it_is_named_and_nothing_is_changed(runners, cluster, case, verb):
    make, says = REFUSED[case]
    make(cluster)
    before = cluster.left()
    done = runners[f"upgrade.{verb}"]()
    assert done["retcode"] == 2 and says in done["error"], done
    assert cluster.left() == before and cluster.log == []


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_killed_at_any_moment_the_same_command_goes_on(runners, cluster, before):
    end_at_each_change(cluster, before, runners["upgrade.carry_out"], least=30)


@pytest.mark.slow
def test_the_canary_stops_everything(runners, cluster):
    cluster.dead.add("mon.node1")
    done = runners["upgrade.carry_out"]()
    assert done["retcode"] == 1, done
    assert "node1: restarted, and since then: mon.node1: does not run; 2 of 3 monitors are in quorum" in done["error"]
    assert cluster.order == WHOLE_ORDER[:2] and "node1: packages" in done["error"]
    again = runners["upgrade.carry_out"]()
    assert "mon.node1" in again["error"] and cluster.order == WHOLE_ORDER[:2], "it goes on only when that is mended"
    cluster.dead, cluster.down = set(), set()
    assert runners["upgrade.carry_out"]().get("retcode", 0) == 0
    assert cluster.order == WHOLE_ORDER and cluster.kept is None


@pytest.mark.slow
def test_a_monitor_that_the_others_do_not_miss_yet_holds_back_the_next_one(runners, cluster):
    """Run again at once after the canary's end, the quorum still has it for a few seconds."""
    cluster.dead.add("mon.node1")
    cluster.older["node1"], cluster.installed["node1"] = set(), NEW
    done = runners["upgrade.carry_out"]()
    assert done["retcode"] == 1, done
    assert "mon.node2: not restarted: mon.node1: does not run, and the monitors have not seen it yet" in done["error"]
    assert ("mon", "node2") not in cluster.order


@pytest.mark.slow
def test_a_manager_that_has_not_come_up_again_holds_back_the_next_one(runners, cluster):
    cluster.hangs.add("mgr.node2")
    done = runners["upgrade.carry_out"]()
    assert done["retcode"] == 1 and "mgr.node2: has not come up again" in done["error"], done
    assert cluster.order == WHOLE_ORDER[:7]


@pytest.mark.slow
def test_a_package_that_is_broken_stops_by_name_and_goes_on_when_mended(runners, cluster):
    cluster.broken.add("node3")
    done = runners["upgrade.carry_out"]()
    assert done["retcode"] == 1
    assert "node3: its packages: ceph-host-upgrade: dpkg: error processing" in done["error"]
    assert cluster.order == WHOLE_ORDER[:5] and cluster.noout == set()
    shown = runners["upgrade.status"]()["text"]
    assert f"to {NEW}, under way since" in shown and f"{OLD} -> {NEW}: node3, node4, salt" in shown
    assert "node1: to begin anew: mgr.node1, mds.node1" in shown
    cluster.broken.clear()
    assert runners["upgrade.carry_out"]().get("retcode", 0) == 0
    assert cluster.order == [*WHOLE_ORDER[:5], *WHOLE_ORDER[4:]]


@pytest.mark.slow
def test_without_cephs_leave_it_stops_and_takes_its_noout_away(runners, cluster):
    cluster.refused = ["2"]
    done = runners["upgrade.carry_out"]()
    assert done["retcode"] == 1 and f"node3: osd.2, osd.3: not restarted: {NO}" in done["error"]
    assert ("osd", "node2") in cluster.order and ("osd", "node4") not in cluster.order and cluster.noout == set()
    cluster.refused = []
    assert runners["upgrade.carry_out"]().get("retcode", 0) == 0


@pytest.mark.slow
def test_what_is_newly_wrong_between_turns_stops_it(runners, cluster):
    restart = cluster.daemons_restart

    def dies(minion, names):
        if minion == "node1":
            cluster.down.add("osd.5")
        return restart(minion, names)

    cluster.daemons_restart = dies
    done = runners["upgrade.carry_out"]()
    assert done["retcode"] == 1 and "osd.5: down" in done["error"] and cluster.order == WHOLE_ORDER[:2]
    del cluster.daemons_restart
    assert "osd.5: down" in runners["upgrade.carry_out"]()["error"], "also when it is begun again"


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        ("DAEMON_OLD_VERSION", "OSD_UPGRADE_FINISHED", "OSD_FILESTORE"),
        ("POOL_APP_NOT_ENABLED", "POOL_PG_NUM_NOT_POWER_OF_TWO"),
    ],
    ids=["of daemons", "of pools that were so before"],
)
def test_what_ceph_says_of_every_upgrade_is_no_reason_to_stop(runners, cluster, names):
    restart = cluster.daemons_restart

    def warns(minion, daemons):
        message = {"severity": "HEALTH_WARN", "summary": {"message": "older", "count": 1}, "muted": False}
        cluster.checks = dict.fromkeys(names, message)
        return restart(minion, daemons)

    cluster.daemons_restart = warns
    assert runners["upgrade.carry_out"]().get("retcode", 0) == 0


@pytest.fixture
def quincy(cluster, monkeypatch):
    """Sources have the next release."""
    cluster.sources, cluster.release["then"] = dict.fromkeys(cluster.sources, "17.2.7-1"), ("17.2.7", "quincy")
    monkeypatch.setitem(globals(), "NEW", "17.2.7-1")
    return cluster


@pytest.mark.slow
def test_the_new_release_is_required_at_the_end(runners, quincy):
    done = runners["upgrade.carry_out"]()
    assert done.get("retcode", 0) == 0 and quincy.required == "quincy", done


@pytest.mark.slow
def test_the_new_release_is_required_whatever_is_still_told_of_a_gateway(runners, quincy):
    """Managers tell of a gateway that began anew, or crashed, what was, for a while."""
    quincy.others = {"rgw": {TEXT.format("16.2.15", "pacific"): 1}}
    done = runners["upgrade.carry_out"]()
    assert done.get("retcode", 0) == 0 and quincy.required == "quincy", done


def one_older(cluster, kind):
    """Ceph tells of one more daemon, which runs the old release on a host that is none of ours."""
    inspect, old = cluster.cluster_upgrade_inspect, TEXT.format("16.2.15", "pacific")

    def with_another(minion):
        told = inspect(minion)
        told["versions"][kind][old] = told["versions"][kind].get(old, 0) + 1
        return told

    cluster.cluster_upgrade_inspect = with_another


@pytest.mark.slow
def test_it_has_not_ended_while_an_osd_of_somebody_elses_host_runs_the_old_release(runners, quincy):
    """Such a host is none of ours, so none of its packages is known; the end was said, and nothing was required."""
    one_older(quincy, "osd")
    done = runners["upgrade.carry_out"]()
    assert done["retcode"] == 1 and "not ended: 'ceph versions' has 1 osd on 16.2.15" in done["error"], done
    assert quincy.required == "pacific" and quincy.kept
    del quincy.cluster_upgrade_inspect
    assert runners["upgrade.carry_out"]().get("retcode", 0) == 0
    assert (quincy.required, quincy.kept) == ("quincy", None)


@pytest.mark.slow
def test_file_systems_stay_reduced_while_a_silent_host_has_an_older_metadata_server(runners, quincy, monkeypatch):
    """That its minion does not answer says nothing of its daemons; Ceph itself tells what they run."""
    others = ["node1", "node3", "node4", "salt"]
    monkeypatch.setattr(taking_part, "among", lambda opts, hosts=None, limited=True: others)
    monkeypatch.setattr(taking_part, "left", lambda opts: ["node2"])
    quincy.silent.add("node2")
    done = runners["upgrade.carry_out"]()
    assert done["retcode"] == 1 and "not ended: node2 took no part" in done["error"], done
    assert ("mds", "node1") in quincy.order and quincy.systems == {"a": [1, False]}


@pytest.mark.slow
def test_it_has_not_ended_while_file_systems_are_reduced_for_a_metadata_server_of_somebody_elses_host(runners, quincy):
    """The end forgets what they had: nobody would give it back to them any more."""
    one_older(quincy, "mds")
    done = runners["upgrade.carry_out"]()
    assert done["retcode"] == 1 and "not ended: 'ceph versions' has 1 mds on 16.2.15" in done["error"], done
    assert quincy.systems == {"a": [1, False]} and quincy.kept
    del quincy.cluster_upgrade_inspect
    assert runners["upgrade.carry_out"]().get("retcode", 0) == 0
    assert (quincy.systems, quincy.required, quincy.kept) == ({"a": [2, True]}, "quincy", None)


def test_a_host_whose_sources_get_another_version_on_the_way_stops_it(runners, cluster):
    """A mirror has the next release by now, and the host has looked: nothing of it is installed."""
    restart = cluster.daemons_restart

    def moves_on(minion, names):
        cluster.sources["node3"] = "19.2.0-1"
        return restart(minion, names)

    cluster.daemons_restart = moves_on
    done = runners["upgrade.carry_out"]()
    assert done["retcode"] == 1 and f"node3: its sources have 19.2.0-1 by now, expected {NEW}" in done["error"], done
    assert ("packages", "node3") not in cluster.order and cluster.installed["node3"] == OLD


@pytest.mark.slow
def test_it_pauses_before_the_next_hosts_and_goes_on(runners, cluster):
    assert "no upgrade is under way" in runners["upgrade.pause"]()["text"]
    restart = cluster.daemons_restart

    def pauses(minion, names):
        if cluster.paused is None and minion == "node2":
            assert "pauses before its next hosts" in runners["upgrade.pause"]()["text"]
        return restart(minion, names)

    cluster.daemons_restart = pauses
    done = runners["upgrade.carry_out"]()
    assert done["retcode"] == 1 and "before node3: 'salt-run upgrade.resume' lets it go on" in done["error"]
    assert cluster.order == WHOLE_ORDER[:4] and "nothing changed" in runners["upgrade.pause"]()["text"]
    del cluster.daemons_restart
    assert "paused by" in runners["upgrade.status"]()["text"]
    assert "paused by" in runners["upgrade.carry_out"]()["error"]
    assert "it may go on: 'salt-run stage.run upgrade'; with only=, where" in runners["upgrade.resume"]()["text"]
    assert "nothing changed" in runners["upgrade.resume"]()["text"]
    assert runners["upgrade.carry_out"]().get("retcode", 0) == 0 and cluster.order == WHOLE_ORDER


@pytest.mark.slow
def test_some_hosts_first_and_the_rest_later(runners, cluster, monkeypatch):
    """``only=node1``, or a host in maintenance: it has not ended, file systems stay reduced, and the same goes on."""
    among = taking_part.among
    monkeypatch.setattr(taking_part, "among", lambda opts, hosts=None, limited=True: ["node1"])
    done = runners["upgrade.carry_out"]()
    assert done["retcode"] == 1 and "not ended: node2, node3, node4, salt took no part" in done["error"], done
    assert {minion for _, minion in cluster.order} == {"node1"} and cluster.kept
    assert cluster.systems == {"a": [1, False]}
    assert "file system a gets max_mds 2, and standbys that replay back" in runners["upgrade.status"]()["text"]
    monkeypatch.setattr(taking_part, "among", among)
    assert runners["upgrade.carry_out"]().get("retcode", 0) == 0
    assert (cluster.kept, cluster.systems) == (None, {"a": [2, True]})


@pytest.mark.slow
def test_an_upgrade_goes_on_while_a_host_that_ran_when_it_began_is_in_maintenance(runners, cluster, monkeypatch):
    """Its daemons ran before, and do not now: that is known, also where others were restarted."""
    cluster.broken.add("node2")
    assert runners["upgrade.carry_out"]()["retcode"] == 1 and cluster.kept
    cluster.broken.clear()
    away, others = daemons(3), ["node1", "node2", "node4", "salt"]
    cluster.down |= set(away)
    note = {"left": {"node3": "in maintenance"}, "maintenance": {"node3": list(away)}, "hosts": others}
    monkeypatch.setattr(stage_lock, "own", lambda opts: note)
    among = taking_part.among
    monkeypatch.setattr(taking_part, "among", lambda opts, hosts=None, limited=True: among(opts, hosts or others))
    done = runners["upgrade.carry_out"]()
    assert done["retcode"] == 1 and "not ended: node3 took no part" in done["error"], done
    assert ("osd", "node4") in cluster.order and cluster.installed["node3"] == OLD


@pytest.mark.slow
def test_an_upgrade_goes_on_when_what_ran_was_taken_out_of_the_cluster(runners, cluster):
    """Its host died for good on the way, and policy.cfg names it no more; nobody brings its daemons back."""
    cluster.broken.add("node2")
    assert runners["upgrade.carry_out"]()["retcode"] == 1
    cluster.broken.clear()
    cluster.down |= set(daemons(1))
    died = runners["upgrade.carry_out"]()["error"]
    assert "mds.node1, mgr.node1, mon.node1: ran before, and does not now" in died
    cluster.hosts["node1"], cluster.monitors = {}, 2
    paths = site(runners.opts)
    try:
        atomic.write(paths.proposals / "policy.cfg", POLICY.replace("[123]", "[23]").replace("[12]", "[2]"))
        serve(runners.opts)
        done = runners["upgrade.carry_out"]()
    finally:
        atomic.write(paths.proposals / "policy.cfg", POLICY)
        serve(runners.opts)
    assert done.get("retcode", 0) == 0, done
    assert cluster.kept is None and ("osd", "node4") in cluster.order


@pytest.mark.slow
def test_file_systems_get_back_what_they_had_when_their_turn_came(runners, cluster):
    """Monitors and OSDs take hours before it; an admin gave one more active servers meanwhile."""
    restart = cluster.daemons_restart

    def meanwhile(minion, names):
        if names == ["osd.0", "osd.1"]:
            cluster.systems = {"a": [1, False], "b": [2, False]}
        return restart(minion, names)

    cluster.daemons_restart = meanwhile
    done = runners["upgrade.carry_out"]()
    assert done.get("retcode", 0) == 0, done
    assert cluster.systems == {"a": [1, False], "b": [2, False]}


def test_a_silent_host_hides_nothing_of_how_far_an_upgrade_is(runners, cluster, monkeypatch):
    """Nor is it waited for long: Salt's client asks whether it works at all once its timeout is over."""
    ask, waits = cluster.ask, []
    monkeypatch.setattr(jobs, "ask", lambda *words, timeout=60, **_: waits.append(timeout) or ask(*words))
    cluster.silent.add("node4")
    shown = runners["upgrade.status"]()
    assert "retcode" not in shown and max(waits) <= 60, (shown, waits)
    assert f"{OLD} -> {NEW}: node1, node2, node3" in shown["text"]
    assert "does not answer, or is left out: node4" in shown["text"]


def test_a_silent_host_is_named_and_nothing_is_begun(runners, cluster):
    cluster.silent.add("node4")
    done = runners["upgrade.carry_out"]()
    assert done["retcode"] == 2 and "node4: does not answer" in done["error"] and cluster.log == []


def test_nothing_is_upgraded_while_another_command_stops_daemons(runners, cluster):
    before = cluster.left()
    with another_stops_daemons(runners.opts):
        assert BUSY in runners["upgrade.carry_out"]()["error"]
    assert cluster.left() == before
