"""What one minion or one file says holds back only itself, and never ends in a traceback. Cases are data."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from planning import FIXTURES, apollo, inventory, peek

from proposals.disks import arguments, plan
from proposals.files.documents import parse_yaml
from proposals.inventory import compare, kept
from proposals.policy import store
from proposals.text.errors import InventoryError, ProposalError, StoreError
from proposals.text.names import shown

CASES = yaml.load((FIXTURES / "hostile-files.yaml").read_text(), yaml.CSafeLoader)
TEXTS = {  # too long to stand in a case file
    "nested lists": "[" * 100_000,
    "nested dashes": "- " * 100_000,
    "nested keys": "? " * 100_000,
    "nested lines": "\n".join(" " * depth + "a:" for depth in range(500)),
    "a number without end": f"a: 0x{'f' * 5000}",
    "aliases of aliases": "\n".join(
        [f"a0: &a0 [{'x, ' * 9}x]", *(f"a{n + 1}: &a{n + 1} [{f'*a{n}, ' * 9}*a{n}]" for n in range(9))]
    ),
    "an alias of itself": "a: &a [*a]",
    "a key twice": "pools:\n  rbd: {}\nfsid: x\n# more\npools:\n  data: {}\n",
    "a key twice, further in": "ceph:\n  {db: 1, 'db': 2}\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_yaml_has_limits_that_a_message_names(name):
    with pytest.raises(StoreError, match=CASES["texts"][name]):
        parse_yaml(TEXTS[name], "x.yml")


def test_aliases_that_people_write_are_read():
    assert parse_yaml("a: &a {b: 1}\nc: [*a, *a]\nd: {<<: *a, e: 2}\n", "x.yml")["d"] == {"b": 1, "e": 2}


def test_a_key_that_a_merge_brings_may_be_told_otherwise():
    """Also where the mapping that is merged merges another one, and lies deeper than it."""
    text = "a: &a {b: 1}\nx: {y: {z: &z {<<: *a, b: 2}}}\nc: {<<: *z, b: 3, d: 4}\n"
    assert parse_yaml(text, "x.yml") == {"a": {"b": 1}, "x": {"y": {"z": {"b": 2}}}, "c": {"b": 3, "d": 4}}


def test_keys_that_are_the_same_text_stand_once():
    assert parse_yaml("1: a\n'1': b\n", "x.yml") == {1: "a", "1": "b"}
    with pytest.raises(StoreError, match=r"x.yml line 2 .*'1' stands there twice \(line 1\)"):
        parse_yaml("1: a\n'1': b\n", "x.yml", text_keys=True)


@pytest.mark.parametrize("name", CASES["disks"])
def test_a_disk_that_says_nonsense_is_unused_and_the_others_are_planned(name):
    case = CASES["disks"][name]
    raw = inventory(node1=[{"is": "hdd6", "count": 3}], node2=[{"is": "hdd6"}])
    raw["hosts"]["node2"]["ceph_disks"][0] |= case["disk"]
    answer = peek(raw, case.get("arguments", ""))
    assert len(answer["hosts"]["node1"]["osds"]) == 3
    (disk,) = answer["hosts"]["node2"]["disks"]
    assert disk["role"] == "unused" and case["reason"] in disk["reason"], disk
    assert json.dumps(answer)


@pytest.mark.parametrize("name", CASES["hosts"])
def test_a_host_that_cannot_be_read_is_left_out_and_named(name):
    case = CASES["hosts"][name]
    raw = inventory(node1=[{"is": "hdd6", "count": 3}])
    raw["hosts"] |= case["hosts"]
    answer = peek(raw)
    assert list(answer["hosts"]) == ["node1"] and len(answer["hosts"]["node1"]["osds"]) == 3
    assert [text for text in answer["warnings"] if case["warning"] in text and "left out" in text], answer["warnings"]
    with pytest.raises(InventoryError, match=case["warning"]):
        peek({"hosts": case["hosts"]})


def test_hosts_keep_the_names_that_yaml_reads_as_something_else(tmp_path):
    disk = "{device: /dev/sda, size: 6001175126016, rotational: true}"
    names = [str(name) for name in CASES["names"]]
    file = tmp_path / "hosts.yaml"
    file.write_text("hosts:\n" + "".join(f"  {name}: {{ceph_disks: [{disk}]}}\n" for name in names))
    assert sorted(peek(kept.load_inventory(file))["hosts"]) == sorted(names)


def test_keys_of_the_settings_that_are_no_text_hold_no_plan_back(tmp_path):
    """Who chooses that file is told of them; discovery and peek read its networks alone."""
    settings = tmp_path / "proposals/config/stack/default/ceph/cluster.yml"
    settings.parent.mkdir(parents=True)
    settings.write_text("public_network: 10.0.0.0/24\n2: x\nyes: 1\n")
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory/node1.json").write_text('{"ceph_disks": []}')
    assert kept.load_inventory(tmp_path / "inventory")["networks"] == {"public_network": "10.0.0.0/24"}


def test_no_number_is_too_long_to_be_shown():
    assert shown(16**5000).startswith("0x1000")


@pytest.mark.parametrize("name", CASES["differences"])
def test_diff_refuses_what_is_neither_a_proposal_nor_an_inventory(name):
    with pytest.raises(InventoryError, match="one of these files is neither"):
        compare.differences(CASES["differences"][name], apollo())


@pytest.fixture
def wanted():
    return plan.peek(apollo(), arguments.parse(["ratio=9", "target=osd*"]))


@pytest.mark.slow
@pytest.mark.parametrize("path", ["policy.cfg", "config/stack/default/ceph/cluster.yml"])
def test_status_2_means_that_nothing_was_written(path, wanted, tmp_path):
    store.populate(tmp_path, wanted)
    broken = tmp_path / path
    broken.write_text("a: [\n../x\n")
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    other = plan.peek({**apollo(), "cluster": None}, arguments.parse(["ratio=2", "target=osd*"]))
    with pytest.raises(ProposalError):
        store.populate(tmp_path, other)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


@pytest.mark.slow
def test_the_first_populate_that_was_interrupted_is_told_as_such(wanted, tmp_path):
    store.populate(tmp_path, wanted)
    file = tmp_path / "profile-default/proposal.json"
    file.write_text(json.dumps({"name": "default", "arguments": {}, "hosts": {}, "files": {}, "pending": {}}))
    with pytest.raises(ProposalError, match="was interrupted: run populate again"):
        store.finished_proposal(tmp_path, "default")
    assert store.populate(tmp_path, wanted).status == 0
    assert store.finished_proposal(tmp_path, "default")["summary"]["osds"] == 216


def run(*words, **more):
    """``python -m proposals`` in a process of its own: standard output goes where ``more`` says."""
    return subprocess.run([sys.executable, "-m", "proposals", *words], stderr=subprocess.PIPE, text=True, **more)


@pytest.mark.slow
def test_output_that_cannot_be_written_is_one_message():
    with Path("/dev/full").open("w") as full:
        done = run("reference", "apollo", stdout=full)
    told = "error: the answer cannot be written: No space left on device: make room there, then run this again\n"
    assert (done.returncode, done.stderr) == (1, told)
    closed = run("peek", "reference:apollo", preexec_fn=lambda: os.close(1))
    assert (closed.returncode, closed.stderr.count("\n")) == (2, 1) and "standard output is closed" in closed.stderr


@pytest.mark.slow
def test_a_terminal_that_knows_only_ascii_gets_the_answer():
    done = run("peek", "reference:apollo", stdout=subprocess.PIPE, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "") and "osdnode1" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("words", [["peek", "x" * 5000], ["policy", "x" * 300], ["show", ".", "x" * 300]])
def test_names_that_are_too_long_are_one_message(words):
    done = run(*words, stdout=subprocess.PIPE)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.slow
def test_an_argument_that_is_not_text_is_refused():
    done = run("peek", "reference:apollo", "target=\udcff", "--format", "yaml", stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (2, "") and "is not UTF-8 text" in done.stderr
