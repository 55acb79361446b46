"""What falls with each device, and how much the cluster holds."""

from collections.abc import Mapping

# what of raw capacity a pool can use: a word for it, numerator, denominator, hosts it needs
POOLS = (
    ("3 replicas", 1, 3, 3),
    ("2 replicas", 1, 2, 2),
    ("EC 2+2", 2, 4, 4),
    ("EC 4+2", 4, 6, 6),
)


def devices(host: Mapping, total: int) -> list[dict]:
    """For each DB or WAL device of a host: OSDs and raw bytes lost with it, as shares of host and cluster.

    ``host`` is a host of peek's answer, ``total`` the cluster's raw bytes."""
    behind: dict[str, list[str]] = {}
    for osd in host["osds"]:
        db, wal = osd["db"], osd["wal"]
        if db:
            behind.setdefault(db, []).append(osd["data"])
        if wal and wal != db:
            behind.setdefault(wal, []).append(osd["data"])
    if not behind:
        return []
    sizes = {disk["id"]: disk["size"] for disk in host["disks"] if disk["role"] == "data"}
    raw = sum(sizes.values())
    found = []
    for id_ in sorted(behind):
        lost = sum(sizes[data] for data in set(behind[id_]))
        shares = {"host_share": round(lost / raw, 4), "cluster_share": round(lost / total, 4)}
        found.append({"id": id_, "osds": len(behind[id_]), "raw_bytes": lost, **shares})
    return found


def summary(hosts: Mapping[str, Mapping]) -> dict:
    """Hosts that have OSDs, OSDs, raw bytes (a disk of several OSDs counts once) and what pools can use of them."""
    used = [host for host in hosts.values() if host["osds"]]
    raw = sum(disk["size"] for host in used for disk in host["disks"] if disk["role"] == "data")
    usable = {word: raw * part // whole for word, part, whole, _ in POOLS}
    return {
        "hosts": len(used),
        "osds": sum(len(host["osds"]) for host in used),
        "raw_bytes": raw,
        "usable_bytes": usable,
    }
