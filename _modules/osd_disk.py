"""Whether a planned disk may be touched: the one place that decides (design section 5, rule 1).

A disk may be used if its size and serial are those of the proposal and it is *clean* (no table, no signature,
nobody has it) or *ours* (its table and every partition on it carry the uuids of this cluster). Nothing here writes.
"""

from pathlib import Path


def problem(disk, recorded, in_use):
    """Return why a planned disk must not be touched, with the command that helps; ``None`` where it may be.

    disk
        Its stable name, as the profile has it.
    recorded
        The proposal's ``{size, serial}``, or ``None``.
    in_use
        ``disks.in_use``'s answer.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' osd_disk.problem /dev/disk/by-id/wwn-0x5000c500a1b2c3d4 '{size: 1, serial: x}' '{}'
    """
    if not Path(disk).exists():
        return "is not on this host: plug it in, or run discovery and populate again"
    identity = __salt__["disks.identity"](disk)
    if recorded is None:
        return "has no size and serial on record: let proposal.populate write this profile again"
    for key in ("size", "serial"):
        if recorded.get(key) != identity[key]:
            return (
                f"has {key} {identity[key]}, the proposal recorded {recorded.get(key)}: another disk? "
                "run discovery and populate again"
            )
    table = __salt__["disks.partitions"](disk)
    if table and table["guid"] == __salt__["osd_slots.guid"](disk):
        return _strangers(disk, table)
    return _unclean(disk, in_use)


def _strangers(disk, table):
    """What lies in our own table that no record of this cluster explains."""
    for part in table["partitions"]:
        if not __salt__["osd_slots.ours"](part):
            what = part["name"] or part["type"]
            return f"carries partition {part['number']} ({what}), which this cluster did not make"
    return None


def _unclean(disk, in_use):
    """What a disk holds that is not ours; ``None`` where it is clean."""
    reasons = [why for why in in_use.get(str(Path(disk).resolve()), []) if why not in ("has partitions", "loop device")]
    held = __salt__["disks.held"](disk)
    if reasons or held:
        return f"is in use ({', '.join(reasons) or held}): take it out of the profile"
    parts = __salt__["disks.partition_nodes"](disk)
    signatures = __salt__["disks.signatures"](disk)
    if parts or signatures:
        what = ", ".join(signatures + [f"partition {part}" for part in parts])
        return f"is not clean ({what}): if nothing on it is needed, {_cure(disk, parts, signatures)}"
    return None


def _cure(disk, parts, signatures):
    """The command that frees a disk; what another cluster's OSD may be is wiped by hand alone."""
    if "ceph_bluestore" in signatures:
        return f"'wipefs --all {' '.join([*parts, disk])}' on this host"
    return (
        f"'salt-run disk.wipe {__grains__['id']} {disk} serial={__salt__['disks.identity'](disk)['serial'] or 'none'}'"
    )
