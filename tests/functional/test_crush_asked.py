"""Places in the CRUSH map: what deploy brings there, what it leaves because data would move, and what moves by name."""

import copy
import json
from pathlib import Path

import pytest
import yaml
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock
from saltmaster import Master

from proposals.cluster import classes
from proposals.files import atomic
from proposals.files.site import site
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs, minions, planned, taking_part
from runners.engine.cluster import ceph
from runners.engine.runs import stage_lock

HOSTS = ("node1", "node2", "node3")
TREE = [{"id": -1, "name": "default", "type": "root", "children": [-2, -3]}]
TREE += [{"id": -1 - at, "name": f"node{at}", "type": "host", "children": [at]} for at in (1, 2)]
TREE += [{"id": at, "name": f"osd.{at}", "type": "osd", "device_class": "hdd"} for at in (1, 2)]
MOVED = {"pools": {"p": {"bytes": 3 << 30, "groups": 9, "lacking": 0}}, "osds": {}, "busy": 0, "limit": 0.9}


class Killed(BaseException):
    """The host that asks the cluster goes down at this moment."""


@pytest.fixture(scope="module")
def master(salt_factories):
    made = salt_factories.salt_master_daemon("crush", factory_class=Master)
    for name in HOSTS:  # the minion's id is not its host's name
        atomic.write(site(made.opts()).inventory / f"m-{name}.json", json.dumps({"hostname": name, "ceph_disks": []}))
    return made


@pytest.fixture
def cluster(master, python_module, monkeypatch):
    """node1 and node2 have an OSD each, node3 is new; every change is in ``log``."""
    made = {"tree": copy.deepcopy(TREE), "moved": copy.deepcopy(MOVED), "log": [], "edits": []}
    made["pillar"] = {"crush_locations": {"m-node[123]": {"rack": "r1"}}}

    def asked(opts, function, words=(), kind=None, timeout=0):
        if function == "cluster_moves.estimate":
            made["edits"].append(words[0])
            made["devices"] = words[2] if len(words) > 2 else None
            return made["moved"] if isinstance(made["moved"], dict) else made["moved"]()
        if function == "cluster_osds.states":
            return made["states"]
        if function in ("cluster_crush.held", "cluster_crush.move"):
            return getattr(module, function.partition(".")[2])(*words)
        assert function == "cluster_crush.apply"
        made["log"] += words[0]
        return {}

    def tell(words):
        if made["fails"] and words[: len(made["fails"])] == made["fails"]:
            raise CommandExecutionError("ceph: Error EINVAL")
        if made["kill"] is not None and made["kill"] <= len(made["told"]):
            raise Killed
        made["told"].append(words)
        match words:
            case ["config-key", "set", key, text]:
                made["kept"][key] = text
            case ["config-key", "rm", key]:
                del made["kept"][key]
            case ["osd", "set" | "unset" as word, flag]:
                made["flags"] = made["flags"] - {flag} | ({flag} if word == "set" else set())
            case _:
                assert "norebalance" in made["flags"] and made["kept"], "data would follow the first of them"
                made["log"].append(words)
                placed(made["tree"], words)
        return ""

    made |= {"told": [], "kept": {}, "flags": {"sortbitwise"}, "kill": None, "fails": None}
    module = python_module("cluster_crush")
    asks = {"cluster_cli.tell": tell, "cluster_cli.kept": made["kept"].get}
    asks["cluster_cli.ask"] = lambda words: {"flags_set": sorted(made["flags"])}
    monkeypatch.setattr(jobs, "cluster", asked)
    monkeypatch.setattr(ceph, "found", lambda opts, test: {"tree": made["tree"]})
    monkeypatch.setattr(minions, "pillar", lambda opts: made["pillar"])
    monkeypatch.setattr(minions, "members", lambda opts: {"storage": [f"m-{name}" for name in HOSTS]})
    monkeypatch.setattr(taking_part, "among", lambda opts, hosts, limited=True: list(hosts))
    with LoaderModuleMock({module: {"__salt__": asks}}):
        yield made


def placed(tree, words):
    """The map after a command."""
    match words:
        case ["osd", "crush", "add-bucket", name, kind]:
            tree.append({"id": -100 - len(tree), "name": name, "type": kind, "children": []})
        case ["osd", "crush", "move", name, place]:
            (id_,) = [node["id"] for node in tree if node["name"] == name]
            for node in tree:
                above = node["name"] == place.partition("=")[2]
                node["children"] = [*({*node.get("children", ())} - {id_}), *([id_] if above else [])]


def told(log):
    return [" ".join(words) for words in log]


CASES = yaml.load((Path(__file__).parents[1] / "fixtures/crush.yaml").read_text(), yaml.CSafeLoader)


@pytest.mark.parametrize("case", CASES["rules"], ids=lambda case: case["about"])
def test_what_a_rule_does_is_told_whatever_its_name_is(python_module, case):
    """A cluster that began on one host has the usual rule's name, and puts all copies on one host."""
    rule = {"rule_id": 0, "rule_name": "replicated_rule", "steps": case["steps"]}
    profiles = {"old": {"k": "2", "m": "1", "plugin": "jerasure"}, "odd": {"plugin": "lrc", "crush-root": "fast"}}
    answers = [[rule], {"nodes": TREE}, {"erasure_code_profiles": profiles}, []]
    module = python_module("cluster_crush")
    with LoaderModuleMock({module: {"__salt__": {"cluster_cli.ask_all": lambda asked: answers}}}):
        found = module.inspect()
    assert found["rules"] == {"replicated_rule": case["told"]}
    assert found["profiles"] == {
        "old": {"k": 2, "m": 1, "domain": "host", "root": "default", "class": ""},
        "odd": {"k": 0, "m": 0, "domain": "host", "root": "fast", "class": ""},
    }


@pytest.mark.slow
def test_deploy_places_new_hosts_and_leaves_those_whose_data_would_move(master, cluster):
    runners = master.runners()
    dry = runners["crush.place"](test=True)["text"]
    assert "would run:" in dry and "node1, node2: left where they are" in dry and "about 3 GiB of data move" in dry
    assert cluster["log"] == []
    text = runners["crush.place"]()["text"]
    assert "node1, node2: left where they are, as their data would move" in text
    assert told(cluster["log"]) == [
        "osd crush add-bucket r1 rack",
        "osd crush add-bucket node3 host",
        "osd crush move r1 root=default",
        "osd crush move node3 rack=r1",
    ]
    assert ["--move", "node1", "--loc", "rack", "r1"] in cluster["edits"][-1]


@pytest.mark.parametrize(("size", "moves"), [(0, True), (63 << 20, True), (64 << 20, False)])
def test_a_cluster_with_next_to_nothing_in_it_is_brought_to_its_places(master, cluster, size, moves):
    cluster["moved"]["pools"]["p"]["bytes"] = size
    master.runners()["crush.place"]()
    assert ("osd crush move node1 rack=r1" in told(cluster["log"])) is moves


def test_a_place_that_leaves_too_few_domains_is_not_taken_unasked(master, cluster):
    cluster["moved"]["pools"]["p"] |= {"bytes": 0, "lacking": 3}
    master.runners()["crush.place"]()
    assert "osd crush move node1 rack=r1" not in told(cluster["log"])


def test_a_plan_where_crushtool_is_not_there_yet_says_so(master, cluster):
    def lacking():
        raise ProposalError("crushtool: there is no such program")

    cluster["moved"] = lacking
    runners = master.runners()
    assert "is not known yet: crushtool" in runners["crush.place"](test=True)["text"]
    assert cluster["log"] == []


def test_deploy_goes_on_where_nobody_can_say_what_would_move(master, cluster):
    """A run for some hosts alone does not reach the host with crushtool; no data moves, and the others are placed."""

    def lacking():
        raise ProposalError("crushtool: there is no such program")

    cluster["moved"] = lacking
    done = master.runners()["crush.place"]()
    assert done.get("retcode", 0) == 0, done
    said = done["findings"][0]["message"]
    assert said.startswith("node1, node2: left where they are: how much data moves is not known yet: crushtool")
    assert "osd crush move node3 rack=r1" in told(cluster["log"])
    assert not {"osd crush move node1 rack=r1", "osd crush move node2 rack=r1"} & {*told(cluster["log"])}


def test_hosts_are_moved_by_name_alone(master, cluster):
    runners = master.runners()
    shown = runners["crush.move"]()["text"]
    assert "ceph osd crush move node1 rack=r1" in shown and "name the hosts" in shown
    dry = runners["crush.move"]("m-node1", test=True)["text"]
    assert "about 3 GiB of data move" in dry and "node2" not in dry and cluster["log"] == []
    done = runners["crush.move"]("m-node1")
    assert done["changes"]["ceph"] == [
        "ceph osd set norebalance",
        "ceph osd crush add-bucket r1 rack",
        "ceph osd crush move r1 root=default",
        "ceph osd crush move node1 rack=r1",
        "ceph osd unset norebalance",
    ]
    assert len(cluster["log"]) == 3 and cluster["flags"] == {"sortbitwise"} and cluster["kept"] == {}


@pytest.mark.parametrize("moment", range(8))
def test_killed_at_any_moment_no_data_follows_the_first_and_the_same_command_goes_on(master, cluster, moment):
    """Before each change: the record, the flag, four of the map, the flag, the record."""
    runners, hosts = master.runners(), ("m-node1", "m-node2")
    cluster["kill"] = moment
    with pytest.raises(Killed):
        runners["crush.move"](*hosts)
    cluster["kill"] = None
    moved = [words for words in told(cluster["log"]) if words.startswith("osd crush move node")]
    assert "norebalance" in cluster["flags"] or len(moved) in (0, 2)
    if moment:
        before = copy.deepcopy((cluster["told"], cluster["flags"]))
        says = "takes the flag back, by: salt-run crush.move m-node1 m-node2"
        assert says in runners["crush.move"](*hosts, test=True)["text"]
        assert (cluster["told"], cluster["flags"]) == before
        assert says in runners["crush.place"](test=True)["text"]
    done = runners["crush.move"](*hosts)
    assert done.get("retcode", 0) == 0, done
    assert cluster["flags"] == {"sortbitwise"} and cluster["kept"] == {}
    assert [words for words in told(cluster["log"]) if "node" in words] == [
        "osd crush move node1 rack=r1",
        "osd crush move node2 rack=r1",
    ]
    before = list(cluster["told"])
    assert "nothing changed" in runners["crush.move"](*hosts)["text"] and cluster["told"] == before


def test_deploy_names_what_was_interrupted_where_no_host_has_a_place(master, reclassed):
    """Classes have no places."""
    runners = master.runners()
    reclassed["pillar"], reclassed["kill"] = {}, 3
    with pytest.raises(Killed):
        runners["crush.reclass"]("m-node[1]")
    reclassed["kill"] = None
    text = runners["crush.place"]()["text"]
    assert "no host has a place" in text and "by: salt-run crush.reclass 'm-node[1]'" in text
    reclassed["states"] = [osd(number, "fast") for number in (0, 1, 3)]
    assert "interrupted" in runners["crush.reclass"]()["text"] and "norebalance" in reclassed["flags"]
    assert runners["crush.reclass"]("m-node1")["changes"]["ceph"][-1] == "ceph osd unset norebalance"
    assert reclassed["flags"] == {"sortbitwise"} and "interrupted" not in runners["crush.place"]()["text"]


def test_a_flag_that_was_set_before_stays(master, cluster):
    cluster["flags"].add("norebalance")
    said = master.runners()["crush.move"]("m-node1")["text"]
    assert said.endswith("norebalance was set before, and stays: data waits until 'ceph osd unset norebalance'")
    assert "norebalance" in cluster["flags"] and cluster["kept"] == {}


def test_where_a_command_fails_no_data_of_half_a_plan_moves_and_the_same_command_goes_on(master, cluster):
    """It may have run into our own limit, and be carried out later."""
    cluster["fails"] = ["osd", "crush", "move", "node2"]
    runners, hosts = master.runners(), ("m-node1", "m-node2")
    with pytest.raises(
        CommandExecutionError, match="EINVAL; data waits: the same command goes on; norebalance stays until then"
    ):
        runners["crush.move"](*hosts)
    assert "osd crush move node1 rack=r1" in told(cluster["log"]) and "norebalance" in cluster["flags"]
    cluster["fails"] = None
    assert runners["crush.move"](*hosts).get("retcode", 0) == 0
    assert cluster["flags"] == {"sortbitwise"} and cluster["kept"] == {}


def test_what_stands_right_is_not_moved_again(master, cluster):
    cluster["tree"][0]["children"] = [-9]
    cluster["tree"].append({"id": -9, "name": "r1", "type": "rack", "children": [-2, -3]})
    assert "nothing changed" in master.runners()["crush.move"]("m-node[12]")["text"]
    assert cluster["log"] == [] and cluster["edits"] == []


def test_a_rack_moves_with_no_host_that_is_not_named(master, cluster):
    """node2 stands in the rack already: all of its data would move along."""
    runners = master.runners()
    for words in (["add-bucket", "r1", "rack"], ["move", "r1", "root=default"], ["move", "node2", "rack=r1"]):
        placed(cluster["tree"], ["osd", "crush", *words])
    cluster["pillar"]["crush_locations"] = {"m-node[12]": {"rack": "r1", "room": "a"}}
    cluster["moved"] = {"pools": {}, "osds": {}, "busy": 0, "limit": 0.9}  # so little that deploy would move it
    for test in (True, False):
        done = runners["crush.move"]("m-node1", test=test)
        assert done["retcode"] == 2 and "r1 holds node2 too, with all data there: name them as well" in done["error"]
    assert cluster["log"] == []
    assert "retcode" not in runners["crush.move"]("m-node[12]")
    assert "osd crush move r1 room=a" in told(cluster["log"])


def test_deploy_moves_no_rack_with_hosts_that_have_no_place(master, cluster):
    for words in (["add-bucket", "r1", "rack"], ["move", "r1", "root=default"], ["move", "node2", "rack=r1"]):
        placed(cluster["tree"], ["osd", "crush", *words])
    cluster["pillar"]["crush_locations"] = {"m-node1": {"rack": "r1", "room": "a"}}
    cluster["moved"] = {"pools": {}, "osds": {}, "busy": 0, "limit": 0.9}
    text = master.runners()["crush.place"]()["text"]
    assert "r1, node1: left where they are" in text and "r1 holds node2 too, with all data there" in text
    assert told(cluster["log"]) == ["osd crush add-bucket a room", "osd crush move a root=default"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"pools": {"p": {"bytes": 0, "groups": 0, "lacking": 4}}}, "4 placement groups would find too few"),
        ({"osds": {"2": {"gets": 1 << 20, "loses": 0, "kb": 1000, "kb_used": 500}}}, "osd.2 would be 152% full"),
    ],
)
def test_a_move_that_would_hurt_is_refused(master, cluster, more, says):
    cluster["moved"] |= more
    for test in (True, False):
        done = master.runners()["crush.move"]("m-node1", test=test)
        assert done["retcode"] == 2 and says in done["error"] and "nothing was changed" in done["error"]
    assert cluster["log"] == []


def test_names_that_nobody_knows_and_a_stage_that_runs(master, cluster, monkeypatch):
    runners = master.runners()
    assert "no storage host is called m-nod1: did you mean 'm-node1'?" in runners["crush.move"]("m-nod1")["error"]
    cluster["pillar"] = {}
    assert "no host has a place of its own" in runners["crush.move"]("m-node1")["text"]
    assert "no storage host is called m-nod1" in runners["crush.move"]("m-nod1")["error"], "also where none has a place"
    monkeypatch.setattr(stage_lock, "holder", lambda opts: {"stage": "deploy"})
    assert "stage deploy is running" in runners["crush.move"]("m-node1")["error"]
    assert cluster["log"] == []


def osd(number, cls, **more):
    return {"id": number, "fsid": f"f{number}", "class": cls, "weight": 1.0, **more}


OSDS = {
    "m-node1": {"/dev/a": {"uuids": ["f0", "f1"], "class": "fast"}, "/dev/b": {"uuids": ["f2"]}},
    "m-node2": {"/dev/a": {"uuids": ["f3"], "class": "fast"}},
}


@pytest.fixture
def reclassed(cluster, monkeypatch):
    monkeypatch.setattr(planned, "osds", lambda paths: OSDS)
    cluster["states"] = [osd(0, "ssd"), osd(1, "fast"), osd(2, "hdd"), osd(3, None), osd(9, "ssd")]
    return cluster


def test_classes_are_those_of_profiles_by_name_alone(master, reclassed):
    runners = master.runners()
    assert "name the hosts: salt-run crush.reclass HOST" in runners["crush.reclass"]()["text"]
    dry = runners["crush.reclass"]("m-node1", test=True)["text"]
    assert "about 3 GiB of data move" in dry and "osd.3" not in dry
    assert reclassed["devices"] == {"0": "fast"} and reclassed["log"] == []
    runners["crush.reclass"]("m-node*")
    assert told(reclassed["log"]) == [
        "osd crush rm-device-class osd.0",
        "osd crush set-device-class fast osd.0",
        "osd crush set-device-class fast osd.3",
    ]
    reclassed["states"] = [osd(number, "fast") for number in (0, 1, 3)] + [osd(2, "hdd")]
    assert "nothing changed" in runners["crush.reclass"]("m-node*")["text"] and len(reclassed["log"]) == 3


def test_a_class_that_leaves_a_rule_too_few_domains_is_refused(master, reclassed):
    reclassed["moved"]["pools"]["p"]["lacking"] = 2
    done = master.runners()["crush.reclass"]("m-node1")
    assert done["retcode"] == 2 and "2 placement groups would find too few" in done["error"] and reclassed["log"] == []


def test_an_osd_that_has_no_place_or_is_destroyed_is_of_no_class():
    away = [osd(0, None, weight=None), {**osd(1, "ssd"), "fsid": None}]
    assert classes.differing(OSDS, away, OSDS) == []
