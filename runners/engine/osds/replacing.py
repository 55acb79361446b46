"""OSDs that are given up with their disk, or with the DB or WAL device that they share; their numbers stay."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from proposals.cluster import shared_device
from proposals.cluster.health import judge
from proposals.cluster.removal import room
from proposals.cluster.removal.items import Item
from proposals.files.site import site
from proposals.inventory import inventory, kept, waiting
from proposals.inventory import spares as hot_spares
from proposals.pillar import adopted, named
from proposals.text import argument_readers, form, names
from proposals.text.errors import ArgumentError, ProposalError
from proposals.text.notes import counted
from proposals.text.sizes import rounded
from runners.engine.asking import jobs, minions, planned
from runners.engine.cluster import health, spared
from runners.engine.removal import leaving
from runners.engine.runs import one_at_a_time, stage_log

LIE = "osd_plan.osds"
LEAVE = 60  # seconds without progress after which Ceph's no stands, once OSDs have stopped
STOPPED = "they are stopped: ceph.stage.deploy starts those whose disks are there again"


@dataclass(frozen=True)
class Osd:
    """An OSD that is given up: ``alive`` where the cluster has it still; ``place`` is what is kept for it."""

    id: int
    fsid: str
    alive: bool
    place: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Look:
    """OSDs of one host that are given up together, and the device that they share; None for the data disk of one."""

    minion: str
    osds: tuple[Osd, ...]
    device: str | None = None

    @property
    def alive(self) -> list[int]:
        """The numbers of those that are not destroyed yet."""
        return [osd.id for osd in self.osds if osd.alive]

    @property
    def names(self) -> str:
        """All of them, by name."""
        return ", ".join(f"osd.{osd.id}" for osd in self.osds)


def one(opts: Mapping, osd_id: int) -> Look:
    """Look at an OSD whose disk is to be replaced; ArgumentError where the cluster has none of that number."""
    osd = next((osd for osd in _states(opts) if osd["id"] == osd_id), None)
    if osd is None:
        return _purged(opts, osd_id)
    adopted.refuse(planned.adopted_osds(site(opts)), osd["fsid"], "osd.replace")
    alive = osd["state"] != "destroyed"
    return Look(planned.minion_of(opts, osd), (Osd(osd_id, osd["fsid"] or "", alive),))


def _purged(opts: Mapping, osd_id: int) -> Look:
    """An OSD whose number somebody purged while its host keeps its place, as discovery saw it."""
    for minion, host in minions.seen(opts)["hosts"].items():
        for place in waiting.read(minion, host.get("waiting")):
            if place.osd_id == osd_id:
                return Look(minion, (Osd(osd_id, place.fsid, False),))
    raise ArgumentError(f"the cluster has no osd.{osd_id}: see 'ceph osd tree'")


def behind(opts: Mapping, host: object, device: object) -> Look:
    """Look at the OSDs whose DB or WAL lies on a device, by its id or serial number.

    Raises ArgumentError for a host or device that is not one of ours, ProposalError where the host does not answer.
    """
    paths, minion = site(opts), names.check_minion_id(argument_readers.text("host", host))
    served = planned.osds(paths)
    numbers = {osd["fsid"]: osd["id"] for osd in _states(opts) if osd["fsid"]}
    told = jobs.one(opts, minion, "osd_waiting.kept", kind=dict)
    kept_places = {each.fsid: told[each.fsid] for each in waiting.read(minion, told) if each.fsid not in numbers}
    if minion not in served and not kept_places:
        raise ArgumentError(f"host={minion} has no planned OSDs{names.nearest(minion, served)}")
    osds, disks = _as_they_lie(opts, minion, served.get(minion, {})), planned.disks(paths, minion)
    id_ = shared_device.find(minion, device, osds, disks, kept_places)
    places = shared_device.behind(id_, osds, disks, kept_places, _class(opts, minion, id_))
    had = _had(opts, minion, sorted(places))
    made = [Osd(numbers.get(fsid, had.get(fsid, -1)), fsid, fsid in numbers, place) for fsid, place in places.items()]
    found = tuple(sorted((osd for osd in made if osd.id >= 0), key=lambda osd: osd.id))
    if not found:
        raise ProposalError(f"{minion} {id_}: none of the OSDs that are planned behind it was made: nothing to replace")
    return Look(minion, found, id_)


def _as_they_lie(opts: Mapping, minion: str, osds: Mapping[str, Mapping]) -> Mapping[str, Mapping]:
    """Planned OSDs of a host, by data disk, those that were to move with the devices on which their DB and WAL lie now.

    A plan has the old ones until discovery, populate and configure have run again.
    """
    if not any(osd.get("moves") for osd in osds.values()):
        return osds
    told: list = jobs.one(opts, minion, LIE, kind=list)
    if not form.has(told, [{"fsid": str, "parts": {"*": {"disk": str}}}]):
        raise ProposalError(f"{minion}: its answer is not of the form expected ({LIE}): run ceph.stage.prep")
    parts = {osd["fsid"]: osd["parts"] for osd in told}
    return {
        disk: shared_device.lying(osd, next((parts[fsid] for fsid in osd.get("uuids") or () if fsid in parts), None))
        for disk, osd in osds.items()
    }


def _had(opts: Mapping, minion: str, fsids: Sequence[str]) -> dict[str, int]:
    """The numbers of OSDs that a host has or had."""
    had: dict[str, int] = jobs.one(opts, minion, "osd_retire.numbers", [list(fsids)], dict)
    if any(type(osd_id) is not int for osd_id in had.values()):
        raise ProposalError(
            f"{minion}: its answer is not of the form expected (osd_retire.numbers): run ceph.stage.prep"
        )
    return had


def _states(opts: Mapping) -> list[dict]:
    states: list[dict] = jobs.cluster(opts, "cluster_osds.states", kind=list)
    return states


def _class(opts: Mapping, minion: str, device: str) -> str | None:
    """The class of a device, as far as discovery saw it last."""
    try:
        seen = inventory.read(kept.load_inventory(site(opts).inventory), targets=[minion])
    except ProposalError:
        return None
    return next((disk.cls for host in seen.hosts for disk in host.disks if disk.id == device), None)


def plan(opts: Mapping, look: Look) -> list[str]:
    """Return what a person reads before: the OSDs, what is at risk with them, how much is rebuilt."""
    ids = [osd.id for osd in look.osds]
    what = f"{look.minion} {look.device} carries the DB or WAL of" if look.device else f"{look.minion} has"
    lines = [f"{what} {counted(len(ids), 'OSD')}: {look.names}"]
    if gone := [f"osd.{osd.id}" for osd in look.osds if not osd.alive]:
        lines.append(f"destroyed already: {', '.join(gone)}")
    if not look.alive:
        return lines
    lines += shared_device.risk(jobs.cluster(opts, "cluster_osds.at_risk", [ids], list), ids)
    seen = jobs.cluster(opts, "cluster_removal.inspect", kind=dict)
    size = room.rebuilt(leaving.crush(seen), seen["pools"], ids)
    lines.append(f"about {rounded(size)} are rebuilt onto them when they are back")
    return lines


def against(opts: Mapping, look: Look) -> list[str]:
    """Return why they must not be given up now, in Ceph's words, and what to do then; empty where they may."""
    refused = _refused(opts, look)
    return _not_safe(opts, look, "; ".join(refused)) if refused else []


def _refused(opts: Mapping, look: Look) -> list[str]:
    if not look.alive:
        return []
    refused: list[str] = jobs.cluster(opts, "cluster_osds.stoppable", [look.alive], dict)["refused"]
    return refused


def _not_safe(opts: Mapping, look: Look, why: str) -> list[str]:
    verdict, ids = health.judged(opts), " ".join(map(str, look.alive))
    return [
        f"not destroyed, data would be at risk: {why}",
        f"let the cluster copy it first: 'ceph osd out {ids}', wait until 'ceph osd safe-to-destroy {ids}' agrees, run "
        "this again; what no other OSD has is not copied: bring the device back, or give up the pools that need it",
        *judge.lines((*verdict.wrong, *verdict.moves)),
    ]


@one_at_a_time.stops_daemons("osd.replace")
def carry_out(opts: Mapping, look: Look) -> list[str]:
    """Stop the OSDs, destroy them by Ceph's leave for all together, free their slots; return what was freed.

    Interrupted at any moment, the same again goes on. Raises ProposalError with Ceph's no.
    """
    if refused := against(opts, look):  # since it was asked first, another command may have stopped daemons, and ended
        raise ProposalError("\n".join(refused))
    stage_log.note(opts, "osd.replace", "begins", osds=look.names, minion=look.minion, device=look.device)
    if look.alive:
        jobs.one(opts, look.minion, "osd_retire.stop_all", [{osd.fsid: osd.id for osd in look.osds if osd.alive}], list)
    if why := spared.leave(opts, lambda: _refused(opts, look), LEAVE):
        raise ProposalError("\n".join([*_not_safe(opts, look, why), STOPPED]))
    for osd in (osd for osd in look.osds if osd.alive):
        destroy = partial(jobs.cluster, opts, "cluster_osds.destroy", [osd.id, osd.fsid])
        # Ceph may take its leave back for a while, once it forgets what an OSD that has stopped said last.
        if why := spared.leave(opts, partial(spared.no, destroy), LEAVE):
            raise ProposalError("\n".join([*_not_safe(opts, look, why), STOPPED]))
    freed: list[str] = []
    for osd in look.osds:
        words = [osd.id] if osd.place is None else [osd.id, osd.place]
        freed += jobs.one(opts, look.minion, "osd_retire.free", words, dict)["freed"]
        if osd.place is None:  # another one comes: of this one nothing is left that could leave
            named.forget(site(opts), [Item("osd", f"osd.{osd.id}", look.minion, osd.fsid)])
        more = {"osd": osd.id, "fsid": osd.fsid, "minion": look.minion, "device": look.device}
        stage_log.note(opts, "osd.replace", "replaced", **more)
    return freed


def after(look: Look, freed: Sequence[str]) -> list[str]:
    """Return what was done, and what a person does now."""
    so_far = f"destroyed; freed: {', '.join(freed) or 'nothing was left'}"
    if look.device is None:
        return [
            f"{look.names} of {look.minion} is {so_far}",
            "change its disk (to keep it: 'salt-run disk.wipe'), then run ceph.stage.discovery, proposal.populate with "
            "the same arguments, ceph.stage.configure and ceph.stage.deploy: the new disk's OSD takes the same id",
        ]
    places = [osd.place or {} for osd in look.osds]
    return [
        f"{look.names} of {look.minion} are {so_far}; their numbers and places wait for another device",
        f"take {look.device} out of the host, put another one in, and wipe each data disk ('yes=true' does it):",
        *shared_device.wipe_lines(look.minion, places),
        "then run ceph.stage.discovery, proposal.populate with the same arguments, ceph.stage.configure and "
        "ceph.stage.deploy: the same numbers come back, with their DBs and WALs on the new device",
    ]


def spares(opts: Mapping, look: Look) -> list[str]:
    """Return the hot spares that the OSDs' host has; nothing where the site names none."""
    host = kept.load_inventory(site(opts).inventory)["hosts"].get(look.minion, {})
    lines = hot_spares.offered(look.minion, host, hot_spares.wanted(minions.pillar(opts).get(hot_spares.KEY)))
    told = f"or use a hot spare of {look.minion}: take it out of {hot_spares.KEY}, then the same commands:"
    return [told, *lines] if lines else []
