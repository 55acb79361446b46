"""``salt-run proposal.*`` in real processes, over an inventory that is on file."""

import json
import os
import shutil

import pytest
import yaml
from saltmaster import Master, side_by_side

from proposals.disks import arguments as disks
from proposals.networking import arguments as networks
from proposals.policy import store
from proposals.reference import machines

pytestmark = pytest.mark.processes
ARGUMENTS = ["name=mine", "ratio=4", "db=440-450", "db-size=50g", "data=2790-2800", "target=node*"]


@pytest.fixture(scope="module")
def master(salt_factories):
    """A master whose inventory holds three nodes of the reference rack."""
    made = salt_factories.salt_master_daemon("proposal", factory_class=Master)
    hosts = list(machines.inventory("mellanox-500tb")["hosts"].values())[:3]
    folder = made.pillar / "inventory"
    folder.mkdir(parents=True)
    for number, host in enumerate(hosts, start=1):
        (folder / f"node{number}.json").write_text(json.dumps(host))
        made.accept(f"node{number}")
    done = made.typed("proposal.populate", *ARGUMENTS)
    assert (done.returncode, done.stderr) == (0, "")
    return made


def test_salt_run_explains_arguments_as_help_does(master):
    for verb, table in (("proposal.peek", disks), ("networks.populate", networks)):
        told = " ".join(master.typed("-d", verb).stdout.split())
        missing = [
            name for name, each in table.ARGUMENTS.items() if f"{each.meaning} (default: {each.default})" not in told
        ]
        assert missing == [] and "CLI Example" in told, told


def test_every_verb_answers_once_populated(master):
    root = master.pillar / "proposals"
    disk = next(iter(json.loads((root / "profile-mine/proposal.json").read_text())["hosts"]["node1"]["disks"]))["id"]
    words = {
        "again": ["proposal.populate", *ARGUMENTS],
        "explain": ["proposal.explain", "node1", disk, *ARGUMENTS],
        "same": ["proposal.diff", "mine", "mine"],
        "live": ["proposal.diff", "mine"],
        "export": ["proposal.export", "mine", "as=cephadm"],
        "page": ["proposal.page", "mine", f"file={root}/mine.html"],
        "no picture": ["proposal.page", "mine", f"file={root}/policy.cfg"],
        "no form": ["proposal.export", "mine", "as=helm"],
        "no proposal": ["proposal.show", "other"],
        "no host": ["proposal.explain", "node9", disk],
    }
    done = dict(zip(words, side_by_side(master.typed, words.values()), strict=True))
    assert {name: answer.returncode for name, answer in done.items()} == {
        **dict.fromkeys(words, 0),
        **dict.fromkeys(("no form", "no picture", "no proposal", "no host"), 2),
    }
    assert {name: answer.stderr for name, answer in done.items() if answer.stderr} == {}
    assert "known are" in done["no form"].stdout
    assert "stored are mine" in done["no proposal"].stdout
    assert "service_type: osd" in done["export"].stdout
    assert (root / "policy.cfg").is_file()


def test_discovery_leaves_a_proposal_alone_that_was_made_with_arguments(master):
    folder = master.pillar / "proposals/profile-default"
    assert master.typed("proposal.populate", "ratio=2").returncode == 0
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = master.typed("proposal.default")
    assert (done.returncode, done.stderr) == (0, "")
    assert "made with ratio=2 and is left alone" in done.stdout
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    shutil.rmtree(folder)
    assert "72 OSDs on 3 hosts" in master.typed("proposal.default").stdout
    written = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert written and written != before
    assert master.typed("proposal.default").returncode == 0
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == written


@pytest.mark.parametrize("path", ["profile-default/proposal.json", "policy.cfg"])
def test_a_file_that_is_broken_keeps_nobody_from_discovery(master, path):
    """Its last step, for which nobody asked, failed the stage, and all stages behind it."""
    file = master.pillar / "proposals" / path
    before = file.read_text() if file.exists() else None
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("../x\n")
    done = master.runners()["proposal.default"]()
    file.unlink() if before is None else file.write_text(before)
    assert "retcode" not in done and done["text"].startswith("warning: no default proposal can be made: "), done
    assert path in done["text"]


def test_what_is_shown_was_planned(master):
    shown, peeked = side_by_side(master.asked, [["proposal.show", "mine"], ["proposal.peek", *ARGUMENTS]])
    assert shown.data["summary"]["osds"] == peeked.data["summary"]["osds"] == 72


def test_a_tree_shows_what_hangs_on_what(master):
    for function, words in (("proposal.show", {"name": "mine"}), ("proposal.peek", {"ratio": 9})):
        told = master.runners()[function](tree=True, **words)["text"]
        assert "└── " in told and "── S " in told, told
    assert "tree=x: expected true or false" in master.runners()["proposal.show"]("mine", tree="x")["error"]


def test_what_the_inventory_does_not_tell_is_named(master):
    """Accepted and never seen; seen long ago. Beside the plan, for a person and for a program."""
    key = master.accept("node7")
    seen = master.pillar / "inventory/node2.json"
    before = seen.stat()
    os.utime(seen, (0, 0))
    words = ["proposal.peek", *ARGUMENTS]
    try:
        person, program = master.typed(*words), master.asked(*words)
    finally:
        key.unlink()
        os.utime(seen, (before.st_atime, before.st_mtime))
    missing = "not in the inventory: node7: run ceph.stage.discovery"
    old = "looked at by discovery more than 7 days ago: node2: run ceph.stage.discovery"
    assert person.returncode == program.returncode == 0
    assert person.stdout.splitlines()[-2:] == program.data["messages"] == [missing, old]


def test_a_host_that_is_gone_has_no_say_in_a_plan(master):
    """Its key was deleted; the machine came back under another id, say."""
    runners, old = master.runners(), master.pillar / "inventory/old1.json"
    verbs = [("proposal.peek", {"ratio": 9}), ("networks.peek", {"cluster_network": "192.168.100.0/24"})]
    before = [runners[verb](**words) for verb, words in verbs]
    old.write_text((master.pillar / "inventory/node1.json").read_text())
    try:
        assert [runners[verb](**words) for verb, words in verbs] == before
    finally:
        old.unlink()
    assert all("node3" in each["text"] and "error" not in each for each in before), before


def test_a_diff_shows_a_new_host_that_a_compound_match_means(master):
    """The words of a match were taken for a glob on ids: 'no difference', whoever had come."""
    runners, new = master.runners(), master.pillar / "inventory/node8.json"
    assert "error" not in runners["proposal.populate"](name="some", target="L@node1,node2 or node8")
    try:
        new.write_text((master.pillar / "inventory/node3.json").read_text())
        key = master.accept("node8")
        done = runners["proposal.diff"]("some", __out="json")
        key.unlink()
    finally:
        new.unlink()
    assert done["retcode"] == 1 and list(done["hosts"]) == ["node8"] and done["hosts"]["node8"]["added"], done
    assert runners["proposal.diff"]("some", __out="json")["same"]


def test_a_diff_with_live_hosts_says_what_it_needs(master):
    bad = {
        ("proposal.diff", "mine", "mine", "live=true"): "live=true compares one proposal with its hosts",
        ("proposal.diff", "mine", "live=2"): "live=2: expected true or false",
    }
    for done, told in zip(side_by_side(master.typed, bad), bad.values(), strict=True):
        assert (done.returncode, done.stderr) == (2, "")
        assert told in done.stdout


def test_two_that_write_one_proposal_at_once_do_not_mix(master, monkeypatch):
    """The second comes when the first has decided what it writes: proposal.json was one's, the profile the other's."""
    populate = master.runners()["proposal.populate"]
    words = {"name": "both", "db": "440-450", "data": "2790-2800", "ratio": 4}
    populate(**words, **{"db-size": "50g"})
    said, real = [], store.atomic.write_many

    def write_many(*more):
        monkeypatch.setattr(store.atomic, "write_many", real)
        said.append(populate(**words, **{"db-size": "30g"}))
        real(*more)

    monkeypatch.setattr(store.atomic, "write_many", write_many)
    done = populate(**words, **{"db-size": "50g"})
    assert "retcode" not in done, done
    folder = master.pillar / "proposals/profile-both"
    shown = json.loads((folder / "proposal.json").read_text())["hosts"]["node1"]["osds"][0]["db_size"]
    written = yaml.load((folder / "stack/default/ceph/minions/node1.yml").read_text(), yaml.CSafeLoader)["ceph"][
        "storage"
    ]["osds"]
    assert {shown} == {osd["db_size"] for osd in written.values() if "db_size" in osd} == {50 << 30}
    assert said[0]["retcode"] == 2 and "proposal.populate is running on this master" in said[0]["error"], said
    shutil.rmtree(folder)
