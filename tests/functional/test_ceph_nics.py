"""The grain of network ports on a machine that is on file: every odd port is described, none hides another."""

from pathlib import Path
from types import SimpleNamespace

import jinja2
import pytest
import yaml
from saltfactories.utils.loader import LoaderModuleMock

ROOT = Path(__file__).parent.parent
MACHINE = yaml.load((ROOT / "fixtures/machines/ports.yaml").read_text(), yaml.CSafeLoader)
PORTS = MACHINE["ports"]


def write(path: Path, text: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def link(path: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


@pytest.fixture(scope="module")
def grain(grain_module):
    return grain_module("ceph_nics")


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """The machine on file: where the grain finds its kernel's files, and its addresses."""
    root = tmp_path_factory.mktemp("machine")
    places = {"NET": root / "class/net", "UDEV": root / "udev"}
    for name in ("vlans", "routes", "routes6"):
        places[name.upper()] = root / name
        write(root / name, MACHINE[name])
    listed = {}
    for name, port in PORTS.items():
        if "file" in port:
            write(places["NET"] / name, port["file"])
        for key, target in port.get("links", {}).items():
            link(places["NET"] / name / key, root / target)
        for key, value in {**port.get("sys", {}), **port.get("under", {})}.items():
            write(places["NET"] / name / key, value)
        for key, value in port.get("udev", {}).items():
            write(places["UDEV"] / key, value)
        listed |= {name: port.get("ips", []), **port.get("aliases", {})}
    addresses = {name: [SimpleNamespace(address=ip, netmask=mask) for ip, mask in ips] for name, ips in listed.items()}
    return {**places, "psutil": SimpleNamespace(net_if_addrs=lambda: addresses)}


@pytest.fixture(scope="module")
def seen(grain, machine):
    with LoaderModuleMock({grain: machine}):
        return {nic["name"]: nic for nic in grain.ceph_nics()["ceph_nics"]}


@pytest.mark.parametrize("name", PORTS)
def test_port(seen, name):
    expected = PORTS[name]["expect"]
    if expected is None or "name" in expected:  # all of it
        assert seen.get(name) == expected
    else:
        assert {key: seen[name].get(key) for key in expected} == expected


def test_a_host_without_sysfs_has_no_ports(grain, tmp_path):
    with LoaderModuleMock({grain: {"NET": tmp_path / "nowhere"}}):
        assert grain.ceph_nics() == {"ceph_nics": []}


def test_this_machine_has_ports_and_no_loopback(loaders):
    """The grain is among the minion's, and the kernel's own list of addresses is understood."""
    found = loaders.grains["ceph_nics"]
    assert any(nic["addresses"] and nic["link"] for nic in found)
    assert not [nic for nic in found if "error" in nic or nic["name"] == "lo"]


def test_the_address_that_keepalived_moves_is_no_hosts_own(modules, python_module, loaders, tmp_path, monkeypatch):
    """Where the site had another rgw_frontend: as a monitor's, it would be told to every host."""
    conf = tmp_path / "keepalived.conf"
    monkeypatch.setattr(python_module("host_nics"), "KEEPALIVED", conf, raising=False)
    own = [address for nic in loaders.grains["ceph_nics"] for address in nic["addresses"]]
    told = {"address": own[0].partition("/")[0], "peers": ["192.0.2.7"], "interface": "eth0"}
    template = (ROOT.parent / "salt/ceph/service/rgw-frontend/files/keepalived.conf.j2").read_text()
    conf.write_text(jinja2.Template(template).render(pillar={"ceph": {"services": {"rgw-frontend": told}}}))
    seen = [address for nic in modules["host_nics.inspect"]() for address in nic["addresses"]]
    assert seen == own[1:]


@pytest.mark.parametrize(
    ("ip", "told"),
    [
        ("""echo '[{"ifname": "lo"}, {"ifname": "PORT", "min_mtu": 68, "max_mtu": 1500}]'""", {"max_mtu": 1500}),
        ("""echo '[{"ifname": "PORT", "min_mtu": 0, "max_mtu": 0}]'""", {}),  # its driver names none
        ("""echo '[{"ifname": "PORT", "mtu": 1500}]'""", {}),  # before Linux 4.19
        ("""echo 'Option "-j" is unknown, try "ip -help".' >&2; exit 255""", {}),
        ("echo nonsense", {}),
    ],
)
def test_a_look_tells_the_largest_mtu_of_a_port(modules, loaders, tmp_path, monkeypatch, ip, told):
    """populate plans no more than all ports of a host can do; sysfs, and so the grain, does not have it."""
    port = loaders.grains["ceph_nics"][0]["name"]
    (tmp_path / "ip").write_text(f"#!/bin/sh\n{ip.replace('PORT', port)}\n")
    (tmp_path / "ip").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = {nic["name"]: nic for nic in modules["host_nics.inspect"]()}
    assert {key: found[port][key] for key in ("max_mtu",) if key in found[port]} == told
    assert not [name for name, nic in found.items() if name != port and "max_mtu" in nic]
