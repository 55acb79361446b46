"""What a stage's look asks of the cluster: one connection, the answers that each function gives alone."""

import pytest
from played_monitors import monitors  # noqa: F401  a fixture
from salt.exceptions import CommandExecutionError

from runners.engine.looks import stage_look

STATUS = {"health": {}, "quorum_names": ["node1"], "monmap": {}, "mgrmap": {}, "pgmap": {}, "servicemap": {}}
OSD = {"osd": 0, "uuid": "a", "up": 1, "in": 1, "state": ["exists", "up"], "up_from": 5}
NODES = [{"id": -2, "name": "node1", "type": "host", "children": [0]}]
NODES += [{"id": 0, "name": "osd.0", "type": "osd", "crush_weight": 1.0, "device_class": "hdd"}]
KEPT = {"halocline/noout": "node1 node2", "halocline/move": "theirs salt-run crush.move node1", "halocline/filler": "x"}
KEPT |= {"halocline/maintenance/node2": '{"minion": "node2"}'}
ANSWERS = {
    "status": STATUS,
    "quorum_status": {"monmap": {"mons": [{"name": "node1"}]}, "quorum_names": ["node1"]},
    "mgr metadata": [{"name": "node1"}],
    "mds metadata": [],
    "config dump": [{"section": "osd", "name": "a", "value": "1", "can_update_at_runtime": False}],
    "osd dump": {
        "flags": "sortbitwise",
        "osds": [OSD],
        "last_up_change": "0.000000",
        "last_in_change": "0.000000",
        "erasure_code_profiles": {},
    },
    "osd tree": {"nodes": NODES},
    "osd crush rule dump": [{"rule_id": 0, "rule_name": "replicated_rule", "steps": []}],
    "osd pool ls detail": [],
    "config-key dump halocline/": KEPT,
    **{
        f"config-key dump {key}": {each: text for each, text in KEPT.items() if each.startswith(key)}
        for key in (
            "halocline/noout",
            "halocline/move",
            "halocline/fill",
            "halocline/removal",
            "halocline/maintenance/",
            "halocline/mon_allow_pool_delete",
        )
    },
}
COMMANDS = {
    "osd pool ls detail": {"prefix": "osd pool ls", "detail": "detail"},
    **{said: {"prefix": "config-key dump", "key": said.split()[-1]} for said in ANSWERS if "config-key" in said},
}


@pytest.fixture
def ceph(monitors):  # noqa: F811
    """Monitors that answer so; a function of theirs changes an answer."""
    monitors.said = lambda said, *answer, **more: monitors.answer(COMMANDS.get(said, {"prefix": said}), *answer, **more)
    for said, document in ANSWERS.items():
        monitors.said(said, document)
    return monitors


@pytest.mark.slow
def test_a_stages_look_is_one_connection_and_each_function_answers_as_it_does_alone(modules, ceph):
    alone = {name: modules[name](*arguments) for name, arguments in stage_look.CLUSTER.items()}
    assert len(ceph.connected()) > len(alone)
    assert modules["cluster_cli.together"](stage_look.CLUSTER) == alone and len(ceph.connected()) == 1
    assert ceph.typed() == []
    assert alone["cluster_maintenance.noted"] == ["node1", "node2"] and alone["cluster_fill.inspect"]["begun"] is None


@pytest.mark.slow
def test_in_a_job_to_many_hosts_one_alone_asks_the_cluster(modules, ceph):
    here = modules["config.get"]("id")
    assert modules["cluster_cli.together"](stage_look.CLUSTER, "another") == {} and ceph.connected() == []
    told = modules["cluster_cli.together"](stage_look.CLUSTER, here)
    assert told["cluster_maintenance.hosts"] == {"node2": {"minion": "node2"}} and len(ceph.connected()) == 1


@pytest.mark.slow
def test_nothing_is_remembered_behind_it(modules, ceph):
    modules["cluster_cli.together"](stage_look.CLUSTER)
    ceph.said("osd dump", {**ANSWERS["osd dump"], "osds": []})
    assert modules["cluster_osds.states"]() == []
    ceph.said("osd tree", status=-22)
    with pytest.raises(CommandExecutionError, match="EINVAL"):
        modules["cluster_cli.together"](stage_look.CLUSTER)
    ceph.said("osd tree", ANSWERS["osd tree"])
    ceph.said("osd dump", ANSWERS["osd dump"])
    assert len(modules["cluster_osds.states"]()) == 1


@pytest.mark.slow
def test_what_one_function_does_to_its_answer_no_other_sees(modules, ceph, python_module, monkeypatch):
    module = python_module("cluster_osds")
    monkeypatch.setattr(module, "states", lambda: module.__salt__["cluster_cli.ask"](["osd", "dump"])["osds"].clear())
    told = modules["cluster_cli.together"]({"cluster_osds.states": [], "cluster_health.inspect": []})
    assert len(told["cluster_health.inspect"]["osd_dump"]["osds"]) == 1
