"""What a run left out, said at its end: what the cluster knows already is a warning, what was not made an error."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from proposals.text.names import is_device
from proposals.text.notes import NAMED, counted, several

AGAIN = "run the stage again"
STARTS = f"start its salt-minion and {AGAIN}"
ENDS = "'salt-run maintenance.end {}' ends it, then " + AGAIN
PLUG = "plug it in, or let 'salt-run osd.replace {}' free its place for another one"
SHARED = "plug it in, or give up all OSDs behind it together: 'salt-run osd.replace host={} device={}'"
NEW = f"plug one in, run ceph.stage.discovery, proposal.populate and ceph.stage.configure, then {AGAIN}"


class Left(NamedTuple):
    """One line: about whom, what was left out, what to do; ``lost`` where it was asked for and could not be made."""

    hosts: tuple[str, ...]
    message: str
    fix: str
    lost: bool

    def text(self) -> str:
        """The line as a person reads it."""
        hosts = f"{several(list(self.hosts))}: " if self.hosts else ""
        return f"{hosts}left out: {self.message}; {self.fix}"

    def as_dict(self) -> dict[str, object]:
        """It in the form of a check's finding (``validation.check``)."""
        severity = "error" if self.lost else "warning"
        about = {"check": "left_out", "severity": severity, "hosts": list(self.hosts)}
        return {**about, "message": f"left out: {self.message}", "fix": self.fix}


@dataclass(frozen=True)
class Cluster:
    """What is planned and what the cluster has of it.

    planned
        The data disk of each planned OSD: ``{minion: {fsid: disk}}``.
    absent
        What the hosts that answer say of OSDs whose disks are gone: ``{minion: {fsid: why}}``.
    osds
        The number of each OSD that the cluster knows, by fsid.
    waiting
        By minion: the numbers of destroyed OSDs, which wait for another disk.
    monitors
        ``{minion: host name}`` of those planned.
    names
        The monitors of the cluster's map.
    managers
        The minions that are to be managers. The cluster forgets one that is gone: it counts as made where the cluster
        knows another daemon of its host.
    """

    planned: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    absent: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    osds: Mapping[str, int] = field(default_factory=dict)
    waiting: Mapping[str, Sequence[int]] = field(default_factory=dict)
    monitors: Mapping[str, str] = field(default_factory=dict)
    names: Sequence[str] = ()
    managers: Sequence[str] = ()

    def unmade(self, minion: str) -> list[str]:
        """What is planned on a host and not in the cluster, in words."""
        osds = sum(fsid not in self.osds for fsid in self.planned.get(minion, ()))
        monitor = minion in self.monitors and self.monitors[minion] not in self.names
        manager = minion in self.managers and not self.made(minion)
        daemons = [*(["its monitor"] if monitor else []), *(["its manager"] if manager else [])]
        return [*daemons, *([counted(osds, "OSD")] if osds else [])]

    def made(self, minion: str) -> list[str]:
        """What the cluster has of a host: its daemons' names."""
        monitor = self.monitors.get(minion)
        osds = sorted(self.osds[fsid] for fsid in self.planned.get(minion, ()) if fsid in self.osds)
        return [*([f"mon.{monitor}"] if monitor in self.names else []), *(f"osd.{osd_id}" for osd_id in osds)]


def judged(
    left: Mapping[str, str], failed: Iterable[str], cluster: Cluster | None, maintenance: Collection[str] = ()
) -> list[Left]:
    """Return a line for each host and disk that was left out; hosts with the same one share it.

    left
        Why each host was left out.
    failed
        Those of them that answered and failed.
    cluster
        Where the stage was to make daemons; None where it makes none.
    maintenance
        The hosts that are left alone, as they are in maintenance: nothing was asked of them.
    """
    few, said = len(left) <= NAMED, set(failed)
    alone = {
        minion: Left((minion,), left[minion], ENDS.format(minion), lost=False)
        for minion in maintenance
        if minion in left
    }
    lines = [
        alone.get(minion) or _host(minion, why, minion in said, cluster, few) for minion, why in sorted(left.items())
    ]
    if cluster:
        for minion, absent in sorted(cluster.absent.items()):
            if minion not in left:
                lines += _disks(minion, absent, cluster)
        lines += _forgotten(left, cluster)
    hosts: dict[tuple, list[str]] = {}
    for line in lines:
        hosts.setdefault(line[1:], []).extend(line.hosts)
    return [Left(tuple(names), *line) for line, names in hosts.items()]


def _host(minion: str, why: str, failed: bool, cluster: Cluster | None, few: bool) -> Left:
    """What is said of one host; where there are few, with the names of its daemons."""
    if failed:
        return Left((minion,), why, f"mend that and {AGAIN}", lost=True)
    if cluster and (unmade := cluster.unmade(minion)):
        return Left((minion,), f"{why}, and {', '.join(unmade)} could not be made", STARTS, lost=True)
    made = cluster.made(minion) if cluster else []
    known = f"; the cluster knows its {', '.join(made) if few else 'daemons'}" if made else ""
    return Left((minion,), f"{why}{known}", STARTS, lost=False)


def _disks(minion: str, absent: Mapping[str, str], cluster: Cluster) -> Iterable[Left]:
    """OSDs of a host that answers, whose disks are gone."""
    waiting = list(cluster.waiting.get(minion, ()))
    for fsid, why in sorted(absent.items()):
        if fsid in cluster.osds:
            osd_id = cluster.osds[fsid]
            yield Left((minion,), f"osd.{osd_id}: {why}", _plug(minion, osd_id, fsid, why, cluster), lost=False)
        elif waiting:
            yield Left((minion,), f"osd.{waiting.pop(0)} is destroyed and waits for another disk", NEW, lost=False)
        else:
            yield Left((minion,), f"an OSD that is not made yet: {why}", NEW, lost=True)


def _plug(minion: str, osd_id: int, fsid: str, why: str, cluster: Cluster) -> str:
    """What to do about an OSD of which a disk is gone: its data disk, or a DB or WAL device, which it names first."""
    device = why.partition(" ")[0]
    if device == cluster.planned.get(minion, {}).get(fsid) or not is_device(device):
        return PLUG.format(osd_id)
    return SHARED.format(minion, device)


def _forgotten(left: Mapping[str, str], cluster: Cluster) -> Iterable[Left]:
    """OSDs of hosts that took part and are not in the cluster, though nobody said why."""
    for minion, osds in sorted(cluster.planned.items()):
        absent = cluster.absent.get(minion, {})
        if minion not in left and (lost := [fsid for fsid in osds if fsid not in cluster.osds and fsid not in absent]):
            yield Left((minion,), f"{counted(len(lost), 'OSD')} could not be made", AGAIN, lost=True)
