"""What ``cluster_moves.estimate`` found, judged and told: bytes, the fullest OSD, and groups without a place."""

from collections.abc import Collection, Iterable, Mapping

from proposals.text.notes import counted
from proposals.text.sizes import rounded

KIB = 1024
NOTHING = "no data moves"
# Flags of the OSD map by which data that is to move does not (docs.ceph.com, rados/operations/health-checks).
HOLDING = {"norebalance", "nobackfill", "norecover"}


def total(found: Mapping) -> int:
    """Return the bytes that move."""
    return int(sum(pool["bytes"] for pool in found["pools"].values()))


def lines(found: Mapping) -> list[str]:
    """Return what a person reads of it.

    found
        ``cluster_moves.estimate``'s answer.
    """
    moved = {name: pool for name, pool in sorted(found["pools"].items()) if pool["groups"]}
    if not moved:
        return [NOTHING]
    groups = sum(pool["groups"] for pool in moved.values())
    each = ", ".join(f"{name} {rounded(pool['bytes'])}" for name, pool in moved.items())
    told = [f"about {rounded(total(found))} of data move, in {groups} copies of placement groups ({each})"]
    if filled := _filled(found):
        then, now, osd = max(filled)
        told.append(f"the fullest OSD that gets data then: osd.{osd}, {then:.0%} (now {now:.0%})")
    if found["busy"]:
        told.append(f"beside it {counted(found['busy'], 'placement group')} move already")
    return told


def held(ran: Collection[str]) -> list[str]:
    """Return that data waits, where the commands that were run leave a ``norebalance`` which was set before."""
    flag = "norebalance"
    waits = f"{flag} was set before, and stays: data waits until 'ceph osd unset {flag}'"
    return [] if f"osd unset {flag}" in ran else [waits]


def against(found: Mapping) -> list[str]:
    """Return what stands against it, a line each: groups that would find no place, OSDs that would be too full."""
    told = [
        f"pool {name}: {counted(pool['lacking'], 'placement group')} would find too few failure domains: add some first"
        for name, pool in sorted(found["pools"].items())
        if pool["lacking"]
    ]
    return told + full([(then, osd) for then, _, osd in _filled(found)], found["limit"])


def full(osds: Iterable[tuple[float, object]], limit: float) -> list[str]:
    """Return what stands against OSDs that would be too full, in one line; none where no OSD would.

    osds
        How full each would be, a part of one, with its number.
    limit
        How full an OSD may be while data moves to it.
    """
    over = [each for each in osds if each[0] > limit]
    if not over:
        return []
    filled, osd = max(over)
    return [
        f"osd.{osd} would be {filled:.0%} full, and {counted(len(over), 'OSD')} above {limit:.0%} (backfillfull_ratio "
        "or full_ratio), where Ceph stops moving data: add disks first, or delete data"
    ]


def _filled(found: Mapping) -> list[tuple[float, float, str]]:
    """How full each OSD that gets more than it loses would be and is, with its number."""
    return [
        ((osd["kb_used"] + (osd["gets"] - osd["loses"]) / KIB) / osd["kb"], osd["kb_used"] / osd["kb"], number)
        for number, osd in found["osds"].items()
        if osd["kb"] and osd["gets"] > osd["loses"]
    ]
