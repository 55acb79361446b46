"""A DB or WAL device that died: `osd.replace` gave its OSDs up, and their host keeps the places."""

import copy


def carriers(raw):
    """The disks that carry DBs or WALs and no data: (host, id of the disk)."""
    return [
        (name, disk["id"])
        for name, host in sorted(raw["hosts"].items())
        for disk in host["ceph_disks"]
        if disk.get("osds") and all(osd["role"] != "data" for osd in disk["osds"])
    ]


def behind(raw, host, device):
    """The fsids of the OSDs whose DB or WAL lies on a device."""
    (disk,) = (disk for disk in raw["hosts"][host]["ceph_disks"] if disk["id"] == device)
    return {osd["fsid"] for osd in disk["osds"]}


def given_up(raw, host, device, classes, wiped=True):
    """``raw`` once the device is out and its OSDs are given up; their data disks wiped, or those with these ids."""
    raw = copy.deepcopy(raw)
    gone = behind(raw, host, device)
    disks = raw["hosts"][host]["ceph_disks"]
    waiting = {fsid: {"db": None, "wal": None, "class": classes.get(device)} for fsid in gone}
    for disk in disks:
        for osd in (osd for osd in disk["osds"] if osd["fsid"] in gone):
            sizes = {} if osd["role"] == "data" else {f"{osd['role']}_size": osd["size"]}
            waiting[osd["fsid"]] |= {"id": osd["id"], osd["role"]: disk["id"], **sizes}
        still = wiped is not True and disk["id"] not in wiped
        destroyed = [{**osd, "state": "destroyed"} for osd in disk["osds"] if osd["role"] == "data" and still]
        disk["osds"] = [osd for osd in disk["osds"] if osd["fsid"] not in gone]
        disk["osds"] += [osd for osd in destroyed if osd["fsid"] in gone]
    raw["hosts"][host]["ceph_disks"] = [disk for disk in disks if disk["id"] != device]
    raw["hosts"][host]["waiting"] = waiting
    return raw


def plugged(raw, host, like, number=1):
    """``raw`` with a new disk like ``like``, a disk's entry; its id."""
    raw = copy.deepcopy(raw)
    new = f"0x5000c500fffe{number:04x}"
    more = {"id": f"/dev/disk/by-id/wwn-{new}", "wwn": new, "serial": f"NEW{number}", "device": f"/dev/sdn{number}"}
    raw["hosts"][host]["ceph_disks"].append({**like, **more, "osds": []})
    return raw, more["id"]


def places(answer):
    """Where each OSD lies, by fsid."""
    keys = ("data", "db", "wal", "db_size", "wal_size")
    return {osd["uuid"]: tuple(osd[key] for key in keys) for host in answer["hosts"].values() for osd in host["osds"]}


def check(peek, raw, before, host, device, random):
    """What holds when a device dies under a deployed plan: until another one is there, and then.

    peek
        Plans an inventory; None where the planner refuses.
    raw, before
        The inventory, and the answer by which all of it was deployed.
    """
    entry = next(disk for disk in raw["hosts"][host]["ceph_disks"] if disk["id"] == device)
    classes = {disk["id"]: disk["class"] for disk in before["hosts"][host]["disks"]}
    data = sorted({places(before)[fsid][0] for fsid in behind(raw, host, device)})
    for wiped in (True, random.sample(data, random.randint(0, len(data)))):
        lost = given_up(raw, host, device, classes, wiped)
        if answer := peek(lost):
            _kept(answer, lost, before, host, device)
        new = plugged(lost, host, entry)[0]
        if answer := peek(new):
            assert device in answer["hosts"][host]["in_place_of"], "the new device takes nobody's place"
            _kept(answer, new, before, host, device)


def _kept(answer, raw, before, host, device):
    """Every OSD lies where it lay, or on what stands in for the device, or nowhere; what waits finds room there."""
    was, now, waiting = places(before), places(answer), raw["hosts"][host]["waiting"]
    stands = answer["hosts"][host].get("in_place_of", {})
    wiped = {disk["id"] for disk in raw["hosts"][host]["ceph_disks"] if not disk["osds"]}
    others = was.keys() - waiting.keys()
    assert {fsid: now.get(fsid) for fsid in others} == {fsid: was[fsid] for fsid in others}, "another OSD moved"
    used = {place[0] for fsid, place in now.items()}
    for fsid in waiting:
        if device in stands and was[fsid][0] in wiped:
            assert now.get(fsid) == tuple(stands.get(each, each) for each in was[fsid]), "not in its place"
        else:
            assert was[fsid][0] not in used, "its data disk was given away"
    if device in stands:
        (size,) = (disk["size"] for disk in raw["hosts"][host]["ceph_disks"] if disk["id"] == stands[device])
        lying = [place for fsid, place in was.items() if fsid in waiting and fsid not in now]
        assert _taken(now.values(), stands[device]) + _taken(lying, device) <= size, "its slots were given away"


def _taken(places, device):
    """The bytes that OSDs in these places take of a device."""
    return sum((db_size or 0) * (db == device) + (wal_size or 0) * (wal == device)
               for _, db, wal, db_size, wal_size in places)  # fmt: skip
