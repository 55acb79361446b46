"""What leaves, what stands against it, and what was confirmed: cases as data, and what holds for all of them."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as some

from proposals.cluster.removal import domains, items, record, roles, room, told
from proposals.cluster.removal.items import CORE, ORDER, Found, Item, Wanted
from proposals.text.errors import InventoryError
from runners.engine.removal.leaving import Look

CASES = yaml.load((Path(__file__).parent.parent / "fixtures" / "removal.yaml").read_text(), yaml.CSafeLoader)
KEYS = {"mgr": "mgr.{}", "mds": "mds.{}", "rgw": "client.{}"}
GIB = 1 << 20  # in KiB, as `ceph osd df` counts


def hosts(written):
    """Hosts in the form of ``named.hosts``."""
    return {
        minion: {
            "hostname": minion,
            "osds": [f"f{osd}" for osd in osds],
            "parts": {
                part: {"clients": names}
                if part == "client-keys"
                else {"daemons": names, "keys": [KEYS[part].format(name) for name in names if part in KEYS]}
                for part, names in parts.items()
            },
        }
        for minion, (osds, parts) in written.items()
    }


def found(before, there):
    """What the cluster has: every OSD that was ever named, but for those that are purged."""
    osds = {int(fsid[1:]) for host in before.values() for fsid in host["osds"]} | set(there.get("osds", ()))
    states = [
        {"id": osd, "fsid": f"f{osd}", "state": "in-use", "host": None} for osd in osds - set(there.get("purged", ()))
    ]
    states += [
        {"id": osd, "fsid": None, "state": "destroyed", "host": host}
        for osd, host in there.get("destroyed", {}).items()
    ]
    return Found(states, there.get("monitors", ()), there.get("keys", ()), there.get("hosts", {}))


@pytest.mark.parametrize("case", CASES["leaving"], ids=lambda case: case["about"])
def test_what_leaves(case):
    before, now, there = hosts(case["before"]), hosts(case["now"]), case.get("there", {})
    wanted = Wanted(now, there.get("wanted", ()))
    listed = items.leaving(before, wanted, found(before, there), there.get("made", ()))
    assert [f"{item.kind} {item.name}" for item in listed] == case["leaves"]
    assert items.strangers(before, wanted, found(before, there).osds) == case.get("strangers", [])
    past = items.past(before, now, listed, there.get("hosts", ()))
    assert [f"{item.kind} {item.name or item.fsid}" for item in past] == case.get("past", [])


def item(text):
    kind, name = text.split()
    return Item(kind, name, name.rpartition(".")[2])


@pytest.mark.parametrize("case", CASES["roles"], ids=lambda case: case["about"])
def test_what_stands_against_roles(case):
    three = ["node1", "node2", "node3"]
    seen = {"monitors": three, "quorum": three, "managers": three, "standbys": three[1:]}
    seen |= {"file_systems": [{"name": "cephfs", "max_mds": 1, "servers": ["node1"]}], **case.get("seen", {})}
    if "quorum" not in case.get("seen", {}):
        seen["quorum"] = seen["monitors"]
    members = case.get("members", {"storage": three, "mon": three})
    lines = roles.against([item(text) for text in case["leave"]], seen, members)
    assert case["says"] in "\n".join(lines) if "says" in case else lines == []


def crush_map(case):
    """A CRUSH map as ``ceph osd crush dump`` has it, each rule named after its failure domain."""
    racked = any(isinstance(inside, dict) for inside in case["hosts"].values())
    buckets, number = [], -1

    def bucket(name, kind, children):
        nonlocal number
        number -= 1
        buckets.append({"id": number, "name": name, "type_name": kind, "items": children})
        return {"id": number, "weight": sum(child["weight"] for child in children)}

    def host(name, osds):
        return bucket(name, "host", [{"id": osd, "weight": domains.ONE} for osd in osds])

    if racked:
        top = [bucket(rack, "rack", [host(*each) for each in inside.items()]) for rack, inside in case["hosts"].items()]
    else:
        top = [host(*each) for each in case["hosts"].items()]
    root = bucket("default~hdd", "root", top)["id"]
    kinds = ("osd", "host", "rack")
    rules = [
        {
            "rule_id": at,
            "rule_name": kind,
            "steps": [
                {"op": "set_chooseleaf_tries", "num": 5},
                {"op": "take", "item": root, "item_name": "default~hdd"},
                {"op": "choose_firstn" if kind == "osd" else "chooseleaf_firstn", "num": 0, "type": kind},
                {"op": "emit"},
            ],
        }
        for at, kind in enumerate(kinds)
    ]
    osds = [child["id"] for each in buckets for child in each["items"] if child["id"] >= 0]
    inside = {osd: 0.0 if osd in case.get("out", ()) else 1.0 for osd in osds}
    pools = [
        {"pool_name": f"p{at}", "size": size, "crush_rule": kinds.index(kind), "pg_num": 64, "bytes_used": 1 << 40}
        for at, (size, kind) in enumerate(case["pools"])
    ]
    used = int(1000 * GIB * case.get("used", 0.3))
    usage = [{"id": osd, "kb": 1000 * GIB, "kb_used": used, "kb_used_data": used, "pgs": 10} for osd in osds]
    limits = {"backfillfull": 0.9, "full": 0.95, "max_pgs": 250, **case.get("limits", {})}
    return domains.Map({"buckets": buckets, "rules": rules}, inside), pools, usage, limits


@pytest.mark.parametrize("case", CASES["room"], ids=lambda case: case["about"])
def test_room_and_failure_domains(case):
    crush, pools, usage, limits = crush_map(case)
    away = set(case["away"])
    judged = room.room(crush, pools, usage, limits, away)
    lines = [*domains.lacking(crush, pools, away), *domains.emptied(crush, pools, away), *judged.against]
    assert case["says"] in "\n".join(lines) if "says" in case else lines == []
    if "moves" in case:
        assert judged.moves == case["moves"] << 30
    if "fullest" in case:
        assert judged.then == pytest.approx(case["fullest"])


def test_a_rule_of_two_steps_needs_enough_in_each():
    """Erasure coding 4+2 on three racks, two hosts each: a rack with one host left is none."""
    case = {"hosts": {f"r{rack}": {f"{rack}{host}": [2 * rack + host] for host in (0, 1)} for rack in range(4)}}
    crush, *_ = crush_map({**case, "pools": []})
    rule = crush.dump["rules"][0]
    rule["steps"][2:3] = [
        {"op": "choose_indep", "num": 3, "type": "rack"},
        {"op": "chooseleaf_indep", "num": 2, "type": "host"},
    ]
    pools = [{"pool_name": "ec", "size": 6, "crush_rule": 0, "pg_num": 8, "bytes_used": 1}]
    assert domains.lacking(crush, pools, {0}) == []
    (line,) = domains.lacking(crush, pools, {0, 2})
    assert "its rule osd needs 3 of type rack: 2 would be left" in line


@pytest.mark.parametrize("num", [0, 2, 3])
def test_a_rule_of_two_sites_needs_no_more_of_them_than_its_copies(num):
    """As stretch mode has it: as many sites as there are, two hosts each; four copies never need four sites."""
    hosts = {f"s{site}": {f"{site}{host}": [3 * site + host] for host in range(3)} for site in range(2)}
    crush, *_ = crush_map({"hosts": hosts, "pools": []})
    crush.dump["rules"][0]["steps"][2:3] = [
        {"op": "choose_firstn", "num": num, "type": "rack"},
        {"op": "chooseleaf_firstn", "num": 2, "type": "host"},
    ]
    pools = [{"pool_name": "p", "size": 4, "crush_rule": 0, "pg_num": 8, "bytes_used": 4 << 30}]
    assert domains.lacking(crush, pools, {0}) == []
    (line,) = domains.lacking(crush, pools, {0, 1})
    assert "needs 2 of type rack: 1 would be left" in line
    assert room.rebuilt(crush, pools, range(6)) == 4 << 30  # each site holds two copies


def test_a_hybrid_rule_places_its_copies_block_by_block():
    crush, *_ = crush_map({"hosts": {"a": [0], "b": [1], "c": [2]}, "pools": []})
    root = crush.dump["buckets"][-1]["id"]
    first = [{"op": "take", "item": root}, {"op": "chooseleaf_firstn", "num": 1, "type": "host"}, {"op": "emit"}]
    rest = [{"op": "take", "item": root}, {"op": "chooseleaf_firstn", "num": -1, "type": "host"}, {"op": "emit"}]
    crush.dump["rules"][0]["steps"] = [*first, *rest]
    assert [block.copies for block in crush.blocks(0, 3)] == [1, 2]


NAMES = some.sampled_from([f"node{number}" for number in range(1, 6)])
PARTS = some.dictionaries(some.sampled_from(["mon", "mgr", "mds"]), some.just(["x"]), max_size=3)
SITES = some.dictionaries(NAMES, some.tuples(some.lists(some.integers(0, 9), unique=True), PARTS), max_size=5)


def own_names(written):
    """Daemons are named after their hosts."""
    return hosts({minion: (osds, {part: [minion] for part in parts}) for minion, (osds, parts) in written.items()})


@pytest.mark.slow
@given(SITES, SITES, some.sets(some.integers(0, 20)), some.sets(some.sampled_from(["client.a", "mgr.node9", *CORE])))
def test_nothing_leaves_that_was_not_named_or_is_still_named(before, now, osds, keys):
    before, wanted = own_names(before), Wanted(own_names(now))
    there = {"osds": osds, "keys": sorted({*keys, "mgr.node1"}), "hosts": {name: {"parts": ORDER} for name in before}}
    listed = items.leaving(before, wanted, found(before, there), ["client.a"])
    named = {fsid for host in before.values() for fsid in host["osds"]}
    stay = {fsid for host in wanted.hosts.values() for fsid in host["osds"]}
    for each in listed:
        if each.kind == "osd":
            assert each.fsid in named - stay
        elif each.kind == "key":
            assert each.name == "client.a"
        else:
            assert each.kind in before[each.minion]["parts"]
            assert each.kind not in wanted.hosts.get(each.minion, {"parts": {}})["parts"]
    assert [ORDER.index(each.kind) for each in listed] == sorted(ORDER.index(each.kind) for each in listed)
    assert items.digest(listed) == items.digest(reversed(listed))
    keys = items.keys(listed, before, wanted.keys)
    assert not any(key.startswith(CORE) for key in keys)
    assert "mgr.node9" not in keys


LISTS = some.lists(some.builds(Item, some.sampled_from(ORDER), some.sampled_from(["osd.1", "osd.2", "mon.a"]), NAMES))


@pytest.mark.slow
@given(LISTS, some.data())
def test_what_is_left_of_a_list_keeps_its_hash_and_anything_new_gets_another(listed, data):
    begun = record.begin(listed, {"1": 2.0, "2": 3.0, "7": 1.0}, {"1": "", "2": "", "7": "f7"}, None)
    assert record.read(json.dumps(begun.as_list())) == begun
    rest = data.draw(some.lists(some.sampled_from(listed)) if listed else some.just([]))
    assert record.name(rest, begun) == items.digest(listed)
    new = [*rest, Item("osd", "osd.99", "node1", "f99")]
    assert record.name(new, begun) == items.digest(new) != begun.hash


def test_the_weights_of_the_first_beginning_are_the_true_ones():
    first, second = (
        [Item("osd", "osd.1", "a", "f1")],
        [Item("osd", "osd.1", "a", "f1"), Item("osd", "osd.2", "a", "f2")],
    )
    fsids = {"1": "f1", "2": "f2"}
    begun = record.begin(first, {"1": 5.5, "2": 5.5}, fsids, None)
    again = record.begin(second, {"1": 0.0, "2": 5.5}, fsids, begun)
    assert again.weights == {"1": 5.5, "2": 5.5}
    assert record.back(again, {"1": 0.0, "2": 5.5}, fsids) == {"1": 5.5}
    assert record.back(again, {"2": 0.0}, {"2": "f2"}) == {"2": 5.5}  # osd.1 is gone


def test_a_number_that_another_osd_has_by_now_gets_no_weight_back():
    """osd.0 was purged, osd.9 waits for its host, and a new host's smaller OSD got the free number."""
    gone, waits = Item("osd", "osd.0", "a", "fa0"), Item("osd", "osd.9", "b", "fb9")
    begun = record.begin([gone, waits], {"0": 5.458, "9": 5.458}, {"0": "fa0", "9": "fb9"}, None)
    states = [{"id": 0, "fsid": "fc0"}, {"id": 9, "fsid": "fb9"}]
    now, fsids = {"0": 1.746, "9": 0.0}, record.fsids(states)
    assert record.back(begun, now, fsids) == {"9": 5.458}
    wanted = Wanted({"c": {"osds": ["fc0"]}, "b": {"osds": ["fb9"]}})
    look = Look((), (), (), {}, wanted, {"weights": now}, states, begun, (), {})
    assert look.back == {"9": 5.458}
    new = record.begin([Item("osd", "osd.0", "c", "fc0")], now, fsids, begun)  # a list with the new one
    assert new.weights == {"0": 1.746, "9": 5.458}
    assert record.read(json.dumps(new.as_list())) == new
    assert record.back(new, {"0": 0.0, "9": 0.0}, fsids) == {"0": 1.746, "9": 5.458}
    assert record.back(new, {"0": 0.0, "9": 0.0}, {**fsids, "9": "fd9"}) == {"0": 1.746}


def test_a_record_from_before_an_upgrade_is_read():
    older = json.dumps(["bdfhkmpr", [["osd", "osd.1", "a", "f1", False]], {"1": 5.5}, ["a"]])
    assert record.back(record.read(older), {"1": 0.0}, {"1": "f1"}) == {"1": 5.5}
    assert record.back(record.read(older), {"1": 1.7}, {"1": "f2"}) == {}


def test_weights_of_an_earlier_list_in_a_record_from_before_an_upgrade_are_given_back():
    """osd.1 was drained by a list before, of which the older version kept the number and the weight alone."""
    older = json.dumps(["bdfhkmpr", [["osd", "osd.2", "a", "f2", False]], {"2": 5.5, "1": 3.6}, []])
    begun, fsids = record.read(older), {"1": "f1", "2": "f2"}
    assert record.back(begun, {"1": 0.0, "2": 0.0}, fsids) == {"1": 3.6, "2": 5.5}
    assert record.back(begun, {"1": 1.7, "2": 0.0}, fsids) == {"2": 5.5}  # a new, smaller OSD has the number
    assert record.back(begun, {"2": 0.0}, {"2": "f2"}) == {"2": 5.5}  # nobody has
    again = record.begin([Item("osd", "osd.3", "a", "f3")], {"1": 0.0, "2": 5.5, "3": 1.0}, {**fsids, "3": "f3"}, begun)
    assert again.others == {"1": "f1", "2": "f2"}
    assert record.read(json.dumps(again.as_list())) == again
    assert record.read(json.dumps(begun.as_list())) == begun


def test_a_hash_is_no_number_and_no_word_of_a_shell():
    for number in range(200):
        name = items.digest([Item("osd", f"osd.{number}")])
        assert len(name) == 8 and yaml.load(name, yaml.CSafeLoader) == name and name.isalpha()


@pytest.mark.parametrize("text", ["", "{}", "[1]", '["a", [["x"]], {}]', '["a", [], [1]]', "not json"])
def test_a_record_that_is_none_is_refused_with_what_to_do(text):
    with pytest.raises(InventoryError, match="config-key rm halocline/removal"):
        record.read(text)


def test_a_record_of_a_large_host_fits_in_the_monitors_store():
    """Ceph takes 64 KiB for a value (mon_config_key_max_entry_size)."""
    fsid = "6b0c8f3e-1d7a-4c53-9f2e-5d1f0c9ab001"
    listed = [Item("osd", f"osd.{number}", "osdnode1.example.com", fsid) for number in range(500)]
    numbers = [str(number) for number in range(500)]
    begun = record.begin(listed, dict.fromkeys(numbers, 5.45799), dict.fromkeys(numbers, fsid), None)
    assert len(json.dumps(begun.as_list(), separators=(",", ":"))) < 65536


def test_the_list_says_what_to_type():
    listed = [Item("osd", "osd.3", "node4", "f3", True), Item("key", "client.app")]
    lines = told.plan(listed, "bdfhkmpr", None, {"gone": "node4"}, False)
    assert "  node4: 1 OSD: osd.3 (its host is given up)" in lines
    assert "  the cluster: the key of client.app" in lines
    assert any("salt-run stage.run removal gone='node4' confirm=bdfhkmpr" in line for line in lines)
    assert any('{"ceph_gone": "node4", "ceph_confirm": "bdfhkmpr"}' in line for line in lines)
