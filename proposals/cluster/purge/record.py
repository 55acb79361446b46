"""How far a cluster was taken apart: the master's own record, as the monitors that keep others go away themselves."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from proposals.cluster.purge.disks import Disk
from proposals.text.errors import StoreError

# In this order; each may be repeated, whatever interrupted it. Of BEGUN alone nothing was stopped yet.
BEGUN, RELEASE, WIPE, FILES, ARCHIVE = "begun", "release", "wipe", "files", "archive"
STOPS = ("services", "mds", "mgr", "osd", "mon")
STEPS = (BEGUN, *STOPS, RELEASE, WIPE, FILES, ARCHIVE)
LAST = ("mon", "crash")  # parts that stop with the monitors: a daemon's last crash is still posted


@dataclass(frozen=True)
class Record:
    """What is kept of a cluster that is taken apart.

    fsid
        The cluster's.
    since, user
        When it began, as ISO 8601 has it, and who typed it.
    step
        The one of ``STEPS`` that was begun last.
    hosts
        What is taken apart, by minion, as ``pillar.named`` has it.
    left
        Minions that are left as they are, by name.
    disks
        The disks of this cluster's OSDs by minion, as they were found before the first daemon stopped.
    others
        The fsids of other clusters that were seen beside it.
    wiped
        Those of its disks that were wiped, as ``MINION ID``.
    """

    fsid: str
    since: str
    user: str
    step: str
    hosts: Mapping[str, Mapping]
    left: tuple[str, ...]
    disks: Mapping[str, tuple[Disk, ...]]
    others: tuple[str, ...] = ()
    wiped: tuple[str, ...] = ()

    def at(self, step: str) -> "Record":
        """It at another step."""
        return replace(self, step=step)

    def without(self, minions: Collection[str]) -> "Record":
        """It with some hosts left as they are from now on."""
        hosts = {minion: host for minion, host in self.hosts.items() if minion not in minions}
        return replace(self, hosts=hosts, left=tuple(sorted({*self.left, *minions})))

    def since_then(self, lines: str) -> "Record":
        """It with the disks that were wiped since it was written, a line each; one that was cut off is none."""
        return replace(self, wiped=tuple(dict.fromkeys((*self.wiped, *lines.split("\n")[:-1]))))

    @property
    def whole(self) -> list[tuple[str, Disk]]:
        """The disks that were not wiped, of hosts that are not left."""
        every = [(minion, disk) for minion, disks in sorted(self.disks.items()) for disk in disks]
        wiped = set(self.wiped)
        return [(minion, disk) for minion, disk in every if minion in self.hosts and key(minion, disk) not in wiped]

    def text(self) -> str:
        """It as it is kept: JSON."""
        disks = {minion: [disk.as_dict() for disk in listed] for minion, listed in self.disks.items()}
        return json.dumps({**vars(self), "disks": disks}, indent=1)


def key(minion: str, disk: Disk) -> str:
    """Return how a disk is told from all others."""
    return f"{minion} {disk.id}"


def read(text: str, path: str) -> Record:
    """Return a record from its text. Raises StoreError for another form."""
    try:
        told: dict[str, Any] = json.loads(text)
        disks = {minion: tuple(Disk.read(disk) for disk in listed) for minion, listed in told["disks"].items()}
        lists = {name: tuple(told[name]) for name in ("left", "others", "wiped")}
        record = Record(**{**told, **lists, "disks": disks})
        STEPS.index(record.step)
    except (AttributeError, KeyError, TypeError, ValueError) as err:
        raise StoreError(
            f"{path} is no record of a cluster that is taken apart ({err}): put it back from a copy of the master"
        ) from err
    return record


def parts(host: Mapping, step: str) -> list[str]:
    """Return the parts of a host whose daemons one of ``STOPS`` stops; OSDs are none."""
    known = sorted(host["parts"])
    if step == "services":
        return [part for part in known if part not in (*STOPS, *LAST)]
    return [part for part in known if part in (LAST if step == "mon" else (step,))]
