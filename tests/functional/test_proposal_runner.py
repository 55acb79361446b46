"""``salt-run proposal.*`` in real processes, over an inventory that is on file."""

import json

import pytest
from saltmaster import Master

from proposals import reference

ARGUMENTS = ["name=mine", "ratio=4", "db=440-450", "db-size=50g", "data=2790-2800", "target=node*"]


@pytest.fixture(scope="module")
def master(tmp_path_factory):
    """A master whose inventory holds three nodes of the reference rack."""
    made = Master(tmp_path_factory.mktemp("proposal"))
    hosts = list(reference.inventory("mellanox-500tb")["hosts"].values())[:3]
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
