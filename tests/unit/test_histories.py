"""Every history of fixtures/histories.yaml: planned, deployed, interrupted, replaced, planned again."""

import copy

import pytest
import yaml
from planning import CHECKS, FIXTURES, FSID, inventory

from proposals.disks import arguments, plan
from proposals.policy import profiles, store
from proposals.reference import machines

HISTORIES = yaml.load((FIXTURES / "histories.yaml").read_text(), yaml.CSafeLoader)
PLACE = ("data", "db", "wal", "db_size", "wal_size")


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_history(history, tmp_path):
    hosts = history.get("hosts") or {"node1": history["disks"]}
    site = Site(tmp_path, inventory(**hosts))
    before = None
    for number, step in enumerate(history["steps"]):
        if "do" in step:
            site.change(step["do"] if isinstance(step["do"], dict) else {step["do"]: True})
        answer, report, stored = site.populate(step.get("arguments", history.get("arguments", "")))
        seen = {"same": before == places(answer), "new": sum(not osd["existing"] for osd in osds(answer))}
        seen |= {"written": len(report.written), "stored": {key: stored["summary"][key] for key in ("hosts", "osds")}}
        stored_devices = [one for host in stored["hosts"].values() for one in host["devices"]]
        seen["shares"] = sorted({one["cluster_share"] for one in stored_devices})
        seen["moves"] = sorted(moved(answer))
        seen["kept"] = profiles.read(tmp_path, {"default": sorted(stored["hosts"])})["default"].kept()
        for key, value in step.get("expect", {}).items():
            assert (CHECKS[key](answer, value) if key in CHECKS else seen[key]) == value, (number, key)
        before = places(answer)


def osds(answer):
    return [osd for host in answer["hosts"].values() for osd in host["osds"]]


def moved(answer):
    """``db hdd -> ssd 40``: the part, the classes of its devices, GiB; of each OSD that is to move."""
    classes = {disk["id"]: disk["class"] for host in answer["hosts"].values() for disk in host["disks"]}
    for osd in osds(answer):
        for role, move in osd.get("moves", {}).items():
            old, new = (classes.get(move[key], "data disk") for key in ("from", "to"))
            yield f"{role} {old} -> {new}" + (f" {move['size'] >> 30}" if move["size"] else "")


def places(answer):
    return {osd["uuid"]: [osd[key] for key in PLACE] for osd in osds(answer)}


class Site:
    """An inventory, and the proposals folder beside it."""

    def __init__(self, root, raw):
        self.root, self.raw, self.away = root, raw, {}

    def populate(self, words):
        asked = arguments.parse(words.split())
        made = plan.peek(self.raw, asked, store.stored_proposal(self.root, asked.name))
        report = store.populate(self.root, made)
        self.answer = made.as_dict()
        return self.answer, report, store.stored_proposal(self.root, asked.name)

    def change(self, what):
        for verb, value in what.items():
            getattr(self, verb)(value)

    def deploy(self, which):
        """All OSDs of the last answer, or those with these numbers in it."""
        answer = copy.deepcopy(self.answer)
        if which is not True:
            (host,) = answer["hosts"].values()
            host["osds"] = [host["osds"][number] for number in which]
        self.raw = machines.deployed(self.raw, answer, FSID)

    def migrate(self, count):
        """So many OSDs of the last answer that are to move have moved; all: True."""
        uuids = [osd["uuid"] for osd in osds(self.answer) if osd.get("moves")]
        self.raw = machines.migrated(self.raw, self.answer, uuids if count is True else uuids[:count])

    def forget(self, _):
        """The stored proposal is lost."""
        for path in self.root.glob("profile-*/proposal.json"):
            path.unlink()

    def replace(self, number):
        """A new disk stands in place of the one with this number, and its OSDs are gone."""
        disks = self.disks()
        gone = {osd["fsid"] for osd in disks[number]["osds"]}
        new = {"osds": [], "wwn": "0x5000c500ffff0001", "id": "/dev/disk/by-id/wwn-0x5000c500ffff0001", "serial": "NEW"}
        disks[number] = {**disks[number], **new}
        for disk in disks:
            disk["osds"] = [osd for osd in disk["osds"] if osd["fsid"] not in gone]

    def remove(self, number):
        del self.disks()[number]

    def add(self, groups):
        more = inventory(a=[{"is": "hdd6"}], node1=groups)["hosts"]["node1"]["ceph_disks"]
        self.disks().extend(more)

    def without(self, host):
        self.raw = copy.deepcopy(self.raw)
        self.away[host] = self.raw["hosts"].pop(host, None) or self.away[host]

    def bring(self, host):
        self.raw["hosts"][host] = self.away.pop(host)

    def disks(self):
        (host,) = self.raw["hosts"].values()
        return host["ceph_disks"]
