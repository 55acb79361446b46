"""What the prep stage is to do to hosts, in DeepSea's words, and in which order. Nothing is asked or opened here."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from proposals.settings import reader
from proposals.settings.hosts import PREP
from proposals.text.errors import ArgumentError
from proposals.text.notes import by_host, several

EACH = "'salt-run updates.status --out json' names each"
KEYS = ("stage_prep_master", "stage_prep_minion", "ready_timeout")


@dataclass(frozen=True)
class Allowed:
    """What is allowed on a host."""

    update: bool = False
    reboot: bool = False


OSD = re.compile(r"osd\.|ceph-(osd|volume)@")  # a daemon's name, or a unit's


WORDS = dict(
    zip(PREP, (Allowed(), Allowed(update=True), Allowed(reboot=True), Allowed(update=True, reboot=True)), strict=True)
)


def wanted(pillar: Mapping, minions: Iterable[str], master: str) -> dict[str, Allowed]:
    """Return what is allowed on each minion; the master's own host is never rebooted: that would end the stage.

    Raises ArgumentError for settings of prep that are not understood.
    """
    settings = reader.read({key: pillar.get(key) for key in KEYS})
    if settings.problems:
        raise ArgumentError("\n".join(settings.lines()))
    chosen = dict.fromkeys(minions, WORDS[settings["stage_prep_minion"]])
    update = WORDS[settings["stage_prep_master"]].update
    return {**chosen, master: Allowed(update=update)} if master in chosen else chosen


def due(allowed: Mapping[str, Allowed], looked: Mapping[str, Mapping]) -> dict[str, list[str]]:
    """Return what would be done to each host that is due something, in words.

    answers
        What ``host_updates.inspect`` answered, by minion.
    """
    tasks = {}
    for minion, seen in sorted(looked.items()):
        update = allowed[minion].update and seen["pending"]
        words = [f"update {len(seen['pending'])} packages"] if update else []
        words += [f"reboot ({seen['reboot']})"] if allowed[minion].reboot and seen["reboot"] else []
        if words:
            tasks[minion] = words
    return tasks


def runs(looked: Collection[Mapping]) -> bool:
    """Return whether a cluster runs on hosts, as ``host_updates.inspect`` saw them: daemons of Ceph, or gateways alone
    of a cluster that somebody here may ask. An NFS server may be another's where nobody may.
    """
    gateways = any(seen["units"] for seen in looked) and any(seen["asks"] for seen in looked)
    return gateways or any(seen["daemons"] or seen["foreign"] for seen in looked)


def against(updated: Iterable[str], looked: Mapping[str, Mapping]) -> list[str]:
    """Return why the updates of a running cluster may not begin: they hold Ceph's packages, which have an order."""
    return by_host(
        (
            minion,
            f"updates hold {several(looked[minion]['ceph'], 'more packages')} of Ceph, which come in Ceph's order: run "
            "ceph.stage.upgrade, then this again",
        )
        for minion in updated
        if looked[minion]["ceph"]
    )


def lines(due: Mapping[str, Sequence[str]], where: str = "") -> list[str]:
    """Return what ``due`` returned as a person reads it; of many hosts the same is told once, and ``where`` each is."""
    return by_host(((minion, ", ".join(words)) for minion, words in due.items()), where)


def osds(due: Iterable[str], looked: Mapping[str, Mapping]) -> dict[str, list[str]]:
    """Return the hosts that nothing but OSDs runs on, with these: they may go together, by Ceph's leave."""
    found = {}
    for minion in sorted(due):
        seen = looked[minion]
        alone = not seen["foreign"] and all(OSD.match(name) for name in (*seen["daemons"], *seen["units"]))
        if alone and (names := [name for name in seen["daemons"] if name.startswith("osd.")]):
            found[minion] = names
    return found


def order(minions: Iterable[str], looked: Mapping[str, Mapping], master: str) -> list[str]:
    """Return hosts in the order in which they are maintained: monitors, then others, the master's host last."""
    return sorted(minions, key=lambda minion: (minion == master, not _has_monitor(looked[minion]), minion))


def _has_monitor(seen: Mapping) -> bool:
    return any(name.startswith("mon.") for name in seen["daemons"])
