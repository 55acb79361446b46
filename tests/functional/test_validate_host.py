"""What host.facts sees: of this machine, and of firewall rules as nft and iptables print them."""

import json
import platform
import shutil
import socket
import threading
import time
from pathlib import Path

import pytest
import salt.version
import yaml
from saltfactories.utils.loader import LoaderModuleMock

from proposals.validation import facts

RULES = Path(__file__).parent.parent / "fixtures" / "validation" / "firewalls"
CASES = yaml.load((RULES / "cases.yaml").read_text(), yaml.CSafeLoader)
FSID = "5bd9f8f0-5f5e-4a0e-9a5e-000000000001"


@pytest.fixture
def loaded(with_pillar):
    """The modules of a monitor."""
    return with_pillar(roles=["mon"], fsid=FSID, ceph={"generation": "abc"})


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(map(str, case.values())))
def test_which_rule_blocks(loaded, case):
    source = case.get("source", "10.0.0.2")
    here = "fd00::1" if ":" in source else "10.0.0.1"
    packet = {"source": source, "destination": here, "interface": "eth0"}
    packet |= {key: case[key] for key in ("port", "interface") if key in case}
    text = (RULES / case["rules"]).read_text()
    if case["rules"].endswith(".json"):
        verdict = loaded["host_nft.verdict"](json.loads(text), packet)
    else:
        verdict = loaded["host_iptables.verdict"](text, packet)
    if "blocked" not in case:
        assert verdict is None
    else:
        assert case["blocked"] in verdict["rule"]
        assert verdict["sure"] is case.get("sure", True)


def test_no_rules_block_nothing(loaded):
    packet = {"source": "10.0.0.2", "destination": "10.0.0.1", "interface": "eth0", "port": 3300}
    assert loaded["host_iptables.verdict"]("", packet) is None
    assert loaded["host_nft.verdict"]({}, packet) is None
    assert loaded["host_nft.blocks"]([]) == loaded["host_iptables.blocks"]([]) == []


@pytest.fixture
def holder():
    """A socket that something which is no monitor listens on."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        yield held.getsockname()[1]


@pytest.mark.slow
def test_facts_of_this_machine_have_the_form(loaded, holder):
    """They are read as the master reads them, and hold what was planted: a port that another process has."""
    probe = {"network": "127.0.0.0/8", "sources": ["127.0.0.2"], "ports": [holder], "process": "ceph-mon"}
    probes = [{**probe, "roles": ["mon"]}, {**probe, "roles": ["storage"], "process": "not-asked"}]
    names = {"localhost": "127.0.0.1", "no-such-host.invalid": "10.0.0.1"}
    answer = loaded["host.facts"](time.time() - 5, "", names, probes)
    host = facts.read(json.loads(json.dumps(answer)))
    comm = Path("/proc/self/comm").read_text().strip()
    assert host.listening == [{"port": holder, "process": comm, "wanted": "ceph-mon"}]
    assert "127.0.0.1" in host.names["localhost"]["addresses"]
    assert host.names["no-such-host.invalid"] == {
        "expected": "10.0.0.1",
        "addresses": [],
        "back": "",
        "back_addresses": [],
    }
    assert 5 <= host.clock[0] <= host.clock[1] < 60
    assert (host.generation, host.salt, host.hostname) == ("abc", salt.version.__version__, "node1")
    assert host.nodename == platform.node().partition(".")[0]
    assert host.memory > 1 << 28
    assert 0 < host.space["free"] <= host.space["total"] == shutil.disk_usage(host.space["path"]).total
    assert host.interfaces and all(one["mtu"] >= 576 for one in host.interfaces.values())


@pytest.mark.slow
def test_where_the_monitor_of_this_host_listens(loaded, python_module, monkeypatch):
    """As it says itself, whatever ceph.conf does."""
    own = [{"type": "v2", "addr": "[fd00::1]:3300"}, {"type": "v1", "addr": "10.0.0.1:6789"}]
    mons = [
        {"name": "node1", "rank": 0, "public_addrs": {"addrvec": own}},
        {"name": "node2", "rank": 1, "public_addrs": {"addrvec": [{"type": "v2", "addr": "10.0.0.2:3300"}]}},
    ]
    for status, *expected in (
        ({"state": "peon", "quorum": [0, 1], "monmap": {"mons": mons}}, ["10.0.0.1", "fd00::1"], True),
        ({"state": "electing", "quorum": [], "monmap": {"mons": mons}}, ["10.0.0.1", "fd00::1"], False),
        ({"state": "probing", "quorum": [1], "monmap": {"mons": mons[1:]}}, [], False),
        (None, [], False),
    ):
        monkeypatch.setattr(python_module("mon").halocline_socket, "ask", lambda *_, status=status: status)
        told = loaded["host.facts"](time.time(), "", {}, [])
        assert [told["monitor_at"], told["monitor_quorum"]] == expected


@pytest.mark.slow
def test_folders_of_osds_of_another_cluster_or_of_none_are_no_sign_of_this_one(
    loaded, python_module, monkeypatch, tmp_path
):
    """Mount points stay when an earlier cluster's disks are wiped."""
    monkeypatch.setattr(python_module("host"), "OSDS", tmp_path)
    other = ("ceph_fsid", "5bd9f8f0-0000-4000-8000-000000000009")
    for file, text, ours in (
        (None, "", False),
        (*other, False),
        ("ceph_fsid", FSID, True),
        ("lockbox.keyring", "", True),
    ):
        folder = tmp_path / f"ceph-{file}"
        folder.mkdir(exist_ok=True)
        if file:
            (folder / file).write_text(f"{text}\n")
        assert loaded["host.facts"](time.time(), "", {}, [])["osds"] is ours, file
        shutil.rmtree(folder)


@pytest.mark.parametrize(("flag", "carrier", "up"), [(True, "1", True), (True, "0", False), (False, "", False)])
def test_a_port_that_is_switched_on_without_a_cable_is_not_up(python_module, tmp_path, flag, carrier, up):
    """The flag UP, which Salt tells, says what an admin wants; a tunnel, say, has no carrier to tell of."""
    (tmp_path / "eth0").mkdir()
    (tmp_path / "eth0/mtu").write_text("1500\n")
    if carrier:
        (tmp_path / "eth0/carrier").write_text(f"{carrier}\n")
    module, told = python_module("host"), {"eth0@if7": {"up": flag, "inet": [{"address": "10.0.0.5"}]}}
    with LoaderModuleMock({module: {"NET": tmp_path, "__salt__": {"network.interfaces": lambda: told}}}):
        assert module._interfaces() == {"eth0@if7": {"mtu": 1500, "up": up, "addresses": ["10.0.0.5"]}}


@pytest.mark.slow
def test_a_name_server_that_is_slow_is_waited_for_within_the_limit(loaded, python_module, monkeypatch):
    """Real threads; the resolver is this process's own, made to answer at the test's end."""
    asked, ended = socket.getaddrinfo, threading.Event()

    def slow(name, *args, **kwargs):
        if name == "slow.invalid":
            ended.wait()
        return asked(name, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    monkeypatch.setattr(python_module("host"), "LIMIT", 1)
    names = {"slow.invalid": "10.0.0.1", "localhost": "127.0.0.1"}
    found = loaded["host.facts"](time.time(), "", names, [])
    ended.set()
    assert found["names"]["slow.invalid"]["addresses"] == []
    assert "127.0.0.1" in found["names"]["localhost"]["addresses"]
