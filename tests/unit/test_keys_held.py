"""Keys are never replaced unasked: what hosts and monitors hold beside the master's, by hash."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from proposals.files.site import Site
from proposals.pillar import generation_disk, held, key_store, secrets
from proposals.stages.records import LONGEST
from proposals.stages.replies import Problem, Replies
from proposals.text.errors import InventoryError, PolicyError
from runners.engine.asking import jobs
from runners.engine.looks import early, keys

CASES = yaml.load((Path(__file__).parent.parent / "fixtures/keys/cases.yaml").read_text(), yaml.CSafeLoader)
STORE = "/var/lib/ceph/mon/ceph-node1/keyring"
MADE = secrets.keys({}, secrets.entities(["node1"], {}))
FSID = "5bd9f8f0-5f5e-4a0e-9a5e-000000000001"
BUILT = SimpleNamespace(roles={"node1": ["mon"], "node2": ["storage"]}, members={"mon": ["node1"]})
SILENT = Problem("node1", "does not answer", silent=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_keys_are_compared(case):
    found = held.against(held.Keys(case["known"], case.get("earlier", {})), case["held"])
    assert [[one.entity, one.lacks, list(one.places)] for one in found] == case.get("finds", [])


def test_places_are_told_and_what_a_minion_calls_them_is_no_command():
    found = held.Against("mon.", True, {"node1": ["/var/\x1b[31m", held.MONITORS]})
    assert held.where(found) == "node1 /var/\\x1b[31m, the monitors (node1)"
    many = held.Against("mon.", True, {f"node{number}": ["/a"] for number in range(9)})
    assert held.where(many).endswith("node3 /a and 5 more places")


@pytest.mark.parametrize("answer", [{1: {}}, {"/a": "x"}, {"/a": {"mon.": 1}}, {"/a": {"mon.": ["x"]}}])
def test_an_answer_of_another_form_is_named(answer):
    assert held.check({"/a": {"mon.": "x"}, "/b": {}})
    with pytest.raises(InventoryError, match="host_keys.inspect"):
        held.check(answer)


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path / "ceph", tmp_path)


@pytest.fixture
def refuse(site, monkeypatch):
    """What configure says before it writes, where hosts answer so: ``refuse({minion: held}, problems)``."""
    monkeypatch.setattr(keys, "site", lambda opts: site)

    def ask(answers, problems=(), hosts=None):
        monkeypatch.setattr(early, "taken", lambda *_: None)
        monkeypatch.setattr(jobs, "ask", lambda *words: Replies(answers, list(problems)))
        return keys.refuse({}, BUILT, hosts or {}, FSID)

    return ask


def made(site, known):
    site.keys.parent.mkdir(parents=True, exist_ok=True)
    site.keys.write_text(json.dumps(known))


def test_fresh_keys_are_made_for_a_cluster_that_does_not_exist(refuse):
    assert refuse({"node1": {}, "node2": {}}) == []


def test_keys_that_are_gone_are_named_with_the_file_to_put_back(refuse, site):
    with pytest.raises(PolicyError) as refused:
        refuse({"node1": {STORE: {"mon.": "m1"}}, "node2": {}})
    assert "mon. is the key of a cluster that exists, and the master has none: node1 " in str(refused.value)
    assert f"put {site.keys} back" in str(refused.value)
    made(site, MADE)
    assert refuse({"node1": {STORE: {"mon.": secrets.digest(MADE["mon."])}}, "node2": {}}) == []


def test_no_fresh_keys_where_a_monitors_host_has_not_answered(refuse, site):
    with pytest.raises(PolicyError, match="node1: does not answer"):
        refuse({"node2": {}}, [SILENT])
    assert refuse({"node1": {}}, [Problem("node2", "does not answer", silent=True)]) == []
    with pytest.raises(PolicyError, match="it has no host_keys.inspect"):
        refuse({"node2": {}}, [Problem("node1", "it has no host_keys.inspect: run ceph.stage.prep")])
    made(site, MADE)
    assert refuse({"node2": {}}, [SILENT]) == []
    assert refuse({"node2": {}}, [Problem("node1", "odd")]) == ["node1: odd"]


def test_no_fresh_keys_where_osds_of_the_cluster_are_left(refuse):
    disks = {"ceph_disks": [{"osds": [{"cluster": FSID}]}]}
    with pytest.raises(PolicyError, match=f"node2: OSDs of cluster {FSID} are there"):
        refuse({"node1": {}, "node2": {}}, hosts={"node2": disks})
    assert refuse({"node1": {}, "node2": {}}, hosts={"node2": {"ceph_disks": [{"osds": [{"cluster": "x"}]}]}}) == []


def test_of_many_hosts_with_osds_the_cause_and_the_next_step_stand_in_the_run_log(refuse, site):
    """It keeps 2,000 characters of a reason: of a thousand names nothing else was left."""
    disks = {"ceph_disks": [{"osds": [{"cluster": FSID}]}]}
    with pytest.raises(PolicyError) as refused:
        refuse({"node1": {}, "node2": {}}, hosts={f"osd{number:04}": disks for number in range(1000)})
    said = str(refused.value)[:LONGEST]
    assert "osd0000, osd0001 and 998 more hosts: OSDs of cluster" in said and f"put {site.keys} back" in said


def test_a_rotated_key_is_remembered_by_its_hash_and_told_to_who_gives_it(site):
    made(site, MADE)
    key_store.rotate(site, "client.admin")
    key_store.rotate(site, "client.admin")
    mine = key_store.held(site)
    assert (
        secrets.digest(MADE["client.admin"]) in mine.earlier["client.admin"] and len(mine.earlier["client.admin"]) == 2
    )
    assert not [key for key in MADE.values() if key in site.earlier.read_text()]
    assert site.earlier.stat().st_mode & 0o777 == 0o600
    roles = {"node1": ["mon"], "node2": ["storage"], "salt": ["master"]}
    built = SimpleNamespace(roles=roles, secrets=lambda minion, _: {
        "node1": {"mon": "x"}, "node2": {"bootstrap-osd": "x"}, "salt": {"register": "x"}}[minion])  # fmt: skip
    told = generation_disk._secrets(built, {}, mine.earlier)
    assert {name for name, content in told.items() if "ceph_earlier_keys" in content} == {"node1.yml", "salt.yml"}


def test_a_rotated_password_is_no_key(site):
    made(site, {**MADE, "dashboard.admin": "secret"})
    key_store.rotate(site, "dashboard.admin")
    assert not site.earlier.exists() and "dashboard.admin" not in key_store.held(site).known
