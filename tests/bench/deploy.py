"""How long deploying takes beside the floor, in one lab and one run: the guide up to it, then both in turns, from bare
nodes.

The ratio of the medians, what the promise (1.5 times the floor and 10 s) allows, and where the time goes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import kept
import yaml
from floor import LIMIT, Floor
from rich.console import Console
from rich.table import Table

from lab.bare import make_bare
from lab.errors import LabError
from lab.guide import Guide, guide
from lab.session import Session
from lab.store import CHECKOUT

DEPLOY = "salt-run state.orch ceph.stage.deploy"
ROOT = "/srv/pillar/ceph"
LOG = "cat $(ls -t /var/log/halocline/deploy-*.jsonl | head -1)"
FACTOR, GRACE = 1.5, 10  # the promise: so many times the floor, and so many seconds
GOAL = 1.2  # times the floor


def timed(act: Callable[[], object]) -> float:
    start = time.monotonic()
    act()
    return time.monotonic() - start


def floor_of(session: Session, way: Guide) -> Floor:
    """The floor of what the product was told on this lab's master."""

    def read(path: str) -> dict:
        return yaml.safe_load(session.run(session.master, f"cat {ROOT}/{path}").out)

    layers = "current/stack/default/ceph"
    derived = read(f"{layers}/derived.yml")["ceph"]
    hosts = read(f"proposals/profile-{way.profile}/proposal.json")["hosts"]
    return Floor(
        session,
        {host: given["osds"] for host, given in hosts.items() if given["osds"]},
        read(f"{layers}/minions/{session.master}_master.yml")["ceph"]["members"],
        derived["monitors"],
        read(f"{layers}/cluster.yml")["fsid"],
        session.run(session.master, "cat /etc/ceph/ceph.conf").out,
        min(8, max(2, os.cpu_count() or 2)),  # as _modules/osd.py has it
    )


def product(session: Session) -> dict[str, float]:
    """Seconds of each step of one deploy, and of the whole command."""
    whole = timed(lambda: session.run(session.master, DEPLOY, limit=LIMIT))
    records = [json.loads(line) for line in session.run(session.master, LOG).out.splitlines()]
    steps = {one["step"]: one["seconds"] for one in records if one["event"] == "result"}
    return {**steps, "whole": whole}


def shown(console: Console, title: str, runs: list[dict[str, float]]) -> None:
    rows = Table(title=title, box=None, title_justify="left")
    for heading in ("what", *(f"run {number}" for number in range(1, len(runs) + 1)), "median"):
        rows.add_column(heading, justify="left" if heading == "what" else "right")
    for what in runs[0]:
        seconds = [run.get(what, 0.0) for run in runs]
        rows.add_row(what, *(f"{one:.1f}" for one in seconds), f"{statistics.median(seconds):.1f}")
    console.print(rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench --deploy", description=__doc__)
    parser.add_argument("--cluster", default="apollo-slice", help="which lab; one that runs is used and kept")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is made")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: expected 1 or more")
    try:
        way = guide(options.cluster)
    except LabError as err:  # told before a lab is brought up
        parser.error(str(err))
    console = Console(highlight=False, width=120)
    lab = [sys.executable, "-m", "lab"]
    ran = options.cluster in subprocess.run([*lab, "status"], capture_output=True, text=True, cwd=CHECKOUT).stdout
    subprocess.run([*lab, "up", options.cluster], check=True, cwd=CHECKOUT)
    try:
        measure(console, Session(options.cluster), way, options.rounds)
    finally:
        if not ran:
            subprocess.run([*lab, "down", options.cluster], check=False, cwd=CHECKOUT)


def measure(console: Console, session: Session, way: Guide, rounds: int) -> None:
    """Type the guide up to deploy; then the product and the floor in turns."""
    pipeline = {}
    first = next(at for at, command in enumerate(way.commands) if "stage.deploy" in command)
    for command in (each for each in way.commands[:first] if not each.startswith("salt-key")):
        typed = way.write_policy if command == "policy.cfg" else command
        pipeline[command] = timed(lambda typed=typed: session.run(session.master, typed, limit=LIMIT))
    ours, bare = [], []
    for number in range(rounds):
        if number:
            make_bare(session)
        ours.append(product(session))
        floor = floor_of(session, way)  # deploy wrote the ceph.conf that it takes
        make_bare(session)
        bare.append(floor.deploy())
    shown(console, "the guide, seconds a command", [pipeline])
    shown(console, "the floor, seconds from its start", bare)
    shown(console, "ceph.stage.deploy, seconds a step", ours)
    median = {name: statistics.median(run["whole"] for run in runs) for name, runs in (("floor", bare), ("ours", ours))}
    allowed = FACTOR * median["floor"] + GRACE
    osds = sum(map(len, floor.planned.values()))
    kept.row(f"deploy of {osds} OSDs", median["floor"], median["ours"], GOAL)
    console.print(
        f"{osds} OSDs, {floor.at_once} of a node at once: deploy {median['ours']:.1f} s = "
        f"{median['ours'] / median['floor']:.2f} x the floor's {median['floor']:.1f} s; promised {FACTOR} x the floor "
        f"and {GRACE} s = {allowed:.1f} s: {'held' if median['ours'] <= allowed else 'NOT HELD'}"
    )


if __name__ == "__main__":
    main()
