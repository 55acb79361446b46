"""Two reference clusters deployed with the ceph.conf that their documents print: mellanox (2014), tigershark (SC19)."""

import ipaddress
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import site_files
import yaml
from product import PILLAR, Product, until
from saltcli import salt_run

from lab.session import Session
from lab.store import CHECKOUT

pytestmark = pytest.mark.big
PUBLIC, CLUSTER = ipaddress.ip_network("192.168.140.0/24"), ipaddress.ip_network("192.168.190.0/24")
CONFS = CHECKOUT / "tests/fixtures/conf"
LINES = "ceph/configuration/files/ceph.conf.d/{}.conf"
OWN = f"{PILLAR}/stack/ceph/cluster.yml"
POLICY = """\
cluster-ceph/cluster/*.sls
role-master/cluster/salt*.sls
role-admin/cluster/salt*.sls
role-mon/cluster/{mon}.sls
role-mgr/cluster/{mon}.sls
config/stack/default/global.yml
config/stack/default/ceph/cluster.yml
profile-{name}/cluster/*.sls
profile-{name}/stack/default/ceph/minions/*.yml
"""
# What Ceph 16 prints in another form than it was written.
ALSO = {"rbd_default_features": {"3", "layering,striping"}}


def fragments(name: str) -> dict[str, str]:
    """The lines that a document prints, by section, behind those that the lab's machine needs."""
    told = yaml.safe_load((CONFS / f"{name}.yaml").read_text())["fragments"]
    for path in (CHECKOUT / "lab/site/salt/ceph/configuration/files/ceph.conf.d").glob("*.conf"):
        own = [line for line in path.read_text().splitlines() if line.split(" ")[0] not in told.get(path.stem, "")]
        told[path.stem] = "\n".join(own) + "\n" + told.get(path.stem, "")
    return told


def lines(text: str) -> Iterator[tuple[str, str]]:
    """Option and value of each line."""
    for line in text.splitlines():
        if " = " in line:
            name, value = line.split(" = ")
            yield name.replace(" ", "_"), value


def deployed(product: Product, name: str, mon: str, populate: str, more: str = "") -> dict[str, str]:
    """The way to a cluster with these lines; what each command answered.

    Without those of single OSDs: their numbers come as they are made.
    """
    known = {section: text.split("[osd.")[0] for section, text in fragments(name).items()}
    site_files.write(product, {LINES.format(section): text for section, text in known.items()})
    told = {stage: product.stage(f"ceph.stage.{stage}").out for stage in ("prep", "discovery")}
    told["networks"] = product.run("saltmaster", more).out if more else ""
    product.run("saltmaster", populate)
    network = "".join(f"network-{name}/stack/default/ceph/{kind}\n" for kind in ("cluster.yml", "minions/*.yml"))
    product.write(f"{PILLAR}/proposals/policy.cfg", POLICY.format(mon=mon, name=name) + (network if more else ""))
    product.write(OWN, "ms_bind_msgr2: false\nsmall_site: true\n")
    return told | {stage: product.stage(f"ceph.stage.{stage}").out for stage in ("configure", "deploy")}


def runs_with(product: Product, daemon: str) -> dict[str, str]:
    """Every option of a running daemon, by its own word."""
    return {row["name"]: row["value"] for row in product.ceph(f"config show-with-defaults {daemon}")}


def is_so(name: str, running: str, wanted: str) -> bool:
    """Whether an option runs as it was written; a debug level has a second one, which is kept in memory."""
    return running in ALSO.get(name, {wanted}) or (name.startswith("debug_") and running.split("/")[0] == wanted)


def inside(address: str, network: ipaddress.IPv4Network) -> bool:
    return ipaddress.ip_address(address.partition(":")[0]) in network


def on_both_networks(product: Product) -> list[dict[str, Any]]:
    """All OSDs, which speak on both networks and by the first protocol alone."""
    osds = product.ceph("osd dump")["osds"]
    for osd in osds:
        assert inside(osd["public_addr"], PUBLIC) and inside(osd["heartbeat_front_addr"], PUBLIC), osd
        assert inside(osd["cluster_addr"], CLUSTER) and inside(osd["heartbeat_back_addr"], CLUSTER), osd
        assert {address["type"] for address in osd["public_addrs"]["addrvec"]} == {"v1"}
    return osds


def test_mellanox_with_a_section_for_each_osd(own_lab: Callable[[str], Session]) -> None:
    product = Product(own_lab("mellanox"))
    told = deployed(
        product,
        "mellanox",
        "indus00[123]",
        "salt-run proposal.populate name=mellanox data=class=hdd db=class=ssd",
        "salt-run networks.populate name=mellanox mode=none mtu=1500 cluster-network=192.168.190.0/24",
    )
    said = " ".join(told["networks"].split())  # long lines are folded
    assert "the cluster network has 1 times the capacity of the public one" in said
    assert "2 to 4 times is advised" in said
    assert "filestore_xattr_use_omap" in told["deploy"], "Ceph 16 does not know it: a warning"
    until(product.healthy, 120, "HEALTH_OK")
    assert len(on_both_networks(product)) == 25
    tree = {node["id"]: node for node in product.ceph("osd tree")["nodes"]}
    sections = ""
    for host in (node for node in tree.values() if node["type"] == "host"):
        last = 10 + int(host["name"][-1])
        for osd in sorted(host["children"]):
            sections += f"[osd.{osd}]\nhost = {host['name']}\npublic_addr = 192.168.140.{last}\n"
            sections += f"cluster_addr = 192.168.190.{last}\n"
    assert sections.count("[osd.") == 25
    own = fragments("mellanox")["osd"].split("[osd.")[0]
    site_files.write(product, {LINES.format("osd"): own + sections})
    for stage in ("configure", "deploy", "restart"):
        product.stage(f"ceph.stage.{stage}")
    assert salt_run(product.session, "daemon.pending").data["daemons"] == {}
    until(product.healthy, 120, "HEALTH_OK with a section for each OSD")
    assert len(on_both_networks(product)) == 25
    assert sections in product.run("indus005", "cat /etc/ceph/ceph.conf").out
    assert sorted(product.ceph("status")["quorum_names"]) == ["indus001", "indus002", "indus003"]
    product.run("saltmaster", "ceph osd pool create two 32; ceph osd pool application enable two rados")
    (pool,) = (each for each in product.ceph("osd pool ls detail") if each["pool_name"] == "two")
    assert pool["size"] == 2
    until(product.healthy, 120, "HEALTH_OK with a pool of two replicas")


def test_tigershark_every_line_of_its_conf(own_lab: Callable[[str], Session]) -> None:
    product = Product(own_lab("flash"))
    told = deployed(product, "io500", "flash*", "salt-run proposal.populate name=io500 data=class=nvme")
    until(product.healthy, 120, "HEALTH_OK")
    osds = product.ceph("osd dump")["osds"]
    assert len(osds) == 18 and all(osd["up"] and osd["in"] for osd in osds)
    assert {address["type"] for osd in osds for address in osd["public_addrs"]["addrvec"]} == {"v1"}
    running, conf = runs_with(product, "osd.0"), product.run("flash1", "cat /etc/ceph/ceph.conf").out
    wanted = [pair for section in ("global", "osd") for pair in lines(fragments("io500")[section])]
    assert len(wanted) > 24
    for name, value in wanted:
        assert f"{name} = {value}" in conf.replace("debug ", "debug_").replace("rbd default f", "rbd_default_f"), name
        assert name not in running or is_so(name, running[name], value), (name, running[name])
    unknown = {name for name, _ in wanted if name not in running}
    assert unknown and all(name in told["deploy"] for name in unknown), "each is warned of by name"
    sizes = {osd.get("bluestore_min_alloc_size", "4096") for osd in product.ceph("osd metadata")}
    assert sizes == {"4096"}
    assert json.loads(product.run("saltmaster", "salt-run osd.report --out json").out)["osds"]
