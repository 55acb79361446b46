"""A run with nothing to do beside the floor: the same salt-run with one step, one `test.nop` on the same minions
(``lab/site/salt/bench``).

The guide is typed once, then each stage of it again, and all of them as one (``ceph.stage.all``), in one lab and one
run. Seconds as an admin waits for them.
"""

import json
import statistics
import time

import kept
from rich.console import Console

from lab.guide import guide
from lab.session import Session

STAGES = ("prep", "discovery", "configure", "deploy", "services")
GOAL, TOGETHER = 2.0, 15.0  # times the floor, and seconds of all five
ROUNDS = 3
SHOWN = 0.1  # seconds of a step that is told


def measure(cluster: str, console: Console) -> None:
    """Type a lab's guide, then each stage again; rows of the table, one a stage."""
    session, way = Session(cluster), guide(cluster)
    for command in way.commands:
        if not command.startswith(("salt-key", "salt-run pool")):
            session.run(session.master, way.write_policy if command == "policy.cfg" else command, limit=1800)
    stages = {stage: f"salt-run state.orch ceph.stage.{stage} --out quiet" for stage in (*STAGES, "all")}
    commands = {"test.ping": "salt '*' test.ping", "floor": "salt-run state.orch bench.floor --out quiet", **stages}
    seconds = {what: statistics.median(took(session, command)) for what, command in commands.items()}
    for stage in STAGES:
        kept.row(f"{stage}, second run", seconds["floor"], seconds[stage], GOAL)
    kept.row("five stages, second run, beside the goal", TOGETHER, sum(seconds[stage] for stage in STAGES), 1)
    kept.row("five stages as one, second run, beside the goal", TOGETHER, seconds["all"], 1)
    told = ", ".join(f"{what} {one:.1f}" for what, one in seconds.items())
    console.print(f"\n{cluster}, nothing to do, seconds, medians of {ROUNDS}: {told}")
    for stage in stages:
        console.print(f"{stage}: {shares(session, stage)}")


def shares(session: Session, stage: str) -> str:
    """The seconds of each step of a stage's last run, the slowest first, by its run log."""
    log = session.run(session.master, f"cat $(ls -t /var/log/halocline/{stage}-*.jsonl | head -1)").out
    records = [json.loads(line) for line in log.splitlines()]
    steps = sorted(((one["seconds"], one["step"]) for one in records if one["event"] == "result"), reverse=True)
    return ", ".join(f"{name} {seconds:.1f}" for seconds, name in steps if seconds >= SHOWN)


def took(session: Session, command: str) -> list[float]:
    """Seconds of some runs of a command, after one that is not counted: what the guide left may settle in it."""
    seconds = []
    for _ in range(ROUNDS + 1):
        start = time.monotonic()
        session.run(session.master, command, limit=1800)
        seconds.append(time.monotonic() - start)
    return seconds[1:]
