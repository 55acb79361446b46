"""Hosts of a cluster file that are guests: what they may be, what their udev is told, what their guide plans."""

import argparse
import configparser
import ipaddress
import re
import shlex
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest

from lab import capacity, clean, containers, identity
from lab.cluster import ClusterFile, parse, read
from lab.errors import LabError
from lab.grow import with_host
from lab.guest import cli, guests, hosts, xstate
from lab.guest.base import HERE
from lab.guide import guide
from lab.store import Lab
from proposals.disks import arguments as disk_arguments
from proposals.disks import plan as disk_plan
from proposals.networking import arguments as network_arguments
from proposals.networking import plan as network_plan

GOOD = """
networks: {public: 10.9.0.0/24, other: 10.9.1.0/24}
disks: {hdd: {size: 1000204886016, model: M}, boot: {size: 1000204886016, model: B, mount: [/boot]}}
hosts:
  - {names: [s], master: true, first: 4}
  - {names: [g], first: 5, disks: {hdd: 2}, guest: 2048}
"""


@pytest.fixture
def lab() -> Lab:
    return Lab("guests", "", read("guests")[1])


def test_guests_and_containers_are_told_apart() -> None:
    cluster = parse("c", GOOD)
    assert [host.name for host in cluster.containers] == ["s"]
    assert [(host.name, host.guest, host.addresses) for host in cluster.guests] == [("g", 2048, {"public": "10.9.0.5"})]


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("guest: 2048", "guest: true", "guest: expected int, found True"),
        ("guest: 2048", "guest: -1", "guest: expected at least 512 MiB of memory, found -1"),
        ("guest: 2048", "gest: 2048", "unknown key 'gest': did you mean guest?"),
        ("master: true", "guest: 1024, master: true", "host s: the master is a container, not a guest"),
        ("[g]", "[g-1]", "host g-1: is no guest name: expected letters and digits"),
        ("{hdd: 2}", "{hdd: 8}", "host g: 8 disks; a guest takes 7"),
        ("{hdd: 2}", "{boot: 1}", "host g: a guest has no boot disks"),
        (
            "guest: 2048",
            "guest: 2048, networks: [other]",
            "is on the first network alone (public), found other",
        ),
        ("guest: 2048", "guest: 2048, networks: [public, other]", "alone (public), found public, other"),
    ],
)
def test_a_host_that_cannot_be_a_guest_is_refused_by_name(was: str, now: str, said: str) -> None:
    assert was in GOOD
    with pytest.raises(LabError, match=".") as refused:
        parse("c", GOOD.replace(was, now, 1))
    assert said in str(refused.value)


def test_a_guests_memory_holds_its_osds() -> None:
    container, guest = parse("c", GOOD.replace(", guest: 2048", "")), parse("c", GOOD)
    node = capacity.NODE + 2 * capacity.DISK
    assert capacity.needs(guest)[0] == capacity.needs(container)[0] - node + 2048


def test_the_name_of_another_guest_is_refused(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    known = [guests.Guest("stor1", "", lab="guests"), guests.Guest("other", "")]
    monkeypatch.setattr(guests, "guests", lambda: known)
    hosts.check_names(lab)
    known.append(guests.Guest("stor2", "", lab="tiny"))
    with pytest.raises(LabError, match="a guest stor2 of tiny already: `python -m lab kernel down stor2` ends it"):
        hosts.check_names(lab)


@pytest.mark.parametrize("name", ["/srv/data", "../labs/tiny", "..", "nosuch", ""])
def test_only_a_guest_is_taken_away(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder goes as root: no other folder can be named, and no name is not all of them."""
    (tmp_path / "guests/g1").mkdir(parents=True)
    (tmp_path / "labs/tiny").mkdir(parents=True)
    monkeypatch.setattr(guests, "GUESTS", tmp_path / "guests")
    monkeypatch.setattr(cli, "locked", nullcontext)
    with pytest.raises(LabError, match="no guest .* .there are: g1"):
        cli._down(argparse.Namespace(guest=name))
    if not name.isalnum():
        with pytest.raises(LabError, match="is no guest name"):
            guests.remove(name)
    assert (tmp_path / "guests/g1").is_dir() and (tmp_path / "labs/tiny").is_dir()


def test_a_guest_that_another_checkout_or_a_lab_uses_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = [
        guests.Guest("own", ""),
        guests.Guest("used", "", checkout="/other"),
        guests.Guest("left", "", checkout="/other"),
        guests.Guest("inlab", "", lab="guests", checkout="/other"),
        guests.Guest("orphan", "", lab="gone"),
    ]
    monkeypatch.setattr(guests, "GUESTS", tmp_path)
    for each in known:
        each.save()
    monkeypatch.setattr(guests, "labs", lambda: [Lab("guests", "/other", "")])
    monkeypatch.setattr(guests.process, "alive", lambda folder, pid: folder.name in ("own", "used"))
    removed: list[str] = []
    monkeypatch.setattr(guests, "remove", removed.append)
    guests.remove_lone()
    assert sorted(removed) == ["left", "orphan", "own"]


def test_a_lab_that_lost_a_guest_is_not_whole(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.complete = True
    made = [Mock(labels={"halocline.host": host.name}, status="running") for host in lab.cluster.containers]
    client = Mock(**{"containers.list.return_value": made})
    known = [guests.Guest(host.name, "", lab="guests") for host in lab.cluster.guests]
    monkeypatch.setattr(guests, "guests", lambda: known)
    assert clean.alive(client, lab)
    known.pop()
    assert not clean.alive(client, lab)


def test_what_only_a_container_can_do_says_that_this_is_a_guest(lab: Lab) -> None:
    with pytest.raises(LabError, match="stor1 of guests is a guest, not a container: `python -m lab kernel --help`"):
        containers.find(Mock(), lab, "stor1")
    with pytest.raises(LabError, match="stor1 is a guest, and hosts that are added are containers"):
        with_host(lab, "stor4", lab.cluster.host("stor1"))


def test_udev_gives_each_disk_the_identity_that_a_containers_has(lab: Lab) -> None:
    host = lab.cluster.host("stor1")
    lines = [hosts.rule(lab, host, slot, model) for slot, model in enumerate(host.slots)]
    assert [re.findall(r'KERNEL=="(\w+)"', line) for line in lines] == [["ubdb"], ["ubdc"], ["ubdd"], ["ubde"]]
    for slot, (line, model) in enumerate(zip(lines, host.slots, strict=True)):
        facts = identity.describe("guests", "stor1", slot, 0, model)
        assert dict(re.findall(r'ENV\{(\w+)\}="([^"]*)"', line)) == facts["properties"]
        assert re.findall(r'SYMLINK\+="([^"]*)"', line) == facts["links"]
        # each word is one that udev(7) knows, and the line is one
        words = line.rstrip("\n").split(", ")
        assert all(re.fullmatch(r'[A-Z]+(\{[\w/]+\})?(==|!=|=|\+=)"[^"\n]*"', word) for word in words), line


def test_the_switch_is_there_before_the_network() -> None:
    unit = configparser.ConfigParser(strict=False)
    unit.optionxform = str
    unit.read(HERE / "files/etc/systemd/system/lab-switch.service")
    assert {"network-pre.target", "systemd-networkd.service", "NetworkManager.service"} <= set(
        unit["Unit"]["Before"].split()
    )
    program, uplink = unit["Service"]["ExecStart"].split()
    assert uplink == "vec0"
    assert (HERE / "files" / program.lstrip("/")).stat().st_mode & 0o111


def inventory(cluster: ClusterFile) -> dict:
    """The guests as discovery would see them."""
    found = {}
    for host in cluster.guests:
        disks = []
        for slot, model in enumerate(host.slots):
            facts = identity.describe(cluster.name, host.name, slot, 0, model)["properties"]
            about = {"device": f"/dev/{guests.disk_name(slot + 1)}", "id": f"/dev/disk/by-id/wwn-{facts['ID_WWN']}"}
            disks.append({**about, "size": model.size, "rotational": model.rotational, "in_use": [], "osds": []})
        port = {"kind": "ethernet", "mtu": 1500, "up": True, "link": True, "speed": 10000}
        address = f"{host.addresses['public']}/24"
        nics = [{**port, "name": "p1", "addresses": [address]}, {**port, "name": "p2", "addresses": []}]
        found[host.name] = {"ceph_disks": disks, "ceph_nics": nics, "memory": host.guest << 20, "addresses": [address]}
    return {"hosts": found, "networks": {"public_network": cluster.networks["public"]}}


def test_its_guide_plans_a_bond_with_a_vlan_and_three_kinds_of_osds(lab: Lab) -> None:
    seen, bonds, osds = inventory(lab.cluster), {}, {}
    for command in guide("guests").commands:
        _, noun, *words = shlex.split(command) if "populate" in command else ("", "")
        if noun == "networks.populate":
            bonds = network_plan.peek(seen, network_arguments.parse(words)).as_dict()["hosts"]
        elif noun == "proposal.populate":
            planned = disk_plan.peek(seen, disk_arguments.parse(words)).as_dict()["hosts"]
            osds |= {host: each["osds"] for host, each in planned.items()}
    for host, each in bonds.items():
        bond, vlan = each["links"]
        assert (bond["name"], bond["ports"], bond["mtu"]) == ("bond0", ["p1", "p2"], 1500)
        assert (vlan["name"], vlan["id"], vlan["mtu"]) == ("bond0.3002", 3002, 1500)  # 3001 is the switch's own
        inside = ipaddress.ip_interface(vlan["addresses"][0])
        assert str(inside.network) not in lab.cluster.networks.values() and host in osds
    kinds = {
        host: (len(each), len({osd["data"] for osd in each}), each[0]["encryption"]) for host, each in osds.items()
    }
    assert kinds == {"stor1": (3, 3, None), "stor2": (2, 2, "dmcrypt"), "stor3": (2, 1, None)}
    assert all(osd["db"] for each in osds.values() for osd in each)


def test_nothing_is_put_before_a_guest_where_processors_have_no_amx(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "cpuinfo").write_text("flags\t\t: fpu avx512f pku\n")
    monkeypatch.setattr(xstate, "PROCESSORS", tmp_path / "cpuinfo")
    assert xstate.environment() == {}
