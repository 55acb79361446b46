"""The judge of a running cluster: what is wrong, what moves, what was known before.

Every stage and command that asks whether a cluster is well asks here. Nothing here asks a minion or opens a file.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from proposals.cluster.health import findings
from proposals.cluster.health.findings import KNOWN, LACKING, MOVES, WRONG, Complaint, Plan, found
from proposals.cluster.health.seen import Seen
from proposals.text.glance import ranged
from proposals.text.notes import FEW, several

Before = Mapping[str, int]  # what a look found, by key, with its amount; and ``runs NAME`` for each daemon
RUNS = "runs "


@dataclass(frozen=True)
class Verdict:
    """What a look at a cluster says."""

    wrong: tuple[Complaint, ...] = ()
    moves: tuple[Complaint, ...] = ()
    known: tuple[Complaint, ...] = ()


def judge(seen: Seen, plan: Plan | None = None, before: Before | None = None, excused: Collection[str] = ()) -> Verdict:
    """Return what is wrong with a cluster, what moves, and what was known before.

    plan
        What is to run; without it, what the cluster itself knows.
    before
        What ``remembered`` returned before something was changed. Empty: there was no cluster, so all that is wrong
        was made since. None: nobody looked: Ceph's warnings count as known, its errors as wrong, whoever makes them.
    excused
        Daemons whose hosts are in maintenance: that they are down is known.
    """
    verdict: dict[str, list[Complaint]] = {WRONG: [], MOVES: [], KNOWN: []}
    for finding in (*found(seen, plan, excused), *_gone(seen, plan, before or {})):
        verdict[KNOWN if finding.who in excused else _kind(finding, before)].append(finding)
    return Verdict(*map(tuple, verdict.values()))


def of_groups(states: Mapping[str, int]) -> Verdict:
    """Return the verdict on some placement groups alone, such as a pool's; ``states`` as ``ceph`` counts them."""
    kinds = (WRONG, MOVES)
    return Verdict(
        *(tuple(finding for finding in findings.of_groups(states) if finding.kind == kind) for kind in kinds)
    )


def remembered(seen: Seen, plan: Plan | None = None) -> dict[str, int]:
    """Return what a look finds, as ``before`` of a later one."""
    runs = {f"{RUNS}{name}": 1 for name in seen.running}
    return runs | {finding.key: finding.amount for finding in found(seen, plan)}


def unreachable(why: str) -> Verdict:
    """Return the verdict on a cluster that does not answer."""
    return Verdict(wrong=(Complaint("answer", WRONG, "", why, strict=True),))


def lines(told: Iterable[Complaint], every: bool = False) -> list[str]:
    """Return findings as a person reads them: ``osd.3, osd.4 of node2: down``; what is said of more than ``FEW`` hosts
    is one line.

    every
        A line for each host and every name, however many there are: for a program.
    """
    found = list(told)
    if not every:
        found = _of_many(_alike(found))
    named: dict[tuple[str, str], list[str]] = {}
    for finding in found:
        named.setdefault((finding.where, finding.says), []).append(finding.who)
    return [
        f"{', '.join(names) if every else several(names, 'others')}{f' of {where}' if where else ''}: {says}"
        if any(names)
        else says
        for (where, says), names in named.items()
    ]


def _alike(found: Sequence[Complaint]) -> list[Complaint]:
    """Hosts that lack OSDs say the same where they lack more than ``FEW`` different numbers of them."""
    lacking = dict.fromkeys(finding.says for finding in found if finding.key.startswith(LACKING))
    if len(lacking) <= FEW:
        return list(found)
    same = ranged(list(lacking)) or ""
    return [replace(finding, says=same) if finding.key.startswith(LACKING) else finding for finding in found]


def _of_many(found: Sequence[Complaint]) -> list[Complaint]:
    """Findings that say the same of more than ``FEW`` hosts are of all of these."""
    hosts: dict[str, dict[str, None]] = {}
    for finding in found:
        hosts.setdefault(finding.says, {})[finding.where] = None
    many = {says: several(list(wheres)) for says, wheres in hosts.items() if len(wheres) > FEW}
    return [replace(finding, where=many.get(finding.says, finding.where)) for finding in found]


def _kind(finding: Complaint, before: Before | None) -> str:
    """What a finding is, beside what was there before."""
    if before is None and finding.kind != MOVES and finding.key.startswith("check "):
        return KNOWN if finding.amount == 1 else WRONG
    if finding.kind != WRONG or finding.strict:
        return finding.kind
    if before is None:
        return WRONG
    return KNOWN if finding.amount <= before.get(finding.key, 0) else WRONG


def _gone(seen: Seen, plan: Plan | None, before: Before) -> Iterator[Complaint]:
    """Daemons that ran before and do not now, but for those that the plan names already."""
    named = plan.daemons if plan else {}
    for key in sorted(before):
        name = key.removeprefix(RUNS)
        if name != key and name not in seen.running and name not in named:
            yield Complaint(f"{name[:3]} {name}", WRONG, name, "ran before, and does not now", strict=True)
