"""A Ceph cluster on this machine: `python -m lab up|down|status [CLUSTER]`, and verbs for one host of it."""

import argparse
import os
import sys

try:
    import docker  # noqa: F401  (whether it is there at all is asked here, once)
except ImportError:
    sys.exit("lab: the Docker SDK is missing: run this with .venv/bin/python (`make .venv` makes it).")

from lab import containers, daemon, power, show
from lab import up as bring
from lab.cluster import known
from lab.errors import LabError
from lab.store import find


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m lab", description=__doc__)
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name: str, text: str, *arguments: str) -> argparse.ArgumentParser:
        made = verbs.add_parser(name, help=text, description=text)
        for argument in arguments:
            made.add_argument(argument)
        if arguments:
            made.add_argument("--cluster", metavar="NAME", help="which lab, where several run")
        return made

    clusters = f"one of {', '.join(known())}, or a cluster file"
    up = verb("up", "bring a cluster up")
    up.add_argument("which", nargs="?", default="apollo-slice", metavar="CLUSTER", help=f"{clusters} (apollo-slice)")
    up.add_argument("--no-accept", action="store_true", help="leave the minions' keys for `salt-key`")
    down = verb("down", "take a lab away (all where none is named)")
    down.add_argument("which", nargs="?", metavar="CLUSTER")
    status = verb("status", "show what runs")
    status.add_argument("which", nargs="?", metavar="CLUSTER")
    verb("exec", "run a command on a host", "host").add_argument("command", nargs=argparse.REMAINDER)
    verb("shell", "a shell on a host", "host")
    verb("logs", "a host's journal; further words go to journalctl", "host").add_argument(
        "options", nargs=argparse.REMAINDER
    )
    verb("stop", "shut a host down", "host")
    verb("start", "start a stopped host", "host")
    return top


def main(arguments: argparse.Namespace) -> int:
    """Do what the command line says; returns the exit status."""
    match arguments.verb:
        case "up":
            bring.up(arguments.which, accept=not arguments.no_accept)
        case "down":
            bring.down(arguments.which)
        case "status":
            return show.status(arguments.which)
        case "exec":
            command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
            enter(arguments, command, terminal=sys.stdin.isatty() and sys.stdout.isatty())
        case "shell":
            enter(arguments, ["bash", "-l"], terminal=True)
        case "logs":
            enter(arguments, ["journalctl", "--no-pager", "-b", *arguments.options], terminal=False)
        case "stop":
            power.stop(arguments.host, arguments.cluster)
        case "start":
            power.start(arguments.host, arguments.cluster)
    return 0


def enter(arguments: argparse.Namespace, command: list[str], terminal: bool) -> None:
    """Become the Docker client: standard streams, signals and exit status are the command's own."""
    if not command:
        raise LabError("exec HOST -- COMMAND: no command given.")
    container = containers.find(daemon.needed(), find(arguments.cluster), arguments.host)
    if container.status != "running":
        raise LabError(f"{arguments.host} is {container.status}: `python -m lab start {arguments.host}`.")
    os.execvp("docker", ["docker", "exec", "-it" if terminal else "-i", container.name, *command])


if __name__ == "__main__":
    try:
        sys.exit(main(parser().parse_args()))
    except LabError as err:
        sys.exit(f"lab: {err}")
    except KeyboardInterrupt:
        sys.exit("lab: interrupted.")
