"""``python -m proposals networks VERB``: what ``salt-run networks.*`` plans, without Salt."""

import argparse
from collections.abc import Callable

from proposals.networking import arguments, cables, fragments, plan, switches, tables
from proposals.policy import store
from proposals.text.tables import report

Show = Callable[[argparse.Namespace, dict, Callable[[dict], None]], None]


def add_verbs(parser: argparse.ArgumentParser, verb: Callable, read: Callable[[str], dict], show: Show) -> None:
    """Add the verbs of ``networks``; ``read`` gives an inventory, ``show`` prints an answer."""
    verbs = parser.add_subparsers(metavar="VERB", required=True, parser_class=type(parser))

    def peeked(options: argparse.Namespace) -> plan.NetworkPlan:
        return plan.peek(read(options.inventory), arguments.parse(options.pairs))

    def peek(options: argparse.Namespace) -> int:
        show(options, peeked(options).as_dict(), tables.proposal)
        return 0

    def populate(options: argparse.Namespace) -> int:
        made = peeked(options)
        done = store.populate_network(options.root, fragments.wanted(made), made.arguments.force)
        show(options, done.as_dict(), report)
        return done.status

    def stored(options: argparse.Namespace) -> int:
        show(options, store.finished_network(options.root, options.name), tables.proposal)
        return 0

    def switch(options: argparse.Namespace) -> int:
        ports = None if options.ports is None else cables.read(options.ports)
        print(switches.text(store.finished_network(options.root, options.name), options.system, ports), end="")
        return 0

    verb(verbs, "peek", peek, "show what would be planned", ("inventory",), arguments.ARGUMENTS)
    populate_verb = verb(verbs, "populate", populate, "write the network proposal", ("inventory",), arguments.ARGUMENTS)
    populate_verb.add_argument("--root", required=True, help="the folder 'proposals'")
    verb(verbs, "show", stored, "show a stored network proposal", ("root", "name"))
    switch_verb = verb(
        verbs, "switch", switch, "print the switches' configuration for a stored network proposal", ("root", "name")
    )
    switch_verb.add_argument("--as", dest="system", required=True, help=" or ".join(switches.SYSTEMS))
    switch_verb.add_argument("--ports", help="a YAML file: which cable is where (HOST: {PORT: SWITCH 1/7})")
