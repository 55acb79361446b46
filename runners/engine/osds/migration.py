"""DB and WAL of OSDs that run, brought to where the served generation plans them: OSD by OSD, each by Ceph's leave.

The host's part is ``osd_migrate``. Only once Ceph's own metadata tells that an OSD runs on its new slots are the old
ones freed.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from proposals.cluster import migrating
from proposals.cluster.health.findings import WRONG, Complaint
from proposals.cluster.health.judge import Verdict
from proposals.files.site import site
from proposals.inventory import kept
from proposals.pillar import adopted
from proposals.stages import replies
from proposals.stages.orchestrations import MOVE, Jobs, named
from proposals.text.errors import ProposalError
from runners.engine import answer
from runners.engine.asking import jobs, minions, planned
from runners.engine.cluster import daemon_restart, health, maintained, spared
from runners.engine.looks import stage_jobs
from runners.engine.runs import one_at_a_time, stage_lock

Found = list[tuple[str, Mapping[str, Any]]]  # minion, and what its ``osd_migrate.inspect`` says of one OSD

SEEN = 60  # seconds until the cluster knows the devices of an OSD that booted
COPY = 3600  # seconds that are waited for what an interrupted run still copies
WAIT = 300  # seconds for a minion to answer; one that still copies is waited for
AGAIN = "mend that, and the same command goes on"
ENDS = "its OSDs are left as they are: 'salt-run maintenance.end {}' first"


def found(opts: Mapping) -> tuple[Found, list[str]]:
    """Return the OSDs that are to move or have begun to, by minion and number, and which hosts could not be asked, or
    are in maintenance: nothing of theirs is touched.
    """
    told = jobs.ask(opts, minions.members(opts)["storage"], "osd_migrate.inspect", kind=list)
    away = {record.minion: record for record in maintained.records(opts).values()}
    left = [f"{each}: {away[each].why}: {ENDS.format(each)}" for each in sorted(away) if told.answers.get(each)]
    osds = [(minion, osd) for minion in sorted(told.answers.keys() - away.keys()) for osd in told.answers[minion]]
    ordered = sorted(osds, key=lambda each: (each[0], each[1]["id"] is None, each[1]["id"]))
    return ordered, [*left, *replies.lines(told.problems)]


def dry(opts: Mapping, osds: Found) -> list[str]:
    """Return what moves how many bytes, and what Ceph says to each OSD's being stopped now."""
    ids = [osd["id"] for _, osd in osds]
    used = jobs.cluster(opts, "cluster_osds.metadata_bytes", [ids], dict) if ids else {}
    lines = []
    for minion, osd in osds:
        lines += migrating.lines(minion, osd, used.get(str(osd["id"])))
        refused = daemon_restart.refusals(opts, "osd", [f"osd.{osd['id']}"])
        lines.append(f"  {migrating.risk(osd['id'], '; '.join(refused))}")
    return lines


@one_at_a_time.stops_daemons("osd.migrate")
def every(opts: Mapping, osds: Found, done: dict[str, list[str]], at_once: int) -> None:
    """Move OSDs host by host, so many of one at once where Ceph lets them stop together; ``done`` gets what was done of
    each, also where the rest fails."""
    if left := stage_jobs.wait(opts, _copies(opts), COPY, partial(_tell, opts)):  # whose noout would go
        raise ProposalError(f"{named(left)} is an interrupted run's: wait until it has copied, then run this again")
    jobs.cluster(opts, "cluster_maintenance.end", kind=list)  # noout of an interrupted run with but slots to free
    rest = list(osds)
    while rest:
        stage_lock.free(opts)  # one may have begun meanwhile: it waits for the copy, and takes noout away
        minion = rest[0][0]
        several = _together(opts, rest, at_once)
        done |= carry_out(opts, minion, several)
        rest = rest[len(several) :]


def _tell(opts: Mapping, copies: str) -> None:
    answer.tell(opts, f"waits for {copies}, which an interrupted run began")


def _copies(opts: Mapping) -> Jobs:
    """Jobs that go on moving OSDs, though the run that began them has ended, by minion."""
    runs = stage_jobs.running(opts, minions.members(opts)["storage"])
    copies = {minion: [run for run in own if run["fun"] == MOVE] for minion, own in runs.items()}
    return {minion: own for minion, own in copies.items() if own}


def _together(opts: Mapping, rest: Found, at_once: int) -> list[Mapping[str, Any]]:
    """The first OSD, and those after it on its host that Ceph lets stop with it."""
    first, *others = (osd for minion, osd in rest if minion == rest[0][0])
    several = [first]
    for osd in others[: at_once - 1]:
        if not all(each["running"] and each["moves"] for each in (*several, osd)):
            break  # what is down already is brought back alone
        if daemon_restart.refusals(opts, "osd", _names((*several, osd))):
            break
        several.append(osd)
    return several


def _names(osds: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"osd.{osd['id']}" for osd in osds]


def carry_out(opts: Mapping, minion: str, osds: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Move OSDs of one host and free what they leave; return what was done of each. Raises ProposalError where it
    cannot be.

    opts
        The master's options.
    minion, osds
        Of ``found``: OSDs that may stop together, or one.
    """
    try:
        now = _seen(opts, minion, osds)
        _begun(opts, minion, now)
        freed = {osd["fsid"]: _freed(opts, minion, osd) for osd in now}
    except ProposalError as err:
        raise ProposalError(f"{', '.join(_names(osds))} of {minion}: {err}; {AGAIN}") from err
    return {
        f"osd.{osd['id']}": [*migrating.lines(minion, osd), *(f"  freed {slot}" for slot in freed.get(osd["fsid"], ()))]
        for osd in osds
    }


def _seen(opts: Mapping, minion: str, osds: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The same OSDs as they are now: it may be hours since they were found. One that is done by now is not among them.

    Raises ProposalError where one cannot be moved any more.
    """
    told = {osd["fsid"]: osd for osd in jobs.one(opts, minion, "osd_migrate.inspect", kind=list)}
    now = [told[osd["fsid"]] for osd in osds if osd["fsid"] in told]
    if refused := [f"osd.{osd['id']}: {osd['refused']}" for osd in now if osd["refused"]]:
        raise ProposalError("; ".join(refused))
    return now


def _begun(opts: Mapping, minion: str, osds: Sequence[Mapping[str, Any]]) -> None:
    """Bring OSDs to their new slots, with Ceph's leave to stop those that run."""
    if any(not osd["running"] and not osd["begun"] for osd in osds):
        raise ProposalError("it does not run, and osd.migrate did not stop it: start it first")
    for osd in osds:
        jobs.one(opts, minion, "osd_migrate.prepare", [osd["fsid"]], list)
    stop = [osd for osd in osds if osd["running"] and osd["moves"]]
    if stop and (why := daemon_restart.needed(opts, "osd", _names(stop))):
        raise ProposalError(f"it cannot be stopped now: {why}")
    if todo := [osd for osd in osds if osd["moves"] or osd["moving"] or not osd["running"]]:
        _moved(opts, minion, todo, stop)


def _freed(opts: Mapping, minion: str, osd: Mapping[str, Any]) -> list[str]:
    """Free the slots that an OSD has left, once Ceph says too that it runs on others."""
    now = _now(opts, minion, osd["fsid"])

    def seen() -> Verdict:
        why = migrating.elsewhere(now["nodes"], jobs.cluster(opts, "cluster_osds.metadata_of", [osd["id"]], dict))
        return Verdict((Complaint("osd elsewhere", WRONG, f"osd.{osd['id']}", why),) if why else ())

    if wrong := health.waited(seen, SEEN).wrong:
        raise ProposalError(f"{wrong[0].says}: its old slots are kept")
    freed: list[str] = jobs.one(opts, minion, "osd_migrate.free", [osd["fsid"]], list)
    return freed


def _moved(opts: Mapping, minion: str, osds: Sequence[Mapping[str, Any]], stop: Sequence[Mapping[str, Any]]) -> None:
    """Let the host move OSDs, of which some may be stopped for it, and wait until they are back."""
    host = kept.load_inventory(site(opts).inventory)["hosts"][minion]["hostname"]
    fsids, may_stop = ([osd["fsid"] for osd in several] for several in (osds, stop))
    with spared.noout(opts, [host], minions.members(opts)["master"][0]):
        first = health.look(opts)
        # Since it was looked at, the job of a run that was killed may have moved one: that one does not boot again.
        boot = jobs.one(opts, minion, MOVE, [fsids, may_stop], list, WAIT)
        daemon_restart.back(opts, {minion: _names([osd for osd in osds if osd["fsid"] in boot])}, first)


def _now(opts: Mapping, minion: str, fsid: str) -> Mapping[str, Any]:
    """What its host says of an OSD that has moved and whose old slots are there yet."""
    told: Sequence[Mapping[str, Any]] = jobs.one(opts, minion, "osd_migrate.inspect", kind=list)
    now = next((osd for osd in told if osd["fsid"] == fsid), None)
    if now is None or now["moves"] or now["moving"] or not now["running"]:
        raise ProposalError("its host does not say that it runs where it is planned")
    return now


def chosen(opts: Mapping, osds: Found, osd_ids: Collection[int]) -> tuple[Found, list[str]]:
    """Return those that are asked for, all without numbers, and what stands against it."""
    wrong = _unknown(opts, sorted(set(osd_ids) - {osd["id"] for _, osd in osds}))
    picked = [(minion, osd) for minion, osd in osds if not osd_ids or osd["id"] in osd_ids]
    wrong += [f"{minion}: {why}" for minion, osd in picked if (why := migrating.unmoved(osd))]
    return [(minion, osd) for minion, osd in picked if not migrating.unmoved(osd)], wrong


def _unknown(opts: Mapping, osd_ids: Sequence[int]) -> list[str]:
    """Why OSDs that were asked for are none that move."""
    if not osd_ids:
        return []
    states = jobs.cluster(opts, "cluster_osds.states", kind=list)
    there, theirs = {osd["id"] for osd in states}, planned.adopted_osds(site(opts))
    for osd in (osd for osd in states if osd["id"] in osd_ids):
        adopted.refuse(theirs, osd["fsid"], "osd.migrate")
    return [
        migrating.STAYS.format(osd_id) if osd_id in there else migrating.NO_OSD.format(osd_id) for osd_id in osd_ids
    ]
