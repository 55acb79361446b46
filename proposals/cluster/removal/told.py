"""What a person reads of a removal: the list, what moves, what is at risk, and what to type."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from proposals.cluster.removal.items import ORDER, Item
from proposals.cluster.removal.room import Room
from proposals.text.notes import counted, several

WOULD = {
    "osd": "stopped by ok-to-stop and safe-to-destroy, purged, its DB and WAL freed",
    "bootstrap-osd": "the keyring with which OSDs are made goes",
    "mon": "out of the map by ok-to-rm, its store moved aside",
    "mgr": "hands over, then stops; its key goes",
    "mds": "stopped by ok-to-stop; its key goes",
    "client-keys": "the keyrings of ceph_keys go",
    "igw": "out of every target, then stopped; its key goes",
    "ganesha": "stopped, out of the grace database; its key goes",
}
HELD = {"key": "the key of", "client-keys": "the keyrings of"}
NOTHING = "nothing leaves: every OSD, daemon and key of ours is named by the generation that is served"
CONFIRM = "to carry out exactly this: salt-run stage.run removal {}confirm={}"
PLAIN = "plain Salt: salt-run state.orch ceph.stage.removal pillar='{}'"


def listed(items: Sequence[Item]) -> list[str]:
    """Return the list, a line for each host and kind."""
    lines: dict[tuple[str, str, bool], list[str]] = {}
    for item in items:
        lines.setdefault((item.minion, item.kind, item.given_up), []).append(item.name)
    return [
        f"  {minion or 'the cluster'}: {_named(kind, names)}{' (its host is given up)' if given_up else ''}"
        for (minion, kind, given_up), names in lines.items()
    ]


def _named(kind: str, names: Sequence[str]) -> str:
    if kind == "osd":
        return f"{counted(len(names), 'OSD')}: {', '.join(names)}"
    return f"{HELD[kind]} {', '.join(names)}" if kind in HELD else ", ".join(names)


def held_back(items: Iterable[Item], silent: Iterable[str]) -> list[str]:
    """Return a line for each host that does not answer and whose things stay therefore."""
    counts: dict[str, list[str]] = {minion: [] for minion in silent}
    for item in items:
        if item.minion in counts:
            counts[item.minion].append(item.name)
    return [
        f"{minion}: does not answer, or is in maintenance: {several(names, 'more')} stay; start its salt-minion, or "
        f"end its maintenance; where that host is gone for good: gone={minion}"
        for minion, names in sorted(counts.items())
        if names
    ]


def past(items: Sequence[Item]) -> list[str]:
    """Return a line for each host of what has left already, by hand; ``policy.show`` names it until it is forgotten."""
    lines = []
    hosts: dict[str, list[Item]] = {}
    for item in items:
        hosts.setdefault(item.minion, []).append(item)
    for minion, own in hosts.items():
        osds = sum(item.kind == "osd" for item in own)
        words = [*([counted(osds, "OSD")] if osds else []), *_others(own)]
        lines.append(f"{minion}: has left already, by hand, and the stage removal forgets it: {', '.join(words)}")
    return lines


def _others(items: Iterable[Item]) -> list[str]:
    return [_named(item.kind, [item.name]) for item in items if item.kind != "osd"]


def plan(items: Sequence[Item], hash_: str, room: Room | None, typed: Mapping[str, object], goes_on: bool) -> list[str]:
    """Return all that is said of a list.

    hash_
        By which it is confirmed.
    room
        What its OSDs move; None without any.
    typed
        What else is typed with it, such as ``only`` and ``gone``.
    goes_on
        Whether it is what is left of one that was begun.
    """
    if not items:
        return [NOTHING]
    words = "".join(f"{key}='{value}' " for key, value in typed.items())
    pillar = json.dumps({f"ceph_{key}": value for key, value in {**typed, "confirm": hash_}.items()})
    return [
        f"{'still leaves' if goes_on else 'leaves'}, in this order (hash {hash_}):",
        *listed(items),
        *([room.line(), *_risk(items)] if room else []),
        CONFIRM.format(words, hash_),
        PLAIN.format(pillar),
    ]


def _risk(items: Sequence[Item]) -> list[str]:
    """What is at risk while data moves."""
    gone = sorted({item.minion for item in items if item.given_up and item.kind == "osd"})
    lines = ["meanwhile every copy stays where it is until it is copied; an OSD is stopped when Ceph needs none of it"]
    if gone:
        lines.append(f"the copies of {', '.join(gone)} lack until they are made anew from the others")
    return lines


def dry(items: Sequence[Item], steps: int) -> list[dict[str, Any]]:
    """Return what would be done, in its order, as steps of a plan (``stages.plan_steps``)."""
    plan: list[dict[str, Any]] = []
    for kind in ORDER:
        listed = [item for item in items if item.kind == kind]
        if kind == "osd" and listed:
            movement = "one movement" if steps == 1 else f"{steps} steps"
            names = several([item.name for item in listed], "more")
            plan.append(_step("drain", f"would drain {names} in {movement}, until nothing lies on them"))
        by_minion: dict[str, list[dict[str, Any]]] = {}
        for item in (item for item in listed if item.minion):
            would = {"state": item.name, "comment": WOULD.get(kind, "its daemon, files and key go"), "fails": False}
            by_minion.setdefault(item.minion, []).append(would)
        comment = "" if by_minion else f"would take away the key of {', '.join(item.name for item in listed)}"
        plan += [_step(kind, comment, by_minion)] if listed else []
    return plan


def _step(name: str, comment: str, by_minion: Mapping[str, list[dict[str, Any]]] | None = None) -> dict[str, Any]:
    return {"step": name, "comment": comment, "fails": False, "minions": by_minion or {}}
