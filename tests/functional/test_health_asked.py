"""Runners that ask how the cluster is: a cluster that is played, Salt's own runner loader, no second is waited."""

import copy
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from played import BUSY, another_stops_daemons
from saltmaster import Master

from proposals.cluster.health.findings import REPORTED, Plan
from proposals.cluster.maintained import Record
from proposals.inventory import kept
from proposals.stages import replies
from proposals.text.errors import ProposalError
from runners.engine import waiting
from runners.engine.asking import jobs, minions, planned
from runners.engine.cluster import health, spared
from runners.engine.looks import early, stage_look
from runners.engine.runs import stage_lock

WHOLE = json.loads((Path(__file__).parent.parent / "fixtures/health/whole.json").read_text())
NODES = ("node1", "node2", "node3")
OSDS = {osd["uuid"]: NODES[osd["osd"] // 2] for osd in WHOLE["osd_dump"]["osds"]}
DAEMONS = {f"{kind}.{node}": node for kind in ("mon", "mgr") for node in NODES}
WAITING = {node: {f"osd.{osd['osd']}": {} for osd in WHOLE["osd_dump"]["osds"] if OSDS[osd["uuid"]] == node}
           for node in NODES}  # fmt: skip


class Cluster:
    """What minions answer: the cluster of whole.json, in which a test may break something, now or later."""

    def __init__(self):
        self.now, self.seconds, self.later = copy.deepcopy(WHOLE), 0.0, []
        self.refused, self.asked, self.waiting, self.dead = {}, [], copy.deepcopy(WAITING), set()
        self.flagged = []  # hosts with noout
        self.deleting = []  # the option by which an interrupted pool.delete left pools deletable
        self.beside = []  # OSDs that Ceph lets stop beside others
        self.gone = {}  # by minion: why a disk of an OSD is not there, by fsid
        for osd in self.now["osd_dump"]["osds"]:
            osd["up_from"] = 10

    def osd(self, number, **change):
        self.now["osd_dump"]["osds"][number].update(change)

    def groups(self, **states):
        self.now["status"]["pgmap"]["pgs_by_state"] = [
            {"state_name": state.replace("__", "+"), "count": count} for state, count in states.items()
        ]

    def sleep(self, seconds):
        self.seconds += seconds
        for due in [one for one in self.later if one[0] <= self.seconds]:
            self.later.remove(due)
            due[1]()

    def one(self, opts, minion, function, arguments=(), kind=None, timeout=0):
        self.asked.append((minion, function, *map(str, arguments)))
        answer = getattr(self, function.replace(".", "_"))(minion, *arguments)
        if isinstance(answer, ProposalError):
            raise answer
        return answer

    def cluster_health_inspect(self, _):
        return copy.deepcopy(self.now)

    def cluster_health_stoppable(self, _, kind, ids):
        return next((ProposalError(why) for one, why in self.refused.items() if one in ids), {"ok": ids})

    def cluster_health_together(self, _, ids, most):
        self.most = most
        return [] if any(one in ids for one in self.refused) else [*ids, *self.beside]

    def cluster_maintenance_needed(self, _, host):
        return [self.refused[host]] if host in self.refused else []

    def cluster_maintenance_hosts(self, _):
        return {}

    def cluster_maintenance_begin(self, _, host):
        self.flagged.append(host)
        return [osd["osd"] for osd in self.now["osd_dump"]["osds"] if OSDS.get(osd["uuid"]) == host]

    def cluster_maintenance_end(self, _):
        self.flagged = []
        return []

    def cluster_maintenance_drained(self, _):
        return []

    def daemons_restart_own(self, minion, names):
        return self.daemons_restart(minion, names[minion])

    def daemons_restart(self, minion, names):
        for name in set(names) - self.dead:
            self.osd(int(name[4:]), up_from=20)
        self.waiting.pop(minion)
        return {"restarted": names}

    def daemons_running(self, minion):
        return set(WAITING[minion]) - self.dead

    def daemons_pending(self, minion):
        return dict(self.waiting.get(minion, {}))

    def daemons_settings(self, minion):
        return {name: {"differs": {"a": [1, 2]}, "told": {}, "answers": True} for name in self.waiting.get(minion, {})}

    def daemons_stopped(self, _):
        return []

    def osd_absent(self, minion):
        return self.gone.get(minion, {})

    def cluster_osds_states(self, _):
        osds = self.now["osd_dump"]["osds"]
        return [{"id": osd["osd"], "fsid": osd["uuid"], "host": OSDS.get(osd["uuid"]), "up": bool(osd["up"])}
                | {"state": "in-use", "new": "new" in osd["state"], "in": True, "weight": 1.0}
                for osd in osds]  # fmt: skip

    def cluster_mons_monitors(self, _):
        return {"names": list(NODES), "quorum": self.now["status"]["quorum_names"]}

    def mon_exists(self, _):
        return True

    def cluster_cli_together(self, minion, functions, asker="salt"):
        return {name: self.one({}, minion, name, words) for name, words in functions.items() if minion == asker}

    def cluster_crush_inspect(self, _):
        return {}

    def cluster_crush_held(self, _):
        return ""

    def cluster_fill_inspect(self, _, sizes):
        return {"begun": None, "removal": None, "sizes": {}}

    def cluster_maintenance_noted(self, _):
        return self.flagged

    def cluster_pools_allowed(self, _):
        return bool(self.deleting)

    def cluster_pools_forbid(self, _):
        was, self.deleting = self.deleting, []
        return was

    def host_states_differing(self, *_):
        return []

    def cluster_config_startup(self, _):
        return []

    def disks_smart_inspect(self, _):
        return {}

    def restarted(self):
        return [minion for minion, function, *_ in self.asked if function == "daemons.restart"]

    def several(self, opts, asked, questions, timeout=0):
        answers = {minion: {one.function: self.one(opts, minion, one.function, one.arguments) for one in questions}
                   for minion in asked}  # fmt: skip
        return replies.Replies(answers, [])

    def apart(self, opts, asked, questions, timeout=0):
        said = {one.function: replies.Replies({}, []) for one in questions}
        for minion in sorted(asked):
            for one in questions:
                try:
                    said[one.function].answers[minion] = self.one(opts, minion, one.function, one.arguments)
                except ProposalError as err:
                    said[one.function].problems.append(replies.Problem(minion, str(err)))
        return said


@pytest.fixture
def cluster(monkeypatch):
    made = Cluster()
    clock = SimpleNamespace(sleep=made.sleep, monotonic=lambda: made.seconds)
    monkeypatch.setattr(health, "time", clock)
    monkeypatch.setattr(health, "plan", lambda opts, gone=(): Plan(OSDS, DAEMONS, (), gone))
    monkeypatch.setattr(jobs, "one", made.one)
    monkeypatch.setattr(jobs, "cluster", lambda opts, *words, **named: made.one(opts, "salt", *words, **named))
    monkeypatch.setattr(jobs, "ask_several", made.several)
    monkeypatch.setattr(jobs, "ask_apart", made.apart)
    members = {"all": NODES, "master": ["salt"], "mon": NODES, "mgr": NODES, "storage": NODES}
    monkeypatch.setattr(minions, "members", lambda opts: members)
    notes = {}
    monkeypatch.setattr(stage_lock, "keep", lambda opts, key, value: notes.update({key: json.loads(json.dumps(value))}))
    monkeypatch.setattr(stage_lock, "kept", lambda opts, key: notes.get(key))
    return made


@pytest.fixture(scope="module")
def runners(salt_factories):
    return salt_factories.salt_master_daemon("health", factory_class=Master).runners()


DOWN = {"up": 0, "state": ["exists"]}
NO = "Error EBUSY: unsafe to stop osd(s) at this time (3 PGs are or would become offline)"


@pytest.mark.slow
def test_a_host_without_cephs_leave_is_named_and_the_others_are_restarted(runners, cluster):
    cluster.refused["2"] = NO
    done = runners["daemon.restart"]()
    assert done["retcode"] == 2 and f"node2: not restarted osd.2, osd.3: {NO}" in done["error"]
    assert done["changes"] == {"node1": ["osd.0", "osd.1"], "node3": ["osd.4", "osd.5"]}
    assert cluster.restarted() == ["node1", "node3"]
    assert 120 <= cluster.seconds < 200
    assert runners["daemon.restart"]()["retcode"] == 2  # and the next run has node2 alone
    del cluster.refused["2"]
    assert runners["daemon.restart"]()["changes"] == {"node2": ["osd.2", "osd.3"]}
    told = runners["history.show"]()["text"].splitlines()[-3:]
    assert [line.rpartition("  ")[2] for line in told] == [f"daemon.restart hosts={n}: restarts" for n in (3, 1, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("who", ["no monitor answered", "no monitor answered, or no manager"])
def test_a_cluster_that_does_not_answer_is_waited_for_once_and_nothing_else_is_touched(runners, cluster, who):
    """Not 120 s and more for each host."""
    hangs = f"'ceph osd ok-to-stop' on salt: did not end within 60 s; {who}: look at 'ceph -s'"
    cluster.refused = dict.fromkeys("2345", hangs)
    done = runners["daemon.restart"]()
    assert done["retcode"] == 2 and done["changes"] == {"node1": ["osd.0", "osd.1"]}
    assert f"node2: not restarted osd.2, osd.3: {hangs}" in done["error"] and "node3: " not in done["error"]
    assert 120 <= cluster.seconds < 200


@pytest.mark.slow
def test_osds_are_restarted_as_many_hosts_at_once_as_ceph_allows(runners, cluster):
    """After the first host alone; a host some of whose OSDs are not allowed waits for its own turn."""
    cluster.beside = ["4", "5"]
    assert "retcode" not in runners["daemon.restart"]()
    leave = [ids for _, function, kind, ids in (one for one in cluster.asked if "stoppable" in one[1])]
    assert leave == ["['0', '1']", "['2', '3', '4', '5']"] and cluster.most == 4
    began = [words for _, function, *words in cluster.asked if function.startswith("daemons.restart")]
    assert began == [["['osd.0', 'osd.1']"], *[["{'node2': ['osd.2', 'osd.3'], 'node3': ['osd.4', 'osd.5']}"]] * 2]
    cluster.waiting, cluster.asked, cluster.beside = copy.deepcopy(WAITING), [], ["4"]
    for osd in cluster.now["osd_dump"]["osds"]:
        osd["up_from"] = 10
    assert "retcode" not in runners["daemon.restart"]()
    leave = [ids for _, function, kind, ids in (one for one in cluster.asked if "stoppable" in one[1])]
    assert leave == ["['0', '1']", "['2', '3']", "['4', '5']"]


@pytest.mark.slow
def test_no_two_hosts_go_at_once_before_one_has_gone_alone(runners, cluster):
    """The first one has not Ceph's leave: nobody has seen yet that OSDs come up with what they read now."""
    cluster.refused["0"], cluster.beside, cluster.dead = NO, ["4", "5"], {"osd.2"}
    error = runners["daemon.restart"]()["error"]
    assert "node1: not restarted" in error and "osd.2: has not come up again" in error
    assert cluster.restarted() == ["node2"]


@pytest.mark.parametrize("boot", [3, 20])
@pytest.mark.parametrize("moves", [False, True])
def test_leave_is_asked_for_when_the_groups_of_the_last_host_are_reported(runners, cluster, boot, moves):
    """Until then ok-to-stop knows nothing of what its OSDs lack, however long they took to come up."""
    inspect, allowed, came, asked = cluster.cluster_health_inspect, cluster.cluster_health_stoppable, [], []

    def booted(names):
        came.append(cluster.seconds)
        for name in names:
            cluster.osd(int(name[4:]), up_from=20)

    def seen(_):
        cluster.now["osd_dump"]["changed"] = cluster.seconds - came[-1] if came else None
        return inspect(_)

    def stoppable(*words):
        asked.append(cluster.seconds)
        return allowed(*words)

    def restart(minion, names):
        cluster.waiting.pop(minion)
        cluster.later.append((cluster.seconds + boot, lambda: booted(names)))

    if moves:  # as after any restart of an OSD that is written to
        cluster.groups(active__clean=30, active__recovering__degraded=3)
    cluster.cluster_health_inspect, cluster.cluster_health_stoppable = seen, stoppable
    cluster.daemons_restart = restart
    assert "retcode" not in runners["daemon.restart"]() and len(came) == len(NODES)
    waited = [begins - up for up, begins in zip(came[:-1], asked[1:], strict=True)]
    assert all(REPORTED <= seconds <= REPORTED + 2 for seconds in waited)
    assert cluster.seconds < 3 * (boot + 10)


def test_a_flag_of_somebodys_is_not_waited_for(runners, cluster):
    """No data that moves takes it away: each of a thousand hosts would be waited for, and as long as data moves."""
    cluster.refused["2"] = "the flag nodown is set: clients wait for it: 'ceph osd unset nodown' first"
    cluster.groups(active__clean=30, active__remapped__backfilling=3)
    for minute in range(20):
        move = {"misplaced_objects": 2000 - 100 * minute, "misplaced_total": 15000}
        cluster.later.append((60 * minute, lambda move=move: cluster.now["status"]["pgmap"].update(move)))
    done = runners["daemon.restart"]()
    assert done["retcode"] == 2 and f"node2: not restarted osd.2, osd.3: {cluster.refused['2']}" in done["error"]
    assert cluster.restarted() == ["node1", "node3"] and cluster.seconds < 60


@pytest.mark.slow
def test_leave_is_waited_for_as_long_as_data_moves(runners, cluster):
    cluster.refused["2"] = NO
    for minute in range(20):
        move = {"misplaced_objects": 2000 - 100 * minute, "misplaced_total": 15000}
        cluster.later.append((60 * minute, lambda move=move: cluster.now["status"]["pgmap"].update(move)))
    cluster.groups(active__clean=30, active__remapped__backfilling=3)
    cluster.later.append((1190, cluster.refused.clear))
    assert cluster.restarted() == [] and "retcode" not in runners["daemon.restart"]()
    assert cluster.restarted() == list(NODES) and cluster.seconds > 1000


@pytest.mark.parametrize("what", ["scrub", "noout", "crash"])
def test_what_disturbs_nobody_holds_no_restart_back(runners, cluster, what):
    check = {"severity": "HEALTH_WARN", "summary": {"message": what, "count": 1}, "muted": False}
    if what == "scrub":
        cluster.groups(active__clean=31, active__clean__scrubbing__deep=2)
    else:
        cluster.now["status"]["health"]["checks"] = {{"noout": "OSDMAP_FLAGS", "crash": "RECENT_CRASH"}[what]: check}
    done = runners["daemon.restart"]()
    assert "retcode" not in done
    assert (cluster.restarted(), cluster.seconds) == (list(NODES), 0)
    (warned,) = done["findings"]  # and it is said
    says = {"scrub": "placement groups are scrubbed", "noout": "OSDMAP_FLAGS: noout", "crash": "RECENT_CRASH: crash"}
    assert warned["severity"] == "warning" and warned["message"].startswith(says[what])
    assert warned["message"] in done["text"]


def test_an_osd_that_was_down_before_is_no_obstacle_of_its_own(runners, cluster):
    cluster.osd(5, **DOWN)
    del cluster.waiting["node3"]["osd.5"]
    assert "retcode" not in runners["daemon.restart"]() and cluster.restarted() == list(NODES)


def test_a_host_in_maintenance_holds_no_restart_by_hand_back(runners, cluster):
    """It may be off; a stage leaves it out too."""
    record = Record("node3", "down", "2026-01-02T03:04:05", "root", {}, ("osd.4", "osd.5"))
    cluster.cluster_maintenance_hosts = lambda _: {"node3": record.as_dict()}
    settings = cluster.daemons_settings
    off = ProposalError("did not answer")
    cluster.daemons_settings = lambda minion: off if minion == "node3" else settings(minion)
    for number in (4, 5):
        cluster.osd(number, **DOWN)
    says = "node3: in maintenance since 2026-01-02T03:04:05: left out"
    for told in (runners["daemon.pending"](), runners["daemon.restart"](test=True), runners["daemon.restart"]()):
        assert "retcode" not in told and says in told["text"].splitlines(), told
    assert cluster.restarted() == ["node1", "node2"]
    assert runners["daemon.restart"]()["text"].splitlines() == [says, "no daemon waits for a restart: nothing changed"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "why"), [("osd.1", "osd.1: has not come up again"), ("osd.0", "osd.0: does not run")])
def test_daemons_that_do_not_come_back_end_it(runners, cluster, name, why):
    cluster.dead.add(name)
    if "run" in why.split()[-1]:  # up again in the map, and ended since
        cluster.daemons_restart = lambda minion, names: [cluster.osd(int(one[4:]), up_from=20) for one in names]
    done = runners["daemon.restart"]()
    assert done["retcode"] == 2 and why in done["error"] and done["changes"] == {}
    assert cluster.restarted() == ["node1"] and cluster.seconds >= 300


@pytest.mark.slow
def test_groups_that_nobody_serves_since_a_restart_end_it(runners, cluster):
    restart = cluster.daemons_restart
    cluster.daemons_restart = lambda *words: (cluster.groups(active__clean=30, down=3), restart(*words))[1]
    done = runners["daemon.restart"]()
    assert "3 placement groups are not served: 3 down" in done["error"] and cluster.restarted() == ["node1"]


SILENCE = ProposalError("no monitor answered")


def networks(cluster, after, daemons=True):
    """The cluster's hosts with other links than planned; ``after`` is what happens when one has changed its own;
    ``daemons``: whether monitors or OSDs run on them.
    """
    differ = dict.fromkeys(NODES, {"eth0": "mtu 1500 to 9000"})

    def applied(minion, *_):
        differ[minion] = {}
        after(minion)
        return {}

    cluster.links_report = lambda minion: {
        "host": minion, "daemons": daemons, "problems": [], "changes": differ[minion], "undone": None
    }  # fmt: skip
    cluster.state_apply = applied
    return lambda: [minion for minion in NODES if not differ[minion]]


@pytest.mark.slow
def test_links_stop_after_the_host_that_made_the_cluster_worse(runners, cluster):
    changed = networks(cluster, lambda minion: cluster.osd(5, **DOWN))
    done = runners["links.deploy"](list(NODES))
    assert done["retcode"] == 2 and "stopped after node1, the cluster is worse" in done["error"]
    assert changed() == ["node1"]


@pytest.mark.slow
def test_links_are_changed_with_noout_and_by_cephs_leave(runners, cluster):
    flags = []
    changed = networks(cluster, lambda minion: flags.append((minion, list(cluster.flagged))))
    cluster.refused["node2"] = NO
    done = runners["links.deploy"](list(NODES))
    assert done["retcode"] == 2 and changed() == ["node1"] and cluster.flagged == []
    assert f"node2: its links are left as they are, the cluster cannot do without it now: {NO}" in done["error"]
    cluster.refused.clear()
    assert "retcode" not in runners["links.deploy"](list(NODES)) and changed() == list(NODES)
    assert flags == [(node, [node]) for node in NODES] and cluster.flagged == []


@pytest.mark.parametrize(("silent", "groups"), [(False, [[node] for node in NODES]), (True, [list(NODES)])])
def test_links_of_gateways_alone_are_changed_host_by_host_too(runners, cluster, monkeypatch, silent, groups):
    """No monitor and no OSD runs on hosts that change: whether a cluster runs is the cluster's to say."""
    asked, ask = [], jobs.ask

    def listened(opts, hosts, function, *words, **more):
        asked.extend([list(hosts)] * (function == "state.apply"))
        return ask(opts, hosts, function, *words, **more)

    monkeypatch.setattr(jobs, "ask", listened)
    changed = networks(cluster, lambda minion: None, daemons=False)
    if silent:
        cluster.cluster_health_inspect = lambda _: SILENCE
    assert "retcode" not in runners["links.deploy"](list(NODES)) and changed() == list(NODES)
    assert asked == groups


def test_noout_of_one_host_goes_where_that_of_the_next_cannot_be_set(cluster):
    begin = cluster.cluster_maintenance_begin
    cluster.cluster_maintenance_begin = lambda *words: SILENCE if words[1] == "node2" else begin(*words)
    with pytest.raises(ProposalError, match="no monitor answered"), spared.noout({}, NODES, "salt"):
        pytest.fail("something is done to hosts without noout")
    assert cluster.flagged == []


def test_noout_is_taken_away_where_the_links_of_a_host_fail(runners, cluster):
    def failing(minion):
        raise ProposalError("the minion does not answer")

    networks(cluster, failing)
    assert runners["links.deploy"](list(NODES))["retcode"] == 2 and cluster.flagged == []


@pytest.mark.parametrize("ends", ["confirmed", "rolled back", "not at all"])
def test_the_next_host_waits_until_the_links_of_one_stay(runners, cluster, monkeypatch, ends):
    """A minion was killed after it had made its links, and starts anew: they are as planned, until its timer ends."""
    monkeypatch.setattr(waiting, "time", SimpleNamespace(monotonic=lambda: cluster.seconds, sleep=cluster.sleep))
    changed = networks(cluster, lambda minion: None)
    report, asked = cluster.links_report, []

    def told(minion):
        asked.append((minion, changed()))
        looks = sum("node1" in now for _, now in asked)  # since node1 has its new links
        if "node1" not in changed() or (looks > 3 and ends == "confirmed"):
            return {**report(minion), "pending": False}
        if minion != "node1":
            return report(minion)
        if looks > 3 and ends == "rolled back":
            return {**report(minion), "pending": False, "changes": {"eth0": "mtu"}, "undone": "not confirmed"}
        return {**report(minion), "pending": True, "changes": {"the last change": "is not confirmed"}}

    cluster.links_report = told
    done = runners["links.deploy"](list(NODES))
    if ends == "confirmed":
        assert "retcode" not in done and changed() == list(NODES)
    else:
        assert done["retcode"] == 2 and changed() == ["node1"] and "not confirmed" in done["error"], done
    assert sum("node1" in now and "node2" not in now for _, now in asked) > 3


@pytest.mark.parametrize(
    ("said", "since", "told"),
    [
        ("4505 does not answer: nothing was changed", None, "its links are not as planned: links: 4505 does"),
        ("rolled back", "2026-02-01: p1: LACP", "the new links failed and were rolled back: 2026-02-01: p1: LACP"),
    ],
)
def test_a_rollback_of_an_earlier_change_is_no_reason(runners, cluster, said, since, told):
    """A host keeps why it rolled back until a change is confirmed; the next one may not even have begun."""
    networks(cluster, lambda minion: None)
    report, undone = cluster.links_report, ["2026-01-01: not confirmed within 60 s"]
    cluster.links_report = lambda minion: {**report(minion), "undone": undone[-1]}

    def applied(*_):
        undone.extend([since] if since else [])
        return {"links": {"result": False, "comment": said, "__id__": "links", "__run_num__": 0}}

    cluster.state_apply = applied
    done = runners["links.deploy"](list(NODES))
    assert done["retcode"] == 2 and f"node1: {told}" in done["error"] and "2026-01-01" not in done["error"]


def test_noout_stays_where_its_links_cut_a_host_off(runners, cluster):
    def cut_off(minion):
        cluster.osd(0, **DOWN)
        raise ProposalError("the minion does not answer")

    networks(cluster, cut_off)
    done = runners["links.deploy"](list(NODES))
    assert (
        done["retcode"] == 2 and "noout stays set for node1 (osd.0 down): the next run takes it away" in done["error"]
    )
    assert cluster.flagged == ["node1"]


def test_links_are_changed_on_all_hosts_of_a_cluster_that_they_cut_off(runners, cluster):
    """It did not answer before, and does not after the first host: the change may be what mends it."""
    cluster.cluster_health_inspect = lambda _: SILENCE
    changed = networks(cluster, lambda minion: None)
    assert "retcode" not in runners["links.deploy"](list(NODES)) and changed() == list(NODES)


@pytest.mark.parametrize("daemons", [True, False])
@pytest.mark.parametrize("first", [True, False], ids=["first", "next"])
def test_links_stay_where_nobody_can_ask_whether_the_cluster_needs_a_host(runners, cluster, daemons, first):
    """The minion of the master's host starts anew, or its memory is short: the cluster serves, and is not asked."""
    silent = ProposalError(f"salt {replies.SILENT}")

    def after(minion):
        cluster.cluster_health_inspect = lambda _: silent

    changed = networks(cluster, after, daemons)
    if first:
        after("salt")
    done = runners["links.deploy"](list(NODES))
    assert done["retcode"] == 2 and replies.SILENT in done["error"], done
    assert changed() == ([] if first else ["node1"]) and ("node1: eth0" in done["error"]) is not first


@pytest.mark.slow
def test_links_stop_where_the_cluster_answers_again_and_something_is_wrong(runners, cluster):
    answering, cluster.cluster_health_inspect = cluster.cluster_health_inspect, lambda _: SILENCE

    def after(minion):
        cluster.osd(5, **DOWN)
        cluster.cluster_health_inspect = answering

    changed = networks(cluster, after)
    done = runners["links.deploy"](list(NODES))
    assert done["retcode"] == 2 and "stopped after node1" in done["error"] and changed() == ["node1"]


def deploy(runners, cluster, then=lambda: None):
    """What deploy's two steps say around what it does."""
    cluster.mon_exists = lambda _: True
    before = runners["health.before"]()
    then()
    return before, runners["health.after"]()


def test_deploy_waits_for_what_it_made_and_tells_what_moves(runners, cluster):
    cluster.osd(5, up=0, state=["exists", "new"])
    cluster.later.append((40, lambda: cluster.osd(5, up=1, state=["exists", "up"])))
    cluster.later.append((40, lambda: cluster.groups(active__clean=20, active__remapped__backfilling=13)))
    _, after = deploy(runners, cluster)
    assert "retcode" not in after and 40 <= cluster.seconds < 90
    assert "moves  data moves: 13 active+remapped+backfilling" in after["text"]
    assert [one["severity"] for one in after["findings"]] == ["warning"]


def test_deploy_waits_until_osds_that_just_came_up_told_of_their_groups(runners, cluster):
    """Ceph's figures are older than the OSD map then: they say that no data moves, a moment before it does."""
    dump = cluster.now["osd_dump"]
    cluster.later.append((8, lambda: cluster.groups(active__clean=20, active__remapped__backfilling=13)))
    cluster.later.append((10, lambda: dump.update(changed=11)))
    _, after = deploy(runners, cluster, lambda: dump.update(changed=1))
    assert "moves  data moves: 13 active+remapped+backfilling" in after["text"]
    assert "a moment ago" not in after["text"]


@pytest.mark.slow
def test_what_was_down_before_is_a_warning_and_what_fell_out_since_an_error(runners, cluster):
    cluster.osd(3, **DOWN)
    before, after = deploy(runners, cluster)
    assert "wrong  osd.3 of node2: down" in before["text"]
    assert "retcode" not in after and "known  osd.3 of node2: down" in after["text"]
    _, after = deploy(runners, cluster, lambda: cluster.now.update(mgr=["node1"]))
    assert after["retcode"] == 1 and "wrong  mgr.node2, mgr.node3: does not run" in after["error"]
    assert "-> see 'journalctl -u ceph-mgr@*' on that host" in after["error"]


def test_noout_that_an_interrupted_run_had_set_is_taken_away_and_told(runners, cluster):
    """That run may have been a reboot, or a change of links that is done by now: no other step would come to it."""
    cluster.flagged, end = ["node2"], cluster.cluster_maintenance_end
    cluster.cluster_maintenance_end = lambda asker: [*cluster.flagged, *end(asker)]
    before, _ = deploy(runners, cluster)
    assert cluster.flagged == [] and before["changes"] == {"node2": "noout of an interrupted run is taken away"}
    before, _ = deploy(runners, cluster)
    assert before["changes"] == {} and "noout" not in before["text"]


def test_noout_of_a_command_that_runs_is_not_taken_away(runners, cluster):
    """A deploy that is begun while ``osd.migrate`` has OSDs stopped: they would be marked out, and rebuilt."""
    cluster.flagged = ["node2"]
    with another_stops_daemons(runners.opts):
        before, _ = deploy(runners, cluster)
        assert cluster.flagged == ["node2"] and before["changes"] == {}
    assert f"noout of an interrupted run is not taken away: {BUSY}" in before["text"]
    deploy(runners, cluster)
    assert cluster.flagged == []


def test_a_permission_to_delete_pools_that_was_left_is_taken_away_and_told(runners, cluster):
    cluster.deleting = ["mon_allow_pool_delete"]
    before, _ = deploy(runners, cluster)
    says = "the permission to delete pools of an interrupted run is taken away"
    assert cluster.deleting == [] and before["changes"] == {"mon_allow_pool_delete": says}
    assert f"mon_allow_pool_delete: {says}" in before["text"].splitlines()
    before, _ = deploy(runners, cluster)
    assert before["changes"] == {}


def test_noout_that_cannot_be_taken_away_hides_nothing_of_what_was_before(runners, cluster):
    """Its host may be gone: what was wrong before would be taken for this deploy's, in each that follows."""
    cluster.osd(3, **DOWN)
    cluster.cluster_maintenance_end = lambda asker: ProposalError("unable to parse crush node: node9")
    before, after = deploy(runners, cluster)
    assert "noout of an interrupted run is not taken away: unable to parse crush node: node9" in before["text"]
    assert "wrong  osd.3 of node2: down" in before["text"]
    assert "retcode" not in after and "known  osd.3 of node2: down" in after["text"]


@pytest.mark.slow
def test_a_new_cluster_has_no_excuse(runners, cluster, monkeypatch):
    monkeypatch.setattr(minions, "pillar", lambda _: {})
    check = {"severity": "HEALTH_WARN", "summary": {"message": "clocks", "count": 1}, "muted": False}
    cluster.mon_exists = lambda _: False
    assert runners["health.before"]()["text"] == "there is no cluster yet"
    cluster.mon_exists = lambda _: True  # the stage's checks have seen that there is none: nobody is asked again
    stage_lock.keep({}, health.MADE, False)
    assert runners["health.before"]()["text"] == "there is no cluster yet"
    assert runners["crush.place"]()["text"].startswith("no host has a place of its own")
    assert [function for _, function, *_ in cluster.asked] == ["mon.exists"] * len(NODES)
    cluster.now["status"]["health"]["checks"] = {"MON_CLOCK_SKEW": check}
    assert "wrong  MON_CLOCK_SKEW: clocks" in runners["health.after"]()["error"]


def test_a_cluster_that_does_not_answer_holds_back_no_deploy_and_is_an_error_at_its_end(runners, cluster):
    cluster.cluster_health_inspect = lambda _: ProposalError("no monitor answered")
    before, after = deploy(runners, cluster)
    assert before["text"] == "nothing is known of the cluster before: no monitor answered"
    assert after["retcode"] == 1 and "wrong  no monitor answered" in after["error"]


def test_where_the_cluster_does_not_answer_health_is_asked_for_once(runners, cluster):
    """30 s with monitors that hang, 315 with a minion that does."""
    cluster.cluster_health_inspect = cluster.cluster_maintenance_hosts = lambda _: ProposalError("no monitor answered")
    shown = runners["health.show"]()
    assert shown["retcode"] == 1 and "no monitor answered" in str(shown)
    assert [function for _, function, *_ in cluster.asked] == ["cluster_health.inspect"]


ROOM = {"osds": 6, "per_osd": 250, "used": 0, "size": 3, "free": 24 << 30, "host_free": {}}


@pytest.fixture
def tested(cluster):
    """The states of the quick test's placement groups; ``room`` beside, and what it ``wrote``."""
    made = SimpleNamespace(states={"active+clean": 64}, room=dict(ROOM), wrote=[], record={})
    cluster.cluster_benchmark_record = lambda _: made.record
    cluster.cluster_pool_benchmark_groups = lambda _: made.room
    cluster.cluster_pool_benchmark_make = lambda _, groups: groups == 64
    cluster.cluster_pool_benchmark_states = lambda _: dict(made.states)
    cluster.cluster_pool_benchmark_tidy = lambda _: True

    def run(_, *words):
        made.wrote.append(words)
        return {"write": {"bandwidth": 1}, "seq": {"bandwidth": 1}}

    cluster.cluster_pool_benchmark_run = run
    return made


def test_a_quick_test_waits_for_its_own_pool_and_takes_it_away(runners, cluster, tested):
    cluster.groups(active__clean=1, active__remapped__backfilling=500)  # others' business
    tested.states = {"peering": 64}
    cluster.later.append((5, lambda: setattr(tested, "states", {"active+clean": 64})))
    told = runners["pool.quick_test"](pg_num=64)["text"]
    assert "64 placement groups" in told and "the cluster was busy, which was measured too" in told
    assert cluster.seconds == 5 and tested.wrote == [(300, 1024)], "half of 24 GiB, three copies, of 4 MiB each"
    tested.states = {"active+clean": 60}  # four groups that nobody has heard of
    done = runners["pool.quick_test"](pg_num=64)
    assert done["retcode"] == 2 and "4 placement groups are not served: 4 unknown" in done["error"]
    assert [function for _, function, *_ in cluster.asked][-1] == "cluster_pool_benchmark.tidy"


@pytest.mark.parametrize(
    ("spoil", "typed", "says"),
    [
        (lambda cluster, tested: cluster.groups(active__clean=1, incomplete=3), {}, "the cluster is not sound: "),
        (
            lambda cluster, tested: tested.room.update(free=5 << 30),
            {},
            "no room: of 5 GiB that fit until the first OSD",
        ),
        (lambda cluster, tested: tested.room.update(used=1500), {}, "no pool fits: 6 OSDs are in"),
        (lambda cluster, tested: tested.room.pop("host_free"), {}, "run ceph.stage.prep"),
        (lambda cluster, tested: None, {"seconds": 86400}, "expected a whole number from 1 to 3600"),
        (
            lambda cluster, tested: tested.record.update(
                id="moc-1", pid=os.getpid(), born=stage_lock.born(os.getpid())
            ),
            {},
            "benchmark moc-1 is running",
        ),
    ],
)
def test_a_quick_test_that_would_hurt_is_refused_and_touches_no_pool(runners, cluster, tested, spoil, typed, says):
    spoil(cluster, tested)
    done = runners["pool.quick_test"](pg_num=64, **typed)
    assert done["retcode"] == 2 and says in done["error"]
    assert not {function.rpartition(".")[2] for _, function, *_ in cluster.asked} & {"make", "run", "tidy"}


def test_a_quick_test_beside_another_takes_its_pool_from_nobody(runners, cluster, tested, monkeypatch):
    def run(*_):
        done = runners["pool.quick_test"](pg_num=64)
        assert "pool.quick_test is running on this master" in done["error"]
        return {"write": {"bandwidth": 1}, "seq": {"bandwidth": 1}}

    cluster.cluster_pool_benchmark_run = run
    assert "64 placement groups" in runners["pool.quick_test"](pg_num=64)["text"]
    monkeypatch.setattr(stage_lock, "holder", lambda opts: {"stage": "deploy"})
    assert "stage deploy is running" in runners["pool.quick_test"](pg_num=64)["error"]
    assert [function for _, function, *_ in cluster.asked if function.endswith("tidy")] == [
        "cluster_pool_benchmark.tidy"
    ]


@pytest.fixture
def left(runners, cluster, monkeypatch):
    """A function: what a deploy's last step says; where nothing is left out, of a run for all hosts."""
    layouts = {
        node: {f"/dev/{fsid}": {"uuids": [fsid]} for fsid, host in OSDS.items() if host == node} for node in NODES
    }
    monkeypatch.setattr(planned, "osds", lambda paths: layouts)
    monkeypatch.setattr(kept, "load_inventory", lambda folder: {"hosts": {}})

    def said(**note):
        monkeypatch.setattr(stage_lock, "own", lambda opts: note)
        return runners["targets.left"](cluster=True)

    return said


def test_a_pulled_disk_is_a_warning_at_the_end_where_its_osd_was_made(runners, cluster, left):
    assert left() == {"text": "nothing was left out", "findings": [], "outputter": "answer"}
    fsid = next(iter(OSDS))
    cluster.gone["node1"] = {fsid: f"/dev/{fsid} is not on this host"}
    cluster.osd(0, **DOWN)
    assert runners["health.after"]().get("retcode", 0) == 0 and cluster.seconds < 60
    done = left()
    assert "retcode" not in done and [each["severity"] for each in done["findings"]] == ["warning"]
    assert f"node1: left out: osd.0: /dev/{fsid} is not on this host; plug it in, or let" in done["text"]
    cluster.osd(0, state=["exists", "new"])  # of an interrupted run: it never came up
    done = left()
    assert done["retcode"] == 1 and f"an OSD that is not made yet: /dev/{fsid} is not on this host" in done["error"]


def test_the_last_steps_of_a_stage_ask_once_and_the_next_stage_asks_again(runners, cluster, left):
    asked = {}
    for jid in ("1", "2"):
        cluster.asked.clear()
        left(jid=jid)  # a stage from here, whose last step does not rest on what another one saw
        alone = len(cluster.asked)
        done = [runners["daemon.pending"](), runners["disk.health"](warn=True), left(jid=jid)]
        asked[jid] = cluster.asked[alone:]
        assert [each.get("retcode", 0) for each in done] == [0, 0, 0] and alone > 0
        cluster.waiting = {}
    each = len(stage_look.HOSTS) + 1  # and one of all for the cluster
    assert asked["1"] == asked["2"]
    assert len(asked["1"]) == len(set(asked["1"])) == len(stage_look.CLUSTER) + each * (1 + len(NODES))
    assert "no daemon waits" in done[0]["text"]


STEPS = ("health.before", "crush.place", "osd.growth", "pool.make", "health.after", "daemon.pending", "disk.health")
GROUPS = [[["ceph.cluster.osd"], list(NODES)]]


def begun(groups):
    """As a stage's first step looks."""
    asked = stage_look.questions({}, {"groups": groups, "pillar": {}}, stage_look.CLUSTER, anew=False)
    stage_look.keep({}, stage_look.seen({}, early.ask({}, [*NODES, "salt"], asked), groups))


@pytest.fixture
def steps(runners, cluster, left, monkeypatch):
    """A function: what each step of a deploy with nothing to do answers behind its checks, and what was asked."""
    monkeypatch.setattr(minions, "pillar", lambda _: {"pools": {}, "crush_locations": {}})
    monkeypatch.setattr(stage_lock, "own", lambda opts: {"jid": "1"})
    stage_look.keep({}, None)  # what another test's stage saw

    def ran(between=lambda: None):
        stage_lock.keep({}, health.MADE, True)
        cluster.asked.clear()
        begun(GROUPS)
        looked = runners["targets.same"]()
        between()
        done = {step: runners[step](**{"warn": True} if step == "disk.health" else {}) for step in STEPS}
        return [looked, *done.values(), runners["targets.left"](cluster=True)], list(cluster.asked)

    return ran


def test_where_nothing_is_to_be_done_a_deploy_asks_cluster_and_hosts_once(cluster, steps):
    answers, asked = steps()
    assert [each.get("retcode", 0) for each in answers] == [0] * 9 and answers[0]["text"] == "3 hosts are as told"
    each = len(stage_look.HOSTS) + 2  # what states say, and one of all for the cluster
    assert len(asked) == len(set(asked)) == len(stage_look.CLUSTER) + each * (1 + len(NODES))


def test_where_nothing_that_was_seen_holds_any_more_every_step_is_applied(runners, cluster, steps):
    answer = runners["targets.same"]()
    assert answer["text"] == f"{stage_look.LINE}\n{stage_look.GONE}"
    assert stage_lock.kept({}, stage_look.AS_TOLD) is False


def test_a_first_deploy_has_no_cluster_to_look_at(runners, cluster, steps):
    cluster.cluster_osds_states = lambda _: ProposalError("no such file: /etc/ceph/ceph.conf")
    cluster.host_states_differing = lambda *_: ["no daemon of Ceph's was ever here"]
    stage_lock.keep({}, health.MADE, False)
    begun(GROUPS)
    assert runners["targets.same"]()["text"] == "there is no cluster yet: nothing is as told"
    assert stage_lock.kept({}, stage_look.AS_TOLD) is False and stage_look.kept({}) is None


def test_a_host_that_was_left_out_at_the_beginning_is_not_what_differs(runners, cluster, steps, monkeypatch):
    cluster.host_states_differing = lambda minion, *_: ProposalError("silent") if minion == "node3" else []
    begun([[["ceph.cluster.osd"], ["node1", "node2"]]])
    assert runners["targets.same"]()["text"] == "2 hosts are as told"


def test_where_a_host_differs_each_step_asks_for_itself(cluster, steps):
    cluster.host_states_differing = lambda minion, *_: ["ceph-conf: would change"] if minion == "node2" else []
    answers, asked = steps()
    assert answers[0]["text"] == "not as told, or to be applied:\nnode2: ceph-conf: would change"
    counts = [[function for _, function, *_ in asked].count(name) for name in ("cluster_health.inspect", "osd.absent")]
    assert counts == [1 + 3, len(NODES) + 2 * (1 + len(NODES))] and ("salt", "cluster_maintenance.end") in asked


def test_noout_of_an_interrupted_run_is_taken_away_and_the_cluster_asked_again(cluster, steps):
    cluster.flagged = ["node1"]
    _, asked = steps()
    behind = asked[asked.index(("salt", "cluster_maintenance.end")) :]
    assert cluster.flagged == [] and ("salt", "cluster_health.inspect") in behind


@pytest.mark.parametrize("was", [DOWN, {"up": 0, "state": ["exists", "new"]}], ids=["down", "just made"])
def test_what_a_look_saw_wrong_is_looked_at_again_until_it_is_well(cluster, steps, was):
    """A run that was interrupted had made one, which starts: the last step does not call it lost."""
    cluster.osd(3, **was)
    stage_lock.keep({}, health.KEPT, {})
    cluster.later = [(5, lambda: cluster.osd(3, up=1, state=["exists", "up"]))]
    answers, asked = steps()
    assert [each.get("retcode", 0) for each in answers] == [0] * 9 and cluster.seconds < 60


def test_a_change_that_a_runner_makes_has_the_steps_behind_it_ask_anew(cluster, steps):
    _, asked = steps(between=lambda: stage_look.keep({}, None))  # as step.py does
    assert ("salt", "cluster_maintenance.end") in asked and len(asked) > len(set(asked))


def test_where_the_cluster_does_not_answer_the_look_says_so_and_every_step_is_applied(runners, cluster, steps):
    cluster.cluster_osds_states = lambda _: ProposalError("no monitor answered")
    begun(GROUPS)
    answer = runners["targets.same"]()
    assert answer["text"] == "not as told, or to be applied:\nsalt: no monitor answered"
    assert stage_lock.kept({}, stage_look.AS_TOLD) is False and stage_look.kept({}) is None


def test_a_silent_host_is_told_with_what_the_cluster_knows_of_it(cluster, left):
    done = left(hosts=list(NODES), silent=["node3"], left={"node3": "does not answer"})
    assert "retcode" not in done
    assert "node3: left out: does not answer; the cluster knows its mon.node3, osd.4, osd.5; start" in done["text"]
    assert ("node3", "osd.absent") not in cluster.asked and ("node1", "osd.absent") in cluster.asked
    assert left(hosts=["node1"], silent=["node3"], left={})["text"] == "nothing was left out"


def test_no_link_changes_while_another_command_stops_daemons(runners, cluster):
    changed = networks(cluster, lambda minion: None)
    with another_stops_daemons(runners.opts):
        assert BUSY in runners["links.deploy"](list(NODES))["error"]
    assert changed() == []
