"""`python -m lab kernel VERB`: guests of a real kernel."""

import argparse
import re
import shlex
import sys
from collections.abc import Callable
from contextlib import ExitStack

from lab.errors import LabError
from lab.guest import guests
from lab.guest.join import join, leave
from lab.progress import say, step
from lab.store import find, locked

Action = Callable[[argparse.Namespace], int | None]
UNITS = {"": 1, "M": 10**6, "G": 10**9, "T": 10**12}  # decimal, as disks are sold


def add_verbs(verbs) -> None:
    """Add `kernel` and its verbs to the lab's command line."""
    top = verbs.add_parser("kernel", help="guests of a real kernel", description=__doc__)
    inner = top.add_subparsers(required=True, metavar="VERB")

    def verb(name: str, text: str, action: Action, guest: str | None = None) -> argparse.ArgumentParser:
        made = inner.add_parser(name, help=text, description=text)
        made.add_argument("guest", metavar="GUEST", nargs=guest)
        made.set_defaults(action=action)
        return made

    up = verb("up", "make and boot a guest", _up)
    up.add_argument("--cluster", metavar="NAME", help="make it a minion of that lab's master")
    up.add_argument("--disk", metavar="SIZE", action="append", default=[], type=size, help="a disk, such as 1T or 200G")
    up.add_argument("--memory", metavar="MIB", type=int, default=guests.MEMORY)
    verb("exec", "run a command: kernel exec GUEST -- COMMAND", _exec)
    disk = verb("disk", "attach one more disk while it runs", _disk)
    disk.add_argument("size", metavar="SIZE", type=size)
    verb("stop", "shut it down cleanly", _stop)
    verb("start", "boot it again, with its disks", _start)
    verb("down", "take it away (all where none is named)", _down, "?")
    status = inner.add_parser("status", help="show the guests")
    status.set_defaults(action=_status)


def size(text: str) -> int:
    """Bytes that a text like 1T, 200G or 800166076416 means."""
    found = re.fullmatch(r"(\d+)([MGT]?)B?", text.upper())
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: expected one like 1T, 200G or 800166076416")
    return int(found[1]) * UNITS[found[2]]


def _up(arguments: argparse.Namespace) -> None:
    guests.check_wish(arguments.guest, arguments.disk)
    lab = find(arguments.cluster) if arguments.cluster else None
    with locked(), ExitStack() as undo:
        known = {guest.name: guest for guest in guests.guests()}
        if arguments.guest in known and known[arguments.guest].alive:
            say(f"{arguments.guest} is up: nothing to do.")
            return
        undo.callback(guests.remove, arguments.guest)
        guest = guests.make(arguments.guest, lab, arguments.memory, arguments.disk)
        if lab:
            join(guest, lab)
        undo.pop_all()


def _exec(arguments: argparse.Namespace) -> int:
    if not arguments.rest:
        raise LabError("kernel exec GUEST -- COMMAND: no command given.")
    done = guests.find(arguments.guest).run(shlex.join(arguments.rest), check=False, limit=3600)
    sys.stdout.write(done.out)
    sys.stderr.write(done.err)
    return done.code


def _disk(arguments: argparse.Namespace) -> None:
    with locked():
        say(f"{arguments.guest}: /dev/{guests.add_disk(guests.find(arguments.guest), arguments.size)}")


def _stop(arguments: argparse.Namespace) -> None:
    with locked():
        guests.power_off(guests.find(arguments.guest))


def _start(arguments: argparse.Namespace) -> None:
    with locked():
        guest = guests.find(arguments.guest)
        if not guest.alive:
            guests.boot(guest, find(guest.lab) if guest.lab else None)


def _down(arguments: argparse.Namespace) -> None:
    with locked():
        there = guests.names()
        names = there if arguments.guest is None else [arguments.guest]
        if unknown := sorted(set(names) - set(there)):
            raise LabError(f"no guest {unknown[0]!r} (there are: {', '.join(there) or 'none'}).")
        minions = {guest.name: guest for guest in guests.guests() if guest.lab}
        for name in names:
            with step(f"take guest {name} away"):
                if name in minions:
                    leave(minions[name])
                guests.remove(name)


def _status(_: argparse.Namespace) -> None:
    for guest in guests.guests():
        state = "runs" if guest.alive else "is off"
        where = f"minion of {guest.lab} at {guest.address}" if guest.lab else "alone"
        print(f"{guest.name}: {state}, {where}, {guest.memory} MiB, {len(guest.disks)} disks")
