"""The IO500 settings on a real kernel: applied where it has them, read back from it, restored when the profile goes."""

import json

import pytest
from minion import Host

DISK = "modprobe scsi_debug dev_size_mb=32 inq_vendor=ACMECORP inq_product=FAKEDISK-6000GB0 && udevadm settle"
WANTED = {
    "net/core/rmem_max": "2147483647",
    "net/core/wmem_max": "2147483647",
    "net/core/somaxconn": "4096",  # more than the set's 2048: the kernel's own
    "net/ipv4/tcp_timestamps": "1",
    "net/ipv4/tcp_sack": "1",
    "net/ipv4/tcp_low_latency": "1",
    "net/ipv4/tcp_fastopen": "1",
    "net/ipv4/tcp_rmem": "10240 87380 2147483647",
    "net/ipv4/tcp_wmem": "10240 87380 2147483647",
    "net/core/netdev_max_backlog": "250000",
}


def values(host: Host) -> dict[str, str]:
    said = host.run(f"cd /proc/sys && grep -H . {' '.join(WANTED)}")
    return {key: " ".join(value.split()) for key, value in (line.split(":", 1) for line in said.splitlines())}


def applied(host: Host, **ceph: object) -> dict:
    states = host.salt("state.apply", "ceph.host.tunings", f"pillar={json.dumps({'ceph': ceph})}", check=False)
    return next(one for key, one in states.items() if key.startswith("tunings_|-ceph-host-tunings-applied_"))


@pytest.mark.big
def test_the_io500_set_comes_and_goes(host: Host) -> None:
    host.run(DISK)
    disk = host.run("ls /sys/bus/pseudo/drivers/scsi_debug/adapter*/host*/target*/*/block").split()[0]
    host.run(f"echo mq-deadline >/sys/block/{disk}/queue/scheduler")
    flash = {
        "tuning": "ceph-flash",
        "tunings_allowed": ["drive_cache", "mitigations"],
        "storage": {"osds": {f"/dev/{disk}": {"format": "bluestore"}}},
        "network": {"links": {}, "ports": {"p1": None}},
    }
    before = values(host)
    assert before != WANTED
    done = applied(host, **flash)
    assert done["result"] is True, done
    assert values(host) == WANTED
    assert host.run(f"cat /sys/block/{disk}/queue/scheduler").split()[0] == "[none]"
    for lacking in ("thp", "rps", "ring", "pci_read_request", "drive_cache"):  # this kernel and hardware do not have it
        assert f"{lacking} (" in done["comment"], done
    assert "reboot this host to have mitigations=off" in done["comment"]
    assert "idle_poll (only by name, its price" in done["comment"]
    again = applied(host, **flash)
    assert (again["result"], again["changes"]) == (True, {}), again
    backlog = "net.core.netdev_max_backlog"
    host.run(f"sysctl -q {backlog}=77")  # drift is seen, named and mended
    assert applied(host, **flash)["changes"] == {f"netdev_max_backlog {backlog}": {"old": "77", "new": "250000"}}
    gone = applied(host, tuning=None)
    assert gone["result"] is True and gone["changes"], gone
    assert values(host) == before
    assert "[mq-deadline]" in host.run(f"cat /sys/block/{disk}/queue/scheduler")
    assert host.guest.run("ls /etc/tuned/ceph-flash", check=False).code
    assert applied(host, tuning=None)["changes"] == {}
