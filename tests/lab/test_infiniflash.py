"""The InfiniFlash paper's flash shelves in small: what is lost with one, and the suites for flash measured on them.

Each shelf is a chassis in the CRUSH map by its disks' paths, which lead over its expander.
"""

import json
from collections.abc import Callable

import pytest
from product import PILLAR, Product, reported, until
from saltcli import salt_run

from lab.session import Session

pytestmark = pytest.mark.big
SHELVES = ("expander-50011731000001ff", "expander-50011731000002ff")
CLIENTS = ("client01", "client02", "client03")
OWN = f"{PILLAR}/stack/ceph/cluster.yml"
SITE = """\
small_site: true
crush_locations: {'ifnode*': {chassis: by-path}}
ceph_config: {global: {mon_target_pg_per_osd: 200}}
pools: {images: {application: rbd, size: 2, failure_domain: chassis, pg_num: 64, autoscale: "off"}}
"""
POLICY = """\
cluster-ceph/cluster/*.sls
role-master/cluster/salt*.sls
role-admin/cluster/salt*.sls
role-mon/cluster/client*.sls
role-mgr/cluster/client*.sls
role-mds/cluster/client*.sls
role-benchmark/cluster/client0[12]*.sls
config/stack/default/global.yml
config/stack/default/ceph/cluster.yml
profile-infiniflash/cluster/*.sls
profile-infiniflash/stack/default/ceph/minions/*.yml
"""


@pytest.fixture(scope="module")
def shelves(own_lab: Callable[[str], Session]) -> Product:
    """`infiniflash-slice` with a pool over both shelves, load generators and metadata servers."""
    product = Product(own_lab("infiniflash-slice"))
    for stage in ("prep", "discovery"):
        product.stage(f"ceph.stage.{stage}")
    product.notes["peeked"] = salt_run(product.session, "proposal.peek", "name=infiniflash", "standalone=true").data
    product.run("saltmaster", "salt-run proposal.populate name=infiniflash standalone=true")
    product.write(f"{PILLAR}/proposals/policy.cfg", POLICY)
    product.write(OWN, SITE)
    for stage in ("configure", "deploy", "services"):
        product.stage(f"ceph.stage.{stage}")
    until(lambda: whole(product), 300, "HEALTH_OK")
    return product


def whole(product: Product) -> bool:
    return product.whole(16, CLIENTS)


def buckets(product: Product) -> dict[str, list[str]]:
    """Which buckets and OSDs stand in which."""
    nodes = product.ceph("osd tree")["nodes"]
    names = {node["id"]: node["name"] for node in nodes}
    return {node["name"]: sorted(names[child] for child in node.get("children", ())) for node in nodes}


def test_what_falls_with_a_shelf_is_said_before_it_is_deployed(shelves: Product) -> None:
    peeked = shelves.notes["peeked"]
    assert [(shelf["expander"], shelf["osds"]) for shelf in peeked["shelves"]] == [
        (name.removeprefix("expander-"), 8) for name in SHELVES
    ]
    assert sum("copies on different hosts of it are lost together" in line for line in peeked["warnings"]) == 2
    (hint,) = (line for line in peeked["hints"] if line.startswith("flash cards of shared shelves"))
    assert "4 a server" in hint and "at least 200 placement groups an OSD" in hint
    assert shelves.run("saltmaster", "ceph config get mon mon_target_pg_per_osd").out.strip() == "200"


def test_a_shelf_that_is_lost_takes_one_copy_alone(shelves: Product) -> None:
    """Every group has a copy in each shelf; with all OSDs of one stopped what was written is read."""
    tree = buckets(shelves)
    assert [tree[name] for name in SHELVES] == [["ifnode01", "ifnode02"], ["ifnode03", "ifnode04"]]
    chassis = {osd: name for name in SHELVES for host in tree[name] for osd in tree[host]}
    groups = shelves.ceph("pg ls-by-pool images")["pg_stats"]
    assert len(groups) == 64
    assert all({chassis[f"osd.{osd}"] for osd in group["up"]} == set(SHELVES) for group in groups)
    shelves.run("saltmaster", "head -c 8M /dev/urandom >/tmp/written; rados -p images put written /tmp/written")
    try:
        for host in tree[SHELVES[0]]:
            shelves.run(host, "systemctl stop ceph-osd.target")
        until(lambda: shelves.ceph("status")["osdmap"]["num_up_osds"] == 8, 180, "the shelf's OSDs are down")
        read = "timeout 120 rados -p images get written /tmp/read && cmp /tmp/written /tmp/read"
        assert shelves.run("saltmaster", read, check=False).code == 0, "what was written is not read"
    finally:
        for host in tree[SHELVES[0]]:
            shelves.run(host, "systemctl start ceph-osd.target", check=False)
    until(lambda: shelves.ceph("status")["osdmap"]["num_up_osds"] == 16, 180, "the shelf's OSDs are up")
    reported()
    until(lambda: whole(shelves), 600, "HEALTH_OK with the shelf back")


@pytest.mark.parametrize(
    ("suite", "target", "rows", "repeats"), [("tigershark", "cephfs", 12, 1), ("infiniflash", "rbd", 12, 5)]
)
def test_a_suite_for_flash_has_a_figure_in_every_cell(
    shelves: Product, suite: str, target: str, rows: int, repeats: int
) -> None:
    """Exit status 1 would say that a cell is empty. What is measured says nothing of flash."""
    told = salt_run(shelves.session, "benchmark.run", suite, limit=7200).data
    table = shelves.run("saltmaster", f"cat {told['folder']}/table.txt").out
    print(table)
    result = json.loads(shelves.run("saltmaster", f"cat {told['folder']}/result.json").out)
    cells = result["cells"][target]
    assert len(cells) == rows and all(len(each) == repeats for each in cells.values())
    assert result["generators"] == ["client01", "client02"]
    if suite == "tigershark":  # of each host: empty and small files of four jobs, four large ones, a shared one
        assert cells["find"][0]["operations"] == 2 * (2 * 4 * 200 + 4 + 1)
    assert ("score of these phases" in table) == (suite == "tigershark")
    assert not [pool for pool in shelves.ceph("osd pool ls") if "bench" in pool]
    until(lambda: whole(shelves), 300, "HEALTH_OK after all is taken away")
