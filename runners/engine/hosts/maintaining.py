"""A host's way into maintenance and out of it, step by step; each step may be repeated, whatever interrupted it."""

import datetime
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from proposals.cluster import maintained
from proposals.cluster.health import judge
from proposals.cluster.health.findings import WRONG, Complaint
from proposals.cluster.health.seen import Seen
from proposals.cluster.maintained import Record
from proposals.stages import replies
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs
from runners.engine.cluster import health, nfs_ended, spared
from runners.engine.cluster.maintained import Look, refusals
from runners.engine.runs import one_at_a_time, stage_log
from runners.engine.waiting import until_none

LEAVE = 120  # seconds without progress after which Ceph's no stands
HANDOVER = 60  # seconds for another manager to be active
SILENCED = "host_alerts.silence"
AGAIN = (
    "nothing else was stopped; mend that, and the same command goes on, or call it off: 'salt-run maintenance.end {}'"
)
Tell = Callable[[str], None]


@one_at_a_time.stops_daemons("maintenance.begin")
def begin(opts: Mapping, look: Look, without: Collection[str], hours: int, tell: Tell) -> list[str]:
    """Take a host into maintenance; return what is to be known beside. Done before, a step changes nothing.

    opts, look
        The master's options, the host.
    without
        Parts that clients can do without.
    hours
        After which silences end by themselves.
    tell
        Gets a line for each step as it begins.

    Raises ProposalError with what stands against the next step; the same command goes on.
    """
    first, record = health.look(opts), _noted(opts, look)
    tell(f"noout for {look.hostname} alone")
    record = replace(record, noout=tuple(jobs.cluster(opts, "cluster_maintenance.claim", [look.hostname], list)))
    if look.alertmanagers:
        tell("alerts about it are silenced")
    notes = _silence(opts, look, SILENCED, [look.hostname, hours])
    if look.gateways and look.having("rgw-frontend"):
        tell("its gateways get no new request")
        notes += _front(opts, look, "host_haproxy.drain", dict)
    if _hand_over(opts, look):
        tell("another manager is active")
    if why := spared.leave(opts, lambda: refusals(opts, look, without), LEAVE):
        raise ProposalError(f"{look.minion}: {why}; {AGAIN.format(look.minion)}")
    tell(f"{len(record.units)} daemons stop")
    jobs.one(opts, look.minion, "daemons_maintenance.stop", [list(record.units)], list)
    notes += _nfs(opts, look)
    _note(opts, look, record.at(maintained.DOWN))
    return notes + _since(opts, first, record)


def end(opts: Mapping, look: Look, record: Record, gone: bool, tell: Tell) -> list[str]:
    """Take a host out of maintenance; return what is to be known beside. Arguments and errors as for ``begin``.

    gone
        Its host does not come back: nothing is started there.
    """
    _note(opts, look, record.at(maintained.ENDS))
    notes = []
    if not gone:
        seen = health.look(opts)
        before, units = judge.remembered(seen), record.again({osd.id for osd in seen.osds})
        tell(f"{len(units)} daemons start")
        jobs.one(opts, look.minion, "daemons_maintenance.start", [units], list)
        tell("waits until they are back")
        _back(opts, record, before)
        if look.gateways and look.having("rgw-frontend"):
            notes += _front(opts, look, "host_haproxy.ready", list)
    tell(f"noout for {look.hostname} and its silences are taken away")
    notes += _silence(opts, look, "host_alerts.unsilence", [look.hostname])
    jobs.cluster(opts, "cluster_maintenance.forget", [look.hostname], bool)
    return notes


def _noted(opts: Mapping, look: Look) -> Record:
    """Keep the host's record before anything is changed; what ran when it began counts, not what is left of it."""
    units = jobs.one(opts, look.minion, "daemons_maintenance.units", kind=dict)
    running = jobs.one(opts, look.minion, "daemons.running", kind=dict)
    if record := look.record:
        daemons = tuple(sorted({*record.daemons, *running}))
        record = replace(record, units={**units, **record.units}, daemons=daemons).at(maintained.BEGINS)
    else:
        now = datetime.datetime.now().astimezone().isoformat(timespec="minutes")
        user = stage_log.typist(opts)
        record = Record(look.minion, maintained.BEGINS, now, user, units, tuple(sorted(running)))
    _note(opts, look, record)
    return record


def _note(opts: Mapping, look: Look, record: Record) -> None:
    jobs.cluster(opts, "cluster_maintenance.note", [look.hostname, record.as_dict()], bool)


def _silence(opts: Mapping, look: Look, function: str, words: list[Any]) -> list[str]:
    """Ask the Alertmanagers, others first, until one has done it: they tell each other. Return why none has."""
    why = ""
    for minion in look.alertmanagers:
        try:
            jobs.one(opts, minion, function, words, list)
        except ProposalError as err:
            why = str(err)
        else:
            return []
    what = "are not silenced" if function == SILENCED else "may stay silenced until their time is over"
    return [f"alerts about {look.hostname} {what}: {why}"] if why else []


def _front(opts: Mapping, look: Look, function: str, kind: type) -> list[str]:
    """Tell every HAProxy about the host's gateways; what one did not do is its health check's to see."""
    told = jobs.ask(opts, look.having("rgw-frontend"), function, [look.gateways], kind, timeout=120)
    notes = [f"{line}; its health check sees it by itself" for line in replies.lines(told.problems)]
    if kind is not dict:
        return notes
    left = [(minion, name, count) for minion, answer in told.answers.items() for name, count in answer.items() if count]
    return notes + [
        f"{minion}: {name} has {count} requests under way, which it ends itself" for minion, name, count in left
    ]


def _nfs(opts: Mapping, look: Look) -> list[str]:
    """Let nobody wait for the host's NFS server, where it has one, nor for that one's clients."""
    told = look.hosts[look.minion]["parts"].get("ganesha")
    if told is None:
        return []
    same = [minion for minion in look.having("ganesha") if _namespace(look, minion) == told["grace"]["namespace"]]
    return nfs_ended.release(opts, look.minion, look.hostname, told, bool(same))


def _namespace(look: Look, minion: str) -> str:
    """The cluster of a host's NFS server."""
    return str(look.hosts[minion]["parts"]["ganesha"]["grace"]["namespace"])


def _hand_over(opts: Mapping, look: Look) -> bool:
    """Let another manager be the active one; return whether that was needed."""

    def known() -> dict[str, Any]:
        told: dict[str, Any] = jobs.cluster(opts, "cluster_maintenance.managers", kind=dict)
        return told

    def waits() -> bool:
        now = known()
        return now["active"] == look.hostname or not now["available"]

    if known()["active"] != look.hostname:
        return False
    jobs.cluster(opts, "cluster_crush.apply", [[["mgr", "fail", look.hostname]]])
    if until_none(waits, HANDOVER, 2):
        raise ProposalError(f"no other manager became active: see 'ceph mgr stat'; {AGAIN.format(look.minion)}")
    return True


def _since(opts: Mapping, first: Seen, record: Record) -> list[str]:
    """What is wrong since a host's daemons stopped, beside that; waited for as always."""
    before, excused = judge.remembered(first), maintained.excused([record])
    verdict = health.waited(lambda: health.judged(opts, before=before, excused=excused))
    return [f"since then: {line}" for line in judge.lines(verdict.wrong)]


def _back(opts: Mapping, record: Record, before: judge.Before) -> None:
    """Wait until the daemons that ran are back and nothing new is wrong. Raises ProposalError."""
    if wrong := health.since(opts, before, lambda now: _lacking(opts, record, now)).wrong:
        raise ProposalError(
            f"{record.minion}: started, and since then: {'; '.join(judge.lines(wrong))}; its noout is kept: mend that "
            "and run it again"
        )


def _lacking(opts: Mapping, record: Record, now: Seen) -> list[Complaint]:
    """The daemons that ran and do not: by their host's word, and by the cluster's."""
    here = jobs.one(opts, record.minion, "daemons.running", kind=dict)
    osds = {f"osd.{osd.id}": osd.up for osd in now.osds}  # not those that were given up meanwhile
    daemons = [name for name in record.daemons if name in osds or not name.startswith("osd.")]
    up = {name for name in daemons if osds.get(name) or name in now.running or name.startswith("client.")}
    lacking = sorted(name for name in daemons if name not in here or name not in up)
    return [Complaint(f"runs {name}", WRONG, name, "is not back") for name in lacking]
