"""What hosts say, and the plan: two paths to one disk, a minion that answers nonsense, a site's own plan."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from product import PILLAR, Product
from spares import WIPE, spare

from lab import containers, daemon, disks, hotplug, loops
from lab.store import find

DISCOVERY = "ceph.stage.discovery"
SECOND = 20  # the slot of a second path, behind all others
NONSENSE = "def inspect():\n    return 'out of memory'\n"
MODULE = "/var/cache/salt/minion/extmods/modules/disks.py"


@contextmanager
def second_path(cluster: Product, host: str, disk: dict) -> Iterator[str]:
    """A second path to a disk, as a second controller shows it: another name, the same WWN, the same bytes."""
    lab = find(cluster.session.name)
    facts = hotplug.choose(lab, host, disk["serial"], plugged=True)
    file, path = Path(facts["file"]), "pci-0000:5e:00.0-sas-phy1-lun-0"
    other = file.with_name(f"{SECOND}.0.img")
    properties = {**facts["properties"], "ID_PATH": path, "ID_PATH_TAG": path.replace(":", "_").replace(".", "_")}
    links = [f"disk/by-path/{path}"]
    other.hardlink_to(file)
    other.with_suffix(".json").write_text(
        json.dumps({**facts, "slot": SECOND, "properties": properties, "links": links, "name": None})
    )
    node = containers.find(daemon.needed(), lab, host)
    name = loops.attach(other, facts["rotational"], facts["sector"])
    try:
        disks.write_list(lab, host)
        hotplug.tell(node)
        yield f"/dev/{name}"
    finally:
        loops.detach(name)
        other.unlink()
        other.with_suffix(".json").unlink()
        disks.write_list(lab, host)
        hotplug.tell(node)


def peeked(cluster: Product, words: str) -> dict:
    return json.loads(cluster.run("saltmaster", f"salt-run proposal.peek {words} --out json").out)


def test_a_disk_that_is_mounted_by_one_path_gets_no_osd_by_the_other(cluster: Product) -> None:
    disk = spare(cluster, "node1")
    with second_path(cluster, "node1", disk) as other:
        cluster.stage(DISCOVERY)
        free = peeked(cluster, "name=paths target=node1")["hosts"]["node1"]
        assert sum(osd["data"] == disk["id"] for osd in free["osds"]) == 1, "one disk, one OSD, whatever its paths"
        try:
            cluster.run(
                "node1", f"mkfs.ext4 -q -F {disk['node']} && mkdir -p /srv/busy && mount {disk['node']} /srv/busy"
            )
            cluster.stage(DISCOVERY)
            host = peeked(cluster, "name=paths target=node1")["hosts"]["node1"]
        finally:
            cluster.run("node1", f"umount /srv/busy; {WIPE.format(disk['node'])}", check=False)
    paths = {disk["id"], other}
    shown = {entry["id"]: entry["reason"] for entry in host["disks"] if entry["role"] == "unused"}
    assert not [osd for osd in host["osds"] if osd["data"] in paths]
    assert "mounted on /srv/busy" in shown[disk["id"]], shown
    cluster.stage(DISCOVERY)


def test_a_minion_that_answers_nonsense_holds_back_only_itself(cluster: Product) -> None:
    stored = f"{PILLAR}/inventory/node3.json"
    before = cluster.run("saltmaster", f"cat {stored}").out
    try:
        cluster.run("node3", f"cat >{MODULE} <<'EOF'\n{NONSENSE}EOF")
        cluster.run("saltmaster", "salt node3 saltutil.refresh_modules async=False")
        done = cluster.run("saltmaster", "salt-run discovery.collect", check=False)
    finally:
        cluster.run("saltmaster", "salt node3 saltutil.sync_modules")
    assert "Traceback" not in done.out + done.err
    (odd,) = (line for line in done.out.splitlines() if line.startswith("node3: disks.inspect answered"))
    assert "out of memory" in odd and odd.endswith("what was stored of it stays"), odd
    assert all(f"{host}:" in done.out for host in ("node1", "node2")), done.out
    assert cluster.run("saltmaster", f"cat {stored}").out == before
    assert "node3" in peeked(cluster, "name=nonsense")["hosts"]


def test_discovery_leaves_the_sites_own_plan_without_a_name_as_it_is(cluster: Product) -> None:
    profile = f"{PILLAR}/proposals/profile-default"
    cluster.stage(DISCOVERY)  # what is seen from here on is what is planned with
    cluster.run("saltmaster", "salt-run proposal.populate ratio=2 db=class=ssd")
    digest = f"find {profile} -type f | sort | xargs sha256sum"
    before = cluster.run("saltmaster", digest).out
    cluster.stage(DISCOVERY)
    assert cluster.run("saltmaster", digest).out == before
    assert json.loads(cluster.run("saltmaster", f"cat {profile}/proposal.json").out)["arguments"]["ratio"] == 2
