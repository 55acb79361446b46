"""Whether the machine can carry a cluster. Measured on the shipped clusters with every OSD running."""

import os
from pathlib import Path

from lab.cluster import ClusterFile
from lab.errors import LabError

MASTER, NODE, DISK = 400, 200, 75  # MiB of memory: Salt's master; a container with its minion; an OSD on a disk
IMAGE, NODE_DISK, DISK_DISK = 3000, 300, 60  # MiB of file system: the image; a node's own; what an idle OSD writes


def needs(cluster: ClusterFile) -> tuple[int, int]:
    """MiB of memory and of file system that a cluster takes."""
    hosts, guests = len(cluster.hosts), cluster.guests
    disks = sum(1 for host in cluster.hosts for model in host.slots if not model.mount)
    alone = sum(len(host.slots) for host in guests)  # a guest's memory holds its OSDs
    memory = MASTER + (hosts - len(guests)) * NODE + (disks - alone) * DISK + sum(host.guest for host in guests)
    images = IMAGE * (2 if guests else 1)  # guests have a copy of the containers'
    return memory, images + hosts * NODE_DISK + disks * DISK_DISK


def check_capacity(cluster: ClusterFile) -> None:
    """Raise LabError where the machine has too little free memory or disk for the cluster."""
    memory, disk = needs(cluster)
    free_memory, free_disk = _free_memory(), _free_disk()
    for what, needed, free in (("memory", memory, free_memory), ("disk under /var/lib", disk, free_disk)):
        if free < needed:
            raise LabError(
                f"{cluster.name} needs {needed} MiB of {what}; {free} MiB are free. Choose a smaller cluster."
            )


def _free_memory() -> int:
    lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    return int(lines["MemAvailable"].split()[0]) >> 10


def _free_disk() -> int:
    found = os.statvfs("/var/lib")
    return found.f_bavail * found.f_frsize >> 20
