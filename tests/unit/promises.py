"""What holds for every answer of the planner, whatever was asked of whichever hosts."""

from collections import Counter

from proposals.disks.arguments import DiskArguments
from proposals.disks.slots import OVERHEAD
from proposals.text import names

PLACE = ("data", "db", "wal", "db_size", "wal_size", "format", "encryption")


def devices(host):
    """Device -> data disks, and device -> bytes taken on one host."""
    disks, taken = {}, Counter()
    for osd in host["osds"]:
        for key in ("db", "wal"):
            if osd[key]:
                taken[osd[key]] += osd[f"{key}_size"]
        if osd["db"] or osd["wal"]:
            disks.setdefault(osd["db"] or osd["wal"], set()).add(osd["data"])
    return disks, taken


def moves(answer):
    """What of which OSD moves where, by its fsid."""
    return {osd["uuid"]: osd["moves"] for host in answer["hosts"].values() for osd in host["osds"] if osd.get("moves")}


def both_places(host):
    """Where OSDs lie and where they are to lie is taken, once each, and no disk is data and carries."""
    sizes = {disk["id"]: disk["size"] for disk in host["disks"]}
    _, taken = devices(host)
    for osd in host["osds"]:
        for role, move in osd.get("moves", {}).items():
            assert osd["existing"] and move["from"] == osd[role] and (move["to"] or move["from"])
            assert bool(move["to"]) == bool(move["size"])
            if move["to"]:
                taken[move["to"]] += move["size"]
    assert all(size <= sizes[device] - OVERHEAD for device, size in taken.items()), "more is planned than fits"
    assert not {osd["data"] for osd in host["osds"]} & set(taken), "a disk is data or carries, never both"
    assert {disk["id"] for disk in host["disks"] if disk["role"] in ("db", "wal")} == set(taken)


def check(answer, raw, asked: DiskArguments):
    """Ceilings, capacity, no disk twice, every disk explained, no OSD without the DB that was asked for."""
    for name, host in answer["hosts"].items():
        seen = {disk["id"]: disk for disk in host["disks"]}
        assert sorted(seen) == sorted(disk["id"] for disk in raw["hosts"][name]["ceph_disks"])
        assert all((disk["role"] == "unused") == bool(disk["reason"]) for disk in host["disks"])
        disks, taken = devices(host)
        data = {osd["data"] for osd in host["osds"]}
        assert not data & set(taken), "a disk is data or carries, never both"
        assert {disk["id"] for disk in host["disks"] if disk["role"] == "data"} == data
        assert {disk["id"] for disk in host["disks"] if disk["role"] in ("db", "wal")} == set(taken)
        assert all(len(behind) <= asked.ratio for behind in disks.values())
        assert all(size <= seen[device]["size"] - OVERHEAD for device, size in taken.items())
        per_disk = Counter(osd["data"] for osd in host["osds"])
        parts = {one: 1 if seen[one]["class"] == "hdd" else asked.osds_per_device for one in per_disk}
        assert per_disk == parts
        if asked.limit_data and not any(osd["existing"] for osd in host["osds"]):
            assert len(data) <= asked.limit_data
        tiers = {osd["db"]: osd["wal"] for osd in host["osds"] if osd["db"] and osd["wal"] and osd["db"] != osd["wal"]}
        assert all(count <= asked.db_ratio for count in Counter(tiers.values()).values())
        if asked.db and not asked.leftovers:
            assert all(osd["db"] for osd in host["osds"] if not osd["existing"])
    fsids = [osd["uuid"] for host in answer["hosts"].values() for osd in host["osds"]]
    assert len(fsids) == len(set(fsids))
    assert all(names.UUID.fullmatch(one) for one in fsids)
