"""What a person reads of a removal: the list, what moves, what is at risk, and what to type."""

from collections.abc import Iterable, Mapping, Sequence

from proposals.cluster.removal.items import Item
from proposals.cluster.removal.room import Room
from proposals.text.notes import counted, several

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
    return f"the key of {', '.join(names)}" if kind == "key" else ", ".join(names)


def held_back(items: Iterable[Item], silent: Iterable[str]) -> list[str]:
    """Return a line for each host that does not answer and whose things stay therefore."""
    counts = {minion: [item.name for item in items if item.minion == minion] for minion in silent}
    return [
        f"{minion}: does not answer: {several(names, 'more')} stay; start its salt-minion, or where that host is gone "
        f"for good: gone={minion}"
        for minion, names in sorted(counts.items())
        if names
    ]


def plan(items: Sequence[Item], hash_: str, room: Room | None, typed: Mapping[str, str], goes_on: bool) -> list[str]:
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
    pillar = ", ".join(f'"ceph_{key}": "{value}"' for key, value in {**typed, "confirm": hash_}.items())
    return [
        f"{'still leaves' if goes_on else 'leaves'}, in this order (hash {hash_}):",
        *listed(items),
        *([room.line(), *_risk(items)] if room else []),
        CONFIRM.format(words, hash_),
        PLAIN.format("{" + pillar + "}"),
    ]


def _risk(items: Sequence[Item]) -> list[str]:
    """What is at risk while data moves."""
    gone = sorted({item.minion for item in items if item.given_up and item.kind == "osd"})
    lines = ["meanwhile every copy stays where it is until it is copied; an OSD is stopped when Ceph needs none of it"]
    if gone:
        lines.append(f"the copies of {', '.join(gone)} lack until they are made anew from the others")
    return lines
