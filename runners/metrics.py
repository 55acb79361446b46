"""``salt-run metrics.*``: what Prometheus is told of the product itself."""

from pathlib import Path
from typing import Any

from proposals.files import atomic
from proposals.stages import metrics
from proposals.text.errors import ArgumentError
from runners.engine import answer
from runners.engine.master import measured
from runners.engine.runs import stage_lock

OWN, HOSTS = "halocline.prom", "halocline_hosts.prom"


@answer.answers
def show(**_: Any) -> answer.Output:
    """Print all metrics; the hosts are asked for theirs.

    CLI Example:

    .. code-block:: bash

        salt-run metrics.show
    """
    return {"text": metrics.text([*measured.own(__opts__), *measured.hosts(__opts__)])}


@answer.answers
def write(folder: str, **_: Any) -> answer.Output:
    """Write them for node_exporter's textfile collector: what the timer of ``ceph.stage.monitoring`` types.

    While a stage runs, no host is asked, and its numbers stay as they are.

    folder
        The one that node_exporter reads.

    CLI Example:

    .. code-block:: bash

        salt-run metrics.write /var/lib/prometheus/node-exporter
    """
    place = Path(str(folder))
    if not place.is_absolute() or not place.is_dir():
        raise ArgumentError(f"folder={place}: the folder that node_exporter reads was expected, such as /var/lib/…")
    atomic.write(place / OWN, metrics.text(measured.own(__opts__)))
    if job := stage_lock.holder(__opts__):
        return {"text": f"written; stage {job['stage']} runs: no host was asked"}
    atomic.write(place / HOSTS, metrics.text(measured.hosts(__opts__)))
    return {"text": "written"}
