"""What the cluster says of a host and keeps of its maintenance: flags and a key store that are played."""

import json

import pytest
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

TREE = [
    {"id": -1, "type": "root", "name": "default", "children": [-2]},
    {"id": -2, "type": "host", "name": "node1", "children": [0, 1]},
    *({"id": osd, "type": "osd", "name": f"osd.{osd}", "status": "up"} for osd in range(2)),
]


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
            return {"nodes": TREE}
        if words == ["osd", "dump"]:
            return {"crush_node_flags": {name: ["noout"] for name in flagged}}
        if words == ["mgr", "dump"]:
            return {"active_name": "node1", "available": True, "standbys": [{"name": "node2"}]}
        assert words[:2] == ["config-key", "dump"]
        return {key: text for key, text in kept.items() if key.startswith(words[2])}

    asks = {"cluster_cli.tell": tell, "cluster_cli.ask": ask, "cluster_cli.kept": kept.get}
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


def moment(module):
    module.begin("node1")
    yield
    module.end()


def maintenance(module):
    module.note("node1", module.hosts().get("node1", {"noout": []}))
    module.claim("node1")
    yield
    module.forget("node1")


@pytest.mark.parametrize("work", [moment, maintenance])
def test_a_noout_that_somebody_had_set_stays(monitors, flagged, work):
    module, kept, told = monitors
    flagged.add("node1")
    assert [flagged == {"node1"} for _ in work(module)] == [True]
    assert (flagged, kept) == ({"node1"}, {}) and not [words for words in told if words[0] == "osd"]


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
