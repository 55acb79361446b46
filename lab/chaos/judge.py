"""Whether a cluster is whole and as planned, and whether a stage that was struck behaved; it asks nobody.

What was there before a round is no finding of that round; Ceph's checks are compared by name.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.load.judge import Span

SOUND = "active+clean"  # and scrubbed, perhaps
# What Ceph says for long of what is over, or of the machine that all nodes share: no stage makes it, or ends it. The
# slowest heartbeats of 15 minutes, which a cable that was out makes; OSDs that were slow, for an hour
# (mon_osd_laggy_halflife), with which idle clients are called laggy; how full the machine's disk is.
OVER = frozenset({"OSD_SLOW_PING_TIME_BACK", "OSD_SLOW_PING_TIME_FRONT", "MDS_CLIENTS_LAGGY", "MON_DISK_LOW"})
LONGEST = 100  # lines of a traceback: some 30 frames
SELDOM = 4  # seconds for each operation that a client owes where nothing holds it up: at its rate there are 16


@dataclass(frozen=True)
class Look:
    """What Ceph and ``osd.report`` say at one moment."""

    checks: Mapping[str, str]  # of ``ceph health``: name -> message
    groups: Mapping[str, int]  # placement groups by state
    osds: Mapping[str, tuple[int, bool, bool]]  # by uuid: number, up, in
    keys: frozenset[int]  # numbers of the OSDs that have a key
    quorum: frozenset[str]
    managers: int  # active and standby
    metadata: int  # metadata servers, active and standby
    report: Sequence[Mapping[str, Any]]  # of ``osd.report``: each planned OSD
    copies: int = 0  # of objects, and of what was deleted, that are yet to be brought where they belong


def look(status: Mapping[str, Any], dump: Mapping, auth: Mapping, report: Sequence[Mapping[str, Any]]) -> Look:
    """A look, of what ``ceph status``, ``osd dump``, ``auth ls`` and ``osd.report`` answer as JSON."""
    names = [entity for each in auth["auth_dump"] if (entity := each["entity"]).startswith("osd.")]
    return Look(
        checks={name: check["summary"]["message"] for name, check in status["health"]["checks"].items()},
        groups={each["state_name"]: each["count"] for each in status["pgmap"]["pgs_by_state"]},
        osds={osd["uuid"]: (osd["osd"], bool(osd["up"]), bool(osd["in"])) for osd in dump["osds"]},
        keys=frozenset(int(name.removeprefix("osd.")) for name in names),
        quorum=frozenset(status["quorum_names"]),
        managers=status["mgrmap"]["num_standbys"] + bool(status["mgrmap"]["available"]),
        metadata=len(status["fsmap"]["by_rank"]) + status["fsmap"]["up:standby"],
        report=report,
        copies=status["pgmap"].get("degraded_objects", 0) + status["pgmap"].get("misplaced_objects", 0),
    )


def problems(now: Look, before: Look) -> list[str]:
    """What is not whole or not as planned, a sentence each; before: a look from the round's beginning."""
    return [*_osds(now, before), *_cluster(now, before)]


def _osds(now: Look, before: Look) -> Iterator[str]:
    for each in now.report:
        name = f"the OSD of {each['host']} on {each['data']}" if each["id"] is None else f"osd.{each['id']}"
        yield from (f"{name} is not as planned: {problem}" for problem in each["problems"])
        _, up, there = now.osds.get(each["uuid"], (None, False, False))
        if each["uuid"] not in now.osds:
            yield f"{name} is planned, and the cluster has none with its uuid {each['uuid']}"
        elif not (up and there):
            yield f"{name} is {'up' if up else 'down'} and {'in' if there else 'out'}; expected up and in"
    if not now.report:
        yield "osd.report knows no planned OSD"
    known = {each["uuid"] for each in now.report} | before.osds.keys()
    for uuid, (number, _, _) in sorted(now.osds.items()):
        if uuid not in known:
            yield f"osd.{number} ({uuid}) is in the cluster, and nobody planned it"
    numbers = frozenset(number for number, _, _ in now.osds.values())
    if now.keys != numbers:
        yield f"keys of OSDs {sorted(now.keys)} and OSDs {sorted(numbers)} differ"


def _cluster(now: Look, before: Look) -> Iterator[str]:
    unsound = {state: count for state, count in now.groups.items() if not state.startswith(SOUND)}
    if unsound or not now.groups:
        told = ", ".join(f"{count} {state}" for state, count in sorted(unsound.items())) or "none is there"
        yield f"placement groups: {told}; expected all {SOUND}"
    if missing := before.quorum - now.quorum:
        yield f"monitors out of quorum: {', '.join(sorted(missing))}"
    if now.managers < before.managers:
        yield f"{now.managers} managers are active or stand by, {before.managers} did before"
    if now.metadata < before.metadata:
        yield f"{now.metadata} metadata servers are active or stand by, {before.metadata} did before"
    for name, message in sorted(now.checks.items()):
        if name not in before.checks and name not in OVER:
            yield f"{name}: {message}"


def behaved(code: int, said: str, codes: Collection[int], names: str, excused: str = "") -> list[str]:
    """What a stage that was struck did that it must not, a sentence each.

    code, said: its exit status and all that it printed. codes: statuses that it may end with. names: the host that it
    has to name where it fails; empty for none. excused: an error of which Salt's own states print a traceback.
    """
    problems = []
    if code not in codes:
        problems.append(f"the stage ended with status {code}; expected one of {', '.join(map(str, sorted(codes)))}")
    if any(not excused or excused not in each for each in _tracebacks(said)):
        problems.append("the stage printed a traceback")
    if code == 1 and names and names not in said:
        problems.append(f"the stage failed and did not name {names}")
    return problems


def _tracebacks(said: str) -> list[str]:
    """Each traceback, with the lines below it."""
    parts = said.split("Traceback (most recent call last)")[1:]
    return ["\n".join(part.splitlines()[:LONGEST]) for part in parts]


def complete(stage: str, said: str) -> list[str]:
    """What a stage that ended well left out, as it printed it: with everything mended it reaches everything."""
    return [f"ceph.stage.{stage} {line.strip()}" for line in said.splitlines() if "left out:" in line]


def owed(span: Span, longest: float) -> int:
    """Acknowledged operations that each client owes in a span of a round.

    span: from the fault until the stages again have ended; the fault itself may be over before Ceph's limits are, in
    which a client may well wait. longest: seconds that these limits, and the fault, may hold a client up: of a span
    that is no longer, nothing can be asked.
    """
    first, last = span
    return max(0, int((last - first - longest) / SELDOM))
