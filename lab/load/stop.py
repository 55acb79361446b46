"""`stop`: a load's clients end, what they wrote is read back, all that it made is removed; `report` judges it."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from lab import containers
from lab.errors import LabError
from lab.load.judge import Demand, Report, Span, judge
from lab.load.node.clients import FOLDER
from lab.load.place import ENDS, PROGRAM, Load, Place
from lab.progress import say, step
from lab.store import locked

READ_BACK = 180  # seconds for what one client wrote
PYTHON = f"PYTHONPATH={PROGRAM} /usr/bin/python3 -m lab.load.node"
FORGET = (
    f"systemctl stop 'lab-load-*'; systemctl reset-failed 'lab-load-*'; for mount in {FOLDER}/cephfs-*; do "
    f'umount -l "$mount"; done 2>/dev/null; rm -rf --one-file-system {FOLDER}'
)


def stop(cluster: str | None) -> None:
    """Stop a load, read back all that it wrote, keep its ledgers.

    What it made in the cluster is removed, but not where something is lost or different: that stays to be looked at,
    until `stop` comes again, or the next `start`.
    """
    with locked():
        place = Place(cluster)
        load = place.known()
        if load.removed:
            raise LabError(f"the load on {place.lab.name} was stopped already: `python -m lab load report` shows it.")
        if load.stopped is None:
            _end(place, load)
            found = judge(place.ledgers(load), load.stopped or 0).clients.values()
            if any(each.findings or each.unread for each in found):
                say(f"what is left of the load stays on {place.lab.name}: `python -m lab load stop` removes it.")
                return
        with step("remove what the load wrote"):
            remove(place)


def _end(place: Place, load: Load) -> None:
    node, load.stopped = place.node(load.host), time.time()
    with step("stop the load's clients"):
        containers.run(node, "systemctl stop 'lab-load-*'", limit=2 * ENDS)
    with step("read back what they wrote"), ThreadPoolExecutor() as side_by_side:
        for said in side_by_side.map(lambda name: _read_back(place, load, name), load.clients):
            if said:
                say(said)
    for name in load.clients:
        (place.folder / f"{name}.jsonl").write_text(place.fetch(load, name))
    place.save(load)


def _read_back(place: Place, load: Load, name: str) -> str:
    """Let a client check what it wrote; what it said where it did not come to the end."""
    try:
        done = containers.run(place.node(load.host), f"{PYTHON} check {name}", limit=READ_BACK)
    except LabError as err:
        return str(err)
    return f"{name}: {done.err.strip()}" if done.code else ""


def remove(place: Place) -> None:
    """Take away what the lab's load made, in the cluster and on its host, where there is any of it."""
    load = place.load
    if load is None or load.removed:
        return
    node = place.node(load.host)
    if "cephfs" in load.clients:
        containers.run(node, f"{PYTHON} remove cephfs", limit=READ_BACK)
    containers.run(node, FORGET, limit=2 * ENDS)
    place.ground.remove()
    load.removed = True
    place.save(load)


def report(cluster: str | None, demand: Demand | None = None, faults: Sequence[Span] = ()) -> Report:
    """The report on a lab's load, running or stopped.

    The demand holds for a stopped one. Of one that runs it is said what is lost or altered, and which clients ended
    without being told to. Raises LabError where no load was started.
    """
    place = Place(cluster)
    load = place.known()
    if load.stopped is None:
        told = judge(place.ledgers(load), time.time(), None, faults)
        return replace(told, problems=(*told.problems, *_ended(place, load)))
    return judge(place.ledgers(load), load.stopped, demand or Demand(), faults)


def _ended(place: Place, load: Load) -> Iterator[str]:
    """What is said of a running load's clients that work no more."""
    for name in load.clients:
        if (state := place.state(load, name)) != "active":
            yield f"{name} stopped: its unit is {state}; `journalctl -u lab-load-{name}` on {load.host} says why"
