"""The guide as it stands, on the four OSD nodes, three monitors and the admin host that it was written for."""

from collections import Counter

import dashboard
import pytest
from product import DEPLOY, PILLAR, Product, nothing_changed, until
from saltcli import salt_run

pytestmark = pytest.mark.big
MONITORS = ("monnode1", "monnode2", "monnode3")
OSDS, BEHIND = 36, 9  # nine hard disks behind each node's SSD
SIZES = {"db": 40 << 30, "wal": 5 << 30}  # bytes, as the guide types them
STAGES = ("prep", "discovery", "configure", "deploy", "services")
OWN = f"{PILLAR}/stack/ceph/cluster.yml"
POOL = "coded"


def test_it_is_whole(apollo: Product) -> None:
    until(lambda: apollo.whole(OSDS, MONITORS), 90, f"HEALTH_OK, 3 monitors, {OSDS} OSDs up and in, PGs active+clean")
    assert len(apollo.ceph("mgr dump")["standbys"]) == 2
    assert apollo.ceph("osd ls") == list(range(OSDS))


def test_each_osd_has_its_own_db_and_wal_on_its_nodes_ssd(apollo: Product) -> None:
    """By Ceph's own word, and by the report's, which compares host, Ceph and proposal."""
    metadata = apollo.ceph("osd metadata")
    for role, size in SIZES.items():
        places = {(one["hostname"], one[f"bluefs_{role}_partition_path"]) for one in metadata}
        assert len(places) == OSDS
        assert {int(one[f"bluefs_{role}_size"]) for one in metadata} == {size}
    lines = salt_run(apollo.session, "osd.report").data["osds"]
    assert [line["problems"] for line in lines] == [[]] * OSDS
    assert {(line["db_size"], line["wal_size"]) for line in lines} == {tuple(SIZES.values())}
    assert set(Counter((line["host"], line["db"]) for line in lines).values()) == {BEHIND}
    assert all(line["db"] == line["wal"] for line in lines)


def test_objects_are_written_and_read(apollo: Product) -> None:
    told = salt_run(apollo.session, "pool.quick_test", "seconds=5").data
    assert int(told["write"]["total_writes_made"]) > 0 and int(told["seq"]["total_reads_made"]) > 0


def test_its_services_are_a_file_system_and_the_dashboard(apollo: Product) -> None:
    (system,) = apollo.ceph("fs dump")["filesystems"]
    states = [each["state"] for each in system["mdsmap"]["info"].values()]
    assert (system["mdsmap"]["fs_name"], states) == ("cephfs", ["up:active"])
    assert len(apollo.ceph("fs dump")["standbys"]) == 2
    assert dashboard.served_at(apollo) in apollo.answers["ceph mgr services"].out
    status, (osds,) = dashboard.ask(apollo, "api/osd")
    assert (status, len(osds[1])) == (201, OSDS)


def test_the_guides_quick_test_measured(apollo: Product) -> None:
    told = apollo.answers["salt-run pool.quick_test seconds=10"].out
    assert "10 s each way" in told and "MB/s" in told, told
    assert "quick" not in " ".join(apollo.ceph("osd pool ls"))


def test_a_pool_of_two_data_and_two_coding_parts_outlives_a_node(apollo: Product) -> None:
    """Four hosts are what 2+2 needs; with three of them it serves, with all it is whole."""
    apollo.write(OWN, f"pools: {{{POOL}: {{application: rados, erasure: 2+2}}}}\n")
    apollo.stage("ceph.stage.configure")
    apollo.stage(DEPLOY)
    (pool,) = (each for each in apollo.ceph("osd pool ls detail") if each["pool_name"] == POOL)
    profile = apollo.ceph(f"osd erasure-code-profile get {pool['erasure_code_profile']}")
    assert (profile["k"], profile["m"], profile["plugin"], profile["crush-failure-domain"]) == ("2", "2", "isa", "host")
    written = apollo.run("saltmaster", f"head -c 4M /dev/urandom | tee /tmp/part | rados -p {POOL} put part -").code
    before = apollo.run("saltmaster", "sha256sum </tmp/part").out
    apollo.session.verb("stop", "osdnode4")
    try:
        read = apollo.run("saltmaster", f"timeout 120 rados -p {POOL} get part - | sha256sum").out
    finally:
        apollo.session.verb("start", "osdnode4")
    assert (written, read) == (0, before)
    until(lambda: apollo.whole(OSDS, MONITORS), 180, "HEALTH_OK with the node back")


def test_a_second_run_of_every_stage_changes_nothing(apollo: Product) -> None:
    until(lambda: apollo.whole(OSDS, MONITORS), 90, "HEALTH_OK after the quick test")
    (populate,) = (command for command in apollo.way.commands if "proposal.populate" in command)
    apollo.stage("ceph.stage.discovery")  # the first look after the deploy finds the OSDs that lie on the disks now
    apollo.type(populate)
    for stage in STAGES:
        nothing_changed(apollo, f"ceph.stage.{stage}")
