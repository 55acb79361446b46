"""A cluster taken apart, step by step; each step may be repeated, whatever interrupted it.

The record lies on the master: the monitors, which keep that of every other change, go away themselves. A step is noted
before it begins, so what is noted as ``begun`` has stopped nothing.
"""

import datetime
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from proposals.cluster import wiping
from proposals.cluster.purge import disks, record
from proposals.cluster.purge.disks import Disk
from proposals.cluster.purge.record import Record
from proposals.files import atomic
from proposals.files.site import site
from proposals.inventory import kept as inventory
from proposals.pillar import retiring
from proposals.stages import replies
from proposals.stages.replies import Replies
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs
from runners.engine.removal import purge_look
from runners.engine.removal.purge_look import Look
from runners.engine.runs import stage_lock, stage_log

LIMIT = 900  # seconds for a host's daemons to end
INSPECT, WIPE = "disks_wipe.inspect", "disks_wipe.wipe"
AGAIN = "mend that, and 'salt-run ceph.purge fsid={}' goes on (after 'salt-run ceph.disengage')"
Tell = Callable[[str], None]


def kept(opts: Mapping) -> Record | None:
    """Return the record of the cluster that is being taken apart; None where none is. Raises StoreError."""
    return _read(site(opts).purge)


def ended(opts: Mapping, fsid: str) -> Record | None:
    """Return the record of a cluster that was taken apart; None where there is none. Raises StoreError."""
    return _read(_archived(opts, fsid))


def begin(opts: Mapping, look: Look) -> Record:
    """Note that a cluster is taken apart, before anything is stopped. Raises ProposalError where a stage is running."""
    now = datetime.datetime.now().astimezone().isoformat(timespec="minutes")
    user = stage_log.typist(opts)
    found = {minion: look.disks[minion] for minion in look.hosts if minion in look.disks}
    others = {each for seen in look.seen.values() for each in disks.others(seen, look.fsid)}
    begun = Record(look.fsid, now, user, record.BEGUN, look.hosts, look.left, found, tuple(sorted(others)))
    _note(opts, begun)
    try:  # one that began meanwhile has not seen the record
        stage_lock.free(opts, purge=False)
    except ProposalError:
        forget(opts)
        raise
    return begun


def place(opts: Mapping, fsid: str) -> Path:
    """Return where the record lies of a cluster that is being taken apart, or was."""
    return path if (path := site(opts).purge).exists() else _archived(opts, fsid)


def forget(opts: Mapping) -> None:
    """Take the record away of a cluster of which nothing was stopped."""
    atomic.remove(site(opts).purge)


def carry_out(opts: Mapping, begun: Record, wipe: bool, tell: Tell) -> list[str]:
    """Take a cluster apart from the step on that was begun last; return what is to be known beside.

    opts, begun
        The master's options, the record.
    wipe
        Whether its disks are wiped.
    tell
        Gets a line for each step as it begins.

    Raises ProposalError with what stands against the next step; the same command goes on.
    """
    notes = []
    first = max(1, record.STEPS.index(begun.step))
    for step in record.STEPS[first:]:
        if step == record.WIPE and not wipe:
            continue
        begun = begun.at(step)
        _note(opts, begun)
        if step in record.STOPS:
            _stop(opts, begun, step, tell)
        elif step == record.RELEASE:
            tell("disks are let go of")
            _sure(begun, jobs.ask(opts, list(begun.hosts), "osd_purge.release", [begun.fsid], list, timeout=LIMIT))
        elif step == record.WIPE:
            begun = _wipe(opts, begun, site(opts).purge, tell)
        elif step == record.FILES:
            tell("keyrings, folders and ceph.conf are removed")
            _sure(begun, _told(opts, begun, list(begun.hosts), "daemons_purge.remove"))
        else:
            notes += _archive(opts, begun, tell)
    return notes


def wipe_later(opts: Mapping, begun: Record, tell: Tell) -> None:
    """Wipe the disks of a cluster that was taken apart before. Arguments and errors as for ``carry_out``."""
    path = _archived(opts, begun.fsid)
    _write(path, begun)
    _write(path, _wipe(opts, begun, path, tell))


def _stop(opts: Mapping, begun: Record, step: str, tell: Tell) -> None:
    """Stop one kind of daemons on all hosts, side by side."""
    parts = {minion: record.parts(host, step) for minion, host in begun.hosts.items()}
    asked = [minion for minion, listed in parts.items() if listed or step == "osd"]
    if not asked:
        return
    tell(f"{step if step == 'services' else f'{step} daemons'} stop on {len(asked)} hosts")
    if step == "osd":
        _sure(begun, jobs.ask(opts, asked, "osd_purge.stop", [begun.fsid], list, timeout=LIMIT))
    else:
        _sure(begun, _told(opts, begun, asked, "daemons_purge.stop", parts))


def _told(opts: Mapping, begun: Record, asked: Collection[str], function: str, *more: Mapping[str, Any]) -> Replies:
    """What hosts answer that are told what was theirs, and of ``more`` what is."""
    keys = purge_look.keys(opts)

    def words(own: Mapping[str, Any]) -> list[Any]:
        return [begun.fsid, own, keys, *({minion: each[minion] for minion in own} for each in more)]

    return jobs.ask_own(opts, purge_look.said(begun.hosts, asked), function, words, list, timeout=LIMIT)


def _sure(begun: Record, done: Replies) -> None:
    """Raise ProposalError that names the hosts that did not do a step."""
    if done.problems:
        silent = sorted(problem.minion for problem in done.problems if problem.silent)
        leave = f"; a host that is gone, or is to keep what it has: add left={','.join(silent)}" if silent else ""
        lines = [*replies.lines(done.problems), f"{AGAIN.format(begun.fsid)}{leave}"]
        raise ProposalError("\n".join(lines))


def _wipe(opts: Mapping, begun: Record, path: Path, tell: Tell) -> Record:
    """Wipe the disks that are not wiped yet, one after the other; what one refuses holds back no other. A host that
    does not answer is asked once: for each of its disks it would be waited for as long.

    Each one that is wiped is a line beside the record: that has thousands of disks, and is not written for each.
    """
    against, wiped, silent = [], [], set()
    shared = _seen_by(opts, begun.left)
    for minion, disk in begun.whole:
        try:
            if minion in silent:
                raise ProposalError(replies.SILENT)
            if other := shared.get(disk.id):
                raise ProposalError(f"is not wiped: {other}, which is left as it is, sees it too, and may use it")
            _wipe_one(opts, begun.fsid, minion, disk)
        except ProposalError as err:
            if replies.SILENT in str(err):
                silent.add(minion)
            against.append(f"{minion} {disk.id}: {err}")
            continue
        tell(f"{minion} {disk.id} serial {disk.serial} is wiped")
        wiped.append(record.key(minion, disk))
        atomic.append(_wiped(path, begun.fsid), wiped[-1], mode=0o600)
    if against:
        again = f"{AGAIN.format(begun.fsid)}, with wipe=true; without it these disks stay as they are"
        raise ProposalError("\n".join([*against, again]))
    return replace(begun, wiped=(*begun.wiped, *wiped))


def _seen_by(opts: Mapping, left: Collection[str]) -> dict[str, str]:
    """Hosts that are left as they are, by the stable names of the disks that discovery saw there."""
    hosts = inventory.stored(site(opts).inventory, left, ())
    seen = [(str(disk.get("id")), minion) for minion, host in hosts.items() for disk in host["ceph_disks"]]
    return {name: minion for name, minion in seen if name.startswith("/dev/disk/by-id/")}


def _wipe_one(opts: Mapping, fsid: str, minion: str, disk: Disk) -> None:
    seen = jobs.one(opts, minion, INSPECT, [disk.id], kind=dict)
    # Its OSDs are known to no cluster any more.
    refused = wiping.refusals(seen, disk.serial, [], fsid) or disks.changed(disk, seen, fsid)
    if refused:
        raise ProposalError(f"is not wiped: {'; '.join(refused)}")
    stage_log.note(opts, "ceph.purge", "wipe", host=minion, disk=seen)
    jobs.one(opts, minion, WIPE, [disk.id, seen])
    stage_log.note(opts, "ceph.purge", "wiped", host=minion, device=disk.id, serial=disk.serial)


def _archive(opts: Mapping, begun: Record, tell: Tell) -> list[str]:
    """Lay aside what the master kept of the cluster; the record goes last."""
    paths = site(opts)
    tell(f"what the master kept is laid aside in {paths.purged / begun.fsid}")
    retiring.archive(paths, begun.fsid, str(uuid.uuid4()))
    told = jobs.ask(opts, list(begun.hosts), "saltutil.refresh_pillar", jobs.REFRESH, object)
    notes = [f"{line}; its pillar is fresh when it is started again" for line in replies.lines(told.problems)]
    atomic.move(paths.purge, _archived(opts, begun.fsid))
    return notes + retiring.kept(paths, begun.fsid)


def _archived(opts: Mapping, fsid: str) -> Path:
    return site(opts).purged / fsid / retiring.RECORD


def _note(opts: Mapping, begun: Record) -> None:
    _write(site(opts).purge, begun)
    stage_log.note(opts, "ceph.purge", begun.step, fsid=begun.fsid)


def _read(path: Path) -> Record | None:
    """A record with the disks that were wiped since it was written; None where there is none."""
    if not path.exists():
        return None
    begun = record.read(atomic.read_text(path), str(path))
    lines = _wiped(path, begun.fsid)
    return begun.since_then(atomic.read_text(lines)) if lines.exists() else begun


def _write(path: Path, begun: Record) -> None:
    """A record with all disks that were wiped; only then the lines beside it go."""
    atomic.write(path, begun.text(), mode=0o600)
    atomic.remove(_wiped(path, begun.fsid))


def _wiped(path: Path, fsid: str) -> Path:
    """Where the disks stand that were wiped since a record was written."""
    return path.with_name(f"purge-{fsid}.wiped")
