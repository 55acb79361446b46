"""Disks that come and go while the node runs: `disks`, `pull`, `plug`, `dirty`."""

import json
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docker.models.containers import Container
from rich.console import Console
from rich.table import Table

from lab import containers, daemon, disks, loops
from lab.eject import eject
from lab.errors import LabError
from lab.progress import say
from lab.store import Lab, find, locked

# What lies on a disk that had an earlier life. {disk} is its node, {a} and {b} are fresh uuids.
DIRT = {
    "filesystem": "mkfs.ext4 -q -F -L earlier {disk}",
    "partitions": "sgdisk -n 1:0:+1G -c 1:earlier {disk}",
    "lvm": "pvcreate -q -ff -y {disk} && vgcreate -q earlier {disk}",
    # A whole OSD of a cluster that nobody here knows, made by Ceph itself.
    "ceph": "rm -rf /tmp/earlier && mkdir /tmp/earlier && ln -s {disk} /tmp/earlier/block && "
    "ceph-osd --mkfs -i 99 --osd-uuid {a} --fsid {b} --osd-data /tmp/earlier --no-mon-config "
    "--bluestore-fsck-on-mkfs=false && rm -rf /tmp/earlier",
}


def all_disks(lab: Lab, host: str) -> list[dict]:
    """Every disk that a host ever had, pulled ones too (their `name` is None), by slot and generation."""
    lab.cluster.host(host)
    names = loops.attached(disks.folder(lab, host))
    found = []
    for facts in disks.folder(lab, host).glob("*.json"):
        path = facts.with_suffix(".img")
        found.append({**json.loads(facts.read_text()), "name": names.get(path), "file": str(path)})
    return sorted(found, key=lambda disk: (disk["slot"], disk["generation"]))


def choose(lab: Lab, host: str, which: str, plugged: bool) -> dict:
    """The disk that `which` means: kernel name, serial, WWN, a name below /dev or its slot's number.

    Raises LabError that lists the disks there are to choose from.
    """
    candidates = [disk for disk in all_disks(lab, host) if bool(disk["name"]) == plugged]
    wanted = Path(which).name
    for disk in reversed(candidates):  # of several that were in one slot the newest
        facts = disk["properties"]
        names = {disk["name"], str(disk["slot"]), facts["ID_SERIAL_SHORT"], facts["ID_WWN"]}
        if wanted in names | {Path(link).name for link in disk["links"]}:
            return disk
    there = ", ".join(
        f"{disk['name'] or disk['slot']} ({disk['properties']['ID_SERIAL_SHORT']})" for disk in candidates
    )
    what = "plugged-in" if plugged else "pulled"
    raise LabError(f"{host} has no {what} disk {which}; expected one of: {there or 'none'}.")


@contextmanager
def _chosen(host: str, which: str, cluster: str | None, plugged: bool) -> Iterator[tuple[Lab, Container, dict]]:
    """A lab, a host's container and one of its disks, with the lab locked."""
    with locked():
        lab = find(cluster)
        yield lab, containers.find(daemon.needed(), lab, host), choose(lab, host, which, plugged)


def tell(container: Container) -> None:
    """Have the node look at its list of disks now."""
    container.reload()
    if container.status == "running":
        done = containers.run(container, ["python3", "/usr/local/lib/lab/disks.py", "sync"])
        if done.code:
            raise LabError(f"{container.name}: its disks cannot be brought up to date: {done.err}")


def pull(host: str, which: str, cluster: str | None) -> None:
    """Pull a disk out of a host: what uses it gets errors, its name is gone."""
    with _chosen(host, which, cluster, plugged=True) as (lab, container, disk):
        eject(disk["name"])
        disks.write_list(lab, host)
        tell(container)
    say(f"{host}: {disk['name']} (slot {disk['slot']}, serial {disk['properties']['ID_SERIAL_SHORT']}) is pulled.")


def plug(host: str, which: str, new: bool, cluster: str | None) -> None:
    """Plug a pulled disk back in, or (new) another one of its kind with another serial number in its place."""
    with _chosen(host, which, cluster, plugged=False) as (lab, container, disk):
        slot = disk["slot"]
        if any(other["slot"] == slot and other["name"] for other in all_disks(lab, host)):
            raise LabError(f"{host}: slot {slot} is taken: `pull` the disk in it first.")
        if new:
            last = max(other["generation"] for other in all_disks(lab, host) if other["slot"] == slot)
            disks.make(lab, host, slot, last + 1, lab.cluster.host(host).slots[slot])
        else:
            loops.attach(Path(disk["file"]), disk["rotational"], disk.get("sector", 512))
        disks.write_list(lab, host)
        tell(container)
        disk = choose(lab, host, str(slot), plugged=True)
    say(f"{host}: {disk['name']} (slot {slot}, serial {disk['properties']['ID_SERIAL_SHORT']}) is plugged in.")


def dirty(host: str, which: str, kind: str, cluster: str | None) -> None:
    """Leave traces of an earlier life on a disk; kind is a key of DIRT."""
    with _chosen(host, which, cluster, plugged=True) as (_, container, disk):
        command = DIRT[kind].format(disk=f"/dev/{disk['name']}", a=uuid.uuid4(), b=uuid.uuid4())
        done = containers.run(container, command)
        if done.code:
            raise LabError(f"{host}: {disk['name']} cannot be made dirty:\n{done.err.strip()}")
    say(f"{host}: {disk['name']} carries {kind} of an earlier life.")


def show(host: str, cluster: str | None) -> None:
    """Print a host's disks, pulled ones too."""
    table = Table("slot", "disk", "class", "size", "model", "serial", "WWN", "by-path")
    lab = find(cluster)
    for disk in all_disks(lab, host):
        facts = disk["properties"]
        kind = "nvme" if facts["ID_BUS"] == "nvme" else "hdd" if disk["rotational"] else "ssd"
        size = f"{Path(disk['file']).stat().st_size / 1e9:.0f} GB"
        identity = (facts["ID_MODEL"], facts["ID_SERIAL_SHORT"], facts["ID_WWN"], facts["ID_PATH"])
        table.add_row(str(disk["slot"]), disk["name"] or "(pulled)", kind, size, *identity)
    Console(width=None if sys.stdout.isatty() else 160).print(table)  # a pipe has no width to fit
