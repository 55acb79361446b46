"""What is said of a cluster that is taken apart: before, on the way, after."""

from collections.abc import Iterable, Mapping, Sequence

from proposals.cluster.purge import record
from proposals.cluster.purge.disks import Disk
from proposals.cluster.purge.record import Record
from proposals.text import names
from proposals.text.notes import several


def plan(
    minion: str, host: Mapping, seen: Mapping, disks: Iterable[Disk], notes: Sequence[str], wipe: bool
) -> list[str]:
    """Return what a person reads of one host: what would go, in which order, and what stays.

    minion, host
        Its id and what it is told (``pillar.named``).
    seen
        ``daemons_purge.look``'s and ``osd_purge.look``'s answers together.
    disks, notes
        ``disks.sorted_out``'s.
    wipe
        Whether disks are wiped.
    """
    lines = []
    osds = [f"osd.{osd['id']}" for osd in seen["osds"] if osd["cluster"] == seen["cluster"]]
    for step in record.STOPS:
        parts = osds if step == "osd" else record.parts(host, step)
        units = [unit for part in parts for unit in seen["units"].get(part, ())]
        if step == "osd" and osds:
            lines.append(f"{minion}: would stop {several(osds, 'more')}")
        elif units:
            lines.append(f"{minion}: would stop {', '.join(units)}")
    verb = "would be wiped" if wipe else "would stay as it is (wipe=true wipes it)"
    lines += [f"{minion}: {disk.id} serial {disk.serial}, {len(disk.osds)} OSDs: {verb}" for disk in disks]
    lines += [f"{minion}: would remove {path}" for path in seen["files"]]
    lines += [f"{minion}: {note}" for note in notes]
    return lines + [f"{minion}: left alone: {names.shown(other, 160)}" for other in seen["others"]]


def rest(begun: Record, wipe: bool) -> list[str]:
    """Return what would be done where it was interrupted."""
    steps = [step for step in record.STEPS[record.STEPS.index(begun.step) :] if wipe or step != record.WIPE]
    return [f"begun {begun.since}; would go on with {', '.join(steps)}", *(disks(begun) if wipe else stayed(begun))]


def disks(begun: Record) -> list[str]:
    """Return the disks that would be wiped, a line each."""
    return [f"{minion} {disk.id} serial {disk.serial}: would be wiped" for minion, disk in begun.whole]


def stayed(begun: Record) -> list[str]:
    """Return the disks that stay as they are, a line each, and what wipes them."""
    lines = [f"{minion} {disk.id} serial {disk.serial}: not wiped" for minion, disk in begun.whole]
    return [*lines, f"'salt-run ceph.purge fsid={begun.fsid} wipe=true' wipes them"] if lines else []
