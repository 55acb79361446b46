"""`python3 -m lab.load.node write|check|remove CLIENT`: one client's work; lab/load/run.py starts it on its host."""

import json
import signal
import sys
from threading import Event

from lab.load.node import worker
from lab.load.node.clients import CLIENTS, FOLDER, CephFS
from lab.load.node.content import content
from lab.load.node.ledger import Ledger, parse


def main(what: str, name: str) -> None:
    """Do the work until SIGTERM comes, or it is done."""
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    settings = json.loads((FOLDER / "settings.json").read_text())
    path = FOLDER / f"{name}.jsonl"
    entries = parse(path.read_text()) if what == "check" else []
    client = CLIENTS[name](settings)
    try:
        if what == "write":
            token = settings["token"]
            worker.work(client, Ledger(path), lambda *which: content(token, name, *which), settings["rate"], stop)
        elif what == "check":
            worker.check(client, Ledger(path), entries, stop)
        elif isinstance(client, CephFS):
            client.remove()
    finally:
        client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
