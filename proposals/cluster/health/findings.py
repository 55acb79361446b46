"""All that a look at a cluster finds which is not as in a cluster at rest, whatever was there before."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from proposals.cluster.health import groups
from proposals.cluster.health.checks import FELT, PAUSED, UNFELT, Meaning, meaning
from proposals.cluster.health.seen import HealthCheck, Seen

WRONG, MOVES, KNOWN = "wrong", "moves", "known"
WAITING = "groups waiting"  # the key of copies that nobody makes now: an OSD, room or a failure domain lacks
MOVING = "groups moving"  # the key of data on its way: of ``MOVES`` all that may mend what is wrong
LACKING = "osd made "  # how the key begins of a host that has fewer OSDs than planned
ERROR = "HEALTH_ERR"
# Seconds until the monitors know what became of groups: OSDs tell the manager every 5 (mgr_stats_period), which tells
# them every 2 (mgr_tick_period).
REPORTED = 8
NOUNS = {"MON": "mon", "MGR": "mgr", "OSD": "osd", "PG": "groups", "OBJECT": "groups"}  # of checks that repeat


@dataclass(frozen=True)
class Complaint:
    """One thing that is not as in a cluster at rest.

    key
        What it is about, the same from look to look; its first word is its noun.
    who, where
        What a person reads of whom it is about, and of its host; the same of several is one line.
    amount
        How much of it: less is better.
    speed
        Of placement groups: objects a second that Ceph recovers.
    strict
        That it was there before is no excuse: a stage was to make it right.
    passing
        It ends by itself, and soon.
    """

    key: str
    kind: str
    who: str
    says: str
    amount: int = 1
    speed: int = 0
    where: str = ""
    strict: bool = False
    passing: bool = False


@dataclass(frozen=True)
class Plan:
    """What is to run: each OSD's fsid; monitors and managers (``mon.node1``); each with its host's minion.

    absent: minions that a stage leaves out; gone: fsids of OSDs whose disks are gone. The stage's last step says what
    was not made of both (``stages.left_out``).
    """

    osds: Mapping[str, str] = field(default_factory=dict)
    daemons: Mapping[str, str] = field(default_factory=dict)
    absent: Collection[str] = ()
    gone: Collection[str] = ()


def found(seen: Seen, plan: Plan | None = None, excused: Collection[str] = ()) -> list[Complaint]:
    """Return what a look finds.

    plan
        What is to run; without it, what the cluster itself knows.
    excused
        Daemons whose hosts are in maintenance.
    """
    looked = [*_monitors(seen, plan, excused), *_osds(seen, plan), *_groups(seen)]
    nouns = {finding.key.split()[0] for finding in looked}
    felt = FELT | ({"OSDMAP_FLAGS"} if PAUSED & seen.flags else set())
    felt |= {name for name, check in seen.checks.items() if check.severity == ERROR and not UNFELT.fullmatch(name)}
    told = ((name, check, 2 if name in felt else 1) for name, check in sorted(seen.checks.items()))
    return looked + [finding for each in told for finding in _check(*each, nouns)]


def _monitors(seen: Seen, plan: Plan | None, excused: Collection[str]) -> Iterator[Complaint]:
    """Monitors and managers. Planned ones are to run, but for those of a host that a stage leaves out."""
    if not seen.manager:
        yield Complaint("mgr active", WRONG, "", "no manager is active", strict=True)
    plan = plan or Plan()
    quorum = sum(name.startswith("mon.") for name in seen.running)
    away = {name for name in excused if name.startswith("mon.")} - seen.running - plan.daemons.keys()
    unnamed = seen.monitors - quorum - len(away)
    for name, minion in sorted(plan.daemons.items()):
        if name not in seen.running:
            unnamed -= name.startswith("mon.")
            says = "not in quorum" if name.startswith("mon.") else "does not run, neither active nor standby"
            yield Complaint(f"{name[:3]} {name}", WRONG, name, says, strict=minion not in plan.absent)
    if unnamed > 0:
        yield Complaint("mon quorum", WRONG, "", f"{quorum} of {seen.monitors} monitors are in quorum", unnamed)


def _osds(seen: Seen, plan: Plan | None) -> Iterator[Complaint]:
    known = {osd.uuid: osd for osd in seen.osds}
    planned = plan.osds if plan else {}
    lacking: dict[str, int] = {}
    left = plan or Plan()
    for uuid, minion in planned.items():
        if minion in left.absent or uuid in left.gone:
            continue
        if uuid not in known or (known[uuid].fresh and not known[uuid].up):
            lacking[minion] = lacking.get(minion, 0) + 1
    for minion, count in sorted(lacking.items()):
        yield Complaint(f"{LACKING}{minion}", WRONG, minion, f"{count} OSDs fewer than planned", count, strict=True)
    for osd in seen.osds:
        name, host = f"osd.{osd.id}", planned.get(osd.uuid, "")
        if not osd.up and not osd.fresh and (osd.is_in or host):
            kind = KNOWN if osd.uuid in left.gone else WRONG
            yield Complaint(f"osd down {osd.id}", kind, name, "down" if osd.is_in else "down and out", where=host)
        elif osd.up and not osd.is_in and host:
            kind = KNOWN if "noin" in seen.flags else WRONG
            yield Complaint(f"osd out {osd.id}", kind, name, "out, so it gets no data", where=host)
        if planned and not host:
            yield Complaint(f"osd beside {osd.id}", KNOWN, name, "in the cluster, and in no profile that is served")


def _groups(seen: Seen) -> Iterator[Complaint]:
    if not seen.states and seen.osds:
        yield Complaint("groups none", MOVES, "", "there is no placement group yet", passing=True)
    if seen.states and seen.changed is not None and seen.changed < REPORTED:
        says = "an OSD came or went a moment ago: whether data moves is not known yet"
        yield Complaint("groups reported", MOVES, "", says, passing=True)
    found = list(of_groups(seen.states))
    counted = MOVING if any(finding.key == MOVING for finding in found) else WAITING
    for finding in found:
        more = _moved(seen) if finding.key == counted else ""
        said = replace(finding, speed=seen.rate)
        yield replace(said, says=f"{said.says}; {more}", amount=seen.misplaced + seen.degraded) if more else said


def of_groups(states: Mapping[str, int]) -> Iterator[Complaint]:
    """Return what is found of placement groups alone, by how many are in each state."""
    by_meaning = groups.sorted_out({state: count for state, count in states.items() if count})
    for key, which, says in (
        ("not served", by_meaning.not_served, "placement groups are not served"),
        ("beginning", by_meaning.beginning, "placement groups are not served"),  # apart: that of before excuses no loss
        ("damaged", by_meaning.damaged, "placement groups are damaged"),
    ):
        if which:
            count = sum(which.values())
            yield Complaint(f"groups {key}", WRONG, "", f"{count} {says}: {groups.told(which)}", count)
    if by_meaning.waiting:
        count, told = sum(by_meaning.waiting.values()), groups.told(by_meaning.waiting)
        yield Complaint(
            WAITING, MOVES, "", f"copies are to be made, and nobody makes them now: {told}", count, passing=True
        )
    if by_meaning.moving:
        count = sum(by_meaning.moving.values())
        yield Complaint(MOVING, MOVES, "", f"data moves: {groups.told(by_meaning.moving)}", count, passing=True)
    if by_meaning.scrubbed:
        yield Complaint(
            "groups scrubbed", MOVES, "", f"placement groups are scrubbed: {groups.told(by_meaning.scrubbed)}"
        )


def _moved(seen: Seen) -> str:
    """How much is on its way."""
    counts = {"misplaced": seen.misplaced, "missing": seen.degraded, "lost": seen.unfound}
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    speed = f", {seen.rate} objects a second" if seen.rate else ""
    return f"of {seen.copies} copies of objects {told}{speed}" if told else ""


def _check(name: str, check: HealthCheck, amount: int, nouns: Collection[str]) -> Iterator[Complaint]:
    """One of Ceph's checks, but for those that say again what was found; ``amount`` is 2 where clients feel it."""
    says, key = f"{name}: {check.message}", f"check {name}"
    match Meaning.NOT_OURS if check.muted else meaning(name):
        case Meaning.REPEATS:
            if NOUNS[name.partition("_")[0]] not in nouns:
                yield Complaint(key, MOVES, "", f"{says} (a moment ago)", passing=True)
        case Meaning.PASSES:
            yield Complaint(key, MOVES, "", says)
        case Meaning.NOT_OURS:
            told = f"{says}{' (muted)' if check.muted else ''}"
            yield Complaint(key, KNOWN, "", told, 1 if check.muted else amount)
        case Meaning.NEW:
            yield Complaint(key, WRONG, "", says, amount)
