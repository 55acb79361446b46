"""What tells why a host failed, gathered before it is gone."""

from pathlib import Path

from docker import DockerClient

from lab import containers
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
    """Write the evidence of every running host of a lab below `folder`."""
    for container in client.containers.list(filters={"label": f"{LABEL}={lab.name}"}):
        below = folder / container.labels["halocline.host"]
        below.mkdir(parents=True, exist_ok=True)
        for name, command in EVIDENCE.items():
            done = containers.run(container, command, limit=60)
            (below / name).write_text(done.out + done.err)
