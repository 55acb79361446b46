"""What is said of a cluster that is taken apart: before, on the way, after."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from proposals.cluster.purge import record
from proposals.cluster.purge.disks import Disk
from proposals.cluster.purge.record import Record
from proposals.text import names
from proposals.text.notes import FEW, counted, several

COUNTED = ("unit", "OSD", "disk", "file")  # what many hosts have many of
EACH = "each by its name, host by host: the same command with --out json"


class Said(NamedTuple):
    """What is said of some things of one host: ``before`` and ``after`` their names.

    ``noun`` is what they are where those of many hosts are counted; of several kinds of units ``step`` tells which.
    """

    before: str
    named: Sequence[str]
    after: str
    noun: str
    step: str = ""

    def line(self) -> str:
        """It for a person."""
        listed = several(self.named, "more") if self.noun == "OSD" else ", ".join(self.named)
        return f"{self.before}{listed}{self.after}"


def plan(host: Mapping, seen: Mapping, disks: Iterable[Disk], notes: Sequence[str], wipe: bool) -> list[Said]:
    """Return what is said of one host: what would go, in which order, and what stays.

    host
        What it is told (``pillar.named``).
    seen
        ``daemons_purge.look``'s and ``osd_purge.look``'s answers together.
    disks, notes
        ``disks.sorted_out``'s.
    wipe
        Whether disks are wiped.
    """
    told = []
    osds = [f"osd.{osd['id']}" for osd in seen["osds"] if osd["cluster"] == seen["cluster"]]
    for step in record.STOPS:
        parts = osds if step == "osd" else record.parts(host, step)
        units = [unit for part in parts for unit in seen["units"].get(part, ())]
        if step == "osd" and osds:
            told.append(Said("would stop ", osds, "", "OSD", step))
        elif units:
            told.append(Said("would stop ", units, "", "unit", step))
    verb = "would be wiped" if wipe else "would stay as it is (wipe=true wipes it)"
    named = [f"{disk.id} serial {disk.serial}, {len(disk.osds)} OSDs" for disk in disks]
    told += [Said("", [name], f": {verb}", "disk") for name in named]
    told += [Said("would remove ", [path], "", "file") for path in seen["files"]]
    told += [_noted(note) for note in notes]
    return told + [Said("left alone: ", [names.shown(other, 160)], "", "other's") for other in seen["others"]]


def _noted(note: str) -> Said:
    """A note as ``disks.sorted_out`` writes it: what it is about, and why that stays."""
    about, colon, why = note.partition(": ")
    return Said("", [about], f"{colon}{why}", "note")


def lines(told: Mapping[str, Sequence[Said]]) -> list[str]:
    """Return what a person reads of all hosts: a line each thing; of more than ``FEW`` hosts one for all that is said
    alike, with how many of what it is, and last where each of them is named.

    told
        ``plan``'s of each host.
    """
    if len(told) <= FEW:
        return [f"{minion}: {each.line()}" for minion, said in told.items() for each in said]
    hosts: dict[tuple[str, ...], dict[str, None]] = {}
    named: dict[tuple[str, ...], list[str]] = {}
    for minion, said in told.items():
        for before, own, *like in said:
            hosts.setdefault((before, *like), {})[minion] = None
            named.setdefault((before, *like), []).extend(own)
    order = {noun: place for place, noun in enumerate((*COUNTED, "other's", "note"))}
    every = sorted(hosts, key=lambda key: (order[key[2]], -len(named[key])))
    kept = [key for key in every if key[2] != "note"]
    notes = every[len(kept) :]
    rest = {minion for key in notes[FEW:] for minion in hosts[key]}
    return [
        *(_together(list(hosts[key]), named[key], *key) for key in (*kept, *notes[:FEW])),
        *([f"and {counted(len(notes) - FEW, 'more note')} of {counted(len(rest), 'host')}"] if rest else []),
        EACH,
    ]


def _together(hosts: Sequence[str], named: Sequence[str], before: str, after: str, noun: str, step: str) -> str:
    count = f"{counted(len(named), noun)}{f' ({step})' if noun == 'unit' else ''}: " if noun in COUNTED else ""
    shown = [name.partition(",")[0] for name in named[:2]] + list(named[2:]) if noun == "disk" else named
    return f"{several(hosts)}: {before}{count}{several(shown, 'more')}{after}"


def data(told: Mapping[str, Sequence[Said]]) -> dict[str, Any]:
    """Return the same for programs: each host's lines, with every name."""
    return {"hosts": {minion: [f"{each.before}{', '.join(each.named)}{each.after}" for each in said]
                      for minion, said in told.items()}}  # fmt: skip


def rest(begun: Record, wipe: bool, path: object) -> list[str]:
    """Return what would be done where it was interrupted.

    path
        Where the record lies.
    """
    steps = [step for step in record.STEPS[record.STEPS.index(begun.step) :] if wipe or step != record.WIPE]
    told = disks(begun, path) if wipe else stayed(begun, path)
    return [f"begun {begun.since}; would go on with {', '.join(steps)}", *told]


def disks(begun: Record, path: object) -> list[str]:
    """Return the disks that would be wiped, a line each, of many hosts one for all. ``path`` as for ``rest``."""
    return _disks(begun, "would be wiped", path)


def stayed(begun: Record, path: object) -> list[str]:
    """Return the disks that stay as they are, as ``disks`` does, and what wipes them."""
    lines = _disks(begun, "not wiped", path)
    return [*lines, f"'salt-run ceph.purge fsid={begun.fsid} wipe=true' wipes them"] if lines else []


def _disks(begun: Record, verb: str, path: object) -> list[str]:
    whole = begun.whole
    hosts = list(dict.fromkeys(minion for minion, _ in whole))
    if len(hosts) <= FEW:
        return [f"{minion} {disk.id} serial {disk.serial}: {verb}" for minion, disk in whole]
    named = several([f"{disk.id} serial {disk.serial}" for _, disk in whole], "more")
    return [f"{several(hosts)}: {counted(len(whole), 'disk')}: {named}: {verb}", f"each of them stands in {path}"]
