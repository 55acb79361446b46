"""``salt-run proposal.*`` in real processes, over an inventory that is on file."""

import json
import os

import pytest
from saltmaster import Master

from proposals.reference import machines

ARGUMENTS = ["name=mine", "ratio=4", "db=440-450", "db-size=50g", "data=2790-2800", "target=node*"]


@pytest.fixture(scope="module")
def master(tmp_path_factory):
    """A master whose inventory holds three nodes of the reference rack."""
    made = Master(tmp_path_factory.mktemp("proposal"))
    hosts = list(machines.inventory("mellanox-500tb")["hosts"].values())[:3]
    folder = made.pillar / "ceph/inventory"
    folder.mkdir(parents=True)
    for number, host in enumerate(hosts, start=1):
        (folder / f"node{number}.json").write_text(json.dumps(host))
        made.accept(f"node{number}")
    done = made.run("proposal.populate", *ARGUMENTS, limit=120)
    assert (done.code, done.err) == (0, "")
    return made


def test_every_verb_answers_once_populated(master):
    root = master.pillar / "ceph/proposals"
    disk = next(iter(json.loads((root / "profile-mine/proposal.json").read_text())["hosts"]["node1"]["disks"]))["id"]
    words = {
        "peek": ["proposal.peek", *ARGUMENTS, "--out", "json"],
        "show": ["proposal.show", "mine", "--out", "json"],
        "again": ["proposal.populate", *ARGUMENTS],
        "explain": ["proposal.explain", "node1", disk, *ARGUMENTS],
        "same": ["proposal.diff", "mine", "mine"],
        "live": ["proposal.diff", "mine"],
        "export": ["proposal.export", "mine", "as=cephadm"],
        "no form": ["proposal.export", "mine", "as=helm"],
        "no proposal": ["proposal.show", "other"],
        "no host": ["proposal.explain", "node9", disk],
    }
    done = dict(zip(words, master.run_all(list(words.values())), strict=True))
    assert {name: each.code for name, each in done.items()} == {
        **dict.fromkeys(words, 0),
        **dict.fromkeys(("no form", "no proposal", "no host"), 2),
    }
    assert {name: each.err for name, each in done.items() if each.err} == {}
    shown, peeked = json.loads(done["show"].out), json.loads(done["peek"].out)
    assert shown["summary"]["osds"] == peeked["summary"]["osds"] == 72
    assert "did you mean" in done["no form"].out or "known are" in done["no form"].out
    assert "there are: mine" in done["no proposal"].out
    assert "service_type: osd" in done["export"].out
    assert (root / "policy.cfg").is_file()


def test_what_the_inventory_does_not_tell_is_named(master):
    """Accepted and never seen; seen long ago. Beside the plan, for a person and for a program."""
    master.accept("node7")
    seen = master.pillar / "ceph/inventory/node2.json"
    before = seen.stat()
    os.utime(seen, (0, 0))
    try:
        told, program = master.run_all([["proposal.peek", *ARGUMENTS], ["proposal.peek", *ARGUMENTS, "--out", "json"]])
    finally:
        (master.root / "pki/minions/node7").unlink()
        os.utime(seen, (before.st_atime, before.st_mtime))
    missing = "not in the inventory: node7: run ceph.stage.discovery"
    old = "looked at by discovery more than 7 days ago: node2: run ceph.stage.discovery"
    assert told.code == program.code == 0
    assert told.out.splitlines()[-2:] == json.loads(program.out)["messages"] == [missing, old]


def test_a_diff_with_live_hosts_says_what_it_needs(master):
    both, bad = master.run_all([["proposal.diff", "mine", "mine", "live=true"], ["proposal.diff", "mine", "live=2"]])
    for done in (both, bad):
        assert (done.code, done.err) == (2, "") and "live=true compares one proposal with its hosts" in done.out
