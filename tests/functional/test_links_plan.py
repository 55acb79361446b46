"""What a change of links takes and what stands against it: every case of fixtures/networking/changes.yaml."""

import json
from types import SimpleNamespace

import psutil
import pytest
import yaml
from salt.exceptions import CommandExecutionError
from saltlinks import FIXTURES

CASES = yaml.load((FIXTURES / "networking/changes.yaml").read_text(), yaml.CSafeLoader)
BOND = {"mode": "802.3ad", "miimon": 100}


def planned(short):
    """A link of a plan from short words: a bond has ``ports``, a VLAN ``lower``, a port neither."""
    kind = "bond" if "ports" in short else "vlan" if "lower" in short else "ethernet"
    return {"kind": kind, "mtu": 1500, "addresses": [], **(BOND if kind == "bond" else {}), **short}


def known(name, short):
    """A link as ``links_kernel.links`` answers it; a VLAN has an ``id``."""
    kind, rest = short.get("kind") or ("vlan" if "id" in short else None), dict(short)
    data = {"id": rest.pop("id"), "protocol": rest.pop("protocol", "802.1Q")} if kind == "vlan" else BOND
    addresses = [dict(zip(("local", "prefixlen"), one.split("/"), strict=True)) for one in rest.pop("addresses", ())]
    info = {"linkinfo": {"info_kind": kind, "info_data": data}} if kind else {}
    return {"ifname": name, "mtu": 1500, "flags": ["UP"], "addr_info": addresses, **info, **rest}


@pytest.mark.parametrize("name", CASES)
def test_case(modules, name):
    case = CASES[name]
    links = {key: planned(short) for key, short in case["plan"].items()}
    ports = {port: None for key, link in links.items() for port in link.get("ports", [key] * ("id" not in link))}
    network = {"links": links, "ports": ports}
    before = {key: planned(short) for key, short in case.get("before", {}).items()}
    kernel = {key: known(key, short) for key, short in case["kernel"].items()}
    steps = modules["links_plan.steps"](network, kernel, before)
    assert {key: steps[key] for key in ("deleted", "created")} == {
        key: case.get(key, []) for key in ("deleted", "created")
    }
    against = modules["links_plan.obstacles"](network, kernel, before)
    assert len(against) == len(case.get("against", [])), against
    assert [line for line, part in zip(against, case.get("against", []), strict=True) if part not in line] == []


def test_routes_that_somebody_gave_are_told_with_their_link(modules, python_module, monkeypatch):
    """Of all tables and families; not those of the kernel, nor what a router advertises."""
    routes = json.loads((FIXTURES / "networking/kernel/routes.json").read_text())
    kernel = {"-d": [{"ifname": "p1"}, {"ifname": "p2"}], **routes}
    monkeypatch.setattr(python_module("links_kernel"), "_ip", lambda *words: kernel[words[0]])
    assert modules["links_kernel.links"]() == {
        "p1": {
            "ifname": "p1",
            "gateways": ["10.0.0.1", "10.0.0.3", "10.0.0.4", "fd00::1"],
            "routes": [
                {"dst": "10.60.0.0/16", "gateway": "10.0.0.1", "table": "100"},
                {"dst": "default", "gateway": "10.0.0.7", "table": "100"},
                {"dst": "10.50.0.0/16", "gateway": "10.0.0.2", "protocol": "static"},
                {"dst": "fd02::/64", "gateway": "fd00::3"},
                {"dst": "fd02::/64", "gateway": "fd00::4"},
            ],
        },
        "p2": {"ifname": "p2"},
    }


def test_a_rollback_brings_up_what_was_deleted_vlans_last(python_module, monkeypatch):
    """NetworkManager activates what was active: those that the plan has no more are among it."""
    links, asked = python_module("links"), []
    network = {"links": {"bond0": planned({"ports": ["eth0"]})}, "ports": {"eth0": None}}
    kernel = {name: known(name, short) for name, short in {"guests": {"link": "bond7", "id": 7}, "bond7": {}}.items()}
    steps = {"deleted": ["guests", "bond7"], "created": ["bond0"], "options": {}, "commands": []}
    answers = {"changes": {"bond0": "is not there"}, "check": [], "_network": network, "_reached": []}
    for name, answer in {**answers, "_backends": ["links_networkmanager"]}.items():
        monkeypatch.setattr(links, name, lambda answer=answer: answer)

    def arm(*_):
        raise CommandExecutionError("far enough")

    told = {
        "links_undo.finish": list,
        "links_undo.applied": lambda: {"links": {}},
        "links_kernel.links": lambda: kernel,
        "links_files.differences": lambda *_: {"written": {}, "removed": []},
        "links_plan.steps": lambda *_: steps,
        "links_networkmanager.read": list,
        "links_networkmanager.files": dict.copy,
        "links_networkmanager.undo": lambda ports, names: asked.extend(names) or [],
        "links_undo.arm": arm,
    }
    monkeypatch.setattr(links, "__salt__", told)
    with pytest.raises(CommandExecutionError, match="far enough"):
        links.apply()
    assert asked == ["bond0", "eth0", "bond7", "guests"]


@pytest.mark.parametrize(
    ("device", "udev", "otherwise"),
    [
        ("pci0000:3a/0000:3a:00.0/0000:3b:00.0", "pci-0000:3b:00.0", "pci-0000:5e:00.0"),
        ("pci0000:00/0000:00:03.0/virtio2", "pci-0000:00:03.0", "pci-0000:00:04.0"),  # of a virtual machine
        ("pci0000:00/0000:00:03.0/virtio2", None, "pci-0000:00:04.0"),  # where udev does not run
        ("pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0", "pci-0000:00:14.0-usb-0:1:1.0", "pci-0000:00:14.0-usb-0:2:1.0"),
        ("platform/17020000.ethernet", "platform-17020000.ethernet", "platform-17030000.ethernet"),
    ],
)
def test_a_port_sits_where_discovery_saw_it(
    modules, grain_module, python_module, tmp_path, monkeypatch, device, udev, otherwise
):
    """What discovery saw is compared with the same look: the kernel's name of a device is not always its address."""
    port = tmp_path / "net/p1"
    for path in (port, tmp_path / "devices" / device, tmp_path / "udev"):
        path.mkdir(parents=True)
    (port / "device").symlink_to(tmp_path / "devices" / device)
    for name, text in (("type", "1"), ("mtu", "1500"), ("uevent", "IFINDEX=2")):
        (port / name).write_text(f"{text}\n")
    (tmp_path / "udev/n2").write_text(f"E:ID_PATH={udev}\n" if udev else "")
    grain = grain_module("ceph_nics")
    monkeypatch.setattr(grain, "NET", tmp_path / "net")
    monkeypatch.setattr(grain, "UDEV", tmp_path / "udev")
    monkeypatch.setattr(python_module("links_plan"), "NET", tmp_path / "net")
    asked = {"host_nics.inspect": lambda: grain.ceph_nics()["ceph_nics"]}
    asked |= {"links_kernel.differences": modules["links_kernel.differences"]}
    monkeypatch.setattr(python_module("links_plan"), "__salt__", asked)
    (seen,) = grain.ceph_nics()["ceph_nics"]
    network = {"links": {"p1": planned({})}, "ports": {"p1": seen["path"]}}
    assert modules["links_plan.obstacles"](network, {"p1": known("p1", {})}) == []
    network["ports"] = {"p1": otherwise}
    (told,) = modules["links_plan.obstacles"](network, {"p1": known("p1", {})})
    assert told.startswith(f"p1 sits at {seen['path']}, the plan saw it at {otherwise}: has its card been exchanged?")


LISTENING = [("10.0.0.31", 7), ("10.1.0.31", 7), ("10.1.0.31", 7), ("10.0.0.31", 8), ("::", 9), ("10.1.0.31", None)]


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        ({"addresses": ["10.0.0.31/24", "10.1.0.31/24"]}, []),
        ({"addresses": ["10.0.0.31/24"]}, ["ceph-osd listens on 10.1.0.31, which lies on eth1 and the plan does not"]),
        ({"addresses": ["10.0.0.32/24", "10.1.0.31/16"]}, ["ceph-osd listens on 10.0.0.31, which lies on eth0"]),
    ],
)
def test_an_address_on_which_a_daemon_listens_is_not_taken_from_it(modules, python_module, monkeypatch, plan, told):
    """A plan from before the host got it, or a fragment edited by hand; the master answers over another address."""
    listening = [
        SimpleNamespace(status=psutil.CONN_LISTEN, pid=pid, laddr=SimpleNamespace(ip=ip, port=6800))
        for ip, pid in LISTENING
    ]
    listening.append(SimpleNamespace(status=psutil.CONN_ESTABLISHED, pid=7, laddr=SimpleNamespace(ip="10.9.0.31")))
    module = python_module("links_plan")
    monkeypatch.setattr(psutil, "net_connections", lambda _: listening)
    monkeypatch.setattr(module, "_name", {7: "ceph-osd", 8: "sshd", 9: "ceph-mgr"}.__getitem__)
    links = {"bond0": planned({"ports": ["eth0", "eth1"], **plan})}
    kernel = {
        "eth0": {"addresses": ["10.0.0.31/24", "10.9.0.31/24", "fd00::31/64"]},
        "eth1": {"addresses": ["10.1.0.31/24"]},
        "eth8": {"addresses": ["10.8.0.31/24"]},
    }
    network = {"links": links, "ports": {"eth0": None, "eth1": None}}
    against = modules["links_plan.obstacles"](network, {name: known(name, each) for name, each in kernel.items()})
    assert len(against) == len(told), against
    assert all(part in line for line, part in zip(against, told, strict=True))


def test_a_process_that_has_ended_listens_no_more(python_module):
    assert python_module("links_plan")._name(2**22 + 1) == ""
