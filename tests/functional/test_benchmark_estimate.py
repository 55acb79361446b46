"""Estimates as they are typed: of a proposal that is stored, with what the baseline measured and kept."""

import pytest
from played import Minions
from saltmaster import Master, lay_out
from test_maintenance_asked import FSID, NODES, POLICY, connected

from runners.engine.asking import minions
from runners.engine.cluster import network_proof
from runners.engine.runs import stage_lock

RATES = {"public": {"rates": {f"{one} {two}": 9600.0 for one in NODES for two in NODES if one != two}}}


class Hosts(Minions):
    """Disks of 100 MiB/s."""

    def benchmark_disks_read(self, minion, seconds):
        number = NODES.index(minion) + 1
        disk = {"mib_s": 100.0, "model": "X", "size": 10**12}
        return {f"/dev/disk/by-id/wwn-0x{number}{letter}": disk for letter in "ab"}


@pytest.fixture(scope="module")
def master(salt_factories):
    made = salt_factories.salt_master_daemon("estimate", factory_class=Master)
    lay_out(made, connected((*NODES, "salt")), FSID, POLICY)
    return made


@pytest.mark.slow
def test_what_was_not_measured_is_named_and_may_be_typed(master, runners):
    refused = runners["benchmark.estimate"]()
    assert refused["retcode"] == 2 and "run 'salt-run benchmark.baseline', or type" in refused["error"]
    done = runners["benchmark.estimate"]("default", hdd=100, ssd=100, public=10)
    assert "retcode" not in done and "6 data disks, 3 replicas" in done["text"], done
    assert "large reads: 600 MiB/s at most: disks (node1 " in done["text"]
    other = runners["benchmark.estimate"]("default", redundancy="2+1", hdd=100, ssd=100, public=1, clients=0.5)
    assert "EC 2+1" in other["text"] and "at most: clients' links (all together)" in other["text"]


@pytest.mark.slow
def test_what_the_baseline_measured_is_kept(master, runners, monkeypatch):
    Hosts().play(monkeypatch)
    monkeypatch.setattr(stage_lock, "free", lambda opts: None)
    monkeypatch.setattr(minions, "members", lambda opts: {"storage": list(NODES)})
    monkeypatch.setattr(network_proof, "iperf", lambda *_: network_proof.Proof([], [], RATES))
    assert "no part is slower" in runners["benchmark.baseline"]("disks,links")["text"]
    done = runners["benchmark.estimate"]()
    assert "retcode" not in done and "large reads: 600 MiB/s at most: disks" in done["text"], done
    assert "large writes: 200 MiB/s at most: disks" in done["text"]


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({"name": "none"}, "no proposal 'none' in "),
        ({"redundancy": "many"}, "expected replicas such as 3"),
        ({"redundancy": 0}, "redundancy=0: expected replicas such as 3"),
        ({"redundancy": ""}, "redundancy=: expected replicas such as 3"),
        ({"hdd": "fast"}, "hdd=fast: expected MiB/s of a disk"),
        ({"public": 0}, "public=0: expected Gb/s"),
        ({"disks": 1}, "'disks' is not an argument"),
    ],
)
def test_what_is_not_understood_is_refused(master, runners, typed, says):
    done = runners["benchmark.estimate"](**typed)
    assert done["retcode"] == 2 and says in done["error"], done
