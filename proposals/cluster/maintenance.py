"""What the prep stage is to do to hosts, in DeepSea's words, and in which order. Nothing is asked or opened here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from proposals.settings import reader
from proposals.settings.hosts import PREP
from proposals.text.errors import ArgumentError

KEYS = ("stage_prep_master", "stage_prep_minion", "ready_timeout")


@dataclass(frozen=True)
class Allowed:
    """What is allowed on a host."""

    update: bool = False
    reboot: bool = False


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


def order(minions: Iterable[str], looked: Mapping[str, Mapping], master: str) -> list[str]:
    """Return hosts in the order in which they are maintained: monitors, then OSDs, the master's host last."""
    return sorted(minions, key=lambda minion: (minion == master, not _has_monitor(looked[minion]), minion))


def _has_monitor(seen: Mapping) -> bool:
    return any(name.startswith("ceph-mon") for name in seen["daemons"])
