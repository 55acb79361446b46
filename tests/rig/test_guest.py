"""What a guest of a real kernel shows that a container cannot, and that it is a guest like a node of the lab."""

import json
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from lab.guest import guests
from lab.guest.guests import Guest
from lab.session import Session
from lab.store import CHECKOUT

Boot = Callable[..., Guest]

BOND = """
set -e
cd /etc/systemd/network
printf '[NetDev]\nName=bond0\nKind=bond\nMTUBytes=9000\n[Bond]\nMode=802.3ad\nLACPTransmitRate=fast\n' >10-bond0.netdev
printf 'TransmitHashPolicy=layer3+4\nMIIMonitorSec=100ms\nMinLinks=1\n' >>10-bond0.netdev
printf '[NetDev]\nName=bond0.3001\nKind=vlan\nMTUBytes=9000\n[VLAN]\nId=3001\n' >10-bond0.3001.netdev
printf '[Match]\nName=p1 p2\n[Network]\nBond=bond0\n' >20-ports.network
printf '[Match]\nName=bond0\n[Network]\nVLAN=bond0.3001\n' >30-bond0.network
printf '[Match]\nName=bond0.3001\n[Network]\nAddress=10.30.1.1/24\n' >40-vlan.network
networkctl reload
"""


def kernel(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "lab", "kernel", *words]
    return subprocess.run(argv, cwd=CHECKOUT, capture_output=True, text=True, check=False)


def until(what: Callable[[], bool], limit: float = 30) -> None:
    deadline = time.monotonic() + limit
    while not what():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.5)


@pytest.fixture
def alone(guest: Boot) -> Guest:
    guest("alone", disks=("1T", "200G"))
    return guests.find("alone")  # as it runs now: a restart is another process


def test_exit_status_and_both_outputs_are_exact(alone: Guest) -> None:
    done = kernel("exec", "alone", "--", "sh", "-c", "printf 'a b'; printf 'no\\n' >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "a b", "no\n")
    assert alone.run(["printf", "%s", "it's $HOME"]).out == "it's $HOME"


def test_a_command_without_end_is_given_up(alone: Guest) -> None:
    with pytest.raises(Exception, match="no end after 1 s"):
        alone.run("sleep 30", limit=1)


def test_disks_have_their_size_and_one_comes_while_it_runs(alone: Guest) -> None:
    assert alone.run("cat /sys/block/ubdb/size /sys/block/ubdc/size").out.split() == [
        str(10**12 // 512),
        str(200 * 10**9 // 512),
    ]
    said = kernel("disk", "alone", "500G")
    name = said.stderr.split("/dev/")[1].strip()
    assert alone.run(f"cat /sys/block/{name}/size").out.strip() == str(500 * 10**9 // 512)
    for disk in ("ubdb", name):  # nor do they take discards, which take an hour for a whole disk
        assert alone.run(f"blkdiscard -l 32768 /dev/{disk}", check=False).code != 0


def test_a_logical_volume_and_its_data_survive_a_restart(alone: Guest) -> None:
    alone.run("pvcreate -q /dev/ubdb && vgcreate -q vault /dev/ubdb && lvcreate -q -L 10G -n data vault")
    alone.run("mkfs.ext4 -q /dev/vault/data && mount /dev/vault/data /mnt && echo kept >/mnt/file && umount /mnt")
    boot = alone.run("cat /proc/sys/kernel/random/boot_id").out
    assert kernel("stop", "alone").returncode == 0
    assert kernel("exec", "alone", "--", "true").returncode == 1
    assert kernel("start", "alone").returncode == 0
    alone = guests.find("alone")
    assert alone.run("cat /proc/sys/kernel/random/boot_id").out != boot
    assert alone.run("vgchange -q -ay vault; mount /dev/vault/data /mnt && cat /mnt/file; umount /mnt").out.endswith(
        "kept\n"
    )


def test_dm_crypt_holds_a_file_system(alone: Guest) -> None:
    alone.run(
        "modprobe dm-crypt; echo -n secret | cryptsetup -q luksFormat --pbkdf-force-iterations 4 "
        "--pbkdf-memory 32768 /dev/ubdc - && echo -n secret | cryptsetup open --key-file - /dev/ubdc closed"
    )
    alone.run("mkfs.ext4 -q /dev/mapper/closed && lsblk -n -o TYPE /dev/mapper/closed | grep -x crypt")
    alone.run("cryptsetup close closed && wipefs -aq /dev/ubdc")


def test_a_vlan_on_a_bond_with_lacp_carries_jumbo_frames(alone: Guest) -> None:
    alone.run("/usr/local/lib/lab/switch")
    alone.run(BOND)
    until(lambda: alone.run("grep -c 'port state: 63' /proc/net/bonding/bond0", check=False).out.strip() == "4")
    assert "Number of ports: 2" in alone.run("cat /proc/net/bonding/bond0").out
    until(lambda: alone.run("ping -c 3 -W 2 -M do -s 8972 10.30.1.254", check=False).code == 0)
    assert alone.run("ping -c 1 -W 2 -M do -s 8973 10.30.1.254", check=False).code != 0
    alone.run("rm /etc/systemd/network/*-bond0* /etc/systemd/network/20-ports* /etc/systemd/network/40-vlan*")
    alone.run("ip link del bond0; ip netns del sw")


def test_tuned_changes_the_kernel_and_takes_it_back(alone: Guest) -> None:
    before = alone.run("sysctl -n vm.swappiness").out
    alone.run("mkdir -p /etc/tuned/lab && printf '[sysctl]\nvm.swappiness=3\n' >/etc/tuned/lab/tuned.conf")
    alone.run("systemctl start tuned && tuned-adm profile lab && tuned-adm verify")
    assert alone.run("sysctl -n vm.swappiness").out == "3\n" != before
    alone.run("systemctl stop tuned")
    assert alone.run("sysctl -n vm.swappiness").out == before


def test_a_guest_is_a_minion_of_the_labs_master(tiny: Session, guest: Boot) -> None:
    minion = guest("uml1", cluster="tiny")
    assert "true" in tiny.run("saltmaster", "salt --static --out json -t 30 uml1 test.ping").out
    kernels = json.loads(tiny.run("saltmaster", "salt --static --out json '*' grains.get kernelrelease").out)
    assert kernels["uml1"].startswith("6.1")
    assert kernels["uml1"] != kernels["node1"]
    minion.run("ping -c 1 -W 2 saltmaster")
    tiny.run("node1", f"ping -c 1 -W 2 {minion.address}")


@pytest.mark.big
def test_twenty_boots_in_a_row(guest: Boot) -> None:
    guest("often")
    for _ in range(20):
        assert kernel("stop", "often").returncode == 0
        assert kernel("start", "often").returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("up", "x/y"), "is no guest name"),
        (("up", "bad", "--disk", "6 TB"), "is no size"),
        (("up", "bad", "--cluster", "nowhere"), "no lab named nowhere"),
        (("exec", "nobody", "--", "true"), "no guest nobody"),
        (("up", "bad", *["--disk", "1G"] * 8), "a guest takes 7"),
    ],
)
def test_bad_input_is_one_message_and_leaves_nothing(words: tuple[str, ...], said: str) -> None:
    done = kernel(*words)
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "bad" not in kernel("status").stdout
