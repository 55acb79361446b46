"""OSDs that are new, looked at once: those that deploy will make, and those that wait for data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proposals.cluster import crush, growth, moves
from proposals.cluster.health.findings import WRONG, Complaint
from proposals.cluster.health.judge import Verdict
from proposals.cluster.removal import record
from proposals.cluster.removal.items import Item, digest
from proposals.files.site import site
from proposals.inventory import kept
from proposals.text.notes import counted
from runners.engine.asking import jobs, minions, planned, taking_part
from runners.engine.cluster import health
from runners.engine.looks import stage_look

HOLD = "hold_new_osds"
START = 60  # seconds without progress that new OSDs have to come up; what stays down is told at the stage's end


@dataclass(frozen=True)
class Look:
    """What a look gave.

    items
        The OSDs that wait for data.
    weights
        What each of them is to weigh, by its number.
    begun
        A fill that was interrupted: ``{hash, osds}``.
    absent
        Minions with planned OSDs that do not run.
    """

    items: Sequence[Item]
    weights: Mapping[str, float]
    begun: Mapping[str, Any] | None
    absent: Sequence[str]

    def confirmed(self, confirm: object) -> Mapping[str, float] | None:
        """The weights that a hash confirms: of all, or of what was interrupted; None for another list's."""
        if self.begun and confirm == self.begun["hash"]:
            return {osd: weight for osd, weight in self.weights.items() if osd in self.begun["osds"]}
        return self.weights if confirm == digest(self.items) else None

    def moves(self, opts: Mapping) -> dict[str, Any]:
        """What would move, by ``cluster_moves.estimate``."""
        edits = [["--reweight-item", f"osd.{osd}", str(weight)] for osd, weight in self.weights.items()]
        found: dict[str, Any] = jobs.cluster(opts, "cluster_moves.estimate", [edits], dict)
        return found


def started(opts: Mapping) -> None:
    """Wait for the OSDs that deploy has made: only one that runs, and whose size the managers know, gets a weight."""
    wanted = growth.minions(planned.osds(site(opts)))
    hosts = taking_part.among(opts, set(wanted.values()))

    def starting() -> Verdict:
        states = jobs.cluster(opts, stage_look.STATES, kind=list)
        new = growth.starting(wanted, states, hosts)
        if not new and (waiting := [item.name for item in growth.waiting(wanted, states)]):
            sizes = jobs.cluster(opts, stage_look.FILL, [True], dict)["sizes"]
            new = [name for name in waiting if name.removeprefix("osd.") not in sizes]
        if new:
            stage_look.keep(opts, None)  # what was seen before they have started
        return Verdict(
            (Complaint("osds starting", WRONG, ", ".join(new), "not up yet, or of a size that nobody knows", len(new)),)
            if new
            else ()
        )

    health.waited(starting, START)


def look(opts: Mapping) -> Look:
    """Look at the OSDs that wait for data; none that leaves the cluster is among them."""
    looked, wanted = stage_look.kept(opts), growth.minions(planned.osds(site(opts)))
    asked = {name: stage_look.CLUSTER[name] for name in (stage_look.STATES, stage_look.FILL)}
    cluster = looked.cluster if looked else jobs.cluster(opts, stage_look.TOGETHER, [asked], dict)
    states = cluster[stage_look.STATES]
    items = growth.waiting(wanted, states)
    seen = jobs.cluster(opts, stage_look.FILL, [True], dict) if items else cluster[stage_look.FILL]
    leaving, sizes = record.read(seen["removal"]), seen["sizes"]
    away = {item.fsid for item in leaving.items} if leaving else set()
    numbers = {item: item.name.removeprefix("osd.") for item in items if item.fsid not in away}
    weights = {item: sizes[number] for item, number in numbers.items() if number in sizes}
    by_number = {numbers[item]: weight for item, weight in weights.items()}
    return Look(list(weights), by_number, seen["begun"], growth.absent(wanted, states))


def coming(opts: Mapping) -> list[str]:
    """Return what is said of OSDs that deploy will make: how much data moves to them, now or later."""
    hosts = kept.load_inventory(site(opts).inventory)["hosts"]
    states, osds = jobs.cluster(opts, "cluster_osds.states", kind=list), planned.osds(site(opts))
    new = growth.coming(osds, hosts, states)
    if not new:
        return ["no OSD is new: no data moves"]
    pillar = minions.pillar(opts)
    names = {minion: host.get("hostname", minion) for minion, host in hosts.items()}
    places = crush.locations(pillar.get("crush_locations"), names, crush.shelves(osds, hosts))
    edits, devices = growth.edits(new, states, places)
    found = jobs.cluster(opts, "cluster_moves.estimate", [edits, None, devices], dict)
    head = counted(len(new), "new OSD")
    if not moves.total(found):
        return [f"{head}: no data moves"]
    held = "they come without data (hold_new_osds), and osd.fill moves it later:" if pillar.get(HOLD) else "with them"
    told = growth.movers(jobs.cluster(opts, "cluster_fill.movers", kind=dict))
    return [f"{head}: {held}", *moves.lines(found), *told]
