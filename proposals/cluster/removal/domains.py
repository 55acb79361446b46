"""Which failure domains the rules of a cluster's pools find, with and without some OSDs.

Rules are those of ``ceph osd crush dump``: blocks of ``take``, ``choose`` steps and ``emit`` (docs.ceph.com,
rados/operations/crush-map-edits). A rule for a device class takes a shadow bucket, which holds that class alone.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from proposals.text.notes import several

Steps = Sequence[tuple[int, str]]  # how many of which type, one choose step after the other
ONE = 65536  # a weight of 1 in the map's own numbers


class Block(NamedTuple):
    """A part of a rule: where it begins, its steps, and how many copies it places."""

    take: int
    steps: Steps
    copies: int

    @property
    def domains(self) -> int:
        """How many of its first step's type it needs: fewer than it may choose where each holds several copies."""
        (most, _), *rest = self.steps
        return min(most, math.ceil(self.copies / max(1, math.prod(count for count, _ in rest))))


@dataclass(frozen=True)
class Map:
    """A CRUSH map: ``ceph osd crush dump``, and the share of each OSD's weight that counts (1 in, 0 out)."""

    dump: Mapping
    inside: Mapping[int, float]

    @cached_property
    def buckets(self) -> dict[int, Mapping]:
        """Each bucket by its number."""
        return {bucket["id"]: bucket for bucket in self.dump["buckets"]}

    @cached_property
    def rules(self) -> dict[int, Mapping]:
        """Each rule by its number."""
        return {rule["rule_id"]: rule for rule in self.dump["rules"]}

    def weights(self, item: int, away: Collection[int] = (), weight: int = ONE) -> dict[int, float]:
        """The weight of each OSD below an item, of those that get data; ``away`` get none."""
        if item >= 0:
            own = 0 if item in away else weight / ONE * self.inside.get(item, 0)
            return {item: own} if own else {}
        return {
            osd: own
            for child in self.buckets[item]["items"]
            for osd, own in self.weights(child["id"], away, child["weight"]).items()
        }

    def below(self, item: int, kind: str) -> Iterator[int]:
        """The items of a type below an item."""
        for child in self.buckets[item]["items"] if item < 0 else ():
            if (self.buckets[child["id"]]["type_name"] if child["id"] < 0 else "osd") == kind:
                yield child["id"]
            else:
                yield from self.below(child["id"], kind)

    def name(self, item: int) -> str:
        """An item's name, without the class of a shadow."""
        return f"osd.{item}" if item >= 0 else str(self.buckets[item]["name"]).partition("~")[0]

    def blocks(self, rule: int, size: int) -> list[Block]:
        """The parts of a rule for a pool of so many copies."""
        blocks: list[Block] = []
        take, left = 0, size
        steps: list[tuple[int, str]] = []
        for step in self.rules[rule]["steps"]:
            if step["op"] == "take":
                take, steps = step["item"], []
            elif step["op"].startswith("choose"):
                steps.append((step["num"] if step["num"] > 0 else max(0, size + step["num"]), step["type"]))
            elif step["op"] == "emit" and steps:
                placed = min(left, math.prod(count for count, _ in steps))
                blocks.append(Block(take, tuple(steps), placed))
                left -= placed
        return blocks


def lacking(crush: Map, pools: Sequence[Mapping], away: Collection[int]) -> list[str]:
    """Return the pools whose rule would find too few failure domains without some OSDs, a line each.

    pools
        ``{pool_name, size, crush_rule}``.
    away
        The numbers of the OSDs that leave.
    """
    lines = []
    lacks: dict[tuple[int, int], list[tuple[int, str, int]]] = {}  # by rule and size: many pools have the same
    for pool in pools:
        like = pool["crush_rule"], pool["size"]
        if like not in lacks:
            lacks[like] = list(_lacks(crush, *like, away))
        for needed, kind, found in lacks[like]:
            rule = crush.rules[pool["crush_rule"]]["rule_name"]
            lines.append(
                f"pool {pool['pool_name']} has {pool['size']} copies, and its rule {rule} needs {needed} of type "
                f"{kind}: {found} would be left; add one first, or give the pool another size or rule"
            )
    return lines


def _lacks(crush: Map, rule: int, size: int, away: Collection[int]) -> Iterator[tuple[int, str, int]]:
    """How many domains of which type blocks of a rule need that would find fewer, and how many those would find."""
    for block in crush.blocks(rule, size):
        needed, kind, within = block.domains, block.steps[0][1], crush.weights(block.take)
        if not within.keys().isdisjoint(away) and (found := _found(crush, block.take, block.steps, away)) < needed:
            yield needed, kind, found


def emptied(crush: Map, pools: Sequence[Mapping], away: Collection[int]) -> list[str]:
    """Return a line for each rule of which more than one failure domain would be left without an OSD."""
    kinds: dict[tuple[str, ...], str] = {}
    for rule, size in dict.fromkeys((pool["crush_rule"], pool["size"]) for pool in pools):
        for block in crush.blocks(rule, size):
            kind = next((kind for _, kind in reversed(block.steps) if kind != "osd"), None)
            within = crush.below(block.take, kind) if kind else ()
            names = [crush.name(each) for each in within if crush.weights(each) and not crush.weights(each, away)]
            if kind and len(names) > 1:
                kinds[tuple(sorted(names))] = kind
    return [
        f"{several(list(names), 'more')}: {len(names)} failure domains ({kind}) would leave at once: take them away "
        "one after the other, with only="
        for names, kind in sorted(kinds.items())
    ]


def _found(crush: Map, item: int, steps: Steps, away: Collection[int]) -> int:
    """How many of the first step's type there are below an item in which the other steps find enough."""
    (_, kind), *rest = steps
    return sum(
        bool(crush.weights(each, away)) and (not rest or _found(crush, each, rest, away) >= rest[0][0])
        for each in crush.below(item, kind)
    )
