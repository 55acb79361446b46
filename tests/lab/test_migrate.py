"""DBs and WALs of OSDs that run move under load: to the data disks, back, to other devices; killed on the way."""

from collections.abc import Callable

import pytest
from busy import until_seen
from clusters import SUBNETS
from product import SPARE_MODEL, STORAGE, Product, cluster_file, planned, until

from lab.containers import Done
from lab.session import Session

pytestmark = pytest.mark.big
BACK = "salt-run proposal.populate name=tiny target='node*' data=900- standalone=true migrate=true"
MIGRATE = "salt-run osd.migrate"
KILLED = "timeout --signal=KILL {} salt-run osd.migrate"
# The next time that the tool copies, it is killed with its minion, as by a host that goes down.
KILLER = """\
#!/bin/sh
case "$*" in *bluefs-bdev-migrate*) rm "$0"; pkill -9 -f '[s]alt-minion'; exit 137;; esac
exec /usr/bin/ceph-bluestore-tool "$@"
"""
TOOL = "/usr/local/bin/ceph-bluestore-tool"  # before /usr/bin in the path


@pytest.fixture(scope="module")
def moving(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """Three hosts with two hard disks, an SSD and two spare disks each, deployed with DBs and WALs on the SSDs."""
    file = cluster_file(tmp_path_factory.mktemp("moving"), "moving", SUBNETS["moving"], spare=True)
    product = Product(own_lab(file))
    product.guide()
    until(product.whole, 120, "HEALTH_OK")
    return product


def again(product: Product, more: str = " migrate=true") -> str:
    """The guide's own arguments: DB and WAL on the SSD."""
    (populate,) = (command for command in product.way.commands if "proposal.populate" in command)
    return f"{populate}{more}"


def elsewhere(product: Product) -> str:
    """The same on the spare disks, as from an SSD that wears out."""
    return again(product).replace("180-200", f"model={SPARE_MODEL}")


def served(product: Product, populate: str) -> dict[str, dict]:
    """Plan with these words and let configure serve it; what moves, by the OSD's fsid."""
    product.stage("ceph.stage.discovery")
    done = product.run("saltmaster", populate, check=False)
    assert done.code == 0, done.out + done.err
    product.stage("ceph.stage.configure")
    return {uuid: osd["moves"] for osds in planned(product).values() for uuid, osd in osds.items() if osd.get("moves")}


def migrate(product: Product, words: str = "") -> Done:
    done = product.run("saltmaster", f"{MIGRATE} {words}".rstrip(), check=False, limit=3000)
    assert "Traceback" not in done.out + done.err
    return done


def dedicated(product: Product) -> dict[int, tuple[str, str]]:
    """Of each OSD, by Ceph's own word: whether DB and WAL have devices of their own."""
    keys = ("bluefs_dedicated_db", "bluefs_dedicated_wal")
    return {osd["id"]: tuple(osd[key] for key in keys) for osd in product.ceph("osd metadata")}


def as_planned(product: Product) -> None:
    """Every OSD up and in, where the plan has it; a further run has nothing to do, and no flag is left."""
    until(product.whole, 300, "HEALTH_OK")
    report = product.run("saltmaster", "salt-run osd.report", check=False)
    assert report.code == 0 and "waits for" not in report.out, report.out
    assert "nothing changed" in migrate(product).out
    dump = product.ceph("osd dump")
    assert not dump.get("crush_node_flags") and "noout" not in dump["flags"]


def slots(product: Product) -> dict[str, list[str]]:
    """The disks on which partitions for DBs and WALs lie, one entry for each, by host."""
    types = "30cd0809-c2b2-499c-8879-2d6b78529876|5ce17fce-4087-4169-b7ff-056cc58473f9"
    listed = f"lsblk -nlo PKNAME,PARTTYPE | grep -E '{types}' | cut -d' ' -f1 | sort"
    return {host: product.run(host, listed).out.split() for host in STORAGE}


def killed_in_mid_copy(product: Product, host: str) -> int:
    """The tool and its minion are killed while they copy on a host; its OSD does not start. Which that is."""
    product.run(host, f"cat >{TOOL} <<'END'\n{KILLER}END\nchmod +x {TOOL}")
    assert migrate(product).code != 0
    down = next(osd["osd"] for osd in product.ceph("osd dump")["osds"] if not osd["up"])
    assert product.run(host, f"systemctl start ceph-osd@{down}", check=False).code != 0
    said = product.run(host, f"journalctl -u osd-devices@{down} --no-pager").out
    assert f"osd.{down}: its db is being moved: 'salt-run osd.migrate {down}'" in said
    product.run(host, "systemctl restart salt-minion")
    until(
        lambda: "True" in product.run("saltmaster", f"salt {host} test.ping", check=False).out, 120, f"{host} answers"
    )
    return down


def test_dbs_go_back_to_the_data_disks_and_come_again(moving: Product, load: Callable) -> None:
    """The dry run changes nothing; deploy leaves both places alone; killed several times, the same command goes on."""
    before, ids = slots(moving), sorted(dedicated(moving))
    assert all(len(each) == 4 for each in before.values())
    with load(moving, until_seen(moving), least=200) as busy, busy.fault():
        assert len(served(moving, BACK)) == 6
        traces = moving.traces()
        dry = migrate(moving, "test=true")
        assert dry.code == 0 and dry.out.count("to the data disk") == 12 and "are copied" in dry.out
        assert moving.traces() == traces
        moving.stage("ceph.stage.deploy")
        report = moving.run("saltmaster", "salt-run osd.report")
        assert report.code == 0 and report.out.count("waits for osd.migrate") == 6 and slots(moving) == before
        for seconds in (8, 15, 25):
            moving.run("saltmaster", KILLED.format(seconds), check=False)
        done = migrate(moving)
        assert done.code == 0, done.out + done.err
        as_planned(moving)
        assert set(dedicated(moving).values()) == {("0", "0")}
        assert slots(moving) == {host: [] for host in STORAGE}
        assert len(served(moving, again(moving))) == 6
        killed_in_mid_copy(moving, "node2")  # its new DB is there, and empty
        done = migrate(moving)
        assert done.code == 0, done.out + done.err
        as_planned(moving)
    assert set(dedicated(moving).values()) == {("1", "1")} and sorted(dedicated(moving)) == ids
    assert slots(moving) == before


def test_a_host_that_goes_down_in_mid_copy_starts_no_half_moved_osd(moving: Product, load: Callable) -> None:
    """To other devices; the tool and its minion are killed while they copy."""
    before = slots(moving)
    with load(moving, until_seen(moving), least=200) as busy, busy.fault():
        assert len(served(moving, elsewhere(moving))) == 6
        down = killed_in_mid_copy(moving, "node1")
        deploy = moving.stage("ceph.stage.deploy", check=False)
        assert deploy.code != 0 and f"osd.{down}: its db is being moved" in deploy.out + deploy.err
        done = migrate(moving)
        assert done.code == 0, done.out + done.err
        as_planned(moving)
    now = slots(moving)
    assert all(set(now[host]).isdisjoint(before[host]) and len(now[host]) == 4 for host in STORAGE)
    assert len(served(moving, again(moving))) == 6 and migrate(moving).code == 0  # and home again
    as_planned(moving)
    assert slots(moving) == before


def test_without_cephs_leave_nothing_stops(moving: Product) -> None:
    """With min_size at the pools' size no OSD may stop: refused by name, all run on; then it is called off."""
    assert len(served(moving, BACK)) == 6
    pools = {pool["pool_name"]: pool for pool in moving.ceph("osd pool ls detail")}
    for name, pool in pools.items():
        moving.run("saltmaster", f"ceph osd pool set {name} min_size {pool['size']}")
    booted = [(osd["osd"], osd["up_from"]) for osd in moving.ceph("osd dump")["osds"]]
    done = migrate(moving)
    assert done.code == 1 and "cannot be stopped now" in done.out + done.err
    assert [(osd["osd"], osd["up_from"]) for osd in moving.ceph("osd dump")["osds"]] == booted
    for name, pool in pools.items():
        moving.run("saltmaster", f"ceph osd pool set {name} min_size {pool['min_size']}")
    assert served(moving, again(moving, "")) == {}
    as_planned(moving)
