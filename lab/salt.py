"""Salt in the lab: each node's settings and units, keys, the wait for every minion."""

import json
import time
from contextlib import suppress
from pathlib import Path

from docker.models.containers import Container

from lab import containers
from lab.cluster import ClusterFile, Node
from lab.errors import LabError

# A minion asks again soon, for its master's name too: a lab has no thousands of minions to protect a master from.
MINION = "master: {master}\nretry_dns: 1\nacceptance_wait_time: 1\nrandom_reauth_delay: 1\n"
WANTED = "/etc/systemd/system/multi-user.target.wants"  # as `systemctl enable` would have it
AWAITED = "/etc/salt/pki/master/minions_autosign"  # Salt's own folder of names whose keys are accepted, once each
CONNECTED = "until [ $(ss -Htn state established sport = :4505 | wc -l) -ge {0} ]; do sleep 0.2; done"
# Salt asks a silent minion again and again for some 20 s: cut that short, the next try may find it there.
PING = "timeout {0} salt --static --out json -t {0} -L {1} test.ping || true"
FIRST_PATIENCE, LAST_PATIENCE = 4, 32  # seconds
LIMIT = 120  # seconds for keys, and again for answers


def files(cluster: ClusterFile, host: Node) -> dict[str, str]:
    """What makes a node this minion of this master: path -> text."""
    return {
        "/etc/salt/minion_id": host.name,
        "/etc/salt/minion.d/lab.conf": MINION.format(master=cluster.master.name),
    }


def units(host: Node) -> dict[str, Path]:
    """What starts a node's Salt at each boot, the first one too: path -> where the link leads."""
    names = ["salt-master", "salt-minion"] if host.master else ["salt-minion"]
    return {f"{WANTED}/{name}.service": Path(f"/etc/systemd/system/{name}.service") for name in names}


def awaited(names: set[str]) -> dict[str, str]:
    """What lets a master accept these minions' keys as they come, once each: path -> text.

    It is to be there before the master starts: a master that finds the folder made by another between its look and its
    own mkdir ends itself.
    """
    return {f"{AWAITED}/{name}": "" for name in sorted(names)}


def wait_for_connections(master: Container, names: set[str], limit: float = LIMIT) -> None:
    """Wait until as many minions listen to the master, `limit` seconds at most: a ping before that is lost on them."""
    with suppress(LabError):  # which of them is silent, the ping tells
        containers.run(master, CONNECTED.format(len(names)), limit)


def wait_for_keys(master: Container, names: set[str], limit: float = LIMIT) -> None:
    """Wait until every minion has shown the master its key, accepted already or not."""
    deadline = time.monotonic() + limit
    while True:
        listed = containers.run(master, "cd /etc/salt/pki/master && ls minions_pre minions 2>/dev/null")
        missing = names - set(listed.out.split())
        if not missing:
            return
        if time.monotonic() > deadline:
            raise LabError(_silent("key", limit, missing))
        time.sleep(0.3)


def accept(master: Container, names: set[str], limit: float = LIMIT) -> None:
    """Accept the keys of these minions, as the guide does, and see that they are accepted.

    Again where need be: a minion that asks right then is written down as pending once more, by a master's worker that
    read its state before (salt/channel/server.py, ReqServerChannel._auth). Seen on a loaded machine.
    """
    deadline = time.monotonic() + limit
    while True:
        containers.run(master, "echo | salt-key --accept-all")
        missing = names - accepted(master)
        if not missing:
            return
        if time.monotonic() > deadline:
            raise LabError(f"salt-key accepted no key of {', '.join(sorted(missing))}.")


def accepted(master: Container) -> set[str]:
    """Minions whose keys the master has accepted, and not written down as pending again."""
    listed = containers.run(master, "cd /etc/salt/pki/master && ls minions; echo /; ls minions_pre").out
    known, _, pending = listed.partition("/")
    return set(known.split()) - set(pending.split())


def wait_for_answers(master: Container, names: set[str], limit: float = LIMIT, patience: int = FIRST_PATIENCE) -> None:
    """Wait until every minion answers test.ping, of which the first is given up after `patience` seconds."""
    deadline = time.monotonic() + limit
    while True:
        missing = names - _answered(containers.run(master, PING.format(patience, ",".join(names))).out)
        if not missing:
            return
        if time.monotonic() > deadline:
            raise LabError(_silent("answer", limit, missing))
        if missing - accepted(master):
            accept(master, missing)
        patience = min(2 * patience, LAST_PATIENCE)


def _answered(text: str) -> set[str]:
    try:
        data = json.loads(text)
    except ValueError:  # cut short, or the master is not up yet and salt speaks of that
        return set()
    return {name for name, answer in data.items() if answer is True}


def _silent(what: str, limit: float, names: set[str]) -> str:
    return f"no {what} after {limit:.0f} s from {', '.join(sorted(names))}."
