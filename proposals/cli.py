"""The command line: ``python -m proposals VERB ...``. Status 0: good; 1: look at this; 2: bad input."""

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial

import yaml

from proposals.disks import arguments, explain, export, filters, plan
from proposals.files import atomic
from proposals.files.gc_paused import uncollected
from proposals.inventory import compare, kept
from proposals.networking import cables
from proposals.networking import cli as networks
from proposals.pictures import disks as disk_pictures
from proposals.pictures import drawing, terminal
from proposals.pictures import networks as network_pictures
from proposals.policy import policy, store
from proposals.reference import machines
from proposals.text import tables
from proposals.text.argument_readers import Argument, described
from proposals.text.errors import ArgumentError, ProposalError
from proposals.text.names import shown
from proposals.text.usage import Parser

PROG = "halocline" if sys.argv[0].endswith("/halocline") else "python -m proposals"
EXAMPLE = {
    "peek": f"{PROG} peek reference:apollo ratio=9 db=740-770 'target=osd*' db-size=40g",
    "populate": f"{PROG} populate inventory/ --root proposals name=apollo ratio=9 db=740-770",
    "explain": f"{PROG} explain reference:apollo osdnode1 /dev/sdc ratio=9 'target=osd*'",
}
WORDS = {  # what the words after a verb mean
    "inventory": "a file, YAML or JSON; the folder inventory/; reference:NAME; or a file of what lsblk -J -b -O, "
    "ceph-volume inventory --format json, ceph orch device ls --format json or salt --out json '*' grains.items print",
    "root": "the folder 'proposals'",
    "name": "the proposal's name",
    "host": "the minion's id",
    "disk": "the disk's id, device or serial",
    "file": "the file to write; .html or .svg at its end says which",
    "old": "a proposal.json or an inventory",
    "new": "a proposal.json or an inventory",
    "site": f"one of {', '.join(machines.CATALOGUE)}",
}


@uncollected()  # from the first byte to the last: between two pauses each search would see all that was read
def main(words: list[str] | None = None) -> int:
    """Run one command, as typed where ``words`` is None; errors are one message on standard error and status 2, an
    answer that cannot be written 1.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that knows ASCII alone gets the answer all the same
            stream.reconfigure(errors="backslashreplace")
    try:
        if sys.stdout is None:
            raise ProposalError("standard output is closed: the answer would be lost, so nothing was done")
        options = parse(sys.argv[1:] if words is None else words)
        status = options.run(options)
        sys.stdout.flush()
    except ProposalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader (head, less) has gone: not ours to complain
        _discard_output()
        return 0
    except OSError as error:
        path = f"{shown(error.filename, 200)}: " if error.filename else "the answer cannot be written: "
        print(f"error: {path}{atomic.why(error)}", file=sys.stderr)
        _discard_output()
        return 2 if error.filename else 1
    return status


def _discard_output() -> None:
    """Let Python's last flush of standard output go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parse(words: list[str]) -> argparse.Namespace:
    """The options; ``key=value`` words may stand on both sides of ``--root`` and ``--format``."""
    for word in words:
        if not word.isprintable() and any("\ud800" <= char <= "\udfff" for char in word):
            raise ProposalError(f"'{shown(word)}' is not UTF-8 text")
    options, more = parser().parse_known_args(words)
    if more and (not hasattr(options, "pairs") or any(word.startswith("-") for word in more)):
        options.verb.unknown(more)
    if more:
        options.pairs = [*options.pairs, *more]
    return options


def parser() -> argparse.ArgumentParser:
    """Every verb with its words."""
    top = Parser(prog=PROG, description="Plan Ceph OSDs from an inventory of disks.")
    verbs = top.add_subparsers(metavar="VERB", required=True, parser_class=Parser)
    peek = _verb(verbs, "peek", _peek, "show what would be planned", ("inventory",), arguments.ARGUMENTS)
    populate = _verb(verbs, "populate", _populate, "write the profile", ("inventory",), arguments.ARGUMENTS)
    populate.add_argument("--root", required=True, help=WORDS["root"])
    show = _verb(verbs, "show", _show, "show a stored proposal", ("root", "name"))
    for verb in (peek, populate, show):
        verb.add_argument(
            "--all", dest="everything", action="store_true", help="each host and device a line of its own"
        )
        if verb is not populate:
            verb.add_argument("--tree", action="store_true", help="what hangs on which device, as a tree")
    words = ("inventory", "host", "disk")
    _verb(
        verbs, "explain", _explain, "show every step of why one disk becomes what it does", words, arguments.ARGUMENTS
    )
    _verb(verbs, "diff", _diff, "compare two proposals or inventories (status 1: they differ)", ("old", "new"))
    exported = _verb(verbs, "export", _export, "print a stored proposal for another tool", ("root", "name"))
    exported.add_argument("--as", dest="form", required=True, help="cephadm or ceph-volume")
    page = _verb(verbs, "page", _page, "write a stored proposal as a picture", ("root", "name", "file"))
    page.add_argument("--networks", action="store_true", help="the network proposal of that name")
    page.add_argument("--ports", help="with --networks, a YAML file: which cable is where (HOST: {PORT: SWITCH 1/7})")
    _verb(verbs, "policy", _policy, "show what policy.cfg selects", ("root",))
    text = "plan bonds, VLANs and addresses"
    nets = verbs.add_parser("networks", aliases=["network"], help=text, description=text)
    networks.add_verbs(nets, _verb, _inventory, _print)
    _verb(verbs, "reference", _reference, "print the inventory of a reference site", ("site",), format_="yaml")
    return top


def _verb(
    verbs: argparse._SubParsersAction,
    name: str,
    run: Callable,
    what: str,
    words: tuple[str, ...],
    pairs: Mapping[str, Argument] | None = None,
    format_: str = "text",
) -> argparse.ArgumentParser:
    """Add a verb; ``pairs`` are the arguments that it takes as key=value."""
    told = f"key=value, each once, dashes or underscores:\n\n{described(pairs)}" if pairs else None
    if pairs is arguments.ARGUMENTS:
        told = f"{told}\n\n{filters.SYNTAX}\n\nexample:\n    {EXAMPLE[name]}"
    raw = argparse.RawDescriptionHelpFormatter
    verb = verbs.add_parser(name, help=what, description=what, epilog=told, formatter_class=raw, allow_abbrev=False)
    for word in words:
        verb.add_argument(word, help=WORDS[word])
    if pairs:
        verb.add_argument("pairs", nargs="*", default=[], metavar="key=value", help="arguments of the plan, below")
    verb.add_argument(
        "--format", "--out", dest="format", choices=("text", "json", "yaml"), default=format_, help="of the answer"
    )
    verb.set_defaults(run=run, verb=verb)
    return verb


def _planned(options: argparse.Namespace, root: str | None = None) -> plan.DiskPlan:
    wanted = arguments.parse(options.pairs)
    stored = store.stored_proposal(root, wanted.name) if root else None
    return plan.peek(_inventory(options.inventory), wanted, stored)


def _inventory(word: str) -> dict:
    """The inventory of a file or folder, or of ``reference:NAME``."""
    kind, _, name = word.partition(":")
    return machines.inventory(name) if kind == "reference" else kept.load_inventory(word)


def _reference(options: argparse.Namespace) -> int:
    _print(options, machines.inventory(options.site), tables.inventory)
    return 0


def _peek(options: argparse.Namespace) -> int:
    made = _planned(options).as_dict()
    _print(options, made, _shown(options))
    return 0


def _shown(options: argparse.Namespace) -> Callable[[dict], None]:
    """How a proposal is printed for a person."""
    if options.tree:
        return lambda answer: terminal.show(disk_pictures.picture(answer))
    return partial(tables.proposal, everything=options.everything)


def _populate(options: argparse.Namespace) -> int:
    made = _planned(options, options.root)
    report = store.populate(options.root, made, made.arguments.force)
    planned = made.as_dict()
    told = {key: planned[key] for key in ("name", "arguments", "warnings", "hints", "summary")}
    answer = {**report.as_dict(), **told, "hosts": list(planned["hosts"])}
    _print(options, answer, partial(tables.populated, everything=options.everything))
    return report.status


def _show(options: argparse.Namespace) -> int:
    stored = store.finished_proposal(options.root, options.name)
    _print(options, stored, _shown(options))
    return 0


def _explain(options: argparse.Namespace) -> int:
    _print(options, explain.disk(_planned(options), options.host, options.disk), tables.explanation)
    return 0


def _diff(options: argparse.Namespace) -> int:
    found = compare.differences(_inventory(options.old), _inventory(options.new))
    _print(options, found, tables.differences)
    return 0 if found["same"] else 1


def _export(options: argparse.Namespace) -> int:
    print(export.text(store.finished_proposal(options.root, options.name), options.form), end="")
    return 0


def _page(options: argparse.Namespace) -> int:
    form = drawing.form_of(options.file)
    if options.ports is not None and not options.networks:
        raise ArgumentError("--ports is read with --networks alone: give both, or leave it out")
    if options.networks:
        wires = None if options.ports is None else cables.read(options.ports)
        made = network_pictures.wired(store.finished_network(options.root, options.name), wires)
    else:
        made = disk_pictures.picture(store.finished_proposal(options.root, options.name))
    atomic.write(options.file, drawing.rendered(made, form))
    _print(options, {"file": options.file}, lambda told: print(f"wrote {shown(told['file'], 200)}"))
    return 0


def _policy(options: argparse.Namespace) -> int:
    found = policy.resolve(options.root)
    for warning in found.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    _print(options, found.as_dict(), tables.policy)
    return 0


def _print(options: argparse.Namespace, answer: dict, table: Callable[[dict], None]) -> None:
    if options.format == "json":
        indent = 2 if sys.stdout.isatty() else None
        print(json.dumps(answer, indent=indent, separators=None if indent else (",", ":")))
    elif options.format == "yaml":
        print(yaml.dump(answer, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False), end="")
    else:
        table(answer)
