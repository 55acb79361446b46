"""Places in the CRUSH map and pools: cases as data."""

from pathlib import Path

import pytest
import yaml

from proposals.cluster import crush, moves, pool_changes, pool_deleting, pools
from proposals.text.errors import InventoryError, PolicyError

CASES = yaml.load((Path(__file__).parent.parent / "fixtures" / "crush.yaml").read_text(), yaml.CSafeLoader)
HOSTS = ("node1", "node2", "node3", "node4")


def tree(racks, hosts, roots=()):
    """The nodes of `ceph osd tree`: two hard disks a host. Hosts of other roots stand in these alone."""
    ids = {name: -2 - at for at, name in enumerate((*HOSTS, *racks, *roots))}
    inside = {host for members in (*racks.values(), *dict(roots).values()) for host in members}
    top = [ids[name] for name in (*racks, *(host for host in hosts if host not in inside))]
    nodes = [{"id": -1, "name": "default", "type": "root", "children": top}]
    nodes += [
        {"id": ids[name], "name": name, "type": "rack", "children": [ids[host] for host in members]}
        for name, members in racks.items()
    ]
    nodes += [
        {"id": ids[name], "name": name, "type": "root", "children": [ids[host] for host in members]}
        for name, members in dict(roots).items()
    ]
    for at, host in enumerate(hosts):
        nodes.append({"id": ids[host], "name": host, "type": "host", "children": [2 * at, 2 * at + 1]})
        nodes += [
            {"id": osd, "name": f"osd.{osd}", "type": "osd", "device_class": "hdd"} for osd in (2 * at, 2 * at + 1)
        ]
    return nodes


def roomed(nodes, case):
    """The same with racks in a case's rooms, or nowhere."""
    ids, default = {node["name"]: node["id"] for node in nodes}, nodes[0]
    for at, (room, racks) in enumerate(case.get("rooms", {}).items()):
        inside = [ids[rack] for rack in racks]
        nodes.append({"id": -100 - at, "name": room, "type": "room", "children": inside})
        default["children"] = [*(set(default["children"]) - {*inside}), -100 - at]
    default["children"] = [
        id_ for id_ in default["children"] if id_ not in {ids[rack] for rack in case.get("nowhere", ())}
    ]
    return nodes


def judged(case, run):
    if "says" in case:
        with pytest.raises(PolicyError) as caught:
            run()
        assert case["says"] in str(caught.value)
        return
    todo, told = run()
    assert [" ".join(words) for words in todo] == case["commands"].splitlines()
    assert case.get("told", case.get("dragged", "")) in "\n".join(told)
    assert "told_not" not in case or case["told_not"] not in "\n".join(told)


def cluster(case, nodes):
    """What the cluster answers: rules as a case has them, ``[domain, root, class]``, or a new cluster's own."""
    told = case.get("rules", {"replicated_rule": ["host", "default", ""]})
    rules = {name: dict(zip(("domain", "root", "class"), rule, strict=True)) for name, rule in told.items()}
    default = {"k": 2, "m": 2, "domain": "host", "root": "default", "class": ""}
    return {"tree": nodes, "rules": rules, "profiles": {"default": default, **case.get("profiles", {})}}


@pytest.mark.parametrize("case", CASES["places"], ids=lambda case: case["about"])
def test_places(case):
    nodes = roomed(tree(case.get("racks", {}), HOSTS[:3] if "racks" not in case else HOSTS), case)

    def run():
        places = crush.locations(case["said"], {host: host for host in HOSTS})
        todo = crush.commands(places, nodes)
        told = crush.dragged(todo, places, nodes)
        assert len(told) == ("dragged" in case)
        return todo, told

    judged(case, run)
    if "still" in case:
        todo = [words.split() for words in case["commands"].splitlines()]
        assert [" ".join(words) for words in crush.still(todo, nodes)] == case["still"].splitlines()
        assert crush.edits(todo) == case.get("edits", crush.edits(todo))


@pytest.mark.parametrize("case", CASES["pools"], ids=lambda case: case["about"])
def test_pools(case):
    found = cluster(case, tree(case.get("racks", {}), HOSTS, case.get("roots", {})))
    bare = {**THERE, "applications": []}
    found["pools"] = [
        {**THERE, **case.get("there", {})},
        {**bare, "pool_name": "half", "objects": 0},
        {**bare, "pool_name": "old", "objects": 1},
    ]
    judged(case, lambda: pools.plan(case["said"], found))


THERE = {
    "pool_name": "there",
    "size": 3,
    "min_size": 2,
    "crush_rule": "replicated_rule",
    "erasure_code_profile": "",
    "applications": ["rbd"],
    "objects": None,
    "pg_num": 32,
    "pg_autoscale_mode": "on",
    "quota_max_bytes": 0,
    "quota_max_objects": 0,
    "flags": ["hashpspool"],
    "options": {},
}


@pytest.mark.parametrize("case", CASES["changes"], ids=lambda case: case["about"])
def test_changes_of_a_pool(case):
    there, wanted = {**THERE, **case.get("there", {})}, pools.read({"there": case["said"]})["there"]
    pool = pools.Pool("there", wanted, cluster(case, tree({}, HOSTS)))
    if "says" in case:
        with pytest.raises(PolicyError) as caught:
            pool_changes.change(pool, there)
        assert case["says"] in str(caught.value)
        return
    made = pool_changes.change(pool, there)
    assert [" ".join(words) for words in made.commands] == case["commands"].splitlines()
    assert (list(made.edits), dict(made.then)) == (case.get("edits", []), case.get("then", {}))
    assert made.min_size == case.get("min_size")
    assert bool(made.commands) == bool(pool.differs(there))


def test_a_pool_that_clients_could_not_write_is_not_changed():
    pool = pools.Pool("there", {"application": "rbd", "min_size": 3}, cluster({}, tree({}, HOSTS)))
    change = pool_changes.change(pool, THERE)
    for acting, refused in ((3, False), (2, True), (None, False)):
        said = pool_changes.against(pool, change, {"pools": {"there": {"acting": acting}}})
        assert bool(said) is refused and all("some of its placement groups have 2" in line for line in said)


@pytest.mark.parametrize("older", [{"rules": ["replicated_rule"]}, {"profiles": ["default"]}])
def test_modules_that_tell_names_alone_are_refused(older):
    found = {**cluster({}, tree({}, HOSTS)), "pools": [], **older}
    with pytest.raises(InventoryError, match="run ceph.stage.prep"):
        pools.plan({"images": {"application": "rbd"}}, found)


DELETED = {
    "objects": 3,
    "bytes": 5 << 30,
    "applications": ["rbd"],
    "nodelete": False,
    "file_systems": [],
    "tiers": False,
}


@pytest.mark.parametrize(
    ("more", "planned", "says"),
    [
        ({}, (), None),
        ({}, ("there",), "the settings, or a service, name it"),
        ({"file_systems": ["cephfs"]}, (), "file system cephfs consists of it"),
        ({"tiers": True}, (), "part of a cache"),
        ({"applications": ["mgr"]}, (), "Ceph keeps what it knows itself in it"),
        ({"nodelete": True}, (), "it is nodelete"),
    ],
)
def test_who_needs_a_pool_keeps_it(more, planned, says):
    against = pool_deleting.against("there", {**DELETED, **more}, planned)
    assert [says in line for line in against] == ([True] if says else [])
    assert pool_deleting.lost("there", DELETED) == "pool there (rbd): 3 objects, 5 GiB"


OSD = {"kb": 1000, "kb_used": 500}
MOVES = {
    "pools": {"a": {"bytes": 3 << 30, "groups": 2, "lacking": 0}, "b": {"bytes": 0, "groups": 0, "lacking": 0}},
    "osds": {"1": {"gets": 409600, "loses": 0, **OSD}, "2": {"gets": 0, "loses": 409600, **OSD}},
    "busy": 0,
    "limit": 0.9,
}


def test_what_moves_is_told_and_judged():
    assert moves.total(MOVES) == 3 << 30 and moves.against(MOVES) == []
    assert moves.lines(MOVES) == [
        "about 3 GiB of data move, in 2 copies of placement groups (a 3 GiB)",
        "the fullest OSD that gets data then: osd.1, 90% (now 50%)",
    ]
    assert "osd.1 would be 90% full, and 1 OSD above 89%" in moves.against({**MOVES, "limit": 0.89})[0]
    lacking = {**MOVES, "pools": {"a": {**MOVES["pools"]["a"], "lacking": 3}}}
    assert moves.against(lacking) == ["pool a: 3 placement groups would find too few failure domains: add some first"]
    assert moves.lines({"pools": {}, "osds": {}, "busy": 0, "limit": 1}) == ["no data moves"]


SHELF, OTHER = "0x500056B3ABCDEF00", "0x500056b3abcdef01"


def shelved(*enclosures):
    """A host whose disks lie in these shelves, the first of which is not its OSDs'."""
    return {"ceph_disks": [{"id": str(at), "enclosure": each} for at, each in enumerate(enclosures)]}


def test_a_shelf_that_hosts_share_is_their_chassis():
    hosts = {
        "a": shelved("backplane", SHELF, SHELF.lower()),
        "b": shelved("backplane", SHELF),
        "c": shelved(None, OTHER),
    }
    osds = {"a": {"1": {}, "2": {}}, "b": {"1": {}}, "c": {"1": {}}}
    shelves = crush.shelves(osds, hosts)
    said = {"*": {"chassis": "by-enclosure", "rack": "r1"}}
    places = crush.locations(said, {name: f"node-{name}" for name in "abc"}, shelves)
    assert places["node-a"] == places["node-b"] == {"chassis": "enclosure-500056b3abcdef00", "rack": "r1"}
    assert places["node-c"]["chassis"] == "enclosure-500056b3abcdef01"
    todo = [" ".join(words) for words in crush.commands(places, tree({}, ()))]
    assert "osd crush add-bucket enclosure-500056b3abcdef00 chassis" in todo
    assert "osd crush move node-b chassis=enclosure-500056b3abcdef00" in todo


@pytest.mark.parametrize(
    ("enclosures", "says"),
    [
        ((None, None), "are in no enclosure that discovery saw"),
        ((SHELF, OTHER), "lie in 500056b3abcdef00, 500056b3abcdef01: expected one enclosure"),
        (("x y; reboot", ""), "are in no enclosure that discovery saw"),
    ],
)
def test_a_host_that_no_single_shelf_holds_has_no_place_by_it(enclosures, says):
    shelves = crush.shelves({"a": {"0": {}, "1": {}}}, {"a": shelved(*enclosures)})
    with pytest.raises(PolicyError) as caught:
        crush.locations({"a": {"chassis": "by-enclosure"}}, {"a": "node-a"}, shelves)
    assert says in str(caught.value)


BEHIND = "pci-0000:5c:00.0-sas-exp0x500056B3ABCDEFFF-phy{}-lun-0"


def pathed(*paths):
    return {"ceph_disks": [{"id": str(at), "path": path} for at, path in enumerate(paths)]}


def test_a_shelf_that_says_nothing_is_known_by_its_expander():
    """The same for hosts whose own cards have other addresses; the first disk is none of its OSDs'."""
    hosts = {
        "a": pathed("pci-0000:00:17.0-ata-1", BEHIND.format(3), BEHIND.format(12)),
        "b": pathed("pci-0000:00:17.0-ata-1", BEHIND.format(4).replace("5c", "3b").lower()),
    }
    shelves = crush.shelves({"a": {"1": {}, "2": {}}, "b": {"1": {}}}, hosts)
    places = crush.locations({"*": {"chassis": "by-path"}}, {name: f"node-{name}" for name in "ab"}, shelves)
    assert places["node-a"] == places["node-b"] == {"chassis": "expander-500056b3abcdefff"}


@pytest.mark.parametrize(
    ("paths", "says"),
    [
        ((None, "pci-0000:5c:00.0-sas-phy3-lun-0"), "are behind no expander that discovery saw"),
        ((BEHIND.format(1), BEHIND.format(1).replace("FFF", "FFE")), "lie behind 500056b3abcdeffe, 500056b3abcdefff"),
        (("pci-0-sas-exp0x5000; reboot-phy1",), "are behind no expander that discovery saw: expected one expander"),
    ],
)
def test_a_host_behind_no_single_expander_has_no_place_by_it(paths, says):
    shelves = crush.shelves({"a": {"0": {}, "1": {}}}, {"a": pathed(*paths)})
    with pytest.raises(PolicyError) as caught:
        crush.locations({"a": {"chassis": "by-path"}}, {"a": "node-a"}, shelves)
    assert says in str(caught.value)
