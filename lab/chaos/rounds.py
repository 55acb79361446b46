"""What happens in each round: drawn from a seed and the round's number alone, on the hosts that there are.

The same seed draws the same rounds on the same lab, so that one of them can be played again by itself. In each cycle of
as many rounds as there are faults every fault comes up once, and every stage, deploy more often than the others.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass

ORDER = ("prep", "discovery", "configure", "deploy", "services", "restart")  # the stages, as an admin runs them
CARDS = (*ORDER, "deploy", "deploy")  # the longest, which makes what a cluster is
FAULTS = ("minion", "master", "stage", "daemons", "host", "disk", "network", "cache")
# What takes a failure domain away from clients. A restart takes one itself: these two would be two at a time.
SERVED = frozenset({"daemons", "host", "disk", "network"})
# On how many hosts daemons of a kind have to run so that one of these may go: a majority has to stay. Others: two.
ENOUGH = {"mon": 3, "osd": 3}
HOLD = (2, 20)  # seconds until a fault is mended, from and to
LAST = 0.9  # part of a stage's usual length: runs differ in length, and a fault after the end of one strikes none
SETTINGS, REPLACEMENT = "settings", "replacement"


@dataclass(frozen=True)
class Hosts:
    """The lab as the draw sees it."""

    master: str
    minions: tuple[str, ...]
    load: str  # where the load's clients run
    daemons: Mapping[str, tuple[str, ...]]  # host -> kinds of Ceph's daemons
    networks: Mapping[str, tuple[str, ...]]
    slots: Mapping[str, tuple[str, ...]]  # host -> slots of disks that OSDs lie on
    data: Mapping[str, tuple[str, ...]]  # of these the OSDs' data disks


@dataclass(frozen=True)
class Round:
    """One round."""

    seed: int
    number: int
    change: str  # what the stages have to do: SETTINGS, REPLACEMENT
    disk: tuple[str, str]  # of a replacement: host and slot
    stage: str
    fault: str
    host: str
    detail: str  # of the fault: a signal, a kind of daemons, a slot, a network
    part: float  # of the stage's usual length, from 0 to LAST: when the fault happens
    hold: int  # seconds until it is mended

    @property
    def text(self) -> str:
        """What happens, for a person."""
        what = f"disk in slot {self.disk[1]} of {self.disk[0]} replaced" if self.change == REPLACEMENT else self.change
        struck = " ".join(word for word in (self.fault, self.detail, self.host) if word)
        return f"{what}; at {self.part:.0%} of {self.stage}: {struck}, for {self.hold} s"


def targets(hosts: Hosts) -> dict[str, list[tuple[str, str]]]:
    """Each fault's targets, host and detail: never more than one failure domain, and never the load's own host."""
    strikable = [host for host in sorted(hosts.daemons) if _spared(hosts, host)]
    alone = [host for host in strikable if host not in (hosts.master, hosts.load)]
    return {
        "minion": [(host, signal) for host in sorted(hosts.minions) for signal in ("KILL", "TERM")],
        "master": [(hosts.master, signal) for signal in ("KILL", "TERM")],
        "stage": [(hosts.master, signal) for signal in ("KILL", "INT", "TERM")],
        "daemons": [(host, kind) for host in strikable for kind in sorted(hosts.daemons[host])],
        "host": [(host, "") for host in alone],
        "disk": [(host, slot) for host in strikable for slot in hosts.slots.get(host, ())],
        "network": [(host, network) for host in alone for network in sorted(hosts.networks[host])],
        "cache": [(host, "") for host in sorted(hosts.minions)],
    }


def draw(seed: int, number: int, hosts: Hosts) -> Round:
    """Round `number` (from 1) of a seed."""
    there = {fault: found for fault, found in targets(hosts).items() if found}
    cycle, place = divmod(number - 1, len(FAULTS))
    fault, stage = _dealt(seed, cycle)[place]
    mine = random.Random(f"{seed} round {number}")
    if fault not in there:
        fault = mine.choice([other for other in sorted(there) if allowed(stage, other)])
    host, detail = mine.choice(there[fault])
    # Its data needs another disk of the same host until then: with as many hosts as copies there is no other place.
    disks = [(host, slot) for host, slots in sorted(hosts.data.items()) if len(slots) > 1 for slot in slots]
    replaced = stage == "deploy" and disks and mine.random() < 0.5
    return Round(
        seed=seed,
        number=number,
        change=REPLACEMENT if replaced else SETTINGS,
        disk=mine.choice(disks) if replaced else ("", ""),
        stage=stage,
        fault=fault,
        host=host,
        detail=detail,
        part=round(LAST * mine.random(), 3),
        hold=mine.randint(*HOLD),
    )


def _dealt(seed: int, cycle: int) -> list[tuple[str, str]]:
    """The faults of a cycle, each with the stage that it strikes."""
    deck = random.Random(f"{seed} cycle {cycle}")
    faults, stages = deck.sample(FAULTS, len(FAULTS)), deck.sample(CARDS, len(CARDS))
    at = stages.index("restart")
    to = deck.choice([place for place, fault in enumerate(faults) if allowed("restart", fault)])
    stages[at], stages[to] = stages[to], stages[at]
    return list(zip(faults, stages, strict=True))


def allowed(stage: str, fault: str) -> bool:
    """Whether a fault in that stage leaves all but one failure domain alone."""
    return not (stage == "restart" and fault in SERVED)


def before(stage: str, change: str) -> tuple[str, ...]:
    """The stages that a change needs before the one that a fault strikes: discovery sees no setting.

    A restart is of what deploy wrote; services needs nothing of it.
    """
    ahead = ORDER[1 : ORDER.index(stage)]
    needed = ("configure", "deploy") if stage == "restart" else ("configure",)
    return tuple(each for each in ahead if each in needed or change == REPLACEMENT)


def again(stage: str) -> tuple[str, ...]:
    """The stages that have to make all whole once the fault is mended."""
    return tuple(each for each in ORDER if each not in ("prep", "restart") or each == stage)


def _spared(hosts: Hosts, host: str) -> bool:
    """Whether the cluster serves its clients without this host: each kind of its daemons runs on enough others."""
    counts = {kind: sum(kind in kinds for kinds in hosts.daemons.values()) for kind in hosts.daemons[host]}
    return all(count >= ENOUGH.get(kind, 2) for kind, count in counts.items())
