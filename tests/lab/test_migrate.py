"""DB and WAL of OSDs that run move under load: to SSDs, to other devices, home, to data disks; killed on the way."""

from collections.abc import Callable

import pytest
from busy import until_seen
from clusters import SUBNETS
from product import DEPLOY, SPARE_MODEL, STORAGE, Product, cluster_file, planned, until

from lab.containers import Done
from lab.session import Session

pytestmark = pytest.mark.big
PLAN = "salt-run proposal.populate name=tiny target='node*' data=900-"
ALONE = f"{PLAN} standalone=true"
SSD = f"{PLAN} ratio=2 db=180-200 db-size=20g"
SPARE = f"{PLAN} ratio=2 db=model={SPARE_MODEL} db-size=20g"
WAL = f"{PLAN} ratio=2 db=180-200 wal=180-200 db-size=30g wal-size=2g"
MIGRATE = "salt-run osd.migrate"
KILLED = "timeout --signal=KILL {} salt-run osd.migrate"
# The next time that the tool copies, it is killed with its minion, as by a host that goes down.
KILLER = """\
#!/bin/sh
case "$*" in *{verb}*) rm "$0"; {first} pkill -9 -f '[s]alt-minion'; exit 137;; esac
exec /usr/bin/ceph-bluestore-tool "$@"
"""
REALLY = '/usr/bin/ceph-bluestore-tool "$@";'  # killed when all is written, and nobody knows
TOOL = "/usr/local/bin/ceph-bluestore-tool"  # before /usr/bin in the path


@pytest.fixture(scope="module")
def moving(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """Three hosts with two hard disks, an SSD and two spare disks each, deployed without DBs."""
    file = cluster_file(tmp_path_factory.mktemp("moving"), "moving", SUBNETS["moving"], spare=True)
    product = Product(own_lab(file))
    product.guide(end=DEPLOY)
    assert served(product, ALONE) == {}
    product.guide(begin=DEPLOY)
    until(product.whole, 120, "HEALTH_OK")
    return product


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


def dedicated(product: Product) -> dict[int, str]:
    """Of each OSD, by Ceph's own word: whether its DB has a device of its own."""
    return {osd["id"]: osd["bluefs_dedicated_db"] for osd in product.ceph("osd metadata")}


def as_planned(product: Product) -> None:
    """Every OSD up and in, where the plan has it; a further run has nothing to do, and no flag is left."""
    until(product.whole, 300, "HEALTH_OK")
    report = product.run("saltmaster", "salt-run osd.report", check=False)
    assert report.code == 0 and "waits for" not in report.out, report.out
    assert "nothing changed" in migrate(product).out
    dump = product.ceph("osd dump")
    assert not dump.get("crush_node_flags") and "noout" not in dump["flags"]


def slots(product: Product) -> dict[str, list[str]]:
    """The disks on which partitions for DBs lie, one entry for each, by host."""
    listed = "lsblk -nlo PKNAME,PARTTYPE | awk '$2 == \"30cd0809-c2b2-499c-8879-2d6b78529876\" {print $1}' | sort"
    return {host: product.run(host, listed).out.split() for host in STORAGE}


def killed_in_mid_copy(
    product: Product, host: str, role: str = "db", verb: str = "bluefs-bdev-migrate", first: str = ""
) -> int:
    """The tool and its minion are killed while they copy on a host; its OSD does not start. Which that is."""
    killer = KILLER.format(verb=verb, first=first)
    product.run(host, f"cat >{TOOL} <<'END'\n{killer}END\nchmod +x {TOOL}")
    done = migrate(product)
    assert done.code != 0 and "runs where it lay" not in done.out, done.out
    down = next(osd["osd"] for osd in product.ceph("osd dump")["osds"] if not osd["up"])
    assert product.run(host, f"systemctl start ceph-osd@{down}", check=False).code != 0
    said = product.run(host, f"journalctl -u osd-devices@{down} --no-pager").out
    assert f"osd.{down}: its {role} is being moved: 'salt-run osd.migrate {down}'" in said
    product.run(host, "systemctl restart salt-minion")
    until(
        lambda: "True" in product.run("saltmaster", f"salt {host} test.ping", check=False).out, 120, f"{host} answers"
    )
    return down


def moved(product: Product, words: str = "") -> None:
    done = migrate(product, words)
    assert done.code == 0, done.out + done.err
    as_planned(product)


def test_osds_without_a_db_get_one(moving: Product, load: Callable) -> None:
    """The dry run changes nothing; deploy leaves both places alone; killed several times, the same command goes on."""
    ids, none = sorted(dedicated(moving)), {host: [] for host in STORAGE}
    assert set(dedicated(moving).values()) == {"0"} and slots(moving) == none
    with load(moving, until_seen(moving), least=200) as busy, busy.fault():
        assert len(served(moving, f"{SSD} migrate=true")) == 6
        traces = moving.traces()
        dry = migrate(moving, "test=true")
        assert dry.code == 0 and dry.out.count("from the data disk to") == 6 and "are copied" in dry.out
        assert moving.traces() == traces
        moving.stage("ceph.stage.deploy")
        report = moving.run("saltmaster", "salt-run osd.report")
        assert report.code == 0 and report.out.count("waits for osd.migrate") == 6 and slots(moving) == none
        for seconds in (8, 15, 25):
            moving.run("saltmaster", KILLED.format(seconds), check=False)
        killed_in_mid_copy(moving, "node3")  # its new DB is there, and empty
        moved(moving)
    assert set(dedicated(moving).values()) == {"1"} and sorted(dedicated(moving)) == ids
    assert all(len(each) == 2 for each in slots(moving).values())


def test_a_host_that_goes_down_in_mid_copy_starts_no_half_moved_osd(moving: Product, load: Callable) -> None:
    """To other devices, as from an SSD that wears out; the tool and its minion are killed while they copy."""
    before = slots(moving)
    with load(moving, until_seen(moving), least=200) as busy, busy.fault():
        assert len(served(moving, f"{SPARE} migrate=true")) == 6
        down = killed_in_mid_copy(moving, "node1")
        deploy = moving.stage("ceph.stage.deploy", check=False)
        assert deploy.code != 0 and f"osd.{down}: its db is being moved" in deploy.out + deploy.err
        moved(moving)
    now = slots(moving)
    assert all(set(now[host]).isdisjoint(before[host]) and len(now[host]) == 2 for host in STORAGE)
    assert len(served(moving, f"{SSD} migrate=true")) == 6  # and home again
    moved(moving)
    assert slots(moving) == before


def test_without_cephs_leave_nothing_stops(moving: Product) -> None:
    """With min_size at the pools' size no OSD may stop: refused by name, all run on; then it is called off."""
    moving.run("saltmaster", "ceph osd pool create all 32 32 --autoscale-mode=off")  # every OSD has a part of it
    until(moving.whole, 300, "HEALTH_OK")
    before = slots(moving)
    assert len(served(moving, f"{SPARE} migrate=true")) == 6
    pools = {pool["pool_name"]: pool for pool in moving.ceph("osd pool ls detail")}
    for name, pool in pools.items():
        moving.run("saltmaster", f"ceph osd pool set {name} min_size {pool['size']}")
    booted = [(osd["osd"], osd["up_from"]) for osd in moving.ceph("osd dump")["osds"]]
    done = migrate(moving)
    assert done.code == 1 and "cannot be stopped now" in done.out + done.err
    assert [(osd["osd"], osd["up_from"]) for osd in moving.ceph("osd dump")["osds"]] == booted
    for name, pool in pools.items():
        moving.run("saltmaster", f"ceph osd pool set {name} min_size {pool['min_size']}")
    assert served(moving, SSD) == {}
    moved(moving)  # the slot that was made is free again
    assert slots(moving) == before


def dedicated_wals(product: Product) -> set[str]:
    return {osd["bluefs_dedicated_wal"] for osd in product.ceph("osd metadata")}


def test_a_wal_of_its_own_comes_and_moves_and_goes_with_its_db(moving: Product, load: Callable) -> None:
    """Killed when Ceph's tool has written the superblock of the DB: it is put back, and all begins again."""
    with load(moving, until_seen(moving), least=200) as busy, busy.fault():
        assert len(served(moving, f"{WAL} migrate=true")) == 6  # a larger DB, and a WAL
        killed_in_mid_copy(moving, "node1", "wal", "bluefs-bdev-new-wal", REALLY)
        moved(moving)
        assert dedicated_wals(moving) == {"1"} and set(dedicated(moving).values()) == {"1"}
        assert len(served(moving, f"{SPARE} migrate=true")) == 6  # without one
        moved(moving)
    assert dedicated_wals(moving) == {"0"} and set(dedicated(moving).values()) == {"1"}


def test_back_to_the_data_disks(moving: Product, load: Callable) -> None:
    """Killed before and after the tool has written all that there is to write."""
    with load(moving, until_seen(moving), least=200) as busy, busy.fault():
        assert len(served(moving, f"{ALONE} migrate=true")) == 6
        killed_in_mid_copy(moving, "node2")
        killed_in_mid_copy(moving, "node2", first=REALLY)
        moved(moving, "at_once=2")  # of node3 both together: the copies of what lies there are on other hosts
    assert set(dedicated(moving).values()) == {"0"} and slots(moving) == {host: [] for host in STORAGE}
