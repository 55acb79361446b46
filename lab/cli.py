"""The command line of the lab: every verb, its words and what it does."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from lab import containers, daemon, faults, grow, hotplug, power, show
from lab import up as bring
from lab.chaos import cli as chaos
from lab.cluster import known
from lab.demo import demo
from lab.errors import LabError
from lab.guest import cli as guest
from lab.guest.guests import root_file_system
from lab.load import cli as load
from lab.store import find, locked

Action = Callable[[argparse.Namespace], int | None]


def parser() -> argparse.ArgumentParser:
    """Every verb with its words."""
    top = argparse.ArgumentParser(prog="python -m lab", description="A Ceph cluster on this machine.")
    verbs = top.add_subparsers(required=True, metavar="VERB")
    _whole_labs(verbs)
    _hosts(verbs)
    _disks(verbs)
    _faults(verbs)
    load.add_verbs(verbs)
    chaos.add_verb(verbs)
    guest.add_verbs(verbs)
    return top


def _verb(verbs, name: str, text: str, action: Action, *words: str) -> argparse.ArgumentParser:
    made = verbs.add_parser(name, help=text, description=text)
    made.set_defaults(action=action)
    for word in words:
        made.add_argument(word, metavar=word.upper())
    if words:
        made.add_argument("--cluster", metavar="NAME", help="which lab, where several run")
    return made


def _whole_labs(verbs) -> None:
    up = _verb(verbs, "up", "bring a cluster up", lambda a: bring.up(a.which, accept=not a.no_accept))
    names = ", ".join(known())
    up.add_argument("which", nargs="?", default="apollo-slice", metavar="CLUSTER", help=f"{names}, or a file")
    up.add_argument("--no-accept", action="store_true", help="leave the minions' keys for salt-key")
    shown = _verb(
        verbs, "demo", "bring a cluster up, type the guide's commands on it, put a load on it", lambda a: demo(a.which)
    )
    shown.add_argument("which", nargs="?", default="apollo-slice", metavar="CLUSTER")
    _verb(verbs, "prepare", "make what labs and guests start from: image, wheels, file system", _prepare)
    down = _verb(
        verbs, "down", "take a lab away (where none is named, all of this checkout)", lambda a: bring.down(a.which)
    )
    status = _verb(verbs, "status", "show what runs", lambda a: show.status(a.which))
    for made in (down, status):
        made.add_argument("which", nargs="?", metavar="CLUSTER")


def _hosts(verbs) -> None:
    _verb(verbs, "exec", "run a command on a host: exec HOST -- COMMAND", _exec, "host")
    _verb(verbs, "shell", "a shell on a host", lambda a: _enter(a, ["bash", "-l"], terminal=True), "host")
    _verb(verbs, "logs", "a host's journal; words after -- go to journalctl", _logs, "host")
    _verb(verbs, "stop", "shut a host down", lambda a: power.stop(a.host, a.cluster), "host")
    _verb(verbs, "start", "start a stopped host", lambda a: power.start(a.host, a.cluster), "host")
    add = _verb(verbs, "add", "add a host like another one", _add, "host")
    add.add_argument("--like", required=True, metavar="OTHER", help="the host to take disks and networks from")
    add.add_argument("--no-accept", action="store_true", help="leave its key for salt-key")


def _disks(verbs) -> None:
    _verb(verbs, "disks", "show a host's disks, pulled ones too", lambda a: hotplug.show(a.host, a.cluster), "host")
    _verb(verbs, "pull", "pull a disk out", lambda a: hotplug.pull(a.host, a.disk, a.cluster), "host", "disk")
    plug = _verb(
        verbs, "plug", "plug a pulled disk in", lambda a: hotplug.plug(a.host, a.disk, a.new, a.cluster), "host", "disk"
    )
    plug.add_argument("--new", action="store_true", help="another disk of its kind, with another serial number")
    dirty = _verb(
        verbs,
        "dirty",
        "leave traces of an earlier life on a disk",
        lambda a: hotplug.dirty(a.host, a.disk, a.kind, a.cluster),
        "host",
        "disk",
    )
    dirty.add_argument("kind", choices=list(hotplug.DIRT), metavar="KIND", help=", ".join(hotplug.DIRT))


def _faults(verbs) -> None:
    _verb(
        verbs, "cut", "cut a host off a network", lambda a: faults.cut(a.host, a.network, a.cluster), "host", "network"
    )
    slow = _verb(verbs, "slow", "leave a host little CPU", lambda a: faults.slow(a.host, a.cpus, a.cluster), "host")
    slow.add_argument("cpus", nargs="?", type=float, default=0.2, metavar="CPUS", help="share of one CPU (0.2)")
    _verb(verbs, "kill-minion", "kill a host's salt-minion", lambda a: faults.kill_minion(a.host, a.cluster), "host")
    fill = _verb(verbs, "fill", "let a folder run full", lambda a: faults.fill(a.host, a.path, a.cluster), "host")
    fill.add_argument("path", nargs="?", default="/var/cache/salt", metavar="PATH", help="(/var/cache/salt)")
    _verb(verbs, "mend", "undo cut, slow, kill-minion, fill", lambda a: faults.mend(a.host, a.cluster), "host")


def _add(arguments: argparse.Namespace) -> None:
    grow.add(arguments.host, arguments.like, not arguments.no_accept, arguments.cluster)


def _prepare(arguments: argparse.Namespace) -> None:
    with locked():
        root_file_system()


def _exec(arguments: argparse.Namespace) -> None:
    if not arguments.rest:
        raise LabError("exec HOST -- COMMAND: no command given.")
    _enter(arguments, arguments.rest, terminal=sys.stdin.isatty() and sys.stdout.isatty())


def _logs(arguments: argparse.Namespace) -> None:
    _enter(arguments, ["journalctl", "--no-pager", "-b", *arguments.rest], terminal=False)


def _enter(arguments: argparse.Namespace, command: list[str], terminal: bool) -> None:
    """Become the Docker client: standard streams, signals and exit status are the command's own."""
    container = containers.find(daemon.needed(), find(arguments.cluster), arguments.host)
    if container.status != "running":
        raise LabError(f"{arguments.host} is {container.status}: `python -m lab start {arguments.host}`.")
    words = ["docker", "exec", "-it" if terminal else "-i", container.name, *command]
    try:
        os.execvp("docker", words)
    except FileNotFoundError as error:
        raise LabError("there is no program `docker`: install Docker's client (Debian: docker-cli).") from error


def main(words: Sequence[str]) -> int:
    """Do what the command line says; what follows the first `--` is a command's own. Returns the exit status."""
    before = list(words)
    rest: list[str] = []
    if "--" in before:
        before, rest = before[: before.index("--")], before[before.index("--") + 1 :]
    arguments = parser().parse_args(before)
    arguments.rest = rest
    return arguments.action(arguments) or 0
