"""What a change of links takes and what stands against it: every case of fixtures/networking/changes.yaml."""

import pytest
import yaml
from saltlinks import FIXTURES

CASES = yaml.safe_load((FIXTURES / "networking/changes.yaml").read_text())
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
    against = modules["links_plan.obstacles"](network, kernel)
    assert len(against) == len(case.get("against", [])), against
    assert [line for line, part in zip(against, case.get("against", []), strict=True) if part not in line] == []
