"""``salt-run ceph.*``: a whole cluster."""

from proposals.text import names
from proposals.text.errors import ArgumentError
from runners.engine import adopting, answer, stage_lock, stage_log


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
        Only say what was found, what would be written and what stands against it.

    CLI Example:

    .. code-block:: bash

        salt-run ceph.adopt test=true
        salt-run ceph.adopt
    """
    if type(test) is not bool:
        raise ArgumentError(f"test={names.shown(test)}: expected true or false")
    stage_lock.free(__opts__)
    look = adopting.look(__opts__)
    if look.against:
        return answer.bad("\n".join(["refused, nothing was written:", *look.against, *look.notes]))
    if test:
        return {"text": "\n".join([*look.lines(), *(f"would write {path}" for path in look.missing()), *look.notes])}
    stage_log.note(__opts__, "ceph.adopt", "adopts", fsid=look.cluster.fsid, hosts=len(look.hosts))
    done = adopting.carry_out(look)
    told = "adopted: read policy.cfg, then run ceph.stage.configure" if done else "adopted already: nothing changed"
    text = "\n".join([*look.lines(), *(f"wrote {path}" for path in done), *adopting.lacking(look), *look.notes, told])
    return {"text": text, "changes": {"written": done} if done else {}}
