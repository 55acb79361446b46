"""DB and WAL of OSDs that run, brought to where the served generation plans them: OSD by OSD, each by Ceph's leave.

The host's part is ``osd_migrate``. Only once Ceph's own metadata tells that an OSD runs on its new slots are the old
ones freed.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from proposals.cluster import migrating
from proposals.files.site import site
from proposals.inventory import kept
from proposals.stages import replies
from proposals.text.errors import ProposalError
from runners.engine import daemon_restart, health, jobs, minions, spared, stage_lock

Found = list[tuple[str, Mapping[str, Any]]]  # minion, and what its ``osd_migrate.inspect`` says of one OSD

WAIT = 300  # seconds for a minion to answer; one that still copies is waited for
AGAIN = "mend that, and the same command goes on"


def found(opts: Mapping) -> tuple[Found, list[str]]:
    """Return the OSDs that are to move or have begun to, by minion and number, and what hosts could not be asked."""
    told = jobs.ask(opts, minions.members(opts)["storage"], "osd_migrate.inspect", kind=list)
    osds = [(minion, osd) for minion in sorted(told.answers) for osd in told.answers[minion]]
    return sorted(osds, key=lambda each: (each[0], each[1]["id"] is None, each[1]["id"])), replies.lines(told.problems)


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


def every(opts: Mapping, osds: Found, done: dict[str, list[str]]) -> None:
    """Move OSDs one after the other; ``done`` gets what was done of each, also where the rest fails."""
    jobs.cluster(opts, "cluster_maintenance.end", kind=list)  # noout of an interrupted run that had but slots to free
    for minion, osd in osds:
        stage_lock.free(opts)  # one may have begun meanwhile: it waits for the copy, and takes noout away
        done[f"osd.{osd['id']}"] = carry_out(opts, minion, osd)


def carry_out(opts: Mapping, minion: str, osd: Mapping[str, Any]) -> list[str]:
    """Move one OSD's parts and free what they leave; return what was done. Raises ProposalError where it cannot be.

    opts
        The master's options.
    minion, osd
        One of ``found``.
    """
    name, fsid = f"osd.{osd['id']}", osd["fsid"]
    try:
        if not osd["running"] and not osd["begun"]:
            raise ProposalError("it does not run, and osd.migrate did not stop it: start it first")
        jobs.one(opts, minion, "osd_migrate.prepare", [fsid], list)
        if osd["running"] and osd["moves"] and (why := daemon_restart.needed(opts, "osd", [name])):
            raise ProposalError(f"it cannot be stopped now: {why}")
        if osd["moves"] or osd["moving"] or not osd["running"]:
            _moved(opts, minion, name, fsid)
        now = _now(opts, minion, fsid)
        if why := migrating.elsewhere(now["nodes"], _metadata(opts, osd["id"])):
            raise ProposalError(f"{why}: its old slots are kept")
        freed = jobs.one(opts, minion, "osd_migrate.free", [fsid], list)
    except ProposalError as err:
        raise ProposalError(f"{name} of {minion}: {err}; {AGAIN}") from err
    return [*migrating.lines(minion, osd), *(f"  freed {slot}" for slot in freed)]


def _moved(opts: Mapping, minion: str, name: str, fsid: str) -> None:
    """Let the host move an OSD, and wait until it is back."""
    host = kept.load_inventory(site(opts).inventory)["hosts"][minion]["hostname"]
    with spared.noout(opts, host, minions.members(opts)["master"][0]):
        first = health.look(opts)
        jobs.one(opts, minion, "osd_migrate.move", [fsid], dict, WAIT)
        daemon_restart.back(opts, minion, [name], first)


def _now(opts: Mapping, minion: str, fsid: str) -> Mapping[str, Any]:
    """What its host says of an OSD that has moved and whose old slots are there yet."""
    told: Sequence[Mapping[str, Any]] = jobs.one(opts, minion, "osd_migrate.inspect", kind=list)
    now = next((osd for osd in told if osd["fsid"] == fsid), None)
    if now is None or now["moves"] or now["moving"] or not now["running"]:
        raise ProposalError("its host does not say that it runs where it is planned")
    return now


def _metadata(opts: Mapping, osd_id: int) -> Mapping[str, str]:
    told = jobs.cluster(opts, "cluster_osds.metadata", kind=list)
    return next((each for each in told if each["id"] == osd_id), {})


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
    there = {osd["id"] for osd in jobs.cluster(opts, "cluster_osds.states", kind=list)}
    return [
        migrating.STAYS.format(osd_id) if osd_id in there else migrating.NO_OSD.format(osd_id) for osd_id in osd_ids
    ]
