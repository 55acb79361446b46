"""Whether a planned disk may be touched: the one place that decides (docs/concepts/safety.md, rule 1).

A disk may be used if its size and serial are those of the proposal, what is planned finds room on it, and it is *clean*
(no table, no signature, nobody has it) or *ours* (its partition table or volume group, and everything in it, carry the
uuids of this cluster). Nothing here writes.
"""

import mmap
import os
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

LIMIT = 60  # seconds for a disk to be read: one that sleeps takes 15, the kernel gives a command 30 and tries again
BLOCK = 4096  # bytes: a multiple of every disk's sectors
SLOTS = Path("/dev/disk/by-partuuid")
Planned = Sequence[tuple[str, Mapping]]  # the way that a part is made, and the part


def problem(
    disk: str, recorded: Mapping | None, in_use: Mapping[str, list[str]], planned: Planned, group: Mapping | None
) -> str | None:
    """Return why a planned disk must not be touched, with the command that helps; ``None`` where it may be.

    disk
        Its stable name, as the profile has it.
    recorded
        The proposal's ``{size, serial}``, or ``None``.
    in_use
        ``disks_kernel.in_use``'s answer.
    planned
        The parts that are to lie on it, each with the way that it is made: ``[(method, part)]``, ``osd_plan.osds``.
    group
        What ``disks_lvm.groups`` says of it; ``None`` where LVM does not know it.

    CLI Example: ``salt 'osdnode1' osd.check`` asks it for every planned disk.
    """
    if not Path(disk).exists():
        return "is not on this host: plug it in, or run discovery and populate again"
    identity = __salt__["disks_kernel.identity"](disk)
    if recorded is None:
        return "has no size and serial on record: let proposal.populate write this profile again"
    for key in ("size", "serial"):
        if recorded.get(key) != identity[key]:
            return (
                f"has {key} {identity[key]}, the proposal recorded {recorded.get(key)}: another disk? "
                "run discovery and populate again"
            )
    size = identity["size"]
    if group and group["uuid"] == __salt__["osd_names.pv_uuid"](disk):
        there = {volume["slot"] for volume in group["volumes"]}
        why = _strange_volume(disk, group) or _mixed("lvm", planned)
        return why or room(__salt__["osd_space.in_group"](size, group), planned, there)
    table = __salt__["disks.partitions"](disk)
    if table and table["guid"] == __salt__["osd_names.table_guid"](disk):
        there = {part["uuid"] for part in table["partitions"]}
        why = _strange_partition(table) or _mixed("raw", planned)
        return why or room(__salt__["osd_space.between_partitions"](size, table), planned, there)
    return _unclean(disk, in_use) or room(__salt__["osd_space.between_partitions"](size, None), planned)


def gone(disk: str) -> str | None:
    """Return why a disk is as good as not there: no such device, or nothing can be read at its ends; ``None`` for any
    other. What lies on it is not looked at. It is read past the kernel's cache, which may remember a dying one.

    disk
        Its stable name.

    CLI Example: for ``osd.absent``.
    """
    told: list[str | None] = []
    # A thread that nobody waits for: what hangs in the kernel over a dying disk may never end.
    reader = threading.Thread(target=lambda: told.append(_unread(disk)), daemon=True)
    reader.start()
    reader.join(LIMIT)
    return told[0] if told else f"{disk} cannot be read (no answer within {LIMIT} s)"


def _unread(disk: str) -> str | None:
    """What ``gone`` says, whenever the disk answers."""
    try:
        node = os.open(disk, os.O_RDONLY | os.O_DIRECT)
    except FileNotFoundError:
        return f"{disk} is not on this host"
    except OSError as err:
        return f"{disk} cannot be read ({err.strerror})"
    try:
        blocks = os.lseek(node, 0, os.SEEK_END) // BLOCK
        if not blocks:
            return f"{disk} cannot be read (it has no size)"
        with mmap.mmap(-1, BLOCK) as block:  # in whole pages, as O_DIRECT asks
            for place in {0, (blocks - 1) * BLOCK}:
                os.preadv(node, [block], place)
    except OSError as err:
        return f"{disk} cannot be read ({err.strerror})"
    finally:
        os.close(node)
    return None


def unread(osd: Mapping) -> str | None:
    """Return why the label of an OSD cannot be read, though both ends of its disk may be; ``None`` where it can, or
    where there is no slot for it.

    osd
        One of ``osd_plan.osds``.

    CLI Example: for ``osd.absent``.
    """
    part = osd["parts"]["data"]
    node = SLOTS / part["partuuid"]
    if osd["method"] == "lvm":
        node = Path(__salt__["osd_names.path"](part["disk"], osd["fsid"], "data", part["partuuid"]))
    try:
        if node.exists():
            __salt__["disks_label.read"](str(node))
    except OSError as err:
        return f"{part['disk']} cannot be read ({err.strerror})"
    return None


def room(blocks: Sequence[Sequence[int]], planned: Planned, there: Collection[str] = ()) -> str | None:
    """Return why planned parts find no room, each placed as ``osd_space.place`` does it; ``None`` where all do.

    blocks
        The free stretches, in ``osd_space``'s form.
    planned
        As for ``problem``.
    there
        The slots that are there already.

    CLI Example: for ``problem``.
    """
    free = [list(block) for block in blocks]
    for part in (part for _, part in planned if part["partuuid"] not in there):
        if __salt__["osd_space.place"](free, part["size"]) is None:
            largest = max(block[1] for block in free) / 2**30
            return (
                f"has no room: {largest:.1f} GiB in one piece are left, {(part['size'] or 0) / 2**30:.1f} GiB are "
                "planned on it: run discovery and populate again"
            )
    return None


def _strange_partition(table: Mapping) -> str | None:
    """What lies in our own table that this cluster did not make; ``None`` where nothing does."""
    for part in table["partitions"]:
        if not __salt__["osd_names.ours"](part):
            name = part["name"] or part["type"]
            return f"carries partition {part['number']} ({name}), which this cluster did not make"
    return None


def _strange_volume(disk: str, group: Mapping) -> str | None:
    """What lies in our own volume group that this cluster did not make; ``None`` where nothing does."""
    if group["group"] not in ("", __salt__["osd_names.group"](disk)) or not group["alone"]:
        return f"is part of volume group {group['group']}, which this cluster did not make so"
    for volume in group["volumes"]:
        if __salt__["osd_names.owner"](volume["name"], volume["slot"]) is None:
            return f"carries logical volume {group['group']}/{volume['name']}, which this cluster did not make"
    return None


def _mixed(begun: str, planned: Planned) -> str | None:
    """Whether a disk that was begun in one way is planned in another."""
    if any(method != begun for method, _ in planned):
        carried = {"lvm": "a volume group", "raw": "partitions"}[begun]
        return (
            f"carries this cluster's OSDs on {carried}, and is planned otherwise: look at ceph:storage:method in pillar"
        )
    return None


def _unclean(disk: str, in_use: Mapping[str, list[str]]) -> str | None:
    """What a disk holds that is not ours; ``None`` where it is clean."""
    reasons = [why for why in in_use.get(str(Path(disk).resolve()), []) if why not in ("has partitions", "loop device")]
    held = __salt__["disks_kernel.held"](disk)
    if reasons or held:
        return f"is in use ({', '.join(reasons) or held}): take it out of the profile"
    parts = __salt__["disks_kernel.partition_nodes"](disk)
    signatures = __salt__["disks.signatures"](disk)
    if parts or signatures:
        content = ", ".join(signatures + [f"partition {part}" for part in parts])
        return f"is not clean ({content}): if nothing on it is needed, {_cure(disk, parts, signatures)}"
    return None


def _cure(disk: str, parts: Sequence[str], signatures: Sequence[str]) -> str:
    """The command that frees a disk; what another cluster's OSD may be is wiped by hand alone."""
    if "ceph_bluestore" in signatures:
        return f"'wipefs --all {' '.join([*parts, disk])}' on this host"
    serial = __salt__["disks_kernel.identity"](disk)["serial"] or "none"
    return f"'salt-run disk.wipe {__grains__['id']} {disk} serial={serial}'"
