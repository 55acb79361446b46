"""Tunings on a host of files: which settings it gets, what it lacks, and the profile to the line."""

import runpy

import pytest
import yaml
from saltlinks import FIXTURES

CHECKOUT = FIXTURES.parent.parent
TABLE = yaml.load((CHECKOUT / "pillar/ceph/tunings.sls").read_text(), yaml.CSafeLoader)["ceph_tunings"]
SYSCTLS = [row["sysctl"] for row in TABLE["ceph-flash"]["settings"] if "sysctl" in row]
ETHTOOL_G = """Ring parameters for ens1f0:
Pre-set maximums:
RX:\t\t8192
TX:\t\t8192
Current hardware settings:
RX:\t\t1024
TX:\t\t1024
"""
TOLD = {
    ("ethtool", "-g"): ETHTOOL_G,
    ("ethtool", "-a"): "Pause parameters for ens1f0:\nAutonegotiate:\toff\nRX:\t\toff\nTX:\t\toff\n",
    ("setpci", "-s"): "293e\n",
    ("hdparm", "-W"): "\n/dev/sdb:\n write-caching =  0 (off)\n look-ahead    =  1 (on)\n",
}


@pytest.fixture
def host(with_pillar, python_module, tmp_path, monkeypatch):
    """The modules on a host of files: a flash node with one planned disk and one planned port; a function of pillar."""
    proc, sys, dev = tmp_path / "proc", tmp_path / "sys", tmp_path / "dev"
    texts = {proc / "sys" / key.replace(".", "/"): "1\n" for key in SYSCTLS if key != "net.ipv4.tcp_low_latency"}
    texts |= {
        sys / "kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        sys / "block/sdb/queue/scheduler": "[mq-deadline] none\n",
        sys / "class/net/ens1f0/device/local_cpus": "0000ffff\n",
        sys / "class/net/ens1f0/queues/rx-0/rps_cpus": "00000000\n",
        sys / "class/net/ens1f0/device/vendor": "0x15b3\n",
        sys / "class/net/ens1f0/device/device": "0x1017\n",
        sys / "block/sdb/device/model": "MZ7LH480HAHQ0D3 \n",
        proc / "cmdline": "quiet mitigations=off\n",
        dev / "sdb": "",
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def load(name="ceph-flash", allowed=(), container=False):
        storage = {"osds": {str(dev / "sdb"): {"format": "bluestore"}}}
        ceph = {
            "tuning": name,
            "tunings_allowed": list(allowed),
            "tunings_drives": ["MZ7LH*"],
            "network": {"ports": {"ens1f0": None}},
            "storage": storage,
        }
        monkeypatch.setattr(python_module("tunings"), "CONTAINER", dev / "sdb" if container else dev / "none")
        for module in (python_module("tunings"), python_module("tunings_hardware")):
            monkeypatch.setattr(module, "PROC", proc)
            monkeypatch.setattr(module, "SYS", sys)
        monkeypatch.setattr(module, "_printed", lambda *words: TOLD.get(words[:2], ""))
        return with_pillar(ceph=ceph)

    return load


def states(loaded):
    return {f"{one['id']} {one['on']}": one["state"] for one in loaded["tunings.check"]()}


def test_every_io500_setting_is_set_or_says_why_not(host):
    state = states(host())
    assert {state[f"{row['id']} {row['sysctl']}"] for row in TABLE["ceph-flash"]["settings"] if "sysctl" in row} == {
        "drift",  # wanted otherwise than the file has it
        "ok",
        "left",
    }
    assert state["tcp_low_latency net.ipv4.tcp_low_latency"] == "left"
    for place in (
        "thp /sys/kernel/mm/transparent_hugepage/enabled",
        "rps ens1f0 rps_cpus",
        "ring ens1f0",
    ):
        assert state[place] == "drift", place
    assert state["scheduler sdb scheduler"] == "drift"
    assert not {key for key in state if key.startswith("pause")}  # a load generator's
    risky = ("pci_read_request ens1f0", "drive_cache sdb", "mitigations mitigations=off", "idle_poll idle=poll")
    assert {state[name] for name in risky} == {"left"}


def test_what_is_risky_goes_by_name_and_tells_its_price(host):
    left = {one["id"]: one["why"] for one in host()["tunings.check"]() if one["state"] == "left"}
    assert "a drive without power-loss protection loses what it acknowledged" in left["drive_cache"]
    assert "ceph:tunings_allowed: [mitigations]" in left["mitigations"]
    found = states(host(allowed=["drive_cache", "mitigations", "idle_poll"]))
    assert found["drive_cache sdb"] == "drift"
    assert found["mitigations mitigations=off"] == "ok"  # this host was booted with it
    assert found["idle_poll idle=poll"] == "reboot"


def test_the_profile_to_the_line(host):
    loaded = host(allowed=["drive_cache", "idle_poll", "pci_read_request"])
    before = {
        "ens1f0 ring": "rx 1024 tx 1024",
        "ens1f0 pci": "CAP_EXP+8.w=2000:7000",
        "sdb drive": "-W0 -A1",
    }
    files = loaded["tunings_tuned.files"]("ceph-flash", loaded["tunings.settings"](), before)
    sys = loaded["tunings.settings"]()[11]["path"].rpartition("/kernel/")[0]
    wanted = FIXTURES / "tunings/ceph-flash"
    assert {name: text.replace(sys, "/sys") for name, text in files.items()} == {
        path.name: path.read_text() for path in wanted.iterdir()
    }


def test_nothing_is_set_in_a_container_and_each_says_so(host):
    found = host(container=True)["tunings.check"]()
    assert {one["state"] for one in found} == {"left"}
    assert all("a container shares its host's kernel" in one["why"] or "only by name" in one["why"] for one in found)


def test_every_setting_has_meaning_and_source():
    for name, table in TABLE.items():
        assert table["summary"]
        for row in table["settings"]:
            assert row["meaning"] and row["source"], (name, row)
            assert len({"sysctl", "sysfs", "port", "disk", "cmdline"} & set(row)) == 1, (name, row)
        assert len({row["id"] for row in table["settings"]}) == len(table["settings"])


def test_a_sysctl_that_drifted_is_told_where_a_stage_looks(host, tmp_path):
    """``targets.same`` asks for test mode: what the kernel has now counts, and not what was once applied."""
    applied = runpy.run_path(str(CHECKOUT / "salt/_states/tunings.py"))["applied"]
    applied.__wrapped__.__globals__.update(__salt__=host(), __opts__={"test": True}, __pillar__={})
    place, key = tmp_path / "proc/sys/net/core/somaxconn", "somaxconn net.core.somaxconn"
    wanted = next(row["value"] for row in TABLE["ceph-flash"]["settings"] if row["id"] == "somaxconn")
    answers = []
    for value in (wanted, "128"):
        place.write_text(f"{value}\n")
        answers.append(applied("tuned"))
    assert [key in answer["changes"] for answer in answers] == [False, True]
    assert answers[1]["result"] is None and answers[1]["changes"][key] == {"old": "128", "new": wanted}
    assert place.read_text() == "128\n"
