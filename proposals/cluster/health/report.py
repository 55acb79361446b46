"""A verdict as a person reads it, and as a stage's step tells it."""

from collections.abc import Iterable

from proposals.cluster.health.findings import WAITING, Complaint
from proposals.cluster.health.judge import Verdict, lines

ADVICE = {  # what to do next, by a finding's noun
    "answer": "nothing is known of the cluster: see 'systemctl status ceph-mon.target' on the monitors' hosts",
    "mon": "see 'journalctl -u ceph-mon@*' on that host, then 'ceph quorum_status'",
    "mgr": "see 'journalctl -u ceph-mgr@*' on that host, then 'ceph mgr stat'",
    "mds": "see 'journalctl -u ceph-mds@*' on that host, then 'ceph fs status'",
    "rgw": "see 'journalctl -u ceph-radosgw@*' on that host",
    "osd": "see 'journalctl -u ceph-osd@*' on that host; an OSD whose disk died is replaced: 'salt-run -d osd.replace'",
    "groups": "see 'ceph health detail' and 'ceph pg dump_stuck'",
    "check": "see 'ceph health detail'",
}


def text(verdict: Verdict) -> list[str]:
    """Return a verdict line by line: what is wrong with what to do next, what moves, what was known."""
    told = [f"wrong  {line}" for line in lines(verdict.wrong)]
    told += [f"       -> {advice}" for advice in advised(verdict.wrong)]
    told += [f"moves  {line}" for line in lines(verdict.moves)]
    return told + [f"known  {line}" for line in lines(verdict.known)]


def advised(findings: Iterable[Complaint]) -> list[str]:
    """Return what to do next, once for each kind of finding."""
    return list(dict.fromkeys(ADVICE[finding.key.split()[0]] for finding in findings))


def warnings(verdict: Verdict) -> list[dict]:
    """Return what moves and what was known as warnings of a stage's step: ``{severity, hosts, message, fix}``."""
    waits = [finding for finding in verdict.moves if finding.key == WAITING]
    return [
        {"severity": "warning", "hosts": [], "message": line, "fix": fix}
        for found, fix in (
            (waits, f"they wait for an OSD, for room or for another failure domain: {ADVICE['groups']}"),
            ([finding for finding in verdict.moves if finding not in waits], "it goes on by itself"),
            (verdict.known, "it was so, or no stage makes it so"),
        )
        for line in lines(found)
    ]
