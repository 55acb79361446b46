"""What the product tells of itself to Prometheus, in its text format (prometheus.io, instrumenting/exposition_formats).

Times are seconds since the epoch: how old something is Prometheus reckons. Alert rules over these:
``salt/ceph/service/prometheus/files/halocline.yml``.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from proposals.stages.records import Record

PREFIX = "halocline_"
ALL, AS_ONE = "all", ("prep", "discovery", "configure", "deploy", "services")  # salt/ceph/stage/all.sls
ABOUT = {
    "stage_running": "Whether the stage runs now.",
    "stage_begin_timestamp_seconds": "When its last run began.",
    "stage_success": "Whether its last run that does not run any more ended well.",
    "stage_end_timestamp_seconds": "When that run ended.",
    "certificate_end_timestamp_seconds": "When a certificate that the site gives ends to be valid.",
    "proposal_stale": "Whether discovery saw other disks than a chosen proposal planned.",
    "written_timestamp_seconds": "When these numbers were written.",
    "host_silent": "Whether a host that is not in maintenance did not answer Salt.",
    "host_daemons_waiting": "How many daemons of a host wait for a restart with their configuration.",
    "hosts_asked_timestamp_seconds": "When hosts were asked; not while a stage runs.",
}


class Sample(NamedTuple):
    """One number of a metric, with its label's name and value; "" for none."""

    metric: str
    value: float
    label: str = ""
    of: str = ""


def text(samples: Iterable[Sample]) -> str:
    """Return samples as Prometheus reads them, metric by metric."""
    by_metric: dict[str, list[str]] = {}
    for one in samples:
        labels = f'{{{one.label}="{_escaped(one.of)}"}}' if one.label else ""
        by_metric.setdefault(one.metric, []).append(f"{PREFIX}{one.metric}{labels} {one.value:.15g}")
    lines = []
    for metric, own in by_metric.items():
        name = f"{PREFIX}{metric}"
        lines += [f"# HELP {name} {ABOUT[metric]}", f"# TYPE {name} gauge", *sorted(own)]
    return "\n".join([*lines, ""]) if lines else ""


def stages(runs: Iterable[tuple[Record, Record, bool]]) -> Iterable[Sample]:
    """Return what is told of stages.

    runs
        Of each run's log, the oldest first: its first record, its last, and whether the run goes on.
    """
    newest: dict[str, tuple[Record, bool]] = {}
    over: dict[str, Record] = {}
    for first, last, goes_on in runs:
        newest[first["stage"]] = (first, goes_on)
        if not goes_on:
            over[first["stage"]] = last
        if not goes_on and first["stage"] == ALL and _well(last):  # what failed by itself before has ended well since
            over |= {stage: last for stage in AS_ONE if stage in over}
    for stage, (first, goes_on) in newest.items():
        yield Sample("stage_running", goes_on, "stage", stage)
        yield Sample("stage_begin_timestamp_seconds", _seconds(first), "stage", stage)
    for stage, last in over.items():
        yield Sample("stage_success", _well(last), "stage", stage)
        yield Sample("stage_end_timestamp_seconds", _seconds(last), "stage", stage)


def _well(last: Record) -> bool:
    return last["event"] == "end" and last["result"] == "done"


def hosts(
    asked: Collection[str], silent: Collection[str], away: Collection[str], waiting: Mapping[str, Collection]
) -> Iterable[Sample]:
    """Return what is told of hosts.

    asked, silent, away
        Minions: all, those that do not answer, those in maintenance.
    waiting
        The daemons of each that wait for a restart; of a host that is not in it that is not known.
    """
    for minion in asked:
        yield Sample("host_silent", minion in silent and minion not in away, "minion", minion)
    for minion, daemons in waiting.items():
        yield Sample("host_daemons_waiting", len(daemons), "minion", minion)


def _seconds(record: Mapping[str, Any]) -> float:
    return datetime.fromisoformat(record["time"]).timestamp()


def _escaped(value: str) -> str:
    value = value.encode(errors="backslashreplace").decode()  # a name that is no UTF-8 would spoil the whole file
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
