"""Salt in the lab: each node's settings, keys accepted the way an admin does, the wait for every minion."""

import json
import time

from docker.models.containers import Container

from lab import containers
from lab.cluster import Cluster, Host
from lab.errors import LabError

# A minion whose key was just accepted asks again soon: a lab has no thousands of minions to protect a master from.
MINION = "master: {master}\nacceptance_wait_time: 1\nrandom_reauth_delay: 1\n"
PING = "salt --static --out json -t 3 -L {} test.ping"
LIMIT = 120  # seconds for keys, and again for answers


def files(cluster: Cluster, host: Host) -> dict[str, str]:
    """What makes a node this minion of this master: path -> text."""
    return {
        "/etc/salt/minion_id": host.name,
        "/etc/salt/minion.d/lab.conf": MINION.format(master=cluster.master.name),
    }


def start(container: Container, host: Host) -> None:
    """Let the node's Salt run, now and after each boot."""
    units = [*(["salt-master"] if host.master else []), "salt-minion"]
    done = containers.run(container, ["systemctl", "enable", "--now", "--no-block", *units])
    if done.code:
        raise LabError(f"{host.name}: Salt does not start: {done.err.strip()}")


def wait_for_keys(master: Container, names: set[str], limit: float = LIMIT) -> None:
    """Wait until every minion has shown the master its key, accepted already or not."""
    deadline = time.monotonic() + limit
    while True:
        listed = containers.run(master, "cd /etc/salt/pki/master && ls minions_pre minions 2>/dev/null")
        missing = names - set(listed.out.split())
        if not missing:
            return
        if time.monotonic() > deadline:
            raise LabError(f"no key after {limit:.0f} s from {', '.join(sorted(missing))}: `python -m lab logs HOST`.")
        time.sleep(0.3)


def accept(master: Container, names: set[str]) -> None:
    """Accept the keys of these minions, as the guide does, and see that they are accepted."""
    containers.run(master, "echo | salt-key --accept-all")
    missing = names - accepted(master)
    if missing:
        raise LabError(f"salt-key accepted no key of {', '.join(sorted(missing))}.")


def accepted(master: Container) -> set[str]:
    """Minions whose keys the master has accepted."""
    return set(containers.run(master, "ls /etc/salt/pki/master/minions 2>/dev/null").out.split())


def wait_for_answers(master: Container, names: set[str], limit: float = LIMIT) -> None:
    """Wait until every minion answers test.ping."""
    deadline = time.monotonic() + limit
    while True:
        answers = containers.run(master, PING.format(",".join(names)))
        missing = names - _answered(answers.out)
        if not missing:
            return
        if time.monotonic() > deadline:
            raise LabError(
                f"no answer after {limit:.0f} s from {', '.join(sorted(missing))}: `python -m lab logs HOST`."
            )


def _answered(text: str) -> set[str]:
    try:
        data = json.loads(text)
    except ValueError:  # the master is not up yet: salt speaks of that, not JSON
        return set()
    return {name for name, answer in data.items() if answer is True}


def _silent(what: str, limit: float, names: set[str]) -> str:
    return f"no {what} after {limit:.0f} s from {', '.join(sorted(names))}: `python -m lab logs HOST` may say why."
