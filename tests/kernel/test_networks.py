"""Planned networks on a real kernel, with a switch that speaks LACP, a real master and a real salt-minion service."""

import time

import pytest
from minion import UNDO, Host, told

from lab.guest import guests, process
from lab.store import CHECKOUT, find

BOND = {
    "kind": "bond",
    "mtu": 9000,
    "addresses": ["10.30.0.1/24"],
    "ports": ["p1", "p2"],
    "mode": "802.3ad",
    "miimon": 100,
    "lacp_rate": "fast",
    "xmit_hash_policy": "layer3+4",
    "min_links": 1,
}
VLAN = {"kind": "vlan", "mtu": 9000, "addresses": ["10.30.1.1/24"], "lower": "bond0", "id": 3001}
GOLDEN = CHECKOUT / "tests/fixtures/networking/apollo/osdnode1/networkmanager"


def test_a_bond_with_lacp_and_a_vlan_come_to_be_and_stay(host: Host) -> None:
    done = host.apply(bond0=BOND, bond0_3001=VLAN)
    assert done["result"] is True and done["changes"], done
    bonding = host.run("cat /proc/net/bonding/bond0")
    assert bonding.count("port state: 63") == 4, bonding  # both ports, and both of the partner
    assert "Number of ports: 2" in bonding
    links = host.links()
    assert links["bond0"]["mtu"] == links["bond0.3001"]["mtu"] == 9000
    assert links["bond0.3001"]["linkinfo"]["info_data"]["id"] == 3001
    host.until("ping -c 2 -W 2 -M do -s 8972 10.30.1.254")
    assert host.guest.run("ping -c 1 -W 2 -M do -s 8973 10.30.1.254", check=False).code != 0
    host.run("ip -n sw link set sw2 down")  # one port down: traffic goes on
    time.sleep(1)
    assert host.guest.run("ping -c 10 -i 0.2 -W 2 -M do -s 8972 10.30.1.254", check=False).code == 0
    again, before = host.apply(bond0=BOND, bond0_3001=VLAN), host.files()
    assert (again["result"], again["changes"]) == (True, {}), again  # with a cable out, too
    host.run("ip -n sw link set sw2 up")
    assert host.files() == before


@pytest.mark.big
def test_a_changed_option_is_the_kernels_and_a_removed_link_is_gone(host: Host) -> None:
    host.apply(bond0=BOND, bond0_3001=VLAN)
    slow = {**BOND, "lacp_rate": "slow", "miimon": 200}
    done = host.apply(bond0=slow, bond0_3001={**VLAN, "id": 3002, "addresses": ["10.30.2.1/24"]})
    assert done["result"] is True, done
    assert "lacp_rate fast, not slow" in done["changes"]["bond0"]
    bonding = host.run("cat /proc/net/bonding/bond0")
    assert "LACP rate: slow" in bonding and "MII Polling Interval (ms): 200" in bonding
    assert host.links()["bond0.3001"]["linkinfo"]["info_data"]["id"] == 3002
    done = host.apply(bond0={**slow, "miimon": 100})
    assert done["result"] is True, done
    assert "bond0.3001" not in host.links()
    assert "MII Polling Interval (ms): 100" in host.run("cat /proc/net/bonding/bond0")
    assert "3001" not in host.files()


@pytest.mark.big
def test_networkmanager_reads_what_is_rendered_for_it(host: Host) -> None:
    folder, conf = "/etc/NetworkManager/system-connections", "/etc/NetworkManager/conf.d/lab.conf"
    host.run(f"printf '[keyfile]\nunmanaged-devices=*\n' >{conf}")  # it reads, and touches no port of the guest
    for path in GOLDEN.iterdir():
        host.run(f"install -m 600 /dev/stdin '{folder}/{path.name}' <<'END'\n{path.read_text()}\nEND")
    host.run("systemctl start NetworkManager")

    def read(name: str) -> dict[str, str]:
        said = host.run(f"nmcli --terse --escape no connection show halocline-{name}")
        return dict(line.split(":", 1) for line in said.splitlines())

    try:
        host.until("nmcli connection reload && nmcli connection show halocline-ens1f1")
        bond, vlan, port = read("bond0"), read("bond0.3001"), read("ens1f1")
    finally:
        host.run(f"systemctl stop NetworkManager; rm -f {conf} {folder}/halocline-*")
    assert set(bond["bond.options"].split(",")) == {
        *("mode=802.3ad", "miimon=100", "lacp_rate=fast", "xmit_hash_policy=layer3+4", "min_links=1"),
    }
    assert (bond["ipv4.addresses"], bond["ipv4.gateway"]) == ("192.168.124.31/24", "192.168.124.1")
    assert bond["802-3-ethernet.mtu"] == vlan["802-3-ethernet.mtu"] == port["802-3-ethernet.mtu"] == "9000"
    assert (vlan["vlan.id"], vlan["vlan.parent"], vlan["ipv4.addresses"]) == ("3001", "bond0", "192.168.100.31/24")
    assert port["connection.master"] == "bond0"


# Links that lose the master: its own port gets an address elsewhere; a bond and a VLAN come with it.
CUT = {"vec0": {"kind": "ethernet", "mtu": 1500, "addresses": ["10.66.0.1/24"]}, "bond0": BOND, "bond0_3001": VLAN}


@pytest.fixture
def plain(host: Host) -> Host:
    """The host without bond and VLAN, whatever another test left."""
    host.run("rm -f /etc/systemd/network/05-halocline-*; rm -rf /var/lib/halocline/links; ip link del bond0 || true")
    host.run("systemctl restart systemd-networkd; ip link set p1 up; ip link set p2 up")
    host.until(f"ping -c 1 -W 2 {host.master.run('saltmaster', 'hostname -I').out.split()[0]}")
    return host


def stepped(host: Host, test: bool = False, **links: dict) -> tuple[int, str]:
    """The deploy stage's step for this host, its pillar the site's: exit status and text."""
    site = "/srv/pillar/ceph/minions.sls"
    pillar = f"ceph_minions: '*'\n{told(60, **links)[1:-1]}\n" if links else "ceph_minions: '*'\n"
    host.master.run("saltmaster", f"mkdir -p /srv/pillar/ceph; cat >{site} <<'END'\n{pillar}END")
    host.salt("saltutil.refresh_pillar", "wait=True")
    done = host.master.run("saltmaster", f"salt-run links.deploy '[{host.name}]' test={test}", check=False)
    host.master.run("saltmaster", f"rm {site}")
    return done.code, done.out


@pytest.mark.big
def test_the_step_of_the_stage_says_what_happened(plain: Host) -> None:
    before = plain.files()
    code, printed = stepped(plain, test=True, bond0=BOND, bond0_3001=VLAN)
    assert code == 0 and "bond0 is not there" in printed, printed
    assert plain.files() == before
    code, printed = stepped(plain, bond0=BOND, bond0_3001=VLAN)
    assert code == 0 and f"{plain.name}: " in printed and "bond0 is not there" in printed, printed
    assert "bond0.3001" in plain.links()
    assert stepped(plain, bond0=BOND, bond0_3001=VLAN) == (0, "the links of 1 host are as planned\n")
    kept = plain.files()
    code, printed = stepped(plain, **CUT)
    assert code == 2 and f"{plain.name}: the new links failed and were rolled back: " in printed, printed
    assert plain.files() == kept and "bond0.3001" in plain.links()
    wrong = {**BOND, "ports": ["p1", "p9"]}
    code, printed = stepped(plain, bond0=wrong)
    assert (
        code == 2
        and printed == f"{plain.name}: there is no port p9: run ceph.stage.discovery and networks.populate again\n"
    )


SIGN = "ip -br address show vec0 | grep -q 10.66.0.1"  # that such a change has been made


@pytest.mark.big
def test_what_loses_the_master_is_undone_by_the_host_itself(plain: Host) -> None:
    """Salt may lose the state's answer on the way, which the step then asks for again."""
    before = plain.network()
    plain.begin(SIGN, **CUT)
    plain.undone(before)
    assert "does not answer over the new network" in plain.salt("links_undo.undone")


@pytest.mark.big
def test_it_is_undone_when_the_minion_is_killed_in_between(plain: Host) -> None:
    before = plain.network()
    plain.begin(SIGN, **CUT)
    plain.kill_minion()
    plain.until(f"test -e {UNDO}/undone/reason", limit=150)
    plain.run("systemctl start --no-block salt-minion")
    plain.undone(before)
    assert "not confirmed within 60 s" in plain.salt("links_undo.undone")


@pytest.mark.big
def test_it_is_undone_at_boot_when_the_host_goes_down_in_between(plain: Host) -> None:
    before = plain.network()
    plain.begin(SIGN, **CUT)
    process.kill(plain.guest.folder)  # as a power failure does
    guests.boot(plain.guest, find(plain.guest.lab))
    plain.undone(before)
    assert "not confirmed before the host went down" in plain.salt("links_undo.undone")
