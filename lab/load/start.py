"""`start`: a load's ground is made in the cluster, its programs are put on a host, its clients begin."""

import json
import secrets
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lab import containers
from lab.errors import LabError
from lab.load.node import ledger as lines
from lab.load.node.clients import CA, CLIENTS, FOLDER
from lab.load.node.worker import OBJECTS
from lab.load.place import ENDS, PROGRAM, Load, Place
from lab.load.stop import remove
from lab.progress import say, step
from lab.store import locked

RATE = 2.0  # a second: how often each client writes an object and reads one
BEGINS = 90  # seconds until every client wrote all its objects once
LONGEST = 4 * 3600  # seconds after which one that nobody stopped, as after a killed test, ends by itself
UNIT = (
    f"systemd-run --quiet --unit=lab-load-{{0}} --property=KillMode=mixed --property=TimeoutStopSec={ENDS} "
    f"--property=RuntimeMaxSec={LONGEST} "
    f"--setenv=PYTHONPATH={PROGRAM} /usr/bin/python3 -m lab.load.node write {{0}}"
)


def start(
    cluster: str | None,
    clients: Sequence[str] = (),
    host: str | None = None,
    rate: float = RATE,
    gateways: Sequence[str] = (),
    ca: str = "",
) -> Load:
    """Start a load and wait until each of its clients has written all its objects once; it ends after ``LONGEST`` s.

    cluster: a lab's name, where several run. clients: of `rados`, `rbd`, `cephfs`, `s3`; none: all whose service is
    there. host: where they run, by default `client1` or else the master. rate: how often a second each writes an object
    and reads one. gateways, ca: the S3 gateways' addresses, where Ceph's own are not meant, and the file on the master
    with the certificate that theirs are signed with. Raises LabError where a client is unknown, no cluster answers, a
    load runs already, a client that was named has no service, or one does not begin.
    """
    if unknown := [name for name in clients if name not in CLIENTS]:
        raise LabError(f"load: there is no client {unknown[0]!r}; expected one or more of {','.join(CLIENTS)}.")
    with locked(), ExitStack() as undo:
        place = Place(cluster)
        if place.load and place.load.stopped is None:
            raise LabError(f"a load runs on {place.lab.name} already: `python -m lab load stop` ends it.")
        place.node(host or place.default_host)  # it is there: else what is made first would stay
        place.ground.needed(place.lab.name)
        remove(place)
        place.forget()
        told, absent = place.ground.services(gateways, ca)
        chosen = choose(clients, told, absent)
        load = Load(host or place.default_host, list(chosen), {name: absent[name] for name in absent if not clients})
        with step(f"start {', '.join(chosen)} on {load.host}"):
            place.save(load)
            undo.callback(place.forget)
            undo.callback(remove, place)
            _send(place, load, chosen, rate)
            _launch(place, load)
        undo.pop_all()
    for name, why in load.absent.items():
        say(f"{name} is left out: {why}.")
    return load


def choose(wish: Sequence[str], settings: dict[str, Any], absent: dict[str, str]) -> dict[str, Any]:
    """What is told to each client that is wished, or to all that there can be; LabError where one cannot be."""
    for name in wish:
        if name not in settings:
            raise LabError(f"load: there can be no client {name}: {absent[name]}.")
    return {name: each for name, each in settings.items() if not wish or name in wish}


def _send(place: Place, load: Load, chosen: dict[str, Any], rate: float) -> None:
    """Make the ground, and put programs, keys and settings on the clients' host."""
    ground = place.ground
    files = ground.prepare(chosen)
    settings: dict[str, Any] = {"token": secrets.token_hex(8), "rate": rate, **chosen}
    if "s3" in chosen:
        files[str(CA)] = chosen["s3"]["ca"]
        settings["s3"] = {**chosen["s3"], **ground.user(), "ca": str(CA) if chosen["s3"]["ca"] else True}
    files[str(FOLDER / "settings.json")] = json.dumps(settings)
    here = Path(__file__).parent
    code = [here.parent / "__init__.py", here / "__init__.py", *(here / "node").glob("*.py")]
    files |= {str(PROGRAM / path.relative_to(here.parent.parent)): path.read_text() for path in code}
    node = place.node(load.host)
    containers.run(node, ["mkdir", "-p", "-m", "700", str(FOLDER)])  # keys lie in it
    containers.put(node, files)


def _launch(place: Place, load: Load) -> None:
    """Start a unit for each client, and wait until it has written all its objects."""
    node, deadline = place.node(load.host), time.monotonic() + BEGINS
    for name in load.clients:
        started = containers.run(node, UNIT.format(name))
        if started.code:
            raise LabError(f"the client {name} does not start: {started.err.strip()}")
    for name in load.clients:
        while sum(entry.what == lines.WRITTEN for entry in place.ledger(load, name)) < OBJECTS:
            state = place.state(load, name)
            if state != "active" or time.monotonic() > deadline:
                said = containers.run(node, f"journalctl -u lab-load-{name} -n 20 --no-pager -o cat").out.strip()
                raise LabError(f"the client {name} does not begin within {BEGINS} s (its unit is {state}):\n{said}")
            time.sleep(0.3)
