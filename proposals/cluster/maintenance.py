"""What the prep stage is to do to hosts, in DeepSea's words, and in which order. Nothing is asked or opened here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from proposals.text import names
from proposals.text.errors import ArgumentError


@dataclass(frozen=True)
class Wanted:
    """What is allowed on a host."""

    update: bool = False
    reboot: bool = False


# The values of stage_prep_master and stage_prep_minion (pillar/ceph/defaults.sls).
WORDS = {
    "default-no-update-no-reboot": Wanted(),
    "default-update-no-reboot": Wanted(update=True),
    "default-no-update-reboot": Wanted(reboot=True),
    "default-update-reboot": Wanted(update=True, reboot=True),
}


def wanted(pillar: Mapping, minions: Iterable[str], master: str) -> dict[str, Wanted]:
    """Return what is allowed on each minion; the master's own host is never rebooted: that would end the stage.

    Raises ArgumentError for a value that is none of ``WORDS``.
    """
    keys = ("stage_prep_master", "stage_prep_minion")
    of_master, of_minion = (_word(key, pillar.get(key, "default-no-update-no-reboot")) for key in keys)
    chosen = dict.fromkeys(minions, of_minion)
    return {**chosen, master: Wanted(update=of_master.update)} if master in chosen else chosen


def _word(key: str, value: object) -> Wanted:
    if not isinstance(value, str) or value not in WORDS:
        raise ArgumentError(f"{key}: '{names.shown(value)}' is not known{names.nearest(str(value), WORDS)}")
    return WORDS[value]


def due(allowed: Mapping[str, Wanted], looked: Mapping[str, Mapping]) -> dict[str, list[str]]:
    """Return what would be done to each host that is due something, in words.

    looked
        What ``host_updates.inspect`` answered, by minion.
    """
    found = {}
    for minion, seen in sorted(looked.items()):
        update = allowed[minion].update and seen["pending"]
        words = [f"update {len(seen['pending'])} packages"] if update else []
        words += [f"reboot ({seen['reboot']})"] if allowed[minion].reboot and seen["reboot"] else []
        if words:
            found[minion] = words
    return found


def order(minions: Iterable[str], looked: Mapping[str, Mapping], master: str) -> list[str]:
    """Return hosts in the order in which they are maintained: monitors, then OSDs, the master's host last."""
    return sorted(minions, key=lambda minion: (minion == master, not _has_monitor(looked[minion]), minion))


def _has_monitor(seen: Mapping) -> bool:
    return any(name.startswith("ceph-mon") for name in seen["daemons"])
