"""What falls with each device, and how much the cluster holds."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from proposals.disks.shape import Facts, Placed

# what of raw capacity a pool can use: a word for it, numerator, denominator, hosts it needs
POOLS = (
    ("3 replicas", 1, 3, 3),
    ("2 replicas", 1, 2, 2),
    ("EC 2+2", 2, 4, 4),
    ("EC 4+2", 4, 6, 6),
)


class Loss(NamedTuple):
    """What falls with one DB or WAL device, by position: OSDs, and raw bytes of their data disks."""

    disk: int
    osds: int
    raw: int


def by_device(facts: Sequence[Facts], osds: Iterable[Placed]) -> tuple[Loss, ...]:
    """What falls with each DB or WAL device of a host."""
    behind: dict[int, list[int]] = {}
    for one in osds:
        for at in {at for at in (one.db, one.wal) if at is not None}:
            behind.setdefault(at, []).append(one.data)
    return tuple(Loss(at, len(data), sum(facts[one].size for one in set(data))) for at, data in sorted(behind.items()))


def told(losses: Iterable[Loss], ids: Sequence[str]) -> list[dict]:
    """Losses as the answer has them, by the disks' ids."""
    return [{"id": ids[one.disk], "osds": one.osds, "raw_bytes": one.raw} for one in losses]


def beside(after: Iterable[Mapping], before: Iterable[Mapping]) -> list[dict]:
    """What falls with each device once OSDs have moved, with what falls with it ``before``; by id."""
    none = {"osds": 0, "raw_bytes": 0}
    now, was = ({one["id"]: dict(one) for one in told} for told in (after, before))
    return [
        {"id": id_, **none, **now.get(id_, {}), "before": {key: was.get(id_, none)[key] for key in none}}
        for id_ in sorted({*now, *was})
    ]


def shares(host: Mapping, total: int) -> None:
    """Set for each device of a host of peek's answer its share of the host's and of the cluster's raw bytes."""
    if not host.get("devices"):
        return
    raw = sum(disk["size"] for disk in host["disks"] if disk["role"] == "data")
    known: dict[int, tuple[float, float]] = {}
    for device in host["devices"]:
        lost = device["raw_bytes"]
        if lost not in known:
            known[lost] = (round(lost / raw, 4) if raw else 0.0, round(lost / total, 4) if total else 0.0)  # dead disks
        device["host_share"], device["cluster_share"] = known[lost]


def summary(hosts: Mapping[str, Mapping]) -> dict:
    """Hosts that have OSDs, OSDs, raw bytes (a disk of several OSDs counts once) and what pools can use of them.

    A pool keeps each part on another host: ``needs_hosts`` tells how many it needs where there are fewer."""
    used = [host for host in hosts.values() if host["osds"]]
    raw = sum(disk["size"] for host in used for disk in host["disks"] if disk["role"] == "data")
    usable = {word: raw * part // whole for word, part, whole, needs in POOLS if len(used) >= needs}
    lacking = {word: needs for word, _, _, needs in POOLS if len(used) < needs}
    return {
        "hosts": len(used),
        "osds": sum(len(host["osds"]) for host in used),
        "raw_bytes": raw,
        "usable_bytes": usable,
        "needs_hosts": lacking,
    }
