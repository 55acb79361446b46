"""One OSD's key, rotated: a fresh one for the cluster and for the OSD's host, then its restart by Ceph's leave.

Ceph 16 has no command for it (``ceph auth rotate`` came with release 19). The master makes the key, keeps it nowhere,
and tells it by pillar to the two hosts that need it. An OSD that runs does not notice: it has its tickets. Interrupted
anywhere, the same command makes another key for both: that it was begun the monitors keep until the OSD runs with it.
"""

import re
from collections.abc import Mapping
from typing import Any

from proposals.files.site import site
from proposals.pillar import key_store, secrets
from proposals.stages import replies
from proposals.text.errors import ArgumentError, ProposalError
from proposals.text.notes import counted, several
from runners.engine import answer
from runners.engine.asking import jobs, lent, minions, planned
from runners.engine.cluster import daemon_restart, maintained
from runners.engine.runs import one_at_a_time, stage_lock, stage_log

ALL = "osd.*"
NAME = re.compile(r"osd\.(?P<number>[0-9]+)")


def number(name: str) -> int | None:
    """Return the number in an OSD's name such as ``osd.3``; None for any other name."""
    found = NAME.fullmatch(name)
    return int(found["number"]) if found else None


@one_at_a_time.stops_daemons("secret.rotate")
def rotate(opts: Mapping, osd_id: int, test: bool) -> str:
    """Rotate one OSD's key; return what was done. Raises ProposalError where it cannot be, or Ceph gives no leave.

    opts
        The master's options.
    osd_id
        Its number.
    test
        Only say what would be done.
    """
    osd = _osd(opts, osd_id)
    minion = _host(opts, osd)
    _check(opts, osd, minion)
    return _rotated(opts, osd, minion, test)


def _host(opts: Mapping, osd: Mapping[str, Any]) -> str:
    """The minion of an OSD. Raises ProposalError where its host is in maintenance: nothing is started there."""
    minion = planned.minion_of(opts, osd)
    if any(record.minion == minion for record in maintained.records(opts).values()):
        raise ProposalError(f"{minion} is in maintenance: 'salt-run maintenance.end {minion}' first")
    return minion


def _check(opts: Mapping, osd: Mapping[str, Any], minion: str, silent: set[str] | None = None) -> None:
    """Raise ProposalError where an OSD's host cannot give it another key.

    silent
        Minions that did not answer when another OSD of theirs was checked: they are not waited for again.
    """
    if silent and minion in silent:
        raise ProposalError(f"{minion}: {replies.SILENT}")
    try:
        jobs.one(opts, minion, "osd_keyring.check", [osd["id"], osd["fsid"]], bool)
    except ProposalError as err:
        if silent is not None and replies.SILENT in str(err):
            silent.add(minion)
        raise


def _rotated(opts: Mapping, osd: Mapping[str, Any], minion: str, test: bool = False) -> str:
    """What ``rotate`` does with an OSD that is checked."""
    osd_id, name = osd["id"], f"osd.{osd['id']}"
    if osd["up"] and (why := daemon_restart.needed(opts, "osd", [name])):
        raise ProposalError(f"{name}: its key is not rotated, as it cannot be restarted now: {why}")
    if test:
        return f"{name} of {minion} would get a fresh key, in the cluster and on its host, and be restarted"
    stage_log.note(opts, "secret.rotate", "rotates", name=name)
    both = sorted({minion, minions.members(opts)["master"][0]})
    try:
        with lent.lent(opts, both, name, key_store.fresh_key(site(opts))):
            jobs.cluster(opts, "cluster_auth.replace", [name], bool)
            jobs.one(opts, minion, "osd_keyring.write", [osd_id, osd["fsid"]], bool)
    except ProposalError as err:
        raise ProposalError(
            f"{name} of {minion}: {err}; mend that and run 'salt-run secret.rotate {name}' soon: the cluster may "
            "have the new key and the OSD the old one"
        ) from err
    runs, started = osd["up"] or _came_up(opts, osd_id), False
    if runs:
        daemon_restart.restart(opts, "osd", {minion: [name]})
    else:
        started = jobs.one(opts, minion, "osd_keyring.start", [osd_id], bool)
    jobs.cluster(opts, "cluster_auth.replaced", [name], bool)
    if runs:
        return f"{name} of {minion} has a fresh key and was restarted with it"
    now = "was started" if started else f"does not start: see 'journalctl -u ceph-osd@{osd_id}' there"
    return f"{name} of {minion} has a fresh key; it was down and {now}"


def _came_up(opts: Mapping, osd_id: int) -> bool:
    """Whether an OSD that was down runs by now, with the key from before. Raises ProposalError where it may not be
    restarted: Ceph was not asked for its leave.
    """
    name = f"osd.{osd_id}"
    if not _osds(opts).get(osd_id, {}).get("up"):
        return False
    if why := daemon_restart.needed(opts, "osd", [name]):
        raise ProposalError(
            f"{name} was down, came up meanwhile with its old key, and cannot be restarted now: {why}; run 'salt-run "
            f"secret.rotate {name}' again soon"
        )
    return True


@one_at_a_time.stops_daemons("secret.rotate")
def rotate_older(opts: Mapping, test: bool) -> str:
    """Rotate the keys of all OSDs that are of the older cipher, OSD by OSD; return what was done. Interrupted, the same
    goes on with those that are left, the one that was begun among them.

    Arguments as for ``rotate``. Raises ArgumentError where fresh keys would be of that cipher too; ProposalError at the
    first whose rotation fails or has not Ceph's leave, where a stage has begun meanwhile, and at the end where OSDs are
    down, or hosts do not answer.
    """
    if key_store.cipher(site(opts)) == secrets.OLD:
        why = "discovery saw no host whose Ceph knows another"
        if hosts := several(key_store.older_hosts(site(opts))):
            why = f"Ceph on {hosts} knows no other as far as discovery saw"
        raise ArgumentError(
            f"{ALL}: fresh keys would be of the cipher {secrets.OLD} too, as {why}: where that changed "
            "since, run ceph.stage.discovery; 'salt-run secret.rotate osd.3' rotates one all the same"
        )
    known = jobs.cluster(opts, "cluster_auth.older", kind=dict)["older"]
    osds = _osds(opts)  # the cluster may have keys of OSDs that are long gone
    older = sorted(osd_id for osd_id in map(number, known) if osd_id in osds)
    if not older:
        return f"no OSD has a key of the cipher {secrets.OLD}: nothing changed"
    if test:
        names = several([f"osd.{osd_id}" for osd_id in older], "more")
        return f"{names} would get fresh keys, one after the other, and be restarted"
    left: list[str] = []
    silent: set[str] = set()
    for osd_id in older:
        stage_lock.free(opts)  # one may have begun meanwhile: configure forgets the key that hosts are lent
        osd = _osd(opts, osd_id)
        try:
            minion = _host(opts, osd)
            if not osd["up"]:
                raise ProposalError(f"is down: 'salt-run secret.rotate osd.{osd_id}' would start it")
            _check(opts, osd, minion, silent)
        except ProposalError as err:  # nothing of it was changed: the others need not wait for it
            left.append(f"osd.{osd_id}: {err}")
            continue
        answer.tell(opts, _rotated(opts, osd, minion))
    done = f"{counted(len(older) - len(left), 'OSD')} got a fresh key"
    if left:
        raise ProposalError("\n".join([f"{done}, and these did not: mend that, then run it again", *left]))
    return done


def _osds(opts: Mapping) -> dict[int, dict[str, Any]]:
    """What the cluster knows of each OSD that is not destroyed, by its number."""
    return {osd["id"]: osd for osd in jobs.cluster(opts, "cluster_osds.states", kind=list) if osd["fsid"]}


def _osd(opts: Mapping, osd_id: int) -> dict[str, Any]:
    if osd := _osds(opts).get(osd_id):
        return osd
    raise ArgumentError(f"the cluster has no osd.{osd_id}: see 'ceph osd tree'")
