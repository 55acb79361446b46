"""``osd.migrate``: a cluster that is played, every moment an interruption."""

import copy
import fcntl
import json
from pathlib import Path

import pytest
from played import BUSY, Minions, another_stops_daemons, end_at_each_change
from saltmaster import Master

from proposals.cluster.health import seen
from proposals.inventory import kept
from proposals.text.errors import ProposalError
from runners.engine import waiting
from runners.engine.asking import minions
from runners.engine.cluster import health
from runners.engine.osds import migration
from runners.engine.runs import stage_lock

WHOLE = json.loads((Path(__file__).parent.parent / "fixtures/health/whole.json").read_text())
GIB = 1 << 30
NEW = {"disk": "/dev/new", "size": 4 * GIB}
MOVED = {"at": "new", "old": False, "new": True, "running": True, "moving": None, "mark": False}


class Cluster(Minions):
    """What minions answer, of three OSDs on two hosts. What must not be is asserted where it would happen."""

    CHANGES = ("prepare", "together", "free", "begin", "end")

    def __init__(self):
        super().__init__()
        self.osds = {
            number: {
                "fsid": f"fsid-{number}", "minion": f"node{1 + number // 2}", "at": "old", "old": True, "new": False,
                "running": True, "moving": None, "mark": False, "from": 5, "made": True, "refused": "",
            }
            for number in range(3)
        }  # fmt: skip
        self.noout, self.refused, self.fails, self.blind, self.late = None, {}, {}, set(), set()
        self.epoch = 5
        self.asked, self.allowed, self.largest = None, 9, 0
        self.maintained = {}

    def osd(self, fsid):
        return next(osd for osd in self.osds.values() if osd["fsid"] == fsid)

    def osd_migrate_inspect(self, minion):
        told = []
        for number, osd in self.osds.items():
            left = ["slot"] if osd["at"] == "new" and osd["old"] else []
            if osd["minion"] == minion and (osd["at"] == "old" or left or osd["moving"] or osd["mark"]):
                moves = {"db": {"from": None, "to": NEW}} if osd["at"] == "old" else {}
                more = {"moves": moves, "moving": osd["moving"], "left": left, "running": osd["running"]}
                more |= {"begun": osd["mark"], "refused": osd["refused"]}
                nodes = {"db": f"/dev/{osd['at']}{number}"}
                told.append({"id": number if osd["made"] else None, "fsid": osd["fsid"], **more, "nodes": nodes})
        return told

    def osd_migrate_prepare(self, minion, fsid):
        assert self.osd(fsid)["minion"] == minion
        self.osd(fsid)["new"] = True
        if fsid in self.late:  # the job of a run that was killed comes to its end now
            self.noout = minion
            self.moved(minion, fsid)
        return ["/dev/new"]

    def osd_migrate_together(self, minion, fsids, may_stop):
        self.largest = max(self.largest, len(fsids))
        others = [
            each["running"]
            for each in self.osds.values()
            if each["fsid"] not in fsids and each["minion"] not in self.maintained
        ]
        assert all(others), "OSDs are down that nobody asked for"
        assert not may_stop or self.asked == set(may_stop), "without Ceph's leave"
        if up := [fsid for fsid in fsids if fsid not in may_stop and self.osd(fsid)["running"] and self.at_old(fsid)]:
            raise ProposalError(f"{up} was down and runs by now: nothing was changed")
        return [fsid for fsid in fsids if self.moved(minion, fsid)]

    def at_old(self, fsid):
        return self.osd(fsid)["at"] == "old"

    def moved(self, minion, fsid):
        osd = self.osd(fsid)
        assert osd["new"] and self.noout == minion, "moved without a slot, or without noout"
        if why := self.fails.pop(fsid, None):
            osd["from"] = self.epoch = self.epoch + 1
            raise ProposalError(why)
        boots = osd["at"] == "old" or osd["moving"] or not osd["running"]
        osd |= {"at": "new", "running": True, "moving": None, "mark": True}
        if boots:
            osd["from"] = self.epoch = self.epoch + 1
        return boots

    def osd_migrate_free(self, minion, fsid):
        osd = self.osd(fsid)
        assert osd["at"] == "new" and osd["running"] and fsid not in self.blind, "freed before the cluster has seen it"
        osd |= {"old": False, "mark": False}
        return ["partition 1 of /dev/old"]

    def cluster_health_stoppable(self, _, kind, ids):
        self.asked = {self.osds[int(number)]["fsid"] for number in ids}
        if len(ids) > self.allowed:
            raise ProposalError("Error EBUSY: unsafe to stop osd(s) together")
        for number in ids:
            if why := self.refused.get(int(number)):
                raise ProposalError(why)
        return {"ok": ids}

    def cluster_osds_states(self, _):
        return [{"id": number, "fsid": osd["fsid"]} for number, osd in self.osds.items()]

    def cluster_osds_metadata_of(self, _, number):
        osd = self.osds[number]
        at = f"/dev/{'old' if osd['fsid'] in self.blind else osd['at']}{number}"
        told = {"bluefs_dedicated_db": "1", "bluefs_dedicated_wal": "0", "bluefs_db_partition_path": at}
        return {"id": number, **told}

    def cluster_osds_metadata_bytes(self, _, ids):
        return {str(number): 3 * GIB for number in ids}

    def cluster_maintenance_hosts(self, _):
        return copy.deepcopy(self.maintained)

    def cluster_maintenance_begin(self, _, host):
        self.noout = host
        return [number for number, osd in self.osds.items() if osd["minion"] == host]

    def cluster_maintenance_end(self, _):
        self.noout = None
        return []

    def daemons_running(self, minion):
        return [f"osd.{number}" for number, osd in self.osds.items() if osd["running"] and osd["minion"] == minion]

    def look(self, opts, asker=None):
        told = copy.deepcopy(WHOLE)
        told["osd_dump"]["osds"] = [
            {"osd": number, "uuid": osd["fsid"], "up": int(osd["running"]), "in": 1, "state": ["exists", "up"],
             "up_from": osd["from"]}
            for number, osd in self.osds.items()
        ]  # fmt: skip
        return seen.read(told)

    def left(self):
        return self.noout, [{key: osd[key] for key in MOVED} for osd in self.osds.values()]

    def done(self):
        """Whether every OSD runs on its new slot, and nothing else is left."""
        return self.left() == (None, [MOVED] * len(self.osds))


@pytest.fixture(scope="module")
def master(salt_factories):
    """A master whose minions are played."""
    return salt_factories.salt_master_daemon("migration", factory_class=Master)


@pytest.fixture
def cluster(monkeypatch):
    made = Cluster()
    made.play(monkeypatch, health, waiting)
    monkeypatch.setattr(minions, "members", lambda opts: {"master": ["salt"], "storage": ["node1", "node2"]})
    hosts = {"hosts": {name: {"hostname": name} for name in ("node1", "node2")}}
    monkeypatch.setattr(kept, "load_inventory", lambda path: hosts)
    monkeypatch.setattr(health, "look", made.look)
    return made


@pytest.mark.slow
def test_every_osd_moves_one_after_the_other_and_a_second_run_does_nothing(runners, cluster):
    done = runners["osd.migrate"]()
    assert done.get("retcode", 0) == 0 and cluster.done()
    assert (
        "osd.0 of node1: db from the data disk to /dev/new, 4 GiB" in done["text"] and "freed partition" in done["text"]
    )
    assert list(done["changes"]) == ["osd.0", "osd.1", "osd.2"]
    verbs = [function.partition(".")[2] for _, function in cluster.log]
    assert verbs == ["end", *["prepare", "end", "begin", "together", "end", "free"] * 3]
    cluster.log.clear()
    assert "nothing changed" in runners["osd.migrate"]()["text"] and cluster.log == []


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_killed_at_any_moment_the_same_command_goes_on(runners, cluster, before):
    end_at_each_change(cluster, before, runners["osd.migrate"], least=19)
    assert cluster.done()


@pytest.mark.slow
def test_what_the_job_of_a_killed_run_moves_meanwhile_is_not_waited_for_again(runners, cluster):
    cluster.late = {"fsid-0"}
    done = runners["osd.migrate"]()
    assert done.get("retcode", 0) == 0 and cluster.done() and cluster.osds[0]["from"] == 6, done


@pytest.mark.parametrize(("allowed", "largest"), [(9, 2), (1, 1)])
def test_several_of_one_host_move_at_once_as_far_as_ceph_lets_them(runners, cluster, allowed, largest):
    cluster.allowed = allowed
    done = runners["osd.migrate"](at_once=4)
    assert done.get("retcode", 0) == 0 and cluster.done() and list(done["changes"]) == ["osd.0", "osd.1", "osd.2"]
    assert cluster.largest == largest


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_several_at_once_killed_at_any_moment_go_on_with_the_same_command(runners, cluster, before):
    end_at_each_change(cluster, before, lambda: runners["osd.migrate"](at_once=2))
    assert cluster.done()


@pytest.mark.parametrize("typed", [0, 9, True, "2"])
def test_how_many_at_once_is_bounded(runners, cluster, typed):
    assert runners["osd.migrate"](at_once=typed)["retcode"] == 2 and cluster.log == []


@pytest.mark.slow
@pytest.mark.parametrize("moving", ["db", None])
def test_an_osd_whose_host_died_in_the_middle_is_brought_back_first(runners, cluster, moving):
    """Between two places or just moved: it is down, by us; another OSD is not touched before it is back."""
    cluster.osds[1] |= {"running": False, "moving": moving, "mark": True, "new": True}
    cluster.osds[1] |= {} if moving else {"at": "new"}
    cluster.osds[0] |= {"at": "new", "new": True, "old": False}
    done = runners["osd.migrate"]()
    assert done.get("retcode", 0) == 0 and cluster.done()
    assert cluster.asked == {"fsid-2"}  # of one that is down Ceph is not asked for leave


@pytest.mark.slow
def test_one_that_came_up_since_it_was_found_stops_by_cephs_leave_too(runners, cluster):
    """Its host was booting: when its turn comes it runs."""
    cluster.osds[0] |= {"running": False, "mark": True, "new": True}
    cluster.refused = {0: "Error EBUSY: unsafe to stop osd(s)"}
    inspect = cluster.osd_migrate_inspect

    def comes_up(minion):
        told = inspect(minion)
        cluster.osds[0]["running"] = True
        return told

    cluster.osd_migrate_inspect = comes_up
    done = runners["osd.migrate"](0)
    assert done["retcode"] == 1 and "osd.0 of node1: it cannot be stopped now: Error EBUSY" in done["error"]
    assert cluster.osds[0]["at"] == "old" and cluster.osds[0]["running"]


def test_an_osd_that_is_down_for_another_reason_is_left_alone(runners, cluster):
    cluster.osds[0]["running"] = False
    done = runners["osd.migrate"]()
    assert done["retcode"] == 1 and "osd.0 of node1: it does not run, and osd.migrate did not stop it" in done["error"]
    assert {function.partition(".")[2] for _, function in cluster.log} == {"end"}


@pytest.mark.parametrize("begun", [False, True])
def test_a_host_in_maintenance_is_left_alone_and_holds_back_no_other(runners, cluster, begun):
    """It ended there and said to start the OSD; one that was begun it started itself, where somebody works on it."""
    record = {"minion": "node1", "state": "down", "since": "today", "user": "ann", "units": {}, "daemons": ["osd.0"]}
    cluster.maintained = {"node1": record}
    for number in (0, 1):
        cluster.osds[number] |= {"running": False, "mark": begun}
    done = runners["osd.migrate"]()
    assert done["retcode"] == 1 and "'salt-run maintenance.end node1' first" in done["error"]
    assert "start it first" not in done["error"] and "osd.2 of node2: db from" in done["error"]
    assert [cluster.osds[number]["at"] for number in range(3)] == ["old", "old", "new"]
    assert not cluster.osds[0]["running"]


def test_the_dry_run_tells_bytes_and_risk_and_changes_nothing(runners, cluster):
    before = copy.deepcopy(cluster.osds)
    cluster.refused = {2: "Error EBUSY: unsafe to stop osd(s)"}
    text = runners["osd.migrate"](test=True)["text"]
    assert "osd.0 of node1: db from the data disk to /dev/new, 4 GiB; about 3 GiB are copied" in text
    assert "Ceph lets osd.0 stop now; what lies on it has one copy less until it is back" in text
    assert "Ceph does not let osd.2 stop now: Error EBUSY" in text
    assert cluster.osds == before and cluster.log == []


def test_only_those_that_are_named(runners, cluster):
    assert runners["osd.migrate"](1)["changes"].keys() == {"osd.1"}
    assert [osd["at"] for osd in cluster.osds.values()] == ["old", "new", "old"]
    done = runners["osd.migrate"](1)
    assert done["retcode"] == 2 and "osd.1 has nothing to move: 'salt-run proposal.populate" in done["error"]
    done = runners["osd.migrate"](99, 1)
    assert done["retcode"] == 2 and "the cluster has no osd.99: see 'ceph osd tree'" in done["error"]
    assert "osd.1 has nothing to move" in done["error"]


@pytest.mark.parametrize("typed", [("osd.1",), (True,), (1.5,)])
def test_what_is_no_number_is_refused(runners, cluster, typed):
    assert runners["osd.migrate"](*typed)["retcode"] == 2 and cluster.log == []
    assert runners["osd.migrate"](1, test="yes")["retcode"] == 2 and cluster.log == []


@pytest.mark.slow
def test_the_copy_of_a_run_that_was_killed_keeps_its_noout(runners, cluster):
    """Its job goes on on the host, for hours: the OSD is stopped, and would be marked out."""
    cluster.osds[0] |= {"new": True, "running": False, "moving": "db", "mark": True}
    cluster.noout = "node1"
    job = {"jid": "9", "fun": "osd_migrate.together", "arg": [["fsid-0"], ["fsid-0"]]}
    cluster.saltutil_running = lambda minion: [job] if minion == "node1" else []
    done = runners["osd.migrate"](1)
    assert done["retcode"] == 1 and "wait until it has copied, then run this again" in done["error"], done
    assert cluster.noout == "node1" and cluster.log == [] and cluster.seconds >= migration.COPY


def test_the_copy_of_a_run_that_was_killed_is_waited_for(runners, cluster, capsys):
    cluster.osds[0] |= {"new": True, "running": False, "moving": "db", "mark": True}
    cluster.noout = "node1"
    job = {"jid": "9", "fun": "osd_migrate.together", "arg": [["fsid-0"], ["fsid-0"]]}

    def running(minion):
        if cluster.seconds < 100:
            assert cluster.log == [], "nothing is begun beside it"
            return [job] if minion == "node1" else []
        return []

    cluster.saltutil_running = running
    assert runners["osd.migrate"]().get("retcode", 0) == 0
    assert cluster.seconds >= 100 and cluster.done()
    assert "waits for node1 (osd_migrate.together" in capsys.readouterr().out


def test_noout_stays_where_a_host_that_copies_falls_silent(runners, cluster):
    def silent(minion, fsids, may_stop):
        cluster.osds[0] |= {"running": False, "moving": "db", "mark": True}
        raise ProposalError(f"{minion}: does not answer")

    cluster.osd_migrate_together = silent
    assert "noout stays set for node1 (osd.0 down)" in runners["osd.migrate"](0)["error"]
    assert cluster.noout == "node1"


@pytest.mark.slow
def test_without_cephs_leave_nothing_stops(runners, cluster):
    cluster.refused = {1: "Error EBUSY: unsafe to stop osd(s)"}
    done = runners["osd.migrate"]()
    assert done["retcode"] == 1 and "osd.1 of node1: it cannot be stopped now: Error EBUSY" in done["error"]
    assert "osd.0 of node1: db from" in done["error"] and list(done["changes"]) == ["osd.0"]
    assert [osd["at"] for osd in cluster.osds.values()] == ["new", "old", "old"] and cluster.noout is None
    cluster.refused = {}
    assert runners["osd.migrate"]().get("retcode", 0) == 0 and cluster.done()


def test_a_stage_that_began_meanwhile_is_not_worked_beside(runners, cluster, monkeypatch):
    holders = iter([None, None])
    monkeypatch.setattr(stage_lock, "holder", lambda opts: next(holders, {"stage": "deploy"}))
    done = runners["osd.migrate"]()
    assert done["retcode"] == 1 and "stage deploy is running" in done["error"] and list(done["changes"]) == ["osd.0"]
    assert [osd["at"] for osd in cluster.osds.values()] == ["new", "old", "old"]


def test_a_second_one_takes_no_noout_away(runners, cluster, master):
    cluster.noout = "node1"
    with another_stops_daemons(master.opts()):
        done = runners["osd.migrate"]()
    assert done["retcode"] == 1 and BUSY in done["error"]
    assert (cluster.noout, cluster.log) == ("node1", [])


def test_one_that_an_older_version_began_is_not_worked_beside(runners, cluster, master):
    """It holds a lock of its own name, as it has loaded its code before the update, and writes nothing into it."""
    cluster.noout = "node1"
    path = Path(master.opts()["cachedir"]) / "halocline/osd.migrate.lock"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = runners["osd.migrate"]()
    assert done["retcode"] == 1 and BUSY in done["error"]
    assert (cluster.noout, cluster.log) == ("node1", [])


def test_a_copy_that_fails_stops_there_with_noout_taken_back(runners, cluster):
    cluster.fails = {"fsid-0": "osd.0 runs where it lay, its db was not moved: fsck failed"}
    done = runners["osd.migrate"]()
    assert (
        done["retcode"] == 1 and "osd.0 runs where it lay" in done["error"] and "same command goes on" in done["error"]
    )
    assert {osd["at"] for osd in cluster.osds.values()} == {"old"} and cluster.noout is None
    assert runners["osd.migrate"]().get("retcode", 0) == 0 and cluster.done()


def test_no_slot_is_freed_before_the_cluster_has_seen_its_osd_on_the_new_one(runners, cluster):
    cluster.blind = {"fsid-0"}
    done = runners["osd.migrate"]()
    assert done["retcode"] == 1 and "the cluster says its db is /dev/old0, the host /dev/new0" in done["error"]
    assert cluster.osds[0]["old"] and "osd_migrate.free" not in [function for _, function in cluster.log]
    cluster.blind = set()
    assert runners["osd.migrate"]().get("retcode", 0) == 0 and cluster.done()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ({"made": False, "refused": "it is not made"}, "node1: OSD fsid-0 is not moved: it is not made"),
        ({"refused": "it is encrypted"}, "node1: osd.0 is not moved: it is encrypted"),
    ],
)
def test_what_its_host_refuses_and_a_silent_host_are_named(runners, cluster, what, words):
    cluster.osds[0] |= what
    done = runners["osd.migrate"]()
    assert done["retcode"] == 1 and words in done["error"]
    assert [osd["at"] for osd in cluster.osds.values()] == ["old", "new", "new"]
    cluster.silent = {"node2"}
    cluster.osds = {0: cluster.osds[0]}
    assert "node2" in runners["osd.migrate"]()["error"]
