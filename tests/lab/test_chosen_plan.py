"""From disks to a chosen plan: who is told what, which disks are left out, and that no disk's name is a program."""

import json
import shlex
from collections.abc import Callable

import pytest
import yaml
from product import PILLAR, STORAGE, Product
from saltcli import salt_run
from spares import spare, spoiled
from told import told

from lab.session import Session

CLUSTER_YML = f"{PILLAR}/proposals/config/stack/default/ceph/cluster.yml"
NODE2 = f"{PILLAR}/stack/ceph/minions/node2.yml"
DISCOVERY = "salt-run discovery.collect"
PWNED = "/tmp/pwned"
EVIL = f"{{{{ salt['cmd.run']('touch {PWNED}') }}}}{{{{ __salt__['cmd.run']('touch {PWNED}') }}}}"
SITE = "site_probe: {{ 6 * 7 }} {{ __salt__['cmd.run']('touch /tmp/site') }}\n"
# Warnings of the guide's own policy on `tiny`. How full the machine's disk is, nodes share with it (mon_space).
WARNINGS = {"storage_spare"}


def test_every_minion_is_told_what_it_is_to_become(cluster: Product) -> None:
    kept = yaml.safe_load(cluster.run("saltmaster", f"cat {CLUSTER_YML}").out)
    roles = {"saltmaster": {"master", "admin"}, **{host: {"mon", "mgr", "storage"} for host in STORAGE}}
    for host, expected in roles.items():
        is_told = told(cluster, host)
        assert not is_told["errors"]
        assert set(is_told["roles"]) == expected
        assert {key: is_told[key] for key in kept} == kept
        assert len(is_told["osds"]) == (2 if host in STORAGE else 0)
        ssd = {f"/dev/disk/by-id/wwn-{wwn}" for wwn in _disks(cluster, host, rotational="0")}
        spinning = {f"/dev/disk/by-id/wwn-{wwn}" for wwn in _disks(cluster, host, rotational="1")}
        for data, osd in is_told["osds"].items():
            assert data in spinning and {osd["db"], osd["wal"]} <= ssd
            assert (osd["db_size"], osd["wal_size"]) == (20 << 30, 2 << 30)
    assert not set(told(cluster, "client1")["roles"] or ())


def _disks(cluster: Product, host: str, rotational: str) -> list[str]:
    lines = cluster.run(host, "lsblk -dno WWN,ROTA").out.splitlines()
    return [words[0] for line in lines if len(words := line.split()) == 2 and words[1] == rotational]


def test_disks_that_hold_something_are_unused_with_that_reason(cluster: Product) -> None:
    """A boot disk, an old LVM label, another cluster's OSD: each on the spare disk of a node."""
    with (
        spoiled(cluster, "node1", "filesystem") as boot,
        spoiled(cluster, "node2", "lvm") as lvm,
        spoiled(cluster, "node3", "ceph") as ceph,
    ):
        cluster.run("node1", f"mkdir -p /boot /mnt; mount {boot['node']} /boot; mount {boot['node']} /mnt")
        try:
            printed = cluster.run("saltmaster", DISCOVERY).out
            expected = {
                ("node1", boot["id"]): "mounted on /boot; mounted on /mnt",
                ("node2", lvm["id"]): "holds LVM2_member",
                ("node3", ceph["id"]): "another cluster's OSD",
            }
            assert "another cluster's: " in printed and "(node3 " in printed
            found = _reasons(cluster)
            for disk, reason in expected.items():
                assert reason in (found[disk] or ""), disk
        finally:
            cluster.run("node1", "umount /boot /mnt")
    cluster.run("saltmaster", DISCOVERY)
    assert {_reasons(cluster)[disk] for disk in expected} == {None}


def _reasons(cluster: Product) -> dict[tuple[str, str], str | None]:
    """Every disk's reason, where a disk may be chosen whatever its size."""
    shown = salt_run(cluster.session, "proposal.peek", "name=any", "leftovers=true", "target=node*").data
    return {(host, disk["id"]): disk["reason"] for host, each in shown["hosts"].items() for disk in each["disks"]}


def test_a_disk_whose_model_is_a_program_runs_nothing(cluster: Product) -> None:
    """Through discovery, populate, configure and the pillar that the master renders; the site's own Jinja does run."""
    disk = spare(cluster, "node2")
    record = cluster.run("node2", f"lsblk -dno MAJ:MIN {disk['node']}").out.strip()
    record = f"/run/udev/data/b{record}"
    before = cluster.run("node2", f"cat {record}").out
    hostile = "".join(f"E:ID_MODEL={EVIL}\n" if "ID_MODEL=" in line else f"{line}\n" for line in before.splitlines())
    (populate,) = (command for command in cluster.way.commands if "proposal.populate" in command)
    everyone = ("saltmaster", *STORAGE)
    cluster.run("saltmaster", f"mkdir -p {NODE2.rpartition('/')[0]}; printf %s {shlex.quote(SITE)} >{NODE2}")
    cluster.run("node2", f"printf %s {shlex.quote(hostile)} >{record}")
    try:
        cluster.run("saltmaster", DISCOVERY)
        assert EVIL in json.dumps(json.loads(cluster.run("saltmaster", f"cat {PILLAR}/inventory/node2.json").out))
        reason = _reasons(cluster)["node2", disk["id"]]
        assert reason.startswith("model is not acceptable text") and "{{" not in reason
        cluster.run("saltmaster", populate)
        assert cluster.stage("ceph.stage.configure").code == 0
        assert (
            "{{"
            not in cluster.run("saltmaster", f"grep -rl '{{{{' {PILLAR}/proposals {PILLAR}/current/", check=False).out
        )
        is_told = told(cluster, "node2")
        assert (is_told["site_probe"], is_told["errors"]) == (42, None)
        assert cluster.run("saltmaster", "test -e /tmp/site", check=False).code == 0  # a template that is rendered runs
        for host in everyone:
            assert cluster.run(host, f"test -e {PWNED}", check=False).code == 1, host
    finally:
        cluster.run("node2", f"printf %s {shlex.quote(before)} >{record}")
        cluster.run("saltmaster", f"rm -rf {NODE2} /tmp/site; {DISCOVERY}")
        cluster.run("saltmaster", populate)
        assert cluster.stage("ceph.stage.configure").code == 0


def test_the_guides_own_choice_passes_validation(cluster: Product) -> None:
    """On the running cluster: no error, and these warnings."""
    done = salt_run(cluster.session, "validate.all", check=False)
    findings = done.data["findings"]
    assert [one for one in findings if one["severity"] == "error"] == []
    assert {one["check"] for one in findings if one["severity"] == "warning"} - {"mon_space"} == WARNINGS
    assert done.returncode == 1


@pytest.mark.big
@pytest.mark.parametrize(
    ("name", "osds", "disks"), [("apollo-slice", 36, 48), ("apollo", 216, 248)], ids=["apollo-slice", "apollo"]
)
def test_the_apollo_guide_up_to_configure(own_lab: Callable[[str], Session], name: str, osds: int, disks: int) -> None:
    """Every OSD node's OSDs, nine behind each SSD, in the pillar that the minion gets."""
    product = Product(own_lab(name), "apollo-slice")
    product.guide(end="deploy")
    shown = salt_run(product.session, "proposal.show", "apollo").data
    assert shown["summary"]["osds"] == osds
    assert sum(len(each["disks"]) for each in shown["hosts"].values()) == disks
    for host in (f"osdnode{number}" for number in range(1, 5)):
        is_told = told(product, host)
        assert is_told["roles"] == ["storage"] and len(is_told["osds"]) == osds // 4
        behind = [osd["db"] for osd in is_told["osds"].values()]
        assert {behind.count(ssd) for ssd in behind} == {9}
        assert all(osd["db"] == osd["wal"] for osd in is_told["osds"].values())
        assert {(osd["db_size"], osd["wal_size"]) for osd in is_told["osds"].values()} == {(40 << 30, 5 << 30)}
