"""A cluster by hand, taken in while its clients work: no stage changes anything of it. Then it grows by a node."""

import json
import shlex
from collections.abc import Callable

import handmade
import pytest
import site_files
from busy import until_seen
from clusters import SUBNETS
from product import PILLAR, Product, cluster_file, until

from lab.load.ground import gateways
from lab.session import Session

pytestmark = pytest.mark.big
FSID = "0b5d3b9e-2a55-4c5e-9d3f-5c8a5d6a7b02"
PUBLIC = f"192.168.{SUBNETS['adopted']}"
SYSTEM = ("fs_name", "created", "flags", "max_mds", "metadata_pool", "data_pools", "up")
PLANTED = "AQBplantedplantedplantedplantedplanted=="
STAGES = ("discovery", "configure", "deploy", "services", "removal")
OWN = "small_site: true\nredundancy: 1\n"
# The other node's disks alone, in the sizes of the guide.
GROW = ["name=more", "target=node2", "ratio=2", "db=180-200", "wal=180-200", "data=900-", "db-size=30g", "wal-size=3g"]
MORE = """\
cluster-ceph/cluster/node2.sls
profile-more/cluster/node2.sls
profile-more/stack/default/ceph/minions/node2.yml
"""
# Not the master's own cache of pillars, beside those of all clusters: docs/concepts/secrets.md.
PLACES = (
    "/var/cache/salt/master/jobs /var/cache/salt/minion /var/log /srv/pillar/ceph/proposals /srv/pillar/ceph/inventory"
)


@pytest.fixture(scope="module")
def byhand(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A lab with that cluster on node1; the master has its admin's files, as clients work there."""
    made = Product(own_lab(cluster_file(tmp_path_factory.mktemp("adopted"), "adopted", SUBNETS["adopted"])))
    site_files.write(made, {"site/README": "Files of the site's own.\n"})  # where fragments of ceph.conf are written
    made.run("saltmaster", "salt-run state.orch ceph.stage.prep")
    made.run("node1", handmade.SCRIPT.format(fsid=FSID, public=PUBLIC))
    disks = [f"/dev/{made.run('node1', handmade.DISK.format(number=number)).out.strip()}" for number in (1, 2)]
    made.run("node1", handmade.PARTITION.format(disk=disks[1]))
    for device in (disks[0], f"{disks[1]}p1"):
        made.run("node1", handmade.OSD.format(device=device))
    made.run("node1", handmade.SIMPLE.format(disk=f"/dev/{made.run('node1', handmade.FLASH).out.strip()}"))
    for path in ("/etc/ceph/ceph.conf", "/etc/ceph/ceph.client.admin.keyring"):
        made.write(path, made.run("node1", f"cat {path}").out)
    until(lambda: made.ceph("status")["osdmap"]["num_up_osds"] == 3, 120, "its OSDs run")
    made.run("node1", handmade.SERVERS)
    until(lambda: len(serving(made)) == 1, 120, "its file system is served")
    made.run("node1", handmade.GATEWAYS)
    until(lambda: len(gateways(made.ceph("service dump"))) == 2, 120, "its gateways run")
    until(lambda: bool(made.ceph("status")["mgrmap"]["available"]), 120, "its manager runs")
    made.write(f"{PILLAR}/stack/ceph/cluster.yml", OWN)
    made.run("saltmaster", "salt-run state.orch ceph.stage.discovery")
    return made


def serving(byhand: Product) -> list[str]:
    """The active metadata servers."""
    return [
        server["name"]
        for system in byhand.ceph("fs dump")["filesystems"]
        for server in system["mdsmap"]["info"].values()
        if server["state"] == "up:active"
    ]


def its(byhand: Product) -> dict[str, object]:
    """All of the cluster that no stage may change."""
    osds = byhand.ceph("osd dump")
    pools = {pool["pool_name"]: (pool["size"], pool["crush_rule"], pool["type"]) for pool in osds["pools"]}
    lying = [{key: osd[key] for key in ("osd", "uuid", "up_from", "weight", "in", "up")} for osd in osds["osds"]]
    mons = byhand.ceph("mon dump")
    return {
        "keys": byhand.run("node1", "ceph --format json auth ls").out,
        "monitors": {key: mons[key] for key in ("epoch", "fsid", "modified", "mons")},
        "configuration": byhand.run("node1", "ceph --format json config dump").out,
        "file systems": [
            {key: system["mdsmap"][key] for key in SYSTEM} for system in byhand.ceph("fs dump")["filesystems"]
        ],
        "osds": (lying, osds["flags"], osds["crush_version"], pools),
        "files": {host: byhand.run(host, handmade.HASHES).out for host in ("node1", "saltmaster")},
        "keyrings": byhand.run("node1", handmade.KEYRINGS).out,
        "started": byhand.run("node1", handmade.STARTED).out,
    }


def test_test_true_writes_nothing(byhand: Product) -> None:
    before, theirs = byhand.written(), its(byhand)
    told = byhand.run("saltmaster", "salt-run ceph.adopt test=true").out
    assert f"cluster {FSID}, release pacific" in told
    assert all(f"1 OSDs ({form})" in told for form in ("partitions", "raw", "simple"))
    assert "mds: node1\n" in told and "rgw: node1\n" in told
    left = "mds.spare (its host is node1), radosgw.rgw.node1.rgw0 (expected rgw.node1, by which stages find it)"
    assert f"no stage looks after them: {left}" in told
    assert f"would write {PILLAR}/keys/keys.json" in told
    assert byhand.written() == before and its(byhand) == theirs


def test_adopted_under_load_and_no_stage_changes_anything(byhand: Product, load: Callable) -> None:
    with load(byhand, until_seen(byhand), least=80, errors=0) as busy:
        before = its(byhand)
        with busy.fault():
            byhand.run("saltmaster", "salt-run ceph.adopt")
            for stage in STAGES:
                done = byhand.stage(f"ceph.stage.{stage}", check=False)
                assert done.code == 0, (stage, done.out, done.err)
        assert its(byhand) == before
    policy = byhand.run("saltmaster", f"cat {PILLAR}/proposals/policy.cfg").out
    assert all(f"role-{role}/cluster/node1.sls\n" in policy for role in ("mds", "rgw"))
    again = byhand.run("saltmaster", "salt-run ceph.adopt").out
    assert "adopted already: nothing changed" in again


def test_its_keys_are_in_no_job_cache_and_no_log(byhand: Product) -> None:
    byhand.run("saltmaster", f"salt node1 test.echo {PLANTED}")
    known = [entry["key"] for entry in byhand.ceph("auth ls")["auth_dump"]]
    for key in (PLANTED, *known):
        found = byhand.run("saltmaster", f"grep -rlF {shlex.quote(key)} {PLACES}", check=False)
        assert bool(found.out.strip()) is (key == PLANTED), (found.out, key == PLANTED)
        logged = byhand.run("saltmaster", f"journalctl --no-pager | grep -cF {shlex.quote(key)}", check=False)
        assert key == PLANTED or logged.out.strip() == "0"


def test_what_needs_our_own_form_is_refused_and_changes_nothing(byhand: Product) -> None:
    before = its(byhand)
    for command in ("osd.replace 0", "osd.migrate 0"):
        refused = byhand.run("saltmaster", f"salt-run {command}", check=False)
        assert refused.code == 2 and "osd.0 of node1 was adopted" in refused.out, refused.out
    refused = byhand.run("saltmaster", "salt-run osd.remove 0", check=False)
    assert refused.code != 0 and "Traceback" not in refused.out + refused.err
    assert its(byhand) == before


def test_it_grows_by_a_node(byhand: Product, load: Callable) -> None:
    before = its(byhand)
    with load(byhand, until_seen(byhand), least=80, errors=0):
        byhand.run("saltmaster", " ".join(["salt-run proposal.populate", *GROW]), check=False)
        policy = byhand.run("saltmaster", f"cat {PILLAR}/proposals/policy.cfg").out
        byhand.write(f"{PILLAR}/proposals/policy.cfg", policy + MORE)
        for stage in ("configure", "deploy"):
            done = byhand.stage(f"ceph.stage.{stage}", check=False)
            assert done.code == 0, (stage, done.out, done.err)
        until(lambda: byhand.ceph("status")["osdmap"]["num_up_osds"] == 5, 120, "the new node's OSDs run")
    after = its(byhand)
    same = ("monitors", "configuration", "file systems", "files", "keyrings", "started")
    assert {key: after[key] for key in same} == {key: before[key] for key in same}
    known = {entry["entity"]: entry for entry in json.loads(str(before["keys"]))["auth_dump"]}
    now = {entry["entity"]: entry for entry in json.loads(str(after["keys"]))["auth_dump"]}
    assert {name: now[name] for name in known} == known
    assert set(now) - set(known) == {"osd.3", "osd.4"}
    again = byhand.run("saltmaster", "salt-run ceph.adopt").out
    assert "adopted already: nothing changed" in again and "node2.yml" not in again, again
