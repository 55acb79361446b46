"""What tells why a host failed, gathered before it is gone."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from docker import DockerClient

from lab import containers
from lab.containers import Done
from lab.guest import guests
from lab.networks import LABEL
from lab.store import Lab

# File name -> command. None of them may hang on a cluster that does.
EVIDENCE = {
    "failed-units.txt": "systemctl --failed --no-legend --plain | while read -r unit rest; do "
    'echo "== $unit"; journalctl -b -u "$unit" -n 200 --no-pager; done',
    "journal.txt": "journalctl -b -n 1000 --no-pager",
    "salt.txt": "tail -n 500 /var/log/salt/*",
    "ceph.txt": "timeout 10 ceph -s; timeout 10 ceph health detail; tail -n 100 /var/log/ceph/*.log",
    "disks.txt": "ls -l /dev/loop* /dev/disk/*; cat /run/udev/data/b*",
}


def collect(client: DockerClient, lab: Lab, folder: Path) -> None:
    """Write the evidence of every running host of a lab below `folder`, and every guest's console."""
    for container in client.containers.list(filters={"label": f"{LABEL}={lab.name}"}):
        _write(folder / container.labels["halocline.host"], partial(containers.run, container))
    for guest in (guest for guest in guests.guests() if guest.lab == lab.name):
        below = folder / guest.name
        if guest.alive:
            _write(below, partial(guest.run, check=False))
        below.mkdir(parents=True, exist_ok=True)
        (below / "console.txt").write_text(guest.console())


def _write(below: Path, run: Callable[..., Done]) -> None:
    """Write what a host says, asked by `run`."""
    below.mkdir(parents=True, exist_ok=True)
    for name, command in EVIDENCE.items():
        done = run(command, limit=60)
        (below / name).write_text(done.out + done.err)
