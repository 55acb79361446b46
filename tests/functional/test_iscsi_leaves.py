"""An iSCSI gateway that leaves, or does not answer: another one serves its targets, or it stays; a look tells it."""

import copy
from types import SimpleNamespace

import pytest
from salt.exceptions import CommandExecutionError

from proposals.cluster.removal.items import Item, Wanted
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs, minions
from runners.engine.removal import leaving

BOTH, ALONE, EMPTY = (f"iqn.2026-11.com.example:{name}" for name in ("both", "alone", "empty"))
PORTALS = {name: {"portal_ip_addresses": [f"10.0.0.{name[3]}"]} for name in ("igw1.x", "igw2.x")}
RECORD = {
    "targets": {
        BOTH: {"portals": PORTALS, "disks": {"rbd/a": {}}},
        ALONE: {"portals": {"igw2.x": PORTALS["igw2.x"]}, "disks": {"rbd/b": {}}},  # by gwcli, which lets it stay
        EMPTY: {"portals": {"igw2.x": PORTALS["igw2.x"]}, "disks": {}},
    }
}


@pytest.fixture
def api(python_module, monkeypatch):
    """The module, and what its API was told."""
    module, told = python_module("iscsi"), []

    def call(host, path, form=None, what="read", method="PUT"):
        if form is None:
            return copy.deepcopy(RECORD)
        told.append((method, path))
        return {}

    monkeypatch.setattr(module, "_call", call)
    return module, told


def test_a_gateway_that_alone_serves_a_target_leaves_none(api):
    module, told = api
    with pytest.raises(CommandExecutionError, match=f"{ALONE}: igw2 alone serves it"):
        module.release("igw2")
    assert told == []
    assert module.release("igw1") == [f"{BOTH}: without igw1.x"] and told == [("DELETE", f"gateway/{BOTH}/igw1.x")]


def test_nothing_leaves_before_another_gateway_serves_its_targets(api, monkeypatch):
    """It is asked of one that stays, before the first change; where all of them leave, nobody is asked."""
    module, asked = api[0], []

    def one(opts, minion, function, words=(), kind=None, timeout=0):
        asked.append((minion, function))
        if minion == "down":
            raise ProposalError("down: does not answer")
        return getattr(module, function.partition(".")[2])(*words)

    monkeypatch.setattr(jobs, "one", one)
    monkeypatch.setattr(leaving, "served_name", lambda _: "g")
    monkeypatch.setattr(minions, "members", lambda _: {"storage": ["a"], "mon": ["a"]})
    gateway = {"hostname": "igw2", "parts": {"igw": {}}, "osds": []}

    def against(*stay, given_up=False):
        look = SimpleNamespace(
            items=(Item("igw", "igw", "igw2", given_up=given_up),),
            before={"igw2": gateway},
            wanted=Wanted({name: {"parts": {"igw": {}}} for name in stay}),
            seen=dict.fromkeys(("monitors", "quorum", "managers", "file_systems", "standbys"), ()),
            generations={},
            osds=[],
        )
        return leaving.against({}, look)

    (line,) = against("igw1")
    assert line.startswith(f"igw2: {ALONE}: igw2 alone serves it") and asked == [("igw1", "iscsi.alone")]
    assert against("down") == ["down: does not answer"]
    asked.clear()
    assert against() == [] and against("igw1", given_up=True) == [] and asked == []


def test_a_gateway_that_runs_and_does_not_answer_is_told_where_a_stage_looks(loaders, with_pillar):
    """``service.up`` passes it over where nothing differs: nobody else asks the second gateway."""
    services = {"igw": {"port": 9}}  # nobody listens there
    with_pillar(ceph={"services": services}, ceph_secrets={"iscsi-api": "secret"})
    told = loaders.states["iscsi.answers"](name="gateway", test=True)
    assert told["result"] is None and "the iSCSI gateway localhost does not answer" in told["comment"], told
