"""A cluster taken apart: a site that is served, a cluster that is played, every moment an end."""

import copy
import json
import shutil
from types import SimpleNamespace

import pytest
from played import Killed, Minions
from saltmaster import Master, lay_out, serve
from test_maintenance_asked import NODES, POLICY, SETTINGS, connected

from proposals.cluster.purge import record
from proposals.files import atomic
from proposals.files.site import site
from proposals.pillar import named, retiring
from proposals.pillar import served as served_files
from proposals.text.errors import PolicyError, ProposalError
from runners.engine.asking import jobs, minions, planned
from runners.engine.cluster import health
from runners.engine.master import disengaged
from runners.engine.removal import purging
from runners.engine.runs import stage_lock

FSID, OTHER = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
HOSTS = (*NODES, "salt")
MINE, THEIRS, BLIND = ("/dev/disk/by-id/wwn-0x" + digit for digit in "abc")
ORDER = ("services", "mds", "mgr", "osd", "mon")


def disk(name, osd, cluster=FSID, role="data"):
    """A disk as ``disks.inspect`` has it, and what lies on it."""
    label = {"fsid": osd, "role": role, "device": f"{name}1", "offset": 1 << 20, "cluster": cluster, "size": 1}
    entry = {
        "device": f"/dev/{name[-1]}",
        "id": name,
        "size": 10**12,
        "serial": f"S{name[-1]}",
        "in_use": [],
        "osds": [],
    }
    return entry, {"signatures": ["gpt", "PMBR"], "partitions": 1, "osds": [label]}


class Cluster(Minions):
    """What hosts answer and do. What must not be is asserted where it would happen."""

    CHANGES = ("stop", "release", "wipe", "remove", "refresh_pillar")

    def __init__(self, hosts):
        super().__init__()
        self.hosts, self.now, self.monitors = hosts, 1000.0, FSID
        self.clients, self.pools, self.conf = (
            [],
            [{"name": ".mgr", "objects": 3, "bytes": 9}],
            dict.fromkeys(HOSTS, FSID),
        )
        self.runs = {
            minion: set(told["parts"]) | ({"osd"} if minion in NODES else set()) for minion, told in hosts.items()
        }
        self.held = set(NODES)
        self.files = {minion: {"keyring", "ceph.conf"} for minion in HOSTS}
        self.osds = {minion: f"6b0c8f3e-0000-4000-8000-00000000000{n}" for n, minion in enumerate(NODES)}
        self.wiped = set()
        self.more = {}  # what else is found on a disk when it is to be wiped

    def left(self):
        return copy.deepcopy((self.runs, self.held, self.files, self.wiped))

    def daemons_purge_look(self, minion, fsid, hosts, keys):
        units = {part: [f"ceph-{part}@{minion}"] for part in self.runs[minion] if part != "osd"}
        conf = self.conf[minion]
        return {
            "pillar": FSID,
            "conf": conf,
            "units": units,
            "files": sorted(self.files[minion]),
            "others": ["/x (cephadm's)"],
        }

    def osd_purge_look(self, minion, fsid):
        if minion not in NODES:
            return {"ceph_disks": [], "inspected": {}, "osds": [], "made": []}
        found = [disk(MINE, self.osds[minion]), disk(THEIRS, "their-osd", OTHER), disk(BLIND, "none", None, "unknown")]
        return {
            "ceph_disks": [entry for entry, _ in found],
            "inspected": {entry["device"]: content for entry, content in found},
            "osds": [
                {"id": 1, "fsid": self.osds[minion], "cluster": FSID},
                {"id": 7, "fsid": "their-osd", "cluster": OTHER},
                {"id": 8, "fsid": None, "cluster": None},
            ],
            "made": [],
        }

    def cluster_purge_look(self, _, own):
        if self.monitors is None or not any("mon" in self.runs[node] for node in NODES):
            raise ProposalError("salt: no monitor answered")
        assert {"mgr.node1", "client.rgw.node1"} <= set(own)
        return {"fsid": self.monitors, "clients": self.clients, "pools": self.pools}

    def test_ping(self, _):
        return True

    def daemons_purge_stop(self, minion, fsid, hosts, keys, parts):
        assert fsid == FSID and keys and self.conf[minion] == FSID and hosts[minion].keys() == {"parts"}
        step = next(step for step in ORDER if set(record.parts(hosts[minion], step)) == set(parts[minion]) != set())
        later = {"osd", "mon"} if step in ("mds", "mgr", "services") else {"mon"}
        assert step == "mon" or all(later & self.runs[node] == later for node in NODES if node not in self.silent)
        if step == "mon":
            assert not any("osd" in self.runs[node] for node in hosts)
        self.runs[minion] -= set(parts[minion])
        return parts[minion]

    def osd_purge_stop(self, minion, fsid):
        assert fsid == FSID and not any("mgr" in self.runs[node] for node in NODES if node not in self.silent)
        self.runs[minion].discard("osd")
        return ["osd.1"]

    def osd_purge_release(self, minion, fsid):
        assert not self.runs[minion] & {"osd", "mon", "mgr"}
        self.held.discard(minion)
        return []

    def disks_wipe_inspect(self, minion, device):
        assert device == MINE and minion not in self.held
        entry, content = disk(MINE, self.osds[minion])
        empty = {"signatures": [], "osds": [], "fsids": [], "partitions": []}
        full = {**content, "fsids": [self.osds[minion]], "partitions": [f"{MINE}1"]}
        found = empty if minion in self.wiped else full
        return {**entry, "group": None, "volumes": [], **found, **self.more.get(minion, {})}

    def disks_wipe_wipe(self, minion, device, seen):
        assert device == MINE and seen["serial"] == "Sa"
        self.wiped.add(minion)
        return seen

    def daemons_purge_remove(self, minion, fsid, hosts, keys):
        assert not self.runs[minion] - {"bootstrap-osd", "admin"} and keys
        self.files[minion], self.conf[minion] = set(), None
        return []

    def saltutil_refresh_pillar(self, *_):
        return True


@pytest.fixture(scope="module")
def served(salt_factories):
    """A master whose site serves a generation."""
    made = salt_factories.salt_master_daemon("purge", factory_class=Master)
    lay_out(made, connected(HOSTS), FSID, POLICY, SETTINGS)
    serve(made.opts())
    return made


@pytest.fixture
def master(served, tmp_path):
    """The same, as it was before each test."""
    root, copied = site(served.opts()).root, tmp_path / "ceph"
    shutil.copytree(root, copied, symlinks=True)
    yield served
    shutil.rmtree(root)
    shutil.copytree(copied, root, symlinks=True)
    disengaged.engage(served.opts())


@pytest.fixture
def paths(master):
    return site(master.opts())


@pytest.fixture
def cluster(monkeypatch, master, paths):
    made = Cluster(named.hosts(served_files.contents(paths), named.hostnames(paths)))
    for node in NODES:  # the planned OSDs are the played ones
        made.hosts[node]["osds"] = [made.osds[node]]
    monkeypatch.setattr(named, "hosts", lambda *_: copy.deepcopy(made.hosts))
    monkeypatch.setattr(named, "known", lambda *_: {})
    made.play(monkeypatch)
    monkeypatch.setattr(minions, "ours", lambda opts: list(HOSTS))
    monkeypatch.setattr(disengaged, "time", SimpleNamespace(time=lambda: made.now))
    return made


def purge(runners, **typed):
    """What is typed: the safety, then the command."""
    runners["ceph.disengage"]()
    return runners["ceph.purge"](**{"fsid": FSID, **typed})


def gone(cluster, paths, wiped):
    """All of the cluster is gone, another can be made, and nothing of others was touched."""
    assert {part for parts in cluster.runs.values() for part in parts} <= {"bootstrap-osd", "admin"}
    assert cluster.held == set() and set(map(bool, cluster.files.values())) == {False}
    assert cluster.wiped == (set(NODES) if wiped else set())
    old = paths.purged / FSID
    assert not paths.purge.exists() and not paths.current.exists() and not paths.keys.exists()
    assert not any(path.exists() for path in (paths.generations, paths.secrets, paths.served, paths.earlier))
    assert (old / "keys/keys.json").exists() and len(list((old / "generations").iterdir())) == 1
    assert (paths.purged.stat().st_mode & 0o777, (old / "keys/keys.json").stat().st_mode & 0o777) == (0o700, 0o600)
    config = (paths.proposals / "config/stack/default/ceph/cluster.yml").read_text()
    assert FSID not in config and "10.0.0.0/24" in config and config.count("fsid: ") == 1
    assert (paths.proposals / "policy.cfg").read_text() == POLICY


@pytest.mark.slow
@pytest.mark.parametrize("wipe", [False, True])
def test_a_cluster_is_taken_apart_and_another_can_be_made(runners, cluster, master, paths, capsys, wipe):
    done = purge(runners, wipe=wipe)
    assert done.get("retcode", 0) == 0, done
    gone(cluster, paths, wipe)
    said = capsys.readouterr().out.splitlines()
    stops = [line.partition(" stop")[0] for line in said if " stop on " in line]
    assert stops == ["services", "mds daemons", "mgr daemons", "osd daemons", "mon daemons"]
    assert ("not wiped" in done["text"]) is not wipe
    assert retiring.fsids(paths) == {FSID, OTHER}
    serve(master.opts())
    assert paths.keys.read_text() != (paths.purged / FSID / "keys/keys.json").read_text()
    assert minions.pillar(master.opts())["fsid"] != FSID
    assert "has fsid" in purge(runners)["error"] and stage_lock.whole(master.opts()) is None


@pytest.mark.slow
def test_no_stage_looks_in_the_next_cluster_for_the_adopted_osds_of_the_one_that_is_gone(
    runners, cluster, master, paths
):
    """Deploy waited for them and failed, as they were planned still."""
    records = paths.proposals / "adopted/stack/default/ceph/minions/node1.yml"
    atomic.write(records, json.dumps({"ceph": {"adopted": {"osds": {OTHER: {"id": 0, "form": "raw"}}}}}))
    atomic.write(paths.proposals / "policy.cfg", f"{POLICY}adopted/stack/default/ceph/minions/*.yml\n")
    serve(master.opts())
    assert OTHER in health.plan(master.opts()).osds
    done = purge(runners)
    assert done.get("retcode", 0) == 0, done
    assert "take the lines of adopted/ out of policy.cfg" in done["text"]
    with pytest.raises(PolicyError, match="adopted/stack"):
        serve(master.opts())
    atomic.write(paths.proposals / "policy.cfg", POLICY)
    serve(master.opts())
    assert health.plan(master.opts()).osds and OTHER not in health.plan(master.opts()).osds
    assert planned.proposed_adopted(paths) == {} and (paths.purged / FSID / "adopted").is_dir()


@pytest.mark.slow
def test_disks_that_stayed_are_wiped_later_until_another_cluster_is_configured(runners, cluster, master, paths):
    purge(runners)
    assert "taken apart already" in runners["ceph.purge"](FSID)["text"] and cluster.wiped == set()
    assert "would be wiped" in runners["ceph.purge"](FSID, wipe=True, test=True)["text"]
    assert "the safety is engaged" in runners["ceph.purge"](FSID, wipe=True)["error"] and cluster.wiped == set()
    cluster.more["node2"] = {"signatures": ["ext4"]}
    assert "node2" in (wrong := purge(runners, wipe=True)["error"]) and "it carries ext4, which was not there" in wrong
    assert cluster.wiped == {"node1", "node3"}
    serve(master.opts())
    cluster.more = {}
    assert "has fsid" in purge(runners, wipe=True)["error"] and cluster.wiped == {"node1", "node3"}


@pytest.mark.slow
def test_a_dry_run_says_host_by_host_what_would_go_and_changes_nothing(runners, cluster, paths):
    before = cluster.left()
    files = sorted(map(str, paths.root.rglob("*")))
    told = runners["ceph.purge"](FSID, test=True, wipe=True)["text"].splitlines()
    assert "node1: would stop ceph-mds@node1" in told and "node1: would stop osd.1" in told
    assert f"node1: {MINE} serial Sa, 1 OSDs: would be wiped" in told
    assert f"node1: {BLIND}: carries a label that cannot be read: not wiped" in told
    assert f"node1: osd.7 is of cluster {OTHER}: left alone" in told
    assert "node1: osd.8: nothing says of which cluster it is: neither stopped nor wiped" in told
    assert "node1: left alone: /x (cephadm's)" in told and "node1: would remove ceph.conf" in told
    assert (cluster.left(), cluster.log) == (before, []) and sorted(map(str, paths.root.rglob("*"))) == files


REFUSED = {
    "the safety engaged": (None, {"engaged": True}, "the safety is engaged"),
    "the safety was disengaged too long ago": (None, {"later": 61}, "the safety is engaged"),
    "a clock that was set back": (None, {"later": -5}, "the safety is engaged"),
    "another fsid": (None, {"fsid": OTHER}, f"has fsid {FSID}, typed was {OTHER}"),
    "no fsid": (None, {"fsid": "yes"}, "fsid=yes: expected the cluster's fsid"),
    "a switch that is none": (None, {"wipe": "yes"}, "wipe=yes: expected true or false"),
    "a word that is none": (None, {"despite": "all"}, "despite=all"),
    "a silent host": (lambda cluster: cluster.silent.add("node2"), {}, "node2 does not answer: start its salt-minion"),
    "a host that is left and answers": (None, {"left": "node2"}, "left=node2: it answers"),
    "a host that is none": (None, {"left": "node9"}, "left=node9: no host of this cluster"),
    "clients": (lambda cluster: cluster.clients.append("client.a at 10.0.0.9:0/1"), {}, "add despite=clients"),
    "data": (lambda cluster: cluster.pools.append({"name": "p", "objects": 2, "bytes": 8}), {}, "pool p: 2 objects"),
    "other monitors": (lambda cluster: setattr(cluster, "monitors", OTHER), {}, f"are of cluster {OTHER}"),
    "silent monitors": (lambda cluster: setattr(cluster, "monitors", None), {}, "add despite=clients,data"),
    "a host of another cluster": (
        lambda cluster: cluster.conf.update(node3=OTHER),
        {},
        f"ceph.conf names cluster {OTHER}",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", REFUSED)
def test_what_stands_against_it_is_named_and_nothing_is_changed(runners, cluster, paths, case):
    make, typed, words = REFUSED[case]
    if make:
        make(cluster)
    before = cluster.left()
    if not (typed := dict(typed)).pop("engaged", False):
        runners["ceph.disengage"]()
    cluster.now += typed.pop("later", 0)
    done = runners["ceph.purge"](**{"fsid": FSID, **typed})
    assert done["retcode"] == 2 and words in done["error"], done
    assert (cluster.left(), cluster.log) == (before, []) and not paths.purge.exists()


@pytest.mark.slow
def test_the_safety_is_for_one_command(runners, cluster):
    cluster.silent.add("node2")
    assert "node2" in purge(runners)["error"]
    cluster.silent.clear()
    assert "the safety is engaged" in runners["ceph.purge"](FSID)["error"] and cluster.log == []


@pytest.mark.slow
def test_a_stage_that_runs_holds_it_back(runners, cluster, paths, monkeypatch):
    monkeypatch.setattr(stage_lock, "holder", lambda opts: {"stage": "deploy"})
    assert "stage deploy is running" in purge(runners)["error"] and cluster.log == [] and not paths.purge.exists()
    answers = iter([None, {"stage": "deploy"}])  # it begins while hosts are looked at
    monkeypatch.setattr(stage_lock, "holder", lambda opts: next(answers))
    assert "stage deploy is running" in purge(runners)["error"] and cluster.log == [] and not paths.purge.exists()


@pytest.mark.slow
def test_what_is_lost_knowingly_is_typed(runners, cluster, paths):
    cluster.monitors = None
    assert purge(runners, despite="clients,data").get("retcode", 0) == 0
    gone(cluster, paths, False)


@pytest.mark.slow
def test_a_host_that_is_gone_is_left_by_name(runners, cluster, paths):
    cluster.silent.add("node3")
    before = cluster.left()
    assert purge(runners, left="node3", wipe=True).get("retcode", 0) == 0
    assert [each["node3"] for each in (cluster.runs, cluster.files)] == [before[0]["node3"], before[2]["node3"]]
    assert cluster.wiped == {"node1", "node2"} and cluster.held == {"node3"}


@pytest.mark.slow
def test_a_disk_that_a_host_which_is_left_sees_too_is_not_wiped(runners, cluster, paths):
    """A shelf on two hosts: OSDs of the one that does not answer may run on it, which the other one cannot see."""
    path = paths.inventory / "node3.json"
    host = json.loads(path.read_text())
    path.write_text(json.dumps({**host, "ceph_disks": [{**host["ceph_disks"][0], "id": MINE}]}))
    cluster.silent.add("node3")
    failed = purge(runners, left="node3", wipe=True)["error"]
    assert f"node1 {MINE}: is not wiped: node3, which is left as it is, sees it too" in failed
    assert cluster.wiped == set() and paths.purge.exists()
    assert purge(runners).get("retcode", 0) == 0 and cluster.wiped == set()


@pytest.mark.slow
def test_a_host_that_falls_silent_on_the_way_is_named_and_the_same_command_goes_on(runners, cluster, paths):
    normal = cluster.daemons_purge_stop

    def stop(minion, fsid, hosts, keys, parts):
        if parts[minion] == ["mgr"]:  # which node3 has not: it is asked again for its OSDs
            cluster.silent.add("node3")
        return normal(minion, fsid, hosts, keys, parts)

    cluster.daemons_purge_stop = stop
    failed = purge(runners)["error"]
    assert "node3: does not answer" in failed and "add left=node3" in failed
    assert "would go on with osd, mon, release, files" in runners["ceph.purge"](FSID, test=True)["text"]
    assert "no host of this cluster" in purge(runners, left="node9")["error"]
    cluster.silent.clear()
    cluster.daemons_purge_stop = normal
    assert purge(runners).get("retcode", 0) == 0
    gone(cluster, paths, False)


@pytest.mark.slow
def test_a_disk_that_is_not_the_one_any_more_holds_back_no_other(runners, cluster, paths):
    cluster.more["node2"] = {"serial": "S9"}
    failed = purge(runners, wipe=True)["error"]
    assert f"node2 {MINE}: is not wiped: it has serial S9, typed was Sa" in failed and "node1" not in failed
    assert cluster.wiped == {"node1", "node3"} and paths.purge.exists() and paths.current.exists()
    text = purge(runners)["text"]
    assert f"node2 {MINE} serial Sa: not wiped" in text and "node1" not in text
    assert not any(cluster.files.values()) and not paths.purge.exists()


@pytest.mark.slow
@pytest.mark.parametrize("later", [False, True], ids=["with the rest", "after the end"])
def test_a_disk_that_is_wiped_is_a_line_beside_the_record(runners, cluster, paths, monkeypatch, later):
    if later:
        purge(runners)
    normal, asked = cluster.disks_wipe_wipe, []

    def wipe(minion, device, seen):
        asked.append(minion)
        if minion == "node3" and asked.count("node3") == 1:
            raise Killed
        return normal(minion, device, seen)

    cluster.disks_wipe_wipe = wipe
    with pytest.raises(Killed):
        purge(runners, wipe=True)
    kept = paths.purged / FSID / "purge.json" if later else paths.purge
    lines = kept.with_name(f"purge-{FSID}.wiped")
    assert json.loads(kept.read_text())["wiped"] == [] and lines.read_text() == f"node1 {MINE}\nnode2 {MINE}\n"
    assert lines.stat().st_mode & 0o777 == 0o600
    lines.write_text(f"{lines.read_text()}node3 {MINE}")  # as a power failure may leave it
    assert purge(runners, wipe=True).get("retcode", 0) == 0
    assert asked == ["node1", "node2", "node3", "node3"] and cluster.wiped == set(NODES)
    whole = json.loads((paths.purged / FSID / "purge.json").read_text())
    assert whole["wiped"] == [f"{node} {MINE}" for node in NODES] and not list(paths.root.rglob("*.wiped"))


@pytest.mark.slow
def test_until_the_first_daemon_was_stopped_it_is_called_off(runners, cluster, paths, master):
    before = cluster.left()
    cluster.kill = (1, True)
    with pytest.raises(Killed):
        purge(runners)
    text = json.loads(paths.purge.read_text())
    assert text["step"] == "services" and cluster.left() == before
    atomic.write(paths.purge, json.dumps({**text, "step": "begun"}))  # as a kill right after the first note leaves it
    with pytest.raises(ProposalError, match="the cluster is being taken apart"):
        stage_lock.free(master.opts())
    assert "is being taken apart" in runners["stage.begin"]("prep")["error"]
    assert "called off" in runners["ceph.engage"]()["text"] and not paths.purge.exists()
    assert runners["ceph.engage"]()["text"] == "the safety is engaged"
    with pytest.raises(Killed):
        cluster.changes, cluster.kill, cluster.ended = 0, (1, False), False
        purge(runners)
    assert "that is not called off" in runners["ceph.engage"]()["error"]
    assert f"cluster {FSID} is being taken apart, typed was {OTHER}" in purge(runners, fsid=OTHER)["error"]


class Files:
    """The master's own writes and moves, of which one is the last that happens."""

    def __init__(self, monkeypatch, at, before):
        self.count = 0
        for name in ("write", "append", "move", "remove"):
            monkeypatch.setattr(atomic, name, self.ending(getattr(atomic, name), at, before))

    def ending(self, function, at, before):
        def ended(*words, **more):
            self.count += 1
            if self.count == at and before:
                raise Killed
            function(*words, **more)
            if self.count == at:
                raise Killed

        return ended


def moments(monkeypatch, runners, cluster, **typed):
    """Run to the end once; return how many changes hosts and master made."""
    with monkeypatch.context() as patched:
        files = Files(patched, 0, False)
        assert purge(runners, **typed).get("retcode", 0) == 0
    return cluster.changes, files.count


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("where", ["hosts", "master"])
def test_interrupted_at_any_moment_the_same_command_goes_on(
    runners, cluster, paths, monkeypatch, tmp_path, where, before
):
    saved = tmp_path / "saved"
    shutil.copytree(paths.root, saved, symlinks=True)
    fresh = copy.deepcopy(vars(cluster))
    monkeypatch.setattr(minions, "pillar", lambda opts: {"fsid": FSID})  # compiled each time it takes most of the test
    on_hosts, on_master = moments(monkeypatch, runners, cluster, wipe=True)
    assert on_hosts > 20 and on_master > 15
    for at in range(1, (on_hosts if where == "hosts" else on_master) + 1):
        shutil.rmtree(paths.root)
        shutil.copytree(saved, paths.root, symlinks=True)
        vars(cluster).update(copy.deepcopy(fresh))
        with monkeypatch.context() as patched, pytest.raises(Killed):
            cluster.kill = (at, before) if where == "hosts" else (None, False)
            Files(patched, at if where == "master" else 0, before)
            purge(runners, wipe=True)
        cluster.kill = (None, False)
        done = purge(runners, wipe=True)
        assert done.get("retcode", 0) == 0, (at, done)
        gone(cluster, paths, True)


@pytest.mark.slow
def test_a_host_that_does_not_answer_is_asked_for_one_of_its_disks_alone(cluster, master, paths, monkeypatch):
    """It is given up after five minutes, and has sixty disks."""
    asked, one = [], jobs.one

    def counted(opts, minion, *words, **named):
        asked.append(minion)
        return one(opts, minion, *words, **named)

    monkeypatch.setattr(jobs, "one", counted)
    cluster.silent, cluster.held = {"node2"}, set()
    whole = [(node, SimpleNamespace(id=MINE, serial=serial)) for node in ("node2", "node3") for serial in "xyz"]
    with pytest.raises(ProposalError) as caught:
        purging._wipe(master.opts(), SimpleNamespace(fsid=FSID, left=(), whole=whole), paths.purge, print)
    said = str(caught.value)
    assert (said.count("does not answer"), said.count("which disk did you mean")) == (3, 3)
    assert asked == ["node2", *["node3"] * 3]
