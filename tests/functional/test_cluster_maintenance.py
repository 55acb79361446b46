"""What the cluster says of a host and keeps of its maintenance: flags and a key store that are played."""

import json

import pytest
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

BUCKETS = {"node1": [0, 1], "node2-ssd": [2, 3], "node2-hdd": [4], "node3": [5, 6]}  # hosts in the CRUSH map
RUNS_ON = {0: "node1", 1: "node1", 2: "node2", 3: "node2", 4: "node2.example.com", 5: "node3", 6: "node2", 7: None}
DOWN = {3}


@pytest.fixture
def flagged():
    """What has ``noout``."""
    return set()


@pytest.fixture
def monitors(python_module, flagged):
    """A cluster's key store and what it was told, asked as ``cluster_cli`` does."""
    module, kept, told = python_module("cluster_maintenance"), {}, []

    def tell(words, stdin=None):
        told.append(words)
        if words[:3] == ["osd", "set-group", "noout"]:
            flagged.update(words[3:])
        if words[:3] == ["osd", "unset-group", "noout"]:
            flagged.difference_update(words[3:])
        if words[:2] == ["config-key", "set"]:
            kept[words[2]] = words[3] if stdin is None else stdin
        if words[:2] == ["config-key", "rm"]:
            del kept[words[2]]
        return ""

    def ask(words):
        if words == ["osd", "tree"]:
            return {"nodes": [{"type": "host", "name": name, "children": osds} for name, osds in BUCKETS.items()]}
        if words == ["osd", "metadata"]:
            return [{"id": osd, **({"hostname": host} if host else {})} for osd, host in RUNS_ON.items()]
        if words == ["osd", "dump"]:
            states = {osd: ["exists", *({"noout"} if f"osd.{osd}" in flagged else ())] for osd in RUNS_ON}
            osds = [{"osd": osd, "up": int(osd not in DOWN), "state": state} for osd, state in states.items()]
            return {"crush_node_flags": {name: ["noout"] for name in flagged & BUCKETS.keys()}, "osds": osds}
        if words == ["quorum_status"]:
            return {"quorum_names": ["node1", "node3"]}
        if words == ["mgr", "dump"]:
            return {"active_name": "node1", "available": True, "standbys": [{"name": "node2"}]}
        assert words[:2] == ["config-key", "dump"]
        return {key: text for key, text in kept.items() if key.startswith(words[2])}

    def refused(words):
        told.append(words)
        return "Error EBUSY: unsafe" if words[:2] == ["osd", "ok-to-stop"] else ""

    asks = {"cluster_cli.tell": tell, "cluster_cli.ask": ask, "cluster_cli.kept": kept.get}
    asks |= {"cluster_cli.ask_all": lambda questions: list(map(ask, questions)), "cluster_cli.refused": refused}
    asks["cluster_health.held"] = lambda osds: [f"noup is set for {osds}"] if "noup" in flagged else []
    with LoaderModuleMock({module: {"__salt__": asks, "__opts__": {"id": "salt"}}}):
        yield module, kept, told


def test_the_cluster_keeps_who_is_in_maintenance(monitors, flagged):
    module, kept, told = monitors
    with pytest.raises(CommandExecutionError, match="not in maintenance: nobody would take its noout away"):
        module.claim("node1")
    assert told == []
    module.note("node1", {"minion": "node1", "noout": []})
    assert module.hosts() == {"node1": {"minion": "node1", "noout": []}}
    assert json.loads(kept["halocline/maintenance/node1"]) == module.hosts("salt")["node1"]
    assert module.hosts("admin") == {}, "of a job to many hosts, that one alone asks the cluster"
    assert module.claim("node1") == ["node1"] and flagged == {"node1"}
    assert module.hosts() == {"node1": {"minion": "node1", "noout": ["node1"]}}
    assert module.forget("node1") and module.hosts() == {} and flagged == set()
    told.clear()
    module.note("gateway1", {"noout": []})
    assert module.claim("gateway1") == [] and module.forget("gateway1")
    assert not [words for words in told if words[0] == "osd"], "a host without OSDs has no noout"


@pytest.mark.parametrize(
    ("host", "asked", "names"),
    [
        ("node1", [["mon", "ok-to-stop", "node1"], ["osd", "ok-to-stop", "0", "1"]], {"node1"}),
        ("node2", [["osd", "ok-to-stop", "2", "4", "6"]], {"osd.2", "osd.3", "osd.4", "osd.6"}),
        ("node3", [["mon", "ok-to-stop", "node3"], ["osd", "ok-to-stop", "5", "6"]], {"node3"}),
        ("gateway1", [], set()),
    ],
    ids=["its own bucket", "buckets of other names", "one of its bucket runs elsewhere", "no OSD"],
)
def test_osds_of_a_host_are_those_that_run_there_whatever_crush_calls_it(monitors, flagged, host, asked, names):
    """Of what is down nothing is asked; it gets ``noout`` too."""
    module, kept, told = monitors
    assert module.needed(host) == ["Error EBUSY: unsafe"] * bool(names) and told == asked
    for _ in moment(module, host):
        assert flagged == names
    for _ in maintenance(module, host):
        assert flagged == names
    assert (flagged, kept) == (set(), {})


def test_a_host_is_needed_while_a_flag_is_set_by_which_its_osds_would_not_come_back(monitors, flagged):
    flagged.add("noup")
    assert monitors[0].needed("node2") == ["Error EBUSY: unsafe", "noup is set for [2, 4, 6]"]
    assert monitors[0].needed("gateway1") == []


def test_managers_are_those_that_run(monitors):
    assert monitors[0].managers() == {"active": "node1", "available": True, "running": ["node1", "node2"]}


def test_a_moments_noout_leaves_that_of_maintenance(monitors, flagged):
    """A stage takes away what an interrupted reboot has set, and never what maintenance keeps."""
    module, kept, told = monitors
    module.begin("node1")
    module.note("node1", {"noout": []})
    assert module.claim("node1") == ["node1"], "what an interrupted reboot has set is its own by now"
    told.clear()
    assert module.end() == ["node1"] and told == [["config-key", "rm", "halocline/noout"]]
    module.begin("node1")
    assert module.end() == [] and flagged == {"node1"}
    module.forget("node1")
    module.begin("node1")
    assert module.end() == ["node1"] and (flagged, kept) == (set(), {})


def moment(module, host="node1"):
    module.begin(host)
    yield
    module.end()


def maintenance(module, host="node1"):
    module.note(host, module.hosts().get(host, {"noout": []}))
    module.claim(host)
    yield
    module.forget(host)


@pytest.mark.parametrize("work", [moment, maintenance])
def test_a_noout_that_somebody_had_set_stays(monitors, flagged, work):
    module, kept, told = monitors
    flagged |= {"node1", "osd.4"}
    assert [flagged == {"node1", "osd.4"} for _ in work(module)] == [True]
    assert (flagged, kept) == ({"node1", "osd.4"}, {}) and not [words for words in told if words[0] == "osd"]
    assert [flagged >= {"osd.2", "osd.4"} for _ in work(module, "node2")] == [True]
    assert (flagged, kept) == ({"node1", "osd.4"}, {})


@pytest.mark.parametrize("work", [moment, maintenance])
def test_interrupted_at_any_moment_its_own_noout_is_known_again(monitors, flagged, work):
    module, kept, told = monitors
    tell = module.__salt__["cluster_cli.tell"]
    assert [flagged == {"node1"} for _ in work(module)] == [True] and flagged == set()
    commands = len(told)
    for end in range(1, commands + 1):

        def interrupted(words, stdin=None, end=end):
            tell(words, stdin)
            if len(told) == end:
                raise KeyboardInterrupt

        told.clear()
        module.__salt__["cluster_cli.tell"] = interrupted
        with pytest.raises(KeyboardInterrupt):
            list(work(module))
        module.__salt__["cluster_cli.tell"] = tell
        list(work(module))
        assert (flagged, kept) == (set(), {}), told


def test_a_record_from_before_an_upgrade_has_noout_for_its_host(monitors, flagged):
    module, kept, _ = monitors
    flagged.add("node1")
    module.note("node1", {})
    assert module.forget("node1") and (flagged, kept) == (set(), {})
