"""What a person reads of a removal: the list, what moves, what is at risk, and what to type."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from proposals.cluster.removal.items import ORDER, Item
from proposals.cluster.removal.room import Room
from proposals.text.notes import FEW, by_host, counted, several

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
EACH = "each of them by its name: salt-run removal.check {}--out json"
LATER = "each of them by its name: the same command with --out json"
LOG = "each of them by its name: removal.cancel.jsonl, in the folder of the run logs"
CHANGES = "each of them by its name: the changes of this answer (--out json)"


def listed(items: Sequence[Item]) -> list[str]:
    """Return the list, a line for each host and kind; where more than ``FEW`` hosts have a kind, one for all of them,
    with how many leave.
    """
    kinds: dict[str, dict[tuple[str, bool], list[str]]] = {}
    for item in items:
        kinds.setdefault(item.kind, {}).setdefault((item.minion, item.given_up), []).append(item.name)
    lines: list[str] = []
    for kind, hosts in kinds.items():
        if len(hosts) <= FEW:
            lines += [f"  {minion or 'the cluster'}: {_named(kind, names)}{_gone(away)}"
                      for (minion, away), names in hosts.items()]  # fmt: skip
            continue
        for away in (False, True):
            if own := {minion: names for (minion, given_up), names in hosts.items() if given_up is away}:
                names = [name for each in own.values() for name in each]
                count = counted(len(names), "OSD" if kind == "osd" else kind)
                lines.append(f"  {several(list(own))}: {count}: {several(names, 'more')}{_gone(away)}")
    return lines


def each(typed: Mapping[str, object], *lists: Iterable[Item]) -> list[str]:
    """Return where each of some lists is named, where ``listed``, ``held_back`` or ``past`` do not; ``typed`` as for
    ``plan``.
    """
    gone = f"gone='{typed['gone']}' " if "gone" in typed else ""
    return [EACH.format(gone)] if any(map(_folds, lists)) else []


def _folds(items: Iterable[Item]) -> bool:
    hosts = {(item.kind, item.minion, item.given_up) for item in items}
    return any(count > FEW for count in Counter(kind for kind, *_ in hosts).values())


def _gone(given_up: bool) -> str:
    return " (its host is given up)" if given_up else ""


def _named(kind: str, names: Sequence[str]) -> str:
    if kind == "osd":
        return f"{counted(len(names), 'OSD')}: {', '.join(names)}"
    return f"{HELD[kind]} {', '.join(names)}" if kind in HELD else ", ".join(names)


def held_back(items: Iterable[Item], silent: Iterable[str]) -> list[str]:
    """Return a line for each host that does not answer and whose things stay therefore; of more than ``FEW`` one."""
    counts: dict[str, list[str]] = {minion: [] for minion in silent}
    for item in items:
        if item.minion in counts:
            counts[item.minion].append(item.name)
    counts = {minion: names for minion, names in sorted(counts.items()) if names}
    if len(counts) > FEW:
        every = [name for names in counts.values() for name in names]
        return [
            f"{several(list(counts))}: do not answer, or are in maintenance: {several(every, 'more')} stay; start "
            "their salt-minion, or end their maintenance; where one is gone for good: gone=MINION"
        ]
    return [
        f"{minion}: does not answer, or is in maintenance: {several(names, 'more')} stay; start its salt-minion, or "
        f"end its maintenance; where that host is gone for good: gone={minion}"
        for minion, names in counts.items()
    ]


def past(items: Sequence[Item]) -> list[str]:
    """Return a line for each host of what has left already, by hand, or for all of the same; ``policy.show`` names it
    until it is forgotten.
    """
    lines = []
    hosts: dict[str, list[Item]] = {}
    for item in items:
        hosts.setdefault(item.minion, []).append(item)
    for minion, own in hosts.items():
        osds = sum(item.kind == "osd" for item in own)
        words = [*([counted(osds, "OSD")] if osds else []), *_others(own)]
        lines.append((minion, f"has left already, by hand, and the stage removal forgets it: {', '.join(words)}"))
    return by_host(lines)


def weights(back: Mapping[str, float], form: str) -> list[str]:
    """Return a line for each OSD that gets a weight, or of more than ``FEW`` for each weight.

    back
        The weights, by the OSDs' numbers.
    form
        Of a line, with ``osds`` and ``weight``.
    """
    if len(back) <= FEW:
        return [form.format(osds=f"osd.{osd}", weight=weight) for osd, weight in back.items()]
    alike: dict[float, list[str]] = {}
    for osd, weight in back.items():
        alike.setdefault(weight, []).append(f"osd.{osd}")
    lines = [form.format(osds=several(osds, "more OSDs"), weight=weight) for weight, osds in alike.items()]
    rest = sum(len(osds) for osds in list(alike.values())[FEW:])
    return [*lines[:FEW], *([f"and {counted(rest, 'more OSD')} of other weights"] if rest else [])]


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
        lines.append(f"the copies of {several(gone)} lack until they are made anew from the others")
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
