"""``salt-run ceph.*``: a whole cluster, taken in or taken apart."""

from functools import partial

from proposals.cluster.purge import against, record, told
from proposals.cluster.purge.record import Record
from proposals.files.site import site
from proposals.pillar import retiring
from proposals.text import names
from proposals.text.errors import ProposalError
from runners.engine import answer
from runners.engine.asking import minions
from runners.engine.cluster import adopting
from runners.engine.master import disengaged
from runners.engine.removal import purge_look, purging
from runners.engine.runs import one_at_a_time, stage_lock, stage_log


@answer.answers
def adopt(test: bool = False) -> answer.Output:
    """Take in a cluster that was made by hand, by DeepSea, ceph-ansible or ceph-deploy; no daemon notices it.

    Hosts and one monitor are asked, nothing is written there. On the master are written: the keys that deploy gives
    hosts, fragments of ceph.conf, ``proposals/adopted/`` with each host's record, and policy.cfg where there is none.
    With these the stages change nothing of the cluster. OSDs keep the form that they have; what no stage looks after is
    named. Refused, with nothing written: daemons in containers, a second cluster on a host, monitors of another
    name than their host's, a master that has other keys. Run ceph.stage.prep and ceph.stage.discovery before.
    Interrupted, the same command goes on.

    test
        Only say what was found, what would be written, how what is there differs from it, what stands against it.

    CLI Example:

    .. code-block:: bash

        salt-run ceph.adopt test=true
        salt-run ceph.adopt
    """
    stage_lock.free(__opts__)
    look = adopting.look(__opts__)
    if look.against:
        return answer.bad("\n".join(["refused, nothing was written:", *look.against, *look.notes]))
    if test:
        would = [*(f"would write {path}" for path in look.missing()), *adopting.differing(look)]
        return {"text": "\n".join([*look.lines(), *would, *look.notes])}
    stage_log.note(__opts__, "ceph.adopt", "adopts", fsid=look.cluster.fsid, hosts=len(look.hosts))
    with one_at_a_time.alone(__opts__, "ceph.adopt", one_at_a_time.KEYS):
        done = adopting.carry_out(look)
    end = "adopted: read policy.cfg, then run ceph.stage.configure" if done else "adopted already: nothing changed"
    text = "\n".join([*look.lines(), *(f"wrote {path}" for path in done), *adopting.lacking(look), *look.notes, end])
    return {"text": text, "changes": {"written": done} if done else {}}


@answer.answers
def disengage() -> answer.Output:
    """Disengage the safety for a minute, for one ``ceph.purge`` that is typed within it.

    CLI Example:

    .. code-block:: bash

        salt-run ceph.disengage
    """
    disengaged.disengage(__opts__, str(__opts__.get("user")))
    return {"text": f"the safety is disengaged for {disengaged.SECONDS} s; 'salt-run ceph.engage' engages it again"}


@answer.answers
def engage() -> answer.Output:
    """Engage the safety again, and call a purge off that has not stopped anything yet.

    CLI Example:

    .. code-block:: bash

        salt-run ceph.engage
    """
    disengaged.engage(__opts__)
    with one_at_a_time.alone(__opts__, "ceph.purge"):
        begun = purging.kept(__opts__)
        if begun is None:
            return {"text": "the safety is engaged"}
        if begun.step != record.BEGUN:
            return answer.bad(
                f"the safety is engaged; cluster {begun.fsid} is being taken apart since {begun.since}, and daemons "
                "were stopped: that is not called off"
            )
        purging.forget(__opts__)
    return {"text": f"the safety is engaged, and the purge of {begun.fsid} is called off: nothing was stopped"}


@answer.answers
def purge(
    fsid: str,
    wipe: bool = False,
    despite: str | None = None,
    left: str | None = None,
    test: bool = False,
) -> answer.Output:
    """Take the cluster apart: its daemons are stopped in order, its keys, folders and settings removed, on every host.

    Services stop first, then metadata servers, managers, OSDs, monitors. Nothing is touched that does not prove to be
    this cluster's: another one's daemons, disks and keyrings stay, and are named. What the master served and its keys
    are laid aside in ``purged/FSID``, and the next cluster gets another fsid. Interrupted at any moment, the same
    command goes on; until the first daemon was stopped, ``ceph.engage`` calls it off. Refused, with nothing changed,
    unless the safety was disengaged within the last minute (``ceph.disengage``).

    fsid
        The cluster's, as ``ceph fsid`` prints it.
    wipe
        ``true``: wipe the disks of its OSDs, disk by disk; without it they stay as they are. Typed again after the end
        it wipes those that stayed.
    despite
        What is lost knowingly: ``clients`` that are connected, ``data`` in pools, or ``clients,data``.
    left
        Minions that do not answer and are left as they are, with commas between.
    test
        Only say what would go, host by host, and what stands against it. Of more than ten hosts it says how many of
        what; ``--out json`` names each.

    CLI Example:

    .. code-block:: bash

        salt-run ceph.purge fsid=11111111-1111-4111-8111-111111111111 test=true
        salt-run ceph.disengage
        salt-run ceph.purge fsid=11111111-1111-4111-8111-111111111111 wipe=true despite=data
    """
    fsid, lost = against.fsid(fsid), against.words("despite", despite, against.DESPITE)
    away = against.words("left", left)
    with one_at_a_time.alone(__opts__, "ceph.purge"):
        stage_lock.free(__opts__, purge=False)
        begun = _begun(fsid)
        if begun is None and (past := purging.ended(__opts__, fsid)):
            return _later(past, wipe, test)
        if not test:
            disengaged.take(__opts__)
        if begun is None or begun.step == record.BEGUN:
            look = purge_look.at(__opts__, fsid, lost, away)
            if test:
                return _dry(look, wipe)
            if look.against:
                return answer.bad("\n".join(["refused, nothing was changed:", *look.against]))
            begun = purging.begin(__opts__, look)
        elif test:
            return {"text": "\n".join(told.rest(begun, wipe, purging.place(__opts__, fsid)))}
        elif wrong := sorted(away - begun.hosts.keys() - set(begun.left)):
            return answer.bad(f"left={names.shown(wrong[0])}: no host of this cluster is called so")
        else:
            begun = begun.without(away)
        notes = purging.carry_out(__opts__, begun, wipe, partial(answer.tell, __opts__))
    stayed = [] if wipe else told.stayed(begun, purging.place(__opts__, fsid))
    done = f"cluster {fsid} is taken apart: what was kept of it lies in {site(__opts__).purged / fsid}"
    again = "a new cluster begins with 'salt-run state.orch ceph.stage.prep'"
    return {"text": "\n".join([done, *stayed, *notes, again]), "changes": {"cluster": f"{fsid} is taken apart"}}


def _begun(fsid: str) -> Record | None:
    """The purge that is under way; raises where the fsid is neither its cluster's nor that of the one served."""
    begun = purging.kept(__opts__)
    if begun and begun.fsid != fsid:
        raise ProposalError(f"cluster {begun.fsid} is being taken apart, typed was {fsid}: nothing was changed")
    served = retiring.served_fsid(site(__opts__), minions.pillar(__opts__))
    if begun is None and served not in (None, fsid):
        raise ProposalError(f"the cluster that is served has fsid {served}, typed was {fsid}: nothing was changed")
    if begun is None and served is None and not purging.ended(__opts__, fsid):
        raise ProposalError("no cluster is served: there is nothing to take apart")
    return begun


def _dry(look: purge_look.Look, wipe: bool) -> answer.Output:
    text, data = "\n".join(look.lines(wipe)), told.data(look.plan(wipe))
    if look.against:
        return {**answer.bad("\n".join([text, "would be refused:", *look.against])), **data}
    return {"text": f"{text}\nnothing stands against it; nothing was changed", **data}


def _later(past: Record, wipe: bool, test: bool) -> answer.Output:
    """Disks of a cluster that was taken apart before."""
    path = purging.place(__opts__, past.fsid)
    if not wipe or not past.whole:
        stayed = told.stayed(past, path)
        return {"text": "\n".join([f"cluster {past.fsid} is taken apart already: nothing changed", *stayed])}
    if test:
        return {"text": "\n".join(told.disks(past, path))}
    disengaged.take(__opts__)
    purging.wipe_later(__opts__, past, partial(answer.tell, __opts__))
    looks = "'salt-run state.orch ceph.stage.discovery' looks at them"
    return {"text": f"the disks of cluster {past.fsid} are wiped: {looks}"}
