"""`python -m lab load VERB`: a load on a lab's cluster."""

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict

from rich.console import Console

from lab.errors import LabError
from lab.load.judge import Demand
from lab.load.node.clients import CLIENTS
from lab.load.shown import shown
from lab.load.start import LONGEST, RATE, start
from lab.load.stop import report, stop
from lab.progress import say


def add_verbs(verbs) -> None:
    """Add `load` and its verbs to the lab's command line."""
    top = verbs.add_parser("load", help="clients that write and read back all the time", description=__doc__)
    inner = top.add_subparsers(required=True, metavar="VERB")

    def verb(name: str, text: str, action: Callable[[argparse.Namespace], int | None]) -> argparse.ArgumentParser:
        made = inner.add_parser(name, help=text, description=text)
        made.add_argument("--cluster", metavar="NAME", help="which lab, where several run")
        made.set_defaults(action=action)
        return made

    begin = verb(
        "start",
        f"start clients that write, read back and remember what was acknowledged, for {LONGEST // 3600} hours at most",
        _start,
    )
    begin.add_argument("--clients", default="", metavar="NAMES", help=f"of {','.join(CLIENTS)} (all that can be)")
    begin.add_argument("--host", metavar="HOST", help="where they run (client1, or the master)")
    begin.add_argument("--rate", type=float, default=RATE, metavar="N", help=f"turns a second ({RATE:g})")
    begin.add_argument("--s3", action="append", default=[], metavar="URL", help="a gateway (those that Ceph knows)")
    begin.add_argument("--s3-ca", default="", metavar="FILE", help="on the master: the CA of gateways that speak TLS")
    verb("stop", "stop them, read back all they wrote, report, remove it; what is lost or different stays", _stop)
    told = verb("report", "what they did and saw; status 1 where something is wrong or a client ended", _report)
    told.add_argument("--json", action="store_true", help="for programs")
    told.add_argument("--least", type=int, default=1, metavar="N", help="of a stopped load: operations of each (1)")
    longest = "of a stopped load: seconds without one"
    told.add_argument("--longest", type=float, default=float("inf"), metavar="S", help=longest)


def _start(arguments: argparse.Namespace) -> None:
    if not 0.1 <= arguments.rate <= 20:
        raise LabError(f"load: a rate of {arguments.rate:g}; expected a number from 0.1 to 20 turns a second.")
    wish = [name.strip() for name in arguments.clients.split(",") if name.strip()]
    load = start(arguments.cluster, wish, arguments.host, arguments.rate, arguments.s3, arguments.s3_ca)
    say(f"{', '.join(load.clients)} write and read on {load.host}. `python -m lab load stop` ends it.")


def _stop(arguments: argparse.Namespace) -> int:
    stop(arguments.cluster)
    return _print(arguments.cluster, Demand(), as_json=False)


def _report(arguments: argparse.Namespace) -> int:
    return _print(arguments.cluster, Demand(arguments.least, arguments.longest), arguments.json)


def _print(cluster: str | None, demand: Demand, as_json: bool) -> int:
    outcome = report(cluster, demand)
    if as_json:
        print(json.dumps(asdict(outcome), indent=1))
    else:
        shown(outcome, Console())
    return 1 if outcome.problems else 0
