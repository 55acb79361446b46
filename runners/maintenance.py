"""``salt-run maintenance.*``: a host taken out of a running cluster for a while, and back."""

from proposals.cluster import maintained
from runners.engine import answer
from runners.engine.asking import jobs, minions
from runners.engine.cluster import maintained as hosts
from runners.engine.hosts import maintaining
from runners.engine.runs import stage_lock, stage_log


@answer.answers
def begin(host: str, without: str | None = None, hours: int = 4, test: bool = False) -> answer.Output:
    """Take a host into maintenance: its daemons are stopped and stay so, also over a reboot, until maintenance.end.

    Refused, with nothing changed, where Ceph says no (ok-to-stop of its monitor, OSDs, metadata server), where no other
    manager runs, or where no other host runs what its clients reach. Then: ``noout`` for this host alone, its alerts
    silenced, its gateways out of their balancer, its manager's place handed over, its daemons stopped. The cluster
    itself keeps who is in maintenance: stages name these hosts and leave them alone. Of a second host Ceph decides.
    Interrupted at any moment, the same command goes on.

    host
        Its minion's id.
    without
        What its clients can do without meanwhile, where no other host has it: some of ``rgw``, ``rgw-frontend``,
        ``ganesha``, ``igw``, ``mds``, with commas between.
    hours
        After which silences end by themselves, 1 to 168.
    test
        Only say what would be done, and what stands against it.

    CLI Example:

    .. code-block:: bash

        salt-run maintenance.begin osdnode1 test=true
        salt-run maintenance.begin osdnode1
        salt-run maintenance.begin osdnode1 without=ganesha hours=8
    """
    stage_lock.free(__opts__)
    spared, lasting, look = maintained.without(without), maintained.hours(hours), hosts.at(__opts__, host)
    if look.record and look.record.state == maintained.DOWN:
        return {"text": "\n".join([*maintained.lines({host: look.record}), "nothing changed"])}
    if against := hosts.against(__opts__, look, spared):
        return answer.bad("\n".join([f"{host}: refused, nothing was changed:", *against]))
    if (look.record is None or test) and (refused := hosts.needed(__opts__, look, spared)):
        return answer.bad("\n".join([f"{host}: refused, nothing was changed: Ceph needs it now:", *refused]))
    if test:
        units = jobs.one(__opts__, look.minion, "daemons_maintenance.units", kind=dict)
        would = f"{host}: would be in maintenance: Ceph allows it; would stop {', '.join(units) or 'nothing'}"
        return {"text": "\n".join([would, *maintained.lines(look.records)])}
    with hosts.held(__opts__, look, "maintenance.begin") as look:
        stage_log.note(__opts__, "maintenance.begin", "begins", host=look.hostname)
        notes = maintaining.begin(__opts__, look, spared, lasting, _tell(host))
    done = f"{host} is in maintenance: 'salt-run maintenance.end {host}' ends it"
    return {"text": "\n".join([done, *notes]), "changes": {host: "in maintenance"}}


@answer.answers
def end(host: str, gone: bool = False, test: bool = False) -> answer.Output:
    """Take a host out of maintenance: its daemons start, and are waited for; then noout and silences are taken away.

    Where its daemons do not come back, or something new is wrong, it stays in maintenance and keeps its ``noout``.
    Interrupted, the same command goes on.

    host
        Its minion's id.
    gone
        It does not come back: only ``noout``, silences and the record are taken away. Refused while it answers.
    test
        Only say what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run maintenance.end osdnode1
    """
    stage_lock.free(__opts__)
    look = hosts.at(__opts__, host)
    if (record := look.record) is None:
        return {"text": f"{host} is not in maintenance: nothing changed"}
    if gone and jobs.ask(__opts__, [look.minion], "test.ping", kind=bool).answers:
        return answer.bad(f"gone=true: {host} answers, so it is not gone: leave gone= out; nothing was changed")
    if test:
        would = "nothing would be started there" if gone else f"would start {', '.join(record.units) or 'nothing'}"
        return {"text": f"{host}: {would}; noout for it and its silences would be taken away"}
    with hosts.held(__opts__, look, "maintenance.end") as look:
        stage_log.note(__opts__, "maintenance.end", "ends", host=look.hostname, gone=gone)
        notes = maintaining.end(__opts__, look, look.record or record, gone, _tell(host))
    return {"text": "\n".join([f"{host} is in maintenance no more", *notes]), "changes": {host: "ended"}}


@answer.answers
def show() -> answer.Output:
    """Show which hosts are in maintenance, since when, and how far.

    CLI Example:

    .. code-block:: bash

        salt-run maintenance.show
    """
    minions.members(__opts__)
    records = hosts.records(__opts__)
    data = {record.minion: record.as_dict() for record in records.values()}
    return answer.Answer("\n".join(maintained.lines(records)) or "no host is in maintenance", {"hosts": data})


def _tell(host: str) -> maintaining.Tell:
    """Say each step as it begins, and of which host."""
    return lambda line: answer.tell(__opts__, f"{host}: {line}")
