"""Disks that failed, are silent, shared or told badly: what is said of them, and what falls with them."""

from collections import Counter

from proposals.disks.shape import label
from proposals.disks.values import PlannedHost
from proposals.inventory.disk import is_fault, is_silent
from proposals.text.notes import WARNING, Note, counted

FAULT = "faults"
SHARED = "a shared disk: "  # begins that of one which several hosts see, and its WWN ends it


def notes(planned: PlannedHost) -> list[Note]:
    """Warnings on one host's faulty disks; equal ones of several hosts become one line."""
    disks = planned.host.disks
    pairs = zip(disks, planned.shape.disks, strict=True)
    odd = [(disk, "disk" if disk.rotational is None else one.cls, one.reason) for disk, one in pairs if one.reason]
    behind: dict[tuple[str, str], list[str]] = {}  # dead or missing DB or WAL device -> OSDs
    dead = {disk.id: reason for disk, _, reason in odd if is_silent(reason)}
    for osd, origin in zip(planned.shape.existing, planned.origins, strict=True):
        on = {disks[at].id for at in (osd.db, osd.wal) if at is not None and disks[at].id in dead}
        for device in sorted(on.union(origin.missing)):
            behind.setdefault((device, dead.get(device, "is not there any more")), []).append(label(origin))
    told = {device for device, _ in behind}
    counts = Counter(
        (noun, reason.partition(" (wwn ")[0])
        for disk, noun, reason in odd
        if (is_fault(reason) or reason.startswith(SHARED)) and disk.id not in told
    )
    lines = [f"{device}: {why}: with it fall {', '.join(osds)}" for (device, why), osds in sorted(behind.items())]
    for (noun, reason), count in sorted(counts.items()):
        lines.append(f"{counted(count, noun)}{', each' if count > 1 else ''}: {reason}")
    return [Note(WARNING, line, FAULT) for line in lines]
