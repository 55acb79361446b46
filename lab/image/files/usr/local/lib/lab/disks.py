"""Stands in for udev inside a lab node, for this node's own disks only.

The machine's loop devices show in every container's /sys, but a container has no udevd: nobody makes device
nodes, links or udev's database there. This does, from the list that the lab puts at /etc/lab/disks.json:
it follows the kernel's events, looks again every few seconds in case one was missed, and tells systemd when
it is ready, before anything of Ceph or Salt starts. `disks.py sync` looks once and returns.
Standard library only: it runs on the node's own Python.
"""

import fcntl
import grp
import json
import os
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import table
import view
import watch

LIST = Path("/etc/lab/disks.json")
DEV = Path("/dev")
DATABASE = Path("/run/udev/data")
RECORD = Path("/run/lab-disks.json")  # what was made, so that what has gone can be taken away
LOCK = Path("/run/lab-disks.lock")
UEVENT_PROTOCOL, KERNEL_GROUP = 15, 1  # NETLINK_KOBJECT_UEVENT; group 1 is the kernel's own voice
POLL = 3.0  # seconds
TRIES = 40  # looks while partitions come and go
Devices = dict[str, tuple[dict, str | None, list[str]]]  # kernel name -> (disk, partition number, what marks a change)


def partitions(name: str) -> list[str]:
    """The kernel's partition devices of a disk, as /sys shows them now."""
    return sorted(path.parent.name for path in (view.REAL / name).glob(f"{name}p*/partition"))


def disk_of(name: str) -> str:
    """loop48p1 is a partition of loop48, and loop48 no partition 48 of "loo"."""
    return re.sub(r"(?<=\d)p\d+$", "", name)


def attribute(name: str, key: str) -> str:
    disk = disk_of(name)
    return (view.REAL / disk / (name if name != disk else "") / key).read_text().strip()


def probe(node: Path) -> dict[str, str]:
    """ID_PART_* and ID_FS_* of a device, from the same probe that udev uses."""
    answer = subprocess.run(["blkid", "-p", "-o", "udev", str(node)], capture_output=True, text=True, check=False)
    return dict(line.split("=", 1) for line in answer.stdout.splitlines() if "=" in line)


def links_of(disk: Mapping, number: str | None, probed: Mapping[str, str]) -> list[str]:
    """The /dev/disk links of a disk (number None) or of its partition, named as udev's rules name them."""
    links = [link if number is None else f"{link}-part{number}" for link in disk["links"]]
    for key, folder in (
        ("ID_PART_ENTRY_UUID", "by-partuuid"),
        ("ID_PART_ENTRY_NAME", "by-partlabel"),
        ("ID_FS_UUID_ENC", "by-uuid"),
        ("ID_FS_LABEL_ENC", "by-label"),
    ):
        if probed.get(key):
            links.append(f"disk/{folder}/{probed[key].replace('/', '%2F')}")
    return links


def wanted_disks(disks: Sequence[dict]) -> Devices:
    """The disks this node should have: kernel name -> (disk, partition number None, what marks a change)."""
    present = [disk for disk in disks if (view.REAL / disk["name"] / "size").exists()]
    marks = {disk["name"]: [attribute(disk["name"], "size"), *disk["links"]] for disk in present}
    return {disk["name"]: (disk, None, marks[disk["name"]]) for disk in present if marks[disk["name"]][0] != "0"}


def wanted_partitions(disks: Devices) -> Devices:
    """The partitions of these disks, in the same form."""
    devices: Devices = {}
    for disk, _, _ in disks.values():
        for name in partitions(disk["name"]):
            mark = [attribute(name, key) for key in ("dev", "start", "size")]
            devices[name] = (disk, attribute(name, "partition"), mark)
    return devices


def point(link: Path, node: Path) -> None:
    """Make a link to a node, in one step: as with udev there is no moment without it, for a daemon opens it then."""
    link.parent.mkdir(parents=True, exist_ok=True)
    target = Path(os.path.relpath(node, link.parent))
    if link.is_symlink() and link.readlink() == target:
        return
    draft = link.with_name(f".{link.name}")
    draft.unlink(missing_ok=True)
    draft.symlink_to(target)
    draft.replace(link)


def make(name: str, disk: Mapping, number: str | None) -> list[str]:
    """Make one device's node, links and database entry; returns its paths but for the node."""
    node, (major, minor) = DEV / name, map(int, attribute(name, "dev").split(":"))
    if not node.exists() or node.stat().st_rdev != os.makedev(major, minor):
        node.unlink(missing_ok=True)
        os.mknod(node, stat.S_IFBLK | 0o660, os.makedev(major, minor))
        node.chmod(0o660)  # mknod minds the umask
        os.chown(node, 0, grp.getgrnam("disk").gr_gid)
    probed = probe(node)
    links = links_of(disk, number, probed)
    for link in links:
        point(DEV / link, node)
    entry = DATABASE / f"b{major}:{minor}"
    lines = [f"S:{link}" for link in links] + ["I:1"]
    lines += [f"E:{key}={value}" for key, value in {**disk["properties"], **probed}.items()] + ["G:systemd", "V:1"]
    entry.parent.mkdir(parents=True, exist_ok=True)
    draft = entry.with_name(f".{entry.name}")
    draft.write_text("\n".join(lines) + "\n")
    draft.replace(entry)
    return [str(DEV / link) for link in links] + [str(entry)]


def update(devices: Devices, record: Mapping[str, dict], changed: Collection[str], made: dict[str, dict]) -> list[str]:
    """Make those devices that are new or changed, note all in `made`; returns the names of those it made."""
    fresh = []
    for name, (disk, number, mark) in devices.items():
        old = record.get(name)
        if old and old["mark"] == mark and name not in changed and (DEV / name).exists():
            made[name] = old
        else:
            made[name] = {"mark": mark, "paths": make(name, disk, number)}
            fresh.append(name)
    return fresh


def sync(changed: Collection[str] = ()) -> tuple[list[dict], list[str]]:
    """Make what is missing, look again at devices in `changed`, take away what has gone."""
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        disks = json.loads(LIST.read_text())["disks"] if LIST.exists() else []
        record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
        made: dict[str, dict] = {}
        whole = wanted_disks(disks)
        view.show(whole | wanted_partitions(whole))
        for name in update(whole, record, changed, made):
            table.apply(name)
        parts = wanted_partitions(whole)
        view.show(whole | parts)
        update(parts, record, changed, made)
        kept = {path for entry in made.values() for path in entry["paths"]}
        for name, entry in record.items():
            gone = set(entry["paths"]) - kept | ({str(DEV / name)} if name not in made else set())
            for path in gone:
                Path(path).unlink(missing_ok=True)
        if made != record:
            RECORD.write_text(json.dumps(made))
        return disks, list(made)


def settle(changed: Collection[str]) -> tuple[list[dict], list[str]]:
    """`sync`, again where a partition went while it was looked at: a table is being read anew just then."""
    for _ in range(TRIES):
        try:
            return sync(changed)
        except FileNotFoundError:
            changed = everything()
            time.sleep(0.05)
    return sync(changed)


def everything() -> set[str]:
    """All names that were made: looked at again, whatever the record says."""
    return set(json.loads(RECORD.read_text())) if RECORD.exists() else set()


def mount_boot(disks: Sequence[Mapping]) -> None:
    """Mount the first partition of the disks that the cluster file gives a mount point."""
    for disk in disks:
        target = disk.get("mount")
        if target and not os.path.ismount(target):
            Path(target).mkdir(parents=True, exist_ok=True)
            subprocess.run(["mount", "-t", "ext4", f"/dev/{disk['name']}p1", target], check=False)


def tell_systemd() -> None:
    if address := os.environ.get("NOTIFY_SOCKET"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.sendto(b"READY=1", address.replace("@", "\0", 1) if address[0] == "@" else address)


def heard(events: socket.socket) -> set[str]:
    """Kernel names of the block devices that the waiting events speak of, and of disks that lost a partition."""
    names = set()
    while select.select([events], [], [], 0)[0]:
        words = events.recv(65536).decode(errors="replace").split("\0")
        event = dict(word.split("=", 1) for word in words if "=" in word)
        if event.get("SUBSYSTEM") == "block":
            names.add(event["DEVNAME"])
            if event["ACTION"] == "remove":  # a kernel without parsers drops them all at each "read again"
                names.add(disk_of(event["DEVNAME"]))
    return names


def heard_of(own: Collection[str], events: socket.socket, writes: watch.Writes) -> set[str]:
    """What has changed on disks of this node, as soon as anything has; empty after a while. Every node hears of every
    disk of the machine: looking at its own at each word of another's took an eighth of all processor time of a deploy.
    """
    end = time.monotonic() + POLL
    while (left := end - time.monotonic()) > 0:
        ready, _, _ = select.select([events, writes.descriptor], [], [], left)
        changed = heard(events) if events in ready else set()
        changed |= writes.closed() if writes.descriptor in ready else set()
        if any(disk_of(name) in own for name in changed):
            return changed
    return set()


def follow() -> NoReturn:
    """Run for ever, after one full look."""
    events = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, UEVENT_PROTOCOL)
    events.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
    events.bind((0, KERNEL_GROUP))
    writes = watch.Writes()
    view.cover()
    disks, names = settle(everything())
    mount_boot(disks)
    tell_systemd()
    while True:
        writes.follow(DEV / name for name in names)
        changed = heard_of({disk["name"] for disk in disks}, events, writes)
        # A written table shows in each partition's entry too.
        changed |= {other for other in names for name in changed if other.startswith(f"{name}p")}
        disks, names = settle(changed)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if sys.argv[1:] == ["sync"]:
        sync()
    else:
        follow()
