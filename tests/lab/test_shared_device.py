"""The SSD of nine OSDs dies under load: given up by Ceph's leave alone, and back with the same numbers on another."""

import re
import threading
from collections.abc import Callable

import pytest
from busy import until_seen
from product import Product, until
from saltcli import salt_run
from test_apollo import BEHIND, MONITORS, OSDS
from test_removal import answering, disks_behind, maps, unchanged
from test_replace import grow, safe

from lab.containers import Done

pytestmark = pytest.mark.big
HOST = "osdnode4"
ALONE = f"""
ceph osd crush rule create-replicated alone {HOST} osd
ceph config set mon mon_allow_pool_size_one true
ceph osd pool create alone 8 8 replicated alone --autoscale-mode=off
ceph osd pool set alone size 1 --yes-i-really-mean-it
ceph osd pool application enable alone rados
rados -p alone bench 5 write -b 4096 -t 4 --max-objects 50 --no-cleanup >/dev/null
"""
NOT_ALONE = """
ceph config set mon mon_allow_pool_delete true
ceph osd pool rm alone alone --yes-i-really-really-mean-it
ceph config rm mon mon_allow_pool_delete
ceph config rm mon mon_allow_pool_size_one
ceph osd crush rule rm alone
"""
# Groups that are split or merged are unknown for seconds, and Ceph gives no leave then.
STILL = """
ceph config set global osd_pool_default_pg_autoscale_mode off
for pool in $(ceph osd pool ls); do ceph osd pool set $pool pg_autoscale_mode off; done
"""
KILL = "pkill -9 -f '[o]sd.replace'; systemctl kill --signal=KILL salt-master; sleep 3; systemctl start salt-master"


def test_the_osds_of_an_ssd_that_died_come_back_on_another(apollo: Product, load: Callable) -> None:
    """Pulled; refused while a pool is on it alone; killed in the middle, again; planned too early; another one in."""
    before = {line["id"]: line for line in reported(apollo) if line["host"] == HOST}
    ids = sorted(before)
    weights = weighed(apollo)
    (ssd,) = disks_behind(apollo, HOST)["db"]
    assert len(ids) == BEHIND
    apollo.run("saltmaster", STILL)
    until(lambda: all(pool["pg_num"] == pool["pg_num_target"] for pool in pools(apollo)), 300, "no group is split")
    apollo.run("saltmaster", ALONE)
    with load(apollo, until_seen(apollo), least=200) as busy, busy.fault():
        died(apollo, ssd["serial"], ids)
        refused(apollo, ssd["serial"], ids)
        apollo.run("saltmaster", NOT_ALONE)
        apollo.run("saltmaster", f"ceph osd out {' '.join(map(str, ids))}")
        until(lambda: all(safe(apollo, osd_id) for osd_id in ids), 1200, "Ceph calls all of them safe to destroy")
        dry = unchanged(apollo, lambda: replace(apollo, ssd["serial"], "test=true"))
        assert dry.code == 0 and "would destroy" in dry.out and re.search(r"about [\d.]+ [MG]iB are rebuilt", dry.out)
        lines = given_up(apollo, ssd["serial"], ids)
        for line in lines:
            assert apollo.run("saltmaster", f"{line} yes=true").code == 0
        too_early(apollo, ids)
        apollo.session.verb("plug", HOST, ssd["serial"], "--new")
        grow(apollo)
        until(lambda: apollo.whole(OSDS, MONITORS), 1200, "HEALTH_OK with all OSDs back")
    after = {line["id"]: line for line in reported(apollo) if line["host"] == HOST}
    assert {osd_id: line["data"] for osd_id, line in after.items()} == {i: line["data"] for i, line in before.items()}
    (new,) = {line["db"] for line in after.values()}
    assert new not in {line["db"] for line in before.values()}
    assert {(line["db_size"], line["wal_size"]) for line in after.values()} == {
        (line["db_size"], line["wal_size"]) for line in before.values()
    }
    assert not any(line["problems"] for line in after.values())
    assert weighed(apollo) == weights
    assert apollo.run(HOST, "ls -A /etc/ceph/osd-waiting").out.split() == []
    again = unchanged(apollo, lambda: replace(apollo, ssd["serial"]))
    assert again.code == 2 and "expected the id" in again.out


def replace(product: Product, serial: str, words: str = "") -> Done:
    typed = f"salt-run osd.replace host={HOST} device={serial} {words}"
    done = product.run("saltmaster", typed.rstrip(), check=False, limit=900)
    assert "Traceback" not in done.out + done.err
    return done


def reported(product: Product) -> list[dict]:
    """Each planned OSD's real parts, as `osd.report` tells them."""
    return list(salt_run(product.session, "osd.report").data["osds"])


def died(product: Product, serial: str, ids: list[int]) -> None:
    """The SSD is pulled, and each OSD writes something: idle, it would not notice for a while."""
    product.session.verb("pull", HOST, serial)
    tell = "; ".join(f"timeout 20 ceph tell osd.{osd_id} bench 4096 4096" for osd_id in ids)
    product.run("saltmaster", tell, check=False)
    until(lambda: not running(product) & set(ids), 300, "all are seen down")


def running(product: Product) -> set[int]:
    return {osd["osd"] for osd in product.ceph("osd dump")["osds"] if osd["up"]}


def pools(product: Product) -> list[dict]:
    return list(product.ceph("osd pool ls detail"))


def weighed(product: Product) -> dict[int, float]:
    """Each OSD's weight in the CRUSH map."""
    return {node["id"]: node["crush_weight"] for node in product.ceph("osd tree")["nodes"] if node["type"] == "osd"}


def refused(product: Product, serial: str, ids: list[int]) -> None:
    """A pool without a second copy lies there: its placement groups are named, and nothing is destroyed."""
    pool = next(each["pool_id"] for each in pools(product) if each["pool_name"] == "alone")
    state = maps(product)
    done = replace(product, serial)
    assert done.code == 2, done.out
    named = next(line for line in done.out.splitlines() if "what no other OSD has" in line)
    assert set(re.findall(rf"\b{pool}\.[0-9a-f]+ of pool alone", named)) == {
        f"{pool}.{at} of pool alone" for at in range(8)
    }
    assert f"carries the DB or WAL of {BEHIND} OSDs" in done.out and f"ceph osd out {ids[0]} " in done.out
    assert maps(product) == state and "disk.wipe" not in done.out


def given_up(product: Product, serial: str, ids: list[int]) -> list[str]:
    """Killed once the first is destroyed, typed again; the lines that wipe the data disks."""
    thread = threading.Thread(target=lambda: product.run(
        "saltmaster", f"salt-run osd.replace host={HOST} device={serial}", check=False, limit=900))  # fmt: skip
    thread.start()
    until(lambda: bool(destroyed(product)), 300, "the first OSD is destroyed")
    product.run("saltmaster", KILL, check=False)
    thread.join()
    answering(product)
    assert not product.run(HOST, "pgrep -x ceph-osd", check=False).out
    done = replace(product, serial)
    assert done.code == 0, done.out
    assert destroyed(product) == ids
    lines = re.findall(rf"^ +(salt-run disk\.wipe {HOST} \S+ serial=\S+)$", done.out, re.M)
    assert len(set(lines)) == BEHIND, done.out
    third = unchanged(product, lambda: replace(product, serial))
    assert third.code == 0 and all(line in third.out for line in lines)
    return lines


def destroyed(product: Product) -> list[int]:
    return sorted(osd["osd"] for osd in product.ceph("osd dump")["osds"] if "destroyed" in osd["state"])


def too_early(product: Product, ids: list[int]) -> None:
    """Planned before another SSD is there: the data disks wait, and become no OSDs of any other kind."""
    product.type("salt-run state.orch ceph.stage.discovery")
    (populate,) = (command for command in product.way.commands if "proposal.populate" in command)
    told = product.type(populate).out
    assert f"{BEHIND} data disks of OSD" in told and "wait for a device in place of" in told, told
    shown = salt_run(product.session, "proposal.show", "apollo").data
    assert HOST in shown["hosts"] and shown["hosts"][HOST]["osds"] == []
    assert destroyed(product) == ids
