"""Whether the OSDs that are left have room for what moves: bytes, and placement groups.

How full an OSD would be is what it holds now, times its share of the pools' copies afterwards over its share now. A
share follows CRUSH's weights, and no failure domain holds more than one copy. So an OSD that is fuller than its weight
says stays so. What is no data (RocksDB's own space) is taken to stay.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from proposals.cluster.moves import full
from proposals.cluster.removal.domains import Block, Map
from proposals.text.sizes import rounded

KIB = 1024


@dataclass(frozen=True)
class Room:
    """What moves, in bytes, and the fullest OSD as it is and as it would be, in parts of one."""

    moves: int
    fullest: str
    now: float
    then: float
    against: tuple[str, ...]

    def line(self) -> str:
        """It for a person."""
        return (
            f"about {rounded(self.moves)} of data move; the fullest OSD then: {self.fullest}, {self.then:.0%} "
            f"(now {self.now:.0%})"
        )


def room(
    crush: Map, pools: Sequence[Mapping], usage: Sequence[Mapping], limits: Mapping, away: Collection[int]
) -> Room:
    """Return what removing OSDs moves and fills.

    pools
        ``{pool_name, size, crush_rule, pg_num, bytes_used}``.
    usage
        ``nodes`` of ``ceph osd df``: ``{id, kb, kb_used, kb_used_data, pgs}``.
    limits
        ``{backfillfull, full}``, parts of one; ``{max_pgs}``: placement groups an OSD (mon_max_pg_per_osd).
    away
        The numbers of the OSDs that leave.
    """
    before, after = (_shares(crush, pools, gone, "bytes_used") for gone in ((), away))
    fullest, now, then = "none", 0.0, 0.0
    filling: list[tuple[float, int]] = []
    limit = min(limits["backfillfull"], limits["full"])
    for osd in usage:
        if osd["id"] in away or not osd["kb"]:
            continue
        grown = after.get(osd["id"], 0) / before[osd["id"]] if before.get(osd["id"]) else 1
        data = osd["kb_used_data"]
        filled = (osd["kb_used"] - data + data * max(1, grown)) / osd["kb"]
        if filled >= then:
            fullest, now, then = f"osd.{osd['id']}", osd["kb_used"] / osd["kb"], filled
        if grown > 1:
            filling.append((filled, osd["id"]))
    moves = sum(osd["kb_used_data"] for osd in usage if osd["id"] in away and osd["pgs"]) * KIB
    against = full(filling, limit)
    return Room(moves, fullest, now, then, (*against, *_groups(crush, pools, usage, limits["max_pgs"], away)))


def rebuilt(crush: Map, pools: Sequence[Mapping], back: Collection[int]) -> int:
    """Return the bytes that OSDs get when they come back empty: their share of all pools' copies.

    Arguments as for ``room``; ``back`` are the OSDs' numbers, whether they are out now or not.
    """
    whole = Map(crush.dump, {**crush.inside, **dict.fromkeys(back, 1)})
    shares = _shares(whole, pools, (), "bytes_used")
    return round(sum(shares.get(osd, 0) for osd in back))


def _groups(
    crush: Map, pools: Sequence[Mapping], usage: Sequence[Mapping], limit: int, away: Collection[int]
) -> list[str]:
    """Copies of placement groups an OSD on the average, which Ceph holds against mon_max_pg_per_osd. OSDs that are out
    already carry none of them.
    """
    left = [osd for osd in usage if osd["id"] not in away and crush.inside.get(osd["id"])]
    copies = sum(pool["pg_num"] * pool["size"] for pool in pools)
    if not left or not any(map(crush.inside.get, away)) or copies / len(left) <= limit:
        return []
    return [
        f"{copies} copies of placement groups on {len(left)} OSDs are {copies / len(left):.0f} an OSD, more than "
        f"{limit} (mon_max_pg_per_osd): give pools fewer placement groups (pg_num) first"
    ]


def _shares(crush: Map, pools: Sequence[Mapping], away: Collection[int], key: str) -> dict[int, float]:
    """What each OSD holds of all pools' copies, in bytes."""
    held: dict[tuple[int, int], float] = {}  # of the pools that one rule places alike, by rule and size
    for pool in pools:
        like = pool["crush_rule"], pool["size"]
        held[like] = held.get(like, 0) + pool[key] / max(1, pool["size"])
    shares: dict[int, float] = {}
    for (rule, size), each in held.items():
        for block in crush.blocks(rule, size):
            for osd, copies in _copies(crush, block, away).items():
                shares[osd] = shares.get(osd, 0) + copies * each
    return shares


def _copies(crush: Map, block: Block, away: Collection[int]) -> dict[int, float]:
    """How many of a block's copies each OSD holds, on the average of all placement groups."""
    kind = block.steps[0][1]
    domains = {each: crush.weights(each, away) for each in crush.below(block.take, kind)}
    totals = {each: sum(weights.values()) for each, weights in domains.items() if weights}
    most = block.copies / max(1, block.domains)  # copies that one domain may hold: the steps below choose them
    held = _filled(totals, float(block.copies), max(1.0, most))
    return {osd: held[each] * weight / totals[each] for each in totals for osd, weight in domains[each].items()}


def _filled(totals: Mapping[int, float], copies: float, most: float) -> dict[int, float]:
    """Copies spread by weight, none with more than ``most``: what one cannot hold, the others do."""
    held: dict[int, float] = {}
    rest = dict(totals)
    while rest:
        weight = sum(rest.values())
        full = [each for each, own in rest.items() if copies * own / weight >= most]
        if not full:
            return held | {each: copies * own / weight for each, own in rest.items()}
        for each in full:
            held[each] = most
            copies = max(0.0, copies - most)
            del rest[each]
    return held
