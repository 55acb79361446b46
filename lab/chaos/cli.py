"""`python -m lab chaos`: rounds of a fault at a moment of a stage, under load; drawn from a seed, and played."""

import argparse
import random
import shlex
import signal
import sys
import time
from pathlib import Path

from rich.console import Console

from lab.chaos import change
from lab.chaos.game import Game
from lab.chaos.record import Outcome, read, shown, write
from lab.chaos.rounds import draw
from lab.chaos.site import DeployedLab
from lab.errors import LabError
from lab.progress import say
from lab.store import CHECKOUT

FOLDER = CHECKOUT / "build" / "chaos"
MOST = 1000  # rounds: some three days
SEEDS = 2**32


def add_verb(verbs) -> None:
    """Add `chaos` to the lab's command line."""
    text = "break something at a moment of a stage, under load, mend it, and see that the stages make all whole"
    made = verbs.add_parser("chaos", help=text, description=f"{text[0].upper()}{text[1:]}.")
    made.add_argument("--rounds", type=int, default=10, metavar="N", help="how many (10)")
    made.add_argument("--seed", type=int, metavar="S", help="what the rounds are drawn from (any, which is said)")
    made.add_argument("--from", type=int, default=1, metavar="K", dest="first", help="the first of them (1)")
    made.add_argument("--round", type=int, metavar="K", help="only that one of the seed's rounds, again")
    made.add_argument("--cluster", metavar="NAME", help="which lab, where several run")
    told = "play nothing: show the rounds of these reports in one table"
    made.add_argument("--report", nargs="+", type=Path, default=[], metavar="FILE", help=told)
    made.set_defaults(action=_chaos)


def _chaos(arguments: argparse.Namespace) -> int:
    if arguments.report:
        outcomes = [outcome for path in arguments.report for outcome in read(path)]
        shown(outcomes, _console())
        return 1 if any(each.problems for each in outcomes) else 0
    seed = random.randrange(SEEDS) if arguments.seed is None else arguments.seed
    if not 0 <= seed < SEEDS:
        raise LabError(f"chaos: a seed of {seed}; expected a number from 0 to {SEEDS - 1}.")
    for word in ("rounds", "first", "round"):
        number = getattr(arguments, word)
        if number is not None and not 1 <= number <= MOST:
            raise LabError(f"chaos: --{word.replace('first', 'from')} {number}; expected a number from 1 to {MOST}.")
    if arguments.round is not None and arguments.seed is None:
        raise LabError("chaos: --round plays one of a seed's rounds again: say which seed with --seed.")
    if arguments.first > 1 and arguments.seed is None:
        raise LabError("chaos: --from goes on with a seed's rounds: say which seed with --seed.")
    first, count = (arguments.first, arguments.rounds) if arguments.round is None else (arguments.round, 1)
    numbers = list(range(first, first + count))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # told to end: what is broken is mended first
    return play(arguments.cluster, seed, numbers)


def play(cluster: str | None, seed: int, numbers: list[int]) -> int:
    """Play these rounds of a seed on a lab until one leaves it broken; 0 where all were played and nothing was wrong.

    The report lies in build/chaos/LAB/SEED-FIRST-LAST-TIME.json, written after each round. In SEED-ROUND-TIME beside it
    is what the stage that was struck printed and, where the round went wrong, what the hosts know. Raises LabError
    where no cluster answers.
    """
    site = DeployedLab(cluster)
    site.place.ground.needed(site.name)
    hosts, folder = site.hosts(), FOLDER / site.name
    game, outcomes = Game(site, folder), list[Outcome]()
    path = folder / f"{seed}-{numbers[0]}-{numbers[-1]}-{_now()}.json"
    try:
        for number in numbers:
            what = draw(seed, number, hosts)
            again = f"python -m lab chaos --cluster {shlex.quote(site.name)} --seed {seed} --round {number}"
            say(f"\nround {number} of seed {seed}: {what.text}\n  again: {again}")
            outcome = Outcome(what, again, _now())
            game.play(outcome)
            outcomes.append(outcome)
            write(path, site.name, outcomes)
            if outcome.broken:
                say(f"round {number} left the lab broken: no further round is played.")
                break
    finally:
        change.undo(site)
        _told(outcomes, path)
    return 0 if len(outcomes) == len(numbers) and not any(each.problems for each in outcomes) else 1


def _told(outcomes: list[Outcome], path: Path) -> None:
    if outcomes:
        shown(outcomes, _console())
        print(f"for programs: {path}")


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 200)  # a pipe has no width to fit


def _now() -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
