"""What services make of roles and settings, case by case; and what two of them would do to each other."""

import pytest
import yaml
from planning import FIXTURES

from proposals.services import cephfs, monitoring, planning, service_answers
from proposals.services.service import PlannedCluster, Service
from proposals.services.service_plan import ServicePlan
from proposals.services.table import SERVICES, named, roles
from proposals.settings import reader

CASES = [
    pytest.param(case, id=f"{path.stem}-{case['name']}")
    for path in sorted((FIXTURES / "services").glob("*.yaml"))
    for case in yaml.load(path.read_text(), yaml.CSafeLoader)
]


def plan(roles, settings=None, given=()):
    hosts = {
        minion: {
            "hostname": minion,
            "addresses": [f"10.0.0.{number}/24"],
            "ceph_nics": [{"name": "eth0", "addresses": [f"10.0.0.{number}/24"]}],
        }
        for number, minion in enumerate(sorted(roles), start=1)
    }
    read = reader.read({"public_network": "10.0.0.0/24", **(settings or {})})
    made = planning.plan(PlannedCluster(roles, hosts, read, frozenset(given)))
    return made, [*read.lines(), *made.whole.problems]


@pytest.mark.parametrize("case", CASES)
def test_a_plan(case):
    made, problems = plan(case["roles"], case.get("settings"), case.get("given", ()))
    wrong = case.get("wrong", [])
    assert len(problems) == len(wrong), problems
    assert [line for line, part in zip(problems, wrong, strict=True) if part not in line] == []
    if "services" in case:
        assert list(made.plans) == case["services"]
    every = {
        "parts": {part: told for service in made.plans.values() for part, told in service.parts.items()},
        "pools": {name: said for service in made.plans.values() for name, said in service.pools.items()},
        "entities": made.whole.entities,
        "secrets": {minion: made.whole.secrets.get(minion, {}) for minion in case["roles"]},
        "passwords": sorted(made.whole.passwords),
        "conf": made.conf(),
        "cluster": {name: service.cluster for name, service in made.plans.items()},
        "ports": {name: service.ports for name, service in made.plans.items()},
    }
    for key, expected in case.items():
        if key in every:
            found = every[key] if isinstance(expected, list) else {name: every[key].get(name) for name in expected}
            assert found == expected, key


def test_two_that_want_one_port(monkeypatch):
    def wants(process):
        return lambda _: ServicePlan(ports={"node1": {8443: process}})

    services = (Service("one", wants("radosgw")), Service("two", wants("ceph-mgr")))
    monkeypatch.setattr(planning, "SERVICES", services)
    _, (problem,) = plan({"node1": []})
    assert problem == "node1: port 8443 is wanted by ceph-mgr and radosgw: give one of them another port"


def test_the_roles_that_a_site_names():
    written = {"rgw_configurations": {"secure": None, "../x": None}, "ganesha_configurations": ["silver"]}
    assert roles(reader.read(written)) == ["ganesha", "rgw", "secure", "silver"]
    assert roles(reader.read({"rgw_configurations": ["public"]})) == ["ganesha", "public", "rgw"]


def test_file_systems_are_made_once():
    told = {"file_systems": {"a": {"data": {"erasure": "2+2"}, "metadata": {}, "max_mds": 2, "standby_replay": False}}}
    fresh = [" ".join(words) for words in cephfs.commands(told, {"file_systems": []})]
    assert fresh == ["fs new a a_metadata a_data", "fs add_data_pool a a_data_ec", "fs set a max_mds 2"]
    there = {"name": "a", "data_pools": ["a_data", "a_data_ec"], "max_mds": 2, "standby_replay": False}
    assert list(cephfs.commands(told, {"file_systems": [there]})) == []
    assert list(cephfs.commands({**told, "adopted": ["a"]}, {"file_systems": []})) == []


@pytest.mark.parametrize(
    ("said", "runs"),
    [
        ({}, []),
        ({"standby_replay": True}, []),
        ({"max_mds": 2}, ["fs set old max_mds 2"]),
        ({"standby_replay": False}, ["fs set old allow_standby_replay false"]),
    ],
)
def test_a_file_system_keeps_what_the_site_does_not_say_of_it(said, runs):
    settings = {"adopted_file_systems": ["old"], "cephfs": {"old": said}}
    made, problems = plan({"node1": ["mds"], "node2": ["mds"]}, settings)
    there = {"name": "old", "data_pools": ["x"], "max_mds": 3, "standby_replay": True}
    todo = cephfs.commands(made.steps()["cephfs"]["cluster"], {"file_systems": [there]})
    assert (problems, [" ".join(words) for words in todo]) == ([], runs)


RUNNING = {"generation": "g", "ports": [[8080, "apache2"]], "units": ["ceph-mds@node1.service", "ssh.service"]}


def test_what_stands_against_services_is_named():
    steps = {"radosgw": {"parts": {"rgw": ["node1"]}, "ports": {"node1": {8080: "radosgw"}}}}
    found = service_answers.problems(steps, {"node1": RUNNING}, "g2")
    assert "generation g, exp" in found[0] and "held by apache2" in found[1] and len(found) == 2
    assert service_answers.problems({}, {"node1": RUNNING}, "g") == []


@pytest.mark.parametrize(("front", "wrong"), [(["lb1"], 1), (["lb1", "node1"], 0), ([], 0), (None, 0)])
def test_no_second_host_takes_the_address_of_the_gateways_front(front, wrong):
    steps = {"radosgw": {"parts": {"rgw": ["node1"]}, "ports": {}}}
    if front is not None:
        steps["radosgw"]["parts"]["rgw-frontend"] = front
    answers = {"node1": {**RUNNING, "units": ["ceph-rgw-keepalived.service"]}, "lb1": RUNNING}
    found = service_answers.problems(steps, answers, "g")
    assert len(found) == wrong
    assert all(line.startswith("node1: ") and "ceph.stage.removal" in line for line in found)


def test_daemons_of_a_role_that_went_are_named():
    answered = {"node1": RUNNING}
    assert "ceph-mds@node1.service runs" in service_answers.left(named("cephfs"), {}, answered)[0]
    assert service_answers.left(SERVICES, {"cephfs": {"parts": {"mds": ["node1"]}}}, answered) == []
    # A host may have lost one role of a service and kept another.
    still = {"node1": {**RUNNING, "units": ["prometheus.service"]}}
    steps = {"monitoring": {"parts": {"node-exporter": ["node1"], "alertmanager": ["node1"]}}}
    assert "prometheus.service runs" in service_answers.left(SERVICES, steps, still)[0]


def test_a_keyring_on_a_host_that_is_not_named_for_it_is_told():
    steps = {"clients": {"cluster": {"keys": {"client.a": ["node1"], "client.b": []}}, "parts": {}}}
    held = {"keyrings": ["/etc/ceph/ceph.client.a.keyring", "/etc/ceph/ceph.client.own.keyring"], "units": []}
    (line,) = service_answers.left(named("clients"), steps, {"node1": held, "node2": held})
    assert line.startswith("node2: /etc/ceph/ceph.client.a.keyring is there") and line.endswith("client.a: left alone")


def test_what_fails_on_a_host_is_named_once():
    states = {
        "a": {"__id__": "keyring", "result": False, "comment": "no such file", "changes": {}, "__run_num__": 0},
        "b": {"__id__": "running", "result": False, "comment": "One or more requisite failed: a", "changes": {}},
        "c": {"__id__": "packages", "result": True, "comment": "", "changes": {"ceph-mds": 1}, "__run_num__": 2},
    }
    states["b"]["__run_num__"] = 1
    done = service_answers.applied("mds", {"node1": states}, ["node2: does not answer"])
    assert done.failed == ["node2: does not answer", "node1: keyring: no such file"]
    assert done.changes == {"node1": ["packages"]}


def test_a_part_in_test_mode_is_a_step_of_the_stages_plan():
    states = {
        "a": {"__id__": "running", "result": None, "comment": "is set to start", "changes": {}, "__run_num__": 1},
        "b": {"__id__": "packages", "result": True, "comment": "", "changes": {}, "__run_num__": 0},
    }
    done = service_answers.applied("cephfs: mds", {"node1": states}, [], test=True)
    would = [{"state": "running", "comment": "is set to start", "fails": False}]
    assert done.as_step() == {
        "step": "cephfs: mds",
        "comment": "node1 would change",
        "fails": False,
        "minions": {"node1": would},
    }
    fine = service_answers.applied("cephfs: mds", {"node1": {"b": states["b"]}}, ["node2: does not answer"], test=True)
    assert fine.as_step() | {"fails": True} == fine.as_step() and fine.as_step()["minions"] == {}
    assert fine.text() == "cephfs: mds: FAILED: node2: does not answer"
    assert service_answers.applied("keys", {"node1": {"b": states["b"]}}, [], test=True).text() == (
        "keys: nothing would change"
    )


def test_a_plan_that_asks_for_nothing_is_none():
    assert ServicePlan() == ServicePlan() and plan({"node1": ["mon"]})[0].plans == {}


def test_what_a_state_warns_of_is_said():
    warned = "module restful was disabled"
    states = {"a": {"__id__": "served", "result": True, "changes": {"a": 1}, "__run_num__": 0, "warnings": [warned]}}
    done = service_answers.applied("dashboard", {"salt": states}, [])
    assert done.text() == f"dashboard: salt changed\ndashboard: salt: {warned}"


def test_a_program_that_each_family_names_otherwise_holds_its_own_port():
    steps = {"monitoring": {"parts": {}, "ports": {"node1": {8080: "httpd or apache2"}}}}
    assert service_answers.problems(steps, {"node1": RUNNING}, "g") == []


def test_the_exporter_of_the_managers_is_enabled_once():
    wanted = {"scrape_interval": 30}
    fresh = [" ".join(words) for words in monitoring.commands(wanted, {"modules": [], "scrape_interval": None})]
    option = "config set mgr mgr/prometheus/scrape_interval 30"
    assert fresh == [option, "mgr module enable prometheus"]
    there = {"modules": ["prometheus"], "scrape_interval": "15.000000"}
    other = [" ".join(words) for words in monitoring.commands(wanted, there)]
    assert other == ["mgr module disable prometheus", option, "mgr module enable prometheus"]
    there["scrape_interval"] = "30.000000"
    assert list(monitoring.commands(wanted, there)) == []


@pytest.mark.parametrize("ends", range(4))
def test_an_exporter_that_a_run_left_half_way_reads_the_interval_all_the_same(ends):
    """Which it does at its start alone."""
    modules, interval, reads = {"prometheus"}, "15", "15"
    for stop in (ends, None):
        todo = monitoring.commands({"scrape_interval": 30}, {"modules": modules, "scrape_interval": interval})
        for words in list(todo)[:stop]:
            if words[0] == "config":
                interval = words[-1]
            elif words[2] == "disable":
                modules = set()
            elif not modules:
                modules, reads = {"prometheus"}, interval
    assert (modules, interval, reads) == ({"prometheus"}, "30", "30")


@pytest.mark.parametrize("key", reader.KEYS)
def test_no_setting_ends_in_a_traceback(key):
    """Bad input is a problem with words, whatever its kind, where every role asks for its service."""
    every = {"node1": ["mds", "rgw", "ganesha", "igw", "openattic", "prometheus", "alertmanager", "master", "mgr"]}
    for value in (None, 7, "x", True, [1], [None], [[]], {"a": 1}, {1: None}):
        plan(every, {key: value})
        roles(reader.read({key: value}))
