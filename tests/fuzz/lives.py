"""A life of a cluster: planned, planned again, deployed in part and whole, a disk replaced, hosts grown.

With the same arguments and the stored plan nothing moves, a second run writes the same bytes, and new OSDs come only
onto disks that are new or waited for a slot."""

import copy
import json
from random import Random

import losing
import machines
import promises
from plans import peek

from proposals.disks import arguments, plan
from proposals.policy import fragments

PLACE = ("data", "db", "wal", "db_size", "wal_size", "format", "encryption")


def populated(raw: dict, typed: dict, stored: dict | None) -> tuple[dict, dict, str]:
    """The answer, the stored proposal and its text, as populate makes them."""
    made = plan.peek(raw, arguments.parse(typed), stored)
    answer = made.as_dict()
    text = fragments.stored(made, answer, {}, {})
    again = plan.peek(raw, arguments.parse(typed), json.loads(text))
    assert fragments.stored(again, again.as_dict(), {}, {}) == text, "a second populate writes other bytes"
    assert not any("stored proposal" in line for line in again.as_dict()["warnings"]), (
        "a second populate tells of moves"
    )
    return answer, json.loads(text), text


def places(answer: dict) -> dict[str, tuple]:
    """Where every OSD lies, by fsid."""
    return {osd["uuid"]: tuple(osd[key] for key in PLACE) for host in answer["hosts"].values() for osd in host["osds"]}


def partly(random: Random, answer: dict) -> dict:
    """The answer with a part of its OSDs alone: what an interrupted deploy made."""
    cut = copy.deepcopy(answer)
    for host in cut["hosts"].values():
        host["osds"] = random.sample(host["osds"], random.randint(0, len(host["osds"])))
    return cut


def replaced(random: Random, raw: dict) -> tuple[dict, str, set[str], str] | None:
    """``raw`` with a new disk in place of one that carries data: the disk's host, the fsids it had, its new id."""
    raw = copy.deepcopy(raw)
    carrying = [
        (name, at)
        for name, host in raw["hosts"].items()
        for at, disk in enumerate(host["ceph_disks"])
        if any(osd["role"] == "data" for osd in disk["osds"])
    ]
    if not carrying:
        return None
    name, at = random.choice(carrying)
    disks = raw["hosts"][name]["ceph_disks"]
    gone = {osd["fsid"] for osd in disks[at]["osds"]}
    new = f"/dev/disk/by-id/wwn-0x5000c500ff{random.randrange(1 << 24):06x}"
    disks[at] = {**disks[at], "osds": [], "id": new, "wwn": new.rpartition("-")[2], "serial": "NEW"}
    for disk in disks:
        disk["osds"] = [osd for osd in disk["osds"] if osd["fsid"] not in gone]
    return raw, name, gone, new


def grown(random: Random, raw: dict) -> tuple[dict, set[str]]:
    """``raw`` with more disks on one host, and their ids."""
    raw = copy.deepcopy(raw)
    name = random.choice(sorted(raw["hosts"]))
    extra = machines.machines.expand({"x": {"disks": [machines.group(random)]}})["hosts"]["x"]["ceph_disks"]
    ids = set()
    for number, disk in enumerate(extra):
        place = f"{random.choice('0f')}ee{number:05x}"
        disk |= {"id": f"/dev/disk/by-id/wwn-0x5000c5{place}", "wwn": f"0x5000c5{place}", "serial": f"E{place}"}
        disk["device"] = f"/dev/sdx{number}"
        ids.add(disk["id"])
    raw["hosts"][name]["ceph_disks"] += extra
    return raw, ids


def unchanged(before: dict, raw: dict, typed: dict, stored: dict) -> dict:
    """The stored proposal after a populate that must not change the answer."""
    answer, stored, _ = populated(raw, typed, stored)
    assert places(answer) == places(before), "a second run moved, added or lost OSDs"
    return stored


def like(place: tuple, classes: dict[str, str]) -> str:
    """What two OSDs have in common that were made alike: the classes of their devices, sizes and form.

    The device itself may be another of that class, which carries fewer OSDs."""
    _, db, wal, *more = place
    return str((classes.get(db), "with the DB" if wal == db else classes.get(wal), *more))


def after_replacing(random: Random, before: dict, raw: dict, typed: dict, stored: dict) -> None:
    """A replaced disk gets what its predecessor had, and nothing else changes but by disks that waited."""
    change = replaced(random, raw)
    if not change:
        return
    raw, name, gone, new = change
    answer, _, _ = populated(raw, typed, stored)
    was, now = places(before), places(answer)
    assert {fsid: place for fsid, place in now.items() if fsid in was} == {
        fsid: place for fsid, place in was.items() if fsid not in gone
    }, "replacing one disk moved another's OSD"
    added = [place for fsid, place in now.items() if fsid not in was]
    classes = {disk["id"]: disk["class"] for disk in before["hosts"][name]["disks"]}
    had = sorted(like(place, classes) for fsid, place in was.items() if fsid in gone)
    waiting = {disk["id"] for disk in before["hosts"][name]["disks"] if disk["role"] == "unused"}
    assert {place[0] for place in added} <= {new, *waiting}
    if {place[0] for place in added} == {new}:
        assert sorted(like(place, classes) for place in added) == had, (
            "a replaced disk's OSD is not like the one before"
        )
    else:
        assert not added or len(waiting), "a replaced disk stays unused"
    if not waiting:
        assert added, "a replaced disk stays unused"


def after_growing(random: Random, before: dict, raw: dict, typed: dict, stored: dict) -> None:
    """Growth moves nothing; new OSDs lie on new disks, or on such as lacked a slot that new devices bring."""
    raw, ids = grown(random, raw)
    if peek(raw, typed, stored) is None:
        return
    answer, _, _ = populated(raw, typed, stored)
    was, now = places(before), places(answer)
    assert {fsid: now.get(fsid) for fsid in was} == was, "growth moved an OSD"
    reasons = {disk["id"]: disk["reason"] for host in before["hosts"].values() for disk in host["disks"]}
    for fsid, place in now.items():
        if fsid not in was and place[0] not in ids:
            lacked = reasons[place[0]].startswith("no free disk of this host matches")
            assert lacked or place[1] in ids or place[2] in ids, f"a new OSD on an old disk: {reasons[place[0]]}"


def after_migrating(random: Random, before: dict, raw: dict, typed: dict, stored: dict) -> None:
    """OSDs that exist move where they are asked to, each once, and both places are theirs until then."""
    raw, typed = grown(random, raw)[0], {**typed, "migrate": True}
    if peek(raw, typed, stored) is None:
        return
    answer, stored, _ = populated(raw, typed, stored)
    was, now = places(before), places(answer)
    assert {fsid: now.get(fsid) for fsid in was} == was, "an OSD is told to lie where it is only to move"
    for host in answer["hosts"].values():
        promises.both_places(host)
    moves = promises.moves(answer)
    done = random.sample(sorted(moves), random.randint(0, len(moves)))
    half = machines.machines.migrated(raw, answer, done)
    if peek(half, typed, stored) is None:
        return
    again, _, _ = populated(half, typed, stored)
    left = promises.moves(again)
    assert not set(done) & set(left), "an OSD that has moved moves again"
    assert {fsid: left.get(fsid) for fsid in set(moves) - set(done)} == {
        fsid: moves[fsid] for fsid in set(moves) - set(done)
    }, "a move that is under way changed"


def after_losing(random: Random, before: dict, raw: dict, typed: dict, stored: dict) -> None:
    """A DB or WAL device dies: its OSDs wait for another one, and nobody gets their places."""
    if carriers := losing.carriers(raw):
        losing.check(lambda raw: peek(raw, typed, stored), raw, before, *random.choice(carriers), random)


def case(random: Random) -> bool:
    """One life. Returns whether its first plan was made."""
    raw, typed = machines.inventory(random), machines.words(random)
    if peek(raw, typed) is None:
        return False
    answer, stored, _ = populated(raw, typed, None)
    after_growing(random, answer, raw, typed, stored)
    half = machines.deployed(raw, partly(random, answer))
    unchanged(answer, half, typed, stored)
    whole = machines.deployed(raw, answer)
    after = unchanged(answer, whole, typed, stored)
    unchanged(answer, whole, typed, after)
    after_replacing(random, answer, whole, typed, after)
    after_growing(random, answer, whole, typed, after)
    after_migrating(random, answer, whole, typed, after)
    after_losing(random, answer, whole, typed, after)
    return True
