"""Load on a cluster while a test does something to it: `with load(cluster, longest=…, least=…) as busy:`."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest
from gateways import front
from product import PILLAR, Product, until
from rich.console import Console

from lab.load.judge import Demand, Report, Span
from lab.load.place import Place
from lab.load.shown import shown
from lab.load.start import start
from lab.load.stop import remove, report, stop

SLACK = 10  # seconds beyond Ceph's own limits: peering, and the clients' next look at the map, on two busy cores
# An OSD that says nothing: its peers wait, tell the monitors at their next report, and clients get the map.
SILENT = ("osd_heartbeat_grace", "osd_heartbeat_interval", "osd_mon_report_interval")


class Busy:
    """A load that runs; its report is there when the `with` has ended."""

    def __init__(self, name: str, clients: Sequence[str]) -> None:
        self.name = name
        self.clients = tuple(clients)
        self.faults: list[Span] = []
        self.report: Report | None = None

    @contextmanager
    def fault(self) -> Iterator[None]:
        """What happens meanwhile is a fault, in which every client has to go on."""
        first = time.time()
        try:
            yield
        finally:
            self.faults.append((first, time.time()))

    def operations(self) -> dict[str, int]:
        """Acknowledged operations of each client until now."""
        return {name: each.operations for name, each in report(self.name).clients.items()}

    def goes_on(self, more: int) -> None:
        """Wait until each client has done that many operations more."""
        before = self.operations()
        until(lambda: all(now >= before[name] + more for name, now in self.operations().items()), 60, "clients go on")


@pytest.fixture
def load(request: pytest.FixtureRequest) -> Callable[..., AbstractContextManager[Busy]]:
    """A function: load(cluster, longest, least, clients=(), errors=None) -> a running load, judged at its end.

    longest: seconds that a client may be without an acknowledged operation, by Ceph's own limits (``ceph_seconds``).
    least: acknowledged operations of each client. clients: all whose service is there, where none are named. errors:
    operations of each client that may fail and be tried again; None: any number. Its report lies in
    build/load/TEST.json, and is printed.
    """
    folder = Path(request.config.rootpath, "build", "load")
    path = folder / f"{request.node.name.replace('/', '_')}.json"

    @contextmanager
    def running(
        cluster: Product, longest: float, least: int, clients: Sequence[str] = (), errors: int | None = None
    ) -> Iterator[Busy]:
        name = cluster.session.name
        busy = Busy(name, start(name, clients, **gateways_of(cluster)).clients)
        try:
            yield busy
        finally:
            stop(name)
            busy.report = report(name, Demand(least, longest, errors), busy.faults)
            remove(Place(name))
            shown(busy.report, Console(width=160))
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(asdict(busy.report), indent=1))
        assert not busy.report.problems, "\n".join(busy.report.problems)

    return running


def gateways_of(cluster: Product) -> dict:
    """The address before the gateways and their CA, where the cluster has its services."""
    ca = f"{PILLAR}/keys/given/rgw-ca.pem"
    if cluster.run("saltmaster", f"test -e {ca}", check=False).code:
        return {}
    return {"gateways": [f"https://{front(cluster)}"], "ca": ca}


def ceph_seconds(cluster: Product, *limits: str) -> float:
    """The sum of some of Ceph's own limits, by the cluster's word."""
    return Place(cluster.session.name).ground.seconds(*limits)


def until_seen(cluster: Product) -> float:
    """Seconds that a client may have to wait for an OSD that says nothing."""
    return ceph_seconds(cluster, *SILENT) + SLACK
