"""A node's power: stop and start. Its disks, identity and data stay."""

from lab import containers, daemon, salt
from lab.progress import step
from lab.store import find, locked
from lab.up import wait_for_systemd

STOP_LIMIT = 60  # seconds that systemd gets for a clean shutdown


def stop(host: str, cluster: str | None) -> None:
    """Shut a node down cleanly."""
    with locked():
        lab = find(cluster)
        container = containers.find(daemon.needed(), lab, host)
        with step(f"stop {host}"):
            container.stop(timeout=STOP_LIMIT)
        lab.stopped = sorted({*lab.stopped, host})
        lab.save()


def start(host: str, cluster: str | None) -> None:
    """Start a stopped node; its units come back by themselves."""
    with locked():
        lab = find(cluster)
        client = daemon.needed()
        container = containers.find(client, lab, host)
        with step(f"start {host}"):
            container.start()
            wait_for_systemd(container)
        lab.stopped = [name for name in lab.stopped if name != host]
        lab.save()
        master = containers.find(client, lab, lab.cluster.master.name)
        if master.status == "running" and host in salt.accepted(master):
            with step(f"wait until {host} answers test.ping"):
                salt.wait_for_answers(master, {host})
