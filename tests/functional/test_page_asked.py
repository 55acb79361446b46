"""What the page asks, through Salt's loader on a real master's options: who may what, what is shown and changed."""

import json
import re
import shutil

import pytest
import salt.cache
import salt.payload
import salt.utils.minions
from saltmaster import Master

from proposals.reference import machines
from proposals.stages import replies
from runners.engine.asking import jobs, minions, planned
from runners.engine.master import planning
from runners.engine.page import page_policy, page_rights, page_runs
from runners.engine.runs import stage_lock

OTHERS = ("state.orch", "cmd.run", "salt.cmd", "page.enable", "view.hostsandmore", "viewxhosts", "proposal.page", "x")
POLICY = "profile-default/cluster/*.sls\nprofile-default/stack/default/ceph/minions/*.yml\n"


@pytest.fixture
def master(salt_factories, tmp_path_factory):
    made = salt_factories.salt_master_daemon(tmp_path_factory.mktemp("page").name, factory_class=Master)
    (made.pillar / "inventory").mkdir(parents=True)
    for name, host in machines.inventory("apollo")["hosts"].items():
        (made.pillar / "inventory" / f"{name}.json").write_text(json.dumps(host))
        made.accept(name)
    (made.pillar / "proposals").mkdir()
    return made


@pytest.fixture
def runners(master):
    return master.runners()


@pytest.mark.slow
def test_rights_are_a_list_of_functions_and_match_no_other(master):
    judge = salt.utils.minions.CkMinions(master.opts())
    loose = [{"@runner": list(page_rights.FUNCTIONS)}]
    assert judge.runner_check(loose, "view.hostsandmore", {})  # as Salt reads a name: the search can find one
    for listed in (page_rights.READ, page_rights.FUNCTIONS):
        theirs = page_rights.rights(listed)
        allowed = [each for each in (*page_rights.FUNCTIONS, *OTHERS) if judge.runner_check(theirs, each, {}) is True]
        assert allowed == list(listed)
    assert not [each for each in page_rights.FUNCTIONS if re.match(r"(state|cmd|salt|page)\.", each)]


@pytest.mark.slow
def test_each_function_exists_and_its_argument_is_checked(runners):
    for function in page_rights.FUNCTIONS:
        assert "is not an argument" in runners[function](pillar={"ceph_only": "x"}, text="", old="", stage="")["error"]


@pytest.mark.slow
def test_an_empty_pattern_never_means_all_hosts(runners):
    for function, more in (("operate.plan", {}), ("operate.run", {"confirm": "x"})):
        done = runners[function](stage="deploy", only="", **more)
        assert (done["retcode"], done["error"]) == (2, "only= names no host: leave it out for all")


@pytest.mark.slow
def test_before_discovery_there_is_a_page_too(master, runners):
    (master.pillar / "proposals").rmdir()
    shutil.rmtree(master.pillar / "inventory")
    assert runners["view.start"]()["proposals"] == [] and "discovery" in runners["view.start"]()["stages"]
    assert runners["view.policy"]()["written"] == ""
    for function in ("view.peek", "view.hosts"):
        assert "discovery has not run yet" in runners[function]()["error"]


@pytest.mark.slow
def test_hosts_and_a_plan_are_shown(runners):
    shown = runners["view.hosts"]()
    assert shown["summary"] == "8 hosts, 256 disks, 1.33 PB" and len(shown["looked"]) == 2
    told = runners["view.peek"](name="apollo", ratio=9)
    assert told["summary"].startswith("8 hosts, 216 OSDs") and not told["differs"]["stored"]
    assert "there is no" in runners["view.networks"](name="x")["error"]


@pytest.mark.slow
def test_a_network_is_shown_with_its_vlans_and_switches(runners, monkeypatch):
    runners["networks.populate"](name="n", cluster_vlan=3001, cluster_network="192.168.100.0/24")
    told = json.dumps(runners["view.networks"](name="n"))
    assert "VLAN 3001 on bond0" in told and " at leaf1" not in told
    said = {"osdnode1": [{"port": "ens1f0", "switch": "leaf1", "place": "Eth1/7"}]}
    monkeypatch.setattr(jobs, "ask", lambda *_, **__: replies.Replies(said, []))
    assert "ens1f0 at leaf1 1/7" in json.dumps(runners["view.networks"](name="n", cables=True))


@pytest.mark.slow
def test_a_plan_is_written_as_it_was_looked_at(master, runners):
    folder = master.pillar / "proposals/profile-apollo"
    asked = {"name": "apollo", "ratio": 9}
    looked = runners["operate.populate"](**asked)
    assert not folder.exists()
    for wrong in ("", "0", looked["confirm"][::-1]):
        assert "look at it again" in runners["operate.populate"](**asked, confirm=wrong)["error"]
    host = master.pillar / "inventory/osdnode1.json"
    known = host.read_text()
    host.write_text(json.dumps({**json.loads(known), "ceph_disks": json.loads(known)["ceph_disks"][1:]}))
    assert "look at it again" in runners["operate.populate"](**asked, confirm=looked["confirm"])["error"]
    assert not folder.exists()
    host.write_text(known)
    assert runners["operate.populate"](**asked, confirm=looked["confirm"])["name"] == "apollo"
    assert (folder / "proposal.json").exists()
    assert runners["view.peek"](**asked)["differs"] == {"stored": True, "hosts": {}, "more": 0}
    changed = runners["view.peek"](name="apollo", ratio=5)["differs"]["hosts"]
    assert sorted(changed) == ["osdnode1", "osdnode2", "osdnode3", "osdnode4"]
    for key in ("force", "Force", " FORCE"):
        assert "force is not for the page" in runners["operate.populate"](**asked, **{key: True})["error"]
    runners["operate.populate"](name="five", confirm=runners["operate.populate"](name="five")["confirm"])
    both = runners["view.compare"](old="apollo", new="five")
    assert both["differs"]["hosts"].keys() == changed.keys()
    assert both["falls"] == ["9 OSDs, 54.0 TB, 4.2% of the cluster", "5 OSDs, 30.0 TB, 4.2% of the cluster"]
    written = [each["what"] for each in runners["view.stages"]()["entries"]]
    assert written == ["operate.populate name=five", "operate.populate name=apollo"]


@pytest.mark.slow
def test_policy_is_saved_as_it_was_looked_at(master, runners):
    runners["operate.populate"](confirm=runners["operate.populate"]()["confirm"])
    path = master.pillar / "proposals/policy.cfg"
    before = path.read_text()
    shown = runners["view.policy"]()
    assert shown["written"] == before and shown["wrong"] is None and all(line["of"] for line in shown["lines"])
    told = runners["operate.policy"](text=POLICY)
    assert path.read_text() == before and [line["of"] for line in told["lines"]] == [4, 4]
    assert "-cluster-ceph/cluster/*.sls" in told["changes"]
    wrong = runners["operate.policy"](text="profile-none/*\n")
    assert "matches no file" in wrong["wrong"] and wrong["confirm"] is None
    for words in ({"text": "profile-none/*\n", "confirm": "x"}, {"text": POLICY, "confirm": "x"}):
        assert "error" in runners["operate.policy"](**words)
    path.write_text(before + "# theirs\n")  # somebody else, meanwhile
    assert "look at it again" in runners["operate.policy"](text=POLICY, confirm=told["confirm"])["error"]
    assert path.read_text() == before + "# theirs\n"
    kept = path.rename(path.with_name("policy.cfg.kept"))  # where the site keeps it: in a checkout of its own, say
    kept.write_text(before)
    path.symlink_to(kept.name)
    assert runners["operate.policy"](text=POLICY, confirm=told["confirm"])["saved"]
    assert kept.read_text() == POLICY and path.with_name("policy.cfg.before").read_text() == before
    assert path.is_symlink() and path.read_text() == POLICY


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["../../../etc/passwd", "/etc/passwd", "a" * 200_000, "\ud800", 7, "x {{ 1 }}", "\x00"]
)
def test_a_hostile_policy_is_never_saved(master, runners, text):
    said = runners["operate.policy"](text=text)
    assert said.get("error") or (said["wrong"] and said["confirm"] is None)
    hash_ = page_policy.confirmation("", text)
    assert "error" in runners["operate.policy"](text=text, confirm=hash_)
    assert not (master.pillar / "proposals/policy.cfg").exists()


@pytest.mark.slow
def test_bytes_that_are_no_text_are_shown_escaped(master, runners):
    """Salt can pack no lone surrogate: its answer would never come."""
    root = master.pillar / "proposals"
    (root / "profile-\udcfc").mkdir()
    (root / "policy.cfg").write_bytes("# Disks\n# für alle\n".encode("latin-1"))
    for function, words in (("view.start", {}), ("view.policy", {}), ("operate.policy", {"text": "# all\n"})):
        said = runners[function](**words)
        assert salt.payload.loads(salt.payload.dumps(said)) and "\\\\udcfc" in json.dumps(said)
    assert "policy.cfg line 2: holds bytes that are not UTF-8 at column 4" in runners["view.policy"]()["wrong"]
    confirm = runners["operate.policy"](text="# all\n")["confirm"]
    assert runners["operate.policy"](text="# all\n", confirm=confirm)["saved"]
    assert (root / "policy.cfg.before").read_bytes() == "# Disks\n# für alle\n".encode("latin-1")


SECRET = "AQAsecret=="


@pytest.mark.slow
@pytest.mark.parametrize(
    "target", ["I@key:AQA*", "J@key:A.*", "I|@key|AQA*", "* and I@key:A*", "(not I@key:B*)", "R@x", "E@(a+)+$"]
)
def test_nobody_learns_of_pillars_by_whom_a_target_names(master, runners, target):
    opts = master.opts()
    cache = salt.cache.factory(opts)
    for minion in minions.ours(opts):
        cache.store("pillar", minion, {"key": SECRET if minion == "osdnode1" else ""})
        cache.store("grains", minion, {"id": minion})
    assert planning.minions_of(opts, "I@key:AQA*") == ["osdnode1"]  # it would tell
    for function in ("view.peek", "operate.populate"):
        for key in ("target", "Target", "TARGET", " target\t"):  # the planner reads all of them
            said = runners[function](**{key: target})
            assert "are taken here" in said["error"] and "osdnode1" not in said["error"]
    for good in ("osdnode*", "L@osdnode1,osdnode2", "osdnode1 or osdnode2"):
        assert "error" not in runners["view.peek"](target=good)


@pytest.mark.slow
def test_a_host_that_does_not_answer_is_named_and_its_osds_are_not_called_unmade(runners, monkeypatch):
    disk, part = "/dev/disk/by-id/d", {"disk": "/dev/sdb", "size": 1, "node": "/dev/sdb1"}
    told = {"osds": {"u1": {"id": 0, "parts": {"data": part}}}, "names": {disk: "/dev/sdb"}}
    said = {
        "osd.report": replies.Replies({"node1": told}, [replies.Problem("node2", replies.SILENT, True)]),
        "cluster_osds.metadata": replies.Replies({"m": [{"id": 0, "bluestore_bdev_partition_path": "/dev/sdb1"}]}, []),
    }
    monkeypatch.setattr(minions, "members", lambda _: {"storage": ["node1", "node2"], "master": ["m"]})
    monkeypatch.setattr(planned, "osds", lambda _: {f"node{n}": {disk: {"uuids": [f"u{n}"]}} for n in (1, 2)})
    monkeypatch.setattr(jobs, "ask", lambda _, __, function, **___: said[function])
    text, shown = runners["osd.report"]()["text"], runners["view.osds"]()
    assert runners["osd.report"](all=True)["text"] == text
    assert "osd.0 node1" in text and "node2 data /dev/disk/by-id/d -: is not known: its host did not answer" in text
    assert "run ceph.stage.deploy" not in text + str(shown) and "node2: does not answer" in text
    assert shown["summary"] == "1 of 2 OSDs as planned" and shown["lines"][0].startswith("node2: does not answer")


def log(master, stage, *records):
    path = master.root / "run-logs" / f"{stage}-20260101T000000.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps({"time": "2026-01-01T00:00:00+0000", **each}) + "\n" for each in records))
    return path.stem


@pytest.mark.slow
def test_a_run_is_shown_by_its_name_alone(master, runners, tmp_path):
    begun = {"event": "stage", "stage": "prep", "user": "root", "jid": "1", "arguments": ["ceph.stage.prep"]}
    steps = [{"event": "minion", "step": "s", "minion": f"n{n}", "result": "done"} for n in range(700)]
    run = log(master, "prep", begun, *steps, {"event": "end", "result": "done", "changed": False})
    (tmp_path / "x-1.jsonl").write_text('{"event": "secret"}\n')
    assert runners["view.progress"]()["run"] == run == runners["view.stages"]()["runs"][0]
    seen = []
    while True:
        told = runners["view.progress"](run=run, after=len(seen))
        seen += told["records"]
        if not told["running"]:
            break
    assert [each["event"] for each in seen] == ["stage", *["minion"] * 700, "end"]
    for name in (str(tmp_path / "x-1"), f"../{tmp_path.name}/x-1", "../../../etc/passwd", "", 7, {"a": 1}):
        assert re.search("there is no run|one word was expected", runners["view.progress"](run=name)["error"])
    assert "a whole number" in runners["view.progress"](run=run, after=-1)["error"]


@pytest.mark.slow
def test_a_stage_begins_by_its_dry_run_alone(master, runners, monkeypatch):
    def begun(*_, **__):
        raise AssertionError("it began")

    monkeypatch.setattr(page_runs.stage_child, "start", begun)
    opts = master.opts()
    (master.root / "cache/halocline").mkdir(exist_ok=True)
    mine = page_runs.planned(opts, "UNKNOWN", "prep", None, [])
    for stage, words in {
        "prep": {"confirm": "x"},
        "deploy": {"confirm": mine},  # of another stage
        "configure": {"confirm": page_runs.planned(opts, "mallory", "configure", None, [])},  # of another user
        "services": {"confirm": page_runs.planned(opts, "UNKNOWN", "services", "a*", [])},  # of other hosts
    }.items():
        assert "look at its dry run first" in runners["operate.run"](stage=stage, **words)["error"]
    for stage in ("removal", "ceph.stage.removal", "../x", "upgrade", "benchmark", 3, {"a": 1}):
        for function in ("operate.run", "operate.plan"):
            words = {"confirm": mine} if function == "operate.run" else {}
            said = runners[function](stage=stage, **words)["error"]
            assert re.search("is not run from the page|one word was expected", said)
    with pytest.raises(AssertionError, match="it began"):
        runners["operate.run"](stage="prep", confirm=mine)
    assert "look at its dry run first" in runners["operate.run"](stage="prep", confirm=mine)["error"]  # good for one


@pytest.mark.slow
def test_nothing_is_changed_beside_a_stage_or_a_purge(master, runners, monkeypatch):
    def held(*_):
        raise stage_lock.ProposalError("stage deploy is running")

    monkeypatch.setattr(stage_lock, "free", held)
    confirm = page_runs.planned(master.opts(), "UNKNOWN", "prep", None, [])
    assert "is running" in runners["operate.run"](stage="prep", confirm=confirm)["error"]
    assert "is running" in runners["operate.policy"](text=POLICY)["error"]
