"""Each fault verb, and what it does to the node, seen from inside."""

import json
import time
from collections.abc import Callable, Iterator

import pytest

from lab.session import Session

# Writes to a disk without a cache, over and over; its last word is the error it died of.
WRITER = """
import mmap, os, sys, time
disk = os.open(sys.argv[1], os.O_WRONLY | os.O_DIRECT)
page = mmap.mmap(-1, 4096)
while True:
    try:
        os.pwrite(disk, page, 1 << 20)
    except OSError as err:
        sys.exit(os.strerror(err.errno))
    open("/run/writer", "w").write("writing")
    time.sleep(0.05)
"""
WORK = """
import time
start = time.time()
while time.process_time() < 0.3:
    pass
print(time.time() - start)
"""
FAILURES = ("Input/output error", "No space left on device")  # of a disk that has one sector left


def until(what: Callable[[], bool], limit: float = 10) -> None:
    deadline = time.monotonic() + limit
    while not what():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.1)


def seen(tiny: Session, host: str) -> dict[str, str]:
    """Kernel name -> serial of every disk that lsblk shows in a node."""
    listed = json.loads(tiny.run(host, "lsblk -J -d -o NAME,SERIAL").out)["blockdevices"]
    return {disk["name"]: disk["serial"] for disk in listed}


def pings(tiny: Session, host: str) -> bool:
    answer = tiny.run("saltmaster", f"salt --static --out json -t 3 {host} test.ping", check=False).out
    return f'"{host}": true' in answer


@pytest.fixture
def mended(tiny: Session) -> Iterator[str]:
    """node1, mended after the test whatever it did."""
    yield "node1"
    tiny.verb("mend", "node1")


def test_a_pulled_disk_fails_its_user_and_is_gone_and_comes_back(tiny: Session) -> None:
    before = seen(tiny, "node1")
    disk, serial = next(iter(before.items()))
    tiny.run("node1", f"rm -f /run/writer; echo kept | dd of=/dev/{disk} bs=512 conv=sync,fsync status=none")
    tiny.run("node1", ["sh", "-c", 'setsid python3 -c "$0" $1 >/run/writer.log 2>&1 &', WRITER, f"/dev/{disk}"])
    until(lambda: tiny.run("node1", "cat /run/writer", check=False).out == "writing")

    tiny.verb("pull", "node1", disk)
    until(lambda: tiny.run("node1", "cat /run/writer.log").out.strip() in FAILURES)
    assert disk not in seen(tiny, "node1")
    assert tiny.run("node1", f"ls /dev/{disk} /dev/disk/by-id | grep -e {disk} -e {serial}", check=False).out == ""

    tiny.verb("plug", "node1", serial)
    after = seen(tiny, "node1")
    assert sorted(after.values()) == sorted(before.values())
    back = next(name for name in after if after[name] == serial)
    assert tiny.run("node1", f"head -c 4 /dev/{back}").out == "kept"
    tiny.run("node1", f"wipefs -aq /dev/{back}; dd if=/dev/zero of=/dev/{back} bs=1M count=2 status=none")


def test_a_pulled_disk_with_a_partition_in_use_fails_too(tiny: Session) -> None:
    disk = next(iter(seen(tiny, "node2")))
    tiny.run("node2", f"sgdisk -n 1:0:+1G /dev/{disk}")
    until(lambda: tiny.run("node2", f"ls /dev/{disk}p1", check=False).code == 0)
    tiny.run("node2", f"rm -f /run/writer; udevadm settle; sleep 1; [ -b /dev/{disk}p1 ]")
    tiny.run("node2", ["sh", "-c", 'setsid python3 -c "$0" $1 >/run/writer.log 2>&1 &', WRITER, f"/dev/{disk}p1"])
    until(lambda: tiny.run("node2", "cat /run/writer", check=False).out == "writing")
    slot = "0"
    tiny.verb("pull", "node2", disk)
    until(lambda: tiny.run("node2", "cat /run/writer.log").out.strip() in FAILURES)
    tiny.verb("plug", "node2", slot)
    back = next(name for name in seen(tiny, "node2"))
    until(lambda: tiny.run("node2", "ls /dev/disk/by-path/*ata-1-part1", check=False).code == 0)
    tiny.run("node2", f"sgdisk -Z /dev/$(basename $(readlink -f /dev/disk/by-path/*ata-1)); ls /dev/{back}")


def test_a_new_disk_in_the_slot_has_another_serial(tiny: Session) -> None:
    before = seen(tiny, "node3")
    disk, serial = next(iter(before.items()))
    tiny.verb("pull", "node3", serial)
    tiny.verb("plug", "node3", serial, "--new")
    after = seen(tiny, "node3")
    assert len(after) == len(before)
    assert serial not in after.values()
    assert set(before.values()) - {serial} < set(after.values())
    assert tiny.verb("plug", "node3", serial, check=False).err.strip().endswith("`pull` the disk in it first.")


@pytest.mark.parametrize(
    ("kind", "signature"),
    [("filesystem", "ext4"), ("partitions", "gpt"), ("lvm", "LVM2_member"), ("ceph", "ceph_bluestore")],
)
def test_a_dirty_disk_shows_its_earlier_life(tiny: Session, kind: str, signature: str) -> None:
    disk = sorted(seen(tiny, "node2"))[-1]
    assert tiny.run("node2", f"wipefs -n /dev/{disk}").out == ""
    tiny.verb("dirty", "node2", disk, kind)
    assert signature in tiny.run("node2", f"wipefs -n --output TYPE /dev/{disk}").out
    if kind != "partitions":
        until(lambda: f"ID_FS_TYPE={signature}" in tiny.run("node2", f"udevadm info /dev/{disk}").out)
    tiny.run("node2", f"wipefs -aq /dev/{disk}; dd if=/dev/zero of=/dev/{disk} bs=1M count=1 status=none")


def test_stop_and_start_bring_units_minion_and_disks_back(tiny: Session) -> None:
    before = seen(tiny, "node1")
    identity = tiny.run("node1", "cat /etc/machine-id").out
    tiny.run("node1", "systemctl enable -q --now prometheus-node-exporter")
    tiny.verb("stop", "node1")
    assert tiny.verb("exec", "node1", "--", "true", check=False).err.strip().endswith("`python -m lab start node1`.")
    tiny.verb("start", "node1")
    assert pings(tiny, "node1")
    assert seen(tiny, "node1") == before
    assert tiny.run("node1", "cat /etc/machine-id").out == identity
    until(lambda: tiny.run("node1", "systemctl is-active prometheus-node-exporter", check=False).code == 0)
    tiny.run("node1", "systemctl disable -q --now prometheus-node-exporter")


def test_cut_takes_the_carrier_of_one_network(tiny: Session, mended: str) -> None:
    tiny.run(mended, "ping -c 1 -W 1 192.168.145.32")
    tiny.verb("cut", mended, "cluster")
    assert tiny.run(mended, "cat /sys/class/net/eth1/carrier").out.strip() == "0"
    assert tiny.run(mended, "ping -c 1 -W 1 192.168.145.32", check=False).code != 0
    assert pings(tiny, mended)
    tiny.verb("mend", mended)
    until(lambda: tiny.run(mended, "ping -c 1 -W 1 192.168.145.32", check=False).code == 0)


def test_a_node_cut_off_the_master_does_not_answer(tiny: Session, mended: str) -> None:
    tiny.verb("cut", mended, "public")
    assert not pings(tiny, mended)
    tiny.verb("mend", mended)
    until(lambda: pings(tiny, mended), limit=60)


def test_slow_leaves_little_cpu(tiny: Session, mended: str) -> None:
    tiny.verb("slow", mended, "0.1")
    assert float(tiny.run(mended, ["python3", "-c", WORK]).out) > 1.5
    tiny.verb("mend", mended)
    assert tiny.verb("slow", mended, "0", check=False).code == 1


def test_a_killed_minion_stays_dead_until_mended(tiny: Session, mended: str) -> None:
    tiny.verb("kill-minion", mended)
    assert tiny.run(mended, ["pgrep", "-f", "[s]alt-minion"], check=False).out == ""
    assert not pings(tiny, mended)
    tiny.verb("mend", mended)
    until(lambda: pings(tiny, mended), limit=60)


def test_a_full_folder_refuses_and_keeps_what_it_holds(tiny: Session, mended: str) -> None:
    tiny.run(mended, "rm -rf /srv/filled && mkdir -p /srv/filled && echo here >/srv/filled/before")
    tiny.verb("fill", mended, "/srv/filled")
    done = tiny.run(mended, "dd if=/dev/zero of=/srv/filled/more bs=1M count=1", check=False)
    assert "No space left on device" in done.err
    assert tiny.run(mended, "cat /srv/filled/before").out == "here\n"
    assert int(tiny.run(mended, "df --output=size -m /srv/filled | tail -1").out) < 64
    tiny.verb("mend", mended)
    tiny.run(mended, "dd if=/dev/zero of=/srv/filled/more bs=1M count=1 && cat /srv/filled/before")


def test_an_added_host_is_a_minion_with_disks_and_both_networks(tiny: Session) -> None:
    name = f"node{len(tiny.hosts)}"
    tiny.verb("add", name, "--like", "node1")
    assert pings(tiny, name)
    assert sorted(json.loads(tiny.run(name, "lsblk -J -b -d -o SIZE").out)["blockdevices"], key=str) == sorted(
        json.loads(tiny.run("node2", "lsblk -J -b -d -o SIZE").out)["blockdevices"], key=str
    )
    assert not set(seen(tiny, name).values()) & set(seen(tiny, "node2").values())
    tiny.run(name, "ping -c 1 -W 2 192.168.145.32 && ping -c 1 -W 2 node2.tiny.lab")
    assert f"has a host {name} already" in tiny.verb("add", name, "--like", "node1", check=False).err
