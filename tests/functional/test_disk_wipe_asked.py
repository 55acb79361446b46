"""`disk.wipe` as it is typed: each case of the table by the runner, with a host and a cluster that are played."""

from pathlib import Path

import pytest
import yaml
from played import Minions
from saltmaster import Master

from proposals.text.errors import ProposalError
from runners.engine import answer
from runners.engine.asking import minions

CASES = yaml.load((Path(__file__).parent.parent / "fixtures/wiping.yaml").read_text(), yaml.CSafeLoader)
CLEAN = {"device": "/dev/sda", "id": "/dev/disk/by-id/wwn-0x1", "size": 6001175126016, "serial": "ZAD1", "in_use": []}
CLEAN |= {"signatures": [], "partitions": ["/dev/sda1"], "group": None, "volumes": [], "osds": [], "fsids": []}


class Host(Minions):
    CHANGES = ("wipe",)

    def __init__(self, case):
        super().__init__()
        self.seen, self.why = CLEAN | case.get("seen", {}), case.get("silent")

    def disks_wipe_inspect(self, _, device):
        return self.seen

    def disks_wipe_wipe(self, _, device, seen):
        assert seen == self.seen
        return seen

    def cluster_osds_states(self, _):
        if self.why:
            raise ProposalError(self.why)
        return [{"id": 3, "fsid": "aaa", "state": "in-use"}, {"id": 4, "fsid": None, "state": "destroyed"}]


@pytest.fixture(scope="module")
def master(salt_factories):
    made = salt_factories.salt_master_daemon("wiping", factory_class=Master)
    kept = made.pillar / "proposals/config/stack/default/ceph/cluster.yml"
    kept.parent.mkdir(parents=True)
    kept.write_text("fsid: ours\n")
    return made


@pytest.mark.parametrize("yes", [False, True], ids=["looked", "yes"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["about"])
def test_each_case_by_the_command(runners, monkeypatch, case, yes):
    host = Host(case)
    host.play(monkeypatch)
    monkeypatch.setattr(minions, "ours", lambda opts: ["node1"])
    done = runners["disk.wipe"]("node1", "/dev/sda", case.get("typed", "ZAD1"), yes=yes)
    if "says" in case:
        assert (done["retcode"], case["says"] in done["error"], host.log) == (2, True, []), done
    else:
        assert ("yes=true does it" in done["text"]) != yes, done
        assert host.log == [("node1", "disks_wipe.wipe")] * yes


def test_a_fault_of_our_own_is_no_wrong_argument():
    """Salt prints a TypeError as a wrong argument, and ends with status 0."""

    @answer.answers
    def broken():
        return len(5)

    with pytest.raises(RuntimeError, match="broken: object of type 'int' has no len"):
        broken()
