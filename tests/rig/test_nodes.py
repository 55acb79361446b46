"""What a node of the lab looks like from inside: its disks and nobody else's, its clock and kernel kept from it."""

import json

import pytest

from lab import containers, daemon, salt
from lab.session import Session
from lab.store import find

NODES = ("node1", "node2", "node3")
OURS = "import json; print(json.dumps([d['name'] for d in json.load(open('/etc/lab/disks.json'))['disks']]))"


def own_disks(tiny: Session, host: str) -> list[str]:
    return json.loads(tiny.run(host, ["python3", "-c", OURS]).out)


def properties(tiny: Session, host: str, disk: str) -> dict[str, str]:
    return dict(
        line.removeprefix("E: ").split("=", 1)
        for line in tiny.run(host, f"udevadm info /dev/{disk}").out.splitlines()
        if line.startswith("E: ")
    )


def test_every_minion_answers(tiny: Session) -> None:
    answers = json.loads(tiny.run("saltmaster", "salt --static --out json '*' test.ping").out)
    assert answers == dict.fromkeys(tiny.hosts, True)
    assert {"saltmaster", *NODES} <= set(answers)


def test_a_key_that_fell_back_to_pending_is_accepted_again(tiny: Session) -> None:
    """As a master's worker may write it that read the key's state right before it was accepted."""
    tiny.run("saltmaster", "cd /etc/salt/pki/master; mv minions/node1 minions_pre/")
    tiny.run("node1", "systemctl restart salt-minion")
    master = containers.find(daemon.needed(), find(tiny.name), "saltmaster")
    assert "node1" not in salt.accepted(master)
    salt.wait_for_answers(master, set(tiny.hosts))
    assert salt.accepted(master) == set(tiny.hosts)


@pytest.mark.parametrize("host", NODES)
def test_a_node_has_its_own_disks_only(tiny: Session, host: str) -> None:
    nodes = tiny.run(host, "ls /dev | grep '^loop' | grep -v control").out.split()
    assert sorted(nodes) == sorted(own_disks(tiny, host))
    others = {disk for other in NODES if other != host for disk in own_disks(tiny, other)}
    assert others.isdisjoint(nodes)
    assert len(nodes) == 3


def test_udev_and_sysfs_say_what_the_cluster_file_says(tiny: Session) -> None:
    listed = json.loads(tiny.run("node1", "lsblk -J -b -d -o NAME,SIZE,ROTA,MODEL,SERIAL,WWN").out)["blockdevices"]
    mine = [disk for disk in listed if disk["name"] in own_disks(tiny, "node1")]
    assert len(listed) == len(mine)
    assert sorted((disk["size"], disk["rota"]) for disk in mine) == [
        (200049647616, False),
        (1000204886016, True),
        (1000204886016, True),
    ]
    assert all(disk["model"] and disk["serial"] and disk["wwn"] for disk in mine)
    facts = properties(tiny, "node1", mine[0]["name"])
    assert facts["ID_BUS"] == "ata"
    assert facts["ID_SERIAL_SHORT"] == mine[0]["serial"]
    for link in (f"by-id/wwn-{facts['ID_WWN']}", f"by-path/{facts['ID_PATH']}"):
        target = tiny.run("node1", f"readlink -f /dev/disk/{link}").out.strip()
        assert target == f"/dev/{mine[0]['name']}"


def test_ceph_finds_the_disks_available(tiny: Session) -> None:
    found = json.loads(tiny.run("node2", "ceph-volume inventory --format json").out)
    available = {disk["path"] for disk in found if disk["available"]}
    assert available == {f"/dev/{disk}" for disk in own_disks(tiny, "node2")}


def test_partitions_appear_and_go_by_themselves(tiny: Session) -> None:
    disk = next(name for name in own_disks(tiny, "node3"))
    wait = "for i in $(seq 50); do {} && exit 0; sleep 0.1; done; exit 1"
    tiny.run("node3", f"sgdisk -n 1:0:+1G -u 1:6b0c2b1e-0000-4000-8000-000000000001 /dev/{disk}")
    link = "/dev/disk/by-partuuid/6b0c2b1e-0000-4000-8000-000000000001"
    tiny.run("node3", wait.format(f"[ -b {link} ] && [ -b /dev/{disk}p1 ]"))
    tiny.run("node3", f"mkfs.ext4 -q -L planted /dev/{disk}p1")
    tiny.run("node3", wait.format(f"[ $(readlink -f /dev/disk/by-label/planted) = /dev/{disk}p1 ]"))
    tiny.run("node3", f"wipefs -aq /dev/{disk}p1; sgdisk -Z /dev/{disk}")
    tiny.run("node3", wait.format(f"[ ! -e {link} ] && [ ! -e /dev/{disk}p1 ] && [ ! -e /dev/disk/by-label/planted ]"))


@pytest.mark.parametrize("setting", ["vm/swappiness", "kernel/pid_max", "fs/aio-max-nr"])
def test_the_machines_kernel_settings_cannot_be_written(tiny: Session, setting: str) -> None:
    done = tiny.run("node1", f"cat /proc/sys/{setting} >/proc/sys/{setting}", check=False)
    assert done.code != 0
    assert "Read-only" in done.err


def test_a_namespaced_setting_can_be_written(tiny: Session) -> None:
    tiny.run("node1", "sysctl -w net.core.somaxconn=2048 && [ $(cat /proc/sys/net/core/somaxconn) = 2048 ]")


def test_no_node_sets_the_clock(tiny: Session) -> None:
    assert tiny.run("node1", "date -s @1", check=False).code != 0
    tiny.run("node1", "systemctl start chrony && pgrep -a chronyd | grep -e -x")
    tiny.run("node1", "systemctl stop chrony")


@pytest.mark.parametrize("unit", ["tuned", "systemd-sysctl", "systemd-udevd"])
def test_what_reaches_the_machine_is_masked(tiny: Session, unit: str) -> None:
    assert tiny.run("node1", f"systemctl is-enabled {unit}", check=False).out.strip() == "masked"


def test_nothing_failed_and_nothing_of_ceph_runs_by_itself(tiny: Session) -> None:
    for host in tiny.hosts:
        assert tiny.run(host, "systemctl --failed --no-legend").out == ""
        assert tiny.run(host, "pgrep -a 'ceph|rados|ganesha|prometheus|haproxy'", check=False).out == ""
