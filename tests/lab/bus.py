"""What a command costs in Salt jobs, counted on the master's event bus."""

import json
from dataclasses import dataclass

from lab.containers import Done
from lab.session import Session

# Writes the jobs published on the bus, a line each, until it is ended; says first that it listens.
LISTEN = r"""
import json, os, sys
import salt.config, salt.utils.event
opts = salt.config.master_config("/etc/salt/master")
with open("/tmp/bus.jobs", "w") as jobs, salt.utils.event.get_event("master", opts=opts, listen=True) as bus:
    open("/tmp/bus.pid", "w").write(str(os.getpid()))
    while True:
        event = bus.get_event(wait=1, full=True, tag="salt/job/")
        if event and event["tag"].endswith("/new"):
            data = event["data"]
            print(json.dumps({key: data.get(key) for key in ("fun", "minions", "jid")}), file=jobs, flush=True)
"""
ENDED = "while kill -0 $(cat /tmp/bus.pid) 2>/dev/null; do sleep 0.1; done"


@dataclass(frozen=True)
class Cost:
    """How a command ended and the Salt jobs that it published; `find_job`, Salt's own asking, is none."""

    done: Done
    jobs: tuple[dict, ...]

    @property
    def minions(self) -> set[str]:
        """Every minion that got a job."""
        return {minion for job in self.jobs for minion in job["minions"]}


def cost(session: Session, command: str, check: bool = True) -> Cost:
    """Run a command on the master and see what it costs."""

    def run(words: str | list[str], check: bool = True) -> Done:
        return session.run(session.master, words, check=check, limit=900)

    run("rm -f /tmp/bus.pid /tmp/bus.jobs")
    run(["sh", "-c", 'setsid /opt/salt/bin/python -c "$0" </dev/null >/tmp/bus.log 2>&1 &', LISTEN])
    run("for i in $(seq 300); do test -s /tmp/bus.pid && exit; sleep 0.1; done; cat /tmp/bus.log; exit 1")
    try:
        done = run(command, check=check)
        run("sleep 1")  # what was published last is on its way
    finally:
        run(f"kill $(cat /tmp/bus.pid); {ENDED}")
    jobs = [json.loads(line) for line in run("cat /tmp/bus.jobs").out.splitlines()]
    return Cost(done, tuple(job for job in jobs if job["fun"] != "saltutil.find_job"))
